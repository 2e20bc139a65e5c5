"""A bounded sample of whole tasks, each as likely to be in it as any other. Knows codes only.

Every task has a key, a number that looks random; the sample is those with the smallest. So it does
not depend on the order in which named tasks come, and two samples merge into one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Codes, Ints, LabelBatch

Keys = NDArray[np.uint64]

TASKS = 2000
"""Tasks in a sample."""

SLACK = 500
"""Tasks beyond those that are kept until the sample is sorted again."""

ALL = np.uint64(2**64 - 1)
"""No key is above it."""

LABELS = 64
"""Labels kept of one task, so that a task with a million does not outgrow the memory."""


class Reservoir:
    """The tasks with the smallest keys so far."""

    def __init__(self, size: int = TASKS) -> None:
        self.size = size
        self._tasks: dict[int, tuple[Codes, Codes]] = {}
        self._bound = ALL

    def __len__(self) -> int:
        return len(self._tasks)

    def offer(self, batch: LabelBatch, keys: Keys) -> None:
        """Keep those tasks of a batch that belong into the sample."""
        which = np.flatnonzero(keys < self._bound)
        if which.size > self.size:
            which = which[np.argpartition(keys[which], self.size)[: self.size]]
        for t in which.tolist():
            begin = int(batch.starts[t])
            end = min(int(batch.starts[t + 1]), begin + LABELS)
            if end > begin:
                labels = batch.workers[begin:end].copy(), batch.labels[begin:end].copy()
                self._tasks[int(keys[t])] = labels
        self._trim()

    def _trim(self, slack: int = SLACK) -> None:
        if len(self) >= self.size + slack:
            kept = sorted(self._tasks)[: self.size]
            self._tasks = {key: self._tasks[key] for key in kept}
            self._bound = np.uint64(kept[-1])

    def batch(self) -> tuple[LabelBatch, Keys]:
        """The sample, in order of its keys."""
        keys = sorted(self._tasks)[: self.size]
        found = [self._tasks[key] for key in keys]
        sizes = [0, *(workers.size for workers, _ in found)]
        nothing = [np.empty(0, np.int32)]
        return LabelBatch(
            np.cumsum(sizes, dtype=np.int64),
            np.concatenate([workers for workers, _ in found] or nothing),
            np.concatenate([labels for _, labels in found] or nothing),
        ), np.array(keys, np.uint64)

    def merge(self, other: Reservoir, names: Ints, classes: Ints) -> None:
        """Take in another sample; its worker i is ``names[i]`` here, its class a ``classes[a]``."""
        for key, (workers, labels) in other._tasks.items():
            coded = names[workers].astype(np.int32), classes[labels].astype(np.int32)
            self._tasks[key] = coded
        self._trim()

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The sample as arrays."""
        batch, keys = self.batch()
        return {
            "starts": batch.starts, "workers": batch.workers, "labels": batch.labels, "keys": keys
        }  # fmt: skip

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        try:
            starts, who, labels, keys = (
                arrays[name] for name in ("starts", "workers", "labels", "keys")
            )
        except KeyError as error:
            raise StateError(f"a saved state without its sample: {error}") from None
        fits = starts.size == keys.size + 1 and who.shape == labels.shape
        if not fits or (who >= workers).any() or (labels >= classes).any():
            raise StateError("a saved state whose sample does not fit")
        for t, key in enumerate(keys.tolist()):
            here = slice(int(starts[t]), int(starts[t + 1]))
            self._tasks[key] = who[here], labels[here]
        self._trim()
