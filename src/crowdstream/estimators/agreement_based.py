"""`AgreementBased`: the paper's AB, and what the product adds to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import check_number
from crowdstream.estimators.kernels import KNOWN_RATE, OWN_RATES
from crowdstream.estimators.settings import check_ties, rules
from crowdstream.estimators.tally import Tally
from crowdstream.estimators.votes import Ties

SHRINKAGE = 10.0
"""Pseudo-answers at the crowd's mean that every labeller has at least, and pseudo-tasks at `PRIOR`
that the crowd has. Five to twenty did alike on real crowds; without them a labeller of one answer
outvotes one of a thousand."""

PRIOR = 0.7
"""Accuracy of a labeller nobody has seen yet."""

CLIP = 0.02
"""Nobody counts as more accurate than 98 %. From 0.01 to 0.1 the errors on real crowds hardly
depend on it; the paper's tables were made with 0.05."""


class AgreementBased(Tally):
    """Weighs each labeller by how often it agrees with the others on the same tasks.

    One pass, no gold labels, memory that grows with the labellers only. From each labeller's
    agreements with the others follows its error rate (the paper's fixed point; see
    `crowdstream.estimators.shares`), from the error rate the weight of its vote, and the
    weighted vote is the likeliest class.

    Beyond the paper: any number of classes, each labeller's own answer rate where none is given,
    one labeller who holds most of the signal, labellers with few answers, truths known in part.

    Parameters
    ----------
    answer_rate
        The probability that a labeller answers a task, the same for all. Given, the paper's
        estimate is computed as printed: who was asked and did not answer should then be in the
        answers as ``None``, and ``shrinkage=0`` leaves it unaltered. ``None``: each labeller
        answers as often as it does.
    forgetting
        β: every task lets all earlier ones fade by ``1 − β``. 0 forgets nothing; 0.01 remembers
        about 100 tasks.
    shrinkage
        Pseudo-answers at the crowd's mean that every labeller starts with, more of them where
        the agreements do not tell the labellers apart (empirical Bayes). 0 for none at all.
    clip
        Error rates are kept between ``clip`` and ``1 − clip``.
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
    seed
        Of the coin.
    watch
        Whether to keep what intervals, alarms, pairs and the difficulty of tasks need. What is
        kept for them depends a little on the order of tasks; error rates and decisions do not.

    Examples
    --------
    >>> crowd = AgreementBased()
    >>> for truth in ["spam", "ham", "ham", "spam"] * 25:
    ...     wrong = "ham" if truth == "spam" else "spam"
    ...     crowd.learn_one({"ann": truth, "bob": truth, "cy": truth, "di": truth, "troll": wrong})
    >>> crowd.predict_one({"ann": "spam", "troll": "ham", "newcomer": "ham"})
    'spam'
    >>> crowd.labellers().select("worker", "answers", "agreement").rows()[-1]
    ('troll', 100, 0.0)
    >>> bool(crowd.identifiable_)
    True

    References
    ----------
    T. Bonald and R. Combes, A Streaming Algorithm for Crowdsourced Data Classification, 2016.
    """

    def __init__(
        self,
        answer_rate: float | None = None,
        forgetting: float = 0.0,
        shrinkage: float = SHRINKAGE,
        clip: float = CLIP,
        ties: Ties = "coin",
        seed: int = 0,
        watch: bool = False,
    ) -> None:
        self.answer_rate = answer_rate
        self.forgetting = forgetting
        self.shrinkage = shrinkage
        self.clip = clip
        self.ties = ties
        self.seed = seed
        self.watch = watch
        if answer_rate is not None:
            check_number("answer_rate", answer_rate, 0.0, 1.0, open_low=True)
        check_number("forgetting", forgetting, 0.0, 0.999)
        check_number("shrinkage", shrinkage, 0.0, 1e9)
        check_number("clip", clip, 0.0, 0.5)
        check_ties(ties, seed)

    @property
    def order_free_(self) -> bool:
        """Without forgetting, the order of the tasks does not matter."""
        return self.forgetting == 0.0

    def _rules(self) -> NDArray[np.void]:
        return rules(
            method=OWN_RATES if self.answer_rate is None else KNOWN_RATE,
            ties=self.ties,
            seed=self.seed,
            answer_rate=self.answer_rate,
            forgetting=self.forgetting,
            shrinkage=self.shrinkage,
            prior=PRIOR,
            clip=self.clip,
        )
