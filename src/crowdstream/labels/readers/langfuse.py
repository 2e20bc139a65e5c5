"""langfuse: scores of traces, a list or a page of its API → `Answer`. Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    items,
    mapping,
    name_of,
    seconds_of,
)

SCORED = ("traceId", "sessionId", "datasetRunId")
"""What a score may be of; a release that knows all three has null for the others."""


def _tell(record: Mapping[str, object]) -> str | None:
    scores = [record, *map(mapping, items(record.get("data")))]
    for score in scores:
        of = next((key for key in SCORED if key in score), None)
        if of is not None and ("stringValue" in score or "value" in score):
            return f"its records have {of} and a value"
    return None


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    """The scores of a record: itself, or those of a page."""
    if any(key in record for key in SCORED):
        yield from _score_answers(record, reading, "")
    else:
        for place, score in enumerate(map(mapping, items(record.get("data")))):
            yield from _score_answers(score, reading, f"data[{place}].")


def _score_answers(score: Mapping[str, object], reading: Reading, path: str) -> Iterator[Answer]:
    """A person's score is an answer to the question of its name; an evaluator's name is its own."""
    task = next(filter(None, (name_of(score.get(key)) for key in SCORED)), None)
    part = name_of(score.get("observationId"))
    author, name = name_of(score.get("authorUserId")), name_of(score.get("name"))
    worker = author or name
    if task is None:
        reading.complain(f"{path}traceId", "a trace's id (or a session's)", score.get("traceId"))
        return
    if worker is None:
        reading.complain(f"{path}authorUserId", "a user's id (or name)", score.get("authorUserId"))
        return
    label = name_of(score.get("stringValue")) or name_of(score.get("value"))
    yield Answer(
        task if part is None else f"{task}/{part}",
        worker,
        label,
        (name or "") if author else "",
        seconds_of(score.get("updatedAt") or score.get("timestamp")),
        id=name_of(score.get("id")) or "",
    )


SCORES = Tool("langfuse", "scores of langfuse", _tell, _answers)
