"""What a worker's vote does to a decision: the log-odds it adds, whatever they are made of.

Found by scoring tasks with a single label, so that it holds for every way of scoring. Knows
workers and classes by their codes only.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import NO_TRUTHS, LabelBatch
from crowdstream.models.scorer import CELLS, Scorer
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]

FEW = 8
"""Classes from which on NumPy adds up a row in another order, and quickly."""


def vote_effects(scorer: Scorer, sums: AgreementSums, correlation: float) -> Floats:
    """Mean absolute log-odds that each worker's votes add; below 0 if against what was said.

    A label adds a number to each class's score; what it does is the highest less the mean of the
    others, averaged over the labels that the worker gives. Where errors are correlated, m labels
    of a task count 1/(1 + (m − 1) ρ) each, with m as the worker meets it. Where votes are counted,
    each counts 1.
    """
    n, k = sums.workers, sums.classes
    if not scorer.identified:
        return np.ones(n)
    said = np.maximum(sums.said[:n, :k], 0.0)
    answers = np.maximum(said.sum(axis=1), 1e-12)
    who, what = np.nonzero(said > 0.0)
    base = np.empty((1, k))
    scorer.score(_single(who[:0], what[:0], 1), base)
    found, towards = np.zeros(n), np.zeros(n)
    step = max(CELLS // k, 1)
    for at in range(0, who.size, step):
        here, label = who[at : at + step], what[at : at + step]
        scores = np.empty((here.size, k))
        scorer.score(_single(here, label, here.size), scores)
        scores -= base
        total, share = _by_row(np.add, scores), said[here, label] / answers[here]
        highest = _by_row(np.maximum, scores)
        found += np.bincount(here, share * _above_others(highest, total, k), n)
        own = scores[np.arange(here.size), label]
        towards += np.bincount(here, share * _above_others(own, total, k), n)
    met = np.maximum(sums.met[:n], 0.0) / answers
    return np.asarray(np.where(towards < 0.0, -found, found) / (1.0 + met * correlation))


def _by_row(add: np.ufunc, scores: Floats) -> Floats:
    """Add up the classes of every row: NumPy is slow where rows have a few numbers only."""
    if scores.shape[1] >= FEW:
        return np.asarray(add.reduce(scores, axis=1))
    return np.asarray(functools.reduce(add, scores.T))


def leave_one_out(task: LabelBatch) -> LabelBatch:
    """One task, and after it the task without each of its labels in turn.

    >>> one = LabelBatch(np.array([0, 2]), np.array([3, 4], np.int32), np.array([0, 1], np.int32))
    >>> leave_one_out(one).workers.tolist()
    [3, 4, 4, 3]
    """
    m = task.labels.size
    kept = np.concatenate([np.arange(m), np.nonzero(~np.eye(m, dtype=np.bool_))[1]])
    starts = np.concatenate([[0], m + np.arange(m + 1) * max(m - 1, 0)]).astype(np.int64)
    return LabelBatch(starts, task.workers[kept], task.labels[kept], tasks=range(m + 1))


def effects_on(scores: Floats, winner: int, rho: float) -> Floats:
    """The log-odds of the winner that each label adds, from the scores of `leave_one_out`.

    Against the mean of the other classes; with correlated errors m labels count 1/(1 + (m − 1) ρ).
    """
    m, k = len(scores) - 1, scores.shape[1]
    ahead = _above_others(scores[:, winner], scores.sum(axis=1), k)
    return np.asarray((ahead[0] - ahead[1:]) / (1.0 + max(m - 1, 0) * rho))


def _above_others(one: Floats, total: Floats, classes: int) -> Floats:
    """Return how far one class is above the mean of the others."""
    return one - (total - one) / (classes - 1)


def _single(workers: NDArray[np.int64], labels: NDArray[np.int64], tasks: int) -> LabelBatch:
    """Tasks of one label each, or of none if there are no labels."""
    starts = np.minimum(np.arange(tasks + 1), workers.size)
    return LabelBatch(
        starts, workers.astype(np.int32), labels.astype(np.int32), NO_TRUTHS, range(tasks)
    )
