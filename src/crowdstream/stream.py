"""The stream: labels in one at a time, decisions out at once. Knows nothing of files or servers.

A label is learnt as it comes, so that a crowd in which every task is still open already teaches. A
task is decided by what was learnt of all others: its own labels are left out, so they never vouch
for themselves. What cannot be taken back once learnt (soft counts, what monitors see) is learnt
when the task closes.
"""

from __future__ import annotations

import datetime
import math
import numbers
import time
from collections.abc import Iterable
from typing import Self

import msgspec

from crowdstream.decisions import Decision
from crowdstream.errors import InputError, StateError
from crowdstream.estimators import Adaptive, Estimator, OpenTask, Vote, load
from crowdstream.labels import (
    ClassLabel,
    Row,
    TaskId,
    WorkerId,
    clean_id,
    clean_label,
    row_values,
    shorten,
)
from crowdstream.serialization import seal, unseal
from crowdstream.stopping import information, labels_needed
from crowdstream.validation import check_number

SAVED_AS = "stream"

REMEMBER = 100_000
"""Closed tasks whose decision is remembered, so that a late label is known to be late."""

CLOSED = (None, "settled", "full")
"""Why a task takes no more labels, by the number that a crowd gives it."""

MIN_LABELS = 2
"""Labels before a task may be settled: one worker alone settles nothing."""


class Counts(msgspec.Struct):
    """What the stream did with what it was given; each event is counted once."""

    labels: int = 0
    repeated: int = 0
    replaced: int = 0
    retracted: int = 0
    skipped: int = 0
    late: int = 0
    closed: int = 0


class _Open:
    """A task that takes labels; ``coded`` is what the crowd knows of it, once it has any."""

    __slots__ = ("answers", "coded", "confidence", "gold", "last", "opened")

    def __init__(self, opened: int) -> None:
        self.opened = opened
        self.answers: dict[WorkerId, ClassLabel | None] = {}
        self.coded: OpenTask | None = None
        self.gold: ClassLabel | None = None
        self.last = 0.0
        self.confidence = 0.0


class _SavedTask(msgspec.Struct):
    """An open task as it is saved; ``place`` is −1 before its first label."""

    task: str | int
    opened: int
    place: int
    answers: dict[str | int, str | int | bool | None]
    gold: str | int | bool | None
    last: float
    confidence: float


class _Saved(msgspec.Struct):
    """What a snapshot consists of."""

    crowd: bytes
    settle: float | None
    min_labels: int
    max_labels: int | None
    idle: float | None
    remember: int
    budget: int | None
    open: list[_SavedTask]
    closed: list[Decision]
    counts: Counts
    opened: int
    now: float


class Stream:
    """Takes labels as they come and decides every task at once.

    Parameters
    ----------
    crowd
        The estimator that learns from the labels; `Adaptive` if none is given.
    settle
        Close a task once its decision is at least this sure.
    min_labels
        Labels before a task may be settled.
    max_labels
        Close a task once it has this many labels.
    idle
        Seconds without a label after which `expire` closes a task.
    remember
        How many closed tasks to know by name. A label for one of them is late and changes
        nothing; a label for one forgotten opens it anew.
    budget
        How many labels `next_task` asks for at most.

    Examples
    --------
    >>> stream = Stream(settle=0.95, max_labels=3)
    >>> stream.observe(task="t1", worker="ann", label="spam").votes
    1
    >>> _ = stream.observe(task="t1", worker="bob", label="ham")
    >>> decision = stream.observe(task="t1", worker="cy", label="spam")
    >>> decision.label, decision.closed
    ('spam', 'full')
    >>> stream.observe(task="t1", worker="di", label="ham").label  # late: the decision stands
    'spam'
    >>> stream.counts.late
    1
    """

    def __init__(
        self,
        crowd: Estimator | None = None,
        *,
        settle: float | None = None,
        min_labels: int = MIN_LABELS,
        max_labels: int | None = None,
        idle: float | None = None,
        remember: int = REMEMBER,
        budget: int | None = None,
    ) -> None:
        if not (crowd is None or isinstance(crowd, Estimator)):
            raise InputError("crowd", "an estimator, made", shorten(crowd))
        if settle is not None:
            check_number("settle", settle, 0.5, 1.0)
        check_number("min_labels", min_labels, 1, 2**31, whole=True)
        if max_labels is not None:
            check_number("max_labels", max_labels, 1, 2**31, whole=True)
        if idle is not None:
            check_number("idle", idle, 0.0, 1e12, open_low=True)
        check_number("remember", remember, 0, 2**31, whole=True)
        if budget is not None:
            check_number("budget", budget, 0, 2**53, whole=True)
        self.crowd = Adaptive() if crowd is None else crowd
        self.settle = None if settle is None else float(settle)
        self.min_labels = int(min_labels)
        self.max_labels = None if max_labels is None else int(max_labels)
        self.idle = None if idle is None else float(idle)
        self.remember = int(remember)
        self.budget = None if budget is None else int(budget)
        self.counts = Counts()
        self._open: dict[TaskId, _Open] = {}  # the longest idle first
        self._closed: dict[TaskId, Decision] = {}  # the longest closed first
        self._opened = 0
        self._now = float("-inf")

    def __repr__(self) -> str:
        rules = {"settle": self.settle, "max_labels": self.max_labels, "idle": self.idle}
        told = [repr(self.crowd), *(f"{k}={v!r}" for k, v in rules.items() if v is not None)]
        return f"<Stream({', '.join(told)}): {len(self._open)} open, {self.counts.closed} closed>"

    # Events ----------------------------------------------------------------------------------

    def observe(
        self,
        task: TaskId,
        worker: WorkerId,
        label: ClassLabel | None,
        at: float | datetime.datetime | None = None,
    ) -> Decision:
        """Take one label and decide its task.

        The same label again changes nothing; another one by the same worker replaces the first.

        Parameters
        ----------
        task, worker
            Their names.
        label
            What the worker said; ``None`` is a skip.
        at
            When: seconds or a datetime, now if not said.
        """
        task, worker = _named(task, "task"), _named(worker, "worker")
        return self._take(task, worker, clean_label(label, "label"), self._time(at))

    def observe_many(
        self, rows: Iterable[Row], at: float | datetime.datetime | None = None
    ) -> list[Decision]:
        """Take labels in turn: rows of task, worker, label. The decisions of the tasks touched.

        As `observe` on each, new tasks before those that are open, if all came at the same time. A
        bad row is refused before any is taken.

        >>> stream = Stream()
        >>> rows = [("t1", "ann", "spam"), ("t2", "ann", "ham"), ("t1", "bob", "spam")]
        >>> [(decision.task, decision.votes) for decision in stream.observe_many(rows)]
        [('t1', 2), ('t2', 1)]
        """
        now = self._time(at)
        checked = []
        for number, row in enumerate(rows, start=1):
            task, worker, label = row_values(row, number)
            if task is None or worker is None:
                what = "task" if task is None else "worker"
                raise InputError(f"row {number}, column {what!r}", "str or int", "nothing")
            checked.append((task, worker, label))
        new: dict[TaskId, dict[WorkerId, ClassLabel]] = {}
        later = []
        for task, worker, label in checked:
            labels = new.get(task)
            if labels is None and task not in self._open and task not in self._closed:
                labels = new[task] = {}
            if labels is None or label is None or worker in labels:
                later.append((task, worker, label))
            else:
                labels[worker] = label
        found = self._open_many(new, later, now)
        for task, worker, label in later:
            found[task] = self._take(task, worker, label, now)
        return [found[task] for task in dict.fromkeys(task for task, _, _ in checked)]

    def _open_many(
        self,
        new: dict[TaskId, dict[WorkerId, ClassLabel]],
        later: list[tuple[TaskId, WorkerId, ClassLabel | None]],
        now: float,
    ) -> dict[TaskId, Decision]:
        """Open new tasks with their first labels; those that are left are late for closed ones."""
        if not new:
            return {}
        opened = self.crowd.open_named(new, self.settle, self.min_labels, self.max_labels)
        if opened is None:
            rows = [(task, who, x) for task, labels in new.items() for who, x in labels.items()]
            later[:0] = rows
            return {}
        votes, identified, why, place, batch = opened
        classes, starts = self.crowd.classes_, batch.starts.tolist()
        closes, sure = why.tolist(), votes.confidences.tolist()
        margins, winners = votes.margins.tolist(), votes.winners.tolist()
        found: dict[TaskId, Decision] = {}
        for t, (task, labels) in enumerate(new.items()):
            size = starts[t + 1] - starts[t]
            closed = CLOSED[closes[t]]
            label = None if winners[t] < 0 else classes[winners[t]]
            decision = Decision(
                task, label, sure[t], margins[t], size, closes[t] == 1, bool(identified[t]), closed
            )
            if closed is None or (closes[t] == 2 and self._is_sure(decision)):
                decision = msgspec.structs.replace(decision, settled=self._is_sure(decision))
            found[task] = decision
            self.counts.labels += size
            self._opened += 1
            if closed is None:
                case = self._open[task] = _Open(self._opened - 1)
                case.answers = labels  # type: ignore[assignment]
                case.coded = self.crowd.resume_coded(task, place + t, batch, t)
                case.confidence, case.last = decision.confidence, now
            else:
                self.counts.late += len(labels) - size
                self._keep(decision)
        self._now = now
        return found

    def _is_sure(self, decision: Decision) -> bool:
        enough = decision.votes >= self.min_labels and decision.label is not None
        return self.settle is not None and enough and decision.confidence >= self.settle

    def _take(
        self, task: TaskId, worker: WorkerId, label: ClassLabel | None, now: float
    ) -> Decision:
        """One label whose names are clean."""
        if task in self._closed:
            self.counts.late += 1
            return self._closed[task]
        case = self._open.get(task)
        if case is None:
            case = _Open(self._opened)
        before = case.answers.get(worker)
        if label is None and worker in case.answers:
            self.counts.skipped += 1
            return self._decide(task, case)
        if label is not None and type(before) is type(label) and before == label:
            self.counts.repeated += 1
            return self._decide(task, case)
        vote = self.crowd.put_label(self._code(task, case), worker, label)
        decision = self._told(task, case, vote)
        if label is None:
            self.counts.skipped += 1
        elif before is None:
            self.counts.labels += 1
        else:
            self.counts.replaced += 1
        case.answers[worker] = label
        case.confidence = decision.confidence
        self._touch(task, case, now)
        if decision.settled and case.gold is None:
            return self._close(decision, "settled")
        if self.max_labels is not None and decision.votes >= self.max_labels:
            return self._close(decision, "full")
        return decision

    def retract(self, task: TaskId, worker: WorkerId) -> Decision:
        """Take back a worker's label on an open task."""
        task, worker = _named(task, "task"), _named(worker, "worker")
        if task in self._closed:
            self.counts.late += 1
            return self._closed[task]
        case = self._known(task)
        if worker not in case.answers:
            raise InputError(f"task {task!r}", "a worker who labelled it", repr(worker))
        if case.answers.pop(worker) is not None:
            self.crowd.put_label(self._code(task, case), worker, None)
        self.counts.retracted += 1
        decision = self._decide(task, case)
        case.confidence = decision.confidence
        return decision

    def gold(
        self,
        task: TaskId,
        label: ClassLabel,
        at: float | datetime.datetime | None = None,
    ) -> Decision:
        """Tell the truth of a task: its workers are judged by it once it closes.

        A task whose truth is known stays open for labels; after it has closed it is too late.
        """
        task = _named(task, "task")
        truth = clean_label(label, "gold")
        if truth is None:
            raise InputError("gold", "str, int or bool", repr(label))
        now = self._time(at)
        if task in self._closed:
            self.counts.late += 1
            return self._closed[task]
        case = self._open.get(task)
        if case is None:
            case = _Open(self._opened)
        case.gold = truth
        self.crowd.put_truth(self._code(task, case), truth)
        if task not in self._open:
            self._touch(task, case, now)
        return self._decide(task, case)

    def close(self, task: TaskId) -> Decision:
        """Close a task by hand and decide it for good."""
        task = _named(task, "task")
        if task in self._closed:
            return self._closed[task]
        return self._close(self._decide(task, self._known(task)), "closed")

    def expire(self, at: float | datetime.datetime | None = None) -> list[Decision]:
        """Close the tasks that have had no label for ``idle`` seconds."""
        now = self._time(at)
        decisions = []
        while self.idle is not None and self._open:
            task, case = next(iter(self._open.items()))
            if case.last + self.idle > now:
                break
            decisions.append(self._close(self._decide(task, case), "idle"))
        return decisions

    def end(self) -> list[Decision]:
        """Close all open tasks, in the order they were opened: no more labels will come."""
        tasks = sorted(self._open, key=lambda task: self._open[task].opened)
        return [self._close(self._decide(task, self._open[task]), "end") for task in tasks]

    # Questions: none of them changes anything ------------------------------------------------

    def decision(self, task: TaskId) -> Decision:
        """What would be said of a task now, or was when it closed."""
        task = _named(task, "task")
        if task in self._closed:
            return self._closed[task]
        return self._decide(task, self._known(task))

    def more_labels_needed(self, task: TaskId, *, settle: float | None = None) -> float:
        """How many labels a task is expected to need until it is settled; 0 if it is.

        By workers as good as the crowd's average; no more than ``max_labels`` leaves. ``settle``:
        another confidence than the stream's own.

        >>> stream = Stream(settle=0.95)
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> stream.more_labels_needed("t1") > 1
        True
        """
        goal = self.settle if settle is None else settle
        if goal is None:
            raise InputError("settle", "a confidence, here or in the stream", "none")
        check_number("settle", goal, 0.5, 1.0)
        decision = self.decision(task)
        if decision.closed:
            return 0.0
        short = float(max(self.min_labels - decision.votes, 0))
        if decision.confidence >= goal:
            return short
        classes = max(len(self.crowd.classes_), 2)
        sure = max(decision.confidence, 1.0 / classes)
        needed = labels_needed(sure, goal, self._accuracy(None), classes)
        needed = max(needed, short)
        if self.max_labels is not None:
            needed = min(needed, float(max(self.max_labels - decision.votes, 0)))
        return needed

    def next_task(self, worker: WorkerId) -> TaskId | None:
        """The open task on which this worker's label would tell most; ``None`` if none is left.

        That is the expected information about the task's class, from how sure the decision was
        when it last had a label and how good the worker is. With a ``budget``, ``None`` once it is
        spent. Looks at every open task.

        >>> stream = Stream(budget=100)
        >>> stream.offer(["t1", "t2"])
        >>> for worker in ("ann", "bob", "cy"):
        ...     _ = stream.observe("t1", worker, "spam")
        >>> stream.next_task("di")  # t1 is clear
        't2'
        """
        worker = _named(worker, "worker")
        if self.budget_left == 0:
            return None
        classes = max(len(self.crowd.classes_), 2)
        accuracy = self._accuracy(worker)
        best, most = None, -1.0
        for task, case in self._open.items():
            if worker in case.answers or case.gold is not None:
                continue
            gain = information(max(case.confidence, 1.0 / classes), accuracy, classes)
            if gain > most:
                best, most = task, gain
        return best

    def _accuracy(self, worker: WorkerId | None) -> float:
        """How often a worker is right, or an average one."""
        found = self.crowd.mean_accuracy_
        if worker is not None:
            chance = 1.0 / max(len(self.crowd.classes_), 2)
            found += (1.0 - chance) * (self.crowd.skill_of(worker) - self.crowd.mean_skill_)
        return min(max(found, 0.001), 0.999)

    @property
    def budget_left(self) -> int | None:
        """Labels that `next_task` may still ask for; ``None`` without a budget."""
        return None if self.budget is None else max(self.budget - self.counts.labels, 0)

    @property
    def open_tasks(self) -> list[TaskId]:
        """The tasks that take labels, the longest idle first."""
        return list(self._open)

    def offer(self, tasks: Iterable[TaskId], at: float | datetime.datetime | None = None) -> None:
        """Open tasks before they have a label, so that `next_task` can choose them."""
        now = self._time(at)
        for task in tasks:
            name = _named(task, "task")
            if name not in self._open and name not in self._closed:
                self._touch(name, _Open(self._opened), now)

    # Saving ----------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The whole stream: crowd, rules, open tasks, counts. `restore` goes on from it."""
        saved = _Saved(
            crowd=self.crowd.to_bytes(),
            settle=self.settle,
            min_labels=self.min_labels,
            max_labels=self.max_labels,
            idle=self.idle,
            remember=self.remember,
            budget=self.budget,
            open=[
                _SavedTask(
                    task,
                    case.opened,
                    -1 if case.coded is None else case.coded.place,
                    case.answers,
                    case.gold,
                    case.last,
                    case.confidence,
                )
                for task, case in self._open.items()
            ],
            closed=list(self._closed.values()),
            counts=self.counts,
            opened=self._opened,
            now=self._now,
        )
        return seal(SAVED_AS, msgspec.msgpack.encode(saved))

    @classmethod
    def restore(cls, data: bytes) -> Self:
        """The stream that `snapshot` saved."""
        try:
            saved = msgspec.msgpack.decode(unseal(SAVED_AS, data), type=_Saved)
        except msgspec.MsgspecError as error:
            raise StateError(f"not a saved stream: {error}") from None
        stream = cls(
            load(saved.crowd),
            settle=saved.settle,
            min_labels=saved.min_labels,
            max_labels=saved.max_labels,
            idle=saved.idle,
            remember=saved.remember,
            budget=saved.budget,
        )
        for task in saved.open:
            case = stream._open[task.task] = _Open(task.opened)
            case.answers, case.gold = task.answers, task.gold
            case.last, case.confidence = task.last, task.confidence
            if task.place >= 0:
                case.coded = stream.crowd.resume_task(
                    task.task, task.place, task.answers, task.gold
                )
        stream._closed = {decision.task: decision for decision in saved.closed}
        stream.counts = saved.counts
        stream._opened = saved.opened
        stream._now = saved.now
        return stream

    # Inside ----------------------------------------------------------------------------------

    def _time(self, at: float | datetime.datetime | None) -> float:
        """When an event happened; the stream's time never runs backwards."""
        if at is None:
            at = time.time()
        elif isinstance(at, datetime.datetime):
            at = at.timestamp()
        elif isinstance(at, bool) or not isinstance(at, numbers.Real) or not math.isfinite(at):
            raise InputError("at", "seconds or a datetime", repr(at))
        return max(self._now, float(at))

    def _touch(self, task: TaskId, case: _Open, now: float) -> None:
        """The task has just seen a label: it is the last to be idle."""
        self._now = case.last = now
        if self._open.pop(task, None) is None:
            self._opened += 1
        self._open[task] = case

    def _known(self, task: TaskId) -> _Open:
        try:
            return self._open[task]
        except KeyError:
            raise InputError("task", "a task that was opened", repr(task)) from None

    def _code(self, task: TaskId, case: _Open) -> OpenTask:
        """What the crowd knows of a task that has got a label or a truth."""
        if case.coded is None:
            case.coded = self.crowd.open_task(task)
        return case.coded

    def _decide(self, task: TaskId, case: _Open) -> Decision:
        """What the crowd says of an open task by what was learnt of all others."""
        if case.coded is None:
            vote = Vote(None, 0.0, 0.0, bool(self.crowd.identifiable_))
        else:
            vote = self.crowd.vote_open(case.coded)
        return self._told(task, case, vote)

    def _told(self, task: TaskId, case: _Open, vote: Vote) -> Decision:
        """A vote as a decision; what is known needs no vote."""
        label, confidence, margin, identifiable = vote
        votes = 0 if case.coded is None else case.coded.size
        settled = False
        if case.gold is not None:
            label, confidence, margin = case.gold, 1.0, 1.0
            settled = self.settle is not None
        elif self.settle is not None and votes >= self.min_labels:
            settled = label is not None and confidence >= self.settle
        return Decision(task, label, confidence, margin, votes, settled, identifiable)

    def _close(self, decision: Decision, why: str) -> Decision:
        """Learn what is left to learn, keep the decision, give the labels' memory back."""
        case = self._open.pop(decision.task)
        if case.coded is not None:
            self.crowd.close_task(case.coded)
        decision = msgspec.structs.replace(decision, closed=why)
        self._keep(decision)
        return decision

    def _keep(self, decision: Decision) -> None:
        """Remember the decision on a closed task, as many as are remembered."""
        self.counts.closed += 1
        self._closed[decision.task] = decision
        while len(self._closed) > self.remember:
            del self._closed[next(iter(self._closed))]


def _named(value: object, what: str) -> str | int:
    name = clean_id(value, what)
    if name is None:
        raise InputError(what, "str or int", repr(value))
    return name
