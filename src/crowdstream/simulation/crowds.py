"""`simulate` and `simulate_blocks`: what is asked for, in one block or as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from numpy.typing import ArrayLike

from crowdstream.errors import InputError
from crowdstream.simulation.drifts import Drift
from crowdstream.simulation.model import Copying, Crowd, Model
from crowdstream.simulation.simulated import Simulated

CELLS = 4_000_000
"""Tasks times workers of a block, if nobody says how long it should be."""


LARGEST = 100_000_000
"""Tasks times workers (or labels per task) that are simulated at once: an answer takes up to 50
bytes on the way, so this is about 5 GB."""


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
    [('0', 'w0', '0'), ('0', 'w1', '1')]
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
    model = Model.of(n, tasks, how)
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
    model = Model.of(n, tasks, how)
    size = block or max(1, CELLS // (model.per_task or n))
    return model.blocks(tasks, size, how.get("seed", 0))
