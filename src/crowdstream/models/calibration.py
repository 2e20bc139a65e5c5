"""Confidence against known truths: the logistic line through decisions that were right or wrong.

Knows nothing of crowds: it is given confidences and whether the decisions were right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import SETTLE
from crowdstream.metrics import wilson
from crowdstream.models.scoring_loops import calibrate
from crowdstream.sums.rows import EDGE

Floats = NDArray[np.float64]

SHIFT, SLOPE = 1.0, 0.5
"""Standard deviations of the prior of a and b − 1 in P(right) = sigmoid(a + b·logit): a shift of
one unit turns 95 % into 87 %."""

SURE = (0.8, 0.9, 0.95, 0.98, 0.99)
"""Confidences from which on decisions are looked at together: if even the upper limit of how often
those with known truths were right is below, confidence is kept below that limit."""

LEAST = 20
"""Decisions of which this is said at least: one that was wrong is no reason."""

ROUNDS = 50
"""Newton steps at most; five to ten are the rule."""


class Line(NamedTuple):
    """P(right) = sigmoid(shift + slope·logit(confidence)), at most ``ceiling``."""

    shift: float
    slope: float
    ceiling: float = 1.0

    def apply(self, confidences: Floats) -> Floats:
        """Confidences as the known truths bear them out."""
        given = np.ascontiguousarray(confidences, np.float64).ravel()
        found = np.empty(given.size)
        calibrate(given, *self, found)
        return found.reshape(np.shape(confidences))

    def before(self, confidence: float) -> float:
        """The confidence that `apply` would make this one of; 2, which none is, if none."""
        if confidence >= 1.0 or confidence > self.ceiling:
            return 2.0
        if self.slope <= 0.0:
            return 0.0 if float(self.apply(np.array(0.5))) >= confidence else 2.0
        wanted = (float(_logit(np.array(confidence))) - self.shift) / self.slope
        return 2.0 if wanted > float(_logit(np.array(1.0))) else 1 / (1 + math.exp(-wanted))


class Sure(NamedTuple):
    """Decisions that would be settled, of tasks of known truth, and how many of them are wrong."""

    tasks: int
    wrong: int

    @property
    def in_doubt(self) -> bool:
        """Return whether over twice the promised share is wrong, and more than by chance."""
        least = float(wilson(self.wrong, self.tasks)[0])
        return self.wrong > 2 * (1 - SETTLE) * self.tasks and least > 1 - SETTLE


def sure(posteriors: Floats, truths: NDArray[np.integer]) -> Sure:
    """Count the decisions by these posteriors that would be settled, and the wrong ones.

    >>> found = sure(np.array([[0.97, 0.03]] * 20), np.array([0] * 16 + [1] * 4))
    >>> found, found.in_doubt
    (Sure(tasks=20, wrong=4), True)
    """
    some = posteriors.max(axis=1) >= SETTLE
    wrong = posteriors[some].argmax(axis=1) != truths[some]
    return Sure(int(some.sum()), int(wrong.sum()))


NONE = Line(0.0, 1.0)
"""Confidences are right as they are."""


def line(confidences: Floats, right: NDArray[np.bool_]) -> Line:
    """The top of the line's posterior, by Newton's method.

    >>> found = line(np.full(100, 0.95), np.arange(100) < 80)  # sure, and wrong in every fifth case
    >>> bool(0.78 < found.apply(np.array([0.95]))[0] < 0.88)
    True
    """
    z = _logit(confidences)
    at, middle = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    prior = np.diag([1 / SHIFT**2, 1 / SLOPE**2])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-(at[0] + at[1] * z)))
        gap, spread = right - p, p * (1 - p)
        up = np.array([gap.sum(), gap @ z]) - prior @ (at - middle)
        cross = spread @ z
        bend = np.array([[spread.sum(), cross], [cross, spread @ (z * z)]]) + prior
        step = np.linalg.solve(bend, up)
        at = at + step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).sum() < 1e-9:
            break
    found = Line(float(at[0]), max(float(at[1]), 0.0))
    return found._replace(ceiling=_ceiling(found.apply(confidences), right))


def _ceiling(confidences: Floats, right: NDArray[np.bool_]) -> float:
    """The least upper limit of how often sure decisions were right that is below what they say.

    >>> _ceiling(np.full(100, 0.96), np.arange(100) < 85).__round__(2)
    0.91
    >>> _ceiling(np.full(100, 0.96), np.arange(100) < 95)
    1.0
    """
    found = 1.0
    for sure in SURE:
        some = confidences >= sure
        if some.sum() >= LEAST:
            upper = float(wilson(right[some].sum(), some.sum())[1])
            found = min(found, upper) if upper < sure else found
    return found


def _logit(p: Floats) -> Floats:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.asarray(np.log(p / (1 - p)))
