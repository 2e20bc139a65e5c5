"""`ClosedIndex`: where the decision on a closed task is, in 16 bytes per task. Knows no database.

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

RECENT = 4096
"""Tasks that are kept in a dictionary before they become a run."""


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
        self._recent: dict[int, list[int]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, tasks: Sequence[str], row: int) -> None:
        """The tasks of a row, in their order."""
        for offset, task in enumerate(tasks):
            self._recent.setdefault(hash(task), []).append(row << SHIFT | offset)
        self._size += len(tasks)
        if len(self._recent) >= RECENT:
            pairs = [(key, place) for key, places in self._recent.items() for place in places]
            self._recent = {}
            self._push(np.array(pairs, np.int64).reshape(-1, 2))

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
        places: dict[str, list[int]] = {}
        for task in names:
            if found := self._recent.get(hash(task)):
                places[task] = list(found)
        if self._runs:
            hashes = np.fromiter(map(hash, names), np.int64, len(names))
            for run in self._runs:
                first = run.hashes.searchsorted(hashes)
                inside = np.minimum(first, run.hashes.size - 1)
                for i in np.flatnonzero(run.hashes[inside] == hashes).tolist():
                    last = run.hashes.searchsorted(hashes[i], "right")
                    places.setdefault(names[i], []).extend(run.places[first[i] : last].tolist())
        mask = (1 << SHIFT) - 1
        return {
            task: [(place >> SHIFT, place & mask) for place in found]
            for task, found in places.items()
        }

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
        self._runs.append(Run(*(np.ascontiguousarray(together[order, i]) for i in (0, 1))))
