"""`Stream`: labels in one at a time, decisions out at once. Knows nothing of formats or servers.

A label is learnt as it comes, so that a crowd in which every task is still open already teaches. A
task is decided by what was learnt of all others: its own labels are left out, so they never vouch
for themselves. What cannot be taken back once learnt (posterior counts, what monitors see) is
learnt when the task closes.
"""

from __future__ import annotations

import datetime
import math
import numbers
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias

import msgspec

from crowdstream.decisions.decision import Decision, SettleRule, Vote, make_decision, reason
from crowdstream.decisions.reason import WORDS, Reason
from crowdstream.defaults import MIN_LABELS, REMEMBER, SETTLE
from crowdstream.errors import InputError, StateError
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.estimators.open_tasks import OpenTasks
from crowdstream.labels import (
    UNKNOWN,
    ArrowTable,
    ClassLabel,
    Row,
    TaskId,
    Vocabulary,
    WorkerId,
    clean_id,
    clean_label,
    row_values,
    shorten,
)
from crowdstream.labels.coding import interpret, usual_columns
from crowdstream.labels.label import are_usual
from crowdstream.labels.meaning.kinds import fractions
from crowdstream.labels.open_task import OpenTask
from crowdstream.labels.tables import is_table
from crowdstream.monitoring.outlook import Outlook
from crowdstream.questions import SAVED_AS as QUESTIONS
from crowdstream.questions import Questions
from crowdstream.serialization import Savable, kind_of, read_state
from crowdstream.stream import saving
from crowdstream.stream.asking import Outlooks, gains_for
from crowdstream.stream.loop import RowLoop, Rows, Taken
from crowdstream.stream.rows import ABSENT, IDENTIFIED_FLAG, SETTLED_FLAG, SKIP
from crowdstream.stream.tasks import Kept, TaskStore
from crowdstream.validation import Check, check_number, number

Time: TypeAlias = float | datetime.datetime | None
"""When something happened: seconds or a datetime; ``None``: now."""

NOT_KEPT: Kept = (UNKNOWN, 0.0, 0.0, 0, 0, 0)
"""Stands for a decision that was made row by row."""

PART = 50_000
"""Rows that room is made for at a time: each may open a task."""

CHECKS: dict[str, Check] = {
    "max_labels": number(1, 2**31, whole=True, optional=True),
    "idle": number(0.0, 1e12, open_low=True, optional=True),
    "remember": number(0, 2**31, whole=True),
    "budget": number(0, 2**53, whole=True, optional=True),
    "give_up": number(0.0, 1.0, open_low=True, optional=True),
}


class Counts(msgspec.Struct):
    """What the stream did with what it was given; each event is counted once."""

    labels: int = 0
    repeated: int = 0
    """The same label again, which changed nothing."""
    replaced: int = 0
    retracted: int = 0
    skipped: int = 0
    """Workers who were asked and did not answer."""
    late: int = 0
    """Labels for closed tasks, which changed nothing."""
    closed: int = 0
    hard: int = 0
    """Of those, tasks that were given up: more labels were not expected to settle them."""


class GivenVote(NamedTuple):
    """A label of an open task, and what it does to the decision.

    ``effect``: the log-odds of the decided class that it added, against the mean of the others, by
    what is known of its worker now; ``None`` where votes are only counted, and without a decision.
    """

    worker: WorkerId
    label: ClassLabel
    effect: float | None


class UncertainTask(NamedTuple):
    """An open task, how sure its decision was when it last had a label, and of how many labels.

    ``opened``: how many tasks had been opened before it.
    """

    task: TaskId
    confidence: float
    votes: int
    opened: int


class Stream(Savable):
    """Takes labels as they come and decides every task at once.

    A label is identified by its task and worker: the same label again changes nothing, another one
    replaces the first while the task is open, and a label for a closed task is late and changes
    nothing.

    Parameters
    ----------
    crowd
        The estimator that learns from the labels; `Adaptive` if none is given.
    settle
        Close a task once its decision is at least this sure; ``None``: never for that.
    min_labels
        Labels that a task needs to be settled.
    max_labels
        Close a task once it has this many labels.
    idle
        Seconds without a label after which `expire` closes a task.
    remember
        How many closed tasks to know by name. A label for one of them is late; a label for one
        that was forgotten opens it anew.
    budget
        How many labels `next_task` asks for at most.
    give_up
        Close a task as "hard" once the chance that it settles with the labels still allowed
        (`chance_to_settle`) is below this share of a new task's: it needs an expert, and labels
        would be wasted on it. At the earliest when half of ``max_labels`` have come. ``None``:
        never. 0.1 is a start.

    Attributes
    ----------
    counts
        What became of all that it was given.
    bookmark
        Bytes of the caller's, saved and loaded with the stream: how far its input was read, say,
        so that after a restart each label is given once. The stream does not look at them.

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

    _row_by_row = False
    """Whether every label is taken by itself, and not in the compiled loop: tests compare both."""

    def __init__(
        self,
        crowd: Estimator | None = None,
        *,
        settle: float | None = SETTLE,
        min_labels: int = MIN_LABELS,
        max_labels: int | None = None,
        idle: float | None = None,
        remember: int = REMEMBER,
        budget: int | None = None,
        give_up: float | None = None,
    ) -> None:
        if not (crowd is None or isinstance(crowd, Estimator)):
            raise InputError("crowd", "an estimator, such as Adaptive()", shorten(crowd))
        self.crowd = Adaptive() if crowd is None else crowd
        self.settle, self.min_labels = SettleRule.checked(settle, min_labels)
        self.max_labels = max_labels
        self.idle = idle
        self.remember = remember
        self.budget = budget
        self.give_up = give_up
        for name, check in CHECKS.items():
            check(name, getattr(self, name))
        self.counts = Counts()
        self.bookmark = b""
        self._store = TaskStore(int(remember))
        self._tasks = OpenTasks(self.crowd)
        self._loop = RowLoop(self.crowd, self._store)
        self._outlooks = Outlooks(self.crowd)
        self._now = float("-inf")

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return Stream.load, (self.to_bytes(),)

    def __repr__(self) -> str:
        names = ("settle", "max_labels", "idle", "give_up")
        rules = {name: getattr(self, name) for name in names}
        shown = [repr(self.crowd), *(f"{k}={v!r}" for k, v in rules.items() if v is not None)]
        return f"<Stream({', '.join(shown)}): {self.n_open} open, {self.counts.closed} closed>"

    # Events ----------------------------------------------------------------------------------

    def observe(
        self, task: TaskId, worker: WorkerId, label: ClassLabel | None, at: Time = None
    ) -> Decision:
        """Take one label and decide its task.

        Parameters
        ----------
        task, worker
            Their ids.
        label
            What the worker said; ``None`` is a skip.
        at
            When: seconds or a datetime; now if not given.

        Examples
        --------
        >>> Stream().observe("t17", "ann", "spam").label
        'spam'
        """
        task, worker = _named(task, "task"), _named(worker, "worker")
        label = clean_label(label, "label")
        found, made = dict[TaskId, Kept](), dict[TaskId, Decision]()
        self._take_part(Rows([task], [worker], [label], self._time(at), found), made)
        kept = found[task]
        return made[task] if kept is NOT_KEPT else _as_decision(task, kept, self.crowd._classes)

    def observe_many(self, rows: Iterable[Row] | ArrowTable, at: Time = None) -> list[Decision]:
        """Take many labels at once; returns the decisions on their tasks.

        The same as `observe` row by row, to the bit, and many times faster: rows are taken in one
        compiled call as far as nothing else is due. A bad row is refused before any is taken.

        Parameters
        ----------
        rows
            Rows of (task, worker, label), mappings with these keys, or a table of them.
        at
            When: seconds or a datetime; now if not given.

        Examples
        --------
        >>> stream = Stream()
        >>> rows = [("t1", "ann", "spam"), ("t2", "ann", "ham"), ("t1", "bob", "spam")]
        >>> [(decision.task, decision.votes) for decision in stream.observe_many(rows)]
        [('t1', 2), ('t2', 1)]
        """
        now = self._time(at)
        given = rows
        if is_table(rows):
            how = "a Stream holds one; make one per question"
            found = interpret(rows, as_classes=True).only("rows", how)
            scores = fractions(found.table.classes)
            if scores and not fractions(self.crowd.classes_):
                expected = "classes (make some of scores first, such as pass and fail)"
                raise InputError("rows", expected, f"scores, such as {scores[0]}")
            given = found.table.frame().iter_rows()
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise InputError("rows", "rows of (task, worker, label)", shorten(given))
        return self._take_all(*_columns(given), now)

    def _take_all(
        self,
        tasks: list[TaskId],
        workers: list[WorkerId],
        labels: list[ClassLabel | None],
        now: float,
    ) -> list[Decision]:
        """Take labels whose names are clean; the decisions on their tasks after the last of each.

        The crowd takes what it can by itself; what it cannot goes through `_take`.
        """
        found, made = dict[TaskId, Kept](), dict[TaskId, Decision]()
        for at in range(0, len(tasks), PART):
            here = slice(at, at + PART)
            self._take_part(Rows(tasks[here], workers[here], labels[here], now, found), made)
        known = self.crowd._classes
        few = len(found) >= len(known)  # not too many to copy: a list is looked up faster
        classes = known.to_list() if few else known
        return [
            made[task] if kept is NOT_KEPT else _as_decision(task, kept, classes)
            for task, kept in found.items()
        ]

    def _take_part(self, rows: Rows, made: dict[TaskId, Decision]) -> None:
        """Take rows; decisions that the loop did not make by itself are put into ``made``."""
        by_rows, size = self.give_up is None and not self._row_by_row, len(rows.names)
        while rows.at < size:
            at = rows.at
            if by_rows and self._loop.can_run:
                left = self._outlooks.due - self.counts.closed
                self._count(self._loop.take(rows, self._rule, self.max_labels, left), rows.now)
            if rows.at == at:
                task = rows.names[at]
                made[task] = self._take(task, rows.workers[at], rows.labels[at], rows.now)
                rows.found[task] = NOT_KEPT
                rows.at += 1

    def _count(self, taken: Taken, now: float) -> None:
        """Count what became of rows that the loop took by itself."""
        counts = self.counts
        if taken.labels:
            counts.labels += taken.labels
            self._now = now
        counts.repeated += taken.repeated
        counts.late += taken.late
        if taken.closed:
            counts.closed += taken.closed
            self._outlooks.renew_if_due(counts.closed)

    def _take(
        self, task: TaskId, worker: WorkerId, label: ClassLabel | None, now: float
    ) -> Decision:
        """Take one label whose names are clean, whatever it is: new, repeated, replaced, …"""
        store, crowd = self._store, self.crowd
        slot = store.find(task)
        if slot >= 0 and not store.is_open(slot):
            self.counts.late += 1
            return self._kept(slot)
        before = ABSENT if slot < 0 else store.label(slot, crowd._workers.code(worker))
        if label is None and before != ABSENT:
            self.counts.skipped += 1
            return self._decide(slot)
        if before >= 0 and label is not None and before == crowd._classes.code(label):
            self.counts.repeated += 1
            return self._decide(slot)
        coded = self._code(task, slot)
        vote = self._tasks.put(coded, worker, label)
        if label is None:
            self.counts.skipped += 1
        elif before < 0:
            self.counts.labels += 1
        else:
            self.counts.replaced += 1
        slot = self._opened(task, slot, now)
        code = SKIP if label is None else crowd._classes.code(label)
        store.set_place(slot, coded.place, coded.truth)
        store.put(slot, crowd._workers.code(worker), code, now)
        self._now = now
        decision = self._decision(vote, coded)
        store.note(slot, decision.confidence)
        known = coded.truth >= 0
        why = reason(decision.settled and not known, decision.votes, self.max_labels)
        rules = self._rule, self.max_labels, self.give_up
        if why is Reason.OPEN and not known and self._outlooks.is_hard(coded, decision, *rules):
            self.counts.hard += 1
            why = Reason.HARD
        return decision if why is Reason.OPEN else self._close(slot, decision, why, coded)

    def retract(self, task: TaskId, worker: WorkerId) -> Decision:
        """Take back a worker's label on an open task.

        Parameters
        ----------
        task, worker
            Their ids.

        Examples
        --------
        >>> stream = Stream()
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> stream.retract("t1", "ann").votes
        0
        """
        task, worker = _named(task, "task"), _named(worker, "worker")
        slot, store = self._known(task), self._store
        if not store.is_open(slot):
            self.counts.late += 1
            return self._kept(slot)
        code = self.crowd._workers.code(worker)
        label = store.label(slot, code)
        if label == ABSENT:
            raise InputError(f"task {task!r}", "a worker who labelled it", repr(worker))
        if label != SKIP:
            self._tasks.put(store.task(slot), worker, None)
        store.remove(slot, code)
        self.counts.retracted += 1
        decision = self._decide(slot)
        store.note(slot, decision.confidence)
        return decision

    def gold(self, task: TaskId, label: ClassLabel, at: Time = None) -> Decision:
        """Tell the truth of a task: its workers are judged by it once it closes.

        A task whose truth is known stays open for labels. After it has closed nothing changes, and
        it is counted as late.

        Parameters
        ----------
        task
            Its id.
        label
            The true class.
        at
            When: seconds or a datetime; now if not given.

        Examples
        --------
        >>> Stream().gold("t1", "spam").confidence
        1.0
        """
        task = _named(task, "task")
        truth = clean_label(label, "gold")
        if truth is None:
            raise InputError("gold", "str, int or bool", repr(label))
        now = self._time(at)
        slot = self._store.find(task)
        if slot >= 0 and not self._store.is_open(slot):
            self.counts.late += 1
            return self._kept(slot)
        coded = self._code(task, slot)
        self._tasks.put_truth(coded, truth)
        slot = self._opened(task, slot, now)
        self._store.set_place(slot, coded.place, coded.truth)
        return self._decide(slot)

    def offer(self, tasks: Iterable[TaskId], at: Time = None) -> None:
        """Open tasks before they have a label, so that `next_task` can choose them.

        Parameters
        ----------
        tasks
            Their ids; those already known stay as they are.
        at
            When: seconds or a datetime; now if not given.

        Examples
        --------
        >>> stream = Stream()
        >>> stream.offer(["t1", "t2"])
        >>> stream.open_tasks
        ['t1', 't2']
        """
        now = self._time(at)
        if isinstance(tasks, (str, bytes)) or not isinstance(tasks, Iterable):
            raise InputError("tasks", "ids of tasks, such as a list", shorten(tasks))
        for task in tasks:
            name = _named(task, "task")
            if self._store.find(name) < 0:
                self._opened(name, -1, now)

    def close(self, task: TaskId) -> Decision:
        """Close a task by hand and decide it for good.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> stream = Stream()
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> stream.close("t1").closed
        'closed'
        """
        slot = self._known(_named(task, "task"))
        if not self._store.is_open(slot):
            return self._kept(slot)
        return self._close(slot, self._decide(slot), Reason.CLOSED)

    def expire(self, at: Time = None) -> list[Decision]:
        """Close the tasks that have had no label for ``idle`` seconds.

        Parameters
        ----------
        at
            The time now: seconds or a datetime; the clock's if not given.

        Examples
        --------
        >>> stream = Stream(idle=60)
        >>> _ = stream.observe("t1", "ann", "spam", at=0)
        >>> [decision.closed for decision in stream.expire(at=61)]
        ['idle']
        """
        now, store = self._time(at), self._store
        decisions = []
        while self.idle is not None and self.n_open:
            slot, last = store.longest_idle()
            if last + self.idle > now:
                break
            decisions.append(self._close(slot, self._decide(slot), Reason.IDLE))
        return decisions

    def end(self) -> list[Decision]:
        """Close all open tasks, in the order they were opened: no more labels will come.

        Examples
        --------
        >>> stream = Stream()
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> [decision.closed for decision in stream.end()]
        ['end']
        """
        slots = self._store.as_opened()
        return [self._close(slot, self._decide(slot), Reason.END) for slot in slots]

    # Questions: none of them changes anything ------------------------------------------------

    def decision(self, task: TaskId) -> Decision:
        """Return what would be decided of a task now, or was when it closed.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> stream = Stream()
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> stream.decision("t1").label
        'spam'
        """
        slot = self._known(_named(task, "task"))
        return self._decide(slot) if self._store.is_open(slot) else self._kept(slot)

    def decisions_on_closed(self, tasks: Iterable[TaskId]) -> dict[TaskId, Decision]:
        """Return the decisions on those of some tasks that are remembered as closed, by task.

        Parameters
        ----------
        tasks
            Their ids.

        Examples
        --------
        >>> stream = Stream(max_labels=1)
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> [(task, one.label) for task, one in stream.decisions_on_closed(["t1", "t2"]).items()]
        [('t1', 'spam')]
        """
        names: list[Any] = list(tasks)
        if not are_usual(names):
            names = [_named(task, "task") for task in names]
        found, classes = self._store.find_closed(names), self.crowd._classes
        return {task: _as_decision(task, kept, classes) for task, kept in found.items()}

    def more_labels_needed(self, task: TaskId, *, settle: float | None = None) -> float:
        """Return how many labels a task is expected to need until it is settled; 0 if it is.

        By how hard the task looks from its own labels, for workers as good as the crowd's average.
        With ``max_labels``, how many are expected to come until it is settled or full. Without, how
        many it takes if it settles; inf if within 100 labels it likely does not. Confidence
        may never get there: where errors are correlated each label adds less than the one before.

        Parameters
        ----------
        task
            Its id.
        settle
            Another confidence than the stream's own.

        Examples
        --------
        >>> stream = Stream(settle=0.95)
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> stream.more_labels_needed("t1") > 1
        True
        """
        ahead = self._outlook(task, self._goal(settle))
        if ahead is None:
            return 0.0
        if self.max_labels is not None:
            return round(ahead.labels, 1)
        return round(ahead.settled, 1) if ahead.chance >= 0.5 else math.inf

    def chance_to_settle(self, task: TaskId, *, settle: float | None = None) -> float:
        """Return how likely a task is to settle with the labels that ``max_labels`` still allows.

        Without ``max_labels``, with 100 more. 1 for a settled task, 0 for one that has closed
        without being settled.

        Parameters
        ----------
        task
            Its id.
        settle
            Another confidence than the stream's own.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.Adaptive().fit(cs.simulate(10, 300, p=0.25).labels())
        >>> stream = cs.Stream(crowd, settle=0.95, max_labels=6)
        >>> for worker, label in (("w0", "1"), ("w1", "0")):
        ...     _ = stream.observe("torn", worker, label)
        >>> _ = stream.observe("begun", "w0", "1")
        >>> stream.chance_to_settle("torn") < 0.5 < stream.chance_to_settle("begun")
        True
        """
        ahead = self._outlook(task, self._goal(settle))
        return float(self.decision(task).settled) if ahead is None else round(ahead.chance, 3)

    def _goal(self, settle: float | None) -> SettleRule:
        """Return when a task is settled, at the stream's own confidence or another."""
        goal = self.settle if settle is None else settle
        if goal is None:
            raise InputError("settle", "a confidence, here or in the stream", "none")
        return SettleRule.checked(goal, self.min_labels)

    def _outlook(self, task: TaskId, rule: SettleRule) -> Outlook | None:
        """Return the outlook of a task; ``None`` if it takes no more labels."""
        slot, store = self._known(_named(task, "task")), self._store
        if not store.is_open(slot) or store.truth(slot) >= 0:
            return None
        coded = store.task(slot) if store.is_known(slot) else None
        return self._outlooks.of(coded, rule, self.max_labels)

    def next_task(self, worker: WorkerId) -> TaskId | None:
        """The open task on which this worker's label would tell most; ``None`` if none is left.

        That is the expected information about the task's class, from how sure the decision was
        when it last had a label and how good the worker is. With a ``budget``, ``None`` once it is
        spent. Looks at every open task.

        Parameters
        ----------
        worker
            Its id.

        Examples
        --------
        >>> stream = Stream(settle=None, budget=100)
        >>> stream.offer(["t1", "t2"])
        >>> for worker in ("ann", "bob", "cy"):
        ...     _ = stream.observe("t1", worker, "spam")
        >>> stream.next_task("di")  # t1 is clear
        't2'
        """
        worker = _named(worker, "worker")
        if self.budget_left == 0:
            return None
        code, gains = self.crowd._workers.code(worker), gains_for(self.crowd, worker)
        best = self._store.best_for(code, gains)
        return None if best < 0 else self._store.name(best)

    def votes(self, task: TaskId) -> list[GivenVote]:
        """The labels of an open task in the order they came, and what each added to the decision.

        A closed task has none: it has given their memory back.

        Parameters
        ----------
        task
            Its id.

        Examples
        --------
        >>> import crowdstream as cs
        >>> crowd = cs.Adaptive().fit(cs.simulate(10, 300, p=0.25).labels())
        >>> stream = cs.Stream(crowd, settle=None)
        >>> for worker, label in (("w0", "1"), ("w1", "0"), ("w2", "1")):
        ...     _ = stream.observe("t1", worker, label)
        >>> [(vote.worker, vote.label, vote.effect > 0) for vote in stream.votes("t1")]
        [('w0', '1', True), ('w1', '0', False), ('w2', '1', True)]
        """
        slot = self._known(_named(task, "task"))
        if not self._store.is_open(slot) or not self._store.votes(slot):
            return []
        coded, decided = self._store.task(slot), self._decide(slot).label
        effects = None if decided is None else self._tasks.effects(coded, decided)
        pairs = zip(coded.workers.tolist(), coded.labels.tolist(), strict=True)
        workers, classes = self.crowd._workers, self.crowd._classes
        return [
            GivenVote(workers[i], classes[x], None if effects is None else effect)
            for (i, x), effect in zip(pairs, effects or [0.0] * coded.size, strict=True)
        ]

    def most_uncertain(self, n: int, after: UncertainTask | None = None) -> list[UncertainTask]:
        """The ``n`` open tasks whose decisions are least sure, by what was decided last.

        Tasks without a label and those whose truth is known are left out.

        Parameters
        ----------
        n
            How many at most.
        after
            The last one of the page before, whatever became of it since.

        Examples
        --------
        >>> stream = Stream(settle=None)
        >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "spam"), ("t2", "ann", "ham")]
        >>> _ = stream.observe_many(rows)
        >>> page = stream.most_uncertain(1)
        >>> page[0].task, [one.task for one in stream.most_uncertain(1, after=page[-1])]
        ('t2', ['t1'])
        """
        check_number("n", n, 1, 2**31, whole=True)
        page = None if after is None else (after.confidence, after.opened)
        found = self._store.least_sure(n, page)
        name = self._store.name
        return [UncertainTask(name(slot), sure, votes, at) for slot, sure, votes, at in found]

    @property
    def budget_left(self) -> int | None:
        """Labels that `next_task` may still ask for; ``None`` without a budget."""
        return None if self.budget is None else max(self.budget - self.counts.labels, 0)

    @property
    def n_open(self) -> int:
        """Return how many tasks take labels."""
        return len(self._store)

    @property
    def open_tasks(self) -> list[TaskId]:
        """The tasks that take labels, the longest idle first."""
        return self._store.names(self._store.open_slots())

    @property
    def closed_tasks(self) -> list[TaskId]:
        """The tasks that are remembered as closed, the longest closed first."""
        return self._store.names(self._store.closed_slots())

    # Saving ----------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The whole stream as bytes: crowd, rules, open tasks, counts. `load` goes on from it.

        Examples
        --------
        >>> stream = Stream()
        >>> _ = stream.observe("t1", "ann", "spam")
        >>> Stream.load(stream.to_bytes()).open_tasks
        ['t1']
        """
        return saving.to_bytes(self)

    @classmethod
    def load(cls, source: bytes | str | Path) -> Self:
        """A stream as it was when it was saved, to go on from there.

        Parameters
        ----------
        source
            The path that `save` was given, or what `to_bytes` returned.

        Examples
        --------
        >>> Stream.load(Stream(max_labels=5).to_bytes())
        <Stream(Adaptive(), settle=0.95, max_labels=5): 0 open, 0 closed>
        """
        return saving.load(cls, source)

    # Inside ----------------------------------------------------------------------------------

    @property
    def _rule(self) -> SettleRule:
        return SettleRule(self.settle, self.min_labels)

    def _time(self, at: Time) -> float:
        """Return when an event happened; the stream's time never runs backwards."""
        if at is None:
            at = time.time()
        elif isinstance(at, datetime.datetime):
            at = at.timestamp()
        elif isinstance(at, bool) or not isinstance(at, numbers.Real) or not math.isfinite(at):
            raise InputError("at", "seconds or a datetime", repr(at))
        return max(self._now, float(at))

    def _known(self, task: TaskId) -> int:
        """The slot of a task that was opened and is not forgotten."""
        slot = self._store.find(task)
        if slot < 0:
            raise InputError("task", "a task that was opened", repr(task))
        return slot

    def _kept(self, slot: int) -> Decision:
        """The decision on a closed task."""
        return _as_decision(self._store.name(slot), self._store.kept(slot), self.crowd._classes)

    def _opened(self, task: TaskId, slot: int, now: float) -> int:
        """The slot of a task that is open, or (−1) is opened now."""
        if slot < 0:
            slot, self._now = self._store.open(task, now), now
        return slot

    def _code(self, task: TaskId, slot: int) -> OpenTask:
        """Return what the crowd knows of a task that has, or is to have, a label or a truth."""
        return self._store.task(slot) if self._store.is_known(slot) else self._tasks.open(task)

    def _decide(self, slot: int) -> Decision:
        """Return what the crowd says of an open task by what was learnt of all others."""
        if not self._store.is_known(slot):
            vote = Vote(None, 0.0, 0.0, bool(self.crowd.identifiable_))
            return make_decision(self._store.name(slot), vote, 0, self._rule)
        coded = self._store.task(slot)
        return self._decision(self._tasks.vote(coded), coded)

    def _decision(self, vote: Vote, task: OpenTask) -> Decision:
        """What a vote makes of an open task; newcomers help to decide it, not to settle it."""
        gold = None if task.truth < 0 else self.crowd._classes[task.truth]
        known = partial(self._tasks.vote_known, task)
        return make_decision(task.name, vote, task.size, self._rule, gold=gold, by_known=known)

    def _close(
        self, slot: int, decision: Decision, why: Reason, coded: OpenTask | None = None
    ) -> Decision:
        """Learn what is left to learn, keep the decision, give the labels' memory back."""
        store = self._store
        if coded is None and store.is_known(slot):
            coded = store.task(slot)
        if coded is not None:
            self._tasks.close(coded)
        decision = msgspec.structs.replace(decision, closed=why.word)
        label = UNKNOWN if decision.label is None else self.crowd._classes.code(decision.label)
        flags = SETTLED_FLAG * decision.settled + IDENTIFIED_FLAG * decision.identifiable
        sure = decision.confidence, decision.margin
        store.close(slot, (label, *sure, decision.votes, flags, int(why)))
        self.counts.closed += 1
        self._outlooks.renew_if_due(self.counts.closed)
        return decision


def load(source: bytes | str | Path) -> Estimator | Stream | Questions:
    """Load an estimator, a stream or several questions as they were saved, whichever it is.

    Parameters
    ----------
    source
        A path, or bytes.

    Examples
    --------
    >>> import crowdstream as cs
    >>> cs.load(cs.Adaptive(memory=1000).to_bytes())
    Adaptive(memory=1000)
    >>> cs.load(cs.Stream(max_labels=7).to_bytes()).max_labels
    7
    """
    try:
        data = read_state(source)
        kind = kind_of(data)
        if kind == QUESTIONS:
            return Questions.load(data)
        return Stream.load(data) if kind == saving.SAVED_AS else Estimator.load(data)
    except StateError as error:
        if isinstance(source, (str, Path)) and str(source) not in str(error):
            raise StateError(f"{source}: {error}") from None
        raise
    except Exception as error:  # a good checksum over parts that do not fit: nobody saved that
        where = f"{source}: " if isinstance(source, (str, Path)) else ""
        raise StateError(f"{where}a saved state whose parts do not fit: {error}") from None


def _as_decision(task: TaskId, kept: Kept, classes: Vocabulary | list[ClassLabel]) -> Decision:
    """A decision as the columns have it."""
    winner, confidence, margin, votes, flags, state = kept
    return Decision(
        task,
        None if winner < 0 else classes[winner],
        confidence,
        margin,
        votes,
        flags & SETTLED_FLAG != 0,
        flags & IDENTIFIED_FLAG != 0,
        WORDS[state],
    )


def _columns(
    rows: Iterable[Row],
) -> tuple[list[TaskId], list[WorkerId], list[ClassLabel | None]]:
    """Tasks, workers and labels of rows, checked."""
    rows = rows if isinstance(rows, list) else list(rows)
    usual = usual_columns(rows)
    if usual is not None:
        return usual
    tasks, workers, labels = list[TaskId](), list[WorkerId](), list[ClassLabel | None]()
    for place, row in enumerate(rows, start=1):
        task, worker, label = row_values(row, place)
        if task is None or worker is None:
            what = "task" if task is None else "worker"
            raise InputError(f"row {place}, column {what!r}", "str or int", "nothing")
        tasks.append(task)
        workers.append(worker)
        labels.append(label)
    return tasks, workers, labels


def _named(value: object, what: str) -> str | int:
    name = clean_id(value, what)
    if name is None:
        raise InputError(what, "str or int", repr(value))
    return name
