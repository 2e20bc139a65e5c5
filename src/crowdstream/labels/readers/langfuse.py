"""langfuse: scores of traces, a list or a page of its API → `Answer`.

The name of a score is the question; who scored is a person or an evaluator. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    evaluator_of,
    items,
    mapping,
    name_of,
    paged,
    seconds_of,
)

SCORED = ("traceId", "sessionId", "datasetRunId")
"""Keys of what a score is of; a release that knows all three has null for the others."""

SUBJECT = "subject"
"""The key of what a score is of in version 3 of the API: an object with its kind and id."""

FIELDS = "fields=details,subject,annotation"
"""The parameter by which version 3 of the API adds what is needed here to a score."""

TEXTS = ("TEXT", "CORRECTION")
"""Data types of scores that are no classes."""

BOOLEANS = {"1": "true", "0": "false", "true": "true", "false": "false"}
"""A boolean score has a number and a word that begins with a capital."""


def _tell(record: Mapping[str, object]) -> str | None:
    for score in (record, *map(mapping, items(record.get("data")))):
        of = _scored(score)
        if of is not None and ("stringValue" in score or "value" in score):
            return f"its records have {of} and a value"
    return None


def _scored(score: Mapping[str, object]) -> str | None:
    """The key by which a score says what it is of; without any, one that only scores have."""
    if of := next((key for key in SCORED if key in score), None):
        return of
    if "kind" in mapping(score.get(SUBJECT)):
        return SUBJECT
    return "dataType" if {"dataType", "source", "projectId"} <= score.keys() else None


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    """The scores of a record: itself, or those of a page."""
    for path, score in paged(record, "data", own=_scored(record) is not None):
        yield from _score_answers(score, reading, path)


def _score_answers(score: Mapping[str, object], reading: Reading, path: str) -> Iterator[Answer]:
    task = _task(score)
    name = name_of(score.get("name")) or ""
    worker = _worker(score) or name
    if task is None and _scored(score) in (SUBJECT, "dataType"):
        expected = f"what the score is of (ask the API with {FIELDS})"
        reading.complain(f"{path}subject", expected, score.get(SUBJECT))
        return
    if task is None:
        reading.complain(f"{path}traceId", "a trace's id (or a session's)", score.get("traceId"))
        return
    if not worker:
        reading.complain(f"{path}authorUserId", "a user's id (or name)", score.get("authorUserId"))
        return
    yield Answer(
        task,
        worker,
        _label(score),
        name,
        seconds_of(score.get("updatedAt") or score.get("timestamp")),
        id=name_of(score.get("id")) or "",
    )


def _task(score: Mapping[str, object]) -> str | None:
    """Return what a score is of; an observation is named behind its trace."""
    subject = mapping(score.get(SUBJECT))
    if subject:
        whole, part = name_of(subject.get("traceId")), name_of(subject.get("id"))
        return f"{whole}/{part}" if whole and part else part
    whole = next(filter(None, (name_of(score.get(key)) for key in SCORED)), None)
    part = name_of(score.get("observationId"))
    return whole if whole is None or part is None else f"{whole}/{part}"


def _worker(score: Mapping[str, object]) -> str | None:
    """Return who scored: a person, the evaluator that the metadata names, or the source.

    Evaluators of one source are told apart by the configuration of their scores, if they have one.
    """
    author = name_of(score.get("authorUserId"))
    if author is not None:
        return author
    evaluator = evaluator_of(score.get("metadata"))
    if evaluator is not None:
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
