"""Arize Phoenix: annotations of spans, traces and sessions → `Answer`.

The name of an annotation is the question; who annotates is a person or an evaluator. A record is an
annotation, a page of the API, or a row of the client's table. Knows nothing of files.
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
from crowdstream.labels.readers.input_options import CHECKS

KIND = "annotator_kind"
"""The key that only annotations have: LLM, CODE or HUMAN."""

ANNOTATED = ("span_id", "trace_id", "session_id")
"""Keys of what an annotation is of."""

NAMES = ("annotation_name", "name")
"""Keys of an annotation's name: in the client's table, and in the API."""

NOTE = "note"
"""The name of annotations that are remarks of people."""


def _tell(record: Mapping[str, object]) -> str | None:
    for one in (record, *map(mapping, items(record.get("data")))):
        if _is_annotation(one):
            return f"its records have {KIND} and a name"
    return None


def _is_annotation(record: Mapping[str, object]) -> bool:
    return KIND in record and any(key in record for key in NAMES)


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    for path, one in paged(record, "data", own=_is_annotation(record)):
        yield from _annotation_answers(one, reading, path)


def _annotation_answers(one: Mapping[str, object], reading: Reading, path: str) -> Iterator[Answer]:
    task, name, worker = _task(one), _name(one), _worker(one)
    if name == NOTE:
        return
    if task is None:
        expected = "the id of a span (or of a trace, or of a session)"
        if KIND in one and "span_id" not in one:
            expected += "; write the client's table with its index"
        reading.complain(f"{path}span_id", expected, one.get("span_id"))
        return
    if name is None:
        reading.complain(f"{path}name", "an annotation's name", one.get("name"))
        return
    if worker is None:
        reading.complain(f"{path}{KIND}", "LLM, CODE or HUMAN", one.get(KIND))
        return
    yield Answer(
        task,
        worker,
        _label(one),
        name,
        seconds_of(one.get("updated_at") or one.get("created_at")),
        kind=CHECKS if one.get(KIND) == "CODE" else "",
        id=name_of(one.get("id")) or "",
    )


def _task(one: Mapping[str, object]) -> str | None:
    """Return what an annotation is of; a document is named behind the span that retrieved it."""
    whole = next(filter(None, (name_of(one.get(key)) for key in ANNOTATED)), None)
    part = name_of(one.get("document_position"))
    return whole if whole is None or part is None else f"{whole}/{part}"


def _name(one: Mapping[str, object]) -> str | None:
    return next(filter(None, (name_of(one.get(key)) for key in NAMES)), None)


def _worker(one: Mapping[str, object]) -> str | None:
    """Return who annotated: a person, the evaluator by its identifier or metadata, or the kind.

    The user of an annotation that an evaluator sent is whose key it used.
    """
    identifier, kind = name_of(one.get("identifier")), name_of(one.get(KIND))
    if kind == "HUMAN":
        return name_of(one.get("user_id")) or identifier or kind
    return identifier or evaluator_of(one.get("metadata")) or kind


def _label(one: Mapping[str, object]) -> str | None:
    """Return the label of an annotation, else its score, as a table or the API has them."""
    result = mapping(one.get("result"))
    for key in ("label", "score"):
        for found in (result.get(key), one.get(f"result.{key}"), one.get(key)):
            if (text := name_of(found)) is not None:
                return text
    return None


ANNOTATIONS = Tool("phoenix", "annotations of Phoenix", _tell, _answers)
