"""Findings on a panel: tables, numbers, and plain words. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crowdstream.estimators.estimator import NativeTable
from crowdstream.models.dependence import Dependence
from crowdstream.monitoring.coefficients import Coefficients
from crowdstream.monitoring.estimator_view import as_polars
from crowdstream.panel.wording import NAMED, listed
from crowdstream.plain_text import counted, percent, printable, shortened
from crowdstream.rates import Rates
from crowdstream.statements.agreement import agreement_words
from crowdstream.statements.dependence import describe_dependence

if TYPE_CHECKING:
    import polars as pl

NAME = 24
"""Characters of a judge's name that the summary shows."""

SHOWN = 12
"""Judges that the summary lists, the heaviest first."""

NEARLY = 0.99
"""Share of the tasks from which on a judge saw nearly all of them."""

NEEDS_HUMAN = {
    "no_votes": "nobody judged them",
    "one_vote": "only one judge did",
    "votes_differ": "the weighted vote and the common-factor vote differ",
    "not_sure": "the panel is not sure enough",
}
"""Why a task needs a human, and how that is said of several."""

DECIDED = {
    "weighted_vote": [],
    "common_factor_vote": ["a dense panel with correlated errors: the common-factor vote decides"],
    "gold": ["gold weighs the votes"],
}
"""Words for the vote that decided."""


class Estimate(msgspec.Struct, frozen=True):
    """A number with its 95 % interval; ``None`` where it cannot be told."""

    value: float
    low: float | None = None
    high: float | None = None


class EffectiveJudges(msgspec.Struct, frozen=True):
    """Number of independent judges that a panel is worth, and the cost of its joint errors.

    Attributes
    ----------
    workers, tasks
        How many judges there are, and tasks of known truth that they judged.
    effective
        What they are worth in independent judges; ``None`` where it is not defined.
    correlation
        The mean correlation of two judges' errors.
    accuracy
        Of the plain vote of all judges, on these tasks.
    accuracy_if_independent
        What it would be if the same judges, with the same confusions, erred independently.
    without
        One row per judge, the worst first: ``worker``; ``tasks`` of known truth that it judged;
        ``error_rate`` on them with its 95 % interval (``error_low``, ``error_high``);
        ``correlation_without``, ``effective_without`` and ``accuracy_without``: what mean
        correlation, effective number and accuracy of the plain vote are without it.
    notes
        What could not be told, and why.
    """

    workers: int
    tasks: int
    effective: Estimate | None
    correlation: Estimate | None
    accuracy: float
    accuracy_if_independent: float
    without: NativeTable
    notes: list[str]

    def __repr__(self) -> str:
        panel = f"{counted(self.workers, 'judge')} on {counted(self.tasks, 'task')} of known truth"
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
    """Items that a few known truths would settle.

    Attributes
    ----------
    differ
        Tasks on which the weighted vote and the common-factor vote differ.
    enough
        How many of them to have checked to tell which of the two is to be believed.
    first
        Which to check, in this order: drawn at random, so that what is found holds for all.
    """

    differ: int
    enough: int
    first: list[str | int]


class Jury(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions of a panel of judges on every task, and what they are worth.

    Attributes
    ----------
    tasks, classes
        How many there are.
    decisions
        One row per task. First what `Estimator.fit_predict` and ``crowdstream run`` have:

        - ``task``; ``label``, the verdict of the panel; ``confidence``, the probability that it is
          right; ``margin``, by how much it is ahead of the next class; ``votes``, how many judges
          gave a verdict; ``settled``, whether more verdicts would hardly change it (a confidence
          of 0.95, two votes). On a scale also ``score`` and ``steps``; of sets ``confidences`` and
          ``least``.

        Then what a panel adds:

        - ``needs_human``: whether a human should look; ``reason``: why, null if not. "no_votes":
          nobody judged it; "one_vote": only one judge did; "votes_differ": the two votes do;
          "not_sure": the confidence is below ``sure``. A task of known truth needs nobody.
        - ``weighted_vote``: the class by each judge's skill and confusions.
        - ``common_factor_vote``: the class by the vote that also subtracts what all judges of a
          task have in common; null in a sparse panel, on a scale and of sets.
        - ``votes_agree``: whether these two name one class; true where there is but one.
    workers
        One row per judge. First what `Estimator.workers` has:

        - ``worker``; ``answers``, its verdicts; ``error_rate`` with its 95 % interval,
          ``error_low`` and ``error_high``; ``evidence``, what that rests on (agreement or
          gold); ``weight`` of its vote in log-odds; ``agreement`` with the others; ``quality``
          (1 knows, 0 guesses); ``flags``, codes of what stands out.

        Then what a panel adds:

        - ``family``: the family that was declared of it, if any.
        - ``flip_rate``, ``flip_low``, ``flip_high``: of the tasks that it was asked again, the
          share on which it contradicts itself, with its 95 % interval; where judges were asked
          again.
        - ``missing``: of the tasks that it was asked, the share without a verdict; where some are.
    weights
        What each judge's vote counts, in log-odds.
    decided_by
        The vote that decided: "weighted_vote", "common_factor_vote" (a dense panel that errs
        together), or "gold" (all scores, weighed by 20 or more known truths).
    density
        Share of the tasks that a judge sees, in the mean.
    effective
        How many independent judges a full panel is worth; without gold an upper bound, since errors
        that judges share look like agreement.
    joint_errors
        The same against known truths, if gold was given, with an interval.
    dependence
        Whether judges make mistakes together, as `Estimator.dependence_` has it.
    agreement
        How far verdicts agree, by the usual coefficients (see `agreement`); ``None`` if no task has
        two verdicts or there are more than 100 classes.
    needs_human
        How many tasks need a human, by reason.
    to_check
        What a few known truths would settle; ``None`` if there is one vote only.
    missing_by_class
        One row per judge who left out verdicts and decided class: ``worker``, ``label``, tasks
        ``asked``, ``missing``, their ``share`` with its 95 % interval (``share_low``,
        ``share_high``). ``None`` where nothing is missing or it cannot be told.
    rates
        The share of each class, corrected by gold, if gold was given and labels are classes.
    notes
        What to know of this panel, in plain words.
    """

    tasks: int
    classes: int
    decisions: NativeTable
    workers: NativeTable
    weights: dict[str | int, float]
    decided_by: str
    density: float
    effective: float | None
    joint_errors: EffectiveJudges | None
    dependence: Dependence
    agreement: Coefficients | None
    needs_human: dict[str, int]
    to_check: ToCheck | None
    missing_by_class: NativeTable | None
    rates: Rates | None
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
        30 tasks, 3 judges, 2 classes; a judge saw all of them
        """
        workers = as_polars(self.workers)
        lines = [self._size(workers.height), *_worker_lines(workers), *self._worth()]
        if words := agreement_words(self.agreement):
            lines.append(words)
        lines += [*DECIDED[self.decided_by], *self._human()]
        if self.to_check is not None and self.to_check.differ:
            lines += self._gold()
        if self.rates is not None:
            lines += self.rates.summary().splitlines()
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _size(self, judges: int) -> str:
        sizes = f"{counted(self.tasks, 'task')}, {counted(judges, 'judge')}"
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
        total = sum(self.needs_human.values())
        if not total:
            return ["no task needs a human"]
        parts = [
            f"{number:,}: {NEEDS_HUMAN[why]}" for why, number in self.needs_human.items() if number
        ]
        return [f"{counted(total, 'task')} of {self.tasks:,} to be seen by a human", *parts]

    def _gold(self) -> list[str]:
        assert self.to_check is not None
        differ, enough = self.to_check.differ, self.to_check.enough
        which = "all of them" if enough == differ else f"{enough:,} of them"
        return [
            f"the two votes differ on {counted(differ, 'task')} ({percent(differ / self.tasks)} "
            f"of all): have {which} checked to tell which to believe, "
            f"first {listed(self.to_check.first[:NAMED])}"
        ]


def _worker_lines(workers: pl.DataFrame) -> list[str]:
    """A small table of the judges, the heaviest first."""
    shown = workers.sort("weight", descending=True, maintain_order=True).head(SHOWN)
    names = [shortened(printable(name), NAME) for name in shown["worker"]]
    width = max(map(len, ["judge", *names]))
    lines = [f"{'judge':<{width}}  verdicts  error rate (95 %)     weight"]
    columns = ("answers", "error_rate", "error_low", "error_high", "weight")
    for name, row in zip(names, shown.select(columns).iter_rows(), strict=True):
        answers, rate, low, high, weight = row
        error = "not known" if rate is None else f"{rate:.2f} ({low:.2f} to {high:.2f})"
        lines.append(f"{name:<{width}}  {answers:>8,}  {error:<20}  {weight:>6.2f}")
    if workers.height > SHOWN:
        lines.append(f"… and {workers.height - SHOWN} more")
    return lines
