"""The compiled stream loop and the rule in Python decide and learn alike, to the bit.

A program is a list of calls, drawn from a seed. Two streams run it: one lets the loop take what it
can, the other takes every label by the rule in Python (``_row_by_row``). After each call the
decisions are compared, and now and then everything that is saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream import checks
from crowdstream.errors import InputError

Row = tuple[cs.TaskId, cs.WorkerId, cs.ClassLabel | None]
Call = Callable[[cs.Stream], object]

KINDS = [
    kind
    for kind in cs.Estimator._kinds.values()
    if issubclass(kind, cs.Estimator)
    and kind.__module__.startswith("crowdstream.")
    and kind is not cs.DictEstimator  # a base
]
"""Every estimator of the package; a new one is compared by existing."""

WITH_A_LOOP: list[type[cs.Estimator]] = [cs.Adaptive]
"""Those that have a compiled loop: of them it is tested that the loop takes nearly all rows."""

BY_HAND = 0.03
"""Share of calls that are events of one kind, where a situation has that kind."""

SAVED_EVERY = 25
"""Calls after which all that is saved is compared: packing takes as long as some ten rows."""


class Situation(NamedTuple):
    """What a stream may meet: its rules, its crowd, and the events beside labels."""

    rules: dict[str, float | int | None]
    classes: int = 2
    workers: int = 9
    window: int = 12
    """Tasks that labels come for side by side."""
    labels: float = 5.0
    """Labels for a task before the window moves past it, on average."""
    right: tuple[float, float] = (0.45, 0.95)
    """How often the worst and the best worker are right."""
    events: tuple[str, ...] = ()
    """Kinds of calls beside `observe` and `observe_many`; see `_event`."""
    odd: float = 0.02
    """Share of rows each that are skips, repeat an earlier row, replace or come late."""
    rows: int = 300
    batch: int = 40
    """Rows that are given at once, at most."""


OPEN: dict[str, float | int | None] = {"settle": None}
USUAL: dict[str, float | int | None] = {"settle": 0.9, "max_labels": 6}

SITUATIONS = {
    "usual": Situation(USUAL),
    "one task after another": Situation(USUAL, window=1, odd=0.0),
    "never closed": Situation(OPEN, classes=3),
    "closed by the first label": Situation({"settle": None, "max_labels": 1}, window=30),
    "settled by one label": Situation({"settle": 0.5, "min_labels": 1}),
    "ties": Situation(
        {"settle": 0.6, "max_labels": 4}, workers=2, right=(0.5, 0.5), labels=2.0, odd=0.0
    ),
    "ties of three classes": Situation(
        {"settle": 0.9, "max_labels": 6}, classes=3, workers=6, right=(1 / 3, 1 / 3)
    ),
    "nothing remembered": Situation({**USUAL, "remember": 0}, events=("late", "end")),
    "three remembered": Situation({**USUAL, "remember": 3}, events=("late", "end")),
    "gold": Situation(USUAL, classes=3, events=("gold first", "gold", "close", "end")),
    "much gold": Situation(
        {"settle": 0.9, "max_labels": 4},
        events=("gold first", "gold", "gold", "gold", "gold", "gold"),
        rows=500,
    ),
    "odd labels": Situation(USUAL, classes=3, odd=0.12, events=("retract", "retract", "late")),
    "idle": Situation(
        {**USUAL, "idle": 20.0}, events=("expire", "offer", "close", "retract"), labels=3.0
    ),
    "saved": Situation(USUAL, classes=3, events=("saved", "retract", "gold", "end"), odd=0.05),
    "newcomers": Situation(USUAL, workers=200, window=6),
    "many classes": Situation({"settle": 0.8, "max_labels": 5}, classes=40, rows=200),
    "very many classes": Situation(
        {"settle": 0.8, "max_labels": 5}, classes=160, rows=250, events=("gold", "retract")
    ),
    "everything": Situation(
        {"settle": 0.9, "max_labels": 7, "idle": 60.0, "remember": 20},
        classes=3,
        odd=0.05,
        events=(
            "gold first", "gold", "retract", "close", "expire", "offer", "late", "saved", "end",
        ),
    ),
}  # fmt: skip


class Program:
    """Calls drawn from a seed; none hangs on what a stream answers."""

    def __init__(self, how: Situation, seed: int) -> None:
        self.how = how
        self.rng = np.random.default_rng(seed)
        self.skill = np.linspace(*how.right, how.workers)
        self.given: list[Row] = []
        self.calls: list[tuple[str, Call]] = []
        while len(self.given) < how.rows:
            self._add()

    @property
    def task(self) -> int:
        """A task that labels come for now."""
        return int(len(self.given) / self.how.labels) + int(self.rng.integers(self.how.window))

    def name(self, task: int) -> cs.TaskId:
        """Names are text or whole numbers."""
        return task if task % 3 == 0 else f"t{task}"

    def said(self, task: int, worker: int) -> cs.ClassLabel:
        """A label that is right as often as the worker is; odd tasks have the other class."""
        truth = task % self.how.classes
        if self.rng.random() < self.skill[worker]:
            return f"c{truth}"
        return f"c{(truth + 1 + int(self.rng.integers(self.how.classes - 1))) % self.how.classes}"

    def row(self) -> Row:
        """The next label; now and then a skip, one that came before, or another in its place."""
        task, worker = self.task, int(self.rng.integers(self.how.workers))
        odd = int(self.rng.random() / self.how.odd) if self.how.odd else 9
        if self.given and odd in (0, 1, 2):
            since = 60 if odd < 2 else len(self.given)
            old = self.given[-1 - int(self.rng.integers(min(since, len(self.given))))]
            if odd == 0:
                return old
            return (old[0], old[1] if odd == 1 else f"w{worker}", self.said(task, worker))
        return (self.name(task), f"w{worker}", None if odd == 3 else self.said(task, worker))

    def _add(self) -> None:
        """Add a call."""
        at, draw = len(self.given), self.rng.random()
        if self.how.events and draw < BY_HAND * len(self.how.events):
            event = self.how.events[int(self.rng.integers(len(self.how.events)))]
            self.calls.append((f"{event} after {at} rows", self._event(event, at)))
        elif draw > 0.85:
            row = self.row()
            self.given.append(row)
            self.calls.append((f"observe {row}", lambda stream: stream.observe(*row, at=at)))
        else:
            first = len(self.given)
            for _ in range(1 + int(self.rng.integers(self.how.batch))):
                self.given.append(self.row())
            rows = self.given[first:]
            what = f"observe_many of {len(rows)} rows from {first}"
            self.calls.append((what, lambda stream: stream.observe_many(rows, at=at)))

    def _event(self, event: str, at: int) -> Call:
        """A call that is no label: on tasks that are known, or were, or will be."""
        task = self.task
        name, truth = self.name(task), f"c{task % self.how.classes}"
        old = self.given[-1 - int(self.rng.integers(min(50, at)))] if at else (name, "w0", truth)
        if event == "retract":
            return lambda stream: stream.retract(old[0], old[1])
        if event == "late":
            some = self.given[: at // 2 : 5]
            return lambda stream: stream.observe_many(some, at=at)
        calls: dict[str, Call] = {
            "gold first": lambda stream: stream.gold(f"new {at}", truth, at=at),
            "gold": lambda stream: stream.gold(name, truth, at=at),
            "close": lambda stream: stream.close(old[0]),
            "expire": lambda stream: stream.expire(at=at),
            "offer": lambda stream: stream.offer([name, f"offered {at}"], at=at),
            "end": lambda stream: stream.end(),
            "saved": lambda stream: None,  # `run` saves and loads
        }
        return calls[event]


@functools.cache
def program(situation: str, seed: int) -> Program:
    """Draw a program once for all estimators."""
    return Program(SITUATIONS[situation], seed)


def answer(call: Call, stream: cs.Stream) -> bytes:
    """What a call says, every float as its bits; a refusal is what it says."""
    try:
        return msgspec.msgpack.encode(call(stream))
    except InputError as error:
        return str(error).encode()


def same_saved(loop: cs.Stream, rows: cs.Stream, where: str) -> None:
    """Assert that two streams are the same to the bit; the part that is not is named."""
    assert loop.counts == rows.counts, where
    assert loop.open_tasks == rows.open_tasks, where
    assert loop.closed_tasks == rows.closed_tasks, where
    ours, theirs = loop.crowd._pack(), rows.crowd._pack()
    assert ours.keys() == theirs.keys(), where
    differ = [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()]
    assert not differ, f"{where}: other arrays of the crowd: {differ}"
    assert loop.crowd.to_bytes() == rows.crowd.to_bytes(), f"{where}: another crowd"
    assert loop.to_bytes() == rows.to_bytes(), f"{where}: another stream"


def run(crowd: cs.Estimator, made: Program) -> tuple[cs.Stream, cs.Stream]:
    """Run a program by the loop and row by row; compare decisions and what is saved."""
    loop, rows = (cs.Stream(crowd.clone(), **made.how.rules) for _ in range(2))  # type: ignore[arg-type]
    rows._row_by_row = True
    for at, (what, call) in enumerate(made.calls):
        said, expected = answer(call, loop), answer(call, rows)
        if said != expected:  # decoding explains more than bytes
            assert msgspec.msgpack.decode(said) == msgspec.msgpack.decode(expected), what
        assert said == expected, what
        if what.startswith("saved"):
            same_saved(loop, rows, what)
            loop, rows = (cs.Stream.load(stream.to_bytes()) for stream in (loop, rows))
            rows._row_by_row = True
        elif at % SAVED_EVERY == 0:
            same_saved(loop, rows, what)
    same_saved(loop, rows, "before the end")
    assert answer(cs.Stream.end, loop) == answer(cs.Stream.end, rows)
    same_saved(loop, rows, "at the end")
    return loop, rows


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_loop_decides_as_the_rule_in_python(kind: type[cs.Estimator], situation: str) -> None:
    run(kind(), program(situation, 1))


@pytest.mark.parametrize(
    "mode", [mode for kind in KINDS for mode in checks.modes(kind)[1:]], ids=repr
)
def test_in_every_mode(mode: cs.Estimator) -> None:
    run(mode, program("everything", 2))


@pytest.mark.parametrize("mode", [mode for kind in WITH_A_LOOP for mode in checks.modes(kind)])
@pytest.mark.parametrize("situation", ["usual", "gold", "odd labels", "ties of three classes"])
def test_what_has_a_loop_is_tried_harder(mode: cs.Estimator, situation: str) -> None:
    run(mode, program(situation, 3))


@pytest.mark.parametrize("kind", WITH_A_LOOP)
def test_long_enough_for_all_that_is_due_now_and_then(kind: type[cs.Estimator]) -> None:
    """Renewals, looks at a sample, the strengths of tasks and room for labels come late."""
    how = SITUATIONS["everything"]._replace(rows=2_000, batch=300, workers=25, window=60)
    loop, _ = run(kind(), Program(how, 4))
    assert loop.counts.closed > 250


@pytest.mark.parametrize("kind", KINDS)
def test_monitors_see_tasks_together_and_keep_the_same(kind: type[cs.Estimator]) -> None:
    """The loop hands closed tasks to monitors in batches."""
    how = SITUATIONS["everything"]._replace(rows=600, batch=150, window=25)
    crowd = cs.monitor(kind())
    made = Program(how, 5)
    plain = crowd.clone()
    assert {type(one) for one in plain.observers} == {type(one) for one in crowd.observers}
    run(crowd, made)


@pytest.mark.parametrize("kind", WITH_A_LOOP)
def test_the_loop_takes_nearly_all_rows(
    kind: type[cs.Estimator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise one rule was compared with itself."""
    taken = {False: 0, True: 0}
    take = cs.Stream._take

    def counted(stream: cs.Stream, *row: object) -> cs.Decision:
        taken[stream._row_by_row] += 1
        return take(stream, *row)  # type: ignore[arg-type]

    monkeypatch.setattr(cs.Stream, "_take", counted)
    made = program("usual", 1)
    run(kind(), made)
    assert taken[True] == len(made.given)
    assert taken[False] < 0.1 * len(made.given)  # skips and replaced labels, 2 % each and chance


def test_row_by_row_is_neither_the_default_nor_saved() -> None:
    stream = cs.Stream()
    assert not stream._row_by_row
    stream._row_by_row = True
    assert not cs.Stream.load(stream.to_bytes())._row_by_row


rows_of_labels = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abcd"), st.sampled_from(["x", "x", "y", None])),
    max_size=40,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=20)
@given(rows_of_labels, st.integers(1, 20), st.sampled_from([0, 2, 100_000]))
def test_any_few_rows(kind: type[cs.Estimator], rows: list[Row], size: int, remember: int) -> None:
    """Short enough to be shrunk to the rows that matter."""
    rules: dict[str, float | int | None] = {"settle": 0.8, "max_labels": 3, "remember": remember}
    made = Program(Situation(rules, rows=0), 0)
    for at in range(0, len(rows), size):
        some = rows[at : at + size]
        made.calls.append(
            (f"{some}", lambda stream, some=some, at=at: stream.observe_many(some, at=at))  # type: ignore[misc]
        )
    run(kind(), made)
