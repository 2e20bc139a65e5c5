"""`SparseCounts`: confusion counts of many classes, of which only those that are not 0 are kept.

With K classes a worker has K² counts, nearly all of them 0 where K is large. Knows workers and
classes by their codes only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.sums.growing import grown
from crowdstream.sums.sparse_loops import SparseRows, add_rows, change_to

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST = 256
"""Cells that there is space for at first."""

NOWHERE: Ints = np.empty(0, np.int64)

LONGEST = 32
"""No row has as many cells as 2 to this power."""


class Cells(NamedTuple):
    """Counts that are not 0, each with its worker, what was said and of which class."""

    workers: Ints
    said: Ints
    classes: Ints
    counts: Floats


class SparseCounts:
    """Counts by worker, said and class; arrays are as `SparseRows` says."""

    def __init__(self, workers: int, classes: int) -> None:
        self.classes = classes
        self._starts = np.zeros((workers, classes), np.int32)
        self._sizes = np.zeros((workers, classes), np.int32)
        self.right: Floats = np.zeros((workers, classes))
        self.totals: Floats = np.zeros((workers, classes))
        self._where = np.zeros(FIRST, np.int32)
        self._values: Floats = np.zeros(FIRST)
        self._left = np.full(LONGEST, -1, np.int32)
        self.loops = SparseRows(WeakMethod(self._grow))  # a cycle would keep arrays for long
        self._bind()

    def _bind(self) -> None:
        rows = self._starts, self._sizes, self.right, self.totals
        self.loops.bind(*rows, self._where, self._values, self._left)

    def _grow(self, places: int) -> None:
        self._where, self._values = grown(self._where, places), grown(self._values, places)
        self._bind()

    @property
    def values(self) -> Floats:
        """All counts, at their places: a view."""
        return self._values[: self.loops.size]

    def reserve(self, workers: int) -> None:
        """Have rows for so many workers."""
        if workers > len(self.right):
            self._starts, self._sizes = grown(self._starts, workers), grown(self._sizes, workers)
            self.right, self.totals = grown(self.right, workers), grown(self.totals, workers)
            self._bind()

    def widen(self, classes: int) -> None:
        """Have columns for so many classes."""
        more = (0, 0), (0, classes - self.classes)
        self._starts, self._sizes = np.pad(self._starts, more), np.pad(self._sizes, more)
        self.right, self.totals = np.pad(self.right, more), np.pad(self.totals, more)
        self.classes = classes
        self._bind()

    # What is there ---------------------------------------------------------------------------

    def cells(self, workers: int) -> Cells:
        """The counts of the first workers that are not 0, ordered, without right answers."""
        k, size = self.classes, self.loops.size
        keys = np.full(size, -1, np.int64)
        self.loops.fill_keys(workers, keys)
        which = np.flatnonzero((keys >= 0) & (self.values != 0.0))
        which = which[np.argsort(keys[which])]
        rows, classes = np.divmod(keys[which], k)
        return Cells(*np.divmod(rows, k), classes, self.values[which])

    def all_cells(self, workers: int) -> Cells:
        """Return all cells, those of right answers too."""
        who, what = np.nonzero(self.right[:workers])
        right = who, what, what, self.right[who, what]
        parts = zip(self.cells(workers), right, strict=True)
        return Cells(*(np.concatenate(part) for part in parts))

    def dense(self, workers: int) -> Floats:
        """All counts of the first workers, by worker, said and class."""
        found = np.zeros((workers, self.classes, self.classes))
        *where, counts = self.all_cells(workers)
        found[tuple(where)] = counts
        return found

    # Adding up -------------------------------------------------------------------------------

    def add_cells(self, cells: Cells) -> None:
        """Add counts."""
        who, said, classes = (np.ascontiguousarray(part) for part in cells[:3])
        self.loops.add_all(who, said, classes, np.ascontiguousarray(cells.counts))

    def add_dense(self, counts: Floats) -> None:
        """Add counts by worker, said and class."""
        workers, said, classes = np.nonzero(counts)
        self.add_cells(Cells(workers, said, classes, counts[workers, said, classes]))

    def __iadd__(self, other: SparseCounts) -> SparseCounts:
        self.reserve(len(other.right))
        add_rows(self.loops, other.loops, len(other.right))
        return self

    def replace(self, other: SparseCounts) -> tuple[float, float]:
        """Take over another's counts, which it gives away; the most that one changes, and how many.

        Rows of workers beyond those it has must be 0.
        """
        changed = change_to(self.loops, other.loops, len(other.right))
        rows = len(self.right)
        self._starts, self._sizes = grown(other._starts, rows), grown(other._sizes, rows)
        self.right, self.totals = grown(other.right, rows), grown(other.totals, rows)
        self._where, self._values, self._left = other._where, other._values, other._left
        self.loops.size = other.loops.size
        self._bind()
        return changed

    def copy(self, workers: int) -> SparseCounts:
        """The counts of the first workers as they are now."""
        found = SparseCounts(workers, self.classes)
        found.unpack(self.pack(workers))
        return found

    # Saving ----------------------------------------------------------------------------------

    def pack(self, workers: int) -> dict[str, NDArray[np.generic]]:
        """The counts that are not 0, each with its place; right answers and totals whole."""
        k, cells = self.classes, self.cells(workers)
        return {
            "cells": (cells.workers * k + cells.said) * k + cells.classes,
            "values": cells.counts,
            "right": self.right[:workers].copy(),
            "totals": self.totals[:workers].copy(),
        }

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Take over what `pack` gave, where nothing was counted yet."""
        right, totals = arrays.get("right"), arrays.get("totals")
        cells, values = arrays.get("cells"), arrays.get("values")
        if right is None or totals is None or cells is None or values is None:
            raise StateError("a saved state whose sums do not fit: many classes")
        workers, k = right.shape if right.ndim == 2 else (0, 0)
        fits = totals.shape == right.shape and k == self.classes and workers <= len(self.right)
        fits &= cells.shape == values.shape and cells.ndim == 1
        fits &= cells.dtype == np.int64 and values.dtype == right.dtype == totals.dtype == float
        places: Ints = cells.astype(np.int64) if fits else NOWHERE
        if not fits or bool(((places < 0) | (places >= workers * k * k)).any()):
            raise StateError("a saved state whose sums do not fit: cells")
        rows, classes = np.divmod(places, k)
        self.add_cells(Cells(*np.divmod(rows, k), classes, values.astype(np.float64)))
        self.right[:workers], self.totals[:workers] = right, totals

    def __reduce__(self) -> tuple[Callable[..., SparseCounts], tuple[object, ...]]:
        workers = len(self.right)
        return _restored, (workers, self.classes, self.pack(workers))


def _restored(
    workers: int, classes: int, arrays: Mapping[str, NDArray[np.generic]]
) -> SparseCounts:
    """Counts that were pickled."""
    found = SparseCounts(workers, classes)
    found.unpack(arrays)
    return found
