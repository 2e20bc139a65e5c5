"""One answer as a tool keeps it, and the few things that every tool's reader asks of its values.

Knows nothing of any tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from crowdstream.labels.readers.jsonl import as_text


class Answer(NamedTuple):
    """Who said what of which task, to which question.

    ``label`` is None where the worker skipped or gave nothing that is one class. ``gold``: this is
    the truth of the task, not a vote. ``predicted``: a model said so. ``several``: of more choices
    than one the first is ``label``. ``at`` in seconds since 1970. ``id`` is the tool's own name of
    the answer, by which it is deleted later.
    """

    task: str
    worker: str
    label: str | None
    question: str = ""
    at: float | None = None
    gold: bool = False
    predicted: bool = False
    several: bool = False
    id: str = ""


def name_of(value: object) -> str | None:
    """An id of a tool as text; None for what names nothing.

    >>> name_of(17), name_of("ann"), name_of(True), name_of(None), name_of([1])
    ('17', 'ann', None, None, None)
    """
    if value is None or value == "" or isinstance(value, bool):
        return None
    text = as_text(value)
    return text if isinstance(text, str) else None


def seconds_of(value: object) -> float | None:
    """A time of a tool, ISO 8601 or seconds since 1970, in seconds; None if it is none.

    >>> seconds_of("1970-01-02T00:00:00Z"), seconds_of(12), seconds_of("yesterday")
    (86400.0, 12.0, None)
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def mapping(value: object) -> Mapping[str, object]:
    """An object of JSON; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[object]:
    """A list of JSON; an empty one for anything else."""
    return value if isinstance(value, list) else []
