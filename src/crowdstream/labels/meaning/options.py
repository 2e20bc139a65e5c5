"""Keyword arguments of every verb in Python that reads a table: what the table means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from crowdstream.errors import InputError
from crowdstream.labels.columns import ColumnNames
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.meaning.kinds import LabelHints, check_hints

HOW = "{}="
"""Form of an option as a caller in Python writes it."""


class TableMeaning(TypedDict, total=False):
    """Options on the meaning of a table, where it does not show it itself.

    Parameters
    ----------
    task, worker
        Names of the columns, where they are not the usual ones.
    label
        Name of the column of labels; several names: each column is a question (or a worker, if
        ``wide``).
    wide
        The table has one row per task and one column per worker.
    left_out
        Columns of a wide table that are no workers.
    question
        The column that names questions, or the one question to read.
    choices
        Labels are sets of classes: a cell holds all that apply, or a row each.
    separator
        What stands between the classes of a cell.
    ordinal
        Labels are numbers on a scale: the weighted median decides.
    order
        The classes of a scale, from one end to the other.
    threshold
        Labels are scores: from this one on they pass, below they fail.
    bins
        Labels are scores: cut them into so many steps of a scale.
    as_classes
        Labels are classes, whatever they look like.
    repeat
        The column that tells repeated answers of a worker on a task apart; the most frequent
        counts.
    repeats
        Of several labels of a worker on a task count the "last", the "first" or the "majority".
    on_error
        "fail" at a row without a task or a worker, or "skip" such rows.
    """

    task: str | None
    worker: str | None
    label: str | Sequence[str] | None
    wide: bool
    left_out: Sequence[str]
    question: str | None
    choices: bool
    separator: str | None
    ordinal: bool
    order: Sequence[ClassLabel] | None
    threshold: float | None
    bins: int | None
    as_classes: bool
    repeat: str | None
    repeats: str | None
    on_error: str


class TableReading(NamedTuple):
    """Options on the meaning of a table, checked."""

    names: ColumnNames
    hints: LabelHints
    on_error: str = "fail"


def read_meaning(meaning: TableMeaning) -> TableReading:
    """Check what a caller says of a table.

    >>> read_meaning({"label": ["tone", "toxic"]}).names.labels
    ('tone', 'toxic')
    """
    known = TableMeaning.__optional_keys__
    for name in meaning:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}")
    label = meaning.get("label") or None
    order = meaning.get("order")
    left_out = meaning.get("left_out", ())
    names = ColumnNames(
        meaning.get("task"),
        meaning.get("worker"),
        label if label is None or isinstance(label, str) else tuple(label),
        meaning.get("wide", False),
        meaning.get("question"),
        meaning.get("repeat"),
        (left_out,) if isinstance(left_out, str) else tuple(left_out),
    )
    hints = LabelHints(
        choices=meaning.get("choices", False),
        separator=meaning.get("separator"),
        ordinal=meaning.get("ordinal", False),
        order=None if order is None else tuple(order),
        threshold=meaning.get("threshold"),
        bins=meaning.get("bins"),
        as_classes=meaning.get("as_classes", False),
        repeats=meaning.get("repeats"),
        exact=True,
    )
    check_hints(hints, HOW)
    on_error = meaning.get("on_error", "fail")
    if on_error not in ("fail", "skip"):
        raise InputError("on_error", "'fail' or 'skip'", repr(on_error))
    return TableReading(names, hints, on_error)
