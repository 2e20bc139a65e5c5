"""Rows of labels, taken in a compiled loop as far as nothing else is due (`label_loops`).

Here it is said when the loop stops, and what is done then: new names, readings that are renewed,
tasks that closed. A row that the loop cannot take is left to `Stream._take`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from crowdstream.decisions.decision import NO_LIMIT, SettleRule
from crowdstream.decisions.ties import coin_of
from crowdstream.estimators import Estimator
from crowdstream.labels import ClassLabel, TaskId, WorkerId
from crowdstream.labels.batch import NO_TRUTHS, Ints
from crowdstream.labels.batch_loops import Tasks
from crowdstream.models.scoring_loops import Scoring
from crowdstream.schedule import FEW_LABELS
from crowdstream.stream.label_loops import (
    CLOSED,
    DONE,
    GENERAL,
    NAMES,
    RENEW,
    ROOM,
    SCALE,
    LabelLoop,
)
from crowdstream.stream.rows import ABSENT, SKIP
from crowdstream.stream.tasks import Kept, TaskStore

FIRST_ROOM = 64
"""Labels of a task that there is room to work on at first."""

NO_STARTS: Ints = np.zeros(1, np.int64)


Standing: TypeAlias = dict[tuple[type, Any], list[int]]
"""The rows in which each name stands, by its type too: True is not 1."""


class Rows:
    """Labels that came, row by row, to be taken in this order.

    ``at`` is the row that comes next. ``found`` gets what was decided of each task after its last
    row: class, confidence, margin, votes, flags and state, as `TaskStore` keeps them.
    """

    __slots__ = ("at", "coded", "found", "labels", "names", "new", "now", "workers")

    def __init__(
        self,
        names: list[TaskId],
        workers: list[WorkerId],
        labels: list[ClassLabel | None],
        now: float,
        found: dict[TaskId, Kept],
    ) -> None:
        self.names = names
        self.workers = workers
        self.labels = labels
        self.now = now
        self.at = 0
        self.coded: tuple[list[int], list[int]] | None = None
        """The codes of workers and labels, as they were first found."""
        self.new: tuple[Standing, Standing] | None = None
        """Where in the rows workers and labels are that had no code then."""
        self.found = found


class Taken(NamedTuple):
    """What became of rows: labels that were new, repeated or late, and tasks that closed."""

    labels: int
    repeated: int
    late: int
    closed: int


class RowLoop:
    """The compiled loop of one crowd and its tasks."""

    def __init__(self, crowd: Estimator, store: TaskStore) -> None:
        self._crowd = crowd
        self._store = store
        self._loop: LabelLoop | None = None
        self._made_for: tuple[Scoring, int] | None = None
        self._rows: Rows | None = None
        """Those that are being taken."""

    @property
    def can_run(self) -> bool:
        """Return whether the crowd's model can be run; not where classes share places.

        There labels are learnt by other codes than they are scored by.
        """
        return self._crowd._model.in_loop and not self._crowd._places.folded

    def take(self, rows: Rows, rule: SettleRule, max_labels: int | None, closings: int) -> Taken:
        """Take rows in turn, until one must be taken by itself or so many tasks have closed."""
        crowd, model = self._crowd, self._crowd._model
        self._store.make_room(len(rows.names) - rows.at)
        intake, coded, self._rows = crowd.intake_, self._code(rows), rows
        labels = repeated = late = closed = 0
        while True:
            loop = self._prepare(rows, rule, max_labels, closings - closed)
            due = loop.take(rows.names, *coded, rows.found)
            rows.at, model.clock, taken = loop.at, loop.clock, loop.taken
            intake.tasks += loop.opened
            intake.rows += taken
            intake.labels += taken
            labels, repeated = labels + taken, repeated + loop.repeated
            late, closed = late + loop.late, closed + loop.closed
            if loop.closed:
                batch, places = self._store.drain()
                model.closed(batch, places, just_now=due == CLOSED)
                crowd._notify_in_turn(batch)
            if due in (DONE, GENERAL) or closed >= closings:
                break
            self._do(due, rows)
            if rows.at == len(rows.names) or not self.can_run:
                break
        return Taken(labels, repeated, late, closed)

    def _code(self, rows: Rows) -> tuple[list[int], list[int]]:
        """The codes of the rows' workers and labels as far as they are known, found once."""
        if rows.coded is None:
            labels = self._crowd._classes.codes(rows.labels, ABSENT)
            if None in rows.labels:
                pairs = zip(rows.labels, labels, strict=True)
                labels = [SKIP if label is None else code for label, code in pairs]
            rows.coded = self._crowd._workers.codes(rows.workers), labels
        return rows.coded

    def _meet_worker(self, at: int) -> bool:
        """Give a row's worker its code, and say so; not if the loop must end for it.

        For a new class it must, and for observers to see tasks that closed before the worker came.
        """
        rows, loop = self._rows, self._loop
        assert rows is not None
        assert loop is not None
        if loop.closed or self._code(rows)[1][at] == ABSENT:
            return False
        self._meet(rows, at)
        return True

    def _meet(self, rows: Rows, at: int) -> None:
        """Give a row's worker and class their codes, in all rows where they stand."""
        workers, labels = self._code(rows)
        if rows.new is None:
            rows.new = standing(rows.workers, workers), standing(rows.labels, labels)
        worker, label = rows.workers[at], rows.labels[at]
        i, x = self._crowd._meet_one(worker, label)
        workers[at], labels[at] = i, SKIP if label is None else x
        for place in rows.new[0].pop((type(worker), worker), ()):
            workers[place] = i
        for place in rows.new[1].pop((type(label), label), ()):
            labels[place] = x

    def _prepare(
        self, rows: Rows, rule: SettleRule, max_labels: int | None, closings: int
    ) -> LabelLoop:
        """The loop, set to stop where something is due by what is known now."""
        crowd, model = self._crowd, self._crowd._model
        model.refresh()
        made_for = model.scoring, model.sums.classes
        if self._loop is None or self._made_for != made_for:
            self._loop, self._made_for = self._make(FIRST_ROOM), made_for
        loop, scale, schedule = self._loop, model.scale, model.schedule
        loop.start()
        loop.at, loop.now = rows.at, rows.now
        loop.settle, loop.min_labels = rule.needed, rule.min_labels
        loop.max_labels = NO_LIMIT if max_labels is None else max_labels
        loop.against, loop.fade, loop.origin = model.against, scale.fade, scale.origin
        if model.line is not None:
            loop.shift, loop.slope, loop.ceiling = model.line
        loop.clock, loop.look_at = model.clock, model.due_at
        loop.renew_after, loop.renew_labels = schedule.after_tasks, schedule.after_labels
        alone = len(rows.names) - rows.at == 1
        loop.closings = 1 if alone else min(closings, crowd._patience + 1)
        if loop.named != len(crowd._classes):
            loop.named, loop.keys = len(crowd._classes), crowd._ties(crowd._classes).keys
        return loop

    def _make(self, room: int) -> LabelLoop:
        """A loop with room to work on tasks of so many labels."""
        crowd, model = self._crowd, self._crowd._model
        workers, labels = np.empty(room, np.int32), np.empty(room, np.int32)
        tasks = Tasks(NO_STARTS, workers, labels, NO_TRUTHS)
        scores = np.empty((1, model.sums.classes))
        loop = LabelLoop(model.scoring, self._store.loops, tasks, workers, labels, scores)
        loop.most, loop.few, loop.meet = model.scale.most, FEW_LABELS, self._meet_worker
        loop.shift, loop.slope, loop.ceiling = 0.0, 1.0, math.inf
        loop.coin = partial(coin_of, seed=crowd.seed) if crowd.ties == "coin" else None
        return loop

    def _do(self, due: int, rows: Rows) -> None:
        """Do what must be done before the next row can be taken."""
        model = self._crowd._model
        if due == NAMES:
            self._meet(rows, rows.at)
        elif due == RENEW:
            model.renew()
        elif due == SCALE:
            model.scale.make_room(model.clock, model.arrays())
        elif due == ROOM and self._loop is not None:
            self._loop = self._make(2 * self._loop.room)


def standing(names: list[Any], codes: list[int]) -> Standing:
    """Return where the names without a code stand; a skip has no name."""
    found: Standing = {}
    for at, code in enumerate(codes):
        if code < 0 and names[at] is not None:
            found.setdefault((type(names[at]), names[at]), []).append(at)
    return found
