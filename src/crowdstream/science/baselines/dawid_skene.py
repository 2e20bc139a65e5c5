"""`DawidSkene`: everybody's confusion matrix by expectation-maximisation. The batch rival."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.science.baselines.common import Coded, Floats, normalise, shares
from crowdstream.science.baselines.iterated import Iterated
from crowdstream.validation import check_number

TOLERANCE = 1e-6
"""EM has converged when no posterior moves by more: a decision would have to hang on the sixth
digit to change after that."""

MAX_ITERATIONS = 1000
"""An end to EM that creeps: ten times what the slowest of the paper's six sets takes (Duchenne,
106). Of 18 real sets one, relevance, has not converged by then."""

SMOOTHING = 0.01
"""Answers added to every cell of every labeller, and tasks to every class. With none, one
vote of a labeller rules out every class for which it was never seen to say so, and EM crawls
towards such zeros (Web: 835 iterations instead of 83). A hundredth of an answer rules zeros out
and no more: the error rates on the paper's sets stay within 0.0005."""


class DawidSkene(Iterated):
    """Error rates that depend on the class, by EM from majority vote: Table 2's EM column.

    A labeller is a matrix of K × K probabilities, what it says given the truth; a task's truth is
    drawn from a prior over the classes. Starting from the shares of the votes, matrices and prior
    are estimated from the posteriors and posteriors from them, until neither moves. Smoothing
    makes it the posterior mode under Dirichlet priors: then the objective that grows with every
    iteration is the likelihood times the prior's density. Time O(K labels) an iteration, memory
    O(K² labellers + K tasks).

    Parameters
    ----------
    tolerance, max_iterations
        When to stop.
    smoothing
        Pseudo-answers a cell; 0 is maximum likelihood.
    seed
        Of the coin that breaks ties.

    Attributes
    ----------
    classes_, workers_
        In order of first appearance, as in the arrays below. If one class only was named, these
        have a second one.
    class_prior_
        Probability of each class.
    confusions_
        Of labeller, truth and what it says then.
    log_likelihood_
        After each iteration; with smoothing including the log prior, up to a constant.
    converged_
        Whether the tolerance was reached.

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

    class_prior_: Floats
    confusions_: NDArray[np.float64]
    log_likelihood_: list[float]

    def __init__(
        self,
        tolerance: float = TOLERANCE,
        max_iterations: int = MAX_ITERATIONS,
        smoothing: float = SMOOTHING,
        seed: int = 0,
    ) -> None:
        super().__init__(tolerance, max_iterations, seed)
        self.smoothing = smoothing
        check_number("smoothing", smoothing, 0.0, 1e6)

    def _start(self, coded: Coded) -> Floats:
        self.log_likelihood_ = []
        return super()._start(coded)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        self._maximise(coded, posterior)
        return self._expect(coded)

    def _maximise(self, coded: Coded, posterior: Floats) -> None:
        """The prior and the matrices that explain the posteriors best."""
        n, k = len(coded.workers), coded.n_classes
        cell = coded.worker * k + coded.label
        counts = np.empty((n, k, k))
        for truth in range(k):
            weights = np.repeat(posterior[:, truth], coded.votes)
            counts[:, truth] = np.bincount(cell, weights, n * k).reshape(n, k)
        self.class_prior_ = shares(posterior.sum(axis=0) + self.smoothing)
        self.confusions_ = shares(counts + self.smoothing)

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
