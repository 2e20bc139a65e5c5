"""`CentredAgreement`: agreement beyond what the workers' habits explain, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.base import Estimator, Identifiability
from crowdstream.estimators.fallback import MAJORITY, why_not
from crowdstream.estimators.teacher import read_teacher, skills_of, vote_weights, weighted_votes
from crowdstream.estimators.votes import Scorer, Ties
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]


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
    ties
        ``"coin"``: at random, by the seed; ``"lowest"``: the lowest class in sorting order.
    seed
        Random seed for breaking ties.

    Examples
    --------
    >>> crowd = CentredAgreement()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "parrot": "ham"})
    >>> crowd.predict_one({"ann": "spam", "parrot": "ham"})
    'spam'
    >>> crowd.workers().filter(worker="parrot")["weight"].item() < 0.2
    True
    """

    memory: float | None = None
    ties: Ties = "coin"
    seed: int = 0

    def _scorer(self, sums: AgreementSums, classes: int) -> Scorer:
        teacher = read_teacher(sums, self._unit)
        if why_not(teacher, len(self._classes)):
            return MAJORITY
        skills = np.append(skills_of(teacher, sums.workers), teacher.mean)
        weights = vote_weights(skills, sums.classes)
        return Scorer(weighted_votes(weights, np.log(teacher.f)), identified=True)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        reason = why_not(read_teacher(self._sums, self._unit), len(self._classes))
        return Identifiability(not reason, reason)

    def skills(self) -> Floats:
        """How much better than chance each worker is."""
        return skills_of(read_teacher(self._sums, self._unit), self._sums.workers)

    @property
    def mean_skill_(self) -> float:
        """The skill of a worker about whom nothing is known."""
        return float(read_teacher(self._sums, self._unit).mean)

    def _read(self) -> WorkerReading:
        sums, skills, solved = self._sums, self.skills(), bool(self.identifiable_)
        apart = sums.groups != sums.main_group
        return WorkerReading(
            answers=sums.answers / self._unit,
            errors=np.clip((1 - skills) * (1 - 1 / sums.classes), 0.0, 1.0),
            weights=vote_weights(skills, sums.classes),
            agree=sums.agree,
            met=sums.met,
            said=sums.said,
            solved=np.full(sums.workers, solved) & ~apart,
            apart=apart & solved,
            forgets=self.memory is not None,
        )
