"""pandas tables in crowd-kit's shape ↔ the baselines' arrays. Knows no particular method.

Every row counts, also where a worker answered a task twice, as in crowd-kit; a row without a label
is no answer. Names may be whatever pandas can tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from crowdstream import InputError
from crowdstream.extension import LabelBatch, Vocabulary
from crowdstream_lab.baselines.common import Coded, Floats, Ints

COLUMNS = ["task", "worker", "label"]


class MissingColumnError(InputError, KeyError):
    """A table without a column that it needs; crowd-kit raises pandas' ``KeyError``.

    >>> raise MissingColumnError("table", "a column 'task'", "'item', 'worker', 'label'")
    Traceback (most recent call last):
    crowdstream_lab.crowdkit.tables.MissingColumnError: table: expected a column 'task', found \
'item', 'worker', 'label'
    """


def answers_of(data: pd.DataFrame) -> pd.DataFrame:
    """The three columns of a table, without the rows that have no label."""
    if not isinstance(data, pd.DataFrame):
        raise InputError("table", "a pandas DataFrame", type(data).__name__)
    for column in COLUMNS:
        if column not in data.columns:
            found = ", ".join(map(repr, data.columns)) or "no columns"
            raise MissingColumnError("table", f"a column {column!r}", found)
    rows = data[COLUMNS].dropna(subset=["label"])
    for column in ("task", "worker"):
        empty = np.flatnonzero(rows[column].isna())
        if empty.size:
            raise InputError(
                f"row {rows.index[empty[0]]!r}, column {column!r}", "a name", "a missing value"
            )
    return rows


@dataclass(frozen=True, slots=True)
class Answers:
    """A table in codes, and the names that the codes stand for."""

    coded: Coded
    once: Ints
    """Places of the labels that are no repetitions."""
    tasks: pd.Index
    workers: pd.Index
    classes: pd.Index

    def probas(self, posterior: Floats) -> pd.DataFrame:
        """Probabilities of the classes, one row per task."""
        kept = posterior[:, : len(self.classes)]  # the baselines know two classes at least
        kept = kept / kept.sum(axis=1, keepdims=True)
        return pd.DataFrame(kept, index=self.tasks, columns=self.classes)

    def by_worker(self, values: Floats, name: str = "skill") -> pd.Series:
        """One number per worker."""
        return pd.Series(values, index=self.workers, name=name)

    def skills(self, labels: pd.Series) -> pd.Series:
        """The share of each worker's answers that are those labels, of all tasks.

        Here, and only here, the same answer again counts once, as in crowd-kit.
        """
        task, worker, label = (
            each[self.once] for each in (self.coded.task, self.coded.worker, self.coded.label)
        )
        right = self.classes.get_indexer(labels.to_numpy())[task] == label
        n = len(self.workers)
        return self.by_worker(np.bincount(worker, right, n) / np.bincount(worker, minlength=n))


def code(rows: pd.DataFrame, *, in_order: bool = True) -> Answers:
    """Rows of task, worker and label in codes; tasks and workers sorted, or as they come."""
    (task, tasks), (worker, workers) = (
        _factorised(rows[column], in_order) for column in ("task", "worker")
    )
    label, classes = _factorised(rows["label"], True)
    place = np.argsort(task, kind="stable")
    task, worker, label = task[place], worker[place], label[place]
    starts = np.searchsorted(task, np.arange(len(tasks) + 1)).astype(np.int64)
    batch = LabelBatch(
        starts, worker.astype(np.int32), label.astype(np.int32), tasks=range(len(tasks))
    )
    known = Vocabulary(range(len(workers))), Vocabulary(range(len(classes)))
    cell = (task * len(workers) + worker) * len(classes) + label
    once = np.unique(cell, return_index=True)[1]
    return Answers(Coded(batch, task, worker, label, *known), once, tasks, workers, classes)


def _factorised(column: pd.Series, in_order: bool) -> tuple[Any, pd.Index]:
    """Codes of a column, and its values, sorted where they can be."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    try:
        codes, names = pd.factorize(column, sort=in_order)
    except TypeError:  # values of kinds that have no order
        codes, names = pd.factorize(column)
    return codes.astype(np.int64), pd.Index(names, name=column.name)


def most_probable(probas: pd.DataFrame) -> pd.Series:
    """The best class of each task; of several that are equally good, the first column's."""
    if probas.empty:
        return pd.Series([], dtype=object, name="agg_label")  # as crowd-kit has it
    best = probas.columns.take(probas.to_numpy().argmax(axis=1))
    return pd.Series(best, index=probas.index, name="agg_label")
