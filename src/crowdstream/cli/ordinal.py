"""`--ordinal`: decisions of a run on a scale, and how far they are from the truth.

Knows nothing of files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdstream.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, TaskId


@dataclass(frozen=True)
class Ordinal:
    """The order of the classes; None where they are numbers."""

    order: list[str] | None = None

    @classmethod
    def asked(cls, ordinal: bool, order: str | None, online: bool, method: str) -> Ordinal | None:
        """What the options ask for, if anything."""
        if not ordinal and order is None:
            return None
        found = "--online" if online else "--method tracking" if method == "tracking" else ""
        if found:  # where each task is decided as it comes, no posteriors are kept
            raise InputError("--ordinal", "tasks that are decided when all labels are in", found)
        return cls(order_of(order))

    def decide(
        self,
        estimator: Estimator,
        decisions: pl.DataFrame,
        table: CodedLabels,
        gold: dict[TaskId, ClassLabel] | None,
        settle: float,
    ) -> pl.DataFrame:
        """The decisions by weighted median."""
        from crowdstream.ordinal import ordinal_decisions

        if not decisions.height:
            return decisions
        chances = estimator.predict_proba_many(table, gold=gold)
        with named_option():
            found: pl.DataFrame = ordinal_decisions(decisions, chances, self.order, settle=settle)
        return found

    def distance(self, decisions: pl.DataFrame, truths: pl.DataFrame) -> float:
        """How far decisions are from the truth on average."""
        from crowdstream.metrics import mean_distance

        with named_option():
            return mean_distance(decisions, truths, self.order)


def order_of(text: str | None) -> list[str] | None:
    """The classes that ``--order`` names.

    >>> order_of("low, mid,high")
    ['low', 'mid', 'high']
    """
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


class named_option:  # noqa: N801 used as a verb
    """Errors of the order as those of ``--order``."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.where == "order":
            raise InputError("--order", error.expected, error.found) from None
