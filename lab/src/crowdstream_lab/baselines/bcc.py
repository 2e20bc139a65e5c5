"""`BCC`: Bayesian classifier combination, confusion matrices averaged over by variational Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crowdstream_lab.baselines.common import Coded, Floats, normalise
from crowdstream_lab.baselines.iterated import Iterated
from crowdstream_lab.baselines.raykar import POSITIVE

RIGHT, WRONG = 4.0, 1.0
"""Pseudo-answers for the truth, and for each other class, in a row of a worker's matrix: those of
Li, Rubinstein and Cohn, who take them for both models in their comparison."""

CLASS_PRIOR = 1.0
"""Pseudo-tasks of each class: all priors alike beforehand."""


class Mixture:
    """Types of tasks, of which every class has as many, and a distribution of answers for each.

    What the variational posteriors of BCC (one type a class) and of EBCC (several) come from.
    """

    def __init__(self, coded: Coded, right: float, wrong: float) -> None:
        from scipy.sparse import csr_array

        n, k = len(coded.workers), coded.n_classes
        self.shape = n, k
        column = coded.worker * k + coded.label
        cells = np.ones(column.size), (coded.task, column)
        self.said: Any = csr_array(cells, shape=(len(coded.tasks), n * k))
        self.prior = np.full((k, k), wrong) + (right - wrong) * np.eye(k)  # said × truth

    def learn(self, joint: Floats) -> tuple[Floats, float]:
        """Posterior parameters of what workers say, (worker, said, truth, type), by those of tasks.

        Sets the expected logarithms; returns the parameters and their divergence from the prior.
        """
        tasks, k, types = joint.shape
        counts = (self.said.T @ joint.reshape(tasks, k * types)).reshape(*self.shape, k, types)
        prior = np.broadcast_to(self.prior[None, :, :, None], counts.shape)
        self.logs, cost = dirichlet(counts + prior, prior, axis=1)
        return counts + prior, cost

    def scores(self) -> Floats:
        """Return the log-likelihood of a task's labels under each truth and type."""
        n, k = self.shape
        types = self.logs.shape[3]
        flat = self.said @ self.logs.reshape(n * k, k * types)
        return np.asarray(flat, float).reshape(-1, k, types)


def dirichlet(posterior: Floats, prior: Floats, axis: int) -> tuple[Floats, float]:
    """Expected logarithms along an axis, and the divergence of posterior from prior.

    >>> logs, cost = dirichlet(np.array([2.0, 1.0]), np.ones(2), 0)
    >>> logs.tolist(), round(cost, 6)
    ([-0.5, -1.5], 0.193147)
    """
    from scipy.special import digamma, gammaln

    total, before = posterior.sum(axis=axis, keepdims=True), prior.sum(axis=axis, keepdims=True)
    logs = digamma(posterior) - digamma(total)
    norm = gammaln(total).sum() - gammaln(before).sum()
    norm += (gammaln(prior) - gammaln(posterior)).sum()
    return logs, float(norm + ((posterior - prior) * logs).sum())


@dataclass(eq=False, repr=False)
class BCC(Iterated):
    """Dawid and Skene's model with priors, averaged over instead of maximised.

    Rows of a worker's matrix, and the class prior, have Dirichlet priors. The posterior is taken
    for a product of the truths' and the parameters', and each factor follows from the other in
    turns, from the shares of the votes on, which raises a bound on the evidence (Simpson et al.).
    The paper samples (Gibbs) and gives the priors' parameters an exponential prior; here they are
    fixed. Time O(K labels + K² workers) an iteration, memory O(labels + K² workers + K tasks).

    Parameters
    ----------
    right, wrong
        Pseudo-answers for the truth, and for each other class.
    class_prior
        Pseudo-tasks of each class.

    Attributes
    ----------
    class_prior_
        Posterior mean of each class's probability.
    confusions_
        Of worker, truth and what it says then: posterior means.
    evidence_
        The lower bound on the log-likelihood of the labels after each iteration.

    References
    ----------
    Kim, Ghahramani. Bayesian Classifier Combination. AISTATS 2012.

    Simpson, Roberts, Psorakis, Smith. Dynamic Bayesian Combination of Multiple Imperfect
    Classifiers. 2013.

    Examples
    --------
    >>> said = {"ann": "yyyyynnnn", "bob": "yyyyynnnn", "cy": "yyyyyyyyy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = BCC()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'yyyyynnnn'
    >>> crowd.confusions_[2].round(1).tolist()
    [[0.9, 0.1], [0.6, 0.4]]
    """

    right: float = RIGHT
    wrong: float = WRONG
    class_prior: float = CLASS_PRIOR

    deviation: ClassVar[str] = "variational instead of Gibbs sampling, fixed hyperparameters"
    checks: ClassVar = {"right": POSITIVE, "wrong": POSITIVE, "class_prior": POSITIVE}

    def _start(self, coded: Coded) -> Floats:
        self.evidence_: list[float] = []
        self._mixture = Mixture(coded, self.right, self.wrong)
        return super()._start(coded)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        answers, cost = self._mixture.learn(posterior[:, :, None])
        prior = np.full(coded.n_classes, self.class_prior)
        classes = prior + posterior.sum(axis=0)
        log_classes, more = dirichlet(classes, prior, axis=0)
        scores, total = normalise(self._mixture.scores()[:, :, 0] + log_classes)
        self.evidence_.append(float(total.sum()) - cost - more)
        self.class_prior_ = classes / classes.sum()
        means = answers[..., 0] / answers[..., 0].sum(axis=1, keepdims=True)
        self.confusions_ = np.swapaxes(means, 1, 2)
        return scores
