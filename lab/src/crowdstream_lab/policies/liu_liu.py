"""`LiuLiu`: explore with everybody, then ask those who were with the majority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Floats
from crowdstream_lab.policies.policy import NOT_ASKED, Policy, State

EXPLORATIONS = 3.0
"""`LiuLiu` has asked everybody about so many times log t of the first t tasks."""


@dataclass(eq=False, repr=False)
class LiuLiu(Policy):
    """Ask everybody about a few tasks, and of the others only those who were with the majority.

    Tasks come one after the other, and no truth is known. As long as fewer than ``explorations ·
    log t`` of the first t tasks were asked of everybody, the next is; how often a worker was
    with the majority there is its accuracy. Otherwise the best workers are asked, as many as the
    rest of the budget allows a task, or fewer if so their majority is more likely right. Votes are
    weighted by these accuracies, as in the paper's weighted variant. The paper explores by asking
    the same task repeatedly and has no budget; here a worker answers once, and exploration stops
    when the rest would not allow one label per task. Time O(workers²) a task.

    Parameters
    ----------
    explorations
        The factor of log t.

    References
    ----------
    Liu, Liu. An Online Learning Approach to Improving the Quality of Crowd-Sourcing.
    SIGMETRICS 2015.

    Examples
    --------
    >>> from crowdstream_lab.policies import spend
    >>> rates = [0.1] * 5 + [0.4] * 10
    >>> error, uniform = spend(LiuLiu(), rates, tasks=500, budget=2500)
    >>> error < uniform
    True
    """

    explorations: float = EXPLORATIONS

    checks: ClassVar = {"explorations": number(0.0, 1e6, open_low=True)}

    def start(self, state: State) -> None:
        """Nothing explored, no task begun."""
        n = state.said.shape[1]
        self._begun, self._task, self._explored, self._exploring = 0, 0, 0, False
        self._agreed = np.zeros(n)
        self._queue: list[int] = []

    def accuracies(self) -> Floats:
        """Accuracies by agreement with the majority; one right and one wrong besides."""
        return (self._agreed + 1) / (self._explored + 2)

    def next(self, state: State) -> tuple[int, int]:
        """The task and the worker to ask."""
        if not self._queue:
            self._begin(state)
        return self._task, self._queue[-1]

    def _begin(self, state: State) -> None:
        """Queue whom to ask about the next task; after the last, whoever is left about any."""
        n = state.said.shape[1]
        self._begun += 1
        if self._begun > state.tasks:
            self._exploring = False
            self._task = int((state.said == NOT_ASKED).any(axis=1).argmax())
            free = state.open_workers(self._task)
            self._queue = free[np.argsort(self.accuracies()[free])].tolist()
            return
        self._task = self._begun - 1
        rest = state.tasks - self._task
        due = self._explored < self.explorations * np.log(self._task + 2)
        self._exploring = bool(due and state.left - n >= rest - 1)
        shuffled = state.rng.permutation(n)
        order = shuffled[np.argsort(self.accuracies()[shuffled], kind="stable")]
        affordable = int(np.clip(state.left // rest, 1, n))
        size = n if self._exploring else best_size(self.accuracies()[order[::-1]], affordable)
        self._queue = order[-size:].tolist()

    def saw(self, state: State, task: int, worker: int) -> None:
        """Take the next in the queue; after an exploration, count who was with the majority."""
        self._queue.pop()
        if self._exploring and not self._queue:
            said = state.said[task]
            ones = int(said.sum())
            self._explored += 1
            if 2 * ones != said.size:
                self._agreed += said == (2 * ones > said.size)
            else:
                self._agreed += 0.5

    def log_odds(self, state: State) -> Floats:
        """Votes weighted by agreement with the majority."""
        s = self.accuracies()
        sign = (state.said == 1) * 1.0 - (state.said == 0)
        return np.asarray(sign @ np.log(s / (1 - s)), float)


def best_size(accuracies: Floats, most: int) -> int:
    """Return how many of the best workers make the likeliest right majority.

    >>> best_size(np.array([0.95, 0.6, 0.55]), 3), best_size(np.array([0.8, 0.8, 0.8, 0.6]), 4)
    (1, 3)
    """
    right = np.ones(1)  # chances of 0, 1, … right answers
    best, size = 0.0, 1
    for n, s in enumerate(accuracies[:most].tolist(), start=1):
        right = np.append(right * (1 - s), 0.0) + np.append(0.0, right * s)
        chance = right[n // 2 + 1 :].sum() + (right[n // 2] / 2 if n % 2 == 0 else 0.0)
        if chance > best + 1e-12:
            best, size = chance, n
    return size
