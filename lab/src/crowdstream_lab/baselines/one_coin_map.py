"""`OneCoinMAP`: one error rate per worker, the mode under a Beta prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdstream.extension import number
from crowdstream_lab.baselines.one_coin_em import OneCoinEM

SMOOTHING = 1.0
"""Right and wrong answers added to every worker's: the least whole number, Laplace's rule. With
a hundredth, as `DawidSkene` has, who gave one answer and agrees with the decision on it outvotes
four of error rate 0.25."""


@dataclass(eq=False, repr=False)
class OneCoinMAP(OneCoinEM):
    """`OneCoinEM` with one right and one wrong answer added to every worker's.

    The posterior mode under a Beta(2, 2) prior on error rates, instead of maximum likelihood:
    nobody is believed, or disbelieved, for a few answers. All else is `OneCoinEM`'s.

    Parameters
    ----------
    smoothing
        Pseudo-answers, so many right and so many wrong; above 0.

    References
    ----------
    Dawid, Skene. Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm.
    Applied Statistics 28(1), 1979: here with matrices of one parameter, and a prior.

    Examples
    --------
    >>> rows = [(t, who, t % 3) for t in range(9) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", 0) for t in range(9)]
    >>> crowd = OneCoinMAP()
    >>> crowd.fit_predict(rows)["label"].to_list()
    [0, 1, 2, 0, 1, 2, 0, 1, 2]
    >>> crowd.error_rates_.round(2).tolist()
    [0.09, 0.09, 0.09, 0.64]
    """

    smoothing: float = SMOOTHING

    checks: ClassVar = {"smoothing": number(0.0, 1e6, open_low=True)}
    deviation: ClassVar[str] = "a Beta(2, 2) prior instead of maximum likelihood"
