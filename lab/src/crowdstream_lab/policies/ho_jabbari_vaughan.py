"""`HoJabbariVaughan`: only those are asked whose quality is worth its price."""

from __future__ import annotations

import numpy as np

from crowdstream_lab.policies.policy import State
from crowdstream_lab.policies.with_gold import WithGold


class HoJabbariVaughan(WithGold):
    """Labels of those only whose quality is worth its price, to the task that lacks most.

    Everybody is shown gold first. To gather evidence ``Σ (2s − 1)²`` on every task with the fewest
    labels, the linear programme with qualities known takes the best workers of each type, as
    many as there are labels per task; its dual price is the quality of the last of them. So a
    worker at the door is sent away, which costs nothing, unless its quality for the task that
    has least evidence reaches that price. Budget is given and not the error to be reached, so the
    price is set once, from what is left after gold, and the paper's sample of workers for it is
    all of them. Votes are weighted by accuracies on gold. Time O(tasks) a label.

    Parameters
    ----------
    gold
        Gold tasks of each type that a worker is shown, at least 1.

    References
    ----------
    Ho, Jabbari, Vaughan. Adaptive Task Assignment for Crowdsourced Classification. ICML 2013.

    Examples
    --------
    >>> from crowdstream_lab.policies import spend
    >>> rates = [0.1] * 5 + [0.5] * 15
    >>> error, uniform = spend(HoJabbariVaughan(), rates, tasks=200, budget=1000)
    >>> error < uniform
    True
    """

    def start(self, state: State) -> None:
        """No evidence; all gold is to be asked."""
        n = state.said.shape[1]
        gold = np.arange(state.tasks, state.said.shape[0])
        self._gold = [(int(task), worker) for task in gold for worker in range(n)]
        self._evidence = np.zeros(state.tasks)
        self._quality = self.qualities(state)
        self._price = np.zeros(len(self._quality))

    def next(self, state: State) -> tuple[int, int]:
        """The task and the worker to ask."""
        if self._gold:
            return self._gold[-1]
        task = state.least(self._evidence)
        workers = state.open_workers(task)
        quality = self._quality[state.types[task], workers]
        worth = workers[quality >= self._price[state.types[task]]]
        if worth.size:
            return task, int(state.rng.choice(worth))
        return task, int(workers[state.least(-quality)])

    def saw(self, state: State, task: int, worker: int) -> None:
        """Count the evidence; after the last gold, set the prices."""
        if task < state.tasks:
            gained = self._quality[state.types[task], worker]
            full = state.open_workers(task).size == 0
            self._evidence[task] += np.inf if full else gained
            return
        self._gold.pop()
        if not self._gold:
            self._quality = self.qualities(state)
            each = int(np.clip(np.ceil((state.left - 1) / state.tasks), 1, state.said.shape[1]))
            self._price = np.sort(self._quality, axis=1)[:, -each]
