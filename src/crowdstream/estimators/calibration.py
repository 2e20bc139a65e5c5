"""Confidence against known truths: sums in bins, and the logistic line through them.

Knows nothing of crowds: it is given confidences and whether the decisions were right.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS = 24
"""Of the log-odds of confidence, from even to `EDGE`."""

EDGE = 0.005
"""Confidences are kept this far from 0 and 1: beyond, log-odds say no more."""

SHIFT, SLOPE = 1.0, 0.5
"""Standard deviations of the prior of a and b − 1 in P(right) = sigmoid(a + b·logit): a shift of
one unit turns 95 % into 87 %."""

ROUNDS = 50
"""Newton steps at most; five to ten are the rule."""


class Calibration:
    """How often decisions with known truths were right, by how sure they were.

    >>> found = Calibration()
    >>> found.add(np.full(100, 0.95), np.arange(100) < 80)  # sure, and wrong in every fifth case
    >>> bool(0.78 < found.apply(np.array([0.95]))[0] < 0.88)
    True
    """

    def __init__(self) -> None:
        self.sums: Floats = np.zeros((BINS, 3))
        """By bin: tasks, the sum of their log-odds, how many were right."""
        self.known = False
        """Whether there is any."""

    @property
    def tasks(self) -> float:
        """Decisions whose truth is known."""
        return float(self.sums[:, 0].sum())

    def add(self, confidences: Floats, right: NDArray[np.bool_]) -> None:
        """Take in decisions that were made without knowing the truth."""
        odds = _logit(confidences)
        place = np.clip((odds / -_logit(np.array(EDGE)) * BINS).astype(int), 0, BINS - 1)
        rows = np.stack([np.ones_like(odds), odds, right], axis=1)
        np.add.at(self.sums, place, rows)
        self.known = self.tasks > 0

    def line(self) -> tuple[float, float]:
        """(a, b) of P(right) = sigmoid(a + b·logit): the posterior's top, by Newton."""
        some = self.sums[:, 0] > 0
        tasks, odds, right = self.sums[some].T
        z = odds / tasks
        at, middle = np.array([0.0, 1.0]), np.array([0.0, 1.0])
        prior = np.diag([1 / SHIFT**2, 1 / SLOPE**2])
        for _ in range(ROUNDS):
            p = 1 / (1 + np.exp(-(at[0] + at[1] * z)))
            gap, spread = right - tasks * p, tasks * p * (1 - p)
            up = np.array([gap.sum(), (gap * z).sum()]) - prior @ (at - middle)
            cross = (spread * z).sum()
            bend = np.array([[spread.sum(), cross], [cross, (spread * z * z).sum()]]) + prior
            step = np.linalg.solve(bend, up)
            at = at + step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-12))
            if np.abs(step).sum() < 1e-9:
                break
        return float(at[0]), max(float(at[1]), 0.0)

    def apply(self, confidences: Floats) -> Floats:
        """Confidences as the known truths bear them out."""
        if not self.tasks:
            return confidences
        a, b = self.line()
        return np.asarray(1 / (1 + np.exp(-(a + b * _logit(confidences)))))

    def before(self, confidence: float) -> float:
        """The confidence that `apply` would make this one of; 2, which none is, if none."""
        if not self.tasks:
            return confidence
        a, b = self.line()
        if confidence >= 1.0 or b <= 0.0:
            return 2.0
        wanted = (float(_logit(np.array(confidence))) - a) / b
        return 2.0 if wanted > float(_logit(np.array(1.0))) else 1 / (1 + math.exp(-wanted))


def _logit(p: Floats) -> Floats:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.asarray(np.log(p / (1 - p)))
