"""Many classes in few places, so that memory and time do not grow with how many there are.

Beyond `MOST_CLASSES` classes, what is learnt is summed up by place: a class has the same one
everywhere, drawn from its name. Within a task different classes never share a place, so who agrees
with whom is seen as it is and decisions are between the classes themselves. Knows neither sums nor
estimators.
"""

from __future__ import annotations

import zlib

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import NO_TRUTHS, Codes, LabelBatch
from crowdstream.labels.vocabulary import Vocabulary

Keys = NDArray[np.uint32]

MOST_CLASSES = 100
"""Classes that have a place each. Confusions take 16 K² bytes per worker and time in proportion:
160 kB at 100 classes. They also have K² − K entries to learn per worker, 9,900 at 100, far more
than the answers that anybody gives; on simulated crowds beyond, errors were the same to 0.2 points
with and without a place of its own for every class (benchmarks/many_classes.py)."""

PLACES = 64
"""Places that more classes share. Two classes of one task share their home with probability 1/64,
and one of them moves; agreement by chance is taken to be at least as frequent, 1.6 %."""


FEWEST = 1024
"""Classes that there is room for at first."""


class Folding:
    """Where each class of a vocabulary has its place.

    >>> classes = Vocabulary(f"c{number}" for number in range(1000))
    >>> folding = Folding()
    >>> folding.update(classes)
    >>> starts, said = np.array([0, 3]), np.array([7, 512, 7], np.int32)
    >>> batch = folding.fold(LabelBatch(starts, np.arange(3, dtype=np.int32), said), classes)
    >>> batch.labels[0] == batch.labels[2], batch.labels[0] == batch.labels[1]
    (np.True_, np.False_)
    >>> batch.said.tolist()
    [7, 512, 7]
    """

    def __init__(self) -> None:
        self._keys: Keys = np.empty(FEWEST, np.uint32)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def update(self, classes: Vocabulary) -> None:
        """Know all of these classes, the known ones first."""
        more = self._new_keys(classes)
        size = self._size + more.size
        if size > self._keys.size:  # at least doubled: one class more costs constant time
            larger = np.empty(max(size, 2 * self._keys.size), np.uint32)
            larger[: self._size] = self._keys[: self._size]
            self._keys = larger
        self._keys[self._size : size] = more
        self._size = size

    def _new_keys(self, classes: Vocabulary) -> Keys:
        """A number per class not known yet, made of its name: the order has no part in it."""
        new, encode = range(self._size, len(classes)), msgspec.msgpack.encode
        return np.array([zlib.crc32(encode(classes[code])) for code in new], np.uint32)

    def homes(self, classes: int) -> Codes:
        """The places of the first classes where no other class of their task has them."""
        found = np.zeros(classes, np.int32)
        known = min(classes, self._size)
        found[:known] = self._keys[:known] % PLACES
        return found

    def fold(self, batch: LabelBatch, classes: Vocabulary) -> LabelBatch:
        """The same tasks with places for labels and truths; the labels are kept as ``said``."""
        keys = self._keys[: self._size]
        if len(classes) > self._size:  # a question about classes that nobody has named yet
            keys = np.concatenate([keys, self._new_keys(classes)])
        first, last = int(batch.starts[0]), int(batch.starts[-1])
        said = batch.labels[first:last]
        tasks = np.repeat(np.arange(len(batch)), batch.sizes)
        known = np.flatnonzero(batch.truths >= 0) if batch.truths.size else NO_TRUTHS
        every = np.concatenate([said, batch.truths[known]]).astype(np.int64)
        places = _places(np.concatenate([tasks, known]), every, keys)
        truths = batch.truths.copy()
        truths[known] = places[said.size :]
        return LabelBatch(
            batch.starts - first,
            batch.workers[first:last],
            places[: said.size],
            truths,
            batch.tasks,
            said,
        )


def _places(tasks: NDArray[np.int64], classes: NDArray[np.int64], keys: Keys) -> Codes:
    """The place of each class in its task: its home, or the next that is free.

    Of two classes the one with the smaller key has the right of way, so that places depend on
    which classes a task has and not on their order. A task of more classes than there are places
    ends with some that share.
    """
    pairs, where = np.unique(tasks * keys.size + classes, return_inverse=True)
    task, key = pairs // max(keys.size, 1), keys[pairs % max(keys.size, 1)]
    order = np.lexsort((key, task))
    task, key = task[order], key[order]
    place = (key % PLACES).astype(np.int64)
    late = _in_the_way(task, place)
    if late.any():
        moving = np.isin(task, task[late])
        crowded, there = task[moving], place[moving]
        for _ in range(PLACES * PLACES):
            late = _in_the_way(crowded, there)
            if not late.any():
                break
            there[late] = (there[late] + 1) % PLACES
        place[moving] = there
    found = np.empty(place.size, np.int32)
    found[order] = place
    return np.asarray(found[where.ravel()])


def _in_the_way(task: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whose place another class of the same task has, one that comes before it."""
    _, first = np.unique(task * PLACES + place, return_index=True)
    late = np.ones(task.size, np.bool_)
    late[first] = False
    return late
