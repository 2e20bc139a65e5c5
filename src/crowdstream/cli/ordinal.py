"""`--ordinal`: decisions on a scale, and how far they are from the truth.

Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdstream.cli import options
from crowdstream.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.labels import ClassLabel, CodedLabels, TaskId


class DecidedScale(options.Group, panel="Deciding"):
    """Options of a scale by which tasks are decided."""

    HELP = """
    --ordinal  Labels have an order, as 1 to 5 stars have: decide by the weighted median of the
        votes, add columns score (posterior mean) and steps (expected distance from the truth), and
        score the mean distance from --truth too. Numbers are ordered by value.
    --order CLASSES  The order of labels that are no numbers, with commas between: low,mid,high.
        Implies --ordinal.
    """
    ordinal: bool = False
    order: str | None = None

    def start(self, online: bool, method: str) -> Ordinal | None:
        """Return the scale that the options ask for, or None."""
        if not self.ordinal and self.order is None:
            return None
        found = "--online" if online else "--method tracking" if method == "tracking" else ""
        if found:  # workers' spreads are learnt from all labels at once
            raise InputError("--ordinal", "tasks that are decided when all labels are in", found)
        return Ordinal(order_of(self.order))


class ComparedScale(options.Group, panel="Scoring"):
    """Options of a scale by which decisions are scored."""

    HELP = """
    --ordinal  Labels have an order, as 1 to 5 stars have: score the mean distance from the truth
        too. Numbers are ordered by value.
    --order CLASSES  The order of labels that are no numbers, with commas between: low,mid,high.
        Implies --ordinal.
    """
    ordinal: bool = False
    order: str | None = None

    @property
    def asked(self) -> bool:
        """True if the distance is to be scored."""
        return self.ordinal or self.order is not None

    def places(self, classes: Iterable[ClassLabel]) -> dict[str, float] | None:
        """Return the place of each class on the scale, or None without one."""
        from crowdstream.labels.scale import scale_of

        return scale_of(classes, order_of(self.order), "--order") if self.asked else None


@dataclass
class Ordinal:
    """The order of the classes (None where they are numbers), and what was decided by it so far."""

    order: list[str] | None = None
    decided: int = 0
    steps: float = 0.0

    @property
    def expected_steps(self) -> float:
        """Expected distance of the decisions from the truth, in steps of the scale."""
        return self.steps / max(self.decided, 1)

    def decide(
        self,
        estimator: Estimator,
        decisions: pl.DataFrame,
        table: CodedLabels,
        gold: dict[TaskId, ClassLabel] | None,
        rule: dict[str, Any],
    ) -> pl.DataFrame:
        """Decide by the weighted median of the votes; ``rule``: when decisions are settled."""
        from crowdstream.ordinal import ordinal_decisions

        weighted = estimator.weighs and bool(estimator.identifiable_)
        with named_option():
            found: pl.DataFrame = ordinal_decisions(
                decisions, table, self.order, weighted=weighted, gold=gold, **rule
            )
        steps = found["steps"].drop_nulls()
        self.decided += len(steps)
        self.steps += float(steps.sum())
        return found

    def distance(self, decisions: pl.DataFrame, truths: pl.DataFrame) -> float:
        """Return the mean distance of decisions from the truth."""
        from crowdstream.metrics import mean_distance

        with named_option():
            return mean_distance(decisions, truths, self.order)


def order_of(text: str | None) -> list[str] | None:
    """Return the classes that ``--order`` names.

    >>> order_of("low, mid,high")
    ['low', 'mid', 'high']
    """
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]


class named_option:  # noqa: N801 used as a verb
    """Report errors of the order as errors of ``--order``."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and error.where == "order":
            raise InputError("--order", error.expected, error.found) from None
