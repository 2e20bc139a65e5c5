"""One answer as a tool keeps it, and the few things that every tool's reader asks of its values.

Knows nothing of any tool.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from crowdstream.labels.label import as_text

Complain = Callable[[str, str, object], None]
"""Takes what is wrong in a record: the path in it, what was expected, what was found."""

VERDICTS = {True: "pass", False: "fail"}
"""Labels of what tools keep as passed or not."""

EVALUATORS = ("evaluator", "judge", "grader", "model")
"""Keys of metadata, which is free in most tools, that name who judged; the first that is there."""


def overlook(path: str, expected: str, found: object) -> None:
    """A complaint that nobody hears."""


class Reading(NamedTuple):
    """Arguments of a tool's reader beside the record.

    ``file``: the name of its file without its ending, ``folder`` that of the folder it is in.
    ``question``: the one that is asked for.
    """

    file: str = ""
    folder: str = ""
    question: str | None = None
    complain: Complain = overlook


class Tool(NamedTuple):
    """One shape in which a tool writes answers.

    ``name`` is what ``--format`` calls it and ``title`` what messages do. ``tell`` says by what a
    record shows that it is of this tool, or None. ``document``: a file is one record, not many.
    ``events``: records are what happened, so a later one about the same answer replaces it.
    ``shape``: a typed dictionary of the keys that are read, so that the rest is passed over.
    ``unlabelled`` says what a record without a label holds instead, ``remark`` what whoever reads
    such a file should know.
    """

    name: str
    title: str
    tell: Callable[[Mapping[str, object]], str | None]
    answers: Callable[[Mapping[str, object], Reading], Iterator[Answer]]
    document: bool = False
    events: bool = False
    shape: type | None = None
    unlabelled: Callable[[Mapping[str, object]], str] | None = None
    remark: str = ""


class Answer(NamedTuple):
    """One worker's answer to one question on one task.

    ``label`` is None where the worker skipped or gave nothing that is a class; several classes are
    a JSON list of them (`join_classes`). ``gold``: this is the truth of the task, not a vote.
    ``kind``: empty for a vote; otherwise the word of ``--include`` that makes it one, such as
    "predictions". ``at`` in seconds since 1970. ``id`` is the tool's own name of the answer, by
    which it is deleted later; an answer with neither task nor worker says that it is deleted.
    """

    task: str
    worker: str
    label: str | None
    question: str = ""
    at: float | None = None
    gold: bool = False
    kind: str = ""
    id: str = ""


def name_of(value: object) -> str | None:
    """An id of a tool as text; None for what names nothing.

    >>> name_of(17), name_of("ann"), name_of(True), name_of(None), name_of([1])
    ('17', 'ann', None, None, None)
    """
    if type(value) is str:  # most are: the rest takes longer
        return value or None
    if value is None or isinstance(value, bool):
        return None
    text = as_text(value)
    return text if isinstance(text, str) else None


def seconds_of(value: object) -> float | None:
    """A time of a tool, ISO 8601 or seconds since 1970, in seconds; None if it is none.

    >>> seconds_of("1970-01-02T00:00:00Z"), seconds_of(12), seconds_of("yesterday")
    (86400.0, 12.0, None)
    """
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value) if math.isfinite(value) else None
        if not isinstance(value, str):
            return None
        moment = datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def label_of(value: object) -> str | None:
    """Return a value as a label; None for what is no class.

    >>> label_of("good"), label_of(True), label_of(["a"]), label_of({"text": "no class"})
    ('good', 'true', 'a', None)
    >>> label_of(["cat", "dog"])
    '["cat", "dog"]'
    """
    if isinstance(value, list):
        return join_classes(filter(None, map(_class_of, value)))
    return _class_of(value)


def _class_of(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return name_of(value)


def join_classes(classes: Iterable[str]) -> str | None:
    """Return classes chosen together as one label: a JSON list, or the class if it is only one.

    >>> join_classes(["cat", "dog", "cat"]), join_classes(["cat", "cat"]), join_classes([])
    ('["cat", "dog"]', 'cat', None)
    """
    chosen = list(dict.fromkeys(classes))
    if len(chosen) > 1:
        return json.dumps(chosen, ensure_ascii=False)
    return chosen[0] if chosen else None


def split_classes(label: str) -> list[str]:
    """Return the classes of a label, which are several where `join_classes` joined them.

    >>> split_classes('["cat", "dog"]'), split_classes("cat"), split_classes("[1] see there")
    (['cat', 'dog'], ['cat'], ['[1] see there'])
    """
    if not label.startswith('["'):
        return [label]
    try:
        found = json.loads(label)
    except (ValueError, RecursionError):
        return [label]
    if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
        return found
    return [label]


def evaluator_of(metadata: object, *more: str) -> str | None:
    """Return who judged as metadata names it; ``more``: keys of one tool, which go first.

    >>> evaluator_of({"model": "m1", "judge": "strict"}), evaluator_of({"cost": 3})
    ('strict', None)
    """
    found = mapping(metadata)
    return next(filter(None, (name_of(found.get(key)) for key in (*more, *EVALUATORS))), None)


def paged(
    record: Mapping[str, object], key: str, own: bool
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield path and record of what a page of an API lists under ``key``.

    ``own``: the record is no page but one of those itself.

    >>> list(paged({"data": [{"id": 1}]}, "data", own=False))
    [('data[0].', {'id': 1})]
    """
    if own:
        yield "", record
        return
    for place, one in enumerate(items(record.get(key))):
        yield f"{key}[{place}].", mapping(one)


def mapping(value: object) -> Mapping[str, object]:
    """An object of JSON; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """A list of JSON; an empty one for anything else."""
    return value if isinstance(value, list) else []
