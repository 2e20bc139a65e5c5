"""`TaskStore`: the tasks of a stream, open and remembered as closed, in columns.

An open task of five labels takes 140 bytes and its name. Loops find, add, label and close tasks
(`task_loops`); here the columns get room, and are saved. Knows workers and classes by their
codes only, and nothing of why tasks close.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.reason import Reason
from crowdstream.errors import StateError
from crowdstream.labels import UNKNOWN, TaskId
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.open_task import OpenTask
from crowdstream.stream.rows import (
    CLOSED_LIST,
    CODES,
    CONFIDENCE,
    FLAGS,
    HELD,
    LAST,
    MARGIN,
    OPEN_LIST,
    OPENED,
    PLACE,
    SIZE,
    SKIP,
    STATE,
    TRUTH,
    VOTES,
    WIDTH,
)
from crowdstream.stream.task_loops import TaskRows
from crowdstream.sums.growing import grown

Floats = NDArray[np.float64]

Kept: TypeAlias = tuple[int, float, float, int, int, int]
"""A decision as it is kept: class, confidence, margin, votes, flags, state."""

SAVED = {
    "codes": (np.int32, (STATE, FLAGS, SIZE, VOTES, TRUTH)),
    "orders": (np.int64, (PLACE, OPENED)),
    "floats": (np.float64, (LAST, CONFIDENCE, MARGIN)),
}
"""Columns that are saved."""


class TaskStore:
    """Tasks by name, each with a slot in the columns."""

    def __init__(self, remember: int) -> None:
        self.loops = TaskRows()
        self.loops.remember = remember
        self._index: Codes = np.full(16, -1, np.int32)
        self.codes: Codes = np.zeros((0, CODES), np.int32)
        self.orders: Ints = np.zeros((0, 2), np.int64)
        self.floats: Floats = np.zeros((0, 3))
        self._blocks: Codes = np.zeros((0, WIDTH), np.int32)
        self._waiting: Ints = np.zeros((0, 4), np.int64)
        self._ends: Codes = np.full((2, 2), -1, np.int32)
        self._room = 0
        self._bind()

    def _bind(self) -> None:
        columns = self._index, self.codes, self.orders, self.floats
        self.loops.bind(*columns, self._blocks, self._waiting, self._ends)

    def make_room(self, rows: int, blocks: int | None = None) -> None:
        """Have room for so many more tasks, and labels of as many tasks, or so many blocks."""
        loops = self.loops
        slots, blocks = loops.used + rows, loops.used_blocks + (rows if blocks is None else blocks)
        if (
            slots <= len(self.codes)
            and blocks <= len(self._blocks)
            and rows + loops.n_waiting <= len(self._waiting)
        ):
            return
        self.codes, self.orders = grown(self.codes, slots), grown(self.orders, slots)
        self.floats, self._blocks = grown(self.floats, slots), grown(self._blocks, blocks)
        self._waiting = grown(self._waiting, rows + loops.n_waiting)
        loops.names.extend([None] * (len(self.codes) - len(loops.names)))
        fresh = 2 * len(self.codes) > 3 * self._index.size // 2
        if fresh:  # at most three quarters full
            size = 1 << (len(self.codes) * 4 // 3).bit_length()
            self._index = np.full(size, -1, np.int32)
        self._bind()
        if fresh:
            loops.enter_all()

    # Changing --------------------------------------------------------------------------------

    def open(self, name: TaskId, now: float) -> int:
        """Open a task: its slot."""
        self.make_room(1)
        return self.loops.add(name, now)

    def set_place(self, slot: int, place: int, truth: int) -> None:
        """The crowd knows of a task: its place in the order of tasks, and its truth or −1."""
        self.orders[slot, PLACE] = place
        self.codes[slot, TRUTH] = truth

    def put(self, slot: int, worker: int, label: int, now: float) -> None:
        """Set a worker's label, or `SKIP`; the task is the last to be idle."""
        self.make_room(1)
        self.loops.replace(slot, worker, label)
        self.loops.touch(slot, now)

    def remove(self, slot: int, worker: int) -> None:
        """Take a worker's label or skip away."""
        self.loops.remove(slot, worker)

    def note(self, slot: int, confidence: float) -> None:
        """Keep how sure the decision on an open task was last."""
        self.floats[slot, CONFIDENCE] = confidence

    def close(self, slot: int, kept: Kept) -> None:
        """Close a task whose labels were learnt already: keep the decision, free the labels."""
        label, confidence, margin, _, flags, reason = kept
        self.make_room(1)
        self.loops.close(slot, reason, label, confidence, margin, flags)

    # Questions -------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return how many tasks are open."""
        return self.loops.n_open

    def find(self, name: TaskId) -> int:
        """The slot of a task, or −1."""
        return self.loops.slot_of(name)

    def name(self, slot: int) -> TaskId:
        """The name of the task in a slot."""
        name = self.loops.names[slot]
        assert name is not None
        return name

    def is_open(self, slot: int) -> bool:
        """Return whether there is a task in a slot that takes labels."""
        return slot >= 0 and int(self.codes[slot, STATE]) == Reason.OPEN

    def is_known(self, slot: int) -> bool:
        """Return whether the crowd knows of an open task: it has had a label, a skip or a truth."""
        return slot >= 0 and int(self.orders[slot, PLACE]) >= 0

    def task(self, slot: int) -> OpenTask:
        """An open task that the crowd knows of, in codes, without skips."""
        votes = self.votes(slot)
        workers, labels = np.empty(votes, np.int32), np.empty(votes, np.int32)
        self.loops.fill_labels(slot, workers, labels)
        place, truth = int(self.orders[slot, PLACE]), self.truth(slot)
        return OpenTask(self.name(slot), place, workers, labels, truth)

    def truth(self, slot: int) -> int:
        """The known class of an open task, or −1."""
        return int(self.codes[slot, TRUTH])

    def votes(self, slot: int) -> int:
        """Return how many labels an open task has."""
        return int(self.codes[slot, VOTES])

    def label(self, slot: int, worker: int) -> int:
        """A worker's label on an open task, `SKIP`, or `ABSENT`."""
        return self.loops.label_of(slot, worker)

    def kept(self, slot: int) -> Kept:
        """The decision on a closed task."""
        return self.loops.decision_of(slot)

    def find_closed(self, names: Iterable[TaskId]) -> dict[TaskId, Kept]:
        """The decisions on those of some tasks that are remembered as closed."""
        return self.loops.find_closed(names)

    def longest_idle(self) -> tuple[int, float]:
        """The open task without a label for the longest time, and when it had one; −1 for none."""
        slot = self.loops.first(OPEN_LIST)
        return slot, float(self.floats[slot, LAST]) if slot >= 0 else 0.0

    def open_slots(self) -> Ints:
        """The open tasks, the longest idle first."""
        return self._order(OPEN_LIST, self.loops.n_open)

    def closed_slots(self) -> Ints:
        """The closed tasks that are remembered, the longest closed first."""
        return self._order(CLOSED_LIST, self.loops.n_closed)

    def _order(self, which: int, size: int) -> Ints:
        slots = np.empty(size, np.int64)
        self.loops.fill_order(which, slots)
        return slots

    def as_opened(self) -> list[int]:
        """The open tasks in the order in which they were opened."""
        slots = self.open_slots()
        found: list[int] = slots[np.argsort(self.orders[slots, OPENED])].tolist()
        return found

    def names(self, slots: Ints) -> list[TaskId]:
        """The names of the tasks in some slots, all of which are in use."""
        names = self.loops.names
        return [names[slot] for slot in slots.tolist()]

    def best_for(self, worker: int, gain: Callable[[Floats], Floats]) -> int:
        """The open task of the highest gain that a worker has not answered, or −1.

        ``gain``: of asking, by how sure decisions were last. Of equals the longest idle.
        """
        used = self.loops.used
        gains = gain(self.floats[:used, CONFIDENCE])
        gains[self.codes[:used, TRUTH] >= 0] = -1.0  # known already
        return self.loops.best_for(worker, gains)

    def least_sure(
        self, most: int, after: tuple[float, int] | None
    ) -> list[tuple[int, float, int, int]]:
        """The open tasks with labels and without a known truth whose decisions are least sure.

        In order of confidence, of equals of opening; ``after`` such a pair, ``most`` of them. Slot,
        confidence, votes and how many tasks were opened before each.
        """
        used = self.loops.used
        codes, sure = self.codes[:used], self.floats[:used, CONFIDENCE]
        wanted = (codes[:, STATE] == Reason.OPEN) & (codes[:, TRUTH] < 0) & (codes[:, VOTES] > 0)
        opened = self.orders[:used, OPENED]
        if after is not None:
            wanted &= (sure > after[0]) | ((sure == after[0]) & (opened > after[1]))
        slots = np.flatnonzero(wanted)
        if slots.size > most:  # all that may be among the first, before they are sorted
            limit = np.partition(sure[slots], most - 1)[most - 1]
            slots = slots[sure[slots] <= limit]
        slots = slots[np.lexsort((opened[slots], sure[slots]))][:most]
        rows = slots.tolist(), sure[slots].tolist(), codes[slots, VOTES].tolist()
        return list(zip(*rows, opened[slots].tolist(), strict=True))

    def drain(self) -> tuple[LabelBatch, Ints]:
        """The labels of the tasks that were closed since, with their places; they are freed."""
        tasks, labels = self.loops.n_waiting, self.loops.count_waiting()
        starts, places = np.empty(tasks + 1, np.int64), np.empty(tasks, np.int64)
        codes = np.empty(labels, np.int32), np.empty(labels, np.int32)
        self.loops.drain(starts, places, *codes)
        return LabelBatch(starts, *codes), places

    # Saving ----------------------------------------------------------------------------------

    def pack(self) -> tuple[list[TaskId], dict[str, NDArray[np.generic]]]:
        """Names and columns of all tasks, first the open ones; where the slots are is not kept."""
        slots = np.concatenate([self.open_slots(), self.closed_slots()])
        found: dict[str, NDArray[np.generic]] = {
            name: getattr(self, name).take(slots, axis=0)[:, list(columns)].copy(order="C")
            for name, (_, columns) in SAVED.items()
        }
        taken = int(self.codes[slots, SIZE].sum(dtype=np.int64))
        found["workers"], found["labels"] = workers, labels = (
            np.empty(taken, np.int32),
            np.empty(taken, np.int32),
        )
        self.loops.fill_entries(slots, workers, labels)
        return self.names(slots), found

    def unpack(
        self,
        names: list[TaskId],
        arrays: Mapping[str, NDArray[np.generic]],
        workers: int,
        classes: int,
    ) -> None:
        """Take over what `pack` gave, where so many workers and classes are known."""
        size = len(names)
        saved = {
            name: _fitting(arrays, name, kind, (size, len(columns)))
            for name, (kind, columns) in SAVED.items()
        }
        state, _, sizes, _, truths = (np.ascontiguousarray(row) for row in saved["codes"].T)
        n_open = int((state == Reason.OPEN).sum())
        taken = int(sizes[:n_open].sum(dtype=np.int64))
        who, said = (_fitting(arrays, name, np.int32, (taken,)) for name in ("workers", "labels"))
        fits = (
            _all_within(state[:n_open], Reason.OPEN, Reason.OPEN + 1)
            and _all_within(state[n_open:], Reason.OPEN + 1, max(Reason) + 1)
            and _all_within(sizes, 0, 2**31)
            and _all_within(who, 0, workers)
            and _all_within(said, SKIP, classes)
            and _all_within(truths, UNKNOWN, classes)
        )
        if not fits:
            raise StateError("a saved stream whose tasks do not fit")
        self.make_room(size, int((-(-sizes[:n_open] // HELD)).sum(dtype=np.int64)))
        for name, (_, columns) in SAVED.items():
            getattr(self, name)[:size, list(columns)] = saved[name]
        if not self.loops.restore(names, n_open, sizes, who, said):
            raise StateError("a saved stream with a task that is there twice")


def _fitting(
    arrays: Mapping[str, NDArray[np.generic]], name: str, kind: type, shape: tuple[int, ...]
) -> NDArray[Any]:
    """An array of this type and shape, or a complaint."""
    found = arrays.get(name)
    if found is None or found.dtype != kind or found.shape != shape:
        raise StateError(f"a saved stream whose tasks do not fit: {name}")
    return found


def _all_within(array: NDArray[Any], low: int, high: int) -> bool:
    """Return whether all are from ``low`` up to ``high``, which is left out."""
    return not array.size or bool(array.min() >= low and array.max() < high)
