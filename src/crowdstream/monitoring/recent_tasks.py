"""`RecentTasks`: the labels of the latest tasks as they came, in codes. Knows nothing of skills."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Codes, Ints, LabelBatch, joined
from crowdstream.serialization import Packed

FIELDS = {"starts": np.int64, "workers": np.int32, "labels": np.int32, "truths": np.int32}
"""Arrays of a `LabelBatch` that are kept; truths are always written out, −1 where unknown."""


class RecentTasks:
    """Tasks in the order in which they came."""

    def __init__(self) -> None:
        self.clear()

    def __len__(self) -> int:
        return self._size

    def clear(self) -> None:
        """Keep none."""
        self._parts: list[LabelBatch] = []
        self._size = 0

    def append(self, batch: LabelBatch) -> None:
        """Keep a copy of some tasks."""
        first, last = int(batch.starts[0]), int(batch.starts[-1])
        labels = batch.workers[first:last].copy(), batch.labels[first:last].copy()
        self._parts.append(LabelBatch(batch.starts - first, *labels, batch.known_truths.copy()))
        self._size += len(batch)

    def remove(self, batch: LabelBatch) -> bool:
        """Take back the latest task that has the labels of this one; false if there is none."""
        whole, wanted = self.batch(), _labels(batch, 0)
        for t in range(len(whole) - 1, -1, -1):
            if _labels(whole, t) == wanted:
                rest = whole.pick(np.delete(np.arange(len(whole)), t))
                self._parts, self._size = [rest], len(rest)
                return True
        return False

    def batch(self) -> LabelBatch:
        """All of them in one batch."""
        if len(self._parts) != 1:
            whole = joined(self._parts)
            codes = whole.workers, whole.labels, whole.known_truths
            self._parts = [LabelBatch(whole.starts, *codes)]
        return self._parts[0]

    def fold(self, homes: Codes) -> None:
        """Labels are places from now on; class a is at ``homes[a]``."""
        whole = self.batch()
        truths = np.where(whole.truths >= 0, homes[whole.truths], -1).astype(np.int32)
        self._parts = [LabelBatch(whole.starts, whole.workers, homes[whole.labels], truths)]

    def take_in(self, other: RecentTasks, names: Ints, classes: Ints) -> None:
        """Append another's; its worker i is ``names[i]`` here, its class a ``classes[a]``."""
        theirs = other.batch()
        if len(theirs):
            truths = np.where(theirs.truths >= 0, classes[theirs.truths], -1).astype(np.int32)
            workers, labels = names[theirs.workers], classes[theirs.labels]
            coded = workers.astype(np.int32), labels.astype(np.int32)
            self.append(LabelBatch(theirs.starts, *coded, truths))

    def pack(self) -> Packed:
        """As arrays."""
        whole = self.batch()
        return {f"recent.{name}": getattr(whole, name) for name in FIELDS}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], known: int) -> None:
        """Take over what `pack` gave, of so many known workers."""
        try:
            starts, workers, labels, truths = (
                arrays[f"recent.{name}"].astype(kind) for name, kind in FIELDS.items()
            )
        except KeyError as error:
            raise StateError(f"a saved state without its latest tasks: {error}") from None
        batch = LabelBatch(starts, workers, labels, truths)
        fits = workers.shape == labels.shape and truths.size == len(batch)
        fits = fits and bool((batch.sizes >= 0).all()) and starts[-1] == workers.size
        if not fits or (workers >= known).any() or (workers < 0).any() or (labels < 0).any():
            raise StateError("a saved state whose latest tasks do not fit")
        self._parts, self._size = [batch], len(batch)


def _labels(batch: LabelBatch, t: int) -> tuple[int, set[tuple[int, int]]]:
    """The truth of a task, −1 if unknown, and who gave which label, in no order."""
    begin, end = int(batch.starts[t]), int(batch.starts[t + 1])
    rows = zip(batch.workers[begin:end].tolist(), batch.labels[begin:end].tolist(), strict=True)
    return int(batch.truths[t]) if batch.truths.size else -1, set(rows)
