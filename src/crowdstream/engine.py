"""The stream: labels in one at a time, decisions out at once. Knows nothing of files or servers.

A label is learnt as it comes, so that a crowd in which every task is still open already teaches.
The decision on a task is made from all other tasks: its own answers are taken back, it is decided,
and they are learnt again with the new one. So a task's answers never vouch for themselves, and
when tasks come one after the other the decisions are those of `Estimator.stream_many`, but for
what cannot be taken back: that a class or a labeller has been met.
"""

from __future__ import annotations

import datetime
import math
import numbers
import time
from collections.abc import Iterable
from typing import Self

import msgspec

from crowdstream.decisions import Decision, decide, information, labels_needed
from crowdstream.errors import InputError, StateError, check_number
from crowdstream.estimators import Adaptive, Estimator, load
from crowdstream.labels import ClassLabel, LabellerId, TaskId, clean_id, clean_label, shorten
from crowdstream.saving import seal, unseal

SAVED_AS = "stream"

REMEMBER = 100_000
"""Closed tasks whose decision is remembered, so that a late label is known to be late."""


class Counts(msgspec.Struct):
    """What the stream did with what it was given; each event is counted once."""

    labels: int = 0
    repeated: int = 0
    replaced: int = 0
    retracted: int = 0
    skipped: int = 0
    late: int = 0
    closed: int = 0


class _Open(msgspec.Struct):
    """A task that takes labels."""

    opened: int
    answers: dict[str | int, str | int | bool | None]
    place: int | None = None
    gold: str | int | bool | None = None
    last: float = 0.0
    receipt: bytes = b""
    confidence: float = 0.0
    difficulty: float | None = None


class _Saved(msgspec.Struct):
    """What a snapshot consists of."""

    crowd: bytes
    settle: float | None
    max_labels: int | None
    idle: float | None
    remember: int
    budget: int | None
    open: list[tuple[str | int, _Open]]
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
    max_labels
        Close a task once it has this many labels.
    idle
        Seconds without a label after which `expire` closes a task.
    remember
        How many closed tasks to know by name. A label for one of them is late and changes
        nothing; a label for one forgotten opens it anew.
    budget
        How many labels `next_task` asks for at most.

    However the stream decides when to stop asking, intervals and alarms hold: a label is judged by
    those before it, so that stopping cannot flatter anybody.

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
        max_labels: int | None = None,
        idle: float | None = None,
        remember: int = REMEMBER,
        budget: int | None = None,
    ) -> None:
        if not (crowd is None or isinstance(crowd, Estimator)):
            raise InputError("crowd", "an estimator, made", shorten(crowd))
        if settle is not None:
            check_number("settle", settle, 0.5, 1.0)
        if max_labels is not None:
            check_number("max_labels", max_labels, 1, 2**31, whole=True)
        if idle is not None:
            check_number("idle", idle, 0.0, 1e12, open_low=True)
        check_number("remember", remember, 0, 2**31, whole=True)
        if budget is not None:
            check_number("budget", budget, 0, 2**53, whole=True)
        self.crowd = Adaptive() if crowd is None else crowd
        self.settle = None if settle is None else float(settle)
        self.max_labels = None if max_labels is None else int(max_labels)
        self.idle = None if idle is None else float(idle)
        self.remember = int(remember)
        self.budget = None if budget is None else int(budget)
        if settle is not None or budget is not None:
            self.crowd.expect_stopping()
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
        worker: LabellerId,
        label: ClassLabel | None,
        at: float | datetime.datetime | None = None,
    ) -> Decision:
        """Take one label and decide its task.

        The same label again changes nothing; another one by the same worker replaces the first;
        ``None`` is a skip. ``at`` is when it was given, now if not said.
        """
        task, worker = _named(task, "task"), _named(worker, "worker")
        label = clean_label(label, "label")
        now = self._time(at)
        if task in self._closed:
            self.counts.late += 1
            return self._closed[task]
        case = self._open.get(task) or _Open(self._opened, {})
        before = case.answers.get(worker)
        answers = case.answers
        event = "labels"
        if label is None:
            event = "skipped"
            if worker not in answers:
                answers = {**answers, worker: None}
        elif before is None:
            answers = {**answers, worker: label}
        elif (type(before), before) == (type(label), label):
            event = "repeated"
        else:
            event = "replaced"
            answers = {**answers, worker: label}
        moved = (worker,) if answers is not case.answers else ()
        decision = self._redecide(task, case, answers, case.gold, moved)
        self._touch(task, case, now)
        setattr(self.counts, event, getattr(self.counts, event) + 1)
        if decision.settled and case.gold is None:
            return self._close(decision, "settled")
        if self.max_labels is not None and decision.votes >= self.max_labels:
            return self._close(decision, "full")
        return decision

    def retract(self, task: TaskId, worker: LabellerId) -> Decision:
        """Take back a worker's label on an open task."""
        task, worker = _named(task, "task"), _named(worker, "worker")
        if task in self._closed:
            self.counts.late += 1
            return self._closed[task]
        case = self._known(task)
        if worker not in case.answers:
            raise InputError(f"task {task!r}", "a worker who labelled it", repr(worker))
        answers = {who: label for who, label in case.answers.items() if who != worker}
        decision = self._redecide(task, case, answers, case.gold, (worker,))
        self.counts.retracted += 1
        return decision

    def gold(
        self,
        task: TaskId,
        label: ClassLabel,
        at: float | datetime.datetime | None = None,
    ) -> Decision:
        """Tell the truth of a task: its labellers are judged by it from now on.

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
        case = self._open.get(task) or _Open(self._opened, {})
        decision = self._redecide(task, case, case.answers, truth, tuple(case.answers))
        if task not in self._open:
            self._touch(task, case, now)
        return decision

    def close(self, task: TaskId) -> Decision:
        """Close a task by hand and decide it for good."""
        task = _named(task, "task")
        if task in self._closed:
            return self._closed[task]
        self._known(task)
        return self._close(self.decision(task), "closed")

    def expire(self, at: float | datetime.datetime | None = None) -> list[Decision]:
        """Close the tasks that have had no label for ``idle`` seconds."""
        now = self._time(at)
        decisions = []
        while self.idle is not None and self._open:
            task, case = next(iter(self._open.items()))
            if case.last + self.idle > now:
                break
            decisions.append(self._close(self.decision(task), "idle"))
        return decisions

    def end(self) -> list[Decision]:
        """Close all open tasks, in the order they were opened: no more labels will come."""
        tasks = sorted(self._open, key=lambda task: self._open[task].opened)
        return [self._close(self.decision(task), "end") for task in tasks]

    # Questions -------------------------------------------------------------------------------

    def decision(self, task: TaskId) -> Decision:
        """What would be said of a task now, or was when it closed."""
        task = _named(task, "task")
        if task in self._closed:
            return self._closed[task]
        case = self._known(task)
        return self._redecide(task, case, case.answers, case.gold, ())

    def more_labels_needed(self, task: TaskId, *, settle: float | None = None) -> float:
        """How many labels a task is expected to need until it is settled; 0 if it is.

        By labellers as good as the crowd's average on a task as hard as this one; no more than
        ``max_labels`` leaves. ``settle``: another confidence than the stream's own.

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
        if decision.closed or decision.confidence >= goal:
            return 0.0
        classes = max(len(self.crowd.classes_), 2)
        sure = max(decision.confidence, 1.0 / classes)
        needed = labels_needed(sure, goal, 1.0 - self._hard(decision.difficulty), classes)
        if self.max_labels is not None:
            needed = min(needed, float(max(self.max_labels - decision.votes, 0)))
        return needed

    def offer(self, tasks: Iterable[TaskId], at: float | datetime.datetime | None = None) -> None:
        """Open tasks before they have a label, so that `next_task` can choose them."""
        now = self._time(at)
        for task in tasks:
            name = _named(task, "task")
            if name not in self._open and name not in self._closed:
                self._touch(name, _Open(self._opened, {}), now)

    def next_task(self, worker: LabellerId) -> TaskId | None:
        """The open task on which this worker's label would tell most; ``None`` if none is left.

        That is the expected information about the task's class, from how sure the decision is, how
        hard the task and how good the worker. With a ``budget``, ``None`` once it is spent. Looks
        at every open task.

        >>> stream = Stream(budget=100)
        >>> stream.offer(["t1", "t2"])
        >>> for worker in ("ann", "bob", "cy"):
        ...     _ = stream.observe("t1", worker, "spam")
        >>> stream.next_task("di")  # t1 is clear
        't2'
        """
        worker = _named(worker, "worker")
        self.crowd.expect_stopping()
        if self.budget_left == 0:
            return None
        classes = max(len(self.crowd.classes_), 2)
        average = self.crowd.skill_of(None)
        scale = self.crowd.skill_of(worker) / average if average > 0 else 1.0
        usual = self._hard(None)
        best, most = None, -1.0
        for task, case in self._open.items():
            if worker in case.answers or case.gold is not None:
                continue
            # A task that looks easy is not asked for more: the labels so far may be few.
            hard = max(self._hard(case.difficulty), usual)
            told = 1.0 / classes + (1.0 - 1.0 / classes - hard) * scale
            sure = max(case.confidence, 1.0 / classes)
            gain = information(sure, min(max(told, 0.001), 0.999), classes)
            if gain > most:
                best, most = task, gain
        return best

    @property
    def budget_left(self) -> int | None:
        """Labels that `next_task` may still ask for; ``None`` without a budget."""
        return None if self.budget is None else max(self.budget - self.counts.labels, 0)

    def _hard(self, difficulty: float | None) -> float:
        """The chance that an average labeller errs on a task."""
        if difficulty is not None:
            return difficulty
        worst = 1.0 - 1.0 / max(len(self.crowd.classes_), 2)
        return (1.0 - self.crowd.skill_of(None)) * worst

    @property
    def open_tasks(self) -> list[TaskId]:
        """The tasks that take labels, the longest idle first."""
        return list(self._open)

    # Saving ----------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The whole stream: crowd, rules, open tasks, counts. `restore` goes on from it."""
        saved = _Saved(
            crowd=self.crowd.to_bytes(),
            settle=self.settle,
            max_labels=self.max_labels,
            idle=self.idle,
            remember=self.remember,
            budget=self.budget,
            open=list(self._open.items()),
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
            max_labels=saved.max_labels,
            idle=saved.idle,
            remember=saved.remember,
            budget=saved.budget,
        )
        stream._open = dict(saved.open)
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

    def _redecide(
        self,
        task: TaskId,
        case: _Open,
        answers: dict[LabellerId, ClassLabel | None],
        gold: ClassLabel | None,
        moved: tuple[LabellerId, ...],
    ) -> Decision:
        """Take the task's answers back, decide it with the new ones, learn those.

        ``moved``: whose answers have changed; the watch is told of no others.
        """
        crowd, place = self.crowd, case.place
        if place is not None:
            old = [who for who in moved if who in case.answers]
            crowd.unlearn_one(
                case.answers, gold=case.gold, place=place, receipt=case.receipt, fresh=old
            )
        try:
            here = crowd.clock_ if place is None else place
            decision = decide(crowd, task, answers, settle=self.settle, place=here)
            new = [who for who in moved if who in answers]
            crowd.learn_one(answers, gold=gold, place=place, fresh=new)
        except BaseException:
            if place is not None:
                crowd.learn_one(case.answers, gold=case.gold, place=place, fresh=old)
                case.receipt = crowd.receipt_
            raise
        if answers:
            case.place = here
            case.receipt = crowd.receipt_
        case.answers, case.gold = answers, gold
        case.confidence, case.difficulty = decision.confidence, decision.difficulty
        if gold is not None:
            decision = msgspec.structs.replace(
                decision, label=gold, confidence=1.0, margin=1.0, settled=self.settle is not None
            )
        return decision

    def _close(self, decision: Decision, why: str) -> Decision:
        """Keep the decision, give the labels' memory back."""
        decision = msgspec.structs.replace(decision, closed=why)
        del self._open[decision.task]
        self.counts.closed += 1
        self._closed[decision.task] = decision
        while len(self._closed) > self.remember:
            del self._closed[next(iter(self._closed))]
        return decision


def _named(value: object, what: str) -> str | int:
    name = clean_id(value, what)
    if name is None:
        raise InputError(what, "str or int", repr(value))
    return name
