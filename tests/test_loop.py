"""The compiled stream loop and the rule in Python decide and learn alike, to the bit.

A program is a list of calls, drawn from a seed. Two streams run it: one lets the loop take what it
can, the other takes every label by the rule in Python (``_row_by_row``). After each call the
decisions are compared, and now and then everything that is saved.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream import checks
from crowdstream.errors import InputError
from crowdstream.estimators.observer import Observer
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.labels.folding import MOST_CLASSES
from crowdstream.serialization import Packed
from tests.insides import committee_of

Row = tuple[cs.TaskId, cs.WorkerId, cs.ClassLabel | None]
Call = Callable[[cs.Stream], list[cs.Decision] | cs.Decision | None]

KINDS = [
    kind
    for kind in cs.Estimator._kinds.values()
    if issubclass(kind, cs.Estimator)
    and kind.__module__.startswith("crowdstream.")
    and kind is not cs.DictEstimator  # a base
]
"""Every estimator of the package; a new one is compared by existing."""

WITH_A_LOOP: list[type[cs.Estimator]] = [
    cs.Adaptive,
    cs.CentredAgreement,
    cs.MajorityVote,
    cs.AgreementBased,
]
"""Those that have a compiled loop: of them it is tested that the loop takes nearly all rows."""

EVENTS = 0.35
"""Share of calls that are no labels, where a situation has such events."""

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
    """Rows for a task before the window moves past it, on average."""
    right: tuple[float, float] = (0.6, 0.98)
    """How often the worst and the best worker are right."""
    hard: float = 0.0
    """Share of tasks on which all workers err twice as often, and together."""
    turn: float = math.inf
    """Rows after which the best worker is the worst, the second the last but one, and so on."""
    events: tuple[str, ...] = ()
    """Kinds of calls beside `observe` and `observe_many`; see `Program.event`."""
    odd: float = 0.02
    """Share of rows each that repeat an earlier row, replace its label, come late, are skips."""
    rows: int = 300
    batch: int = 30
    """Rows that are given at once, at most."""


USUAL: dict[str, float | int | None] = {"settle": 0.9, "max_labels": 6}
FEW_LABELS: dict[str, float | int | None] = {"settle": 0.9, "max_labels": 4}

SITUATIONS = {
    "usual": Situation(USUAL),
    "one task after another": Situation(USUAL, window=1, odd=0.0),
    "never closed": Situation({"settle": None}, classes=3),
    "tasks of very many labels": Situation(
        {"settle": None}, workers=90, window=2, labels=400.0, events=("retract",)
    ),
    "closed by the first label": Situation({"settle": None, "max_labels": 1}, window=30),
    "settled by one label": Situation({"settle": 0.5, "min_labels": 1}),
    "ties": Situation(
        {"settle": 0.9, "max_labels": 4}, workers=4, right=(0.5, 0.5), labels=4.0, odd=0.0
    ),
    "ties of three classes": Situation(USUAL, classes=3, workers=6, right=(1 / 3, 1 / 3)),
    "nothing remembered": Situation({**USUAL, "remember": 0}, events=("late", "end")),
    "three remembered": Situation({**USUAL, "remember": 3}, events=("late", "end")),
    "gold": Situation(
        FEW_LABELS, classes=3, events=("gold first", "gold", "close"), batch=20, rows=700
    ),
    "odd labels": Situation(USUAL, classes=3, odd=0.12, events=("retract", "retract", "late")),
    "idle": Situation(
        {**USUAL, "idle": 20.0}, events=("expire", "offer", "close", "retract"), labels=3.0
    ),
    "saved": Situation(USUAL, classes=3, events=("saved", "retract", "gold", "end"), odd=0.05),
    "newcomers": Situation(USUAL, workers=120, window=6, right=(0.8, 1.0)),
    "errors together": Situation(FEW_LABELS, hard=0.3, labels=4.0, rows=800, batch=60),
    "given up": Situation({**USUAL, "give_up": 0.9}, hard=0.2, labels=7.0),
    "many classes": Situation({"settle": 0.8, "max_labels": 5}, classes=40, labels=4.0),
    "very many classes": Situation(
        {"settle": 0.8, "max_labels": 5},
        classes=160,
        labels=2.0,
        right=(0.3, 0.95),
        events=("gold", "retract"),
        rows=400,
    ),
    "everything": Situation(
        {"settle": 0.9, "max_labels": 6, "idle": 60.0, "remember": 20},
        classes=3,
        hard=0.1,
        odd=0.03,
        events=(
            "gold first", "gold", "retract", "close", "expire", "offer", "late", "saved", "end",
        ),
        rows=450,
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
            self.add()

    def task(self) -> cs.TaskId:
        """Draw a task that labels come for now; names are text or whole numbers."""
        number = int(len(self.given) / self.how.labels) + int(self.rng.integers(self.how.window))
        return number if number % 3 == 0 else f"t{number}"

    def truth(self, task: cs.TaskId) -> int:
        """Draw a task's true class, the same whenever it is asked."""
        number = int(str(task).lstrip("t"))
        return int(np.random.default_rng(number).integers(self.how.classes))

    def said(self, task: cs.TaskId, worker: int) -> cs.ClassLabel:
        """Draw a label; on hard tasks all who err say the same."""
        truth, classes = self.truth(task), self.how.classes
        hard = int(str(task).lstrip("t")) % 100 < 100 * self.how.hard
        turned = len(self.given) >= self.how.turn
        error = (1.0 - self.skill[-1 - worker if turned else worker]) * (1 + hard)
        if self.rng.random() >= error:
            return f"c{truth}"
        off = 1 if hard else 1 + int(self.rng.integers(classes - 1))
        return f"c{(truth + off) % classes}"

    def row(self) -> Row:
        """Draw the next row; now and then one as no tool should send it."""
        task, worker = self.task(), int(self.rng.integers(self.how.workers))
        said, odd = self.said(task, worker), int(self.rng.random() / max(self.how.odd, 1e-9))
        if odd < 3 and self.given:
            since = len(self.given) if odd == 2 else min(60, len(self.given))
            old = self.given[-1 - int(self.rng.integers(since))]
            return [old, (old[0], old[1], said), (old[0], f"w{worker}", said)][odd]
        return (task, f"w{worker}", None if odd == 3 else said)

    def add(self) -> None:
        """Add a call: an event, a row, or many rows."""
        at, draw = len(self.given), self.rng.random()
        if self.how.events and at and draw < EVENTS:
            event = self.how.events[int(self.rng.integers(len(self.how.events)))]
            self.calls.append((f"{event} after {at} rows", self.event(event, at)))
        elif draw > 0.8:
            row = self.row()
            self.given.append(row)
            self.calls.append((f"observe {row}", lambda stream: stream.observe(*row, at=at)))
        else:
            for _ in range(1 + int(self.rng.integers(self.how.batch))):
                self.given.append(self.row())
            rows = self.given[at:]
            what = f"observe_many of {len(rows)} rows from {at}"
            self.calls.append((what, lambda stream: stream.observe_many(rows, at=at)))

    def event(self, event: str, at: int) -> Call:
        """Draw a call that is no label: on tasks that are known, or were, or will be."""
        task, old = self.task(), self.given[-1 - int(self.rng.integers(min(50, at)))]
        truth = f"c{self.truth(task)}"
        if event == "gold first":  # of tasks whose labels are still to come
            number = int(at / self.how.labels) + self.how.window
            names = [f"t{n}" for n in range(number, number + 5) if n % 3]
            known = [(name, f"c{self.truth(name)}") for name in names]
            return lambda stream: [stream.gold(*one, at=at) for one in known]
        if event == "late":
            some = self.given[: at // 2 : 5]
            return lambda stream: stream.observe_many(some, at=at)
        calls: dict[str, Call] = {
            "gold": lambda stream: stream.gold(task, truth, at=at),
            "retract": lambda stream: stream.retract(old[0], old[1]),
            "close": lambda stream: stream.close(old[0]),
            "expire": lambda stream: stream.expire(at=at),
            "offer": lambda stream: stream.offer([task, f"offered {at}"], at=at),
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
    ours, theirs = loop.crowd._model.pack(), rows.crowd._model.pack()
    assert ours.keys() == theirs.keys(), where
    differ = [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()]
    assert not differ, f"{where}: other arrays of the crowd: {differ}"
    assert loop.crowd.to_bytes() == rows.crowd.to_bytes(), f"{where}: another crowd"
    assert loop.to_bytes() == rows.to_bytes(), f"{where}: another stream"


def run(crowd: cs.Estimator, made: Program) -> cs.Stream:
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
    return loop


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
    how = SITUATIONS["everything"]._replace(hard=0.2, rows=2_000, batch=120, workers=25, window=40)
    loop = run(kind(), Program(how, 4))
    assert loop.counts.closed > 250
    if kind is cs.Adaptive:
        assert committee_of(loop.crowd).looked > 100  # more than once
    much_gold = how._replace(events=(*how.events, *4 * ("gold first",)))
    loop = run(kind(), Program(much_gold, 4))
    assert loop.crowd.calibration_ == ("gold" if kind is cs.Adaptive else "none")


@pytest.mark.parametrize("events", [(), ("gold first", "retract", "late", "saved", "close")])
def test_also_while_workers_change(events: tuple[str, ...]) -> None:
    how = Situation(USUAL, right=(0.5, 0.98), rows=2_400, turn=1_000, events=events)
    for crowd in (cs.Adaptive(), cs.Adaptive(families={"w1": "a", "w2": "a"})):
        assert run(crowd, Program(how, 6)).crowd._model.changing


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


def follow(situation: str) -> tuple[cs.Stream, list[cs.Decision]]:
    """Run a program by the loop alone, and keep all decisions."""
    made, found = program(situation, 1), list[cs.Decision]()
    stream = cs.Stream(cs.Adaptive(), **made.how.rules)  # type: ignore[arg-type]
    for _, call in made.calls:
        with contextlib.suppress(InputError):
            said = call(stream)
            found += said if isinstance(said, list) else [said] if said is not None else []
    return stream, found


def test_programs_meet_what_they_are_for() -> None:
    """A program of nothing but new labels of open tasks would prove little."""
    ended = {situation: follow(situation) for situation in SITUATIONS}
    every = [decision for _, decisions in ended.values() for decision in decisions]
    reasons = {None, "settled", "full", "hard", "idle", "closed", "end"}
    assert {decision.closed for decision in every} == reasons
    for event in ("repeated", "replaced", "retracted", "skipped", "late"):
        assert sum(getattr(stream.counts, event) for stream, _ in ended.values()) > 25
    for situation in ("usual", "newcomers", "saved", "everything"):
        assert any(one.settled and one.identifiable for one in ended[situation][1])
    tied = [one for one in ended["ties"][1] if one.votes and one.margin == 0.0]
    assert len(tied) > 40
    assert ended["gold"][0].crowd.calibration_ == "gold"
    assert ended["errors together"][0].crowd._model.doubt > 0.0, "or confidence is not lowered"
    assert len(ended["very many classes"][0].crowd.classes_) > MOST_CLASSES
    assert max(one.votes for one in ended["tasks of very many labels"][1]) > 64


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


# Bites ------------------------------------------------------------------------------------------


def labels_of(workers: int, tasks: int, seed: int = 0) -> list[Row]:
    """Rows of tasks with four labels, in no order, of workers some of whom come late."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(2, size=tasks), rng.uniform(0.6, 0.95, workers)
    come = np.sort(rng.integers(tasks, size=workers))
    rows: list[tuple[float, Row]] = []
    for t in range(tasks):
        known = max(int(np.searchsorted(come, t)), 5)
        for i in rng.choice(known, 4, replace=False).tolist():
            x = int(truth[t] if rng.random() < right[i] else 1 - truth[t])
            rows.append((t + rng.uniform(0, 40), (f"t{t}", f"w{i}", x)))
    return [row for _, row in sorted(rows)]


def monitored_stream() -> cs.Stream:
    return cs.Stream(cs.monitor(cs.Adaptive()), settle=0.95, max_labels=4)


@pytest.mark.parametrize("workers", [25, 60, 400])  # joint intervals end at 32, slots at 256
def test_new_workers_and_bites_leave_the_state_of_single_labels(workers: int) -> None:
    rows, one = labels_of(workers, 900), monitored_stream()
    for row in rows:
        one.observe(*row, at=0)
    for size in (3, 170, len(rows)):
        many = monitored_stream()
        for at in range(0, len(rows), size):
            many.observe_many(rows[at : at + size], at=0)
        same_saved(many, one, f"batches of {size}")


def test_the_state_is_the_same_in_any_batches_once_the_sample_is_full() -> None:
    rows, saved = labels_of(40, 6_000), []
    for size in (700, 2_500, len(rows)):
        stream = monitored_stream()
        for at in range(0, len(rows), size):
            stream.observe_many(rows[at : at + size], at=0)
        assert stream.counts.closed > 5_000  # of which 4,000 are kept
        saved.append(stream.to_bytes())
    assert saved[0] == saved[1] == saved[2]


def test_whoever_looks_finds_monitors_up_to_date_and_changes_nothing() -> None:
    rows, looked, alone = labels_of(30, 400), monitored_stream(), monitored_stream()
    for row in rows:
        alone.observe(*row, at=0)
        looked.observe(*row, at=0)
        agreement = cs.monitoring.Agreement
        (seen,) = [one for one in looked.crowd.observers if isinstance(one, agreement)]
        assert seen.sums.read().tasks.sum() == looked.counts.closed
    assert looked.to_bytes() == alone.to_bytes()


def test_a_second_stream_of_the_crowd_finds_what_the_first_has_closed() -> None:
    rows, crowd = labels_of(12, 300), cs.monitor(cs.Adaptive())
    one, two = (cs.Stream(crowd, settle=0.95, max_labels=4) for _ in range(2))
    half = len(rows) // 2
    one.observe_many(rows[:half], at=0)
    two.observe_many(rows[half:], at=0)
    drift = next(each for each in crowd.observers if isinstance(each, cs.monitoring.Drift))
    assert drift.tasks == one.counts.closed + two.counts.closed


class Careful(Observer):
    """Sees tasks late, and as many workers as there were when the last one closed."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def patience(self, crowd: cs.Estimator) -> int:
        return 10

    def see(self, batch: LabelBatch, crowd: cs.Estimator, sign: int, in_order: bool) -> None:
        self.seen.append((len(batch), int(batch.workers.max()) + 1))
        assert self.seen[-1][1] <= crowd._n_met

    def merge(self, other: Careful, names: Ints, classes: Ints) -> None: ...

    def pack(self) -> Packed:
        return {}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None: ...


def test_an_observer_sees_tasks_before_a_worker_is_met_unless_it_says_otherwise() -> None:
    stream = cs.Stream(settle=None, max_labels=2)
    stream.crowd.observers = [Careful()]
    rows: list[Row] = [(f"t{k // 2}", f"w{k % 2 + 2 * (k // 20)}", 1) for k in range(100)]
    stream.observe_many(rows, at=0)
    (careful,) = stream.crowd.observers
    assert isinstance(careful, Careful)
    assert careful.seen == [(10, 2), (10, 4), (10, 6), (10, 8), (10, 10)]
