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

    In order (a `Stream`, `learn_one`, `learn_many`, `stream_many`) it follows workers who change,
    once that is shown: what each did lately, from its last 8 answers on, must have foreseen the
    labels of closed tasks better than all it ever did, beyond chance. Until then, and once it
    foresees no better, all that was learnt decides (``cs.identifiability(crowd).changing`` says
    which). `fit` and `fit_predict` take a table as a whole, in which nobody changes.

    Beyond 100 classes skills alone decide, by constant time per label and memory per worker: see
    `many_classes_`.

    Parameters
    ----------
    memory
        About how many tasks to remember; ``None``: all, and workers who are shown to change are
        followed, each as fast as it does. With a number, nobody is followed beside that.
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

    A worker who was right 160 times and then wrong 40 times:

    >>> crowd = Adaptive()
    >>> for task, truth in enumerate(["spam", "ham", "ham", "spam"] * 50):
    ...     wrong = "ham" if truth == "spam" else "spam"
    ...     tired = wrong if task >= 160 else truth
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "di": tired})
    >>> bool(crowd.skill_of("di") < 0.0)
    True

    References
    ----------
    A. Dawid and A. Skene, Maximum likelihood estimation of observer error-rates, 1979.
    M. Herbster and M. Warmuth, Tracking the best expert, 1998 (horizons, of which the best may
    change).
    G. Lorden, Procedures for reacting to a change in distribution, 1971.
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
