"""Many classes in few places, so that memory and time do not grow with how many there are.

Beyond `MOST_CLASSES` classes labels are learnt by place: a class has one, drawn from its name, and
shares it. That two labels then agree by chance is taken into account as with so many classes. Tasks
are scored with their classes apart, none in another's place, so decisions are between the classes
themselves. Knows neither sums nor estimators.
"""

from __future__ import annotations

import zlib

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.vocabulary import Vocabulary

Keys = NDArray[np.uint64]

LOW = np.uint64(2**32 - 1)
"""The lower half of a key."""

MOST_CLASSES = 100
"""Classes that have a place each. Confusions take 16 K² bytes per worker, 160 kB at 100 classes,
and time in proportion: 300 workers and 200,000 labels took 7 s at 100 classes, 28 s at 200. They
also have K² − K entries per worker, 9,900 at 100, which is more answers than most workers give.
What it costs not to learn them: benchmarks/many_classes.py, and docs/decisions.md."""

PLACES = 64
"""Places that more classes share: two have the same one with probability 1/64, so that 1.6 % of the
disagreements pass for agreements when workers are compared, as many as 64 classes would cause by
chance. A worker's sums take 1.6 kB."""


FEWEST = 1024
"""Classes that there is room for at first."""


class Folding:
    """Places of a vocabulary's classes.

    >>> classes = Vocabulary(f"c{number}" for number in range(1000))
    >>> folding = Folding()
    >>> folding.update(classes)
    >>> starts, said = np.array([0, 3]), np.array([7, 512, 7], np.int32)
    >>> batch = folding.apart(LabelBatch(starts, np.arange(3, dtype=np.int32), said), classes)
    >>> batch.labels[0] == batch.labels[2], batch.labels[0] == batch.labels[1]
    (np.True_, np.False_)
    >>> batch.said.tolist()
    [7, 512, 7]
    """

    def __init__(self) -> None:
        self._keys: Keys = np.empty(FEWEST, np.uint64)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def update(self, classes: Vocabulary) -> None:
        """Know all of these classes, the known ones first."""
        more = self._new_keys(classes)
        size = self._size + more.size
        if size > self._keys.size:  # at least doubled: one class more costs constant time
            larger = np.empty(max(size, 2 * self._keys.size), np.uint64)
            larger[: self._size] = self._keys[: self._size]
            self._keys = larger
        self._keys[self._size : size] = more
        self._size = size

    def _new_keys(self, classes: Vocabulary) -> Keys:
        """A number per class not known yet, made of its name: the order has no part in it."""
        new, encode = range(self._size, len(classes)), msgspec.msgpack.encode
        return mix(np.array([zlib.crc32(encode(classes[code])) for code in new], np.uint64))

    def homes(self, classes: int) -> Codes:
        """The places of the first classes."""
        found = np.zeros(classes, np.int32)
        known = min(classes, self._size)
        found[:known] = self._keys[:known] % np.uint64(PLACES)
        return found

    def at_home(self, batch: LabelBatch) -> LabelBatch:
        """Return the batch with the classes' places for labels and truths."""
        first, last, keys = int(batch.starts[0]), int(batch.starts[-1]), self._keys
        labels, truths = batch.labels[first:last], batch.truths
        if truths.size:
            there = (keys[truths] % np.uint64(PLACES)).astype(np.int32)
            truths = np.where(truths >= 0, there, truths)
        places = (keys[labels] % np.uint64(PLACES)).astype(np.int32)
        return LabelBatch(
            batch.starts - first, batch.workers[first:last], places, truths, batch.tasks
        )

    def apart(self, batch: LabelBatch, classes: Vocabulary) -> LabelBatch:
        """Return the batch without truths, no two classes of a task in the same place.

        The labels themselves are kept as ``said``. Of a task that names more classes than there
        are places, those with the most labels have one, and labels of others are left out.
        """
        keys = self._keys[: self._size]
        if len(classes) > self._size:  # a question about classes that nobody has named yet
            keys = np.concatenate([keys, self._new_keys(classes)])
        first, last = int(batch.starts[0]), int(batch.starts[-1])
        workers, said = batch.workers[first:last], batch.labels[first:last]
        tasks = np.repeat(np.arange(len(batch)), batch.sizes)
        places, starts = _places_apart(tasks, said, keys), batch.starts - first
        kept = places >= 0
        if not kept.all():
            starts = np.concatenate([[0], np.cumsum(kept)])[starts]
            workers, said, places = workers[kept], said[kept], places[kept]
        return LabelBatch(starts, workers, places, NO_TRUTHS, batch.tasks, said)


def mix(value: Keys) -> Keys:
    """A bijection of 64 bits that scatters them (the finaliser of splitmix64)."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(value ^ (value >> np.uint64(31)))


def add_keys(where: NDArray[np.integer], keys: Keys, size: int) -> Keys:
    """Sums of keys, modulo 2⁶⁴; halves of them are added without rounding, up to 2²¹ of each."""
    low = np.bincount(where, (keys & LOW).astype(np.float64), size).astype(np.uint64)
    high = np.bincount(where, (keys >> np.uint64(32)).astype(np.float64), size).astype(np.uint64)
    return np.asarray((high << np.uint64(32)) + low)


def _places_apart(tasks: Ints, classes: Codes, keys: Keys) -> Codes:
    """The place of each class in its task: its own, or the next that is free; −1 for none.

    The class with more labels has the right of way, of equals that with the smaller key, so that
    places depend on what a task's labels are and not on their order.
    """
    pairs, where, votes = np.unique(
        tasks * np.int64(keys.size) + classes, return_inverse=True, return_counts=True
    )
    task, key = pairs // max(keys.size, 1), keys[pairs % max(keys.size, 1)]
    order = np.lexsort((key, -votes, task))
    task, place = task[order], (key[order] % np.uint64(PLACES)).astype(np.int64)
    _, first, sizes = np.unique(task, return_index=True, return_counts=True)
    many = np.repeat(sizes > PLACES // 2, sizes)
    rank = np.arange(task.size) - np.repeat(first, sizes)
    place[many] = np.where(rank < PLACES, rank, -1)[many]
    late = _in_the_way(task, place) & ~many
    if late.any():
        moving = np.isin(task, task[late])
        crowded, there = task[moving], place[moving]
        while (late := _in_the_way(crowded, there)).any():
            there[late] = (there[late] + 1) % PLACES
        place[moving] = there
    found = np.empty(place.size, np.int32)
    found[order] = place
    return np.asarray(found[where.ravel()])


def _in_the_way(task: Ints, place: Ints) -> NDArray[np.bool_]:
    """Return the labels whose place an earlier class of the same task has."""
    _, first = np.unique(task * PLACES + place, return_index=True)
    late = np.ones(task.size, np.bool_)
    late[first] = False
    return late
