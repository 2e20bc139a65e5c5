"""`GLAD`: abilities of workers and difficulties of tasks, whose product is the log-odds."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.common import Coded, Floats, normalise
from crowdstream_lab.baselines.iterated import Iterated
from crowdstream_lab.baselines.quasi_newton import lowest

PRIOR_MEAN = 1.0
"""Prior mean of abilities and of the logarithm of ease, both of variance 1: the authors'
own, by which people are right with probability σ(e) = 0.94 before any label is seen."""

STEPS = 25
"""Steps of a maximisation at most; it starts where the last one ended, and as none lowers the
objective there is no need to go to the end."""

EASIEST = 10.0
"""The logarithm of a task's ease counts up to here, nine standard deviations of its prior: to keep
an exponential finite while a step is tried."""

TOLERANCE = 1e-4
"""Tolerance of posteriors: abilities and ease creep along the ridge of equal products."""

MAX_ITERATIONS = 100
"""An end to the creeping: of 18 real sets two, relevance and llm_relevance, have not ended
by then."""


@dataclass(eq=False, repr=False)
class GLAD(Iterated):
    """A worker is right with probability σ(α β): its ability times the ease of the task.

    Abilities may be negative (an adversary), ease ``β = exp(b)`` may not; α and b have Gaussian
    priors of mean 1 and variance 1. Who errs, errs evenly over the other classes; all classes are
    alike beforehand. EM from the priors' means: posteriors of the truths, then α and b that
    explain them best, by quasi-Newton steps (L-BFGS) where the paper has gradient ascent. Every
    iteration raises the likelihood times the priors' density. Time O(labels) a step, memory
    O(labels + K tasks).

    Parameters
    ----------
    tolerance, max_iterations
        Change of a posterior, and number of iterations, at which to stop.

    Attributes
    ----------
    abilities_
        α of each worker.
    ease_
        β of each task, in the order of the decisions.
    log_likelihood_
        After each iteration, including the log prior, up to a constant.

    References
    ----------
    Whitehill, Ruvolo, Wu, Bergsma, Movellan. Whose Vote Should Count More: Optimal Integration of
    Labels from Labelers of Unknown Expertise. NIPS 2009.

    Examples
    --------
    >>> said = {"ann": "yyyyynnnn", "bob": "yyyyynnnn", "cy": "ynynynyny"}
    >>> crowd = GLAD()
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> "".join(crowd.fit_predict(rows)["label"])
    'yyyyynnnn'
    >>> crowd.abilities_.round(1).tolist()
    [1.4, 1.4, 0.3]
    """

    _: KW_ONLY
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    deviation: ClassVar[str] = "quasi-Newton steps instead of gradient ascent"

    def _start(self, coded: Coded) -> Floats:
        self.log_likelihood_: list[float] = []
        self.abilities_ = np.full(len(coded.workers), PRIOR_MEAN)
        self.ease_ = np.full(len(coded.tasks), np.exp(PRIOR_MEAN))
        posterior = np.exp(self._expect(coded))
        self.log_likelihood_.clear()  # a start is no iteration
        return posterior

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        n, right = len(coded.workers), posterior[coded.task, coded.label]
        start = np.concatenate([self.abilities_, np.log(self.ease_)])
        found, _ = lowest(lambda at: misfit(coded, right, at), start, STEPS)
        self.abilities_, self.ease_ = found[:n], np.exp(np.minimum(found[n:], EASIEST))
        return self._expect(coded)

    def _expect(self, coded: Coded) -> Floats:
        """Log posteriors of the tasks; notes how likely the labels are."""
        k = coded.n_classes
        odds = self.abilities_[coded.worker] * self.ease_[coded.task]
        posterior, total = normalise(coded.count(odds + np.log(k - 1)))
        errs = -np.logaddexp(0, odds) - np.log(k - 1)  # scores are relative to all being wrong
        likelihood = total.sum() - total.size * np.log(k) + errs.sum()
        cost = penalty(np.concatenate([self.abilities_, np.log(self.ease_)]))
        self.log_likelihood_.append(float(likelihood - cost))
        return posterior


def penalty(at: Floats) -> float:
    """Return the cost of abilities and logarithms of ease by their priors."""
    return float(((at - PRIOR_MEAN) ** 2).sum() / 2)


def misfit(coded: Coded, right: Floats, at: Floats) -> tuple[float, Floats]:
    """Return the objective and its slope at abilities and logarithms of ease in a row.

    The expected log-likelihood of the labels, each right with the probability given, and the
    priors, with the sign turned.
    """
    from scipy.special import expit, log_expit

    n = len(coded.workers)
    ability, ease = at[:n][coded.worker], np.exp(np.minimum(at[n:], EASIEST))[coded.task]
    odds = ability * ease
    value = -log_expit(-odds).sum() - right @ odds + penalty(at)
    surprise = expit(odds) - right
    slope = np.concatenate(
        [
            np.bincount(coded.worker, surprise * ease, n),
            np.bincount(coded.task, surprise * odds, len(coded.tasks)) * (at[n:] < EASIEST),
        ]
    )
    return float(value), slope + at - PRIOR_MEAN
