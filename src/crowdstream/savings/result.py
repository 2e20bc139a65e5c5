"""Results of replays of buying labels: the curves, and how many labels were enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

if TYPE_CHECKING:
    pass


Floats = NDArray[np.float64]


SAME = 0.05
"""Without gold: the share of tasks that may be decided otherwise than from all labels."""


STOP, FIXED, MAJORITY = (
    "stop when sure",
    "fixed number, same crowd",
    "fixed number, majority vote",
)
"""The three ways to buy, as column ``rule`` names them."""


@dataclass(frozen=True, eq=False)
class Savings:
    """Results of the replays.

    ``table`` has one row per way of buying: ``rule``; ``settle`` (the confidence to stop at) or
    ``redundancy`` (the fixed number of labels per task), both null where the crowd was never to be
    sure and all labels were bought; ``labels_per_task``; ``error``; and ``spread``, the standard
    deviation of the error over the orders. ``scored`` tasks count for the error: those with gold
    or, without, all whose decision from all labels is no tie.
    """

    table: pl.DataFrame
    tasks: int
    labels: int
    scored: int
    has_gold: bool
    repeats: int

    @property
    def target(self) -> float:
        """The error to be reached: majority vote's with all labels, or `SAME` without gold."""
        return self._curve(MAJORITY)["error"][-1] if self.has_gold else SAME

    @property
    def enough(self) -> dict[str, float] | None:
        """The cheapest level to stop at that errs no more than `target`, nor does any above it.

        Its ``settle``, ``labels_per_task``, ``error`` and ``saved``, the share of all labels that
        were not bought; None if even the most expensive level errs more.
        """
        found = None
        for row in reversed(self.levels().drop_nulls("settle").to_dicts()):
            if row["error"] > self.target:
                break
            found = row
        if found is None:
            return None
        return {name: found[name] for name in ("settle", "labels_per_task", "error", "saved")}

    def levels(self) -> pl.DataFrame:
        """One row per level to stop at: labels, error, and what a fixed number at this cost errs.

        Between two fixed numbers the error is interpolated: some tasks get one label more.
        """
        stop = self._curve(STOP)
        cost = stop["labels_per_task"].to_numpy()

        def beside(rule: str) -> Floats:
            fixed = self._curve(rule)
            found = np.interp(cost, fixed["labels_per_task"].to_numpy(), fixed["error"].to_numpy())
            return np.asarray(found, float)

        return stop.select(
            "settle",
            "labels_per_task",
            saved=1 - pl.col("labels_per_task") * self.tasks / self.labels,
            error="error",
            fixed=pl.Series(beside(FIXED)),
            majority=pl.Series(beside(MAJORITY)),
        )

    def answer(self) -> str:
        """Say how many labels would have been enough."""
        whole = f"all {self.labels:,} labels"
        if self.has_gold:
            aim = f"the error majority vote has with {whole} ({self.target:.3f})"
        else:
            aim = f"the decision from {whole} on {100 * (1 - SAME):.0f} % of the tasks"
        if self.enough is None:
            return f"{aim} is not reached by stopping when sure: nothing saved"
        bought = round(self.enough["labels_per_task"] * self.tasks)
        return (
            f"{aim} is reached with {bought:,} labels, stopping at a confidence of "
            f"{self.enough['settle']:g}: {100 * self.enough['saved']:.0f} % saved"
        )

    def report(self) -> dict[str, object]:
        """Everything, as numbers and text for JSON."""
        return {
            "tasks": self.tasks,
            "labels": self.labels,
            "error_against": "truth" if self.has_gold else "the decision from all labels",
            "scored_tasks": self.scored,
            "repeats": self.repeats,
            "target": self.target,
            "enough": self.enough,
            "curves": self.table.to_dicts(),
        }

    def _curve(self, rule: str) -> pl.DataFrame:
        return self.table.filter(pl.col("rule") == rule)
