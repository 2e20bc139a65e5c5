"""LangSmith: feedback on runs → `Answer`.

The key of a feedback is the question; who gave it is a person or an evaluator. Knows nothing of
files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crowdstream.labels.readers.answer import (
    Answer,
    Reading,
    Tool,
    evaluator_of,
    items,
    label_of,
    mapping,
    name_of,
    paged,
    seconds_of,
)

SOURCE = "feedback_source"

PERSON = "app"
"""Type of the source of what people say in LangSmith's pages."""

RUNS = ("run_id", "trace_id", "session_id")
"""Keys of what a feedback is on, the nearest first."""

NAMED = ("evaluator_name", "model_name")
"""Keys by which the metadata of a source names an evaluator, beside the usual ones."""

NOTE = "note"
"""The key of feedback that is a remark."""


def _tell(record: Mapping[str, object]) -> str | None:
    pages = (items(record.get(key)) for key in ("feedback", "feedbacks"))
    for one in (record, *(mapping(each) for page in pages for each in page)):
        if _is_feedback(one):
            return f"its records have run_id, key and {SOURCE if SOURCE in one else 'score'}"
    return None


def _is_feedback(record: Mapping[str, object]) -> bool:
    return {"run_id", "key"} <= record.keys() and (SOURCE in record or "score" in record)


def _answers(record: Mapping[str, object], reading: Reading) -> Iterator[Answer]:
    key = "feedback" if "feedback" in record else "feedbacks"
    for path, one in paged(record, key, own=_is_feedback(record)):
        yield from _feedback_answers(one, reading, path)


def _feedback_answers(one: Mapping[str, object], reading: Reading, path: str) -> Iterator[Answer]:
    key = name_of(one.get("key"))
    task = next(filter(None, (name_of(one.get(name)) for name in RUNS)), None)
    label = _label(one)
    if key == NOTE and label is None:
        return
    if task is None:
        reading.complain(f"{path}run_id", "a run's id (or a trace's)", one.get("run_id"))
        return
    if key is None:
        reading.complain(f"{path}key", "what the feedback is on", one.get("key"))
        return
    yield Answer(
        task,
        _worker(mapping(one.get(SOURCE))) or key,
        label,
        key,
        seconds_of(one.get("modified_at") or one.get("created_at")),
        id=name_of(one.get("id")) or "",
    )


def _worker(source: Mapping[str, object]) -> str | None:
    """Return who gave feedback: the evaluator that the source names, a person, or its type.

    The user of feedback that did not come from LangSmith's pages is whose key was used.
    """
    metadata, kind = mapping(source.get("metadata")), name_of(source.get("type"))
    if evaluator := evaluator_of(metadata, *NAMED):
        return evaluator
    if kind in (PERSON, None):
        return name_of(source.get("user_name")) or name_of(source.get("user_id")) or kind
    return " ".join(filter(None, [kind, name_of(metadata.get("rule_id"))]))


def _label(one: Mapping[str, object]) -> str | None:
    """Return the value, which is a category's name beside its number, else the score."""
    if one.get("error") is True or mapping(one.get("extra")).get("error") is True:
        return None  # an evaluator that failed
    found = label_of(one.get("value"))
    return label_of(one.get("score")) if found is None else found


FEEDBACK = Tool("langsmith", "feedback of LangSmith", _tell, _answers)
