"""Decisions on one table of labels, without gold and with it, as polars tables.

Uses estimators as anybody would, by their public verbs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from crowdstream.errors import NotIdentifiable, SureInDoubt
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.labels import ClassLabel, CodedLabels, ColumnNames, Row, Table, TaskId
from crowdstream.labels.tables import is_table, read_table, select_columns

if TYPE_CHECKING:
    import polars as pl

FOLDS = 5
"""Parts of the gold, each decided by an estimator that was told the others only: with fewer, each
would be told much less than it is when all is known."""

Gold = Mapping[TaskId, ClassLabel]


class Fit(NamedTuple):
    """An estimator that has learnt the labels, and its decisions."""

    crowd: Estimator
    decisions: pl.DataFrame


class Labels:
    """One table of labels that is decided several times by estimators of one kind."""

    def __init__(
        self, data: Table, crowd: Estimator | None, columns: ColumnNames, settle: float
    ) -> None:
        self.crowd = Adaptive() if crowd is None else crowd
        self.settle = settle
        self.table = _lasting(data, columns)

    def fit(self, gold: Gold | None = None) -> Fit:
        """Learn everything afresh, told this gold, and decide."""
        crowd = self.crowd.clone()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)
            warnings.simplefilter("ignore", SureInDoubt)  # whether promises are kept is said
            found = crowd.fit_predict(self.table, gold=gold or None, settle=self.settle)
        return Fit(crowd, as_polars(found))

    def cross_fit(self, gold: Gold, folds: int = FOLDS) -> pl.DataFrame:
        """The gold tasks, each decided by an estimator that was told others, but not this one.

        So they show what decisions and confidences are worth where gold was given elsewhere.
        """
        import polars as pl

        tasks = list(gold)
        folds = min(folds, len(tasks))
        found = []
        for fold in range(folds):
            asked = set(tasks[fold::folds])
            told = {task: label for task, label in gold.items() if task not in asked}
            decisions = self.fit(told).decisions
            found.append(decisions.filter(pl.col("task").is_in(list(asked))))
        return pl.concat(found)


def _lasting(data: Table, columns: ColumnNames) -> Table:
    """Labels that can be read again and again: a stream of Arrow and an iterator cannot."""
    if isinstance(data, CodedLabels):
        return data
    return read_table(data, columns) if is_table(data) else list(cast("Iterable[Row]", data))


def as_polars(table: object) -> pl.DataFrame:
    """A table that an estimator returned, whatever its kind."""
    return select_columns(table, lambda header: header)  # type: ignore[arg-type]
