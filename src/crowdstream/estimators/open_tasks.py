"""Tasks of a stream that still take labels: `OpenTask`, and how a crowd learns and decides them.

A label is learnt as it comes, and taken back if it changes; a task is decided by what was learnt of
all other tasks, so its own labels never vouch for themselves. What cannot be taken back is learnt
when the task closes. Knows nothing of why a task closes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import Vote, Votes
from crowdstream.estimators.newcomers import (
    least_known,
    newcomers,
    newcomers_against,
    strange_labels,
    without,
)
from crowdstream.estimators.state import CrowdState
from crowdstream.estimators.task_store import PLACE, TRUTH, Kept, TaskStore
from crowdstream.estimators.vote_effects import effects_on, leave_one_out
from crowdstream.estimators.votes import Scorer, calibrate, choose, choose_one
from crowdstream.labels import UNKNOWN, ClassLabel, TaskId, Vocabulary, WorkerId
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.growing import grown

Floats = NDArray[np.float64]

ROOM = 8
"""Labels that there is room for at first."""

NO_STARTS: Ints = np.zeros(1, np.int64)


class OpenTask:
    """The labels of one task in codes; ``place`` is where it stands in the order of tasks."""

    __slots__ = ("_coded", "labels", "name", "place", "size", "truth", "workers")

    def __init__(self, name: TaskId, place: int) -> None:
        self.name = name
        self.place = place
        self.size = 0
        self.truth = UNKNOWN
        self.workers: Codes = np.empty(ROOM, np.int32)
        self.labels: Codes = np.empty(ROOM, np.int32)
        self._coded: tuple[Codes, Tasks] | None = None

    @property
    def coded(self) -> Tasks:
        """The labels and the spare room after them for compiled loops, made once: it costs time."""
        if self._coded is None or self._coded[0] is not self.labels:
            self._coded = self.labels, Tasks(NO_STARTS, self.workers, self.labels, NO_TRUTHS)
        return self._coded[1]

    @classmethod
    def at(cls, store: TaskStore, slot: int) -> OpenTask:
        """An open task of a stream, which the crowd knows of."""
        task = cls(store.name(slot), int(store.orders[slot, PLACE]))
        task.workers, task.labels = store.labels(slot)
        task.size = task.workers.size
        task.truth = int(store.codes[slot, TRUTH])
        return task

    @classmethod
    def of(cls, batch: LabelBatch, t: int, place: int) -> OpenTask:
        """Task t of a batch, to go on taking labels."""
        task = cls(batch.tasks[t] if len(batch.tasks) else "", place)
        here = slice(int(batch.starts[t]), int(batch.starts[t + 1]))
        task.workers, task.labels = batch.workers[here].copy(), batch.labels[here].copy()
        task.size = task.workers.size
        return task

    def find(self, worker: int) -> int:
        """Where a worker's label is, or −1."""
        for at in range(self.size):
            if self.workers[at] == worker:
                return at
        return UNKNOWN

    def append(self, worker: int, label: int) -> None:
        """Add the label of a worker who has given none."""
        self.workers = grown(self.workers, self.size + 1)
        self.labels = grown(self.labels, self.size + 1)
        self.workers[self.size] = worker
        self.labels[self.size] = label
        self.size += 1

    def remove(self, at: int) -> None:
        """Take the label at this place away; the others keep their order."""
        for array in (self.workers, self.labels):
            array[at : self.size - 1] = array[at + 1 : self.size].copy()
        self.size -= 1

    def batch(self, size: int | None = None) -> LabelBatch:
        """The labels so far, or the first ``size`` of them, copied."""
        size = self.size if size is None else size
        return LabelBatch(
            np.array([0, size], np.int64),
            self.workers[:size].copy(),
            self.labels[:size].copy(),
            NO_TRUTHS if self.truth == UNKNOWN else np.array([self.truth], np.int32),
            (self.name,),
        )


class StopRule(NamedTuple):
    """When a task takes no more labels: sure enough with so many labels, or full."""

    settle: float | None
    min_labels: int
    max_labels: int | None


class Rows:
    """Labels that came, row by row, for a crowd to take in this order.

    ``at`` is the row that comes next. ``found`` gets what was decided of each task after its last
    row: class, confidence, margin, votes, flags and state, as `TaskStore` keeps them.
    """

    __slots__ = ("at", "coded", "found", "labels", "names", "now", "workers")

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
        """The codes of workers and labels, as the crowd first found them."""
        self.found = found


class Taken(NamedTuple):
    """What became of rows: labels that were new, repeated or late, and tasks that closed."""

    labels: int
    repeated: int
    late: int
    closed: int


NOTHING_TAKEN = Taken(0, 0, 0, 0)


class OpenTasks(CrowdState):
    """A crowd that learns tasks label by label."""

    # What an estimator may add ---------------------------------------------------------------

    def _learn_open(self, batch: LabelBatch, sign: int, place: int) -> None:
        """Learn of an open task what can be taken back, or take it back."""
        self._sums.add(batch, sign * self._scale.weight(place))

    def _learn_closed(self, batch: LabelBatch, place: int) -> None:
        """Learn what the labels of an open task have not taught yet: it closes."""
        return

    def _score_open(self, task: OpenTask) -> tuple[Scorer, Floats]:
        """Score an open task by the sums without its own labels."""
        batch = self._open_scored(task)
        sums = self._sums
        if task.size:
            sums = sums.without(self._open_learnt(task), self._scale.weight(task.place))
        scorer = self._scorer(sums, self._places)
        scores = np.empty((1, max(self._places, 2)))
        scorer.score(batch, scores)
        return scorer, scores

    def _add_label(self, task: OpenTask) -> Vote:
        """Learn the last label of an open task, which is new, and decide the task."""
        if task.size > 1:
            self._learn_open(self._open_learnt(task, task.size - 1), -1, task.place)
        self._learn_open(self._open_learnt(task), 1, task.place)
        return self._vote_open(task)

    def _take_rows(
        self, store: TaskStore, rows: Rows, rule: StopRule, closings: int
    ) -> Taken | None:
        """Take rows in turn, until a row must be taken by `_put_label` or so many tasks closed.

        ``None`` where an estimator takes labels one by one only.
        """
        return None

    # What a stream calls ---------------------------------------------------------------------

    def _open_task(self, name: TaskId) -> OpenTask:
        """A task that will take labels; its place in the order of tasks is now."""
        self._scale.make_room(self._clock, self._arrays())
        self._clock += 1
        self.intake_.tasks += 1
        return OpenTask(name, self._clock - 1)

    def _put_label(self, task: OpenTask, worker: WorkerId, label: ClassLabel | None) -> Vote:
        """Set a worker's label on an open task, or (``None``) take it away; decide it anew."""
        i = self._workers.add(worker)
        x = UNKNOWN if label is None else self._classes.add(label)
        known = self._sums.classes if self._folding is None else len(self._folding)
        if i >= self._sums.workers or x >= known:
            self._make_room()
        at = task.find(i)
        if at < 0:  # a new label, or (x < 0) somebody was asked and did not answer
            self.intake_.rows += 1
            if x < 0:
                self.intake_.null_label += 1
                return self._vote_open(task)
            self.intake_.labels += 1
            task.append(i, x)
            return self._add_label(task)
        self._learn_open(self._open_learnt(task), -1, task.place)
        if x < 0:
            self.intake_.rows -= 1
            self.intake_.labels -= 1
            task.remove(at)
        else:
            task.labels[at] = x
        if task.size:
            self._learn_open(self._open_learnt(task), 1, task.place)
        return self._vote_open(task)

    def _put_truth(self, task: OpenTask, truth: ClassLabel) -> None:
        """The truth of an open task is known."""
        code = self._classes.add(truth)
        self._make_room()
        if task.size:
            self._learn_open(self._open_learnt(task), -1, task.place)
        task.truth = code
        if task.size:
            self._learn_open(self._open_learnt(task), 1, task.place)

    def _close_task(self, task: OpenTask) -> None:
        """Learn the rest of an open task: no more labels will come."""
        batch = self._open_learnt(task)
        if not task.size:  # nobody answered, which is known only now
            self._learn_open(batch, 1, task.place)
        self._learn_closed(batch, task.place)
        self._notify(batch, 1, in_order=True)

    def _open_learnt(self, task: OpenTask, size: int | None = None) -> LabelBatch:
        """The labels of an open task so far, or the first ``size``, as they are learnt."""
        return self._learnt_as(task.batch(size))

    def _open_scored(self, task: OpenTask) -> LabelBatch:
        """The labels of an open task so far, as they are scored."""
        return self._scored_as(task.batch(), self._classes)

    def _vote_open(self, task: OpenTask) -> Vote:
        """The vote on an open task by what was learnt of all others; changes nothing."""
        return self._pick(task, self._classes, *self._score_open(task))

    def _score_without(self, task: OpenTask, batch: LabelBatch) -> tuple[Scorer, Floats]:
        """Score tasks made of an open task's labels by the sums without these."""
        sums = self._sums.without(self._open_learnt(task), self._scale.weight(task.place))
        scorer = self._scorer(sums, self._places)
        scores = np.empty((len(batch), max(self._places, 2)))
        scorer.score(batch, scores)
        return scorer, scores

    def _effects_on(self, task: OpenTask, decided: ClassLabel) -> list[float] | None:
        """What each label of an open task added to the log-odds of what is decided.

        ``None`` where votes are counted, and if nobody said it of classes that share places.
        """
        batch, winner = self._open_scored(task), self._classes.code(decided)
        if batch.said.size:  # labels are places then
            where = np.flatnonzero(batch.said == winner)
            if batch.labels.size < task.size or not where.size:
                return None
            winner = int(batch.labels[where[0]])
        scorer, scores = self._score_without(task, leave_one_out(batch))
        if not scorer.identified or not self.weighs:
            return None
        found: list[float] = effects_on(scores, winner, scorer.rho).tolist()
        return found

    @property
    def _least_known(self) -> float:
        """The answers from which a worker is no newcomer."""
        return least_known(self._sums, self._unit, self.memory is not None)

    @property
    def _newcomers_against(self) -> float:
        """What a newcomer's label counts against the decision that it supports."""
        return newcomers_against(self._sums, self._unit)

    def _vote_known(self, task: OpenTask) -> tuple[Vote, int, float] | None:
        """`_vote_open` without the labels of newcomers, of how many it is, what theirs count.

        ``None`` if there are none, and where votes are not weighed: there one is like another.
        """
        if not self.weighs or not task.size:
            return None
        scored = self._score_known(task)
        if scored is None:
            return None
        scorer, scores, size = scored
        return self._pick(task, self._classes, scorer, scores), size, self._newcomers_against

    def _score_known(self, task: OpenTask) -> tuple[Scorer, Floats, int] | None:
        """`_score_open` without the labels of newcomers; how many are left."""
        batch, weight = self._open_scored(task), self._scale.weight(task.place)
        new = newcomers(self._sums, self._least_known, weight, task.size - 1)
        strange = strange_labels(batch, new)
        scorer = self._scorer(self._sums.without(self._open_learnt(task), weight), self._places)
        if not strange.size or not scorer.identified:
            return None
        scores = np.empty((1, max(self._places, 2)))
        scorer.score(without(batch, strange, np.zeros(1, np.int64)), scores)
        return scorer, scores, batch.labels.size - strange.size

    def _pick(
        self, task: OpenTask | LabelBatch, classes: Vocabulary, scorer: Scorer, scores: Floats
    ) -> Vote:
        """The vote that these scores make of one task."""
        name: TaskId | bytes
        ties = self._ties(classes)
        if ties.classes is not None:
            batch = self._open_scored(task) if isinstance(task, OpenTask) else task
            votes = Votes.room(1, scorer.identified)
            choose(batch, scores, votes, self._places_for(classes), ties, scorer.rho)
            calibrate(scorer, votes)
            winner, confidence, margin = (float(x[0]) for x in votes[:3])
            label = None if winner == UNKNOWN else classes[int(winner)]
            return Vote(label, confidence, margin, scorer.identified)
        if isinstance(task, OpenTask):
            name, size = task.name, task.size
        else:
            name, size = next(iter(task.tasks), b""), task.labels.size
        rule = len(classes), scorer, ties
        winner, confidence, margin = choose_one(name, size, scores, *rule)
        label = None if winner == UNKNOWN else classes[winner]
        return Vote(label, confidence, margin, scorer.identified)
