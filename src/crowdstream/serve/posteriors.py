"""The probability of each class, task by task: votes as the log has them, weighed by a crowd.

What was decided when a task closed is kept, its probabilities are not: they are those of the crowd
as it is now. A task whose votes are no longer in the log has none. Changes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdstream.labels import ClassLabel
from crowdstream.serve import log_events
from crowdstream.serve.store import ClosedTask, Reader
from crowdstream.stream.stream import Stream

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.decisions.decision import Decision

CELLS = 2_000_000
"""Probabilities in memory at a time: 16 MB."""

Given = list[tuple[str, ClassLabel | None]]
"""Workers and labels of a task in the order they came; None took one back."""


class Voted(NamedTuple):
    """A task, when it closed, its votes (None: not kept) and what is known to be true of it."""

    decision: Decision
    at: float | None
    votes: dict[str, ClassLabel] | None
    truth: ClassLabel | None = None


def closed_tasks(reader: Reader, project: int, upto: int) -> Iterator[Voted]:
    """Closed tasks with their votes, in the order in which they closed.

    Reads the log beside them, so that only votes of tasks that are open at a time are in memory.

    Parameters
    ----------
    reader
        Reads the folder.
    project
        Its number.
    upto
        The last part of the log to look at.
    """
    log = reader.log_until(project, upto)
    given: dict[str, Given] = {}
    truths: dict[str, ClassLabel] = {}
    done = 0
    for seq, tasks in reader.closed_until(project, upto):
        while done < seq and (part := next(log, None)) is not None:
            done, events = part
            _note(log_events.unpack(events), given, truths)
        for task, at in tasks:
            name = str(task.task)
            votes = _counted(given.pop(name, []), task.votes)
            yield Voted(task, at, votes, truths.pop(name, None))


def _note(
    events: list[log_events.Event], given: dict[str, Given], truths: dict[str, ClassLabel]
) -> None:
    """Note what the log says of votes and truths."""
    for event in events:
        match event:
            case log_events.Labels(_, rows):
                for task, worker, label in rows:
                    if label is not None:  # a skip changes no label
                        given.setdefault(task, []).append((worker, label))
            case log_events.Retract(_, task, worker):
                given.setdefault(task, []).append((worker, None))
            case log_events.Gold(_, task, label, late) if not late:
                truths[task] = label


def _counted(rows: Given, number: int) -> dict[str, ClassLabel] | None:
    """The votes that a decision was made of; None if they are not all known.

    >>> _counted([("ann", "x"), ("bob", "y"), ("ann", "y"), ("cy", "x")], 2)
    {'ann': 'y', 'bob': 'y'}
    """
    found: dict[str, ClassLabel] = {}
    for worker, label in rows:
        if label is None:
            found.pop(worker, None)
        else:
            found[worker] = label
    # Labels that came after it had closed, in the request that closed it, are in the log as well.
    while len(found) > number:
        found.popitem()
    return found if len(found) == number else None


def open_tasks(stream: Stream, truths: dict[str, ClassLabel]) -> Iterator[Voted]:
    """Open tasks with their votes, the longest idle first."""
    for task in stream.open_tasks:
        votes = {str(vote.worker): vote.label for vote in stream.votes(task)}
        yield Voted(stream.decision(task), None, votes, truths.get(str(task)))


def in_parts(tasks: Iterable[Voted], most: int, classes: int) -> Iterator[list[Voted]]:
    """Tasks in parts of at most so many, fewer where there are many classes; at least one part."""
    size = max(min(most, CELLS // max(classes, 1)), 1)
    given = iter(tasks)
    while True:
        part = list(islice(given, size))
        yield part
        if len(part) < size:
            return


def probability_columns(
    stream: Stream, tasks: list[Voted], taken: Iterable[str]
) -> dict[str, pl.Series]:
    """A column per class that the crowd knows; null where votes are not known.

    A class whose name is taken, by another column or class, goes by ``class_`` and it.

    >>> stream = Stream()
    >>> decision = stream.observe("t1", "ann", "spam")
    >>> found = probability_columns(stream, [Voted(decision, None, {"ann": "spam"}, "spam")], [])
    >>> found["spam"].to_list()
    [1.0]
    """
    import polars as pl

    classes = stream.crowd.classes_
    found = _posteriors(stream, tasks, classes)
    columns: dict[str, pl.Series] = {}
    names = set(taken)
    for code, label in enumerate(classes):
        name = str(label)
        while name in names:
            name = f"class_{name}"
        names.add(name)
        columns[name] = pl.Series(found[:, code], dtype=pl.Float64, nan_to_null=True)
    return columns


def _posteriors(
    stream: Stream, tasks: list[Voted], classes: list[ClassLabel]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    found = np.full((len(tasks), len(classes)), np.nan)
    rows = [
        (place, worker, label)
        for place, task in enumerate(tasks)
        for worker, label in (task.votes or {}).items()
    ]
    if rows:
        with warnings.catch_warnings():  # that votes are only counted is in every row
            warnings.simplefilter("ignore")
            table = stream.crowd.predict_proba_many(rows)
        places = table["task"].to_numpy()
        found[places] = table.drop("task").to_numpy()[:, : len(classes)]
    codes = {(type(label), label): code for code, label in enumerate(classes)}
    for place, task in enumerate(tasks):
        if task.truth is not None:
            found[place] = 0.0
            found[place, codes[type(task.truth), task.truth]] = 1.0
    return found


def without_votes(tasks: Iterable[tuple[int, int, ClosedTask]]) -> Iterator[Voted]:
    """Closed tasks by their decisions alone."""
    return (Voted(task.decision, task.at, None) for _, _, task in tasks)
