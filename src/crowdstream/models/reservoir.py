"""A bounded sample of whole tasks, each as likely to be in it as any other. Knows codes only.

Every task has a key, a number that looks random; the sample is those with the smallest. So it does
not depend on the order in which named tasks come, and two samples merge into one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Codes, Ints, LabelBatch, joined
from crowdstream.models.scoring_loops import fill_keys

Keys = NDArray[np.uint64]

TASKS = 4000
"""Tasks in a sample at most."""

TOTAL = 128_000
"""Labels in it at most: a megabyte."""

SLACK = 500
"""Tasks that wait before they are sorted into the sample."""

ALL = np.uint64(2**64 - 1)
"""No key is above it."""

ODD = 0xD1B54A32D192ED03
"""Places become keys as multiples of it, mixed: an odd number without a pattern."""

NOBODY: Codes = np.empty(0, np.int32)

LABELS = 64
"""Labels kept of one task, so that a task with a million does not outgrow the memory."""


class Reservoir:
    """The tasks with the smallest keys so far.

    Parameters
    ----------
    size, labels
        Most tasks, and labels of them, that are kept.
    truths
        Whether known truths are kept too; else nobody knows them.
    """

    def __init__(self, size: int = TASKS, labels: int = TOTAL, truths: bool = False) -> None:
        self.size = size
        self.labels = labels
        self._truths = truths
        self._keys: Keys = np.empty(0, np.uint64)
        self._batch = LabelBatch(np.zeros(1, np.int64), NOBODY, NOBODY)
        self._more: list[tuple[Keys, LabelBatch]] = []
        self._waiting = 0
        self._bound = ALL

    def __bool__(self) -> bool:
        return bool(self._keys.size or self._waiting)

    def offer(self, batch: LabelBatch, keys: Keys) -> None:
        """Keep those tasks of a batch that belong into the sample."""
        if keys.size == 1 and keys[0] >= self._bound:  # the rule in a long stream
            return
        which = np.flatnonzero((keys < self._bound) & (batch.sizes > 0))
        if which.size > self.size:
            which = which[np.argpartition(keys[which], self.size)[: self.size]]
        if which.size:
            wanted = batch if which.size == keys.size else batch.pick(which)
            self._more.append((keys[which], _cut(wanted, self._truths)))
            self._waiting += which.size
        if self._waiting >= max(SLACK, self._keys.size // 4):
            self.settle()

    def offer_at(self, batch: LabelBatch, places: Ints, seed: int) -> None:
        """`offer` tasks by keys made of their places in the order of tasks."""
        keys = np.empty(places.size, np.uint64)
        fill_keys(places, ODD, seed, keys)
        self.offer(batch, keys)

    def settle(self) -> None:
        """Sort those that wait into the sample."""
        if not self._more:
            return
        parts = [(self._keys, self._batch), *self._more]
        keys = np.concatenate([part for part, _ in parts])
        order = np.argsort(keys, kind="stable")
        whole = joined([part for _, part in parts])
        enough = int(np.searchsorted(np.cumsum(whole.sizes[order]), self.labels, side="right"))
        kept = order[: min(max(enough, 1), self.size)]
        self._keys, self._batch = keys[kept], whole.pick(kept)
        self._more, self._waiting = [], 0
        if kept.size < order.size:
            self.close(keys[order[kept.size]])

    def close(self, key: np.uint64) -> None:
        """Keep no tasks whose keys are not below this one."""
        self._bound = min(self._bound, key)

    def batch(self) -> tuple[LabelBatch, Keys]:
        """The sample, in order of its keys."""
        found = self._settled()
        return found._batch, found._keys

    def _settled(self) -> Reservoir:
        """The sample with those sorted in that wait: another one, as a question changes nothing."""
        if not self._more:
            return self
        twin = Reservoir(self.size, self.labels, self._truths)
        twin._keys, twin._batch, twin._more = self._keys, self._batch, self._more
        twin._bound = self._bound
        twin.settle()
        return twin

    def fold(self, homes: Codes) -> None:
        """Labels are places from now on; class a is at ``homes[a]``."""
        self.settle()
        batch = self._batch
        truths = np.where(batch.truths >= 0, homes[batch.truths], -1) if batch.truths.size else ()
        self._batch = LabelBatch(
            batch.starts, batch.workers, homes[batch.labels], np.asarray(truths, np.int32)
        )

    def merge(self, other: Reservoir, names: Ints, classes: Ints) -> None:
        """Take in another sample; its worker i is ``names[i]`` here, its class a ``classes[a]``."""
        batch, keys = other.batch()
        workers, labels = names[batch.workers], classes[batch.labels]
        truths = np.where(batch.truths >= 0, classes[batch.truths], -1) if batch.truths.size else ()
        self.offer(
            LabelBatch(
                batch.starts,
                workers.astype(np.int32),
                labels.astype(np.int32),
                np.asarray(truths, np.int32),
            ),
            keys,
        )
        self.close(other._bound)

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The sample as arrays: the same in however many parts its tasks came."""
        settled = self._settled()
        batch, keys = settled._batch, settled._keys
        found: dict[str, NDArray[np.generic]] = {
            "starts": batch.starts, "workers": batch.workers, "labels": batch.labels, "keys": keys,
            "bound": np.array(settled._bound),
        }  # fmt: skip
        return found | ({"truths": batch.known_truths} if self._truths else {})

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        names = "starts", "workers", "labels", "keys", "bound"
        if missing := set(names) - set(arrays):
            raise StateError(f"a saved state without its sample: {', '.join(sorted(missing))}")
        starts, who, labels, keys, bound = (arrays[name] for name in names)
        fits = starts.size == keys.size + 1 and who.shape == labels.shape
        fits &= max(who.tolist(), default=-1) < workers
        if not fits or max(labels.tolist(), default=-1) >= classes:
            raise StateError("a saved state whose sample does not fit")
        self._keys = keys.astype(np.uint64)
        self._batch = LabelBatch(starts, who, labels)  # type: ignore[arg-type]
        if self._truths:
            truths = arrays.get("truths")
            if truths is None or truths.shape != keys.shape:
                raise StateError("a saved state whose sample does not fit")
            known = truths.astype(np.int32)
            if max(known.tolist(), default=-1) >= classes:
                raise StateError("a saved state whose sample does not fit")
            self._batch = replace(self._batch, truths=known)
        self._bound = np.uint64(bound.item())


def _cut(batch: LabelBatch, truths: bool) -> LabelBatch:
    """The first labels of every task, and truths if asked for, and no more."""
    sizes = batch.sizes
    if (sizes > LABELS).any():
        batch = batch.first(np.minimum(sizes, LABELS))
    known = batch.truths if truths else NOBODY
    return LabelBatch(batch.starts, batch.workers, batch.labels, known)
