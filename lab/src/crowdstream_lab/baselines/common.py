"""Parts that baselines share: labels in codes, weighted votes, scores → decisions.

Knows no particular method.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream import TaskId
from crowdstream.extension import (
    SEED,
    SETTLE,
    LabelBatch,
    Parameters,
    Table,
    Vocabulary,
    code_labels,
    decide_by_scores,
)

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

    batch: LabelBatch
    task: Ints
    worker: Ints
    label: Ints
    workers: Vocabulary
    classes: Vocabulary

    @property
    def tasks(self) -> Sequence[TaskId] | pl.Series:
        """The tasks' names."""
        return self.batch.tasks

    @property
    def votes(self) -> Ints:
        """Number of labels of each task."""
        return self.batch.sizes

    @property
    def n_classes(self) -> int:
        """Number of classes, seen or not."""
        return max(FEWEST_CLASSES, len(self.classes))

    def count(self, weights: Floats | None = None) -> Floats:
        """Votes for each class, or the sum of their weights: one row per task."""
        shape = len(self.tasks), self.n_classes
        cell = self.task * shape[1] + self.label
        return np.bincount(cell, weights, shape[0] * shape[1]).reshape(shape).astype(float)


def code(data: Table) -> Coded:
    """Any table or rows of labels in codes; of a repeated (task, worker) pair the last counts.

    Methods to compare with take every label for a class.
    """
    batch, workers, classes = code_labels(data)
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    codes = batch.workers.astype(np.int64), batch.labels.astype(np.int64)
    return Coded(batch, task, *codes, workers, classes)


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
    """Every worker's answers, and how many of them are right by the posteriors."""
    n = len(coded.workers)
    right = posterior[coded.task, coded.label]
    answers = np.bincount(coded.worker, minlength=n).astype(float)
    return answers, np.bincount(coded.worker, right, n).astype(float)


def share_wrong(coded: Coded, posterior: Floats) -> Floats:
    """The share of every worker's answers that are wrong by the posteriors."""
    answers, right = answers_right(coded, posterior)
    return 1 - right / np.maximum(answers, 1)


def normalise(scores: Floats) -> tuple[Floats, Floats]:
    """Scores → logarithms of the posterior, one row per task, and of what each row summed to.

    >>> posterior, total = normalise(np.log([[1.0, 3.0]]))
    >>> np.exp(posterior).round(2).tolist(), np.exp(total).round(2).tolist()
    ([[0.25, 0.75]], [4.0])
    """
    best = scores.max(axis=1, keepdims=True)
    total = best + np.log(np.exp(scores - best).sum(axis=1, keepdims=True))
    return scores - total, total[:, 0]


def decide(coded: Coded, scores: Floats, seed: int, settle: float | None) -> pl.DataFrame:
    """The estimators' table of decisions from log-odds, ties broken as theirs are."""
    return decide_by_scores(coded.batch, coded.classes, scores, seed=seed, settle=settle)


@dataclass(eq=False, repr=False)
class Baseline(Parameters):
    """A method to compare the estimators with: labels in, the estimators' table of decisions out.

    Parameters
    ----------
    seed
        Random seed for breaking ties, and for whatever else a method draws.

    Attributes
    ----------
    classes_, workers_
        In order of first appearance; learnt arrays have their rows and columns in this order.
    deviation
        In what the method is not as published, in a phrase for tables; empty if in nothing.
    """

    _: KW_ONLY
    seed: int = 0

    deviation: ClassVar[str] = ""
    """Departure from the publication, in a phrase; empty if there is none."""

    checks: ClassVar = {"seed": SEED}

    def _code(self, data: Table) -> Coded:
        """The labels in codes; remembers what the codes stand for."""
        coded = code(data)
        self.classes_ = coded.classes.to_list()
        self.workers_ = coded.workers.to_list()
        return coded

    def _decide(self, coded: Coded, scores: Floats, settle: float) -> pl.DataFrame:
        return decide(coded, scores, self.seed, settle)


class LabelsOnly(Baseline):
    """A baseline that needs nothing but the labels; a method adds how it scores the classes."""

    def fit_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Learn from a table of labels, and decide its tasks.

        Parameters
        ----------
        data
            Any table or rows of task, worker and label.
        settle
            Confidence from which a decision counts as settled.
        """
        coded = self._code(data)
        return self._decide(coded, self._scores(coded), settle)

    def posterior(self, coded: Coded) -> Floats:
        """Learn from labels in codes: a probability for each class, one row per task."""
        return np.exp(normalise(self._scores(coded))[0])

    @abstractmethod
    def _scores(self, coded: Coded) -> Floats:
        """One row per task: a score for each class, in logarithms."""
