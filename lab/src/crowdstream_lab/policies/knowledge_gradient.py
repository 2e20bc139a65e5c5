"""`OptimisticKnowledgeGradient`: ask where an answer could help most."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from crowdstream import InputError
from crowdstream_lab.baselines.common import Floats
from crowdstream_lab.policies.policy import NOT_ASKED, Policy, State


@dataclass(eq=False, repr=False)
class OptimisticKnowledgeGradient(Policy):
    """Ask where the better of the two answers would raise the expected accuracy most.

    Of everybody a task gets answer 1 with its own unknown probability θ, uniform before, and its
    truth is whether that is above ½. The posterior of θ is a Beta, ``h = max(I, 1 − I)`` with
    ``I = P(θ > ½)`` the accuracy expected of its decision, and the task with the largest rise of h
    upon one of the two answers is next. If workers' reliabilities are known, one of ρ says what
    it would by θ with probability ρ and the contrary otherwise; the posterior is then matched to a
    Beta by its first two moments, and task and worker are chosen together. Time O(tasks ·
    workers) a label with reliabilities, O(tasks) without. Needs SciPy.

    Parameters
    ----------
    reliabilities
        ρ of each worker, all 1 if not given, when workers are drawn at random.

    References
    ----------
    Chen, Lin, Zhou. Optimistic Knowledge Gradient Policy for Optimal Budget Allocation in
    Crowdsourcing. ICML 2013.

    Examples
    --------
    >>> from crowdstream_lab.policies import spend
    >>> how_hard = np.linspace(0, 0.5, 50)[:, None] * np.ones(30)  # one row per task
    >>> error, uniform = spend(OptimisticKnowledgeGradient(), how_hard, tasks=50, budget=250)
    >>> error < uniform
    True
    """

    reliabilities: ArrayLike | None = None

    def start(self, state: State) -> None:
        """Every θ uniform."""
        given = self.reliabilities
        self._rho = np.ones(1) if given is None else np.asarray(given, float)
        if given is not None and self._rho.shape != (state.said.shape[1],):
            raise InputError("reliabilities", "one per worker", str(self._rho.shape))
        self._a, self._b = np.ones(state.tasks), np.ones(state.tasks)
        self._gain = np.tile(_gains(1.0, 1.0, self._rho), (state.tasks, 1))

    def next(self, state: State) -> tuple[int, int]:
        """The task and the worker to ask."""
        place = state.least(-self._gain.ravel())
        task, worker = divmod(place, self._rho.size)
        if self.reliabilities is None:
            worker = int(state.rng.choice(state.open_workers(task)))
        return task, worker

    def saw(self, state: State, task: int, worker: int) -> None:
        """Take in the answer; who has answered is not asked again."""
        rho = self._rho[0 if self.reliabilities is None else worker]
        yes = state.said[task, worker] == 1
        a, b = _update(self._a[task], self._b[task], rho if yes else 1 - rho)
        self._a[task], self._b[task] = a, b
        self._gain[task] = _gains(float(a), float(b), self._rho)
        free = state.said[task] == NOT_ASKED
        self._gain[task, ~free if self.reliabilities is not None else ~free.any()] = -np.inf

    def log_odds(self, state: State) -> Floats:
        """Positive where θ is more likely above ½ than below: where a > b."""
        return self._a - self._b


def _update(a: Floats | float, b: Floats | float, rho: Floats | float) -> tuple[Floats, Floats]:
    """The Beta with the first two moments of the posterior after an answer 1 of reliability ρ."""
    n = a + b
    yes, no = rho * a, (1 - rho) * b  # times 1/n: the chances of the two ways to say 1
    mean = (yes * (a + 1) + no * a) / ((yes + no) * (n + 1))
    square = (yes * (a + 2) + no * a) * (a + 1) / ((yes + no) * (n + 1) * (n + 2))
    size = (mean - square) / (square - mean**2)
    return np.asarray(mean * size), np.asarray((1 - mean) * size)


def _gains(a: float, b: float, rho: Floats) -> Floats:
    """The rise of h by the better answer of each worker."""
    betainc = importlib.import_module("scipy.special").betainc

    def h(p: Floats | float, q: Floats | float) -> Floats:
        below = np.asarray(betainc(p, q, 0.5), float)
        return np.asarray(np.maximum(below, 1 - below), float)

    best = np.maximum(h(*_update(a, b, rho)), h(*_update(a, b, 1 - rho)))
    return np.asarray(best - h(a, b), float)
