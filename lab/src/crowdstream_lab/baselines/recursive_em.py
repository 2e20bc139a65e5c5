"""`RecursiveEM`: EM's parameters moved a step with every task, which is then forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, Ints
from crowdstream_lab.baselines.one_pass import OnePass, posterior_of
from crowdstream_lab.baselines.raykar import likelihoods

ACCURACY = 0.7
"""Accuracy of everybody at the start: better than chance, or labels might flip."""

BEFORE = 10.0
"""Answers that this is worth: a worker's n-th answer moves its matrix by 1/(n + 10)."""

LEAST = 1e-3
"""Probabilities stay above this before they are logarithms: a thousand answers could not show
less, and a step may lead to 0."""


@dataclass(eq=False, repr=False)
class RecursiveEM(OnePass):
    """Titterington's recursion: one step along the score, scaled by the complete information.

    A worker is a K × K matrix, as with `DawidSkene`. A task's posterior π comes from the
    parameters so far; then, for every truth c, the row of each of its workers moves by
    ``γ π(c)/prior(c)`` (at most all the way) from where it is to what was said, and the prior by γ
    towards π. The inverse of the complete data's Fisher information is what gives ``1/prior(c)``,
    and γ falls as one over the answers of that worker, or the tasks. The paper has sources that
    are silent unless they claim something, and starts from EM on a first block; here silence
    tells nothing, and everybody starts from one matrix. Time O(K labels), memory O(K² workers).

    Parameters
    ----------
    power
        Steps are ``γ_n = (n + before)^−power``; 1 averages, less forgets and follows drift.
    accuracy, before
        What everybody starts with, and how many answers it is worth.

    Attributes
    ----------
    class_prior_, confusions_
        As those of `DawidSkene`, after the last task.

    References
    ----------
    Wang, Abdelzaher, Kaplan, Aggarwal. Recursive Fact-Finding: A Streaming Approach to Truth
    Estimation in Crowdsourcing Applications. ICDCS 2013.

    Titterington. Recursive Parameter Estimation using Incomplete Data. JRSS B 46(2), 1984.

    Examples
    --------
    >>> said = {"ann": "ab", "bob": "ab", "cy": "ab", "always": "bb"}
    >>> rows = [(t, who, two[t % 2]) for t in range(200) for who, two in said.items()]
    >>> crowd = RecursiveEM()
    >>> "".join(crowd.fit_predict(rows)["label"])[:6]
    'ababab'
    >>> crowd.confusions_[3].round(1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    power: float = 1.0
    accuracy: float = ACCURACY
    before: float = BEFORE

    checks: ClassVar = {
        "power": number(0.5, 1.0, open_low=True),  # as stochastic approximation needs
        "accuracy": number(0.0, 1.0, open_low=True),
        "before": number(0.0, 1e9, open_low=True),
    }
    deviation: ClassVar[str] = "silence tells nothing; no first block by EM"

    def _start(self, coded: Coded) -> None:
        n, k = len(coded.workers), coded.n_classes
        wrong = (1 - self.accuracy) / (k - 1)
        everybody = np.full((k, k), wrong) + (self.accuracy - wrong) * np.eye(k)
        self.confusions_ = np.tile(everybody, (n, 1, 1))
        self.class_prior_ = np.full(k, 1 / k)
        self._answers, self._tasks = np.zeros(n), 0

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        says = np.maximum(self.confusions_[workers, :, labels], LEAST)
        scores: Floats = np.log(self.class_prior_) + np.log(says).sum(axis=0)
        return scores

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        posterior = posterior_of(scores)
        self._answers[workers] += 1
        self._tasks += 1
        gamma = (self._answers[workers] + self.before) ** -self.power
        step = np.minimum(gamma[:, None] * posterior / self.class_prior_, 1.0)[:, :, None]
        said = (labels[:, None] == np.arange(posterior.size))[:, None, :]
        self.confusions_[workers] += step * (said - self.confusions_[workers])
        step_of_prior = (self._tasks + self.before) ** -self.power
        self.class_prior_ += step_of_prior * (posterior - self.class_prior_)
        self.class_prior_ = np.maximum(self.class_prior_, LEAST)
        self.class_prior_ /= self.class_prior_.sum()

    def _judge_all(self, coded: Coded) -> Floats:
        said = likelihoods(coded, np.maximum(self.confusions_, LEAST))
        return np.asarray(np.log(self.class_prior_) + said, float)
