"""`CATD`: weights by the upper end of an interval for a worker's variance, for a long tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Floats
from crowdstream_lab.baselines.weighted_votes import LEAST_ERROR, WeightedVotes

SIGNIFICANCE = 0.05
"""Significance of the interval, as in the paper: 95 %."""


@dataclass(eq=False, repr=False)
class CATD(WeightedVotes):
    """A vote weighs a lower quantile of χ² over the worker's errors: few answers, little weight.

    Errors of a worker are taken for squares of Gaussian ones; the upper end of the interval for
    their variance is the number of errors over the quantile of χ² with as many degrees of freedom
    as answers, and the weight is its inverse. Decisions by weighted vote and weights by the
    decisions, in turns, from majority vote on, until nothing moves. Who outvotes the others has no
    errors then and weighs still more, so that few good workers may end up deciding alone (0.041 in
    a crowd where majority vote errs on 0.018). A tie counts as right in shares. The paper leaves
    open what a worker without errors weighs: here it has made half of
    one. Time O(labels + K tasks) an iteration, memory the same.

    Parameters
    ----------
    significance
        α: the interval is taken to hold 1 − α.

    References
    ----------
    Li, Li, Gao, Su, Zhao, Demirbas, Fan, Han. A Confidence-Aware Approach for Truth Discovery on
    Long-Tail Data. VLDB 2014.

    Examples
    --------
    >>> said = {"ann": "xyzxyzxyz", "bob": "xyzxyzxyz", "cy": "xyzxzzxyx", "dee": "x"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = CATD()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyzxyzxyz'
    >>> crowd.weights_.round(2).tolist()
    [5.4, 5.4, 1.35, 0.0]
    """

    significance: float = SIGNIFICANCE

    deviation: ClassVar[str] = "half an error for a worker without any (left open)"
    checks: ClassVar = {"significance": number(0.0, 1.0, open_low=True)}

    def _weigh(self, answers: Floats, errors: Floats) -> Floats:
        from scipy.special import gammaincinv

        # The quantile of χ² with n degrees of freedom is twice that of Gamma(n/2).
        quantile = 2 * gammaincinv(answers / 2, self.significance / 2)
        return np.asarray(quantile / np.maximum(errors, LEAST_ERROR), float)
