"""`OnePassAgreementVote`: a vote counts by how often its worker was with the winners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import TIE, number
from crowdstream_lab.baselines.common import Coded, Floats, Ints
from crowdstream_lab.baselines.one_pass import OnePass

BEFORE = 3.0
"""Answers that everybody is credited with, `ACCURACY` of them with the winners: enough for a first
answer not to silence a newcomer, and few enough to be forgotten after ten."""

ACCURACY = 2 / 3
"""Share of those answers: of a crowd thought better than chance."""


@dataclass(eq=False, repr=False)
class OnePassAgreementVote(OnePass):
    """One pass of iterative weighted majority voting.

    A task is decided by weights ``K a_i − 1``, with a_i the share of worker i's answers so far
    (and `BEFORE` at the outset) that were those of the weighted majority then. Every answer is
    compared with its task's weighted majority once, when the task comes, and never again; of
    classes that tie each counts as the winner in part. Scores are ``K/(K − 1)`` times the sums of
    weights, to first order log-odds for those who err evenly, so that a confidence is a rough one
    and, as no weight exceeds K − 1, a modest one. No paper has exactly this that we know of: Li
    and Yu iterate the same weights over a stored table to a fixed point. Time O(labels + K tasks),
    memory O(workers).

    Parameters
    ----------
    accuracy, before
        The share of agreement everybody starts with, and how many answers it is worth.

    Attributes
    ----------
    error_rates_
        ``1 − a_i``, after the last task.

    References
    ----------
    Li, Yu. Error Rate Bounds and Iterative Weighted Majority Voting for Crowdsourcing.
    arXiv 1411.4086, 2014.

    Examples
    --------
    >>> rows = [(t, who, t % 2) for t in range(27) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "always", 1) for t in range(27)]
    >>> crowd = OnePassAgreementVote()
    >>> crowd.fit_predict(rows)["label"].to_list() == [t % 2 for t in range(27)]
    True
    >>> crowd.error_rates_.round(2).tolist()
    [0.03, 0.03, 0.03, 0.5]
    """

    accuracy: float = ACCURACY
    before: float = BEFORE

    checks: ClassVar = {"accuracy": number(0.0, 1.0), "before": number(0.0, 1e9, open_low=True)}
    deviation: ClassVar[str] = "ours: one pass of iterated voting"

    def _start(self, coded: Coded) -> None:
        n = len(coded.workers)
        self._k = coded.n_classes
        self._answers = np.full(n, float(self.before))
        self.error_rates_ = np.full(n, 1 - self.accuracy)

    def _weights(self, workers: Ints) -> Floats:
        k = self._k
        weights: Floats = (k * (1 - self.error_rates_[workers]) - 1) * k / (k - 1)
        return weights

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        return np.bincount(labels, self._weights(workers), self._k).astype(float)

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        won = scores >= scores.max() - TIE * workers.size
        against = 1 - won[labels] / won.sum()
        self._answers[workers] += 1
        self.error_rates_[workers] += (against - self.error_rates_[workers]) / self._answers[
            workers
        ]

    def _judge_all(self, coded: Coded) -> Floats:
        return coded.count(self._weights(coded.worker))
