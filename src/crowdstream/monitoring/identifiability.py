"""Limits of what labels can tell: who shares tasks, whether the crowd knows anything, whether its
workers err together. Reads the estimator's sums and keeps none.
"""

from __future__ import annotations

import msgspec
import numpy as np

from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import WorkerId
from crowdstream.models.dependence import Dependence
from crowdstream.models.rows import CHANCE
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.pairs import Pairs


class Group(msgspec.Struct, frozen=True):
    """Workers who share tasks, directly or through others: how many, and the most active one."""

    workers: int
    answers: int
    example: WorkerId


class IdentifiabilityReport(msgspec.Struct, frozen=True):
    """Report on whether error rates can be known from these labels, and what stands in the way.

    Parameters
    ----------
    ok, reason
        Whether they can be known, and why not.
    groups
        Connected parts of the graph of shared tasks, the largest first; error rates in one say
        nothing about another.
    pairs, single_pairs
        Pairs of the workers compared who share a task, and those who share only one; ``None``
        without a `Pairs` observer.
    mean_skill, z
        Mean skill by agreement, and its evidence: standard errors by which the agreement differs
        from that of a crowd that guesses.
    at_chance
        Whether the crowd cannot be distinguished from one that guesses.
    sign
        What tells the crowd from its mirror image, in which everybody's errors are right.
    dependence
        Whether workers make mistakes together, as `Estimator.dependence_` has it.
    changing
        Whether workers are shown to change, so that error rates, and decisions, rest on what they
        did lately. `Adaptive` without ``memory`` looks for it at tasks that come in order.

    Examples
    --------
    >>> import crowdstream as cs
    >>> identifiability(cs.Adaptive()).reason
    'no two workers share a task'
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
    dependence: Dependence
    changing: bool


def identifiability(crowd: Estimator) -> IdentifiabilityReport:
    """Report what the labels so far can tell about error rates.

    Parameters
    ----------
    crowd
        An estimator that has learnt; pairs are reported if it has monitors.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive()
    >>> for k in range(50):
    ...     crowd.learn_one({"ann": k % 2, "bob": k % 2, "cy": k % 2})
    ...     crowd.learn_one({"di": k % 2, "ed": k % 2})
    >>> report = identifiability(crowd)
    >>> [group.workers for group in report.groups]
    [3, 2]
    >>> report.sign
    'most workers are taken to be better than chance'
    """
    solved = crowd.identifiable_
    skill, z = view.above_chance(crowd)
    pairs, single = _shared_pairs(crowd)
    gold = view.gold_answers(crowd)
    sign = "most workers are taken to be better than chance"
    return IdentifiabilityReport(
        ok=bool(solved),
        reason=solved.reason,
        groups=_groups(crowd),
        pairs=pairs,
        single_pairs=single,
        mean_skill=skill,
        z=z,
        at_chance=z < CHANCE,
        sign=f"{gold:,} answers to tasks whose truth is known" if gold else sign,
        dependence=crowd.dependence_,
        changing=view.is_changing(crowd),
    )


def _groups(crowd: Estimator) -> list[Group]:
    names, answers, firsts = crowd.workers_, view.answers_of(crowd), view.groups_of(crowd)
    found = []
    for first in np.unique(firsts):
        here = np.flatnonzero(firsts == first)
        busiest = int(here[answers[here].argmax()])
        found.append(Group(here.size, round(float(answers[here].sum())), names[busiest]))
    return sorted(found, key=lambda group: (-group.workers, -group.answers))


def _shared_pairs(crowd: Estimator) -> tuple[int | None, int | None]:
    observer = view.find_observer(crowd, Pairs)
    if observer is None:
        return None, None
    met = np.triu(observer.compared(crowd).met, 1)
    return int((met > 0).sum()), int(((met > 0) & (met <= 1)).sum())
