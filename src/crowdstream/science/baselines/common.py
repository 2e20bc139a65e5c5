"""What the baselines share: labels in codes, weighted votes, and scores → decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.estimators.votes import TIE
from crowdstream.estimators.worker_table import value_series
from crowdstream.labels import Table, TaskId, Vocabulary, code_table
from crowdstream.validation import check_number

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CERTAIN = 1e-9
"""Error rates are kept this far from 0 and 1: far below what any number of answers could show,
and it makes weights finite (about 21), so that two who never err and yet disagree are a tie."""

FEWEST_CLASSES = 2
"""A crowd that named one class only might have named another."""


@dataclass(frozen=True, slots=True)
class Coded:
    """Labels in codes, those of a task together; label i is ``task[i], worker[i], label[i]``."""

    tasks: Sequence[TaskId] | pl.Series
    votes: Ints
    task: Ints
    worker: Ints
    label: Ints
    workers: Vocabulary
    classes: Vocabulary

    @property
    def n_classes(self) -> int:
        """How many classes there are, seen or not."""
        return max(FEWEST_CLASSES, len(self.classes))

    def count(self, weights: Floats | None = None) -> Floats:
        """Votes for each class, or the sum of their weights: a row a task."""
        shape = len(self.tasks), self.n_classes
        cell = self.task * shape[1] + self.label
        return np.bincount(cell, weights, shape[0] * shape[1]).reshape(shape).astype(float)


def code(data: Table) -> Coded:
    """Any table or rows of labels in codes; of a repeated (task, worker) pair the last counts."""
    workers, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(data, workers, classes)
    votes = batch.sizes
    return Coded(
        batch.tasks,
        votes,
        np.repeat(np.arange(votes.size), votes),
        batch.workers.astype(np.int64),
        batch.labels.astype(np.int64),
        workers,
        classes,
    )


def weights_of(error_rates: Floats, classes: int) -> Floats:
    """Log-odds of a vote, ``log(s (K − 1)/(1 − s))`` with s = 1 − p: who errs, errs evenly.

    >>> weights_of(np.array([0.0, 0.25, 0.5, 1.0]), 2).round(2).tolist()
    [20.72, 1.1, 0.0, -20.72]
    """
    p = np.clip(error_rates, CERTAIN, 1 - CERTAIN)
    return np.log((1 - p) * (classes - 1) / p)


def shares(counts: Floats) -> Floats:
    """Counts over their sum, along the last axis; all alike where there is nothing.

    >>> shares(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / counts.shape[-1])


def answers_right(coded: Coded, posterior: Floats) -> tuple[Floats, Floats]:
    """Every labeller's answers, and how many of them are right by the posteriors."""
    n = len(coded.workers)
    right = posterior[coded.task, coded.label]
    answers = np.bincount(coded.worker, minlength=n).astype(float)
    return answers, np.bincount(coded.worker, right, n).astype(float)


def share_wrong(coded: Coded, posterior: Floats) -> Floats:
    """The share of every labeller's answers that are wrong by the posteriors."""
    answers, right = answers_right(coded, posterior)
    return 1 - right / np.maximum(answers, 1)


def normalise(scores: Floats) -> tuple[Floats, Floats]:
    """Scores → logarithms of the posterior, a row a task, and of what each row summed to.

    >>> posterior, total = normalise(np.log([[1.0, 3.0]]))
    >>> np.exp(posterior).round(2).tolist(), np.exp(total).round(2).tolist()
    ([[0.25, 0.75]], [4.0])
    """
    best = scores.max(axis=1, keepdims=True)
    total = best + np.log(np.exp(scores - best).sum(axis=1, keepdims=True))
    return scores - total, total[:, 0]


def decide(coded: Coded, scores: Floats, seed: int, settle: float) -> pl.DataFrame:
    """The estimators' table of decisions from log-odds; a fair coin of this seed breaks ties."""
    check_number("settle", settle, 0.0, 1.0)
    known, rows = len(coded.classes), np.arange(len(coded.tasks))
    posterior = np.exp(normalise(scores)[0])
    tied = scores >= scores.max(axis=1, keepdims=True) - TIE * coded.votes[:, None]
    coins = np.random.default_rng(seed).random(scores.shape)
    winner = np.where(tied, coins, -1.0).argmax(axis=1)
    winner = np.minimum(winner, known - 1)  # a class that nobody named cannot win
    confidence = posterior[rows, winner]
    posterior[rows, winner] = -np.inf
    lead = np.maximum(confidence - posterior.max(axis=1), 0.0)
    decided = coded.votes > 0
    chosen = pl.Series(winner).set(pl.Series(~decided), None)
    confidence = np.where(decided, confidence, 0.0)
    return pl.DataFrame(
        {
            "task": value_series("task", coded.tasks),
            "label": value_series("label", coded.classes.to_list()).gather(chosen),
            "confidence": confidence,
            "margin": np.where(decided & (tied.sum(axis=1) == 1), lead, 0.0),
            "votes": coded.votes,
            "settled": decided & (confidence >= settle),
        }
    )
