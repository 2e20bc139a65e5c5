"""`Majority`: every vote counts the same."""

from __future__ import annotations

import math

import numpy as np

from crowdstream.models.fallback import MAJORITY
from crowdstream.models.model import Floats, Model, WorkerReading
from crowdstream.models.scorer import Scorer
from crowdstream.models.scoring_loops import Scoring
from crowdstream.sums.rows import ACCURACY


class Majority(Model):
    """Counts votes; of workers it knows nothing."""

    weighs = False

    def __init__(self) -> None:
        super().__init__()
        self._stale = False
        self.schedule.tasks = self.schedule.labels = math.inf  # there is nothing to read anew
        self._votes = Scoring(self.sums.loops)

    @property
    def scoring(self) -> Scoring:
        """Votes, counted."""
        return self._votes

    def _changed(self) -> None:
        """Nothing is read."""

    def scorer(self) -> Scorer:
        """By votes."""
        return MAJORITY

    def identify(self) -> tuple[bool, str]:
        """Never: workers are not weighed."""
        return False, "majority vote does not weigh votes"

    def skills(self) -> Floats:
        """Return the same for all workers."""
        return np.full(self.sums.workers, self.mean_skill)

    @property
    def mean_skill(self) -> float:
        """That of a worker who is right as often as is taken for granted."""
        classes = max(self.named, 2)
        return (ACCURACY * classes - 1) / (classes - 1)

    def read(self) -> WorkerReading:
        """That nothing is known."""
        n = self.sums.workers
        return WorkerReading(
            errors=np.full(n, np.nan),
            weigh=lambda: np.ones(n),
            solved=np.zeros(n, np.bool_),
            apart=np.zeros(n, np.bool_),
        )
