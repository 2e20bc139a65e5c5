"""`CentredAgreement`: agreement beyond what the workers' habits explain, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdstream.estimators.base import Estimator
from crowdstream.estimators.fallback import MAJORITY, why_not
from crowdstream.estimators.parameters import Ties
from crowdstream.estimators.teacher import (
    LEAN_ALONE,
    WeightedVotes,
    read_teacher,
    skills_of,
    vote_weights,
)
from crowdstream.estimators.votes import Scorer
from crowdstream.sums.agreement import AgreementSums


@dataclass(eq=False, repr=False)
class CentredAgreement(Estimator):
    """Weighs each worker by its agreement beyond chance, as the teacher in `Adaptive` does.

    A worker who always says the same agrees often where one class is common; what its habit
    explains is left out of its agreement. The less the labels distinguish workers, the more their
    skills are shrunk towards the crowd's mean (empirical Bayes). Everything is read from
    whole-number sums: the order of the tasks does not matter, and merging is exact.

    Parameters
    ----------
    memory
        About how many tasks to remember, for workers who change; ``None``: all.
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Examples
    --------
    >>> rows = [(t, worker, t % 2) for t in range(100) for worker in ("ann", "bob", "cy")]
    >>> rows += [(t, "parrot", 0) for t in range(100)]  # whose answers say nothing
    >>> crowd = CentredAgreement().fit(rows)
    >>> crowd.predict_one({"ann": 1, "parrot": 0})
    1
    """

    memory: float | None = None
    ties: Ties = "coin"
    seed: int = 0

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        teacher = read_teacher(sums, self._unit)
        if why_not(teacher, len(self._classes)):
            return MAJORITY
        skills = np.append(skills_of(teacher, sums.workers), teacher.mean)
        weights, prior = vote_weights(skills, sums.classes, self._cap), np.log(teacher.f)
        if self._folding is not None:
            prior *= LEAN_ALONE
        return Scorer(WeightedVotes(weights, prior), identified=True)
