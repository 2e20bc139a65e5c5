"""Prodigy: one line per example and annotator → `Answer`. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, Reading, Tool, first_of, name_of, seconds_of


def _tell(record: Mapping[str, object]) -> str | None:
    return "its lines have _input_hash" if "_input_hash" in record else None


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    """One answer: a choice, or accept and reject of what is shown, by the label shown if any."""
    task = name_of(record.get("_input_hash"))
    worker = name_of(record.get("_annotator_id")) or name_of(record.get("_session_id"))
    if task is None:
        reading.complain("_input_hash", "a number", record.get("_input_hash"))
        return
    if worker is None:
        found = record.get("_annotator_id")
        reading.complain("_annotator_id", "an annotator's name (or _session_id)", found)
        return
    at = seconds_of(record.get("_timestamp"))
    answer = Answer(task, worker, None, at=at, id=name_of(record.get("_task_hash")) or "")
    said = record.get("answer")
    if "accept" in record or "options" in record:  # a choice; one that is rejected is none
        label, several = first_of(record.get("accept")) if said == "accept" else (None, False)
        yield answer._replace(label=label, several=several)
        return
    shown, _ = first_of(record.get("label"))
    verdict = name_of(said) if said in ("accept", "reject") else None
    yield answer._replace(label=verdict, question=shown or "")


LINES = Tool("prodigy", "a Prodigy export", _tell, _answers)
