"""`HoVaughan`: a worker gets the type of task it is best at, less that type's price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.policies.policy import NOT_ASKED, State
from crowdstream_lab.policies.with_gold import WithGold

PRICE_STEP = 0.02
"""Step by which a label moves the price of its type: qualities differ by up to one, so a
price finds its level within fifty labels."""


@dataclass(eq=False, repr=False)
class HoVaughan(WithGold):
    """A worker who comes is given the type of task it is best at, less that type's price.

    Tasks are of types at which workers differ, each type with its share of the labels. Workers
    come at random; the first tasks of each are gold, from which its quality ``(2s − 1)²`` at each
    type is estimated. Then it gets the type with the largest quality less price, and of this the
    task with the fewest labels. The prices are the dual variables of the types' shares; the
    paper solves a linear programme on a first sample of workers for them, here they follow by
    dual ascent, rising with every label of the type and falling with its share. Votes are weighted
    by accuracies on gold. Time O(tasks + types) a label.

    Parameters
    ----------
    gold
        Gold tasks of each type that a worker is shown.
    step
        Of the prices.

    References
    ----------
    Ho, Vaughan. Online Task Assignment in Crowdsourcing Markets. AAAI 2012.

    Examples
    --------
    >>> from crowdstream_lab.policies import spend
    >>> rates = [[0.1] * 5 + [0.45] * 5, [0.45] * 5 + [0.1] * 5]  # each good at one of two types
    >>> error, uniform = spend(HoVaughan(), rates, tasks=400, budget=2000)
    >>> error < uniform
    True
    """

    step: float = PRICE_STEP

    checks: ClassVar = {"step": number(0.0, 1.0)}

    def start(self, state: State) -> None:
        """No prices, no labels."""
        self._share = np.bincount(state.types[: state.tasks]) / state.tasks
        self._price = np.zeros(self._share.size)
        self._labels = np.zeros(state.tasks)
        self._quality = self.qualities(state)

    def next(self, state: State) -> tuple[int, int]:
        """The task and the worker to ask."""
        while True:
            worker = int(state.rng.integers(state.said.shape[1]))
            gold = np.flatnonzero(state.said[state.tasks :, worker] == NOT_ASKED)
            if gold.size:
                return state.tasks + int(gold[0]), worker
            tasks = state.open_tasks(worker)
            if tasks.size:
                break
        value = (self._quality[:, worker] - self._price)[state.types[tasks]]
        best = tasks[value == value.max()]
        return int(best[state.least(self._labels[best])]), worker

    def saw(self, state: State, task: int, worker: int) -> None:
        """Move the prices, or, after gold, the worker's quality."""
        if task >= state.tasks:
            self._quality = self.qualities(state)
            return
        self._labels[task] += 1
        moved = (np.arange(self._share.size) == state.types[task]) - self._share
        self._price = self._price + self.step * moved
