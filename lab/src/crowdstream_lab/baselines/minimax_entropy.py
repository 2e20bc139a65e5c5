"""`MinimaxEntropy`: confusions of workers and of tasks, by minimax conditional entropy."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import FEWEST_CLASSES, Coded, Floats, share_wrong
from crowdstream_lab.baselines.iterated import Iterated
from crowdstream_lab.baselines.minimax_dual import Answers, Dual

TOLERANCE = 1e-3
"""Posteriors that move by less have settled: on real sets of two to five classes a tolerance a
hundred times smaller, at two to five times the iterations, changes at most 2 decisions in 1,000."""

MAX_ITERATIONS = 50
"""An end to the iterations, of `STEPS` steps each."""

WEAKEST, STRONGEST = 1 / 4, 4.0
"""γ of the regularisation ``α = γ K²``, between which the paper chooses in steps of two: ¼, ½, 1, 2
or 4. With more classes than two, α here may be as weak as the paper has it with two."""

FOLDS = 5
"""Parts that the labels are dealt into."""

HELD_OUT = 2
"""Parts that are held out in turn: the others cost as much again and hardly change the choice."""

MOST_LABELS = 10_000
"""Labels that γ is chosen on, at most, those of tasks drawn at random."""

TRIAL_ITERATIONS = 20
"""Iterations for each γ that is tried, at most."""

TRIAL_TOLERANCE = 5e-3
"""And the move of a posterior at which they end: what the authors' own demonstration takes."""


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

    γ is chosen by cross-validation, as the papers do: of ¼, ½, 1, 2 and 4 the one under which
    labels held out are most likely, given what the others say of their tasks and workers. Beyond
    the papers, with more than two classes it may be weaker, down to what ¼ is with two (α = 1): as
    α grows with K², ten classes would fade to a guess (on music_genre, four labels per task, the
    error at γ = ¼ is 0.51, where majority has 0.31; at the γ chosen 0.28). To be quick, it is
    chosen on two parts in five held out in turn, of at most `MOST_LABELS` labels. A class that is
    seldom named keeps flat parameters and draws hard tasks to it. Time O(K² labels) a step, memory
    O(K² (workers + tasks) + K labels).

    Parameters
    ----------
    strength
        γ; the greater, the nearer everything is to guessing. None: by cross-validation.
    tolerance, max_iterations
        Change of a posterior, and number of iterations, at which to stop.
    seed
        Random seed for what is held out and for breaking ties.

    Attributes
    ----------
    strength_
        γ as given or chosen.
    held_out_
        The mean log-likelihood of a label held out, by γ; empty if it was given.
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
    >>> crowd = MinimaxEntropy(strength=1 / 4)
    >>> crowd.fit_predict(rows)["label"].to_list()[:4]
    ['a', 'b', 'a', 'b']
    >>> crowd.error_rates_.round(1).tolist()
    [0.0, 0.0, 0.0, 0.5]
    >>> by_cross_validation = MinimaxEntropy().fit_predict(rows)
    >>> by_cross_validation["label"].to_list()[:4]
    ['a', 'b', 'a', 'b']
    """

    strength: float | None = None
    _: KW_ONLY
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    checks: ClassVar = {"strength": number(0.0, 1e6, open_low=True, optional=True)}
    deviation: ClassVar[str] = "γ chosen on a sample; K > 2: it may be weaker"

    def _start(self, coded: Coded) -> Floats:
        self.objective_: list[float] = []
        answers = Answers.of(coded)
        self.held_out_ = {} if self.strength is not None else _held_out(answers, self.seed)
        self.strength_ = self.strength or max(self.held_out_, key=self.held_out_.__getitem__)
        self._dual = Dual(answers, *_penalties(answers, self.strength_))
        return super()._start(coded)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        scores, total = self._dual.iterate(posterior)
        self.objective_.append(float(total.sum()) - self._dual.penalty())
        self.error_rates_ = share_wrong(coded, np.exp(scores))
        return scores


def _strengths(classes: int) -> list[float]:
    """The γ to choose from.

    >>> _strengths(2), len(_strengths(10))
    ([0.25, 0.5, 1.0, 2.0, 4.0], 9)
    """
    least = WEAKEST * (FEWEST_CLASSES / classes) ** 2
    steps = int(np.log2(STRONGEST / least) + 1e-9)  # 2 ** 4 is not quite 16 in logarithms
    return [least * 2**step for step in range(steps + 1)]


def _penalties(answers: Answers, strength: float) -> tuple[float, float]:
    """α and β: labels per worker over labels per task are tasks over workers."""
    alpha = strength * answers.classes**2
    return alpha, alpha * max(answers.tasks, 1) / max(answers.workers, 1)


def _held_out(answers: Answers, seed: int) -> dict[float, float]:
    """For each γ, how likely a label is by those it is not among: the mean logarithm."""
    rng = np.random.default_rng(seed)
    sample = answers.of_some_tasks(MOST_LABELS, rng)
    part = rng.permutation(sample.label.size) % FOLDS
    found = {}
    for strength in _strengths(answers.classes):
        logs: list[float] = []
        for fold in range(HELD_OUT):
            known, unknown = sample.where(part != fold), sample.where(part == fold)
            dual = Dual(known, *_penalties(answers, strength))  # of the whole table
            logs += np.log(dual.predict(unknown, _settle(dual))).tolist()
        found[strength] = float(np.mean(logs)) if logs else 0.0
    return found


def _settle(dual: Dual) -> Floats:
    """Posteriors from the shares of the votes, as near to standing still as a trial takes it."""
    posterior = dual.answers.vote_shares()
    for _ in range(TRIAL_ITERATIONS):
        before, posterior = posterior, np.exp(dual.iterate(posterior)[0])
        if np.abs(posterior - before).max(initial=0.0) <= TRIAL_TOLERANCE:
            break
    return posterior
