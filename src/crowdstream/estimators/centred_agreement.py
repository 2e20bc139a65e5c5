"""`CentredAgreement`: agreement beyond what the workers' habits explain, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

from crowdstream.decisions.ties import Ties
from crowdstream.estimators.estimator import Estimator
from crowdstream.models.centred import Centred
from crowdstream.models.model import Model


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

    def make_model(self) -> Model:
        """Return a new teacher without students.

        Examples
        --------
        >>> type(CentredAgreement().make_model()).__name__
        'Centred'
        """
        return Centred(self.memory)
