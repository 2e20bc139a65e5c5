"""`OnePass`: what the online baselines share, a stream of tasks decided and learnt in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import polars as pl

from crowdstream.decisions import SETTLE
from crowdstream.labels import ClassLabel, Table, WorkerId
from crowdstream.science.baselines.common import Coded, Floats, Ints, code, decide


class OnePass(ABC):
    """Sees every task once, in order of first appearance, with all of its labels.

    A method adds what it keeps (`_start`), how it judges a task (`_judge`), what it learns from
    one (`_learn`) and how it judges all tasks at the end (`_judge_all`). How many classes there
    are is known from the start; nothing else of the future is.
    """

    classes_: list[ClassLabel]
    workers_: list[WorkerId]
    seed: int

    def fit_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Learn from all tasks in one pass, then decide all with what is known at the end."""
        coded = code(data)
        self._run(coded)
        return decide(coded, self._judge_all(coded), self.seed, settle)

    def stream_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Decide each task from its labels and the tasks before it, then learn from it."""
        coded = code(data)
        return decide(coded, self._run(coded), self.seed, settle)

    def _run(self, coded: Coded) -> Floats:
        """One pass over the tasks: the scores each had when it came."""
        self.classes_ = coded.classes.to_list()
        self.workers_ = coded.workers.to_list()
        self._start(coded)
        scores = np.zeros((len(coded.tasks), coded.n_classes))
        end = 0
        for task, votes in enumerate(coded.votes.tolist()):
            start, end = end, end + votes
            if votes:
                workers, labels = coded.worker[start:end], coded.label[start:end]
                scores[task] = self._judge(workers, labels)
                self._learn(workers, labels, scores[task])
        return scores

    @abstractmethod
    def _start(self, coded: Coded) -> None:
        """Forget everything; of the table only its sizes may be looked at."""

    @abstractmethod
    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        """A score for each class, in logarithms, of a task with these labels."""

    @abstractmethod
    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        """Take in a task's labels; its scores are those `_judge` gave."""

    @abstractmethod
    def _judge_all(self, coded: Coded) -> Floats:
        """Scores of all tasks by what is known now, a row a task."""


def posterior_of(scores: Floats) -> Floats:
    """Scores in logarithms → probabilities, along the last axis.

    >>> posterior_of(np.log([1.0, 3.0])).round(2).tolist()
    [0.25, 0.75]
    """
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=-1, keepdims=True)
    return shares
