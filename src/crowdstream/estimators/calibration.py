"""Confidence against known truths: the logistic line through decisions that were right or wrong.

Knows nothing of crowds: it is given confidences and whether the decisions were right.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EDGE = 0.005
"""Confidences are kept this far from 0 and 1: beyond, log-odds say no more."""

SHIFT, SLOPE = 1.0, 0.5
"""Standard deviations of the prior of a and b − 1 in P(right) = sigmoid(a + b·logit): a shift of
one unit turns 95 % into 87 %."""

ROUNDS = 50
"""Newton steps at most; five to ten are the rule."""


class Line(NamedTuple):
    """P(right) = sigmoid(shift + slope·logit(confidence))."""

    shift: float
    slope: float

    def apply(self, confidences: Floats) -> Floats:
        """Confidences as the known truths bear them out."""
        return np.asarray(1 / (1 + np.exp(-(self.shift + self.slope * _logit(confidences)))))

    def before(self, confidence: float) -> float:
        """The confidence that `apply` would make this one of; 2, which none is, if none."""
        if confidence >= 1.0 or self.slope <= 0.0:
            return 2.0
        wanted = (float(_logit(np.array(confidence))) - self.shift) / self.slope
        return 2.0 if wanted > float(_logit(np.array(1.0))) else 1 / (1 + math.exp(-wanted))


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
    return Line(float(at[0]), max(float(at[1]), 0.0))


def _logit(p: Floats) -> Floats:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.asarray(np.log(p / (1 - p)))
