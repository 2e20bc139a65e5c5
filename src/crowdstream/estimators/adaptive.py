"""`Adaptive`: the default. A robust teacher, a flexible student, and sweeps where they are safe."""

from __future__ import annotations

from dataclasses import dataclass

from crowdstream.decisions.ties import Ties
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.parameters import Copying, Families
from crowdstream.models.committee import Committee
from crowdstream.models.model import Model


@dataclass(eq=False, repr=False)
class Adaptive(Estimator):
    """Weighs each worker by its skill and its confusions, as far as each can be trusted.

    Each worker first gets one skill: how often it agrees with others on the same tasks, beyond what
    its habits explain. By these skills the tasks are decided roughly, and from that follows what
    each worker says of which class (its confusions); skills and confusions then decide together.
    If workers' errors look independent, the confusions are refined step by step (Dawid and Skene's
    method), which is then the best possible; if they err together, they are not, and confidences
    are lowered. With n workers and K classes, time O(K) per label and memory O(n K²).

    Beyond 100 classes skills alone decide, by constant time per label and memory per worker: see
    `many_classes_`.

    Parameters
    ----------
    memory
        About how many tasks to remember, for workers who change; ``None``: all. `Tracking` finds
        out by itself how fast each worker changes.
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes. The
        seed also draws the sample on which it is measured whether workers err together.
    families
        Workers who do not judge independently (one model, one agency), by the name of their
        family. They are not compared with one another, and their votes count less the more they
        err together.
    copies
        Workers who give the same labels where most others say otherwise, almost always, are found
        by themselves (`families` lists them). ``"discount"`` treats such a group as a declared
        family; ``"report"`` lists it and changes no decision. A table is counted again once they
        are found; in a stream what was learnt before stays as it was, and so does what is taken
        back of it. Not looked for beyond 100 classes.

    Examples
    --------
    >>> crowd = Adaptive()
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
    families: Families | None = None
    copies: Copying = "discount"

    def make_model(self) -> Model:
        """Return a new committee: a teacher and two students.

        Examples
        --------
        >>> type(Adaptive().make_model()).__name__
        'Committee'
        """
        discounts = self.copies == "discount"
        return Committee(self.memory, self._n_families, self.seed, discounts)
