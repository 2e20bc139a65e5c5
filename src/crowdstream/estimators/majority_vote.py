"""`MajorityVote`: every vote counts the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.base import Estimator
from crowdstream.estimators.fallback import MAJORITY
from crowdstream.estimators.parameters import Ties
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.votes import Scorer
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.sums.agreement import AgreementSums


@dataclass(eq=False, repr=False)
class MajorityVote(Estimator):
    """The class most workers chose. The baseline: any estimator that weighs votes must beat it.

    Confidence is the share of the votes by the rule of succession, ``(votes + 1)/(m + K)``.

    Parameters
    ----------
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Examples
    --------
    >>> crowd = MajorityVote()
    >>> crowd.learn_one({"ann": "spam", "bob": "ham", "cy": "spam"})
    >>> found = crowd.predict_proba_one({"ann": "spam", "bob": "ham", "cy": "spam"})
    >>> {label: round(share, 3) for label, share in found.items()}
    {'spam': 0.6, 'ham': 0.4}
    """

    ties: Ties = "coin"
    seed: int = 0
    weighs = False

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        return MAJORITY

    @property
    def identifiable_(self) -> Identifiability:
        """Never: workers are not weighed."""
        return Identifiability(False, "majority vote does not weigh votes")

    def _skills(self) -> NDArray[np.float64]:
        """The same for all workers."""
        return np.full(len(self._workers), self.mean_skill_)

    @property
    def mean_skill_(self) -> float:
        """What 70 % right answers mean, for want of an estimate."""
        classes = max(len(self._classes), 2)
        return (0.7 * classes - 1) / (classes - 1)

    def _read(self) -> WorkerReading:
        n = len(self._workers)
        return WorkerReading(
            errors=np.full(n, np.nan),
            weights=np.ones(n),
            solved=np.zeros(n, np.bool_),
            apart=np.zeros(n, np.bool_),
        )
