"""The paper's model, block by block: who answers, who errs, how that drifts. Seeded, vectorised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.errors import InputError

Floats = NDArray[np.float64]


def error_rates(n: int, p: Floats | None = None, q: float | None = None) -> Floats:
    """Error rates of n labellers: given, or a generalised hammer-spammer of mean q.

    Half of a hammer-spammer crowd errs with ``p_1 = 2 q − ½``, the other half guesses.

    >>> error_rates(4, q=0.3).tolist()
    [0.1, 0.1, 0.5, 0.5]
    """
    if p is not None:
        if p.size not in (1, n):
            raise InputError("p", f"one error rate or {n}", f"{p.size}")
        if not ((p >= 0) & (p <= 1)).all():
            raise InputError("p", "error rates from 0 to 1", str(p.tolist()))
        return np.broadcast_to(p, n).copy()
    q = 0.3 if q is None else q
    if not 0.25 <= q <= 0.5:
        raise InputError("q", "a mean error rate from 0.25 to 0.5", repr(q))
    return np.where(np.arange(n) < n / 2, round(2 * q - 0.5, 12), 0.5)


def simulate(
    n: int,
    tasks: int,
    *,
    p: Floats,
    answer_rate: float = 1.0,
    classes: int = 2,
    drift: float = 0.0,
    seed: int = 0,
    block: int = 100_000,
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Labels and truths, a block of tasks at a time.

    ``drift`` is ω: error rates then move as ``p_i (1 + sin(ω t + φ_i))`` with evenly spaced phases;
    at p = ¼ that is the paper's non-stationary crowd. Errors fall on the other classes alike.
    """
    rng = np.random.default_rng(seed)
    phase = 2 * np.pi * np.arange(1, n + 1) / n
    who = np.array([f"w{i:0{len(str(n - 1))}}" for i in range(n)])
    for start in range(0, max(tasks, 1), block):
        t = np.arange(start, min(start + block, tasks))
        rates = p if not drift else np.clip(p * (1 + np.sin(drift * t[:, None] + phase)), 0, 1)
        truth = rng.integers(classes, size=t.size)
        answered = rng.random((t.size, n)) < answer_rate
        wrong = rng.random((t.size, n)) < rates
        other = (truth[:, None] + rng.integers(1, classes, size=(t.size, n))) % classes
        said = np.where(wrong, other, truth[:, None])
        rows, columns = np.nonzero(answered)
        names = pl.Series("task", t).cast(pl.String)
        labels = pl.DataFrame(
            {
                "task": names.gather(rows),
                "worker": who[columns],
                "label": pl.Series(said[rows, columns]).cast(pl.String),
            }
        )
        yield labels, pl.DataFrame({"task": names, "label": pl.Series(truth).cast(pl.String)})
