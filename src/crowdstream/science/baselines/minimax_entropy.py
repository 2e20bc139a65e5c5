"""`MinimaxEntropy`: confusions of workers and of tasks, by minimax conditional entropy."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdstream.science.baselines.common import (
    Coded,
    Floats,
    normalise,
    share_wrong,
)
from crowdstream.science.baselines.iterated import Iterated
from crowdstream.validation import number

TOLERANCE = 1e-3
"""Posteriors that move by less have settled: on real sets of two to five classes a tolerance a
hundred times smaller, at two to five times the iterations, changes at most 2 decisions in 1,000."""

MAX_ITERATIONS = 50
"""An end to the iterations, of `STEPS` steps each."""

STEPS = 5
"""Steps of the parameters for one of the posteriors: an iteration costs as much as six glances at
the labels, and as every step raises the objective there is no need to go to the end."""

STRENGTH = 0.25
"""γ of the regularisation ``α = γ K²``: the least of the paper's grid ¼, ½, 1, 2, 4, from which it
picks by cross-validation."""


@dataclass(eq=False, repr=False)
class MinimaxEntropy(Iterated):
    """Labels whose entropy given the truth is greatest, for truths that make it least.

    Of all distributions that match how often each worker, and each task's workers, say each class
    given the truth, up to a regularised slack, take that of greatest entropy: ``P(j says k of i |
    truth c) ∝ exp(σ_j(c, k) + τ_i(c, k))``, in which τ is a task's own confusion; then the truths
    that make this entropy least. In the dual, this is to raise ``Σ_i log Σ_c Π_j P(x_ij | c) − α/2
    ‖σ‖² − β/2 ‖τ‖²``: posteriors of the truths alternate with Newton steps on σ and τ whose second
    derivative is replaced by a bound (Böhning), so that every iteration raises it. ``α = γ K²`` and
    β is α times labels per worker over labels per task. Any number of classes, alike beforehand.
    With many classes and few labels the penalty wins, as α grows with K², and all posteriors fade
    to 1/K: at γ = ¼ the confidence on music_genre (K = 10, four labels per task) is 0.1 and the
    error 0.51, where majority has 0.30; at γ = 0.01 it is 0.28. The paper chooses γ by
    cross-validation, which is left to the caller. A class that is seldom named keeps flat
    parameters and draws hard tasks to it. Time O(K² labels) a step, memory O(K² (workers + tasks) +
    K labels).

    Parameters
    ----------
    strength
        γ; the greater, the nearer everything is to guessing.
    tolerance, max_iterations
        Change of a posterior, and number of iterations, at which to stop.

    Attributes
    ----------
    error_rates_
        Of each worker: the expected share of its answers that are wrong.
    objective_
        After each iteration.

    References
    ----------
    Zhou, Basu, Mao, Platt. Learning from the Wisdom of Crowds by Minimax Entropy. NIPS 2012.

    Zhou, Liu, Platt, Meek, Shah. Regularized Minimax Conditional Entropy for Crowdsourcing. 2015.

    Examples
    --------
    >>> rows = [(t, who, "ab"[t % 2]) for t in range(20) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", "a") for t in range(20)]
    >>> crowd = MinimaxEntropy()
    >>> crowd.fit_predict(rows)["label"].to_list()[:4]
    ['a', 'b', 'a', 'b']
    >>> crowd.error_rates_.round(1).tolist()
    [0.0, 0.0, 0.0, 0.5]
    """

    strength: float = STRENGTH
    _: KW_ONLY
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    checks: ClassVar = {"strength": number(0.0, 1e6, open_low=True)}

    def _start(self, coded: Coded) -> Floats:
        self.objective_: list[float] = []
        self._dual = _Dual(coded, self.strength)
        return super()._start(coded)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        for _ in range(STEPS):
            self._dual.step(posterior)
        scores, total = normalise(self._dual.scores())
        self.objective_.append(float(total.sum()) - self._dual.penalty())
        self.error_rates_ = share_wrong(coded, np.exp(scores))
        return scores


class _Dual:
    """The parameters σ of workers and τ of tasks, (truth, said, worker or task)."""

    def __init__(self, coded: Coded, strength: float) -> None:
        tasks, n, k = len(coded.tasks), len(coded.workers), coded.n_classes
        self.coded = coded
        self.of_workers: NDArray[np.float64] = np.zeros((k, k, n))
        self.of_tasks: NDArray[np.float64] = np.zeros((k, k, tasks))
        self.worker_strength = strength * k**2
        self.task_strength = self.worker_strength * max(tasks, 1) / max(n, 1)
        self.said = coded.label, np.arange(coded.label.size)

    def scores(self) -> Floats:
        """How likely the labels of each task are, under each truth."""
        coded = self.coded
        chances = [self._chances(truth)[self.said] for truth in range(coded.n_classes)]
        return np.column_stack(
            [np.bincount(coded.task, np.log(c), len(coded.tasks)) for c in chances]
        )

    def step(self, posterior: Floats) -> None:
        """One bounded Newton step, of all parameters at once.

        The second derivative of a label's log-chance in its logits is at most ½, and in σ and τ
        together at most twice that: 1 for every expected label.
        """
        coded = self.coded
        for truth in range(coded.n_classes):
            weight = posterior[coded.task, truth]
            surprise = -self._chances(truth)
            surprise[self.said] += 1
            surprise *= weight
            for values, whose, strength in (
                (self.of_workers[truth], coded.worker, self.worker_strength),
                (self.of_tasks[truth], coded.task, self.task_strength),
            ):
                size = values.shape[1]
                bound = strength + np.bincount(whose, weight, size)
                for said, part in enumerate(surprise):
                    slope = np.bincount(whose, part, size) - strength * values[said]
                    values[said] += slope / bound

    def penalty(self) -> float:
        """What the parameters cost."""
        workers = self.worker_strength * (self.of_workers**2).sum()
        return float(workers + self.task_strength * (self.of_tasks**2).sum()) / 2

    def _chances(self, truth: int) -> Floats:
        """Of everything that could have been said, one column per label, if this is the truth."""
        coded = self.coded
        logits = self.of_workers[truth][:, coded.worker]
        logits += np.repeat(self.of_tasks[truth], coded.votes, axis=1)
        likely = np.exp(logits - logits.max(axis=0))
        return np.asarray(likely / likely.sum(axis=0), float)
