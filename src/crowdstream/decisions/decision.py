"""Votes → decisions: tables, single tasks, and rows of a stream that its loop does not take.

A known truth (gold) overrides the vote, and a majority vote that was fallen back to is said to be
one. When a decision is settled is in `settle_loops`, which the stream's loop
(`crowdstream.stream.label_loops`) asks too. Knows nothing of estimators, streams or files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import settle_loops
from crowdstream.decisions.reason import Reason
from crowdstream.defaults import MIN_LABELS, SETTLE, SETTLE_RANGE
from crowdstream.labels import UNKNOWN, ClassLabel, TaskId, Vocabulary
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.tables import value_series
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NO_LIMIT = 2**62
"""Labels that no task has, for loops: they know no None."""


class Decision(msgspec.Struct, frozen=True):
    """Decision of the crowd on one task.

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
    """Rule that settles decisions; a ``confidence`` of ``None`` settles none."""

    confidence: float | None = SETTLE
    min_labels: int = MIN_LABELS

    @classmethod
    def checked(cls, settle: float | None, min_labels: int) -> SettleRule:
        """The rule, if it can be one."""
        if settle is not None:
            check_number("settle", settle, *SETTLE_RANGE)
        check_number("min_labels", min_labels, 1, 2**31, whole=True)
        return cls(None if settle is None else float(settle), int(min_labels))

    @property
    def needed(self) -> float:
        """The confidence needed; above 1 for never."""
        return 2.0 if self.confidence is None else self.confidence

    def is_sure(self, confidences: Floats, votes: NDArray[np.int64]) -> Bools:
        """Return which decisions are sure enough, with enough votes."""
        found = np.empty(votes.size, np.uint8)
        settle_loops.fill_sure(confidences, votes, self.needed, self.min_labels, found)
        return found.view(np.bool_)

    def survives(self, confidences: Floats, known: KnownVotes) -> Bools:
        """Return which sure decisions are settled whatever newcomers are worth."""
        found = np.empty(known.votes.size, np.uint8)
        alone, same = known.confidences, known.same.view(np.uint8)
        rule = known.against, self.needed, self.min_labels
        settle_loops.fill_survivors(confidences, alone, same, known.votes, *rule, found)
        return found.view(np.bool_)


def reason(settled: bool, labels: int, max_labels: int | None) -> Reason:
    """Return why a task takes no more labels that is neither idle nor ended, or that it does."""
    most = NO_LIMIT if max_labels is None else max_labels
    return Reason(settle_loops.find_reason(settled, labels, most))


def reasons(
    settled: Bools,
    labels: NDArray[np.int64],
    max_labels: int | None,
    idle: NDArray[np.uint8],
    ends: bool,
) -> NDArray[np.uint8]:
    """Return why each task takes no more labels, as a `Reason`."""
    most = NO_LIMIT if max_labels is None else max_labels
    found = np.empty(labels.size, np.uint8)
    decided = np.ascontiguousarray(settled).view(np.uint8)
    settle_loops.fill_reasons(decided, labels, most, idle, ends, found)
    return found


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
    it, or ``None`` if there are none; it is asked only if the vote would settle the task.
    """
    label, confidence, margin, identifiable = vote
    sure = np.array([confidence])
    settled = label is not None and bool(rule.is_sure(sure, np.array([votes]))[0])
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
            settled = bool(rule.survives(sure, known)[0])
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
        sure = rule.is_sure(confidences, batch.sizes) & decided & ~known
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
