"""Base of policies, and the state they may know when they choose whom to ask what."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from crowdstream.extension import Parameters
from crowdstream_lab.baselines.common import Floats, Ints

NOT_ASKED = -1
"""In place of an answer or a truth that is not known."""


@dataclass(frozen=True)
class State:
    """State that a policy may know: what was said, the tasks' types, and the truth of gold tasks.

    ``said`` has one row per task and one column per worker. Tasks to be decided come first, then
    gold.
    """

    said: Ints
    types: Ints
    gold: Ints
    tasks: int
    left: int
    rng: np.random.Generator

    def open_tasks(self, worker: int) -> Ints:
        """Tasks to be decided that a worker has not answered."""
        return np.flatnonzero(self.said[: self.tasks, worker] == NOT_ASKED)

    def open_workers(self, task: int) -> Ints:
        """Workers who have not answered a task."""
        return np.flatnonzero(self.said[task] == NOT_ASKED)

    def least(self, cost: Floats) -> int:
        """Return where the cost is least, one at random of those alike."""
        return int(self.rng.choice(np.flatnonzero(cost == cost.min())))


class Policy(Parameters, ABC):
    """Chooses a task and a worker, again and again, and decides the tasks in the end."""

    gold: int = 0
    """Gold tasks of each type that it needs; an answer to one costs as much as any other."""

    def start(self, state: State) -> None:
        """Forget everything; nobody has been asked yet."""

    @abstractmethod
    def next(self, state: State) -> tuple[int, int]:
        """The task and the worker to ask."""

    def saw(self, state: State, task: int, worker: int) -> None:
        """The worker has answered; the answer is in the state."""

    def log_odds(self, state: State) -> Floats:
        """Return the log-odds of class 1 per task; only the sign is used."""
        said = state.said[: state.tasks]
        return np.asarray((said == 1).sum(axis=1) - (said == 0).sum(axis=1), float)
