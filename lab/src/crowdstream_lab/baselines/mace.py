"""`MACE`: workers either know the answer or spam, each with a taste of its own."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, normalise
from crowdstream_lab.baselines.restarted import Restarted

KNOWS = 0.5
"""Both parameters of the paper's Beta prior on the chance that a worker knows: rather always or
never than sometimes."""

TASTE = 10.0
"""Weight of the paper's Dirichlet prior on what a spamming worker says, for each class: rather all
classes alike."""

MAX_ITERATIONS = 50
"""Iterations of a start at most, as in the paper."""

SPREAD = 0.5
"""A start gives tastes between 1/K ± half of it, and chances to know of ½ ± half of that, at
random: enough to end in different places."""

POSITIVE = number(0.0, 1e6, open_low=True)
"""Above 0: no answer is impossible."""


@dataclass(eq=False, repr=False)
class MACE(Restarted):
    """A worker knows the truth and says it with probability θ, and else says what it likes.

    On a task worker j knows with probability ``θ_j`` and says the truth; if not, it says class c
    with probability ``ξ_j(c)`` whatever the truth, so that who knows nothing has no weight, and a
    rare answer of a spammer counts for more than its usual one. All classes are alike beforehand.
    By variational Bayes with the paper's priors, θ ~ Beta(½, ½) and ξ ~ Dirichlet(10, …), which
    raises a bound on the evidence, or by EM, which raises the likelihood times the priors' density
    in which `knows` and `taste` are pseudo-answers. Of several random starts the best after 10
    iterations goes on, to 50 at most; the paper takes all to the end. Crowd-kit 1.4.2 errs on
    0.269 of bird, where this errs on 0.139: it has its counts in the order of the names, and its
    parameters in that of first appearance, so that workers get each other's tastes. With names in
    the order of appearance it has 0.139 too. Time O(labels + K tasks) an iteration, memory
    O(labels + K (workers + tasks)).

    Parameters
    ----------
    variational
        Whether to average over θ and ξ rather than take the likeliest.
    knows, taste
        The priors' parameters; with ``variational=False`` pseudo-answers, for which a hundredth
        over K is what the authors' program has.
    restarts
        Random starts; the paper has 100, the authors' program 10.
    max_iterations
        Of a start at most.

    Attributes
    ----------
    competences_
        θ of each worker, the posterior mean or the likeliest.
    tastes_
        ξ of each worker and class.
    objective_
        After each iteration: the bound on the evidence, or the log-likelihood and log prior.

    References
    ----------
    Hovy, Berg-Kirkpatrick, Vaswani, Hovy. Learning Whom to Trust with MACE. NAACL 2013.

    Examples
    --------
    >>> said = {"ann": "xyzxyzxyz", "bob": "xyzxyzxyz", "cy": "xyzxyzxyx", "dee": "xxxxxxxxx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = MACE()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyzxyzxyz'
    >>> crowd.competences_.round(1).tolist()
    [0.9, 0.9, 0.8, 0.1]
    """

    variational: bool = True
    knows: float = KNOWS
    taste: float = TASTE
    _: KW_ONLY
    max_iterations: int = MAX_ITERATIONS

    deviation: ClassVar[str] = "starts are compared after 10 iterations, not at the end"
    checks: ClassVar = {"knows": POSITIVE, "taste": POSITIVE}

    def _start(self, coded: Coded) -> Floats:
        n, k = len(coded.workers), coded.n_classes
        self.objective_: list[float] = []
        chance = 0.5 + SPREAD * (self._rng.random(n) - 0.5)
        taste = 1 / k * (1 + SPREAD * (self._rng.random((n, k)) - 0.5))
        self._factors = np.log(chance), np.log(1 - chance), np.log(taste)
        return np.exp(self._expect(coded, 0.0))

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        n, k = len(coded.workers), coded.n_classes
        knew = posterior[coded.task, coded.label] * self._knowing
        cell = coded.worker * k + coded.label
        spam = np.bincount(cell, 1 - knew, n * k).reshape(n, k).astype(float)
        split = np.column_stack([np.bincount(coded.worker, knew, n), spam.sum(axis=1)])
        to_know, cost = _dirichlet(split, self.knows, self.variational)
        to_say, more = _dirichlet(spam, self.taste, self.variational)
        self._factors = to_know[:, 0], to_know[:, 1], to_say
        self.competences_ = (split[:, 0] + self.knows) / (split.sum(axis=1) + 2 * self.knows)
        self.tastes_ = (spam + self.taste) / (spam + self.taste).sum(axis=1, keepdims=True)
        return self._expect(coded, cost + more)

    def _expect(self, coded: Coded, cost: float) -> Floats:
        """Log posteriors of the truths; notes the objective and who knew what it said."""
        know, spam, say = self._factors
        by_chance = spam[coded.worker] + say[coded.worker, coded.label]
        odds = know[coded.worker] - by_chance
        posterior, total = normalise(coded.count(np.logaddexp(0, odds)))
        # That the worker knew, if what it said is true.
        self._knowing = np.exp(-np.logaddexp(0, -odds))
        labels = total.sum() - total.size * np.log(coded.n_classes) + by_chance.sum()
        self.objective_.append(float(labels - cost))
        return posterior

    def _objective(self) -> float:
        return self.objective_[-1]


def _dirichlet(counts: Floats, prior: float, variational: bool) -> tuple[Floats, float]:
    """Logarithms of probabilities from counts, one distribution per row, and what they cost.

    Expected logarithms and the divergence of posterior from prior, or those of the likeliest
    probabilities and their log prior density, up to a constant, with the sign turned.
    """
    from scipy.special import digamma, gammaln

    posterior = counts + prior
    total = posterior.sum(axis=1, keepdims=True)
    if not variational:
        logs = np.log(posterior / total)
        return logs, float(-prior * logs.sum())
    logs = digamma(posterior) - digamma(total)
    k = counts.shape[1]
    norm = gammaln(total).sum() - gammaln(posterior).sum()
    norm -= len(counts) * (gammaln(prior * k) - k * gammaln(prior))
    return logs, float(norm + (counts * logs).sum())
