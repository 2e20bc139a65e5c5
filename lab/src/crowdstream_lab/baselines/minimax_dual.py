"""The dual of `MinimaxEntropy`: parameters of workers and tasks, raised step by step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdstream_lab.baselines.common import Coded, Floats, Ints, normalise, shares

STEPS = 5
"""Steps of the parameters for one of the posteriors: an iteration costs as much as six glances at
the labels, and as every step raises the objective there is no need to go to the end. With fifty
the error rates of crowds of ten classes are the same to 0.02."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Some labels of a table in codes, those of a task together, and the table's sizes."""

    task: Ints
    worker: Ints
    label: Ints
    tasks: int
    workers: int
    classes: int

    @classmethod
    def of(cls, coded: Coded) -> Answers:
        """All labels of a table."""
        sizes = len(coded.tasks), len(coded.workers), coded.n_classes
        return cls(coded.task, coded.worker, coded.label, *sizes)

    def where(self, chosen: NDArray[np.bool_]) -> Answers:
        """Those that are chosen; tasks and workers keep their codes."""
        codes = self.task[chosen], self.worker[chosen], self.label[chosen]
        return Answers(*codes, self.tasks, self.workers, self.classes)

    def of_some_tasks(self, most: int, rng: np.random.Generator) -> Answers:
        """All labels of tasks drawn at random, at most so many labels."""
        if self.label.size <= most:
            return self
        order = rng.permutation(self.tasks)
        votes = np.bincount(self.task, minlength=self.tasks)
        chosen = order[np.cumsum(votes[order]) <= most]
        part = self.where(np.isin(self.task, chosen))
        names, task = np.unique(part.task, return_inverse=True)
        return replace(part, task=task.astype(np.int64), tasks=names.size)

    def vote_shares(self) -> Floats:
        """Share of votes of each class on each task."""
        cell = self.task * self.classes + self.label
        counts = np.bincount(cell, minlength=self.tasks * self.classes)
        return shares(counts.reshape(self.tasks, self.classes).astype(float))


class Dual:
    """The parameters σ of workers and τ of tasks, (truth, said, worker or task).

    ``worker_strength`` and ``task_strength`` are the α and β of their penalty.
    """

    def __init__(self, answers: Answers, worker_strength: float, task_strength: float) -> None:
        tasks, n, k = answers.tasks, answers.workers, answers.classes
        self.answers = answers
        self.of_workers: NDArray[np.float64] = np.zeros((k, k, n))
        self.of_tasks: NDArray[np.float64] = np.zeros((k, k, tasks))
        self.worker_strength, self.task_strength = worker_strength, task_strength
        self.said = answers.label, np.arange(answers.label.size)

    def iterate(self, posterior: Floats) -> tuple[Floats, Floats]:
        """Steps towards the parameters of these posteriors → logarithms of better ones.

        And of what each row summed to.
        """
        for _ in range(STEPS):
            self.step(posterior)
        return normalise(self.scores())

    def scores(self) -> Floats:
        """Return the log-likelihood of each task's labels under each truth."""
        answers = self.answers
        chances = [self.chances(answers, truth)[self.said] for truth in range(answers.classes)]
        return np.column_stack(
            [np.bincount(answers.task, np.log(c), answers.tasks) for c in chances]
        )

    def step(self, posterior: Floats) -> None:
        """One bounded Newton step, of all parameters at once.

        The second derivative of a label's log-chance in its logits is at most ½, and in σ and τ
        together at most twice that: 1 for every expected label.
        """
        answers = self.answers
        for truth in range(answers.classes):
            weight = posterior[answers.task, truth]
            surprise = self.chances(answers, truth)
            np.negative(surprise, out=surprise)
            surprise[self.said] += 1
            surprise *= weight
            for values, whose, strength in (
                (self.of_workers[truth], answers.worker, self.worker_strength),
                (self.of_tasks[truth], answers.task, self.task_strength),
            ):
                size = values.shape[1]
                bound = strength + np.bincount(whose, weight, size)
                for said, part in enumerate(surprise):
                    slope = np.bincount(whose, part, size) - strength * values[said]
                    values[said] += slope / bound

    def penalty(self) -> float:
        """Cost of the parameters."""
        workers = self.worker_strength * (self.of_workers**2).sum()
        return float(workers + self.task_strength * (self.of_tasks**2).sum()) / 2

    def chances(self, answers: Answers, truth: int) -> Floats:
        """Return the chance of every possible answer if this is the truth, a column per label."""
        likely: Floats = np.take(self.of_workers[truth], answers.worker, axis=1)
        likely += np.take(self.of_tasks[truth], answers.task, axis=1)
        likely -= likely.max(axis=0)
        np.exp(likely, out=likely)
        likely /= likely.sum(axis=0)
        return likely

    def predict(self, answers: Answers, posterior: Floats) -> Floats:
        """Return the likelihood of held-out labels, given the posteriors of the tasks."""
        said = answers.label, np.arange(answers.label.size)
        found = np.zeros(answers.label.size)
        for truth in range(answers.classes):
            found += posterior[answers.task, truth] * self.chances(answers, truth)[said]
        return found
