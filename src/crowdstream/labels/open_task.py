"""`OpenTask`: the labels of one task that still takes labels, in codes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crowdstream.labels.batch import NO_TRUTHS, Codes, LabelBatch
from crowdstream.labels.label import TaskId
from crowdstream.labels.vocabulary import UNKNOWN

NOBODY: Codes = np.empty(0, np.int32)


@dataclass
class OpenTask:
    """Workers and labels of one task; ``place`` is where it stands in the order of tasks."""

    name: TaskId
    place: int
    workers: Codes = field(default_factory=NOBODY.copy)
    labels: Codes = field(default_factory=NOBODY.copy)
    truth: int = UNKNOWN

    @property
    def size(self) -> int:
        """Number of labels."""
        return self.workers.size

    def find(self, worker: int) -> int:
        """Return the place of a worker's label, or −1."""
        found = np.flatnonzero(self.workers == worker)
        return int(found[0]) if found.size else UNKNOWN

    def append(self, worker: int, label: int) -> None:
        """Add the label of a worker who has given none."""
        self.workers = np.append(self.workers, np.int32(worker))
        self.labels = np.append(self.labels, np.int32(label))

    def remove(self, at: int) -> None:
        """Take the label at this place away; the others keep their order."""
        self.workers, self.labels = np.delete(self.workers, at), np.delete(self.labels, at)

    def batch(self, size: int | None = None) -> LabelBatch:
        """The labels so far, or the first ``size`` of them."""
        size = self.size if size is None else size
        return LabelBatch(
            np.array([0, size], np.int64),
            self.workers[:size].copy(),
            self.labels[:size].copy(),
            NO_TRUTHS if self.truth == UNKNOWN else np.array([self.truth], np.int32),
            (self.name,),
        )
