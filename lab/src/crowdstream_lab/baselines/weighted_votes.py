"""Base of methods that weigh workers and have no posterior: weighted shares of votes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from crowdstream_lab.baselines.binary import decided_by
from crowdstream_lab.baselines.common import Coded, Floats, answers_right
from crowdstream_lab.baselines.iterated import Iterated

MAX_ITERATIONS = 100
"""An end to votes and weights that go round in circles."""

LEAST_ERROR = 0.5
"""Errors of a worker that made none, where a weight divides by them: half of the least that could
be seen."""


def vote_shares(coded: Coded, weights: Floats) -> Floats:
    """Logarithms of the classes' shares of a task's weight, one vote of mean weight added to each.

    Weights are those of the workers, none negative. A task whose labels have no weight is decided
    by majority vote.

    >>> from crowdstream_lab.baselines.common import code
    >>> coded = code([("t", "ann", "x"), ("t", "bob", "y"), ("u", "bob", "y")])
    >>> np.exp(vote_shares(coded, np.array([3.0, 0.0]))).round(2).tolist()
    [[0.75, 0.25], [0.33, 0.67]]
    """
    weight = weights[coded.worker]
    total = np.bincount(coded.task, weight, len(coded.tasks))
    each = np.where(total[coded.task] > 0, weight, 1.0)
    total = np.where(total > 0, total, coded.votes)
    mean = np.where(coded.votes > 0, total / np.maximum(coded.votes, 1), 1.0)[:, None]
    count = coded.count(each) + mean
    return np.asarray(np.log(count / count.sum(axis=1, keepdims=True)), float)


@dataclass(eq=False, repr=False)
class WeightedVotes(Iterated):
    """Decisions by weighted vote, weights by the decisions, in turns; a method adds the weights.

    Attributes
    ----------
    weights_
        Of each worker's vote.
    error_rates_
        Of each worker: the share of its answers against the decisions that its weight is from.
    """

    _: KW_ONLY
    max_iterations: int = MAX_ITERATIONS

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        answers, right = answers_right(coded, decided_by(posterior))
        answers = np.maximum(answers, 1.0)
        self.error_rates_ = 1 - right / answers
        self.weights_ = self._weigh(answers, answers - right)
        return vote_shares(coded, self.weights_)

    @abstractmethod
    def _weigh(self, answers: Floats, errors: Floats) -> Floats:
        """Weights of the workers, none negative."""
