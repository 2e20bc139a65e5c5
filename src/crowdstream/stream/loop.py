"""Rows of labels, taken in a compiled loop as far as nothing else is due (`label_loops`).

Here it is said when the loop stops, and what is done then: new names, readings that are renewed,
tasks that closed. A row that the loop cannot take is left to `Stream._take`.
"""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import NamedTuple

import numpy as np

from crowdstream.decisions.decision import NO_LIMIT, SettleRule
from crowdstream.decisions.ties import coin_of
from crowdstream.estimators import Estimator
from crowdstream.labels import UNKNOWN, ClassLabel, TaskId, Vocabulary, WorkerId
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints
from crowdstream.labels.batch_loops import Tasks
from crowdstream.models.model import Model
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
from crowdstream.stream.rows import ABSENT, PROVISIONAL, SKIP
from crowdstream.stream.tasks import Kept, TaskStore

FIRST_ROOM = 64
"""Labels of a task that there is room to work on at first."""

NO_STARTS: Ints = np.zeros(1, np.int64)


AHEAD = 1024
"""Workers whom the loop may meet before it must end: room is made for them ahead."""

WAITING = 1000
"""Tasks that wait to be seen at most: seen at once, they cost as much as if there were more."""

NO_NEW: Codes = np.empty(0, np.int32)


class Rows:
    """Labels that came, row by row, to be taken in this order.

    ``at`` is the row that comes next. ``found`` gets what was decided of each task after its last
    row: class, confidence, margin, votes, flags and state, as `TaskStore` keeps them. ``new``:
    workers who had no code when the rows were coded; ``fresh``: the codes they have got since, −1
    for none, where there are ``known`` workers.
    """

    __slots__ = (
        "at", "coded", "found", "fresh", "known", "labels", "names", "new", "now", "standing",
        "workers",
    )  # fmt: skip

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
        self.new: list[WorkerId] = []
        self.fresh = NO_NEW
        self.known = 0
        self.standing: dict[tuple[type, ClassLabel | None], list[int]] | None = None
        """The rows in which each class without a code stands, by its type too: True is not 1."""
        self.found = found

    def code(self, workers: Vocabulary, classes: Vocabulary) -> tuple[list[int], list[int]]:
        """The codes of the rows' workers and labels, found once; of new workers provisional ones.

        A class without a code is `ABSENT`, until `name_class` gives it one.
        """
        if self.coded is None:
            labels = classes.codes(self.labels, ABSENT)
            if None in self.labels:
                pairs = zip(self.labels, labels, strict=True)
                labels = [SKIP if label is None else code for label, code in pairs]
            codes = workers.codes(self.workers)
            if UNKNOWN in codes:
                places: dict[WorkerId, int] = {}
                for at, code in enumerate(codes):
                    if code == UNKNOWN:
                        codes[at] = PROVISIONAL - places.setdefault(self.workers[at], len(places))
                self.new = list(places)
                self.fresh = np.full(len(places), -1, np.int32)
            self.known = len(workers)
            self.coded = codes, labels
        elif self.new and self.known != len(workers):  # a row that was taken by itself met somebody
            self.fresh[:] = workers.codes(self.new)
            self.known = len(workers)
        return self.coded

    def name_class(self, classes: Vocabulary) -> None:
        """The next row's class has a code by now: put it into all rows where the class stands."""
        assert self.coded is not None
        labels = self.coded[1]
        if labels[self.at] != ABSENT:
            return
        if self.standing is None:
            self.standing = {}
            for at, code in enumerate(labels):
                if code == ABSENT:
                    label = self.labels[at]
                    self.standing.setdefault((type(label), label), []).append(at)
        label = self.labels[self.at]
        assert label is not None
        for at in self.standing.pop((type(label), label)):
            labels[at] = classes.code(label)


class Taken(NamedTuple):
    """What became of rows: labels that were new, repeated or late, and tasks that closed."""

    labels: int
    repeated: int
    late: int
    closed: int


class RowLoop:
    """The compiled loop of one crowd and its tasks.

    Tasks that the loop has closed wait, together, until model and observers must see them: when
    that would make a difference (`Observer.patience`), or somebody looks at either, which they are
    told by the crowd (`CrowdState._late`).
    """

    def __init__(self, crowd: Estimator, store: TaskStore) -> None:
        self._crowd = crowd
        self._store = store
        self._loop: LabelLoop | None = None
        self._made_for: tuple[Scoring, int] | None = None
        self._show = self.show_closed
        self._bite = 0
        """Tasks that may wait, by what was known when none did."""
        self._most_workers = 0
        """Workers there may be while tasks wait."""
        self._turn = threading.RLock()
        """Held while rows are taken or tasks shown: whoever asks may do so in another thread."""

    @property
    def _model(self) -> Model:
        """The crowd's model, without having it see the tasks that wait here."""
        crowd = self._crowd
        return crowd._model if crowd._made is None or crowd._late is not self._show else crowd._made

    @property
    def can_run(self) -> bool:
        """Return whether the crowd's model can be run; not where classes share places.

        There labels are learnt by other codes than they are scored by.
        """
        return self._model.in_loop and not self._crowd._places.folded

    def take(self, rows: Rows, rule: SettleRule, max_labels: int | None, closings: int) -> Taken:
        """Take rows in turn, until one must be taken by itself or so many tasks have closed."""
        with self._turn:
            return self._take(rows, rule, max_labels, closings)

    def _take(self, rows: Rows, rule: SettleRule, max_labels: int | None, closings: int) -> Taken:
        crowd, model, waiting = self._crowd, self._model, self._store.loops
        self._store.make_room(len(rows.names) - rows.at)
        intake, coded = crowd.intake_, rows.code(crowd._workers, crowd._classes)
        labels = repeated = late = closed = 0
        while True:
            loop = self._prepare(rows, rule, max_labels, closings - closed)
            due = loop.take(rows.names, *coded, rows.found)
            rows.at, model.clock, taken = loop.at, loop.clock, loop.taken
            if loop.met:
                self._name_workers(rows, loop.met)
            intake.tasks += loop.opened
            intake.rows += taken
            intake.labels += taken
            labels, repeated = labels + taken, repeated + loop.repeated
            late, closed = late + loop.late, closed + loop.closed
            if waiting.n_waiting:
                crowd._late = self._show
                if due in (CLOSED, NAMES):
                    self._show_closed(just_now=due == CLOSED)
            if due in (DONE, GENERAL) or closed >= closings:
                break
            self._do(due, rows)
            if rows.at == len(rows.names) or not self.can_run:
                break
        return Taken(labels, repeated, late, closed)

    def show_closed(self) -> None:
        """Let model and observers see the tasks that wait."""
        with self._turn:
            self._show_closed(just_now=False)

    def _show_closed(self, just_now: bool) -> None:
        """Show the tasks that wait; ``just_now``: the last one is the newest event."""
        if not self._store.loops.n_waiting:
            return
        crowd = self._crowd
        crowd._late = None
        assert self._loop is not None
        met, model, (batch, places) = self._loop.known_closed, crowd._model, self._store.drain()
        last = len(batch) - 1
        if just_now and last and model.clock >= model.due_at:
            # What is measured now may change how the last task is seen, not those before it.
            model.closed(batch.part(0, last), places[:last], just_now=False)
            crowd._notify_in_turn(batch.part(0, last), met)
            batch, places = batch.part(last, last + 1), places[last:]
        model.closed(batch, places, just_now=just_now)
        crowd._notify_in_turn(batch, met)

    def _name_workers(self, rows: Rows, met: list[int]) -> None:
        """Let the crowd know of the workers whom the loop has met."""
        crowd, model = self._crowd, self._model
        for new in met:
            crowd._workers.add(rows.new[new])
        rows.known = len(crowd._workers)
        model.make_room(rows.known, model.sums.classes, model.named)

    def _prepare(
        self, rows: Rows, rule: SettleRule, max_labels: int | None, closings: int
    ) -> LabelLoop:
        """The loop, set to stop where something is due by what is known now."""
        crowd, model = self._crowd, self._model
        model.refresh()
        made_for = model.scoring, model.sums.classes
        if self._loop is None or self._made_for != made_for:
            self._loop, self._made_for = self._make(FIRST_ROOM, self._loop), made_for
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
        waiting = self._store.loops.n_waiting
        if not waiting:
            self._bite = min(crowd._patience + 1, WAITING)
            self._most_workers = crowd._most_workers
        loop.closings = min(waiting + closings, self._bite)
        loop.known = loop.most_known = rows.known
        if rows.new:
            loop.fresh = rows.fresh
            if not crowd.families:  # those are looked up before anything is learnt
                ahead = min(rows.known + min(len(rows.new), AHEAD), self._most_workers)
                loop.most_known = max(ahead, rows.known)
                model.reserve(loop.most_known)
        if loop.named != len(crowd._classes):
            loop.named, loop.keys = len(crowd._classes), crowd._ties(crowd._classes).keys
        return loop

    def _make(self, room: int, before: LabelLoop | None) -> LabelLoop:
        """A loop with room to work on tasks of so many labels, in place of one before."""
        crowd, model = self._crowd, self._model
        workers, labels = np.empty(room, np.int32), np.empty(room, np.int32)
        tasks = Tasks(NO_STARTS, workers, labels, NO_TRUTHS)
        scores = np.empty((1, model.sums.classes))
        loop = LabelLoop(model.scoring, self._store.loops, tasks, workers, labels, scores)
        loop.most, loop.few, loop.fresh = model.scale.most, FEW_LABELS, NO_NEW
        loop.known_closed = 0 if before is None else before.known_closed
        loop.shift, loop.slope, loop.ceiling = 0.0, 1.0, math.inf
        loop.coin = partial(coin_of, seed=crowd.seed) if crowd.ties == "coin" else None
        return loop

    def _do(self, due: int, rows: Rows) -> None:
        """Do what must be done before the next row can be taken."""
        crowd, model = self._crowd, self._model
        if due == NAMES:
            crowd._meet_one(rows.workers[rows.at], rows.labels[rows.at])
            rows.code(crowd._workers, crowd._classes)
            rows.name_class(crowd._classes)
        elif due == RENEW:
            model.renew()
        elif due == SCALE:
            model.scale.make_room(model.clock, model.arrays())
        elif due == ROOM and self._loop is not None:
            self._loop = self._make(2 * self._loop.room, self._loop)
