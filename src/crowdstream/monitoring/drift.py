"""`Drift`: whose error rate has changed, and when. Changes no decision and no estimate.

Page's test on labels judged by the others on their task: after 50 answers a worker is known, and
an alarm says that a skill 0.6 lower (or higher) explains the worker's answers since some moment far
better than the known one. Formulas and thresholds are in `drift_loops`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec
import numpy as np

from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import WorkerId
from crowdstream.models.teacher import error_rates
from crowdstream.monitoring import columns
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.drift_loops import DriftSums
from crowdstream.monitoring.worker_sums import HistorySums, Shapes

EVENTS = 1024
"""Alarms that are remembered."""

EVERYONE = 0.5
"""Share of workers with an alarm of one direction at which it is the tasks that changed."""

NEARBY = 50
"""Answers per worker within which alarms count as simultaneous: about two delays of the alarm."""


class DriftAlarm(msgspec.Struct, frozen=True):
    """A worker's error rate has changed.

    Parameters
    ----------
    tasks_seen
        How many tasks had been learnt when the alarm was raised.
    worker
        Whose error rate changed.
    direction
        Whether the worker got worse or better.
    before, after
        The error rates.
    evidence
        For the change, in nats: 6 is 400 to 1.
    answers
        How many of the worker's answers ago the change began.
    everyone
        Half of the workers had such an alarm at about the same time: it is the tasks that changed.

    Examples
    --------
    >>> alarm = DriftAlarm(500, "ann", "worse", 0.1, 0.4, 6.5, 20, everyone=False)
    >>> alarm.worker, alarm.tasks_seen
    ('ann', 500)
    """

    tasks_seen: int
    worker: WorkerId
    direction: Literal["worse", "better"]
    before: float
    after: float
    evidence: float
    answers: int
    everyone: bool


class Drift(HistorySums):
    """Keeps two likelihood ratios per worker, one for each direction, and the latest alarms."""

    per_worker: ClassVar[Shapes] = {"rows": (17,)}
    shared: ClassVar[Shapes] = {
        "swings": (2 * columns.LEVELS, 3), "rung": (2, 2), "events": (EVENTS, 7), "count": (3,),
    }  # fmt: skip

    def _bind(self) -> None:
        names = (*self.per_worker, *self.shared)
        self._sums = DriftSums(*(self.arrays[name] for name in names))


def alarms(crowd: Estimator) -> list[DriftAlarm]:
    """Changes of workers that were noticed, the oldest first (the last 1,024).

    Alarms of a crowd that was merged into this one are not among them.

    Parameters
    ----------
    crowd
        The estimator, which must have had its monitors before it learnt.

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream.simulation import jump
    >>> crowd = cs.monitor(cs.Adaptive())
    >>> of_ten = cs.simulate(10, 600, p=0.1, drift=jump(300, [0.5] + [0.1] * 9))
    >>> crowd.learn_many(of_ten.labels())
    >>> [(alarm.worker, alarm.direction) for alarm in alarms(crowd)]
    [('w0', 'worse')]
    """
    drift = view.observer_of(crowd, Drift)
    raised, _, tasks = drift.arrays["count"]
    order = np.arange(max(int(raised) - EVENTS, 0), int(raised)) % EVENTS
    events = drift.arrays["events"][order]
    answers = view.answers_of(crowd)
    active = answers[answers >= columns.SETTLED_IN]
    window = NEARBY * float(np.mean(tasks / active)) if active.size else NEARBY
    seen, way = events[:, columns.SEEN], events[:, columns.DIRECTION]
    skills = events[:, [columns.BEFORE, columns.AFTER]]
    rates = error_rates(skills, view.class_count(crowd))
    names, found = crowd.workers_, []
    for event, (before, after) in zip(events, rates.tolist(), strict=True):
        near = np.abs(seen - event[columns.SEEN]) <= window
        near &= way == event[columns.DIRECTION]
        workers = np.unique(events[near, columns.WORKER]).size
        alarm = DriftAlarm(
            tasks_seen=int(event[columns.SEEN]),
            worker=names[int(event[columns.WORKER])],
            direction="better" if event[columns.DIRECTION] > 0 else "worse",
            before=before,
            after=after,
            evidence=float(event[columns.EVIDENCE]),
            answers=int(event[columns.ANSWERS]),
            everyone=bool(workers > 2 and workers >= EVERYONE * active.size),
        )
        found.append(alarm)
    return found
