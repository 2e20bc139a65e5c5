"""`Restarted`: methods that start at random several times, and go on from the best."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats
from crowdstream_lab.baselines.iterated import Iterated

RESTARTS = 10
"""Random starts."""

TRIAL = 10
"""Iterations after which the starts are compared; only the best goes on. To take all to their end
multiplies the time."""


@dataclass(eq=False, repr=False)
class Restarted(Iterated):
    """Iterates from the best of several starts; a method adds start, iteration and objective.

    Parameters
    ----------
    restarts
        How many starts.
    trial
        Iterations of each; the start whose objective is then the highest goes on.
    """

    _: KW_ONLY
    restarts: int = RESTARTS
    trial: int = TRIAL

    checks: ClassVar = {
        "restarts": number(1, 10**6, whole=True),
        "trial": number(1, 10**9, whole=True),
    }

    def _scores(self, coded: Coded) -> Floats:
        best, begun = -np.inf, dict[str, object]()
        for start in range(self.restarts):
            self._rng = np.random.default_rng([self.seed, start])
            self.iterations_, self.converged_ = 0, False
            self._posterior = self._start(coded)
            self._go_on(coded, min(self.trial, self.max_iterations))
            if not begun or self._objective() > best:
                best, begun = self._objective(), dict(vars(self))
        vars(self).update(begun)
        self._go_on(coded, self.max_iterations)
        return self._last

    def _go_on(self, coded: Coded, until: int) -> None:
        """Iterate until nothing moves, or there were so many iterations."""
        while not self.converged_ and self.iterations_ < until:
            self._last = self._iterate(coded, self._posterior)
            before, self._posterior = self._posterior, np.exp(self._last)
            moved = np.abs(self._posterior - before).max(initial=0.0)
            self.converged_ = bool(moved <= self.tolerance)
            self.iterations_ += 1

    @abstractmethod
    def _objective(self) -> float:
        """Return the current value of the objective, which iterations raise."""
