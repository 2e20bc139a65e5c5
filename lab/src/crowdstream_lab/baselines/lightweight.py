"""`LightweightOnePass` and `LightweightTwoPass`: accuracies counted task by task (LA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import TIE, number
from crowdstream_lab.baselines.common import CERTAIN, Coded, Floats, Ints
from crowdstream_lab.baselines.one_pass import OnePass, each_task

RIGHT = 2.0
"""α of the Beta(2, 2) prior on accuracies, as in the authors' experiments."""

WRONG = 2.0
"""β of that prior."""


@dataclass(eq=False, repr=False)
class LightweightTwoPass(OnePass):
    """Count accuracies in one pass, then decide all tasks by weights ``K a_j − 1`` (LA twopass).

    The first pass is that of `LightweightOnePass`. As in the authors' program, a class that nobody
    named for a task is no candidate, even if the sums of all others are negative. In a stream a
    task is decided by the first pass, learnt from, and decided again by the second: their online
    runs with chunks of one task. Scores are ``K/(K − 1)`` times the sums of weights, to first order
    log-odds for workers who err evenly. Time O(labels + K tasks), memory O(workers).

    Parameters
    ----------
    right, wrong
        α and β of the Beta prior, above 1.

    Attributes
    ----------
    error_rates_
        One less each worker's accuracy a_j, after the first pass.

    References
    ----------
    Yang, Zhao, Wu, Zhuo, Liu, Bai, Li. A Lightweight, Effective and Efficient Model for Label
    Aggregation in Crowdsourcing. ACM TKDD, 2023; arXiv 2212.00007.

    Examples
    --------
    >>> rows = [(0, "ann", "yes"), (0, "cy", "no")]  # a tie in the first pass
    >>> rows += [(t, who, "yes") for t in range(1, 9) for who in ("ann", "bob")]
    >>> rows += [(t, "cy", "no") for t in range(1, 9)]
    >>> LightweightTwoPass().fit_predict(rows)["label"][0]
    'yes'
    """

    right: float = RIGHT
    wrong: float = WRONG

    checks: ClassVar = {
        "right": number(1.0, 1e6, open_low=True),
        "wrong": number(1.0, 1e6, open_low=True),
    }
    deviation: ClassVar[str] = "a tie counts as truth in shares; tasks in the order given"

    def _start(self, coded: Coded) -> None:
        n = len(coded.workers)
        self._k = coded.n_classes
        self._answers = np.full(n, self.right + self.wrong - 2)
        self.error_rates_ = np.full(n, (self.wrong - 1) / (self.right + self.wrong - 2))

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        """Shares of a task's weight, with one vote of mean weight added to each class."""
        weights = 1 - self.error_rates_[workers]
        votes = np.bincount(labels, weights, self._k) + weights.mean()
        return np.asarray(np.log(votes / votes.sum()), float)

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        won = scores >= scores.max() - TIE * workers.size
        against = 1 - won[labels] / won.sum()
        self._answers[workers] += 1
        moved = (against - self.error_rates_[workers]) / self._answers[workers]
        self.error_rates_[workers] += moved

    def _run(self, coded: Coded) -> Floats:
        self._start(coded)
        scores = np.zeros((len(coded.tasks), coded.n_classes))
        for task, workers, labels in each_task(coded):
            self._learn(workers, labels, self._judge(workers, labels))
            sums = np.bincount(labels, self._weights(workers), self._k).astype(float)
            scores[task] = _of_named(sums, np.bincount(labels, minlength=self._k) > 0)
        return scores

    def _judge_all(self, coded: Coded) -> Floats:
        return _of_named(coded.count(self._weights(coded.worker)), coded.count() > 0)

    def _weights(self, workers: Ints) -> Floats:
        k = self._k
        weights: Floats = (k * (1 - self.error_rates_[workers]) - 1) * k / (k - 1)
        return weights


def _of_named(sums: Floats, named: np.ndarray) -> Floats:
    """Sums of weights, where a class that nobody named is below all that were.

    >>> _of_named(np.array([-0.5, 0.0]), np.array([True, False])).round(1).tolist()
    [-0.5, -21.2]
    """
    worst = np.where(named, sums, 0.0).min(axis=-1, keepdims=True)
    return np.where(named, sums, worst + np.log(CERTAIN))


@dataclass(eq=False, repr=False)
class LightweightOnePass(LightweightTwoPass):
    """Decide each task once, by votes that weigh their workers' accuracies so far (LA onepass).

    A vote weighs a_j, the mode of its worker's Beta posterior: ``(α − 1 + right)/(α + β − 2 +
    answers)``, an answer being right if it won its task. Everybody starts with the prior's mode.
    No decision is revised, so `fit_predict` gives what `stream_predict` gives. The authors draw
    the winner of a tie and count it as the truth; here an answer for one of m tied classes counts
    as right by 1/m. They shuffle the tasks, here the table's order counts. Confidences, which
    the paper has none of, are shares of a task's weight with one vote of mean weight added to each
    class. Time O(labels + K tasks), memory O(workers).

    Parameters
    ----------
    right, wrong
        α and β of the Beta prior, above 1.

    Attributes
    ----------
    error_rates_
        One less each worker's accuracy a_j, after the last task.

    References
    ----------
    Yang, Zhao, Wu, Zhuo, Liu, Bai, Li. A Lightweight, Effective and Efficient Model for Label
    Aggregation in Crowdsourcing. ACM TKDD, 2023; arXiv 2212.00007.

    Examples
    --------
    >>> rows = [(t, who, "yes") for t in range(8) for who in ("ann", "bob")]
    >>> rows += [(t, "cy", "no") for t in range(8)]
    >>> crowd = LightweightOnePass()
    >>> crowd.fit_predict(rows)["label"].unique().to_list()
    ['yes']
    >>> crowd.error_rates_.round(2).tolist()
    [0.1, 0.1, 0.9]
    """

    def _scores(self, coded: Coded) -> Floats:
        return self._run(coded)

    def _run(self, coded: Coded) -> Floats:
        return OnePass._run(self, coded)
