"""The paper's model and what real crowds add to it: who answers, who errs, how that changes.

Vectorised and seeded; a stream comes in blocks, so its length is not bounded by memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from crowdstream.errors import InputError
from crowdstream.labels import CodedLabels, LabelBatch, Vocabulary
from crowdstream.validation import check_number

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

CELLS = 4_000_000
"""Tasks times labellers of a block, if nobody says how long it should be."""

Drift: TypeAlias = Callable[[Floats, Ints], Floats]
"""Error rates p (n of them) and places t in the stream → a row of n error rates a task."""


def error_rates(n: int, p: ArrayLike | None = None, q: float | None = None) -> Floats:
    """Error rates of n labellers: given, or a generalised hammer-spammer of mean q.

    Half of a hammer-spammer crowd errs with ``p_1 = 2 q − ½``, the other half guesses.

    >>> error_rates(4, q=0.3).tolist()
    [0.1, 0.1, 0.5, 0.5]
    """
    if p is not None:
        given = np.atleast_1d(np.asarray(p, float))
        if given.shape not in ((1,), (n,)):
            raise InputError("p", f"one error rate or {n}", f"{given.size}")
        if not ((given >= 0) & (given <= 1)).all():
            raise InputError("p", "error rates from 0 to 1", str(given.tolist()))
        return np.broadcast_to(given, n).copy()
    q = 0.3 if q is None else q
    if not 0.25 <= q <= 0.5:
        raise InputError("q", "a mean error rate from 0.25 to 0.5", repr(q))
    return np.where(np.arange(n) < n / 2, round(2 * q - 0.5, 12), 0.5)


# Drifts ------------------------------------------------------------------------------------


def sine(omega: float) -> Drift:
    """Error rates ``p_i (1 + sin(ω t + 2π i/n))``, i = 1 … n: at p = ¼ the paper's drift.

    >>> sine(0.01)(np.full(4, 0.25), np.arange(1)).round(3).tolist()
    [[0.5, 0.25, 0.0, 0.25]]
    """

    def rates(p: Floats, t: Ints) -> Floats:
        phase = 2 * np.pi * np.arange(1, p.size + 1) / p.size
        moved: Floats = p * (1 + np.sin(omega * t[:, None] + phase))
        return moved.clip(0, 1)

    return rates


def jump(at: int, to: ArrayLike) -> Drift:
    """From task ``at`` on error rates are ``to`` (one, or one a labeller; nan: as before)."""

    def rates(p: Floats, t: Ints) -> Floats:
        later = np.broadcast_to(np.asarray(to, float), p.shape)
        later = np.where(np.isnan(later), p, later)
        return np.where(t[:, None] < at, p, later)

    return rates


def learning(half_life: float, start: float = 0.5) -> Drift:
    """Everybody begins at error rate ``start`` and halves the way to its own p every so often."""

    def rates(p: Floats, t: Ints) -> Floats:
        left: Floats = 0.5 ** (t[:, None] / half_life)
        return p + (start - p) * left

    return rates


def replacement(every: int, seed: int = 0) -> Drift:
    """Every so many tasks one labeller, each in turn, gives its place to a newcomer.

    A newcomer's error rate is drawn from those of the crowd.
    """

    def moved(p: Floats, t: Ints) -> Floats:
        n = p.size
        changes = t // every  # newcomers so far; the k-th takes place k modulo n
        times = (changes[:, None] - np.arange(n) + n - 1) // n  # how often each place changed hands
        drawn = np.random.default_rng(seed).integers(n, size=(int(times.max(initial=0)) + 1, n))
        drawn[0] = np.arange(n)
        rates: Floats = p[drawn[times, np.arange(n)]]
        return rates

    return moved


# Crowds ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulated:
    """A block of a simulated stream: a row a label, the truth and the error rates behind it.

    ``tasks`` count from the block's ``first``; ``error_rates`` are n, or a row of n a task if they
    drift (with confusions: the chance of an error averaged over the classes).
    """

    first: int
    n: int
    tasks: Ints
    workers: Ints
    said: Ints
    truth: Ints
    error_rates: Floats

    def labels(self) -> pl.DataFrame:
        """As a table of task, worker and label, all text."""
        width = len(str(self.n - 1))
        names = pl.Series([f"w{i:0{width}}" for i in range(self.n)], dtype=pl.String)
        return pl.DataFrame(
            {
                "task": self._names().gather(self.tasks),
                "worker": names.gather(self.workers),
                "label": pl.Series(self.said).cast(pl.String),
            }
        )

    def truths(self) -> pl.DataFrame:
        """The true labels, as a table of task and label."""
        return pl.DataFrame({"task": self._names(), "label": pl.Series(self.truth).cast(pl.String)})

    def matrix(self) -> Ints:
        """A row a task, a column a labeller: what it said, −1 for nothing."""
        found = np.full((self.truth.size, self.n), -1)
        found[self.tasks, self.workers] = self.said
        return found

    def columns(self) -> CodedLabels:
        """As the estimators take it at once: everybody is asked, nobody answers out of turn."""
        n = self.n
        starts = np.arange(0, self.truth.size * n + 1, n)
        workers = np.tile(np.arange(n, dtype=np.int32), self.truth.size)
        said = self.matrix().astype(np.int32).ravel()
        tasks = pl.int_range(self.first, self.first + self.truth.size, eager=True)
        classes = range(int(said.max(initial=0)) + 1)
        batch = LabelBatch(starts, workers, said, tasks=tasks)
        return CodedLabels(batch, Vocabulary(range(n)), Vocabulary(classes))

    def _names(self) -> pl.Series:
        return pl.int_range(self.first, self.first + self.truth.size, eager=True).cast(pl.String)


def simulate(
    n: int,
    tasks: int,
    *,
    p: ArrayLike | None = None,
    q: float | None = None,
    answer_rate: ArrayLike = 1.0,
    per_task: int | None = None,
    classes: int = 2,
    balance: ArrayLike | None = None,
    drift: Drift | None = None,
    adversaries: float = 0.0,
    copying: Mapping[int, tuple[int, float]] | None = None,
    confusions: ArrayLike | None = None,
    seed: int = 0,
    block: int | None = None,
) -> Iterator[Simulated]:
    """Simulate a crowd, a block of tasks at a time.

    Parameters
    ----------
    n, tasks
        How many labellers and tasks.
    p, q
        Error rates, one or n; or the mean of a generalised hammer-spammer crowd (default 0.3).
    answer_rate
        Probability that a labeller answers a task, one or n.
    per_task
        Exactly so many different labellers a task instead, drawn in proportion to ``answer_rate``
        (and anew if one comes twice).
    classes, balance
        How many classes, and how likely each is to be the truth (default: alike).
    drift
        How error rates change: `sine`, `jump`, `learning`, `replacement`, or a function of p and t.
    adversaries
        The share of labellers, drawn at random, who err with 1 − p instead of p.
    copying
        ``{follower: (leader, c)}``: where both answer, the follower says with probability c what
        the leader says.
    confusions
        Instead of p: for every labeller a matrix, a row a truth, of the chances of what it says.
    seed, block
        The same arguments give the same labels; tasks a block.

    Examples
    --------
    >>> block = next(simulate(3, 10_000, p=[0.1, 0.2, 0.5], seed=1))
    >>> (block.matrix() != block.truth[:, None]).mean(axis=0).round(1).tolist()
    [0.1, 0.2, 0.5]
    """
    check_number("n", n, 1, 10**8, whole=True)
    check_number("tasks", tasks, 0, 10**15, whole=True)
    check_number("classes", classes, 2, 10**6, whole=True)
    check_number("adversaries", adversaries, 0.0, 1.0)
    rng = np.random.default_rng(seed)
    rates = error_rates(n, p, q)
    hostile = rng.permutation(n)[: round(adversaries * n)]
    rates[hostile] = 1 - rates[hostile]
    asked = np.atleast_1d(np.asarray(answer_rate, float))
    if asked.shape not in ((1,), (n,)) or not ((asked > 0) & (asked <= 1)).all():
        raise InputError("answer_rate", f"one probability above 0, or {n}", str(answer_rate))
    if per_task is not None:
        check_number("per_task", per_task, 1, n, whole=True)
    prior = np.full(classes, 1 / classes) if balance is None else np.asarray(balance, float)
    if prior.shape != (classes,) or not np.isclose(prior.sum(), 1) or (prior < 0).any():
        raise InputError("balance", f"{classes} probabilities that sum to 1", str(balance))
    tables = None if confusions is None else np.asarray(confusions, float)
    if tables is not None:
        if tables.shape != (n, classes, classes) or not np.allclose(tables.sum(axis=2), 1):
            expected = f"{n} matrices of {classes} rows that sum to 1"
            raise InputError("confusions", expected, f"an array of shape {tables.shape}")
        rates = 1 - np.einsum("nkk,k->n", tables, prior)
    order = _follow_order(n, copying or {})
    size = block or max(1, CELLS // (per_task or n))

    def blocks() -> Iterator[Simulated]:
        for first in range(0, max(tasks, 1), size):
            t = np.arange(first, min(first + size, tasks))
            truth = rng.choice(classes, size=t.size, p=prior)
            task, worker = _who_answers(rng, t.size, n, asked, per_task)
            now = rates if drift is None else np.clip(drift(rates, t), 0, 1)
            if tables is None:
                chance = now[worker] if now.ndim == 1 else now[task, worker]
                wrong = rng.random(task.size) < chance
                other = (truth[task] + rng.integers(1, classes, size=task.size)) % classes
                said = np.where(wrong, other, truth[task])
            else:
                steps = np.cumsum(tables, axis=2)[worker, truth[task]]
                said = (rng.random(task.size)[:, None] >= steps[:, :-1]).sum(axis=1)
            for follower in order:
                leader, chance_of_copy = (copying or {})[follower]
                _copy(rng, task, worker, said, follower, leader, chance_of_copy)
            yield Simulated(first, n, task, worker, said, truth, now)

    return blocks()


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


def _follow_order(n: int, copying: Mapping[int, tuple[int, float]]) -> list[int]:
    """Followers so that each comes after its leader; copying in a circle is refused."""
    for follower, (leader, chance) in copying.items():
        if not (0 <= follower < n and 0 <= leader < n and 0 <= chance <= 1):
            expected = f"follower: (leader, probability), both below {n}"
            raise InputError("copying", expected, f"{follower}: ({leader}, {chance})")
    order: list[int] = []
    waiting = dict(copying)
    while waiting:
        free = [f for f, (leader, _) in waiting.items() if leader not in waiting]
        if not free:
            raise InputError("copying", "no circle", str(dict(waiting)))
        order += free
        for follower in free:
            del waiting[follower]
    return order


def _copy(
    rng: np.random.Generator,
    task: Ints,
    worker: Ints,
    said: Ints,
    follower: int,
    leader: int,
    chance: float,
) -> None:
    theirs, ours = np.flatnonzero(worker == leader), np.flatnonzero(worker == follower)
    both, at, from_ = np.intersect1d(task[ours], task[theirs], return_indices=True)
    copied = rng.random(both.size) < chance
    said[ours[at[copied]]] = said[theirs[from_[copied]]]
