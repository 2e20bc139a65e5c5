"""`IWMV`: iterative weighted majority voting, weights linear in the agreement with the vote."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from crowdstream_lab.baselines.binary import decided_by
from crowdstream_lab.baselines.common import Coded, Floats, normalise, share_wrong
from crowdstream_lab.baselines.iterated import Iterated
from crowdstream_lab.baselines.weighted_votes import MAX_ITERATIONS

DIGITS = 9
"""Sums of weights that agree to so many digits are a tie: they differ by rounding only."""


@dataclass(eq=False, repr=False)
class IWMV(Iterated):
    """Weigh a vote by ``K a_j − 1``, a_j the share of its worker's answers that win; repeat.

    From majority vote on: decisions by weighted vote, shares of agreement by the decisions, until
    nothing moves. The weight is the first-order log-odds of a worker who errs evenly; who agrees
    less often than by chance votes against. The paper draws the winner of a tie; here an answer
    for one of m tied classes agrees by 1/m. Confidences, which the paper has none of, take
    ``K/(K − 1)`` times the sums of weights for log-odds. Time O(labels + K tasks) an iteration,
    memory the same.

    Parameters
    ----------
    max_iterations
        Iterations after which to stop, even if decisions go round in circles.

    Attributes
    ----------
    weights_
        Of each worker's vote.
    error_rates_
        Of each worker: the share of its answers against the decisions that its weight is from.

    References
    ----------
    Li, Yu. Error Rate Bounds and Iterative Weighted Majority Voting for Crowdsourcing.
    arXiv 1411.4086, 2014.

    Examples
    --------
    >>> said = {"ann": "xyxy", "bob": "xyxy", "cy": "xyyy", "dee": "yxyx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = IWMV()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyxy'
    >>> crowd.weights_.tolist()
    [1.0, 1.0, 0.5, -1.0]
    """

    _: KW_ONLY
    max_iterations: int = MAX_ITERATIONS

    deviation: ClassVar[str] = "ties are shared, not drawn"

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        k = coded.n_classes
        self.error_rates_ = share_wrong(coded, decided_by(posterior))
        self.weights_ = k * (1 - self.error_rates_) - 1
        sums = coded.count(self.weights_[coded.worker]).round(DIGITS)
        return normalise(sums * k / (k - 1))[0]
