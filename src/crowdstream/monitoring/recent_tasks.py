"""`RecentTasks`: the labels of the latest tasks as they came, in codes. Knows nothing of skills."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.estimators.observer import Packed
from crowdstream.labels.batch import Codes, Ints, LabelBatch

NOTHING: Codes = np.empty(0, np.int32)


class RecentTasks:
    """Tasks in the order in which they came."""

    def __init__(self) -> None:
        self._parts: list[LabelBatch] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, batch: LabelBatch) -> None:
        """Keep a copy of some tasks."""
        first, last = int(batch.starts[0]), int(batch.starts[-1])
        truths = batch.truths if batch.truths.size else np.full(len(batch), -1, np.int32)
        labels = batch.workers[first:last].copy(), batch.labels[first:last].copy()
        self._parts.append(LabelBatch(batch.starts - first, *labels, truths.copy()))
        self._size += len(batch)

    def remove(self, batch: LabelBatch) -> bool:
        """Take back one task, the latest of those that have its labels; whether there was one."""
        whole = self.batch()
        first, last = int(batch.starts[0]), int(batch.starts[-1])
        wanted = _rows(batch, first, last)
        truth = int(batch.truths[0]) if batch.truths.size else -1
        for t in range(len(whole) - 1, -1, -1):
            begin, end = int(whole.starts[t]), int(whole.starts[t + 1])
            if int(whole.truths[t]) == truth and _rows(whole, begin, end) == wanted:
                left = np.delete(np.arange(len(whole)), t)
                self._parts, self._size = [whole.pick(left)], len(left)
                return True
        return False

    def batch(self) -> LabelBatch:
        """All of them."""
        if len(self._parts) > 1:
            parts = self._parts
            ends = np.cumsum([0, *(part.labels.size for part in parts)])
            starts = [part.starts[1:] + end for part, end in zip(parts, ends, strict=False)]
            joined = LabelBatch(
                np.concatenate([np.zeros(1, np.int64), *starts]),
                np.concatenate([part.workers for part in parts]),
                np.concatenate([part.labels for part in parts]),
                np.concatenate([part.truths for part in parts]),
            )
            self._parts = [joined]
        empty = LabelBatch(np.zeros(1, np.int64), NOTHING, NOTHING, NOTHING)
        return self._parts[0] if self._parts else empty

    def clear(self) -> None:
        """Keep none."""
        self._parts, self._size = [], 0

    def take_in(self, other: RecentTasks, names: Ints, classes: Ints) -> None:
        """Append another's; its worker i is ``names[i]`` here, its class a ``classes[a]``."""
        theirs = other.batch()
        if not len(theirs):
            return
        truths = np.where(theirs.truths >= 0, classes[theirs.truths], -1).astype(np.int32)
        workers, labels = names[theirs.workers], classes[theirs.labels]
        coded = workers.astype(np.int32), labels.astype(np.int32)
        self.append(LabelBatch(theirs.starts, *coded, truths))

    def pack(self) -> Packed:
        """As arrays."""
        whole = self.batch()
        return {
            "recent.starts": whole.starts,
            "recent.workers": whole.workers,
            "recent.labels": whole.labels,
            "recent.truths": whole.truths,
        }

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int) -> None:
        """Take over what `pack` gave."""
        try:
            found = [arrays[f"recent.{name}"] for name in ("starts", "workers", "labels", "truths")]
            starts = found[0].astype(np.int64)
            who, labels, truths = (array.astype(np.int32) for array in found[1:])
        except KeyError as error:
            raise StateError(f"a saved state without its latest tasks: {error}") from None
        fits = who.shape == labels.shape and truths.size == starts.size - 1
        fits = fits and bool((np.diff(starts) >= 0).all()) and starts[-1] == who.size
        if not fits or (who >= workers).any() or (who < 0).any() or (labels < 0).any():
            raise StateError("a saved state whose latest tasks do not fit")
        self._parts, self._size = [LabelBatch(starts, who, labels, truths)], truths.size


def _rows(batch: LabelBatch, begin: int, end: int) -> set[tuple[int, int]]:
    """Who said what, in no order."""
    labels = batch.labels[begin:end].tolist()
    return set(zip(batch.workers[begin:end].tolist(), labels, strict=True))
