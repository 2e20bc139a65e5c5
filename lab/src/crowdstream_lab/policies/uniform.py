"""`Uniform`: a task with the fewest labels, a worker at random. The yardstick."""

from __future__ import annotations

import numpy as np

from crowdstream_lab.policies.policy import Policy, State


class Uniform(Policy):
    """A task with the fewest labels, a worker at random, and majority vote: the yardstick."""

    def start(self, state: State) -> None:
        """Forget everything."""
        self._labels = np.zeros(state.tasks)

    def next(self, state: State) -> tuple[int, int]:
        """The task and the worker to ask."""
        task = state.least(self._labels)
        return task, int(state.rng.choice(state.open_workers(task)))

    def saw(self, state: State, task: int, worker: int) -> None:
        """Count the label."""
        self._labels[task] += 1
