"""Error rates, and how they change over a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdstream.errors import InputError

Floats: TypeAlias = NDArray[np.float64]


Ints: TypeAlias = NDArray[np.int64]


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
