"""`Iterated`: what methods share that improve the tasks' posteriors until they stand still."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, LabelsOnly, shares

TOLERANCE = 1e-6
"""EM has converged when no posterior moves by more: a decision would have to hang on the sixth
digit to change after that."""

MAX_ITERATIONS = 1000
"""An end to EM that creeps: ten times what the slowest of the paper's six sets takes (Duchenne,
106). Of 18 real sets one, relevance, has not converged by then."""


@dataclass(eq=False, repr=False)
class Iterated(LabelsOnly):
    """Starts from the vote shares; a method adds one iteration.

    Parameters
    ----------
    tolerance
        Stop once no posterior moves by more than this.
    max_iterations
        Stop after so many iterations at the latest.

    Attributes
    ----------
    iterations_, converged_
        How many iterations there were, and whether the tolerance was reached.
    """

    _: KW_ONLY
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    checks: ClassVar = {
        "tolerance": number(0.0, 1.0),
        "max_iterations": number(1, 10**9, whole=True),
    }

    def _scores(self, coded: Coded) -> Floats:
        self.iterations_ = 0
        self.converged_ = False
        posterior = self._start(coded)
        while not self.converged_ and self.iterations_ < self.max_iterations:
            scores = self._iterate(coded, posterior)
            before, posterior = posterior, np.exp(scores)
            moved = np.abs(posterior - before).max(initial=0.0)
            self.converged_ = bool(moved <= self.tolerance)
            self.iterations_ += 1
        return scores

    def _start(self, coded: Coded) -> Floats:
        """The posteriors before any iteration."""
        return shares(coded.count())

    @abstractmethod
    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        """Posteriors → the logarithms of better ones."""
