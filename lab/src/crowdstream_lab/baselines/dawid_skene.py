"""`DawidSkene`: everybody's confusion matrix by expectation-maximisation. The batch rival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, normalise, shares
from crowdstream_lab.baselines.iterated import Iterated

SMOOTHING = 0.01
"""Answers added to every cell of every worker, and tasks to every class. With none, one
vote of a worker rules out every class for which it was never seen to say so, and EM crawls
towards such zeros (Web: 835 iterations instead of 83). A hundredth of an answer rules zeros out
and no more: the error rates on the paper's sets stay within 0.0005."""


@dataclass(eq=False, repr=False)
class DawidSkene(Iterated):
    """Error rates that depend on the class, by EM from majority vote: Table 2's EM column.

    A worker is a matrix of K × K probabilities, what it says given the truth; a task's truth is
    drawn from a prior over the classes. Starting from the shares of the votes, matrices and prior
    are estimated from the posteriors and posteriors from them, until neither moves. Smoothing
    makes it the posterior mode under Dirichlet priors: then the objective that grows with every
    iteration is the likelihood times the prior's density. Time O(K labels) an iteration, memory
    O(K² workers + K tasks).

    Parameters
    ----------
    smoothing
        Pseudo-answers per cell; 0 is maximum likelihood.

    Attributes
    ----------
    class_prior_
        Probability of each class.
    confusions_
        Of worker, truth and what it says then.
    log_likelihood_
        After each iteration; with smoothing including the log prior, up to a constant.

    References
    ----------
    Dawid, Skene. Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm.
    Applied Statistics 28(1), 1979.

    Examples
    --------
    >>> rows = [(t, who, "yes" if t < 5 else "no") for t in range(9) for who in ("ann", "bob")]
    >>> rows += [(t, "cy", "yes") for t in range(9)]
    >>> crowd = DawidSkene()
    >>> crowd.fit_predict(rows)["label"].to_list()
    ['yes', 'yes', 'yes', 'yes', 'yes', 'no', 'no', 'no', 'no']
    >>> crowd.confusions_[2].round(2).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    smoothing: float = SMOOTHING

    checks: ClassVar = {"smoothing": number(0.0, 1e6)}
    deviation: ClassVar[str] = "0.01 answers of smoothing a cell"

    def _start(self, coded: Coded) -> Floats:
        self.log_likelihood_: list[float] = []
        return super()._start(coded)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        self._maximise(coded, posterior)
        return self._expect(coded)

    def _maximise(self, coded: Coded, posterior: Floats) -> None:
        """The prior and the matrices that explain the posteriors best."""
        self.class_prior_ = shares(posterior.sum(axis=0) + self.smoothing)
        self.confusions_ = shares(self._count(coded, posterior) + self.smoothing)

    def _count(self, coded: Coded, posterior: Floats) -> Floats:
        """Count how often each worker said each class of each truth, expected by the posteriors."""
        n, k = len(coded.workers), coded.n_classes
        cell = coded.worker * k + coded.label
        counts = np.empty((n, k, k))
        for truth in range(k):
            weights = np.repeat(posterior[:, truth], coded.votes)
            counts[:, truth] = np.bincount(cell, weights, n * k).reshape(n, k)
        return counts

    def _expect(self, coded: Coded) -> Floats:
        """Log posteriors of the tasks; notes how likely the labels are."""
        with np.errstate(divide="ignore"):  # without smoothing, what never happened is impossible
            prior, confusions = np.log(self.class_prior_), np.log(self.confusions_)
        tasks, k = len(coded.tasks), coded.n_classes
        cell = coded.worker * k + coded.label
        scores = np.empty((tasks, k))
        for truth in range(k):
            says = confusions[:, truth].ravel()[cell]
            scores[:, truth] = prior[truth] + np.bincount(coded.task, says, tasks)
        posterior, likelihood = normalise(scores)
        objective = likelihood.sum()
        if self.smoothing:
            objective += self.smoothing * (prior.sum() + confusions.sum())
        self.log_likelihood_.append(float(objective))
        return posterior
