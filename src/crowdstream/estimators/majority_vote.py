"""`MajorityVote`: every vote counts the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.kernels import MAJORITY
from crowdstream.estimators.settings import check_ties, rules
from crowdstream.estimators.tally import Tally
from crowdstream.estimators.votes import Ties


class MajorityVote(Tally):
    """The class most labellers chose. The yardstick: whatever weighs votes must beat it.

    Confidence is the share of the votes by the rule of succession, ``(votes + 1)/(m + K)``.

    Parameters
    ----------
    ties
        ``"coin"``: a fair coin, seeded; ``"lowest"``: the lowest class in sorting order.
    seed
        Of the coin.

    Examples
    --------
    >>> crowd = MajorityVote()
    >>> crowd.learn_one({"ann": "spam", "bob": "ham", "cy": "spam"})
    >>> crowd.predict_proba_one({"ann": "spam", "bob": "ham", "cy": "spam"})
    {'spam': 0.6, 'ham': 0.4}
    """

    weighs = False

    def __init__(self, ties: Ties = "coin", seed: int = 0) -> None:
        self.ties = ties
        self.seed = seed
        check_ties(ties, seed)

    def _rules(self) -> NDArray[np.void]:
        return rules(method=MAJORITY, ties=self.ties, seed=self.seed)
