"""A crowd whose description has been checked, and how its labels are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from crowdstream.errors import InputError
from crowdstream.simulation.drifts import Drift, Floats, Ints, error_rates
from crowdstream.simulation.simulated import Simulated
from crowdstream.validation import check_number

Copying: TypeAlias = Mapping[int, tuple[int, float]]
"""Followers, each with its leader and the probability of copying."""


class Crowd(TypedDict, total=False):
    """Arguments of `simulate` besides the sizes; explained there."""

    p: ArrayLike | None
    q: float | None
    answer_rate: ArrayLike
    per_task: int | None
    classes: int
    balance: ArrayLike | None
    drift: Drift | None
    adversaries: float
    copying: Copying | None
    confusions: ArrayLike | None
    seed: int


@dataclass(frozen=True)
class Model:
    """A crowd whose description has been checked."""

    n: int
    rates: Floats
    answer_rate: Floats
    per_task: int | None
    prior: Floats
    drift: Drift | None
    adversaries: float
    copying: Copying
    tables: Floats | None
    """Confusions: of worker, truth and what it says."""

    @classmethod
    def of(cls, n: int, tasks: int, how: Crowd) -> Model:
        """Check the arguments of `simulate` and return them as a model."""
        classes, per_task = how.get("classes", 2), how.get("per_task")
        check_number("n", n, 1, 10**8, whole=True)
        check_number("tasks", tasks, 0, 10**15, whole=True)
        check_number("classes", classes, 2, 10**6, whole=True)
        check_number("adversaries", how.get("adversaries", 0.0), 0.0, 1.0)
        if per_task is not None:
            check_number("per_task", per_task, 1, n, whole=True)
        prior = _prior(classes, how.get("balance"))
        return cls(
            n,
            error_rates(n, how.get("p"), how.get("q")),
            _answer_rates(n, how.get("answer_rate", 1.0)),
            per_task,
            prior,
            how.get("drift"),
            how.get("adversaries", 0.0),
            _in_order(n, how.get("copying") or {}),
            _confusions(n, classes, how.get("confusions")),
        )

    def blocks(self, tasks: int, size: int, seed: int) -> Iterator[Simulated]:
        """The stream, so many tasks at a time."""
        rng = np.random.default_rng(seed)
        rates = self.rates.copy()
        hostile = rng.permutation(self.n)[: round(self.adversaries * self.n)]
        rates[hostile] = 1 - rates[hostile]
        if self.tables is not None:
            rates = 1 - np.einsum("nkk,k->n", self.tables, self.prior)
        for first in range(0, max(tasks, 1), size):
            t = np.arange(first, min(first + size, tasks))
            truth = rng.choice(self.prior.size, size=t.size, p=self.prior)
            task, worker = _who_answers(rng, t.size, self.n, self.answer_rate, self.per_task)
            now = rates if self.drift is None else np.clip(self.drift(rates, t), 0, 1)
            if self.tables is None:
                chance = now[worker] if now.ndim == 1 else now[task, worker]
                said = _err(rng, truth[task], chance, self.prior.size)
            else:
                steps = np.cumsum(self.tables, axis=2)[worker, truth[task]]
                said = (rng.random(task.size)[:, None] >= steps[:, :-1]).sum(axis=1)
            block = Simulated(first, self.n, task, worker, said, truth, now, self.prior.size)
            for follower, (leader, chance_of_copy) in self.copying.items():
                _copy(rng, block, follower, leader, chance_of_copy)
            yield block


def _err(rng: np.random.Generator, truth: Ints, chance: Floats, classes: int) -> Ints:
    """Draw labels that err with this chance, evenly over the other classes."""
    wrong = rng.random(truth.size) < chance
    other = (truth + rng.integers(1, classes, size=truth.size)) % classes
    return np.where(wrong, other, truth)


def _answer_rates(n: int, answer_rate: ArrayLike) -> Floats:
    rates = np.atleast_1d(np.asarray(answer_rate, float))
    if rates.shape not in ((1,), (n,)) or not ((rates > 0) & (rates <= 1)).all():
        raise InputError("answer_rate", f"one probability above 0, or {n}", str(answer_rate))
    return rates


def _prior(classes: int, balance: ArrayLike | None) -> Floats:
    prior = np.full(classes, 1 / classes) if balance is None else np.asarray(balance, float)
    if prior.shape != (classes,) or not np.isclose(prior.sum(), 1) or (prior < 0).any():
        raise InputError("balance", f"{classes} probabilities that sum to 1", str(balance))
    return prior


def _confusions(n: int, classes: int, confusions: ArrayLike | None) -> Floats | None:
    if confusions is None:
        return None
    tables = np.asarray(confusions, float)
    if tables.shape != (n, classes, classes) or not np.allclose(tables.sum(axis=2), 1):
        expected = f"{n} matrices of {classes} rows that sum to 1"
        raise InputError("confusions", expected, f"an array of shape {tables.shape}")
    return tables


def _who_answers(
    rng: np.random.Generator, tasks: int, n: int, rates: Floats, per_task: int | None
) -> tuple[Ints, Ints]:
    """Tasks and workers of the labels, task by task."""
    if per_task is None:
        task, worker = np.nonzero(rng.random((tasks, n)) < rates)
        return task, worker
    steps = np.cumsum(np.broadcast_to(rates, n))

    def draw(size: int) -> Ints:
        drawn = rng.random((size, per_task)) * steps[-1]
        return np.asarray(np.searchsorted(steps, drawn, side="right"), np.int64)

    if 2 * per_task > n:  # repeats would be the rule: order everybody by a random key instead
        keys = rng.exponential(size=(tasks, n)) / rates
        workers = np.argsort(keys, axis=1)[:, :per_task]
    else:
        workers = draw(tasks)
        while True:
            ordered = np.sort(workers, axis=1)
            again = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
            if not again.any():
                break
            workers[again] = draw(int(again.sum()))
    return np.repeat(np.arange(tasks), per_task), workers.ravel()


def _in_order(n: int, copying: Copying) -> Copying:
    """Order followers after their leaders; raise InputError if workers copy in a circle."""
    for follower, (leader, chance) in copying.items():
        if not (0 <= follower < n and 0 <= leader < n and 0 <= chance <= 1):
            expected = f"follower: (leader, probability), both below {n}"
            raise InputError("copying", expected, f"{follower}: ({leader}, {chance})")
    order: dict[int, tuple[int, float]] = {}
    waiting = dict(copying)
    while waiting:
        free = [f for f, (leader, _) in waiting.items() if leader not in waiting]
        if not free:
            raise InputError("copying", "no circle", str(waiting))
        order |= {follower: waiting.pop(follower) for follower in free}
    return order


def _copy(
    rng: np.random.Generator, block: Simulated, follower: int, leader: int, chance: float
) -> None:
    """Let a follower say, where both answer, what its leader says with this chance."""
    theirs, ours = (np.flatnonzero(block.workers == who) for who in (leader, follower))
    both, at, from_ = np.intersect1d(block.tasks[ours], block.tasks[theirs], return_indices=True)
    copied = rng.random(both.size) < chance
    block.said[ours[at[copied]]] = block.said[theirs[from_[copied]]]
