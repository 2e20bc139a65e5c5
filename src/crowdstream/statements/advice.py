"""Advice on whom to pay, coach or drop, with reasons, as codes. Words: `crowdstream.wording`.

Advice follows from the interval of an error rate, not from the rate: who is not known well enough
is to be waited for, so that workers of about the same rate are never dropped and coached.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.defaults import LEVEL
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.worker_table import FEW_ANSWERS
from crowdstream.labels.tables import value_series
from crowdstream.metrics import wilson
from crowdstream.models.teacher import error_rates
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.drift import Drift
from crowdstream.monitoring.rows import BEFORE, DIRECTION, EVERYONE, REF_B, REF_C, WORKER
from crowdstream.monitoring.worker_sums import Floats

if TYPE_CHECKING:
    import polars as pl

DROP, COACH, PAY, KEEP, WAIT = "drop", "coach", "pay", "keep", "wait"
"""Kinds of advice on a worker."""

REASONS = {
    "worse_than_chance": DROP,
    "at_chance": DROP,
    "got_worse": COACH,
    "worse_than_crowd": COACH,
    "always_one_class": COACH,
    "errs_on_one_class": COACH,
    "better_than_crowd": PAY,
    "like_the_crowd": KEEP,
    "few_answers": WAIT,
    "wide_interval": WAIT,
    "not_estimated": WAIT,
}
"""Each reason and what it is a reason for; of several that hold, the first is given."""

LEAST_SUSPECTS = 20
"""Workers with an alarm that there are taken to be at least: a level of 0.025 for one of them."""

CELLS = 1 << 24
"""Workers times classes beyond which nobody is told to err on one class: it would take longer than
anybody waits."""


def advice(
    crowd: Estimator, workers: pl.DataFrame | None = None, *, level: float = LEVEL
) -> pl.DataFrame:
    """Return what to do with each worker, and the reason.

    By the interval of the error rate, never by the rate alone. *Drop*: its better end is at chance
    or worse, and there are ten answers or more. *Pay*: all of it is below the crowd's mean error
    rate. *Coach*: all of it is above the crowd's mean and below chance; or the worker got worse and
    the answers since are so (with monitors: an alarm alone is no reason); or one label is given
    nearly always; or errors are clearly more on one class, both than this worker's others and than
    the crowd's. *Keep*: it is below chance and holds the crowd's mean. *Wait*: it reaches chance,
    or there are fewer than ten answers.

    Parameters
    ----------
    crowd
        An estimator that has learnt.
    workers
        What `crowd.workers` returned, if it is at hand.
    level
        Of the intervals, if not.

    Returns
    -------
    One row per worker: ``worker``; ``advice``: "drop", "coach", "pay", "keep" or "wait";
    ``reason``, a code of `REASONS`; ``on_class``, for "errs_on_one_class" the class.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(8, 600, p=[0.02] + [0.2] * 6 + [0.5])
    >>> advice(cs.Adaptive().fit(made.labels()))["advice"].to_list()[::7]
    ['pay', 'drop']
    """
    import polars as pl

    table = view.as_polars(crowd.workers(level=level)) if workers is None else workers
    rate, low, high = (
        table[name].fill_null(np.nan).to_numpy()
        for name in ("error_rate", "error_low", "error_high")
    )
    answers, flags = table["answers"].to_numpy(), table["flags"]
    known = ~np.isnan(rate) & ~np.isnan(low)
    counted = np.where(known, np.maximum(answers, 1e-9), 0.0)
    mean = float(np.nan_to_num(rate) @ counted / max(counted.sum(), 1e-9))
    few = answers < FEW_ANSWERS
    on_class = _errs_on(crowd, rate, answers)
    enough = known & ~few
    better = enough & _flagged(flags, "better_than_chance")
    held = {
        "worse_than_chance": enough & _flagged(flags, "worse_than_chance"),
        "at_chance": enough & _flagged(flags, "at_chance"),
        "got_worse": better & _got_worse(crowd, mean),
        "worse_than_crowd": better & (low > mean),
        "always_one_class": better & _flagged(flags, "always_one_class"),
        "errs_on_one_class": better & (on_class >= 0),
        "better_than_crowd": better & (high < mean),
        "like_the_crowd": better,
        "few_answers": few,
        "wide_interval": known,
    }
    names = list(REASONS)
    reason = np.full(table.height, names.index("not_estimated"))
    for name, holds in reversed(held.items()):
        reason[holds] = names.index(name)
    named = np.where(reason == names.index("errs_on_one_class"), on_class, -1)
    classes = value_series("on_class", view.class_names(crowd))
    codes = pl.Series(named)
    return pl.DataFrame(
        {
            "worker": table["worker"],
            "advice": pl.Series(list(REASONS.values()), dtype=pl.String).gather(reason),
            "reason": pl.Series(names, dtype=pl.String).gather(reason),
            "on_class": classes.gather(codes.set(codes < 0, None)).cast(pl.String),
        }
    )


def _flagged(flags: pl.Series, code: str) -> np.ndarray:
    return flags.list.contains(code).to_numpy()


def _got_worse(crowd: Estimator, mean: float) -> np.ndarray:
    """Return who got worse: the last alarm is confirmed, and not shared by most workers.

    An alarm may be false, and many answers hold some. The answers after it had no part in it: by
    these the skill must be below both the one before it and the crowd's, so clearly that of all
    such workers less than one is expected to be so by chance.
    """
    found = np.zeros(len(crowd._workers), np.bool_)
    drift = view.find_observer(crowd, Drift)
    if drift is None:
        return found
    before = np.ones(found.size)
    for event in drift.events():  # the last of each worker counts
        worker = int(event[WORKER])
        found[worker] = event[DIRECTION] <= 0 and not event[EVERYONE]
        before[worker] = event[BEFORE]
    since = np.zeros((found.size, 2))
    rows = drift.arrays["rows"][: found.size, [REF_B, REF_C]]
    since[: len(rows)] = rows
    size = np.maximum(since[:, 1], 1e-9)
    classes = view.class_count(crowd)
    chance = 1.0 - 1.0 / classes
    skill = 1.0 - np.maximum(error_rates(before, classes), mean) / chance
    z = NormalDist().inv_cdf(1.0 - 0.5 / max(int(found.sum()), LEAST_SUSPECTS))
    return np.asarray(found & (skill - since[:, 0] / size > z / np.sqrt(size)))


def _errs_on(crowd: Estimator, rate: Floats, answers: Floats) -> np.ndarray:
    """The class on which each worker errs clearly more than on others, and than others; −1: none.

    The lower limit of the class's error rate is above both, at a level that allows for there being
    several classes to choose from. A worker has met a class as often as the class occurs.
    """
    read = view.class_errors(crowd, CELLS)
    if read is None or not answers.sum():
        return np.full(answers.size, -1)
    errors, prior = read
    met = answers[:, None] * prior
    z = NormalDist().inv_cdf(1.0 - 0.025 / prior.size)
    low = wilson(errors * met, met, z)[0]
    usual = np.average(errors, axis=0, weights=np.maximum(answers, 1e-9))
    clear = low > np.maximum(np.nan_to_num(rate, nan=1.0)[:, None], usual)
    mistakes = np.where(clear, errors * met, -1.0)
    return np.where(clear.any(axis=1), mistakes.argmax(axis=1), -1)
