"""Crowds of which some copy, and honest ones that might look as if they did: tasks × workers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import LabelBatch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Crowd = Callable[[np.random.Generator], Ints]


def answers(rng: np.random.Generator, truth: Ints, errors: Floats, k: int) -> Ints:
    """Tasks × workers: the truth, or with the worker's error rate another class."""
    wrong = rng.random((truth.size, errors.shape[-1])) < errors
    found: Ints = (truth[:, None] + wrong * rng.integers(1, k, wrong.shape)) % k
    return found


def crowd(rng: np.random.Generator, tasks: int, errors: Floats, k: int = 2) -> Ints:
    return answers(rng, rng.integers(0, k, tasks), errors, k)


def copying(
    rng: np.random.Generator,
    tasks: int,
    k: int = 2,
    group: int = 9,
    error: float = 0.35,
    share: float = 0.9,
    workers: int = 20,
) -> Ints:
    """The first ``group`` workers are a leader and followers who copy this share of its labels."""
    errors = rng.uniform(0.2, 0.4, workers)
    errors[:group] = error
    labels = crowd(rng, tasks, errors, k)
    copied = rng.random((tasks, group - 1)) < share
    labels[:, 1:group] = np.where(copied, labels[:, :1], labels[:, 1:group])
    return labels


def thinned(rng: np.random.Generator, labels: Ints, left: int) -> Ints:
    """So many labels a task, by chance; the others are −1."""
    rank = rng.random(labels.shape).argsort(axis=1).argsort(axis=1)
    return np.where(rank < left, labels, -1)


def batch_of(labels: Ints) -> LabelBatch:
    """The labels as models see them, without those that are −1."""
    there = labels >= 0
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    who = np.nonzero(there)[1].astype(np.int32)
    return LabelBatch(starts, who, labels[there].astype(np.int32))


def difficult(rng: np.random.Generator) -> Ints:
    errors = rng.uniform(0, 2, (3000, 1)) * rng.uniform(0.1, 0.4, 20)
    return crowd(rng, 3000, errors)


def drifting(rng: np.random.Generator) -> Ints:
    skill = 1 + np.sin(np.arange(3000) / 200)[:, None]
    return crowd(rng, 3000, skill * rng.uniform(0.15, 0.4, 20))


def parrots(rng: np.random.Generator) -> Ints:
    labels = crowd(rng, 1000, rng.uniform(0.1, 0.4, 20))
    said = rng.integers(0, 2, 6)
    labels[:, :6] = np.where(rng.random((1000, 6)) < 0.98, said, labels[:, :6])
    labels[:, :2] = 1
    return labels


def unbalanced(rng: np.random.Generator) -> Ints:
    return answers(rng, (rng.random(1000) < 0.1).astype(np.int64), rng.uniform(0.02, 0.4, 20), 2)


def confused(rng: np.random.Generator) -> Ints:
    rows = 0.5 * np.eye(3) + 0.5 * rng.dirichlet(np.ones(3), (20, 3))
    drawn = rows.cumsum(axis=2)[:, rng.integers(0, 3, 3000), :2].transpose(1, 0, 2)
    found: Ints = (rng.random((3000, 20, 1)) > drawn).sum(axis=2)
    return found


HONEST: dict[str, Crowd] = {
    "five": lambda rng: crowd(rng, 1000, rng.uniform(0.2, 0.4, 5)),
    "fifty": lambda rng: crowd(rng, 1000, rng.uniform(0.2, 0.4, 50)),
    "few tasks": lambda rng: crowd(rng, 30, rng.uniform(0.05, 0.4, 20)),
    "sparse": lambda rng: thinned(rng, crowd(rng, 5000, rng.uniform(0.1, 0.4, 20)), 3),
    "very good": lambda rng: crowd(rng, 1000, rng.uniform(0.01, 0.05, 20)),
    "perfect": lambda rng: crowd(rng, 1000, np.zeros(20)),
    "guessers": lambda rng: crowd(rng, 1000, np.full(20, 0.5)),
    "two experts among guessers": lambda rng: crowd(rng, 1000, np.repeat([0.02, 0.5], [2, 18])),
    "experts and guessers, sparse": lambda rng: thinned(
        rng, crowd(rng, 3000, np.repeat([0.02, 0.5], [9, 11])), 3
    ),
    "adversaries": lambda rng: crowd(rng, 1000, np.repeat([0.8, 0.2], [6, 14])),
    "parrots": parrots,
    "unbalanced classes": unbalanced,
    "confusions by class": confused,
    "unequal difficulty": difficult,
    "drifting together": drifting,
}
