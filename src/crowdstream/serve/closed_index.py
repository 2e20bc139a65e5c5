"""`ClosedIndex`: where the decision on a closed task is, in about 20 bytes each. Knows no database.

Names are known by their hash, which the process makes up anew each time it starts; two names may
share one, so whoever finds a place looks there for the name. Sorted runs, the longest first, each
at least twice as long as the next: to add is cheap, and to look up looks at few of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHIFT = 20
"""Bits of a place that say which of a row's tasks it is; the others are the row."""

RECENT = 16_384
"""Tasks that are kept in a dictionary before they become a run."""


SPARSE = 4
"""Flags per task at least, by which most names that are not there are known not to be."""


class Run(NamedTuple):
    """Hashes in order, and the place of each."""

    hashes: NDArray[np.int64]
    places: NDArray[np.int64]


class ClosedIndex:
    """Hashes of task names and where their decisions are.

    >>> index = ClosedIndex()
    >>> index.add(["t1", "t2"], row=7)
    >>> index.find(["t2", "t3"])
    {'t2': [(7, 1)]}
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._recent: dict[int, int] = {}
        self._seen = np.zeros(1, np.bool_)  # by the last bits of a hash
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, tasks: Sequence[str], row: int) -> None:
        """The tasks of a row, in their order."""
        hashes = list(map(hash, tasks))
        new = dict(zip(hashes, range(row << SHIFT, (row << SHIFT) + len(hashes)), strict=True))
        self._size += len(hashes)
        if len(new) < len(hashes) or not self._recent.keys().isdisjoint(new):
            places = np.arange(len(hashes), dtype=np.int64) | row << SHIFT  # two share a hash
            self._push(np.stack([np.array(hashes, np.int64), places], axis=1))
            return
        self._recent |= new
        if len(self._recent) >= RECENT:
            n, recent = len(self._recent), self._recent
            columns = [np.fromiter(each, np.int64, n) for each in (recent.keys(), recent.values())]
            self._recent = {}
            self._push(np.stack(columns, axis=1))

    def load(self, rows: Iterable[tuple[int, list[str]]]) -> None:
        """All that was closed before, row by row."""
        hashes, places = [], []
        for row, tasks in rows:
            hashes.append(np.fromiter(map(hash, tasks), np.int64, len(tasks)))
            places.append(np.arange(len(tasks), dtype=np.int64) | row << SHIFT)
        if hashes:
            pairs = np.stack([np.concatenate(hashes), np.concatenate(places)], axis=1)
            self._size += len(pairs)
            self._push(pairs)

    def find(self, tasks: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
        """Row and offset of each task that may be there, more than one where hashes are shared."""
        names = list(tasks)
        hashes = list(map(hash, names))
        places: dict[str, list[int]] = {}
        if not self._recent.keys().isdisjoint(hashes):
            for task, key in zip(names, hashes, strict=True):
                if key in self._recent:
                    places[task] = [self._recent[key]]
        if self._runs:
            self._find_in_runs(names, np.array(hashes, np.int64), places)
        mask = (1 << SHIFT) - 1
        return {
            task: [(place >> SHIFT, place & mask) for place in found]
            for task, found in places.items()
        }

    def _find_in_runs(
        self, names: list[str], hashes: NDArray[np.int64], places: dict[str, list[int]]
    ) -> None:
        maybe = np.flatnonzero(self._seen[hashes & (self._seen.size - 1)])
        hashes = hashes[maybe]
        for run in self._runs if maybe.size else ():
            first = run.hashes.searchsorted(hashes)
            inside = np.minimum(first, run.hashes.size - 1)
            for i in np.flatnonzero(run.hashes[inside] == hashes).tolist():
                last = run.hashes.searchsorted(hashes[i], "right")
                found = run.places[first[i] : last].tolist()
                places.setdefault(names[maybe[i]], []).extend(found)

    def _push(self, pairs: NDArray[np.int64]) -> None:
        """Add a run, together with those before it that are less than twice as long."""
        parts = [pairs]
        size = len(pairs)
        while self._runs and self._runs[-1].hashes.size < 2 * size:
            last = self._runs.pop()
            size += last.hashes.size
            parts.append(np.stack(last, axis=1))
        together = np.concatenate(parts) if len(parts) > 1 else pairs
        order = together[:, 0].argsort(kind="stable")
        if self._size * SPARSE > self._seen.size:
            self._seen = np.zeros(1 << (2 * SPARSE * self._size - 1).bit_length(), np.bool_)
            for run in self._runs:
                self._seen[run.hashes & (self._seen.size - 1)] = True
        self._seen[together[:, 0] & (self._seen.size - 1)] = True
        self._runs.append(Run(*(np.ascontiguousarray(together[order, i]) for i in (0, 1))))
