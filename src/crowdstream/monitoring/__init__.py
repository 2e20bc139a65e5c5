"""Observers with sums of their own: intervals, changes, copies, difficulty.

They are attached to an estimator as `Observer`s and change none of its decisions. Every estimator
made after this package is imported has `Intervals`; `monitor` attaches the others.
"""

from __future__ import annotations

from typing import TypeVar

from crowdstream.errors import InputError
from crowdstream.estimators.estimator import Estimator
from crowdstream.estimators.observer import Observer
from crowdstream.monitoring.agreement import Agreement
from crowdstream.monitoring.difficulty import difficulty
from crowdstream.monitoring.drift import Drift, DriftAlarm, alarms
from crowdstream.monitoring.families import effective_votes, families, suspect_tasks
from crowdstream.monitoring.identifiability import Group, IdentifiabilityReport, identifiability
from crowdstream.monitoring.intervals import Intervals
from crowdstream.monitoring.pairs import Pairs, pairs
from crowdstream.monitoring.resend import tasks_to_resend
from crowdstream.monitoring.trends import Trends, trends

__all__ = [
    "Agreement", "Drift", "DriftAlarm", "Group", "IdentifiabilityReport", "Intervals", "Pairs",
    "Trends", "alarms", "difficulty", "effective_votes", "families", "identifiability", "monitor",
    "pairs", "suspect_tasks", "tasks_to_resend", "trends",
]  # fmt: skip

Crowd = TypeVar("Crowd", bound=Estimator)

MONITORS: tuple[type[Observer], ...] = (Intervals, Drift, Trends, Pairs, Agreement)
"""All monitors."""

if Intervals not in Observer.standard:
    Observer.standard.append(Intervals)


def monitor(crowd: Crowd, *, over_time: bool = True) -> Crowd:
    """Attach all monitors to an estimator that has learnt nothing yet, and return it.

    `alarms`, `trends`, `pairs` and `agreement` of an estimator need them. An estimator that has
    already learnt is refused: the monitors would have missed what it learnt.

    Parameters
    ----------
    crowd
        The estimator.
    over_time
        Whether tasks will come in the order of time. If False, nobody asks who changed: `alarms`
        and `trends` are not kept. In a table that is sorted by something else, workers who do
        different tasks would seem to change.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = monitor(cs.Adaptive())
    >>> [type(observer).__name__ for observer in crowd.observers]
    ['Intervals', 'Drift', 'Trends', 'Pairs', 'Agreement']
    """
    if not isinstance(crowd, Estimator):
        raise InputError("crowd", "an estimator, such as Adaptive()", repr(crowd))
    if crowd.tasks_ or len(crowd._workers):
        found = f"{crowd.tasks_:,} tasks learnt"
        raise InputError("monitor", "an estimator that has learnt nothing yet", found)
    have = {type(observer) for observer in crowd.observers}
    wanted = [kind for kind in MONITORS if over_time or not kind.over_time]
    crowd.observers += [kind() for kind in wanted if kind not in have]
    return crowd
