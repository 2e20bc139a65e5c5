"""Run a policy on a crowd until its budget is spent, beside uniform allocation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdstream import InputError
from crowdstream.extension import check_number
from crowdstream_lab.baselines.common import Ints
from crowdstream_lab.policies.policy import NOT_ASKED, Policy, State
from crowdstream_lab.policies.uniform import Uniform


class Spent(NamedTuple):
    """Shares of tasks decided wrongly with the same budget, a tie counting ½."""

    error: float
    uniform: float


def spend(
    policy: Policy, crowd_error_rates: ArrayLike, tasks: int, budget: int, seed: int = 0
) -> Spent:
    """Run a policy on a simulated crowd, and `Uniform` on the same crowd, tasks and answers.

    Error rates are one per worker, or a row of these for each type of task; task t is of type t
    modulo the number of types, so that one row per task gives each its own. A worker answers a task
    once. Truths are fair coins. `Uniform` takes a majority vote, so that the difference is what a
    policy's allocation and its weights bring together. Memory O(tasks · workers).

    >>> spend(Uniform(), [0.0, 0.0], tasks=10, budget=20)
    Spent(error=0.0, uniform=0.0)
    """
    rates = np.atleast_2d(np.asarray(crowd_error_rates, float))
    if rates.ndim != 2 or not ((rates >= 0) & (rates <= 1)).all():
        expected = "probabilities, one per worker or a row of these a type"
        raise InputError("crowd_error_rates", expected, str(rates.tolist()))
    check_number("tasks", tasks, 1, 10**8, whole=True)
    rng = np.random.default_rng(seed)
    types = np.append(np.arange(tasks), np.arange(policy.gold * len(rates))) % len(rates)
    truth = rng.integers(2, size=types.size)
    answers = truth[:, None] ^ (rng.random((types.size, rates.shape[1])) < rates[types])
    return Spent(
        buy(policy, truth, answers, tasks, budget, types=types, seed=seed).error,
        buy(Uniform(), truth, answers, tasks, budget, types=types, seed=seed).error,
    )


class Bought(NamedTuple):
    """Labels bought, one row per task (gold last), `NOT_ASKED` elsewhere; and `Spent.error`."""

    said: Ints
    error: float


def buy(
    policy: Policy,
    truth: Ints,
    answers: Ints,
    tasks: int,
    budget: int,
    *,
    types: Ints | None = None,
    seed: int = 0,
) -> Bought:
    """Run a policy on what workers would say, classes 0 and 1, one row per task, a column each.

    Rows beyond ``tasks`` are gold, of which the policy knows the truth; one that has no use for
    gold does not see them. Tasks are of one type if nothing is said of that.

    >>> truth = np.array([0, 1, 1])
    >>> bought = buy(Uniform(), truth, truth[:, None].repeat(2, axis=1), tasks=3, budget=3)
    >>> bought.said.max(axis=1).tolist(), bought.error
    ([0, 1, 1], 0.0)
    """
    check_number("budget", budget, 1, tasks * answers.shape[1], whole=True)
    seen = truth.size if policy.gold else tasks
    types = np.zeros(seen, int) if types is None else types[:seen]
    truth, answers = truth[:seen], answers[:seen]
    rng = np.random.default_rng([seed, 1])
    said = np.full((types.size, answers.shape[1]), NOT_ASKED)
    gold = np.where(np.arange(types.size) < tasks, NOT_ASKED, truth)
    policy.start(State(said, types, gold, tasks, budget, rng))
    for left in range(budget, 0, -1):
        state = State(said, types, gold, tasks, left, rng)
        task, worker = policy.next(state)
        said[task, worker] = answers[task, worker]
        policy.saw(state, task, worker)
    score = policy.log_odds(State(said, types, gold, tasks, 0, rng))
    right = np.where(truth[:tasks] == 1, score, -score)
    return Bought(said, float(((right < 0) + (right == 0) / 2).mean()))
