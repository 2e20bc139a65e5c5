"""`Scorer`: a way to score tasks, prepared once. A score is log-odds up to a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.models import scoring_loops
from crowdstream.models.posterior_loops import (
    DenseProducts,
    PosteriorCounts,
    Products,
    SparseProducts,
    add_posteriors,
    count_two,
    count_weighted,
)
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.confusions import Counts
from crowdstream.sums.sparse import SparseCounts

Floats = NDArray[np.float64]

NOTHING: Floats = np.empty(0)
NO_CELLS: Floats = np.empty((0, 0, 0))

CELLS = 1 << 20
"""Scores that are in memory at once, per thread."""

LEAST = 1e-300
"""Least posterior that a score is made of: logarithms stay finite."""

Score: TypeAlias = Callable[[LabelBatch, Floats], None]
"""What fills one row of scores per task."""


class Scorer(NamedTuple):
    """A way to score tasks, prepared once.

    ``score`` fills one row of scores per task; ``rho`` is the correlation of errors within a task
    by which confidence is discounted; ``calibrate`` corrects confidences by known truths.
    """

    score: Score
    identified: bool
    rho: float = 0.0
    calibrate: Callable[[Floats], Floats] | None = None


def count_posteriors(score: Score, batch: LabelBatch, counts: Counts, mass: Floats) -> None:
    """Add the posteriors of some tasks to counts by worker, said and class, and by class."""
    if isinstance(score, (WeightedVotes, TableVotes, LikelihoodVotes)):  # quicker than by scores
        score.count(batch, counts, mass)
    else:
        _count_in_steps(score, batch, counts, mass)


def _count_in_steps(score: Score, batch: LabelBatch, counts: Counts, mass: Floats) -> None:
    """Score a few tasks at a time, to bound the memory, and count their posteriors."""
    step = max(CELLS // 16 // mass.size, 1)
    scores, into = np.empty((min(step, len(batch)), mass.size)), into_counts(counts, mass)
    for at in range(0, len(batch), step):
        here = batch.part(at, min(at + step, len(batch)))
        found = scores[: len(here)]
        score(here, found)
        add_posteriors(here.coded, found, into)


def into_counts(counts: Counts, mass: Floats) -> PosteriorCounts:
    """Return the counts as loops see them."""
    room = np.empty(mass.size), np.empty(mass.size, np.int32)
    if isinstance(counts, SparseCounts):
        return PosteriorCounts(NO_CELLS, counts.loops, mass, *room)
    return PosteriorCounts(counts, None, mass, *room)


@dataclass(frozen=True, eq=False)
class WeightedVotes:
    """Scores by one weight per worker and one more for workers unknown, beside a class's prior."""

    weights: Floats
    prior: Floats

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        scoring_loops.add_weights(batch.coded, self.weights, self.prior, scores)

    def count(self, batch: LabelBatch, counts: Counts, mass: Floats) -> None:
        """Add the posteriors of some tasks to counts."""
        if mass.size == 2 and not isinstance(counts, SparseCounts):
            logs = self.weights[:, None, None] * np.eye(2)
            count_two(batch.coded, logs.reshape(-1), self.prior, counts.reshape(-1), mass)
        else:
            odds, prior = np.exp(self.weights), np.exp(self.prior)
            count_weighted(batch.coded, odds, prior, into_counts(counts, mass))


class TableVotes:
    """Scores by a table per worker, ``logs[i, x, a]`` for saying x where a is true, and a prior.

    Where families are declared, labels count to the power that ``rho`` gives them in theirs.
    """

    def __init__(self, logs: Floats, prior: Floats, family: Codes, rho: Floats) -> None:
        self._made_of = logs, prior, family, rho
        self._powers: scoring_loops.FamilyPowers | None = None
        if rho.size:
            sums = AgreementSums(rho.size)
            sums.make_room(family.size, 2)
            sums.declare(family, 0)
            self._powers = scoring_loops.FamilyPowers(sums.loops, rho)

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        tasks, powers = batch.coded, NOTHING
        if self._powers is not None:
            powers = np.ones(batch.workers.size)
            self._powers.fill(tasks, powers)
        scoring_loops.add_logs(tasks, powers, *self._made_of[:2], scores)

    def count(self, batch: LabelBatch, counts: Counts, mass: Floats) -> None:
        """Add the posteriors of some tasks to counts."""
        two = mass.size == 2 and self._powers is None
        if two and not isinstance(counts, SparseCounts):
            logs, prior = self._made_of[:2]
            count_two(batch.coded, logs.reshape(-1), prior, counts.reshape(-1), mass)
        else:
            _count_in_steps(self, batch, counts, mass)

    def __reduce__(self) -> tuple[type, tuple[Floats, Floats, Codes, Floats]]:
        return TableVotes, self._made_of


@dataclass(frozen=True, eq=False)
class LikelihoodVotes:
    """Scores by products of likelihoods, made of counts as they are: no table of K² per worker.

    The arrays are those of `Products`. Of few classes every worker must be known; of many,
    ``workers`` are, and all others are the last of the arrays.
    """

    said: Counts
    workers: int
    own: Floats
    off: Floats
    on: Floats
    pooled: Floats
    prior: Floats
    odds: Floats
    root: bool

    def _loops(self) -> Products:
        rest = (self.own, self.off, self.on, self.pooled, self.prior, self.odds)
        if isinstance(self.said, SparseCounts):
            room = np.empty(self.prior.size), np.empty((self.workers, self.prior.size))
            return SparseProducts(self.said.loops, self.workers, *room, *rest, self.root)
        return DenseProducts(self.said, *rest, self.root)

    def posteriors(self, batch: LabelBatch) -> Floats:
        """Return the posteriors of tasks."""
        found = np.empty((len(batch), self.prior.size))
        self._loops().fill(batch.coded, np.empty(self.prior.size), found)
        return found

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        self._loops().fill(batch.coded, np.empty(self.prior.size), scores)
        np.log(np.maximum(scores, LEAST, out=scores), out=scores)

    def count(self, batch: LabelBatch, counts: Counts, mass: Floats) -> None:
        """Add the posteriors of some tasks to counts."""
        self._loops().count(batch.coded, into_counts(counts, mass))


@dataclass(frozen=True, eq=False)
class GatedVotes:
    """The second look's scores and the swept ones, which count ``gate``, times ``trust``."""

    second: LikelihoodVotes
    swept: LikelihoodVotes | None
    gate: float
    trust: float

    def __call__(self, batch: LabelBatch, scores: Floats) -> None:
        """Fill in the scores of some tasks."""
        step = max(CELLS // 16 // scores.shape[1], 1)
        for at in range(0, len(batch), step):
            here = batch.part(at, min(at + step, len(batch)))
            found = scores[at : at + len(here)]
            self.second(here, found)
            if self.swept is not None:
                swept = np.empty_like(found)
                self.swept(here, swept)
                found *= (1.0 - self.gate) * self.trust
                swept *= self.gate * self.trust
                found += swept
