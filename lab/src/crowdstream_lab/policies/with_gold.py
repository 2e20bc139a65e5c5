"""`WithGold`: what the methods share that show everybody gold first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Floats
from crowdstream_lab.policies.policy import NOT_ASKED, Policy, State

GOLD = 10
"""Gold tasks of a type that a worker is shown first: a standard error of 0.16 on its accuracy,
enough to tell one who guesses from one who knows."""


@dataclass(eq=False, repr=False)
class WithGold(Policy):
    """Base of both methods with gold: show everybody gold first, then weigh votes by it.

    Parameters
    ----------
    gold
        Gold tasks of each type that a worker is shown.
    """

    gold: int = GOLD

    checks: ClassVar = {"gold": number(1, 10**6, whole=True)}

    def accuracies(self, state: State) -> Floats:
        """Return accuracies by type and worker on gold; one right and one wrong besides."""
        answered = state.said[state.tasks :] != NOT_ASKED
        right = answered & (state.said[state.tasks :] == state.gold[state.tasks :, None])
        types = np.eye(state.types.max() + 1)[:, state.types[state.tasks :]]
        return np.asarray((types @ right + 1) / (types @ answered + 2), float)

    def qualities(self, state: State) -> Floats:
        """``(2s − 1)²`` of type and worker, 0 for an accuracy s below ½."""
        return np.asarray(np.maximum(2 * self.accuracies(state) - 1, 0) ** 2, float)

    def log_odds(self, state: State) -> Floats:
        """Votes weighted by what gold says of their workers."""
        s = self.accuracies(state)[state.types[: state.tasks]]
        said = state.said[: state.tasks]
        sign = (said == 1) * 1.0 - (said == 0)
        return np.asarray((np.log(s / (1 - s)) * sign).sum(axis=1), float)
