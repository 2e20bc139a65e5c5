"""Likeliest confusions: the swept student of a sample, recounted until it stands still.

Recounting confusions from their own posteriors (Dawid and Skene's method, which is EM) creeps where
one worker knows much more than the others: after 14 rounds an error rate of 0.02 is still read as
0.05. Here rounds are extrapolated (SQUAREM: Varadhan and Roland, 2008): from θ, F(θ) and F(F(θ)),
with r = F(θ) − θ and v = F(F(θ)) − F(θ) − r, on to F(θ + 2αr + α²v), α = |r|/|v|, in logarithms.

Two models are followed: *free*, where each worker has confusions of its own, and *even*, where
workers differ by one number each (the odds of an error are the pooled confusion's times the
worker's). The even one starts from the paper's own estimate, which is consistent where it holds;
the free one from the confusions as they are or from where the even one ended, whichever is
likelier. The even model stays unless labels are likelier by the free one than chance explains (a
likelihood ratio test). Formulas in docs/how-it-works.md. Knows workers, classes and tasks by codes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import LabelBatch
from crowdstream.models.agreement import CLIP, SHRINKAGE
from crowdstream.models.confusion_loops import recount
from crowdstream.models.fitting import recount_swept
from crowdstream.models.fixed_point_loops import FixedPoint
from crowdstream.models.independence import draw_twin, second_look_of
from crowdstream.models.passes import TaskTable
from crowdstream.models.reading import Reading
from crowdstream.models.scoring_loops import FamilyPowers

Floats = NDArray[np.float64]

CYCLES = 40
"""Extrapolations at most. Where one expert is among nine who nearly guess, 14 to 20 are enough."""

FIRST = 3
"""Extrapolations from each of two starts after which the likelier goes on alone."""

STILL = 1e-3
"""Gain in log-likelihood by one extrapolation that ends it: so near to its top, parameters are
within a twentieth of their standard errors."""

SLACK = 1.0
"""Log-likelihood that an extrapolation may lose, as Varadhan and Roland have it: the way to a top
is not always upwards."""

ERRORS = 2.0
"""Standard errors beyond chance by which labels must be likelier for workers to have confusions of
their own: without it, half of what these say is noise where workers err alike on all classes."""

PER_NUMBER = 16
"""Labels that there must be for each number in the confusions: of fewer, most of what the likeliest
confusions say of a worker is chance."""

MANY, MORE = 0.15, 0.05
"""Share of the second look's decisions whose being overturned is doubted, and the share beyond a
twin's from which on it is not believed. Where one expert is among nine who nearly guess, 0.09 are
overturned, and of classes that are hard to tell apart 0.2, as of the twin."""

SAMPLE = 40_000
"""Labels of a table to converge on; the way to what all labels say is short from there."""

MORE_CYCLES = 4
"""Extrapolations on the whole table at most, of three passes each."""

PASSED = 14_000_000
"""Labels of a large table that extrapolations may go through in all; one is made at least."""

NOTHING: Floats = np.empty(0)


class Point(NamedTuple):
    """Confusions and how frequent classes are, in logarithms."""

    logs: Floats
    prior: Floats


def is_enough(labels: int, workers: int, classes: int) -> bool:
    """Return whether there are labels enough to estimate a confusion for every worker."""
    return labels >= PER_NUMBER * workers * classes * classes


def converge(reading: Reading, batch: LabelBatch) -> bool:
    """Put the likeliest confusions of a batch in place of the swept ones of a reading.

    Unless they overturn many more decisions of the second look than they would of an independent
    crowd with these confusions: then nothing is changed, and False returned.
    """
    before = reading.swept.copy()
    _follow_both(reading, batch)
    overturned = _overturned(reading, batch)
    if overturned > MANY and overturned - _overturned_of_twin(reading, batch) > MORE:
        reading.converged = reading.even = False
        reading.swept.take_over(before)
        reading.renew_students(1.0)
    return reading.converged


def _follow_both(reading: Reading, batch: LabelBatch) -> None:
    """Follow the even and the free model to their ends, and take over one of them."""
    reading.converged = True
    climb = Climb(reading, batch)
    here = climb.here()
    reading.even = True
    even, likely = climb.follow(climb.by_agreement() or here, CYCLES)
    reading.even = False
    tried = [climb.follow(start, FIRST) for start in (here, even)]
    free = max(tried, key=lambda found: found[1])[0]
    free, likelier = climb.follow(free, CYCLES)
    reading.even = 2.0 * (likelier - likely) < _chance(reading)
    climb.step(even if reading.even else free)


def _overturned(reading: Reading, batch: LabelBatch) -> float:
    """The share of tasks that swept confusions decide otherwise than the second look."""
    return float((reading.posteriors(batch).argmax(axis=1) != reading.second_look(batch)).mean())


def _overturned_of_twin(reading: Reading, batch: LabelBatch) -> float:
    """Return `_overturned` of a simulated independent crowd that has the same confusions."""
    twin = draw_twin(batch, reading.posteriors(batch), reading.sums.workers)
    other = second_look_of(twin, reading.sums.workers, reading.sums.classes)
    _follow_both(other, twin)
    return _overturned(other, twin)


def go_on(reading: Reading, table: TaskTable, sample: LabelBatch) -> None:
    """Follow the swept confusions, which converged on a sample of a table, on all of it."""
    judge = Climb(reading, sample)
    cycles = min(max(PASSED // 3 // max(int(reading.sums.total[2]), 1), 1), MORE_CYCLES)
    for _ in range(cycles):
        start = judge.here()
        points = [start]
        for _ in range(2):
            recount_swept(reading, table)
            points.append(judge.here())
        leap = _leap(*points)
        if not judge.count(leap) > judge.count(start) - SLACK:
            leap = points[-1]
        recount_swept(reading, table, leap)


def _chance(reading: Reading) -> float:
    """Twice the gain in likelihood that chance gives confusions of their own to even workers."""
    n, k = reading.sums.workers, reading.sums.classes
    more = n * (k * (k - 1.0) - 1.0)
    return float(more + ERRORS * np.sqrt(2.0 * more))


class Climb:
    """The way to the likeliest confusions of a batch."""

    def __init__(self, reading: Reading, batch: LabelBatch) -> None:
        n, k = reading.sums.workers, reading.sums.classes
        self._reading, self._tasks = reading, batch.coded
        self._counts, self._mass, self._room = np.empty((n, k, k)), np.empty(k), np.empty(k)
        self._powers = NOTHING
        if reading.powers.rho.shape[0]:
            self._powers = np.ones(int(batch.starts[-1]))
            powers = FamilyPowers(reading.sums.loops, np.array(reading.powers.rho))
            powers.fill(self._tasks, self._powers)

    def here(self) -> Point:
        """The swept confusions as they are."""
        return Point(*self._reading.swept_logs())

    def by_agreement(self) -> Point | None:
        """The paper's estimate: one error rate per worker; None where there is none."""
        sums = self._reading.sums
        n, k = sums.workers, sums.classes
        fixed = FixedPoint(sums.loops, 0.0, 0.0, SHRINKAGE, CLIP)
        fixed.named = k
        fixed.renew()
        if fixed.fell_back:
            return None
        theta, weights, marks = np.empty(n), np.empty(n + 1), np.empty((2, n), np.uint8)
        fixed.fill(theta, weights, marks[0], marks[1])
        right = np.clip(1.0 / k + (1.0 - 1.0 / k) * theta, CLIP, 1.0 - CLIP)[:, None, None]
        table = np.eye(k) * right + (1.0 - np.eye(k)) * (1.0 - right) / (k - 1.0)
        return Point(np.log(table), self.here().prior)

    def count(self, at: Point) -> float:
        """Count the batch's posteriors by these confusions; how likely its labels are by them."""
        return recount(
            self._tasks, self._powers, at.logs, at.prior, self._counts, self._mass, self._room
        )

    def step(self, at: Point) -> tuple[Point, float]:
        """The confusions counted by these ones' posteriors, and how likely labels are by these."""
        found = self.count(at)
        self._reading.swept.replace(self._counts, self._mass)
        self._reading.renew_swept()
        return self.here(), found

    def follow(self, at: Point, cycles: int) -> tuple[Point, float]:
        """Go on from a point by so many extrapolations at most; how likely the labels are then."""
        top = -np.inf
        for _ in range(cycles):
            first, likelihood = self.step(at)
            second, _ = self.step(first)
            if abs(likelihood - top) < STILL:
                return second, likelihood
            top = likelihood
            at, reached = self.step(_leap(at, first, second))
            if not reached > likelihood - SLACK:
                at = second
        return at, top


def _leap(start: Point, first: Point, second: Point) -> Point:
    """Extrapolate two steps, and make probabilities of it again."""
    r = [b - a for a, b in zip(start, first, strict=True)]
    v = [c - b - d for b, c, d in zip(first, second, r, strict=True)]
    bend = sum(float((x * x).sum()) for x in v)
    alpha = max((sum(float((x * x).sum()) for x in r) / bend) ** 0.5, 1.0) if bend > 0.0 else 1.0
    logs, prior = (
        a + 2.0 * alpha * d + alpha * alpha * e for a, d, e in zip(start, r, v, strict=True)
    )
    logs = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return Point(logs, prior - np.log(np.exp(prior).sum()))
