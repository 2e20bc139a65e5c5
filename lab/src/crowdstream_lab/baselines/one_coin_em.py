"""`OneCoinEM`: one error rate per worker, by maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import (
    CERTAIN,
    Coded,
    Floats,
    answers_right,
    normalise,
    weights_of,
)
from crowdstream_lab.baselines.iterated import Iterated


@dataclass(eq=False, repr=False)
class OneCoinEM(Iterated):
    """The paper's model by EM from majority vote: who errs, errs evenly and on every class alike.

    Error rates are estimated from the posteriors of the tasks and posteriors from the error rates,
    until neither moves; all classes are equally likely beforehand. Every iteration raises the
    likelihood. Without smoothing this is maximum likelihood, and who gave one answer and agrees
    with the decision on it outvotes anybody; `OneCoinMAP` smooths. A worker whose answers disagree
    with most can end up believed the contrary, and with it a whole crowd. Time O(labels + K tasks)
    an iteration, memory the same.

    Parameters
    ----------
    smoothing
        Pseudo-answers, so many right and so many wrong; then it is the posterior mode under a Beta
        prior, and every iteration raises the likelihood times the prior's density.

    Attributes
    ----------
    error_rates_
        Of each worker.
    log_likelihood_
        After each iteration, including the log prior, up to a constant.

    References
    ----------
    Dawid, Skene. Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm.
    Applied Statistics 28(1), 1979: here with matrices of one parameter.

    Examples
    --------
    >>> rows = [(t, who, t % 3) for t in range(9) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", 0) for t in range(9)]
    >>> crowd = OneCoinEM()
    >>> crowd.fit_predict(rows)["label"].to_list()
    [0, 1, 2, 0, 1, 2, 0, 1, 2]
    >>> crowd.error_rates_.round(2).tolist()
    [0.0, 0.0, 0.0, 0.67]
    """

    smoothing: float = 0.0

    checks: ClassVar = {"smoothing": number(0.0, 1e6)}

    def _start(self, coded: Coded) -> Floats:
        self.log_likelihood_: list[float] = []
        return super()._start(coded)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        answers, right = answers_right(coded, posterior)
        wrong = answers - right + self.smoothing
        self.error_rates_ = wrong / np.maximum(answers + 2 * self.smoothing, CERTAIN)
        return self._expect(coded)

    def _expect(self, coded: Coded) -> Floats:
        """Log posteriors of the tasks; notes how likely the labels are."""
        p, k = self.error_rates_.clip(CERTAIN, 1 - CERTAIN), coded.n_classes
        posterior, likelihood = normalise(coded.count(weights_of(p, k)[coded.worker]))
        errs = np.log(p / (k - 1))[coded.worker]  # scores are relative to everybody being wrong
        prior = self.smoothing * (np.log(p) + np.log1p(-p)).sum()
        self.log_likelihood_.append(float(likelihood.sum() + errs.sum() + prior))
        return posterior
