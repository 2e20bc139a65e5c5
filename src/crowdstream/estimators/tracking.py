"""`Tracking`: follows workers who change, each as fast as it does."""

from __future__ import annotations

from dataclasses import dataclass

from crowdstream.decisions.ties import Ties
from crowdstream.estimators.estimator import Estimator
from crowdstream.models.horizons import ManyHorizons
from crowdstream.models.model import Model


@dataclass(eq=False, repr=False)
class Tracking(Estimator):
    """Follows workers who change, each as fast as it does, without a memory to choose.

    What a worker did is summed up at six horizons, from its last 8 answers to all it ever gave.
    A label is foreseen at each horizon, from the other labels of its task alone; a horizon is
    believed as far as it foresees, for the worker and for the crowd. So one skill per worker
    decides, shrunk towards the crowd's mean by as much as workers are alike. Time per label and
    memory per worker are constant.

    Where nobody changes it is nearly as good as one skill for ever; where errors differ from class
    to class, or classes are of very different frequency, `Adaptive` knows more.

    Parameters
    ----------
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Notes
    -----
    Tasks are learnt in the order given, and the order matters. `unlearn_one` takes the agreement
    sums back to the bit; the skills it takes back by what is known now, as if the task had been
    its workers' last, and leaves the horizons' weights as they are. Merging adds up the sums at
    each horizon, which is an approximation: two crowds' last answers are not one crowd's.

    Examples
    --------
    >>> crowd = Tracking()
    >>> for task, truth in enumerate(["spam", "ham", "ham", "spam"] * 50):
    ...     wrong = "ham" if truth == "spam" else "spam"
    ...     tired = wrong if task >= 160 else truth
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "di": tired})
    >>> bool(crowd.skill_of("di") < 0.0)  # right 160 times, wrong the last 40 times
    True
    >>> crowd.predict_one({"ann": "spam", "di": "ham"})
    'spam'

    References
    ----------
    M. Herbster and M. Warmuth, Tracking the best expert, 1998 (mixing that lets the best change).
    """

    ties: Ties = "coin"
    seed: int = 0

    def make_model(self) -> Model:
        """Return a new model of skills at several horizons.

        Examples
        --------
        >>> type(Tracking().make_model()).__name__
        'ManyHorizons'
        """
        return ManyHorizons()
