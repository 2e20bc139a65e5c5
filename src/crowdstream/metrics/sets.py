"""Scores of decided sets against true ones. Knows nothing of how they were decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels import ArrowTable, TaskId
from crowdstream.labels.choice_cells import split_cell
from crowdstream.labels.tables import select_columns

Cell: TypeAlias = str | Collection[str]
"""A set of classes: the text of a cell, or the classes themselves."""

SetsByTask: TypeAlias = Mapping[str, Cell] | Mapping[int, Cell] | Mapping[TaskId, Cell]
"""Sets by the name of their task."""

JOINER = "|"
"""Stands between the classes of a set, unless said otherwise."""


class SetScores(NamedTuple):
    """Scores of sets against the truth.

    Parameters
    ----------
    micro
        F1 over all choices of all tasks.
    macro
        Mean F1 of the classes that were decided or are true somewhere.
    sample
        Mean F1 of the tasks; 1 where both sets are empty.
    exact
        Share of the tasks whose set is exactly right.
    tasks
        Tasks that were compared.

    Examples
    --------
    >>> set_f1({"t1": "cat"}, {"t1": "cat|dog"}).tasks
    1
    """

    micro: float
    macro: float
    sample: float
    exact: float
    tasks: int


def set_f1(
    decisions: ArrowTable | SetsByTask,
    truth: ArrowTable | SetsByTask,
    *,
    separator: str | None = JOINER,
) -> SetScores:
    """Score decided sets against true ones, on the tasks that both have.

    Parameters
    ----------
    decisions, truth
        Tables with the columns task and label, or sets by task. A set is the text of a cell or a
        collection of classes; a task without one (null) counts as decided to be empty.
    separator
        What stands between the classes of a cell.

    Examples
    --------
    >>> scores = set_f1({"t1": "cat|dog", "t2": "cat"}, {"t1": "cat|dog", "t2": "cat|bird"})
    >>> round(scores.micro, 3), scores.exact, scores.tasks
    (0.857, 0.5, 2)
    """
    decided, true = _sets_of(decisions, separator), _sets_of(truth, separator)
    both = [task for task in decided if task in true]
    if not both:
        raise InputError("truth", "tasks that were decided", "none in common")
    hits, found, real = (np.zeros(len(both)) for _ in range(3))
    by_class: dict[str, list[int]] = {}
    for place, task in enumerate(both):
        ours, theirs = decided[task], true[task]
        hits[place], found[place], real[place] = len(ours & theirs), len(ours), len(theirs)
        for name in ours | theirs:
            counts = by_class.setdefault(name, [0, 0])
            counts[0] += name in ours and name in theirs
            counts[1] += (name in ours) + (name in theirs)
    sample = np.where(found + real > 0, 2 * hits / np.maximum(found + real, 1), 1.0)
    total = float((found + real).sum())
    return SetScores(
        2 * float(hits.sum()) / total if total else 1.0,
        float(np.mean([2 * right / of for right, of in by_class.values()])) if by_class else 1.0,
        float(sample.mean()),
        float(np.mean((hits == found) & (hits == real))),
        len(both),
    )


def _sets_of(table: ArrowTable | SetsByTask, separator: str | None) -> dict[str, frozenset[str]]:
    """Sets by the text of their task."""
    pairs: Iterable[tuple[object, Cell | None]]
    if isinstance(table, Mapping):
        pairs = table.items()
    else:
        pairs = select_columns(table, lambda _: ("task", "label")).iter_rows()
    return {
        str(task): frozenset() if cell is None else _as_set(cell, separator) for task, cell in pairs
    }


def _as_set(cell: Cell, separator: str | None) -> frozenset[str]:
    return frozenset(split_cell(cell, separator) if isinstance(cell, str) else map(str, cell))
