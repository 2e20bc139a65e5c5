"""`Drift`: whose error rate has changed, and when. Changes no decision and no estimate.

Page's test on labels judged by the others on their task: after 50 answers a worker is known, and a
change is *pending* once a skill 0.3 lower (or higher) explains the worker's answers since some
moment far better than the known one. It becomes an alarm if the answers that come afterwards bear
it out, and is withdrawn if they do not. Formulas and thresholds are in `drift_loops`.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import msgspec
import numpy as np

from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import WorkerId
from crowdstream.labels.batch import Ints
from crowdstream.models.teacher import error_rates
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring import rows as columns
from crowdstream.monitoring.drift_loops import DriftSums
from crowdstream.monitoring.worker_sums import Floats, HistorySums, Shapes

EVENTS = 1024
"""Alarms that are remembered."""


class DriftAlarm(msgspec.Struct, frozen=True):
    """A worker's error rate has changed.

    Parameters
    ----------
    tasks_seen
        How many tasks had been learnt when the change was confirmed; of a pending one, when it
        became pending.
    worker
        Whose error rate changed. Of a change that most workers share, the first of them.
    direction
        Whether the worker got worse or better.
    before, after
        The error rates: until the change was pending, and in the answers since, which had no part
        in making it so. Of a pending change, before and since it seems to have begun.
    evidence
        For the change, in nats: 6 is 400 to 1.
    answers
        How many of the worker's answers ago the change began.
    everyone
        The other workers' error rates moved at least half as far at the same time: it is the tasks
        that changed.

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
    """Keep two likelihood ratios per worker, one for each direction, and the latest alarms."""

    per_worker: ClassVar[Shapes] = {"rows": (columns.ROW,)}
    shared: ClassVar[Shapes] = {
        "swings": (2 * columns.LEVELS, 3), "events": (EVENTS, 8), "count": (columns.TASKS + 1,),
    }  # fmt: skip

    def _bind(self) -> None:
        names = (*self.per_worker, *self.shared)
        self._sums = DriftSums(*(self.arrays[name] for name in names))

    def events(self) -> Floats:
        """The latest alarms as rows of `columns`, the oldest first."""
        raised = int(self.arrays["count"][columns.RAISED])
        return self.arrays["events"][np.arange(max(raised - EVENTS, 0), raised) % EVENTS]

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Take over workers as `HistorySums` does; what was pending there is looked for again."""
        self._reserve(int(names.max(initial=-1)) + 1)
        own = self.arrays["rows"][:, columns.WAY].copy()
        super().merge(other, names, classes)
        # A second look there counts from sums of the other's crowd, which are not this one's.
        self.arrays["rows"][:, columns.WAY] = own


def alarms(crowd: Estimator, *, pending: bool = False) -> list[DriftAlarm]:
    """Return the changes of workers that were confirmed, the oldest first (the last 1,024).

    Alarms of a crowd that was merged into this one are not among them.

    Parameters
    ----------
    crowd
        The estimator, which must have had its monitors before it learnt.
    pending
        Return the changes that are pending instead: noticed, and not confirmed yet. Most pending
        changes of workers who do not change are withdrawn.

    Returns
    -------
    list of DriftAlarm
        The changes.

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
    events = _pending(drift) if pending else drift.events()
    skills = events[:, [columns.BEFORE, columns.AFTER]]
    rates, names = error_rates(skills, view.class_count(crowd)), crowd._workers
    return [
        DriftAlarm(
            tasks_seen=int(event[columns.SEEN]),
            worker=names[int(event[columns.WORKER])],
            direction="better" if event[columns.DIRECTION] > 0 else "worse",
            before=before,
            after=after,
            evidence=float(event[columns.EVIDENCE]),
            answers=int(event[columns.ANSWERS]),
            everyone=bool(event[columns.EVERYONE]),
        )
        for event, (before, after) in zip(events, rates.tolist(), strict=True)
    ]


def _pending(drift: Drift) -> Floats:
    """The changes that are looked at a second time, as rows of events, the oldest first."""
    rows = drift.arrays["rows"][: drift.workers]
    who = np.flatnonzero(rows[:, columns.WAY])
    rows = rows[who]
    way = rows[:, columns.WAY].astype(np.int64)
    ratio, right, size, answers = (
        np.take_along_axis(rows, way[:, None] + k, axis=1)[:, 0] for k in range(4)
    )
    events = np.zeros((who.size, drift.shared["events"][1]))
    events[:, columns.SEEN] = rows[:, columns.LOOK_SEEN]
    events[:, columns.WORKER] = who
    events[:, columns.DIRECTION] = np.where(way == columns.UP, 1.0, -1.0)
    events[:, columns.BEFORE] = right / np.maximum(size, columns.TINY)
    since = np.maximum(rows[:, columns.REF_C] - size, columns.TINY)
    events[:, columns.AFTER] = (rows[:, columns.REF_B] - right) / since
    events[:, columns.EVIDENCE] = np.log(ratio) + np.log(rows[:, columns.LOOK])
    events[:, columns.ANSWERS] = rows[:, columns.REF_N] - answers
    return events[np.argsort(events[:, columns.SEEN], kind="stable")]
