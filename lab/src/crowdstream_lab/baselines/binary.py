"""Parts that methods for two classes share: eigenvectors, their sign, weighted votes → log-odds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdstream_lab.baselines.common import Coded, Floats, shares

FAINT = 1e-9
"""Weights of a task that are all this much smaller than the greatest there is are rounding: an
eigenvector is so faint on workers who share no task with those it is about."""


PRECISION = 1e-9
"""Relative precision of an eigenvalue: fainter ones are not told from rounding."""


def centred(coded: Coded, votes: Floats) -> Floats:
    """Votes of ±1 for a class or the rest as 1 and −1/(K − 1), which makes 0 of a blind guess."""
    return np.where(votes > 0, 1.0, -1 / (coded.n_classes - 1))


def majority_sign(coded: Coded, says: Floats, weights: Floats) -> float:
    """1 if the weighted votes agree with most of the votes, −1 if all of them are to be turned."""
    tasks = len(coded.tasks)
    majority = np.bincount(coded.task, says, tasks)
    score = np.bincount(coded.task, says * weights, tasks)
    return -1.0 if np.sign(score) @ majority < 0 else 1.0


def weighted_vote(
    coded: Coded, says: Floats, weights: Floats, bias: Floats | None = None
) -> Floats:
    """Log-odds of a class by its share of the weight, where votes of mean weight are added.

    One vote is added to either side, as `MajorityVote` has it: the confidence of a method that
    has weights but no posterior, and the same if they are all alike. A ``bias``, one number a task,
    is one vote more, of that weight. A task whose labels have no weight is decided by majority.
    """
    tasks = len(coded.tasks)
    bias = np.zeros(tasks) if bias is None else bias
    votes = coded.votes + (bias != 0)
    loud = FAINT * np.abs(weights).max(initial=0.0)
    size = np.bincount(coded.task, np.abs(weights), tasks)
    heard = size > loud * np.maximum(coded.votes, 1)
    mean = (size + np.abs(bias)) / np.maximum(votes, 1)
    score = np.where(
        heard,
        (np.bincount(coded.task, says * weights, tasks) + bias) / np.where(heard, mean, 1.0),
        np.bincount(coded.task, says, tasks),
    )
    return np.asarray(2 * np.arctanh(score / (votes + 2)), float)


def top_eigenvector(times: Callable[[Floats], Floats], start: Floats) -> tuple[float, Floats]:
    """The greatest eigenvalue of a symmetric matrix and its vector of length 1, up to its sign.

    The matrix is given by what it makes of a vector, and Lanczos starts from one that should not
    be orthogonal to the answer. If the matrix is all 0, so is the answer.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, image = start.size, times(start)
    if not image.any():
        return 0.0, np.zeros(n)
    if n == 1:
        return float(image[0] / start[0]), np.ones(1)
    matrix = LinearOperator((n, n), times, dtype=float)
    values, vectors = eigsh(matrix, k=1, which="LA", v0=start, tol=PRECISION)
    return float(values[0]), np.asarray(vectors[:, 0], float)


def decided_by(scores: Floats) -> Floats:
    """All of a task's posterior on its best class, or on its best classes alike."""
    return shares((scores == scores.max(axis=1, keepdims=True)).astype(float))
