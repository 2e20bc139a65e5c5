"""langfuse: scores of traces, a list or a page of its API → `Answer`.

The name of a score is the question; who scored is a person or an evaluator. Knows nothing of files.
"""

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

EVALUATORS = ("evaluator", "judge", "grader", "model")
"""Keys of a score's metadata, which is free, that name the evaluator, the first that is there."""

TEXTS = ("TEXT", "CORRECTION")
"""Data types of scores that are no classes."""

BOOLEANS = {"1": "true", "0": "false", "true": "true", "false": "false"}
"""A boolean score has a number and a word that begins with a capital."""


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
    task = next(filter(None, (name_of(score.get(key)) for key in SCORED)), None)
    part = name_of(score.get("observationId"))
    name = name_of(score.get("name")) or ""
    worker = _worker(score) or name
    if task is None:
        reading.complain(f"{path}traceId", "a trace's id (or a session's)", score.get("traceId"))
        return
    if not worker:
        reading.complain(f"{path}authorUserId", "a user's id (or name)", score.get("authorUserId"))
        return
    yield Answer(
        task if part is None else f"{task}/{part}",
        worker,
        _label(score),
        name,
        seconds_of(score.get("updatedAt") or score.get("timestamp")),
        id=name_of(score.get("id")) or "",
    )


def _worker(score: Mapping[str, object]) -> str | None:
    """Return who scored: a person, the evaluator that the metadata names, or the source.

    Evaluators of one source are told apart by the configuration of their scores, if they have one.
    """
    author = name_of(score.get("authorUserId"))
    if author is not None:
        return author
    metadata = mapping(score.get("metadata"))
    for key in EVALUATORS:
        if evaluator := name_of(metadata.get(key)):
            return evaluator
    return " ".join(filter(None, [name_of(score.get(key)) for key in ("source", "configId")]))


def _label(score: Mapping[str, object]) -> str | None:
    kind = score.get("dataType")
    text, value = name_of(score.get("stringValue")), score.get("value")
    if kind in TEXTS:
        return None
    if isinstance(value, bool):
        return BOOLEANS[str(value).lower()]
    if kind == "BOOLEAN":
        shown = name_of(value) or text or ""
        return BOOLEANS.get(shown.lower(), shown or None)
    if kind == "NUMERIC":
        return name_of(value) or text
    return text or name_of(value)


SCORES = Tool("langfuse", "scores of langfuse", _tell, _answers)
