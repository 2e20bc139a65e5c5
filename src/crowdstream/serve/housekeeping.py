"""What is done now and then, by the engine's thread: idle tasks, snapshots, alarms, history.

Knows what is due; the engine and the store do it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from crowdstream.errors import CrowdstreamError
from crowdstream.schedule import HISTORY
from crowdstream.serve import answers as kept
from crowdstream.serve.jobs import Job
from crowdstream.serve.schema import StoreError
from crowdstream.serve.store import Snapshot
from crowdstream.serve.wire import AlarmOut

if TYPE_CHECKING:
    from crowdstream.serve.engine import Engine
    from crowdstream.serve.project import Project

PERIOD = 1.0
"""Seconds between two looks."""

SNAPSHOT_SECONDS = 60.0
"""Age of a snapshot after which a changed project gets another."""

SNAPSHOT_LABELS = 500_000
"""Labels after which it does however young it is: to replay them takes a few seconds."""

SNAPSHOT_SHARE = 20
"""Times as long as the last snapshot took that at least go by before the next."""

ALARM_SECONDS = 2.0
"""Seconds between two looks for alarms."""

HISTORY_SECONDS, HISTORY_SMALL, SMALL_CROWD = 60.0, 5.0, 1000
"""Seconds between two samples of workers' error rates, and in a small crowd."""

HISTORY_ROWS, HISTORY_PART = 2000, 200
"""Workers sampled at once, the busiest of those that are due, and written at once."""

Sample = tuple[Any, ...]
"""A worker, its answers, its error rate and the limits of that."""

MOST_SAMPLES = 256
"""Samples of one worker."""


DELETED_SECONDS = 86_400.0
"""How long it is known that a tool has deleted an answer: what it tells late comes much earlier."""


class Watch(msgspec.Struct):
    """What was last done for a project."""

    saved_version: int = 0
    saved_labels: int = 0
    saved_at: float = 0.0
    took: float = 0.0
    alarms_at: float = 0.0
    history_at: float = 0.0
    history_version: int = 0
    sampled: dict[str, float] = {}
    """Answers of each worker when it was last sampled."""
    busy: bool = False
    """True if it is looked at or saved at this moment."""


@dataclass
class Found:
    """Result of a look at a project, to be kept."""

    alarms: list[AlarmOut]
    samples: list[Sample]
    snapshot: Snapshot | None = None
    version: int = 0
    labels: int = 0
    took: float = 0.0


class Housekeeping:
    """Looks once a second what is due."""

    def __init__(self, engine: Engine, keep_labels: float | None) -> None:
        self.engine = engine
        self.keep_labels = keep_labels
        self._watches: dict[str, Watch] = {}
        self._due = 0.0
        self._dropped_at = 0.0

    def look(self, now: float) -> None:
        """Do what is due; what takes long goes the way of all that does."""
        if now < self._due or self.engine.failing:
            return
        self._due = now + PERIOD
        jobs: list[Job] = []
        for project in list(self.engine.projects.values()):
            watch, name = self._watch(project, now), project.name
            if watch.busy or self.engine.is_lent(name):
                continue
            self.engine.readings(name).count()
            if project.settings.idle is not None:
                jobs.append(Job(_nobody, name, _expire, keep=_nobody))
            if project.version != watch.saved_version:
                watch.busy = True
                keep = partial(self._keep, watch, name)
                jobs.append(Job(_nobody, name, ask=partial(self._look, watch, name), keep=keep))
        self.engine.work(jobs)
        self._drop(now)

    def at_the_end(self) -> None:
        """Save what has changed."""
        for project in self.engine.projects.values():
            watch = self._watch(project, self.engine.clock.now())
            if project.version != watch.saved_version:
                try:
                    for step in self.engine.store.save_in_slices(self.engine.snapshot(project)):
                        while step():
                            pass
                    self._drop_labels(project, self.engine.clock.now())
                except StoreError:  # the log has it all
                    return

    def forget(self, name: str) -> None:
        """Forget what was last done for a project."""
        self._watches.pop(name, None)

    def snapshot_ages(self, now: float) -> dict[str, float]:
        """Seconds since the last snapshot of each project, 0 of one that has not changed since."""
        found = {}
        for project in self.engine.projects.values():
            watch = self._watch(project, now)
            same = project.version == watch.saved_version
            found[project.name] = 0.0 if same else max(now - watch.saved_at, 0.0)
        return found

    def stopped(self) -> None:
        """Begin anew with what was being written when something failed."""
        for watch in self._watches.values():
            watch.busy = False

    def _watch(self, project: Project, now: float) -> Watch:
        if project.name not in self._watches:
            labels = project.stream.counts.labels
            self._watches[project.name] = Watch(saved_labels=labels, saved_at=now)
        return self._watches[project.name]

    def _look(self, watch: Watch, name: str) -> Found:
        """Find what is due of a project that has changed; changes nothing."""
        project, now = self.engine.project(name), self.engine.clock.now()
        found = Found([], [], version=project.version, labels=project.stream.counts.labels)
        if now >= watch.alarms_at + ALARM_SECONDS:
            watch.alarms_at = now
            found.alarms = self.engine.readings(name).new_alarms(now)
        found.samples = self._sample(project, watch, now)
        if self._snapshot_is_due(project, watch, now):
            begun = time.monotonic()
            found.snapshot = self.engine.snapshot(project)
            found.took = time.monotonic() - begun
        return found

    def _keep(self, watch: Watch, name: str, found: object) -> None:
        """Write what was found, in slices."""
        watch.busy = False
        if not isinstance(found, Found) or name not in self.engine.projects:
            return
        number, store = self.engine.projects[name].id, self.engine.store
        now = self.engine.clock.now()
        if found.alarms:
            self.engine.readings(name).add_alarms(found.alarms)
        for at in range(0, len(found.samples), HISTORY_PART):
            part = found.samples[at : at + HISTORY_PART]
            self.engine.in_slices([partial(store.add_history, number, now, part, MOST_SAMPLES)])
        if found.snapshot is None:
            return
        watch.busy = True

        def saved() -> None:
            watch.busy = False
            watch.took = found.took
            watch.saved_version, watch.saved_at = found.version, self.engine.clock.now()
            watch.saved_labels = found.labels
            if name in self.engine.projects:
                self._drop_labels(self.engine.projects[name], now)

        self.engine.in_slices([*store.save_in_slices(found.snapshot), saved])

    def _snapshot_is_due(self, project: Project, watch: Watch, now: float) -> bool:
        if now < watch.saved_at + SNAPSHOT_SHARE * watch.took:
            return False
        grown = project.stream.counts.labels - watch.saved_labels >= SNAPSHOT_LABELS
        return grown or now >= watch.saved_at + SNAPSHOT_SECONDS

    def _sample(self, project: Project, watch: Watch, now: float) -> list[Sample]:
        """Return the error rates of workers who answered a good deal since the last time."""
        small = len(project.stream.crowd._workers) <= SMALL_CROWD
        if now < watch.history_at + (HISTORY_SMALL if small else HISTORY_SECONDS):
            return []
        if project.version == watch.history_version:
            return []
        watch.history_at, watch.history_version = now, project.version
        try:
            table = self.engine.readings(project.name).workers()
        except CrowdstreamError:
            return []
        columns = ("worker", "answers", "error_rate", "error_low", "error_high")
        rows = table.sort("answers", descending=True).select(columns).iter_rows()
        due: list[Sample] = []
        for worker, answers, *rates in rows:
            if answers >= HISTORY * watch.sampled.get(worker, 0.0) + 1.0:
                watch.sampled[worker] = answers
                due.append((worker, answers, *rates))
                if len(due) == HISTORY_ROWS:
                    break
        return due

    def _drop(self, now: float) -> None:
        """Drop answers that nobody asks for again."""
        if now >= self._dropped_at + 60.0:
            self._dropped_at = now
            self.engine.forget_answers(now - kept.KEPT_SECONDS)
            self.engine.store.drop_deleted(now - DELETED_SECONDS)
            for project in self.engine.projects.values():
                self._drop_labels(project, now)

    def _drop_labels(self, project: Project, now: float) -> None:
        if self.keep_labels is not None:
            self.engine.store.drop_labels(project.id, now - self.keep_labels)


def _expire(project: Project, now: float) -> None:
    """Close tasks that were idle for too long."""
    project.expire(now)


def _nobody(_: object) -> None:
    """Nobody waits for it."""
