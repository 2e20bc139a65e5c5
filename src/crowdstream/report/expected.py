"""Expected wrong decisions of a run, counted piece by piece as decisions are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crowdstream.gold_plan.fooled import Checked
from crowdstream.metrics.expected import Doubt
from crowdstream.report.fooled import check_settled
from crowdstream.statements.expected import WrongDecisions, checked_wrong, expected_wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, TaskId

DIGITS = 6
"""Decimals that are told: the sums of pieces differ from those of the whole in their last ones."""

FOLDS = 2
"""Halves of the gold, each decided by an estimator that was told the other: the labels are learnt
twice more, which is as long as anybody wants to wait for one line."""


class ErrorCount:
    """The expected errors of the decisions taken in so far."""

    def __init__(self) -> None:
        self.doubt = Doubt()
        self.gold_tasks, self.wrong, self.expected = 0, 0, 0.0
        self.checked = Checked()

    def take(self, decisions: pl.DataFrame, gold: list[TaskId]) -> None:
        """Take in some decisions; those on gold tasks are right."""
        confidences, counted = decisions["confidence"], decisions["label"].is_not_null()
        if gold:
            counted &= ~decisions["task"].is_in(gold)
        if not counted.all():
            confidences = confidences.filter(counted)
        self.doubt = self.doubt.plus(Doubt.of(confidences.to_numpy()))

    def check(
        self, table: CodedLabels, crowd: Estimator, gold: Mapping[TaskId, ClassLabel], settle: float
    ) -> None:
        """See how many errors there are on gold tasks that were not told, and were expected."""
        from crowdstream.gold_plan.deciding import Labels

        known = {task: gold[task] for task in table.task_order()[1] if task in gold}
        labels = Labels(table, crowd, {}, settle)
        decided = labels.cross_fit(known, FOLDS).drop_nulls("label")
        rows = decided.select("task", "label").iter_rows()
        self.gold_tasks = decided.height
        self.wrong = sum(str(label) != str(known[task]) for task, label in rows)
        self.expected = Doubt.of(decided["confidence"].to_numpy()).mean
        self.checked = check_settled(decided, known)

    def report(self, crowd: Estimator, parts: int) -> WrongDecisions:
        """Return the errors to be expected among all decisions of this crowd, each of ``parts``."""
        found = expected_wrong(self.doubt, crowd, parts=parts)
        if self.gold_tasks:
            found = checked_wrong(self.doubt, self.wrong, self.expected, self.gold_tasks)
        errors, low, high = (round(one, DIGITS) for one in (found.errors, found.low, found.high))
        return msgspec.structs.replace(found, errors=errors, low=low, high=high)
