"""`Drift`: whose error rate has changed, and when. Cumulative sums of likelihood ratios.

Page's test on labels judged by the others on their task: after 50 answers a worker is known, and
an alarm tells that a skill 0.6 lower (or higher) explains its answers since some moment far better
than the one known. Formulas and thresholds in `loops`. Changes no decision and no estimate.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import msgspec
import numpy as np

from crowdstream.estimators.base import Estimator
from crowdstream.labels import WorkerId
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.monitoring import loops
from crowdstream.monitoring.worker_sums import WorkerSums, observer_of

EVENTS = 1024
"""Alarms that are remembered."""

EVERYONE = 0.5
"""Share of workers with an alarm of one direction at which it is the tasks that changed."""

NEARBY = 50
"""Answers per worker within which alarms count as simultaneous: about two delays of the alarm."""

SETTLED_IN = 50
"""Answers before a worker can have an alarm, as in `loops`."""

SEEN, WHO, WAY, BEFORE, AFTER, EVIDENCE, ANSWERS = range(7)
"""Columns of an alarm."""

RAISED, TASKS = range(2)
"""Places in the counts: alarms so far, tasks seen."""


class DriftAlarm(msgspec.Struct, frozen=True):
    """A worker's error rate has changed.

    ``tasks_seen``: how many tasks had been learnt; ``before`` and ``after``: the error rates;
    ``evidence`` for the change, in nats (6 is 400 to 1); ``answers``: how many of the worker's
    answers ago it began; ``everyone``: half of the workers had such an alarm at about the same
    time, so it is the tasks that changed.
    """

    tasks_seen: int
    worker: WorkerId
    direction: Literal["worse", "better"]
    before: float
    after: float
    evidence: float
    answers: int
    everyone: bool


class Drift(WorkerSums):
    """Keeps a likelihood ratio per worker and direction, and the latest 1,024 alarms."""

    per_worker: ClassVar[dict[str, tuple[int, ...]]] = {"rows": (15,)}
    shared: ClassVar[dict[str, tuple[int, ...]]] = {"events": (EVENTS, 7), "count": (2,)}

    def _bind(self) -> None:
        self._sums = loops.DriftSums(*(self.arrays[name] for name in ("rows", "events", "count")))

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Follow tasks in order. Those taken back do not take back an alarm."""
        self._make_room(crowd.n_workers_)
        if sign > 0:
            judge = self._judge_for(batch, crowd, sign)
            args = batch.starts, batch.workers, batch.labels, batch.truths
            self._sums.add(judge, *args, in_order)
        else:
            self.arrays["count"][TASKS] -= len(batch)
        self.tasks += sign * len(batch)

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Count another's tasks; alarms, and what they wait for, stay with their own stream.

        Workers met there only go on as they were there.
        """
        self._add_counts(other, names)
        few = names[: other.workers]
        rows, theirs = self.arrays["rows"], other.arrays["rows"][: other.workers]
        fresh = ~rows[few].any(axis=1)
        rows[few[fresh]] = theirs[fresh]
        self.arrays["count"][TASKS] += other.arrays["count"][TASKS]


def alarms(crowd: Estimator) -> list[DriftAlarm]:
    """The changes of workers that were noticed, the oldest first (the last 1,024).

    >>> from crowdstream.estimators import Adaptive
    >>> from crowdstream.monitoring import monitor
    >>> from crowdstream.science.simulate import jump, simulate
    >>> crowd = monitor(Adaptive())
    >>> of_ten = simulate(10, 600, p=0.1, drift=jump(300, [0.5] + [0.1] * 9))
    >>> crowd.learn_many(of_ten.labels())
    >>> [(alarm.worker, alarm.direction) for alarm in alarms(crowd)]
    [('w0', 'worse')]
    """
    drift = observer_of(crowd, Drift)
    raised, tasks = drift.arrays["count"]
    order = np.arange(max(int(raised) - EVENTS, 0), int(raised)) % EVENTS
    events = drift.arrays["events"][order]
    answers = crowd._sums.answers / crowd._unit
    active = answers[answers >= SETTLED_IN]
    window = NEARBY * float(np.mean(tasks / active)) if active.size else NEARBY
    names, worst = crowd.workers_, 1.0 - 1.0 / max(len(crowd.classes_), 2)
    found = []
    for event in events:
        near = np.abs(events[:, SEEN] - event[SEEN]) <= window
        near &= events[:, WAY] == event[WAY]
        who = np.unique(events[near, WHO]).size
        alarm = DriftAlarm(
            tasks_seen=int(event[SEEN]),
            worker=names[int(event[WHO])],
            direction="better" if event[WAY] > 0 else "worse",
            before=float(np.clip((1.0 - event[BEFORE]) * worst, 0.0, 1.0)),
            after=float(np.clip((1.0 - event[AFTER]) * worst, 0.0, 1.0)),
            evidence=float(event[EVIDENCE]),
            answers=int(event[ANSWERS]),
            everyone=bool(who > 2 and who >= EVERYONE * active.size),
        )
        found.append(alarm)
    return found
