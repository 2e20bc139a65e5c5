"""`OpenTask`: the labels, in codes, of one task that still takes some. Knows nothing of crowds."""

from __future__ import annotations

import numpy as np

from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.batch_loops import Tasks
from crowdstream.labels.label import TaskId

ROOM = 8
"""Labels that there is room for at first."""

STARTS: Ints = np.zeros(1, np.int64)


class OpenTask:
    """Grows label by label; ``place`` is where the task stands in the order of tasks."""

    __slots__ = ("_coded", "labels", "name", "place", "size", "truth", "workers")

    def __init__(self, name: TaskId, place: int) -> None:
        self.name = name
        self.place = place
        self.size = 0
        self.truth = -1
        self.workers: Codes = np.empty(ROOM, np.int32)
        self.labels: Codes = np.empty(ROOM, np.int32)
        self._coded: tuple[Codes, Tasks] | None = None

    @property
    def coded(self) -> Tasks:
        """The labels and spare capacity for compiled loops; made once, as it costs time."""
        if self._coded is None or self._coded[0] is not self.labels:
            self._coded = self.labels, Tasks(STARTS, self.workers, self.labels, NO_TRUTHS)
        return self._coded[1]

    def find(self, worker: int) -> int:
        """Where a worker's label is, or −1."""
        for at in range(self.size):
            if self.workers[at] == worker:
                return at
        return -1

    def append(self, worker: int, label: int) -> None:
        """One more label, by a worker who has given none."""
        if self.size == self.workers.size:
            self.workers = np.concatenate([self.workers, np.empty(self.size, np.int32)])
            self.labels = np.concatenate([self.labels, np.empty(self.size, np.int32)])
        self.workers[self.size] = worker
        self.labels[self.size] = label
        self.size += 1

    def remove(self, at: int) -> None:
        """Take the label at this place back; the others keep their order."""
        for array in (self.workers, self.labels):
            array[at : self.size - 1] = array[at + 1 : self.size].copy()
        self.size -= 1

    def batch(self) -> LabelBatch:
        """The labels so far, copied."""
        return LabelBatch(
            np.array([0, self.size], np.int64),
            self.workers[: self.size].copy(),
            self.labels[: self.size].copy(),
            NO_TRUTHS if self.truth < 0 else np.array([self.truth], np.int32),
            (self.name,),
        )
