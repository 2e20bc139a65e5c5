"""`Project`: one stream with its settings and counts. Events in, decisions out.

What is applied is noted in ``events``, ``closed`` and ``answers`` until it is on the disk; to apply
the events again to the state before gives the same state, to the bit. Knows nothing of requests,
threads or how things are stored. Asking changes nothing.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
import numpy as np

from crowdstream.decisions.decision import Decision
from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel
from crowdstream.labels.spelling import normalise
from crowdstream.methods import make_estimator
from crowdstream.metrics.expected import Doubt
from crowdstream.serve import asking, log_events
from crowdstream.serve.closed_index import ClosedIndex
from crowdstream.serve.label_rules import LabelRules, Where, check_settings
from crowdstream.serve.log_events import Event, Row
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.store import ClosedTask
from crowdstream.serve.tool_table import ToolChanges
from crowdstream.serve.wire import Class, LabelIn, LabelsOut, Settings, seconds, text
from crowdstream.stream.stream import Stream

MOST_LABELS = 50_000
"""Labels that one request may have: they are taken in one go, and others wait for it."""

REMEMBER = 2 * MOST_LABELS
"""Closed tasks that a stream knows by itself: more than can close in one request, so that none of
its labels can open a task anew. Those before are looked up in the store."""

AHEAD = 300.0
"""Seconds that a label's time may be ahead of the clock: clocks differ. The stream's time never
runs backwards, so a time far ahead would make every open task idle."""

RECENT = 50
"""Decisions that a project has at hand for those who watch."""

RULES = ("settle", "min_labels", "max_labels", "idle", "give_up")
"""Settings that may change at any time."""

FIXED = ("method", "memory", "threshold", "question")
"""Settings that labels were counted by, so they stay once there are some."""


class State(msgspec.Struct):
    """What a project counts beside its stream; saved with it."""

    late: int = 0
    reasons: dict[str, int] = {}
    """Closed tasks by why they were closed."""
    used: int = 0
    """Labels of closed tasks."""
    doubt: Doubt = Doubt()
    gold_tasks: int = 0
    """Tasks that had been decided before their truth was told."""
    gold_wrong: int = 0
    gold_expected: float = 0.0
    truths: dict[str, ClassLabel] = {}
    """What is known to be true of open tasks."""


def make_stream(settings: Settings) -> Stream:
    """A new stream as the settings ask for it."""
    crowd = make_estimator(settings.method, memory=settings.memory, monitored=True)
    rules: dict[str, Any] = {name: getattr(settings, name) for name in RULES}
    return Stream(crowd, remember=REMEMBER, **rules)


class Project:
    """One project, held by the engine.

    Parameters
    ----------
    id, name, created
        Its number in the store, its name, when it was made.
    settings
        How it decides.
    look_up
        Reads some of the closed tasks of a row of the store, by their offsets.
    """

    def __init__(
        self,
        id: int,  # noqa: A002
        name: str,
        settings: Settings,
        created: float,
        look_up: Callable[[int, Iterable[int]], list[ClosedTask]],
    ) -> None:
        self.id, self.name, self.created = id, name, created
        self.settings = settings
        self.stream = make_stream(settings)
        self.state = State()
        self.index = ClosedIndex()
        self.events: list[Event] = []
        self.closed: dict[str, ClosedTask] = {}
        self.new_settings: bytes | None = None
        self.answers = ToolChanges()
        """What annotation tools have told."""
        self.version = 0
        self.recent: deque[tuple[int, Decision]] = deque(maxlen=RECENT)
        """The latest decisions, numbered."""
        self._look_up = look_up
        self._rules = self._label_rules(settings)

    def _label_rules(self, settings: Settings) -> LabelRules:
        return LabelRules(settings, lambda: self.stream.crowd.classes_)

    # Events ----------------------------------------------------------------------------------

    def observe(self, labels: list[LabelIn], now: float, *, single: bool = False) -> LabelsOut:
        """Take labels: a single one as `Stream.observe` does, others as `Stream.observe_many`."""
        late = 0
        parts: list[list[Decision]] = []
        labels = self._rules.many(labels, lambda place: _root(place, single))
        for at, rows in self._runs(labels, now, single):
            found, number = self._take(at, rows, single)
            parts += found
            late += number
        decisions: Any = parts[0] if len(parts) == 1 else _latest(parts)
        return LabelsOut(len(labels) - late, late, decisions)

    def _take(self, at: float, rows: list[Row], single: bool) -> tuple[list[list[Decision]], int]:
        """Take rows of one time; returns decisions, and how many were late."""
        parts: list[list[Decision]] = []
        late = 0
        gone = self._closed_among({row[0] for row in rows})
        if gone:
            past = [row for row in rows if row[0] in gone]
            rows = [row for row in rows if row[0] not in gone]
            self._do(log_events.Late(at, past))
            parts.append(list(gone.values()))
            late += len(past)
        if rows:
            before = self.stream.counts.late
            parts.append(self._do(log_events.Labels(at, rows, single)))
            late += self.stream.counts.late - before
        return parts, late

    def observe_each(self, labels: list[LabelIn], now: float) -> list[LabelsOut]:
        """Take single labels of different tasks and without times, each as `admit` gave it.

        The same as `observe` one by one, to the bit, since that is what `Stream.observe_many`
        promises; at a fraction of the cost.
        """
        rows = _rows(labels)
        gone = self._closed_among([row[0] for row in rows])
        past = [row for row in rows if row[0] in gone]
        if past:
            self._do(log_events.Late(now, past))
            rows = [row for row in rows if row[0] not in gone]
        found = self._do(log_events.Labels(now, rows)) if rows else []
        decided: dict[Any, Any] = gone | {decision.task: decision for decision in found}
        tasks = [text(one.task) for one in labels]
        return [LabelsOut(1 - (task in gone), int(task in gone), [decided[task]]) for task in tasks]

    def admit(self, labels: list[LabelIn], where: Where = lambda _: "$") -> list[LabelIn]:
        """Return labels as they are to be counted; refuse what the project does not take."""
        return self._rules.many(labels, where)

    def decided(self, labels: list[LabelIn]) -> LabelsOut:
        """The decisions on the tasks of labels that were taken before; changes nothing."""
        tasks = dict.fromkeys(text(one.task) for one in labels)
        gone = self._closed_among(tasks)
        found: Any = [gone.get(task) or self.stream.decision(task) for task in tasks]
        return LabelsOut(len(labels), 0, found)

    def retract(self, task: str, worker: str, now: float) -> Decision:
        """Take a label back."""
        if gone := self._closed_among([task]):
            self._do(log_events.Late(now, [(task, worker, None)]))
            return gone[task]
        return self._do(log_events.Retract(now, task, worker))[0]

    def gold(self, task: str, truth: ClassLabel | float, now: float) -> Decision:
        """Take the truth of a task; if it was decided before, see whether that was right."""
        label = self._rules.one(LabelIn(task, "", truth))
        assert label is not None
        return self._gold(task, label, now)

    def _gold(self, task: str, label: ClassLabel, now: float) -> Decision:
        gone = self._closed_among([task])
        said = gone.get(task)
        if said is None and task not in self.state.truths:
            said = asking.open_decision(self.stream, task)
        check = None
        if said is not None and said.label is not None:
            check = (type(said.label) is not type(label) or said.label != label, said.confidence)
        found = self._do(log_events.Gold(now, task, label, bool(gone), check))
        return found[0] if found else gone[task]

    def close(self, task: str, now: float) -> Decision:
        """Close a task by hand."""
        if gone := self._closed_among([task]):
            return gone[task]
        return self._do(log_events.Close(now, task))[0]

    def offer(self, tasks: list[str], now: float) -> int:
        """Open tasks before they have a label; those that are known stay as they are."""
        gone = self._closed_among(tasks)
        new = [task for task in tasks if task not in gone]
        if new:
            self._do(log_events.Offer(now, new))
        return self.stream.n_open

    def expire(self, now: float) -> None:
        """Close tasks that were idle for too long."""
        if self.settings.idle is None:
            return
        event = log_events.Expire(now)
        if self._apply(event):
            self.events.append(event)
            self.version += 1

    def change(self, settings: Settings, now: float, *, told: str = "") -> None:
        """Take new settings; refused where they would change what was learnt.

        ``told``: the question that annotation tools have answered here, if they have.
        """
        if settings == self.settings:
            return
        if self.stream.counts.labels or self.stream.n_open or self.stream.counts.closed:
            for name in FIXED:
                old, new = getattr(self.settings, name), getattr(settings, name)
                if name == "question":
                    old = old or told or new  # what had no name may get one
                    if new and normalise(new) == normalise(old):
                        continue
                if new != old:
                    raise ProblemError(
                        409,
                        f"{name} cannot change once there are labels: make another project",
                        path=f"$.{name}",
                        expected=str(old),
                        got=str(new),
                    )
        check_settings(settings)
        make_stream(settings)  # or it says what is wrong
        packed = msgspec.msgpack.encode(settings)
        self._do(log_events.Rules(now, packed))
        self.new_settings = packed

    def again(self, event: Event) -> None:
        """Do what an event says where some of what came before it is gone.

        So a task may be open that had closed by then, or the other way round: labels that came too
        late may count now, and others be late.
        """
        with contextlib.suppress(InputError):  # what it is about is not there any more
            match event:
                case log_events.Labels(at, rows, one):
                    self._take(at, rows, one)
                case log_events.Late(at, rows):
                    for row in rows:
                        self._late_again(at, row)
                case log_events.Retract(at, task, worker):
                    self.retract(task, worker, at)
                case log_events.Gold(at, task, label):
                    self._gold(task, label, at)
                case log_events.Close(at, task):
                    self.close(task, at)
                case log_events.Offer(at, tasks):
                    self.offer(tasks, at)
                case log_events.Expire(at):
                    self.expire(at)
                case log_events.Rules():
                    self._do(event)

    def _late_again(self, at: float, row: Row) -> None:
        """Take a label, or a retraction, that came when its task had closed."""
        task, worker, label = row
        if label is not None or self._closed_among([task]):
            self._take(at, [row], True)
        else:
            self.retract(task, worker, at)

    def replay(self, events: Iterable[Event]) -> None:
        """Do again what is in the log, after a start."""
        for event in events:
            self._apply(event)
            self.version += 1
        self.closed.clear()

    def _do(self, event: Event) -> list[Decision]:
        found = self._apply(event)
        self.events.append(event)
        self.version += 1
        return found

    def _apply(self, event: Event) -> list[Decision]:
        """What an event does to the stream and the counts; the same each time it is done."""
        stream, found = self.stream, list[Decision]()
        match event:
            case log_events.Labels(at, rows, one):
                if one:
                    found = [stream.observe(*rows[0], at=at)]
                else:
                    found = stream.observe_many(rows, at=at)
            case log_events.Late(_, rows):
                self.state.late += len(rows)
            case log_events.Retract(_, task, worker):
                found = [stream.retract(task, worker)]
            case log_events.Gold():
                found = self._tell(event)
            case log_events.Close(_, task):
                found = [stream.close(task)]
            case log_events.Offer(at, tasks):
                stream.offer(tasks, at=at)
            case log_events.Expire(at):
                found = stream.expire(at=at)
            case log_events.Rules(_, packed):
                self._rule(msgspec.msgpack.decode(packed, type=Settings))
        self._count(found, event.at)
        return found

    def _tell(self, event: log_events.Gold) -> list[Decision]:
        if event.check is not None:
            wrong, confidence = event.check
            self.state.gold_tasks += 1
            self.state.gold_wrong += wrong
            self.state.gold_expected += 1.0 - confidence
        if event.late:
            self.state.late += 1
            return []
        self.state.truths[event.task] = event.label
        return [self.stream.gold(event.task, event.label, at=event.at)]

    def _rule(self, settings: Settings) -> None:
        old = self.settings
        self.settings, self._rules = settings, self._label_rules(settings)
        if (old.method, old.memory) != (settings.method, settings.memory):
            self.stream = make_stream(settings)  # nothing was learnt yet
        for name in RULES:
            setattr(self.stream, name, getattr(settings, name))

    def _count(self, decisions: list[Decision], at: float) -> None:
        """Count the tasks that have closed, and note them for the store."""
        closed = [one for one in decisions if one.closed is not None]
        if not closed:
            return
        if self.closed:
            closed = [one for one in closed if one.task not in self.closed]
        state = self.state
        latest = closed[-RECENT:]
        self.recent.extend(enumerate(latest, self.stream.counts.closed - len(latest)))
        for why, count in Counter([one.closed for one in closed]).items():
            reason = str(why)
            state.reasons[reason] = state.reasons.get(reason, 0) + count
        state.used += sum([one.votes for one in closed])
        for one in closed if state.truths else ():
            state.truths.pop(str(one.task), None)
        self.closed.update({str(one.task): ClosedTask(one, at) for one in closed})
        sure = np.array([one.confidence for one in closed if one.label is not None])
        state.doubt = state.doubt.plus(Doubt.of(sure))

    # What is known of closed tasks -----------------------------------------------------------

    @property
    def unwritten(self) -> bool:
        """Whether something is noted that is not on the disk."""
        return bool(self.events or self.answers)

    def written(self, rows: list[int], most: int) -> None:
        """What was noted is on the disk, closed tasks in these rows of at most so many each."""
        names = list(self.closed)
        for number, row in enumerate(rows):
            first = number * most
            self.index.add(names[first : first + most], row)
        self.events, self.new_settings, self.answers = [], None, ToolChanges()
        self.closed.clear()

    def know_closed(self, rows: Iterable[tuple[int, list[str]]]) -> None:
        """All tasks that have closed, by their rows, after a start."""
        self.index.load(rows)

    def closed_task(self, task: str) -> ClosedTask | None:
        """A closed task by its name."""
        if task in self.closed:
            return self.closed[task]
        return self._stored(self.index.find([task])).get(task)

    def _closed_among(self, tasks: Iterable[str]) -> dict[str, Decision]:
        """Of some tasks, the decisions on those that have closed."""
        names = list(tasks)
        found: dict[Any, Decision] = self.stream.decisions_on_closed(names)
        rest = [name for name in names if name not in found] if found else names
        if not self.closed.keys().isdisjoint(rest):
            found |= {name: self.closed[name].decision for name in rest if name in self.closed}
            rest = [name for name in rest if name not in found]
        places = self.index.find(rest)  # of tasks that the stream has forgotten
        found |= {name: task.decision for name, task in self._stored(places).items()}
        return found

    def _stored(self, places: dict[str, list[tuple[int, int]]]) -> dict[str, ClosedTask]:
        """Closed tasks from where they may be: names may share a hash, so the name decides."""
        by_row: dict[int, list[int]] = {}
        for where in places.values():
            for row, offset in where:
                by_row.setdefault(row, []).append(offset)
        found = (task for row, offsets in by_row.items() for task in self._look_up(row, offsets))
        every = {str(task.decision.task): task for task in found}
        return {name: every[name] for name in places if name in every}

    # Labels as they come in ------------------------------------------------------------------

    def _runs(
        self, labels: list[LabelIn], now: float, single: bool
    ) -> list[tuple[float, list[Row]]]:
        """Rows by their time: neighbours of the same time are taken together."""
        times = [one.at for one in labels]
        if times.count(None) == len(times):
            return [(now, _rows(labels))]
        runs: list[tuple[float, list[Row]]] = []
        for place, one in enumerate(labels):
            at = seconds(one.at)
            if at is None:
                at = now
            elif not -1e12 < at <= now + AHEAD:
                expected = f"seconds since 1970, at most {AHEAD:.0f} ahead of the clock"
                path, got = f"{_root(place, single)}.at", str(one.at)
                detail = f"at: expected {expected}"
                raise ProblemError(422, detail, path=path, expected=expected, got=got)
            if not runs or runs[-1][0] != at:
                runs.append((at, []))
            runs[-1][1].append((text(one.task), text(one.worker), cast("Class | None", one.label)))
        return runs


def _rows(labels: list[LabelIn]) -> list[Row]:
    """Labels as a stream takes them; thousands at a time, so what can be done at once is."""
    tasks, workers = [one.task for one in labels], [one.worker for one in labels]
    if {*map(type, tasks), *map(type, workers)} - {str}:
        tasks, workers = list(map(text, tasks)), list(map(text, workers))
    rows = zip(tasks, workers, [one.label for one in labels], strict=True)
    return cast("list[Row]", list(rows))


def _latest(parts: list[list[Decision]]) -> list[Decision]:
    """The latest decision on each task."""
    return list({decision.task: decision for part in parts for decision in part}.values())


def _root(place: int, single: bool) -> str:
    """Where in what was sent a label is."""
    return "$" if single else f"$[{place}]"
