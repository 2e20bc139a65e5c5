"""Prodigy: one line per example and annotator → `Answer`. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import Answer, Reading, Tool, label_of, name_of, seconds_of

NO_CLASS = ("_manual", "text_input", "relations")
"""Endings of names of interfaces (``_view_id``) whose work is no class: accept says only that it
was saved."""


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
        yield answer._replace(label=label_of(record.get("accept")) if said == "accept" else None)
        return
    shown = label_of(record.get("label"))
    judged = said in ("accept", "reject") and not _manual(record)
    verdict = name_of(said) if judged else None
    yield answer._replace(label=verdict, question=shown or "")


def _manual(record: Mapping[str, object]) -> bool:
    return str(record.get("_view_id")).endswith(NO_CLASS)


def _unlabelled(record: Mapping[str, object]) -> str:
    return f"work of {record['_view_id']}" if _manual(record) else ""


LINES = Tool("prodigy", "a Prodigy export", _tell, _answers, unlabelled=_unlabelled)
