"""What was found of a panel: tables and numbers, and the same in plain words. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crowdstream.estimators.estimator import NativeTable
from crowdstream.models.dependence import Dependence
from crowdstream.monitoring.estimator_view import as_polars
from crowdstream.panel.wording import NAMED, listed
from crowdstream.plain_text import counted, percent, printable, shortened
from crowdstream.rates import Rates
from crowdstream.statements.dependence import describe_dependence

if TYPE_CHECKING:
    import polars as pl

NAME = 24
"""Characters of a judge's name that the summary shows."""

SHOWN = 12
"""Judges that the summary lists, the heaviest first."""

NEARLY = 0.99
"""Share of the items from which on a judge saw nearly all of them."""

WHY = {
    "no verdict": "nobody judged them",
    "one verdict": "only one judge did",
    "verdicts differ": "the default vote and the common-factor vote differ",
    "not sure": "the panel is not sure enough",
}
"""Why an item needs a human, and how that is said of several."""

DECIDED = {
    "default": [],
    "common factor": ["a dense panel with correlated errors: the common-factor vote decides"],
    "gold": ["gold weighs the votes"],
}
"""What the summary says of the vote that decided."""


class Estimate(msgspec.Struct, frozen=True):
    """A number with its 95 % interval; ``None`` where it cannot be told."""

    value: float
    low: float | None = None
    high: float | None = None


class EffectiveJudges(msgspec.Struct, frozen=True):
    """How many independent judges a panel is worth, and what its joint errors cost.

    Attributes
    ----------
    judges, items
        How many judges there are, and items of known truth that they judged.
    effective
        What they are worth in independent judges; ``None`` where it is not defined.
    correlation
        The mean correlation of two judges' errors.
    accuracy
        Of the plain vote of all judges, on these items.
    accuracy_if_independent
        What it would be if the same judges, with the same confusions, erred independently.
    without
        One row per judge: its error rate with its interval, and what effective number, correlation
        and accuracy of the vote are without it.
    notes
        What could not be told, and why.
    """

    judges: int
    items: int
    effective: Estimate | None
    correlation: Estimate | None
    accuracy: float
    accuracy_if_independent: float
    without: NativeTable
    notes: list[str]

    def __repr__(self) -> str:
        panel = f"{counted(self.judges, 'judge')} on {counted(self.items, 'item')} of known truth"
        worth = "what they are worth cannot be told"
        if self.effective is not None:
            worth = f"worth {with_interval(self.effective, 1)} independent ones"
        lines = [f"{panel}: {worth}"]
        if self.correlation is not None:
            lines.append(f"mean correlation of errors: {with_interval(self.correlation, 2)}")
        lines.append(
            f"their vote is right on {percent(self.accuracy)}; if the same judges erred "
            f"independently, on {percent(self.accuracy_if_independent)}"
        )
        return "\n".join([*lines, *self.notes])


def with_interval(estimate: Estimate, digits: int) -> str:
    """An estimate in words.

    >>> with_interval(Estimate(2.04, 1.81, 2.39), 1)
    '2.0 (1.8 to 2.4)'
    """
    text = f"{estimate.value:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({estimate.low:.{digits}f} to {estimate.high:.{digits}f})"


class ToCheck(msgspec.Struct, frozen=True):
    """What a few known truths would settle.

    Attributes
    ----------
    differ
        Items on which the default vote and the common-factor vote differ.
    enough
        How many of them to have checked to tell which of the two is to be believed.
    first
        Which to check, in this order: drawn at random, so that what is found holds for all.
    """

    differ: int
    enough: int
    first: list[str | int]


class Jury(msgspec.Struct, frozen=True, kw_only=True):
    """What a panel of judges says of every item, and what that is worth.

    Attributes
    ----------
    items, classes
        How many there are.
    decisions
        One row per item: ``item``; ``label`` and its ``confidence``, as `Adaptive` decides;
        ``needs_human`` and ``why``; the two votes of a dense panel, ``default`` and
        ``common_factor``, and whether they ``agree``; ``votes``, how many verdicts there are. Where
        there is one vote only, ``default`` is the label and ``common_factor`` null.
    judges
        One row per judge: ``judge``, ``verdicts``, ``error_rate`` with its interval (``error_low``,
        ``error_high``) and what it rests on (``evidence``), ``weight``, ``flags``, ``family``.
    weights
        What each judge's vote counts, in log-odds.
    verdict
        The vote that decided: "default", "common factor" (a dense panel that errs together), or
        "gold" (all scores, weighed by 20 or more known truths).
    density
        Share of the items that a judge sees, in the mean.
    effective
        How many independent judges a full panel is worth; without gold an upper bound, since errors
        that judges share look like agreement.
    joint_errors
        The same against known truths, if gold was given, with an interval.
    dependence
        Whether judges make mistakes together, as `Estimator.dependence_` has it.
    human
        How many items need a human, by reason.
    to_check
        What a few known truths would settle; ``None`` if there is one vote only.
    rates
        The share of each class, corrected by gold, if gold was given and labels are classes.
    notes
        What to know of this panel, in plain words.
    """

    items: int
    classes: int
    decisions: NativeTable
    judges: NativeTable
    weights: dict[str | int, float]
    verdict: str
    density: float
    effective: float | None
    joint_errors: EffectiveJudges | None
    dependence: Dependence
    human: dict[str, int]
    to_check: ToCheck | None
    rates: Rates | None = None
    notes: list[str]

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """The findings in plain words.

        Examples
        --------
        >>> import crowdstream as cs
        >>> votes = {k: {judge: k % 2 for judge in "abc"} for k in range(30)}
        >>> print(cs.jury(votes).summary().splitlines()[0])
        30 items, 3 judges, 2 classes; a judge saw all of them
        """
        judges = as_polars(self.judges)
        lines = [self._size(judges.height), *_judge_lines(judges), *self._worth()]
        lines += [*DECIDED[self.verdict], *self._human()]
        if self.to_check is not None and self.to_check.differ:
            lines += self._gold()
        if self.rates is not None:
            lines += self.rates.summary().splitlines()
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _size(self, judges: int) -> str:
        sizes = f"{counted(self.items, 'item')}, {counted(judges, 'judge')}"
        classes = f"{self.classes:,} class" + ("" if self.classes == 1 else "es")
        seen = "all" if self.density >= 1.0 else "nearly all"
        if self.density < NEARLY:
            seen = f"{self.density:.0%}"
        return f"{sizes}, {classes}; a judge saw {seen} of them"

    def _worth(self) -> list[str]:
        found = self.joint_errors
        if found is not None:
            return repr(found).splitlines()
        if self.effective is None:
            return []
        return [
            f"worth at most {self.effective:.1f} independent judges: errors that judges share look "
            "like agreement, so it may be far fewer (gold tells)",
            describe_dependence(self.dependence).replace("these workers", "these judges"),
        ]

    def _human(self) -> list[str]:
        total = sum(self.human.values())
        if not total:
            return ["no item needs a human"]
        parts = [f"{number:,}: {WHY[why]}" for why, number in self.human.items() if number]
        return [f"{counted(total, 'item')} of {self.items:,} to be seen by a human", *parts]

    def _gold(self) -> list[str]:
        assert self.to_check is not None
        differ, enough = self.to_check.differ, self.to_check.enough
        which = "all of them" if enough == differ else f"{enough:,} of them"
        return [
            f"the two votes differ on {counted(differ, 'item')} ({percent(differ / self.items)} "
            f"of all): have {which} checked to tell which to believe, "
            f"first {listed(self.to_check.first[:NAMED])}"
        ]


def _judge_lines(judges: pl.DataFrame) -> list[str]:
    """A small table of the judges, the heaviest first."""
    shown = judges.sort("weight", descending=True, maintain_order=True).head(SHOWN)
    names = [shortened(printable(name), NAME) for name in shown["judge"]]
    width = max(map(len, ["judge", *names]))
    lines = [f"{'judge':<{width}}  verdicts  error rate (95 %)     weight"]
    columns = ("verdicts", "error_rate", "error_low", "error_high", "weight")
    for name, row in zip(names, shown.select(columns).iter_rows(), strict=True):
        verdicts, rate, low, high, weight = row
        error = "not known" if rate is None else f"{rate:.2f} ({low:.2f} to {high:.2f})"
        lines.append(f"{name:<{width}}  {verdicts:>8,}  {error:<20}  {weight:>6.2f}")
    if judges.height > SHOWN:
        lines.append(f"… and {judges.height - SHOWN} more")
    return lines
