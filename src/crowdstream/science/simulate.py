"""The paper's model and what real crowds add to it: who answers, who errs, how that changes.

Vectorised and seeded. `simulate` makes one block; `simulate_blocks` a stream that memory does not
bound. Knows nothing of estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from crowdstream.errors import InputError
from crowdstream.labels.columns import Column, Columns, Runs
from crowdstream.validation import check_number

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

CELLS = 4_000_000
"""Tasks times workers of a block, if nobody says how long it should be."""

LARGEST = 100_000_000
"""Tasks times workers (or labels per task) that are simulated at once: an answer takes up to 50
bytes on the way, so this is about 5 GB."""

Copying: TypeAlias = Mapping[int, tuple[int, float]]
"""Followers, each with its leader and the probability of copying."""

Drift: TypeAlias = Callable[[Floats, Ints], Floats]
"""Error rates p (n of them) and places t in the stream → one row of n error rates per task."""


def error_rates(n: int, p: ArrayLike | None = None, q: float | None = None) -> Floats:
    """Error rates of n workers: given, or a generalised hammer-spammer of mean q.

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
    """From task ``at`` on error rates are ``to`` (one, or one per worker; nan: as before)."""

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
    """Every so many tasks one worker, each in turn, gives its place to a newcomer.

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
    """Simulated labels, with the truth and the error rates behind them.

    ``tasks, workers, said`` have one entry per label; ``tasks`` count from ``first``, the number
    of the block's first task. ``error_rates`` are n, or one row of n per task if they drift (with
    confusions: the chance of an error averaged over the classes).
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
        """One row per task, one column per worker: what it said, −1 for nothing."""
        found = np.full((self.truth.size, self.n), -1)
        found[self.tasks, self.workers] = self.said
        return found

    def columns(self) -> Columns:
        """As the estimators take it at once: everybody is asked, nobody answers out of turn."""
        n = self.n
        rows = np.arange(0, self.truth.size * n, n)
        workers = np.tile(np.arange(n, dtype=np.int32), self.truth.size)
        said = self.matrix().astype(np.int32).ravel()
        tasks = pl.int_range(self.first, self.first + self.truth.size, eager=True)
        return Columns(
            Runs(rows, tasks),
            Column(workers, list(range(n))),
            Column(said, list(range(int(said.max(initial=0)) + 1))),
        )

    def _names(self) -> pl.Series:
        return pl.int_range(self.first, self.first + self.truth.size, eager=True).cast(pl.String)


class Crowd(TypedDict, total=False):
    """What `simulate` takes besides the sizes; there each is explained."""

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
    copying: Copying | None = None,
    confusions: ArrayLike | None = None,
    seed: int = 0,
) -> Simulated:
    """Simulate a crowd: its labels, the truth, and the error rates behind them.

    Parameters
    ----------
    n, tasks
        How many workers and tasks. More than `LARGEST` answers are refused: `simulate_blocks`
        makes a stream of any length.
    p, q
        Error rates, one or n; or the mean of a generalised hammer-spammer crowd (default 0.3).
    answer_rate
        Probability that a worker answers a task, one or n.
    per_task
        Exactly so many different workers per task instead, drawn in proportion to ``answer_rate``
        (and drawn again if one comes twice).
    classes, balance
        How many classes, and how likely each is to be the truth (default: all equally).
    drift
        How error rates change: `sine`, `jump`, `learning`, `replacement`, or a function of p and t.
    adversaries
        The share of workers, drawn at random, who err with 1 − p instead of p.
    copying
        ``{follower: (leader, c)}``: where both answer, the follower says with probability c what
        the leader says.
    confusions
        Instead of p: for every worker a matrix, one row per true class, of the probabilities of
        what it says.
    seed
        The same arguments give the same labels.

    Examples
    --------
    >>> made = simulate(3, 10_000, p=[0.1, 0.2, 0.5], seed=1)
    >>> made.labels().head(2).rows()
    [('0', 'w0', '0'), ('0', 'w1', '0')]
    >>> (made.matrix() != made.truth[:, None]).mean(axis=0).round(1).tolist()
    [0.1, 0.2, 0.5]
    """
    how = Crowd(
        p=p,
        q=q,
        answer_rate=answer_rate,
        per_task=per_task,
        classes=classes,
        balance=balance,
        drift=drift,
        adversaries=adversaries,
        copying=copying,
        confusions=confusions,
        seed=seed,
    )
    model = _Model.of(n, tasks, how)
    answers = tasks * (per_task or n)
    if answers > LARGEST:
        expected = f"at most {LARGEST:,} answers at once; simulate_blocks makes longer streams"
        raise InputError("n, tasks", expected, f"{answers:,}")
    return next(model.blocks(tasks, max(tasks, 1), seed))


def simulate_blocks(
    n: int, tasks: int, *, block: int | None = None, **how: Unpack[Crowd]
) -> Iterator[Simulated]:
    """Simulate a stream of any length, one block of tasks at a time.

    Parameters
    ----------
    n, tasks
        How many workers and tasks.
    block
        Tasks per block (default: as many as make `CELLS` answers).
    how
        Everything else that `simulate` takes. Another block length draws other labels.

    Examples
    --------
    >>> [made.truth.size for made in simulate_blocks(3, 10, block=4, p=0.2)]
    [4, 4, 2]
    """
    model = _Model.of(n, tasks, how)
    size = block or max(1, CELLS // (model.per_task or n))
    return model.blocks(tasks, size, how.get("seed", 0))


@dataclass(frozen=True)
class _Model:
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
    def of(cls, n: int, tasks: int, how: Crowd) -> _Model:
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
            block = Simulated(first, self.n, task, worker, said, truth, now)
            for follower, (leader, chance_of_copy) in self.copying.items():
                _copy(rng, block, follower, leader, chance_of_copy)
            yield block


def _err(rng: np.random.Generator, truth: Ints, chance: Floats, classes: int) -> Ints:
    """What is said of each truth by those who err with this chance, on all other classes alike."""
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
    """Who copies whom, each after its leader; copying in a circle is refused."""
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
