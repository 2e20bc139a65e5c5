"""What the labels can tell at all: who shares tasks, whether the crowd knows anything, whether its
workers err together. Reads the estimator's sums and keeps none.
"""

from __future__ import annotations

import msgspec
import numpy as np

from crowdstream.estimators.base import Estimator
from crowdstream.estimators.independence import GATE
from crowdstream.estimators.teacher import read_teacher
from crowdstream.labels import WorkerId
from crowdstream.monitoring.pairs import Pairs

SURE = 3.0
"""Standard errors above chance from which on the crowd is taken to know something."""

NOTICED = 0.02
"""Excess correlation that independent crowds do not reach: theirs is 0.00 ± 0.01."""


class Group(msgspec.Struct, frozen=True):
    """Workers who share tasks, directly or by way of others."""

    workers: int
    answers: int
    example: WorkerId


class IdentifiabilityReport(msgspec.Struct, frozen=True):
    """Whether error rates can be known from these labels, and what stands in the way.

    ``groups``: the connected parts of the graph of shared tasks, the largest first; error rates in
    one say nothing of another. ``pairs``: workers compared pair by pair who share a task, and
    ``single_pairs``: those who share one only; ``None`` without a `Pairs` observer. ``mean_skill``
    is ``z`` standard errors above chance. ``sign``: what tells the crowd from its mirror image.
    ``excess_correlation`` of errors within a task, ``None`` if the estimator does not measure it,
    and ``together``: what that means.
    """

    ok: bool
    reason: str
    groups: list[Group]
    pairs: int | None
    single_pairs: int | None
    mean_skill: float
    z: float
    at_chance: bool
    sign: str
    excess_correlation: float | None
    together: str


def identifiability(crowd: Estimator) -> IdentifiabilityReport:
    """What the labels so far can tell of the error rates.

    >>> from crowdstream.estimators import Adaptive
    >>> crowd = Adaptive()
    >>> for k in range(50):
    ...     crowd.learn_one({"ann": k % 2, "bob": k % 2, "cy": k % 2})
    ...     crowd.learn_one({"di": k % 2, "ed": k % 2})
    >>> report = identifiability(crowd)
    >>> [group.workers for group in report.groups]
    [3, 2]
    >>> report.sign
    'most workers are taken to be better than chance'
    """
    told = crowd.identifiable_
    skill, z = _above_chance(crowd)
    pairs, single = _shared_pairs(crowd)
    gold = round(float(crowd._sums.known.sum() / crowd._unit))
    sign = "most workers are taken to be better than chance"
    if gold:
        sign = f"{gold:,} answers to tasks whose truth is known"
    excess = getattr(crowd, "excess_correlation_", None)
    return IdentifiabilityReport(
        ok=bool(told),
        reason=told.reason,
        groups=_groups(crowd),
        pairs=pairs,
        single_pairs=single,
        mean_skill=skill,
        z=z,
        at_chance=z < SURE,
        sign=sign,
        excess_correlation=excess,
        together=in_words(excess),
    )


def in_words(excess: float | None) -> str:
    """What an excess correlation of errors within tasks means.

    >>> in_words(0.11).partition(":")[0]
    'these workers make mistakes together'
    """
    if excess is None:
        return "not measured by this estimator"
    if excess < NOTICED:
        return "as far as the labels show, these workers err independently"
    if excess < GATE:
        return "these workers may make some mistakes together"
    return (
        "these workers make mistakes together: confidence is lowered by it, and only known truths "
        "show how often all are wrong"
    )


def _groups(crowd: Estimator) -> list[Group]:
    sums, names = crowd._sums, crowd.workers_
    answers, roots = sums.answers / crowd._unit, sums.groups
    found = []
    for root in np.unique(roots):
        here = np.flatnonzero(roots == root)
        best = int(here[answers[here].argmax()])
        found.append(Group(here.size, round(float(answers[here].sum())), names[best]))
    return sorted(found, key=lambda group: (-group.workers, -group.answers))


def _above_chance(crowd: Estimator) -> tuple[float, float]:
    """The mean skill, and how many standard errors the agreement is above that of guessers.

    A pair of guessers agrees beyond chance by 0 on average, with variance 1/(K − 1); each pair is
    counted from both sides.
    """
    sums = crowd._sums
    teacher = read_teacher(sums, crowd._unit)
    if not teacher.met > 0:
        return 0.0, 0.0
    error = float(np.sqrt(2.0 * teacher.met * crowd._unit / (sums.classes - 1)))
    product = teacher.surplus / teacher.met
    return float(np.sign(product) * np.sqrt(abs(product))), float(teacher.surplus / error)


def _shared_pairs(crowd: Estimator) -> tuple[int | None, int | None]:
    for observer in crowd.observers:
        if isinstance(observer, Pairs):
            met = np.triu(observer.compared(crowd).met, 1)
            return int((met > 0).sum()), int(((met > 0) & (met <= 1)).sum())
    return None, None
