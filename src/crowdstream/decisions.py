"""What is true: votes → decisions, for tables and streams alike. The only way to a decision.

Three rules live here and nowhere else: a known truth (gold) overrides the vote, a decision is
settled once it is sure enough, whatever newcomers are worth, and has enough labels, and a majority
vote that was fallen back to is said to be one. Knows nothing of estimators, streams or files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import MIN_LABELS as MIN_LABELS
from crowdstream.defaults import SETTLE as SETTLE
from crowdstream.defaults import SETTLE_RANGE
from crowdstream.labels import UNKNOWN, ClassLabel, TaskId, Vocabulary
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SURE = 1e-12
"""Confidences are kept this far from 0 and 1 before they become log-odds."""


class Decision(msgspec.Struct, frozen=True):
    """What the crowd says of one task.

    Attributes
    ----------
    task
        The task's id.
    label
        The decided class; ``None`` when nobody has answered.
    confidence
        Posterior probability of the label.
    margin
        Its lead over the runner-up's probability: 0 is a tie, broken by a coin or a rule.
    votes
        Labels that the decision is made of.
    settled
        Whether it is sure enough and has enough labels.
    identifiable
        False when workers' error rates could not be estimated and the decision fell back to
        majority vote; the confidence is then the vote's share by the rule of succession,
        ``(votes + 1)/(m + K)``.
    closed
        Why the task takes no more labels; ``None`` while it does. "settled": sure enough; "full":
        as many labels as are allowed; "hard": more were not expected to settle it, an expert is
        needed; "idle": none came for long; "closed": by hand; "end": of the stream.

    Examples
    --------
    >>> import crowdstream as cs
    >>> answers = {"ann": "spam", "bob": "spam", "cy": "ham"}
    >>> cs.MajorityVote().decide_one(answers, task="t17").label
    'spam'
    """

    task: TaskId
    label: ClassLabel | None
    confidence: float
    margin: float
    votes: int
    settled: bool
    identifiable: bool
    closed: str | None = None


class KnownVotes(NamedTuple):
    """Votes on some tasks without newcomers' labels.

    ``same``: whether the winner is the one that all labels make; ``votes``: of how many labels;
    ``against``: what a newcomer's label counts against the decision that it supports.
    """

    confidences: Floats
    same: Bools
    votes: NDArray[np.int64]
    against: float


class SettleRule(NamedTuple):
    """When a decision is settled; a ``confidence`` of ``None``: never."""

    confidence: float | None = SETTLE
    min_labels: int = MIN_LABELS

    @classmethod
    def checked(cls, settle: float | None, min_labels: int) -> SettleRule:
        """The rule, if it can be one."""
        if settle is not None:
            check_number("settle", settle, *SETTLE_RANGE)
        check_number("min_labels", min_labels, 1, 2**31, whole=True)
        return cls(None if settle is None else float(settle), int(min_labels))

    def holds(self, confidence: float, votes: int) -> bool:
        """Whether a decision with this confidence and so many votes is settled."""
        sure = self.confidence is not None and confidence >= self.confidence
        return sure and votes >= self.min_labels

    def survives(self, confidences: Floats, known: KnownVotes) -> Bools:
        """Which decisions are as sure by known workers, and if newcomers count against them.

        In log-odds ``known − against (all − known)``, where ``known`` is the decision's confidence
        by the labels of known workers alone, of whom there must be enough.
        """
        if self.confidence is None:
            return np.zeros(known.votes.size, np.bool_)
        alone = log_odds(known.confidences)
        careful = alone - known.against * (log_odds(confidences) - alone)
        sure = known.same & (known.votes >= self.min_labels)
        return np.asarray(sure & (careful >= log_odds(self.confidence)))


def log_odds(confidence: Floats | float) -> Floats:
    """log(p/(1 − p)).

    >>> round(float(log_odds(0.9)), 3)
    2.197
    """
    p = np.clip(confidence, SURE, 1.0 - SURE)
    return np.asarray(np.log(p) - np.log1p(-p))


class Vote(NamedTuple):
    """The winner of one task by name, before gold and the settle rule have their say."""

    label: ClassLabel | None
    confidence: float
    margin: float
    identifiable: bool


class Votes(NamedTuple):
    """The winners of many tasks in codes: winner (−1 without a label), confidence, margin.

    ``identified``: whether votes were weighted, or it was a majority vote.
    """

    winners: Codes
    confidences: Floats
    margins: Floats
    identified: bool

    @classmethod
    def room(cls, tasks: int, identified: bool = True) -> Votes:
        """Room for so many tasks."""
        return cls(np.empty(tasks, np.int32), np.empty(tasks), np.empty(tasks), identified)

    def part(self, first: int, last: int) -> Votes:
        """Room for tasks ``first`` up to ``last``."""
        here = slice(first, last)
        return Votes(
            self.winners[here], self.confidences[here], self.margins[here], self.identified
        )


def make_decision(
    task: TaskId,
    vote: Vote,
    votes: int,
    rule: SettleRule,
    *,
    gold: ClassLabel | None = None,
    closed: str | None = None,
    by_known: Callable[[], tuple[Vote, int, float] | None] | None = None,
) -> Decision:
    """Decide one task: its vote, unless the truth is known, and whether that settles it.

    ``by_known``: the vote without newcomers, of how many labels it is and what theirs count against
    it, or
    ``None`` if there are no newcomers; it is asked only if the vote would settle the task.
    """
    label, confidence, margin, identifiable = vote
    settled = label is not None and rule.holds(confidence, votes)
    if settled and gold is None and by_known is not None:
        found = by_known()
        if found is not None:
            alone, size, against = found
            known = KnownVotes(
                np.array([alone.confidence]),
                np.array([alone.label == label]),
                np.array([size]),
                against,
            )
            settled = bool(rule.survives(np.array([confidence]), known)[0])
    if gold is not None:
        label, confidence, margin, settled = gold, 1.0, 1.0, rule.confidence is not None
    return Decision(task, label, confidence, margin, votes, settled, identifiable, closed)


def decision_table(
    batch: LabelBatch,
    votes: Votes,
    classes: Vocabulary,
    rule: SettleRule,
    by_known: Callable[[Bools], Bools] | None = None,
) -> pl.DataFrame:
    """Decide many tasks, as `make_decision` does each: one row per task.

    ``by_known``: of tasks that are sure enough, which are whatever newcomers are worth.
    """
    import polars as pl

    winners, confidences, margins = votes.winners, votes.confidences, votes.margins
    known = np.zeros(len(batch), np.bool_)
    if batch.truths.size:
        known = batch.truths != UNKNOWN
        winners, confidences, margins = winners.copy(), confidences.copy(), margins.copy()
        winners[known] = batch.truths[known]
        confidences[known] = margins[known] = 1.0
    decided = winners != UNKNOWN
    settled = np.zeros(len(batch), np.bool_)
    if rule.confidence is not None:
        sure = (confidences >= rule.confidence) & (batch.sizes >= rule.min_labels)
        sure &= decided & ~known
        settled = known | (sure if by_known is None else by_known(sure))
    return pl.DataFrame(
        {
            "task": value_series("task", batch.tasks),
            "label": value_series("label", classes.to_list()).gather(
                pl.Series(winners).set(pl.Series(~decided), None)
            ),
            "confidence": confidences,
            "margin": margins,
            "votes": batch.sizes,
            "settled": settled,
        }
    )


def posterior_table(batch: LabelBatch, posteriors: Floats, classes: Vocabulary) -> pl.DataFrame:
    """Posteriors of many tasks: one row per task, one column per class.

    A class whose name is taken, by the task column or another class, goes by ``class_`` and it.
    """
    import polars as pl

    if batch.truths.size:
        known = np.flatnonzero(batch.truths != UNKNOWN)
        posteriors = posteriors.copy()
        posteriors[known] = 0.0
        posteriors[known, batch.truths[known]] = 1.0
    columns: dict[str, object] = {"task": value_series("task", batch.tasks)}
    for code, label in enumerate(classes):
        name = str(label)
        while name in columns:
            name = f"class_{name}"
        columns[name] = posteriors[:, code]
    return pl.DataFrame(columns)


def value_series(name: str, values: Sequence[ClassLabel] | pl.Series) -> pl.Series:
    """Ids or classes as a column; values that no one type holds become strings."""
    import polars as pl

    if isinstance(values, pl.Series):
        return values.alias(name)
    kinds = {type(value) for value in values}
    if kinds == {int}:
        numbers = cast("Sequence[int]", values)
        if max(numbers) < 2**63:
            return pl.Series(name, numbers, pl.Int64)
        if min(numbers) >= 0:
            return pl.Series(name, numbers, pl.UInt64)
    elif kinds == {bool}:
        return pl.Series(name, values, pl.Boolean)
    return pl.Series(name, [str(value) for value in values], pl.String)
