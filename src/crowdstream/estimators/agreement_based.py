"""`AgreementBased`: the paper's AB, and what the product adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from crowdstream.decisions.ties import Ties
from crowdstream.estimators.estimator import Estimator
from crowdstream.models.agreement import CLIP, SHRINKAGE, Agreement
from crowdstream.models.model import Model
from crowdstream.validation import Check, number


@dataclass(eq=False, repr=False)
class AgreementBased(Estimator):
    """Weighs each worker by how often it agrees with the others on the same tasks.

    One pass, no gold labels, memory that grows with the workers only. From each worker's
    agreements with the others follows its error rate (the paper's fixed point; see
    `crowdstream.models.fixed_point_loops`), from the error rate the weight of its vote, and the
    weighted vote is the likeliest class. Deciding after learning takes time O(n), as in the paper.

    Beyond the paper: any number of classes, each worker's own answer rate where none is given,
    one worker who holds most of the signal, workers with few answers, truths known in part.

    Parameters
    ----------
    answer_rate
        The probability that a worker answers a task, the same for all. Given, the paper's
        estimate is computed as printed: who was asked and did not answer should then be in the
        answers as ``None``, tasks that nobody answered too (``learn_one({})``), and
        ``shrinkage=0, clip=0`` leaves it unaltered. ``None``: each worker answers as often as it
        does.
    memory
        About how many tasks to remember, for workers who change; ``None``: all.
    shrinkage
        Pseudo-answers at the crowd's mean that every worker starts with, more of them where
        the agreements hardly distinguish the workers (empirical Bayes). 0 for none at all.
    clip
        Error rates are kept between ``clip`` and ``1 − clip``.
    ties, seed
        ``"coin"`` breaks ties at random by this seed, ``"lowest"`` by the order of the classes.

    Examples
    --------
    >>> crowd = AgreementBased()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     wrong = "ham" if truth == "spam" else "spam"
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "di": truth, "troll": wrong})
    >>> crowd.predict_one({"ann": "spam", "troll": "ham", "newcomer": "ham"})
    'spam'
    >>> crowd.workers().select("worker", "answers", "agreement").rows()[-1]
    ('troll', 100, 0.0)
    >>> bool(crowd.identifiable_)
    True

    References
    ----------
    T. Bonald and R. Combes, A Streaming Algorithm for Crowdsourced Data Classification, 2016.
    """

    answer_rate: float | None = None
    memory: float | None = None
    shrinkage: float = SHRINKAGE
    clip: float = CLIP
    ties: Ties = "coin"
    seed: int = 0
    checks: ClassVar[Mapping[str, Check]] = {
        "answer_rate": number(0.0, 1.0, open_low=True, optional=True),
        "shrinkage": number(0.0, 1e9),
        "clip": number(0.0, 0.5),
    }

    def make_model(self) -> Model:
        """Return a new model of the paper's fixed point.

        Examples
        --------
        >>> type(AgreementBased().make_model()).__name__
        'Agreement'
        """
        return Agreement(self.answer_rate, self.memory, self.shrinkage, self.clip)
