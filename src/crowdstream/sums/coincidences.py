"""Labels of one task that say the same or not: what coefficients of agreement are read from.

Whole numbers, kept apart by how many labels a task has, so any order, any partition and any
retraction gives the same bits. Of K classes there are O(K²) numbers for each number of labels; up
to `FEW` classes also fourth moments, which intervals of weighted coefficients need. Knows classes
by their codes only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.folding import MOST_CLASSES
from crowdstream.sums.coincidence_loops import CoincidenceRows, add_tasks
from crowdstream.sums.growing import grown

FEW = 12
"""Classes up to which fourth moments are kept: 78 pairs of classes, squared, take 49 kB for each
number of labels per task. Scales have 3 to 11 steps."""

MOST_ALIKE = 32
"""Labels up to which a task of two classes is counted among those with the same votes."""

MANY = 4 * MOST_ALIKE**2
"""Tasks from which on that pays: some for each way to vote."""

LARGEST = 2**63 - 1
"""The largest whole number of an array."""

ARRAYS = ("tasks", "squares", "said", "moved", "pairs", "fourth")
"""The sums by their names, see `coincidence_loops`."""


class Moments(NamedTuple):
    """The sums as they are read: rows in the order of ``sizes``, symmetric arrays written out.

    ``squares``, ``moved`` and ``fourth`` are None where they are not known: the last of many
    classes, all of them where a task has so many labels that they may have overflowed.
    """

    sizes: Ints
    tasks: Ints
    said: Ints
    pairs: Ints
    squares: Ints | None
    moved: Ints | None
    fourth: Ints | None


class Coincidences:
    """Sums over tasks, one row for each number of labels that tasks have.

    Beyond `MOST_CLASSES` classes, whose pairs take 80 kB a row, nothing is kept any more.

    Examples
    --------
    >>> one = LabelBatch(np.array([0, 3]), np.zeros(3, np.int32), np.array([0, 1, 1], np.int32))
    >>> sums = Coincidences()
    >>> sums.make_room(2)
    >>> sums.add(one)
    >>> sums.read().pairs.tolist()
    [[[1, 2], [2, 4]]]
    """

    def __init__(self) -> None:
        self.classes = 0
        self._row_of: Codes = np.full(1, -1, np.int32)
        self._sizes: list[int] = []
        self._arrays = self._empty(0)
        self._bind()

    @property
    def kept(self) -> bool:
        """True if there are few enough classes for sums to be kept."""
        return self.classes <= MOST_CLASSES

    def _empty(self, rows: int) -> dict[str, Ints]:
        k = self.classes if self.kept else 0
        few = k * (k + 1) // 2 if k <= FEW else 0
        fourth = (rows, few, few) if few else (0, 0, 0)
        shapes = ((rows,), (rows,), (rows, k), (rows, k), (rows, k, k), fourth)
        return {name: np.zeros(shape, np.int64) for name, shape in zip(ARRAYS, shapes, strict=True)}

    def _bind(self) -> None:
        k = self.classes if self.kept else 0
        self._rows = CoincidenceRows(*self._arrays.values())
        self._votes = np.zeros(max(k, 1), np.int64)
        self._found = np.zeros(max(k, 1), np.int32)
        self._products = np.zeros((2, max(k * (k + 1) // 2, 1)), np.int64)

    def make_room(self, classes: int) -> None:
        """Have columns for so many classes."""
        if classes <= self.classes:
            return
        before, self.classes = self._arrays, classes
        if not self.kept:
            self._sizes, self._row_of = [], np.full(1, -1, np.int32)
        self._arrays = self._empty(len(before["tasks"]) if self.kept else 0)
        if self.kept:
            for name, array in self._arrays.items():
                if array.size:  # pairs of classes are numbered so that more come after
                    array[tuple(slice(size) for size in before[name].shape)] = before[name]
        self._bind()

    def _have_sizes(self, sizes: Ints) -> None:
        """Have a row for each of these numbers of labels."""
        most = int(sizes.max(initial=0))
        self._row_of = grown(self._row_of, most + 1, -1)
        new = [m for m in sizes.tolist() if self._row_of[m] < 0]
        if not new:
            return
        self._row_of[new] = range(len(self._sizes), len(self._sizes) + len(new))
        self._sizes += new
        if len(self._sizes) > len(self._arrays["tasks"]):
            few = self._arrays["fourth"].shape[1]
            for name, array in self._arrays.items():
                if name != "fourth" or few:
                    wanted = max(len(self._sizes), 2 * len(array))
                    larger = np.zeros((wanted, *array.shape[1:]), np.int64)
                    larger[: len(array)] = array
                    self._arrays[name] = larger
            self._bind()

    def add(self, batch: LabelBatch, sign: int = 1) -> None:
        """Add tasks (sign 1) or take them away (−1)."""
        if not self.kept or not len(batch):
            return
        if len(batch) == 1:  # spares a stream's task the time of a sort
            sizes = np.diff(batch.starts)
        else:
            sizes = np.flatnonzero(np.bincount(batch.sizes))
        self._have_sizes(sizes[sizes > 0])
        count = self.classes == 2 and len(batch) >= MANY
        alike = np.zeros((MOST_ALIKE + 1, MOST_ALIKE + 1) if count else (0, 0), np.int64)
        scratch = self._votes, self._found, self._products, alike
        add_tasks(batch.coded, sign, self._row_of, self._rows, *scratch)

    def empty(self) -> Coincidences:
        """Return sums over no tasks, of the same classes."""
        other = Coincidences()
        other.make_room(self.classes)
        return other

    def merge(self, other: Coincidences, classes: Ints | None = None) -> None:
        """Add another's sums; its class a is ``classes[a]`` here, or a."""
        where = np.arange(other.classes) if classes is None else classes[: other.classes]
        self.make_room(int(where.max(initial=-1)) + 1)
        if not self.kept or not other.kept or not other._sizes:
            return
        found = other._read(range(len(other._sizes)))
        self._have_sizes(np.array(other._sizes, np.int64))
        rows, mine = self._row_of[other._sizes], self._arrays
        mine["tasks"][rows] += found["tasks"]
        mine["squares"][rows] += found["squares"]
        for name in ("said", "moved"):
            mine[name][np.ix_(rows, where)] += found[name]
        moved = np.zeros((len(rows), self.classes, self.classes), np.int64)
        moved[np.ix_(np.arange(len(rows)), where, where)] = _written_out(found["pairs"])
        mine["pairs"][rows] += np.triu(moved)
        if mine["fourth"].size:
            place = _pair_places(where)
            more = np.zeros((len(rows), *mine["fourth"].shape[1:]), np.int64)
            more[np.ix_(np.arange(len(rows)), place, place)] = _written_out(found["fourth"])
            mine["fourth"][rows] += np.triu(more)

    def _read(self, rows: range | list[int]) -> dict[str, Ints]:
        """Some rows of every array; of fourth moments none if they are not kept."""
        which = list(rows)
        return {name: array[which] if len(array) else array for name, array in self._arrays.items()}

    def _used(self) -> list[int]:
        """The rows that hold tasks, by their number of labels."""
        by_size = sorted(range(len(self._sizes)), key=lambda row: self._sizes[row])
        return [row for row in by_size if self._arrays["tasks"][row]]

    def read(self, order: Ints | None = None) -> Moments:
        """The sums, with classes in this order: those that it leaves out must have no labels."""
        rows = self._used()
        found = self._read(rows)
        sizes = np.array([self._sizes[row] for row in rows], np.int64)
        order = np.arange(self.classes if self.kept else 0) if order is None else order
        said, pairs = found["said"][:, order], _written_out(found["pairs"])[:, order][:, :, order]
        # A sum of n[k] n[l] n[p] n[r] is at most m⁴ for every task: in Python's whole numbers.
        rows_of = zip(found["tasks"].tolist(), sizes.tolist(), strict=True)
        sure = all(tasks * m**4 <= LARGEST for tasks, m in rows_of)
        fourth = None
        if sure and found["fourth"].size:
            place = _pair_places(order)
            fourth = _written_out(found["fourth"])[:, place][:, :, place]
        squares, moved = (found["squares"], found["moved"][:, order]) if sure else (None, None)
        return Moments(sizes, found["tasks"], said, pairs, squares, moved, fourth)

    # Saving ----------------------------------------------------------------------------------

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The arrays, in the order of numbers of labels, without empty rows."""
        rows = self._used()
        sizes = np.array([self.classes, *(self._sizes[row] for row in rows)], np.int64)
        return {"sizes": sizes, **self._read(rows)}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave."""
        head = arrays.get("sizes")
        if head is None or head.ndim != 1 or not head.size or head.dtype != np.int64:
            raise StateError("saved sums of agreement that do not fit: sizes")
        classes, *sizes = head.tolist()
        if classes < 0 or len(set(sizes)) < len(sizes) or any(not 0 < m < 2**31 for m in sizes):
            raise StateError("saved sums of agreement that do not fit: sizes")
        fresh = Coincidences()
        fresh.make_room(classes)
        if sizes and not fresh.kept:
            raise StateError("saved sums of agreement that do not fit: classes")
        fresh._have_sizes(np.array(sizes, np.int64))
        for name, slot in fresh._arrays.items():
            found = arrays.get(name)
            wanted = (len(sizes) if len(slot) else 0, *slot.shape[1:])
            if found is None or found.shape != wanted or found.dtype != np.int64:
                raise StateError(f"saved sums of agreement that do not fit: {name}")
            slot[: len(found)] = found
        self.__dict__.update(fresh.__dict__)

    def __reduce__(self) -> tuple[object, tuple[dict[str, NDArray[np.generic]]]]:
        return _restored, (self.pack(),)


def _restored(arrays: Mapping[str, NDArray[np.generic]]) -> Coincidences:
    """Sums that were pickled."""
    sums = Coincidences()
    sums.unpack(arrays)
    return sums


def _written_out(above: Ints) -> Ints:
    """Symmetric tables of which the part above the diagonal was kept."""
    return above + np.triu(above, 1).swapaxes(1, 2)


def pair_numbers(classes: int) -> tuple[Ints, Ints]:
    """The classes k ≤ l of each pair, by its number l (l + 1)/2 + k.

    >>> [numbers.tolist() for numbers in pair_numbers(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    high, low = np.tril_indices(classes)
    return low.astype(np.int64), high.astype(np.int64)


def _pair_places(where: Ints) -> Ints:
    """The numbers, among classes that are elsewhere, of all pairs of these."""
    low, high = (where[one] for one in pair_numbers(where.size))
    low, high = np.minimum(low, high), np.maximum(low, high)
    return np.asarray(high * (high + 1) // 2 + low)
