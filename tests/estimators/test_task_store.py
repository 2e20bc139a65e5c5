"""The columns of a stream's tasks against dicts that say the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.errors import StateError
from crowdstream.labels import TaskId
from crowdstream.stream import task_loops
from crowdstream.stream.rows import ABSENT, SKIP
from crowdstream.stream.tasks import TaskStore
from tests.uncompiled import uncompiled

REMEMBER = 3

names = st.one_of(st.integers(0, 12).map(lambda k: 8 * k), st.sampled_from("abcdé"))
events = st.lists(
    st.tuples(
        st.sampled_from(["label", "label", "label", "label", "skip", "remove", "close"]),
        names,
        st.integers(0, 20),
        st.integers(0, 3),
    ),
    max_size=150,
)


class Model:
    """What the store is to know, in dicts: the longest idle, and the longest closed, first."""

    def __init__(self) -> None:
        self.open: dict[TaskId, dict[int, int]] = {}
        self.closed: dict[TaskId, int] = {}

    def label(self, task: TaskId, worker: int, label: int) -> None:
        answers = self.open.pop(task, {})
        if answers.get(worker) == SKIP:
            del answers[worker]  # it comes now
        answers[worker] = label
        self.open[task] = answers

    def close(self, task: TaskId, label: int) -> None:
        del self.open[task]
        self.closed[task] = label
        while len(self.closed) > REMEMBER:
            del self.closed[next(iter(self.closed))]


def same(store: TaskStore, model: Model) -> None:
    assert store.names(store.open_slots()) == list(model.open)
    assert store.names(store.closed_slots()) == list(model.closed)
    assert len(store) == len(model.open)
    for task, answers in model.open.items():
        slot = store.find(task)
        assert store.is_open(slot)
        assert store.loops.entries(slot) == list(answers.items())
        coded = store.task(slot)
        workers, labels = coded.workers, coded.labels
        voted = [(who, label) for who, label in answers.items() if label != SKIP]
        assert list(zip(workers.tolist(), labels.tolist(), strict=True)) == voted
        for who in range(22):
            assert store.loops.label_of(slot, who) == answers.get(who, ABSENT)
    for task, label in model.closed.items():
        assert store.loops.decision_of(store.find(task))[0] == label
    for name in [*range(0, 104, 8), *"abcdé"]:
        assert (store.find(name) >= 0) == (name in model.open or name in model.closed)


@pytest.mark.parametrize("compiled", [True, False])
@settings(deadline=None, max_examples=60)
@given(events)
def test_columns_say_what_dicts_would(
    compiled: bool, happened: list[tuple[str, TaskId, int, int]]
) -> None:
    store, model = TaskStore(REMEMBER), Model()
    if not compiled:
        store.loops = uncompiled(task_loops).TaskRows()
        store.loops.remember = REMEMBER
        store._bind()
    for now, (what, task, worker, label) in enumerate(happened):
        slot = store.find(task)
        if slot >= 0 and not store.is_open(slot):
            continue
        store.make_room(1)
        if what in ("label", "skip"):
            if what == "skip":
                if worker in model.open.get(task, {}):
                    continue
                label = SKIP
            slot = store.loops.add(task, now) if slot < 0 else slot
            store.loops.replace(slot, worker, label)
            store.loops.touch(slot, now)
            model.label(task, worker, label)
        elif slot >= 0 and what == "remove":
            store.loops.remove(slot, worker)
            model.open[task].pop(worker, None)
        elif slot >= 0:
            store.loops.close(slot, 2, label, 0.9, 0.8, 1)
            model.close(task, label)
        same(store, model)
    kept, columns = store.pack()
    again = TaskStore(REMEMBER)
    again.unpack(kept, columns, 21, 4)
    same(again, model)
    assert all(np.array_equal(columns[name], found) for name, found in again.pack()[1].items())


def test_slots_and_blocks_are_used_again() -> None:
    store = TaskStore(0)
    for t in range(500):
        store.make_room(30)
        slot = store.loops.add(t, 0.0)
        for worker in range(20):
            store.loops.replace(slot, worker, 1)
        store.loops.close(slot, 2, 1, 0.9, 0.8, 0)
    assert store.loops.used == 1
    assert store.loops.used_blocks == 3
    assert len(store._blocks) < 100


@pytest.mark.parametrize("column", ["codes", "orders", "floats", "workers", "labels"])
def test_columns_that_do_not_fit_are_refused(column: str) -> None:
    store = TaskStore(5)
    store.make_room(2)
    for name in ("a", "b"):
        store.loops.replace(store.loops.add(name, 0.0), 3, 1)
    kept, columns = store.pack()
    TaskStore(5).unpack(kept, columns, 4, 2)
    for wrong in (columns[column][:1], columns[column].astype(np.int16)):
        with pytest.raises(StateError, match="do not fit"):
            TaskStore(5).unpack(kept, columns | {column: wrong}, 4, 2)
    for known in ((3, 2), (4, 1)):
        with pytest.raises(StateError, match="do not fit"):
            TaskStore(5).unpack(kept, columns, *known)
    with pytest.raises(StateError, match="twice"):
        TaskStore(5).unpack(["a", "a"], columns, 4, 2)
