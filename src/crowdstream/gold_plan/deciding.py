"""Decisions on one table of labels, without gold and with it, as polars tables.

Uses estimators as anybody would, by their public verbs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import InputError, NotIdentifiable, SureInDoubt
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.labels import ClassLabel, Table, TaskId
from crowdstream.labels.coding import interpret
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.tables import select_columns

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
        self, data: Table, crowd: Estimator | None, meaning: TableMeaning, settle: float
    ) -> None:
        self.crowd = Adaptive() if crowd is None else crowd
        self.settle = settle
        self.question = interpret(data, **meaning).only("data", "question= names one")
        if self.question.kind.name == "choices":
            raise InputError("gold", "classes or a scale", "choices, which it cannot plan for")
        self.table = self.question.table

    def fit(self, gold: Gold | None = None) -> Fit:
        """Learn everything afresh, told this gold, and decide."""
        crowd = self.crowd.clone()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)
            warnings.simplefilter("ignore", SureInDoubt)  # whether promises are kept is said
            found = crowd.fit_predict(self.question, gold=gold or None, settle=self.settle)
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


def as_polars(table: object) -> pl.DataFrame:
    """A table that an estimator returned, whatever its kind."""
    return select_columns(table, lambda header: header)  # type: ignore[arg-type]
