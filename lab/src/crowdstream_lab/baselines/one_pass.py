"""`OnePass`: what the online baselines share, a stream of tasks decided and learnt in turn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
import polars as pl

from crowdstream.extension import SETTLE, Table
from crowdstream_lab.baselines.common import Coded, Floats, Ints, LabelsOnly


class OnePass(LabelsOnly):
    """Sees every task once, in order of first appearance, with all of its labels.

    A method adds what it keeps (`_start`), how it judges a task (`_judge`), what it learns from
    one (`_learn`) and how it judges all tasks at the end (`_judge_all`). How many classes there
    are is known from the start; nothing else of the future is.
    """

    def _scores(self, coded: Coded) -> Floats:
        """Learn from all tasks in one pass, then judge all with what is known at the end."""
        self._run(coded)
        return self._judge_all(coded)

    def stream_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Decide each task from its labels and the tasks before it, then learn from it.

        Parameters
        ----------
        data, settle
            As for `fit_predict`.
        """
        coded = self._code(data)
        return self._decide(coded, self._run(coded), settle)

    def _run(self, coded: Coded) -> Floats:
        """One pass over the tasks: the scores each had when it came."""
        self._start(coded)
        scores = np.zeros((len(coded.tasks), coded.n_classes))
        for task, workers, labels in each_task(coded):
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
        """Scores of all tasks by what is known now, one row per task."""


def each_task(coded: Coded) -> Iterator[tuple[int, Ints, Ints]]:
    """Every task that has labels, in order: its number, its workers and their labels."""
    end = 0
    for task, votes in enumerate(coded.votes.tolist()):
        start, end = end, end + votes
        if votes:
            yield task, coded.worker[start:end], coded.label[start:end]


def posterior_of(scores: Floats) -> Floats:
    """Scores in logarithms → probabilities, along the last axis.

    >>> posterior_of(np.log([1.0, 3.0])).round(2).tolist()
    [0.25, 0.75]
    """
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=-1, keepdims=True)
    return shares
