"""Questions about a crowd: who changed, who copies, what can be known. Answers are tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from crowdstream.errors import InputError, check_number
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.dependence import LEAST_RHO, LEAST_Z
from crowdstream.estimators.people import value_series
from crowdstream.estimators.watch import Watch
from crowdstream.labels import LabellerId

if TYPE_CHECKING:
    import polars as pl

SURE = 3.0
"""Standard errors above chance from which on the crowd is taken to know something."""


class DriftAlarm(msgspec.Struct, frozen=True):
    """A labeller's error rate has changed.

    ``task``: how many tasks had been learnt; ``before`` and ``after``: the error rates;
    ``evidence`` for the change, in nats (6 is 400 to 1); ``answers``: how many of its answers ago
    it began; ``everyone``: half of the labellers rang the same way at once, so the tasks changed.
    """

    task: int
    worker: LabellerId
    direction: Literal["worse", "better"]
    before: float
    after: float
    evidence: float
    answers: int
    everyone: bool


class Group(msgspec.Struct, frozen=True):
    """Labellers who share tasks, directly or by way of others."""

    labellers: int
    answers: int
    example: LabellerId


class IdentifiabilityReport(msgspec.Struct, frozen=True):
    """Whether error rates can be known from these labels, and what stands in the way.

    ``groups``: the connected parts of the graph of shared tasks, the largest first; error rates in
    one say nothing of another. ``single_pairs``: of ``pairs`` compared, those that share one task
    only. ``mean_skill`` is ``z`` standard errors above chance. ``sign``: what tells the crowd from
    its mirror image.
    """

    ok: bool
    reason: str
    groups: list[Group]
    pairs: int
    single_pairs: int
    mean_skill: float
    z: float
    at_chance: bool
    sign: str


def alarms(crowd: Estimator) -> list[DriftAlarm]:
    """The changes of labellers that were noticed, the oldest first (the last 1,024).

    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive()
    >>> from crowdstream.science.simulate import jump
    >>> [crowd_of_ten] = cs.simulate(10, 600, p=0.1, drift=jump(300, [0.5] + [0.1] * 9))
    >>> crowd.learn_many(crowd_of_ten.labels())
    >>> [(alarm.worker, alarm.direction) for alarm in alarms(crowd)]
    [('w0', 'worse')]
    """
    watch, n = _watch(crowd), crowd.n_labellers_
    worst = 1 - 1 / max(len(crowd.classes_), 2)
    names = crowd.workers_
    return [
        DriftAlarm(
            task=ring.task,
            worker=names[ring.labeller],
            direction="worse" if ring.after < ring.before else "better",
            before=(1 - ring.before) * worst,
            after=min(max((1 - ring.after) * worst, 0.0), 1.0),
            evidence=ring.evidence,
            answers=ring.answers,
            everyone=ring.everyone,
        )
        for ring in watch.rings(n)
    ]


def trends(crowd: Estimator, workers: Sequence[LabellerId] | None = None) -> pl.DataFrame:
    """How error rates went: worker, task (up to which), error_rate, error_low, error_high.

    At most 17 points a labeller, each over as many answers; limits are 95 %. ``workers``: of these
    only.

    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive()
    >>> crowd.learn_many(next(cs.simulate(10, 600, p=0.1)).labels())
    >>> trends(crowd, ["w3"]).height
    10
    """
    import polars as pl

    watch, n = _watch(crowd), crowd.n_labellers_
    names = crowd.workers_
    codes = range(n) if workers is None else [_code(names, who) for who in workers]
    worst = 1 - 1 / max(len(crowd.classes_), 2)
    parts = []
    for i in codes:
        task, skill, se = watch.trend(i, n)
        error = (1 - skill) * worst
        half = 1.96 * se * worst
        parts.append(
            pl.DataFrame(
                {
                    "worker": value_series("worker", [names[i]] * task.size),
                    "task": task.astype(np.int64),
                    "error_rate": error.clip(0, 1),
                    "error_low": (error - half).clip(0, 1),
                    "error_high": (error + half).clip(0, 1),
                }
            )
        )
    schema = {"worker": pl.String, "task": pl.Int64} | dict.fromkeys(
        ("error_rate", "error_low", "error_high"), pl.Float64
    )
    parts = [part for part in parts if part.height]
    return pl.concat(parts, how="vertical_relaxed") if parts else pl.DataFrame(schema=schema)


def pairs(crowd: Estimator, *, least: int = 20) -> pl.DataFrame:
    """Labellers pair by pair, the most dependent first: how far they agree beyond the truth.

    ``tasks`` shared (at least ``least``), ``agreement``, ``rho``: the correlation of their errors,
    ``z``: its standard errors above 0, ``duplicate``: near-duplicates, who are discounted,
    ``family``: its number. The 256 most active labellers are compared.

    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive()
    >>> copying = {1: (0, 0.95)}  # the second copies the first
    >>> crowd.learn_many(next(cs.simulate(8, 500, p=0.3, copying=copying)).labels())
    >>> pairs(crowd).select("one", "other", "duplicate").row(0)
    ('w0', 'w1', True)
    """
    import polars as pl

    check_number("least", least, 1, 10**12, whole=True)
    watch, n = _watch(crowd), crowd.n_labellers_
    who, met, agreed, found = watch.compared(n)
    one, other = np.nonzero(np.triu(met >= least, 1))
    names = crowd.workers_
    family = watch.book(n, 2).people["family"][who]
    same = (family[one] == family[other]) & (family[one] > 0)
    table = pl.DataFrame(
        {
            "one": value_series("one", [names[who[i]] for i in one]),
            "other": value_series("other", [names[who[i]] for i in other]),
            "tasks": met[one, other],
            "agreement": agreed[one, other] / met[one, other],
            "rho": found.rho[one, other],
            "z": found.z[one, other],
            "duplicate": (found.rho[one, other] > LEAST_RHO) & (found.z[one, other] > LEAST_Z),
            "family": pl.Series(np.where(same, family[one], 0).astype(np.int64)),
        }
    )
    table = table.with_columns(pl.when(pl.col("family") > 0).then("family").alias("family"))
    return table.sort("rho", "z", descending=True)


def families(crowd: Estimator) -> list[list[LabellerId]]:
    """Labellers who do not judge independently: declared, or found to be near-duplicates."""
    watch, n = _watch(crowd), crowd.n_labellers_
    names, number = crowd.workers_, watch.book(n, 2).people["family"][:n]
    return [
        [names[i] for i in np.flatnonzero(number == k)]
        for k in range(1, int(number.max(initial=0)) + 1)
        if (number == k).any()
    ]


def effective_votes(crowd: Estimator, votes: float) -> float:
    """How many independent votes so many labels on a task are worth in this crowd.

    Members of families, and hard tasks on which all err together, make labels repeat each other.

    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive()
    >>> crowd.learn_many(next(cs.simulate(10, 1000, p=0.2)).labels())
    >>> 8 < effective_votes(crowd, 10) <= 10  # they err independently
    True
    """
    check_number("votes", votes, 1, 1e9)
    return _watch(crowd).effective(votes, crowd.n_labellers_)


def identifiability(crowd: Estimator) -> IdentifiabilityReport:
    """What the labels so far can tell of the error rates.

    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive()
    >>> for k in range(50):
    ...     crowd.learn_one({"ann": k % 2, "bob": k % 2, "cy": k % 2})
    ...     crowd.learn_one({"di": k % 2, "ed": k % 2})
    >>> report = identifiability(crowd)
    >>> [group.labellers for group in report.groups]
    [3, 2]
    >>> report.sign
    'most labellers are taken to be better than chance'
    """
    watch, n = _watch(crowd), crowd.n_labellers_
    told = crowd.identifiable_
    roots = watch.groups(n)
    answers = watch.book(n, 2).people["answers"][:n]
    names = crowd.workers_
    groups = []
    for root in np.unique(roots):
        here = roots == root
        best = int(np.flatnonzero(here)[answers[here].argmax()])
        groups.append(Group(int(here.sum()), round(answers[here].sum()), names[best]))
    groups.sort(key=lambda group: (-group.labellers, -group.answers))
    shared = np.triu(watch.compared(n).met, 1)
    skill, z = watch.above_chance(n)
    gold = watch.gold_tasks
    sign = "most labellers are taken to be better than chance"
    if gold:
        sign = f"{gold:,} tasks whose truth is known"
    return IdentifiabilityReport(
        ok=bool(told),
        reason=told.reason,
        groups=groups,
        pairs=int((shared > 0).sum()),
        single_pairs=int(((shared > 0) & (shared <= 1)).sum()),
        mean_skill=float(skill),
        z=float(z),
        at_chance=bool(z < SURE),
        sign=sign,
    )


def _watch(crowd: Estimator) -> Watch:
    if crowd._watcher is None:
        name = type(crowd).__name__
        raise InputError("crowd", "an estimator that watches", f"{name} with watch=False")
    return crowd._watcher


def _code(names: Sequence[LabellerId], who: LabellerId) -> int:
    try:
        return names.index(who)
    except ValueError:
        raise InputError("worker", "a labeller who was met", repr(who)) from None
