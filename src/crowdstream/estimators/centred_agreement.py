"""`CentredAgreement`: agreement beyond what the workers' habits explain, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators import loops
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.parameters import Ties
from crowdstream.estimators.reading import read_teacher, vote_weights, why_not
from crowdstream.estimators.state import Identifiability
from crowdstream.estimators.votes import Scorer, majority
from crowdstream.estimators.worker_table import WorkerReading
from crowdstream.labels.batch import LabelBatch
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class CentredAgreement(Estimator):
    """Weighs each worker by its agreement beyond chance, as the teacher in `Adaptive` does.

    A worker who always says the same agrees often where one class is common; what its habit
    explains is left out of its agreement. Skills are shrunk towards the crowd's mean as far as they
    cannot be told apart (empirical Bayes). Everything is read from whole-number sums: the order of
    the tasks has no part in it, and merging is exact.

    Parameters
    ----------
    memory
        About how many tasks to remember, for workers who change; ``None``: all.
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
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
            return Scorer(majority, identified=False)
        skills = np.full(sums.workers + 1, teacher.mean)
        teacher.fill_skills(skills[:-1])
        weights, prior = vote_weights(skills, sums.classes), np.log(np.asarray(teacher.f))

        def score(batch: LabelBatch, scores: Floats) -> None:
            args = batch.starts, batch.workers, batch.labels, weights, prior, scores
            loops.add_weights(*args)

        return Scorer(score, identified=True)

    @property
    def identifiable_(self) -> Identifiability:
        """Whether the labels so far say who is to be trusted, and if not, why."""
        reason = why_not(read_teacher(self._sums, self._unit), len(self._classes))
        return Identifiability(not reason, reason)

    def _skills(self) -> Floats:
        """How much better than chance each worker is."""
        found = np.empty(self._sums.workers)
        read_teacher(self._sums, self._unit).fill_skills(found)
        return found

    @property
    def mean_skill_(self) -> float:
        """The same of a worker of whom nothing is known."""
        return float(read_teacher(self._sums, self._unit).mean)

    def _read(self) -> WorkerReading:
        sums, skills, solved = self._sums, self._skills(), bool(self.identifiable_)
        apart = sums.groups != read_teacher(sums, self._unit).main
        return WorkerReading(
            errors=np.clip((1 - skills) * (1 - 1 / sums.classes), 0.0, 1.0),
            weights=vote_weights(skills, sums.classes),
            solved=np.full(sums.workers, solved) & ~apart,
            apart=apart & solved,
        )
