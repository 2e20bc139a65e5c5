"""What is done now and then, by the engine's thread: idle tasks, snapshots, alarms, history.

Knows what is due; the engine and the store do it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from crowdstream.errors import CrowdstreamError
from crowdstream.schedule import HISTORY
from crowdstream.serve import answers as kept
from crowdstream.serve.schema import StoreError

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

HISTORY_ROWS = 2000
"""Workers sampled at once: the busiest of those that are due."""

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


class Housekeeping:
    """Looks once a second what is due."""

    def __init__(self, engine: Engine, keep_labels: float | None) -> None:
        self.engine = engine
        self.keep_labels = keep_labels
        self._watches: dict[str, Watch] = {}
        self._due = 0.0
        self._dropped_at = 0.0

    def look(self, now: float) -> None:
        """Do what is due."""
        if now < self._due or self.engine.failing:
            return
        self._due = now + PERIOD
        for project in list(self.engine.projects.values()):
            watch = self._watch(project, now)
            self.engine.readings(project.name).count(now)
            project.expire(now)
            if project.events:
                self.engine.commit_events(project, now)
            if project.version == watch.saved_version:
                continue
            if now >= watch.alarms_at + ALARM_SECONDS:
                watch.alarms_at = now
                self.engine.readings(project.name).notice_alarms(now)
            self._sample(project, watch, now)
            if self._snapshot_is_due(project, watch, now):
                self._save(project, watch, now)
        self._drop(now)

    def at_the_end(self) -> None:
        """Save what has changed."""
        for project in self.engine.projects.values():
            watch = self._watch(project, time.time())
            if project.version != watch.saved_version:
                try:
                    self._save(project, watch, time.time())
                except StoreError:  # the log has it all
                    return

    def _watch(self, project: Project, now: float) -> Watch:
        if project.name not in self._watches:
            labels = project.stream.counts.labels
            self._watches[project.name] = Watch(saved_labels=labels, saved_at=now)
        return self._watches[project.name]

    def _snapshot_is_due(self, project: Project, watch: Watch, now: float) -> bool:
        if now < watch.saved_at + SNAPSHOT_SHARE * watch.took:
            return False
        grown = project.stream.counts.labels - watch.saved_labels >= SNAPSHOT_LABELS
        return grown or now >= watch.saved_at + SNAPSHOT_SECONDS

    def _save(self, project: Project, watch: Watch, now: float) -> None:
        begun = time.monotonic()
        self.engine.snapshot(project, now)
        watch.took = time.monotonic() - begun
        watch.saved_version, watch.saved_at = project.version, now
        watch.saved_labels = project.stream.counts.labels
        self._drop_labels(project, now)

    def _sample(self, project: Project, watch: Watch, now: float) -> None:
        """Note the error rates of workers who answered a good deal since the last time."""
        small = len(project.stream.crowd._workers) <= SMALL_CROWD
        if now < watch.history_at + (HISTORY_SMALL if small else HISTORY_SECONDS):
            return
        if project.version == watch.history_version:
            return
        watch.history_at, watch.history_version = now, project.version
        try:
            table = self.engine.readings(project.name).workers()
        except CrowdstreamError:
            return
        columns = ("worker", "answers", "error_rate", "error_low", "error_high")
        rows = table.sort("answers", descending=True).select(columns).iter_rows()
        due = []
        for worker, answers, *rates in rows:
            if answers >= HISTORY * watch.sampled.get(worker, 0.0) + 1.0:
                watch.sampled[worker] = answers
                due.append((worker, answers, *rates))
                if len(due) == HISTORY_ROWS:
                    break
        if due:
            self.engine.store.add_history(project.id, now, due, MOST_SAMPLES)

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
