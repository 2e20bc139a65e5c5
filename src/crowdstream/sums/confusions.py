"""Confusions as posterior counts: how often each worker said x on tasks of class a.

A task counts for each class by its posterior, rounded to multiples of 2⁻²⁴ before it is added, so
these sums too do not depend on the order or the partition of the tasks, up to 2²⁹ of them. What a
task adds depends on the estimates at that moment, so merged streams agree with one stream only
approximately. Of many classes only counts that are not 0 are kept. Knows workers and classes by
their codes only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints
from crowdstream.sums.agreement import fill
from crowdstream.sums.count_loops import replace_counts
from crowdstream.sums.growing import grown
from crowdstream.sums.rows import FEW_CLASSES
from crowdstream.sums.sparse import Cells, SparseCounts

Floats = NDArray[np.float64]

Counts: TypeAlias = Floats | SparseCounts
"""Counts by worker, said and class: all, or of many classes those that are not 0."""


def no_counts(workers: int, classes: int) -> Counts:
    """Counts of nothing."""
    if classes > FEW_CLASSES:
        return SparseCounts(workers, classes)
    return np.zeros((workers, classes, classes))


class Change(NamedTuple):
    """Change of counts: the largest of one count, and how many answers moved in all."""

    largest: float
    moved: float


class ConfusionSums:
    """``counts[i, x, a]``: answers x of worker i on tasks of class a; ``mass[a]``: those tasks.

    ``counts[i, K, a]`` is the sum over all x. Of more than `FEW_CLASSES` they are ``sparse``.
    """

    def __init__(self) -> None:
        self.workers = 0
        self.classes = 2
        self.counts: Floats = np.zeros((0, 3, 2))
        self.sparse: SparseCounts | None = None
        self.mass: Floats = np.zeros(2)

    def reserve(self, workers: int) -> None:
        """Have rows for so many workers, who are yet to be met."""
        if self.sparse is None:
            self.counts = grown(self.counts, workers)
        else:
            self.sparse.reserve(workers)

    def make_room(self, workers: int, classes: int) -> None:
        """Have rows for so many workers and so many classes."""
        k = self.classes
        self.reserve(workers)
        if classes > k:
            if self.sparse is not None:
                self.sparse.widen(classes)
            elif classes > FEW_CLASSES:
                self.sparse = SparseCounts(len(self.counts), classes)
                self.sparse.add_dense(self.counts[:, :k])
                self.sparse.totals[:, :k] = self.counts[:, k]
                self.counts = np.zeros((0, classes + 1, classes))
            else:
                counts = np.zeros((len(self.counts), classes + 1, classes))
                counts[:, :k, :k] = self.counts[:, :k]
                counts[:, classes, :k] = self.counts[:, k]
                self.counts = counts
            self.classes = classes
            self.mass = np.append(self.mass, np.zeros(classes - k))
        self.workers = max(self.workers, workers)

    def replace(self, counts: Counts, mass: Floats) -> Change:
        """Start again from counts without their sums over x; how much that changes."""
        self.mass[:] = mass
        if self.sparse is not None:
            return Change(*self.sparse.replace(self._as_sparse(counts)))
        assert not isinstance(counts, SparseCounts)
        return Change(*replace_counts(self.counts, counts))

    def add(self, counts: Counts, mass: Floats) -> None:
        """Add counts without their sums over x."""
        if self.sparse is not None:
            self.sparse += self._as_sparse(counts)
        else:
            assert not isinstance(counts, SparseCounts)
            n = len(counts)
            self.counts[:n, : self.classes] += counts
            self.counts[:n, self.classes] += counts.sum(axis=1)
        self.mass += mass

    def _as_sparse(self, counts: Counts) -> SparseCounts:
        if isinstance(counts, SparseCounts):
            return counts
        found = SparseCounts(len(counts), self.classes)
        found.add_dense(counts)
        return found

    def scale(self, factor: float) -> None:
        """Let every count weigh so many times as much."""
        for array in self.arrays():
            array *= factor

    def drop(self, before: ConfusionSums) -> None:
        """Take away what was counted before; no count falls below 0."""
        rows = before.workers
        if self.sparse is not None:
            assert before.sparse is not None
            left = self.sparse.dense(self.workers)
            left[:rows] = np.maximum(left[:rows] - before.sparse.dense(rows), 0.0)
            self.sparse.replace(self._as_sparse(left))
        else:
            self.counts[:rows] = np.maximum(self.counts[:rows] - before.counts[:rows], 0.0)
            self.counts[:rows, self.classes] = self.counts[:rows, : self.classes].sum(axis=1)
        self.mass[:] = np.maximum(self.mass - before.mass, 0.0)

    def take_over(self, other: ConfusionSums) -> None:
        """Have the counts of another, of the same workers and classes."""
        if self.sparse is not None:
            assert other.sparse is not None
            self.sparse.replace(other.sparse.copy(other.workers))
        else:
            self.counts[: other.workers] = other.counts[: other.workers]
        self.mass[:] = other.mass

    def copy(self) -> ConfusionSums:
        """The counts as they are now, without spare rows."""
        found = ConfusionSums()
        found.workers, found.classes, found.mass = self.workers, self.classes, self.mass.copy()
        found.counts = self.counts[: self.workers].copy()
        found.sparse = None if self.sparse is None else self.sparse.copy(self.workers)
        return found

    def arrays(self) -> list[Floats]:
        """All that forgetting scales."""
        if self.sparse is None:
            return [self.counts, self.mass]
        return [self.sparse.values, self.sparse.right, self.sparse.totals, self.mass]

    def merge(self, other: ConfusionSums, names: Ints, classes: Ints) -> None:
        """Add another's counts; its worker i is ``names[i]`` here, its class a ``classes[a]``."""
        k = classes.size
        if self.sparse is not None:
            self.sparse.add_cells(other._cells(names, classes))
        else:
            theirs = other.counts[: other.workers]
            self.counts[np.ix_(names, classes, classes)] += theirs[:, :k, :k]
            totals = np.array([self.classes])
            self.counts[np.ix_(names, totals, classes)] += theirs[:, other.classes :, :k]
        self.mass[classes] += other.mass[:k]

    def _cells(self, names: Ints, classes: Ints) -> Cells:
        """The counts that are not 0 in other codes, of these workers and classes alone."""
        n, k = names.size, classes.size
        if self.sparse is None:
            where = np.nonzero(self.counts[:n, :k, :k])
            workers, said, true, counts = *where, self.counts[where]
        else:
            workers, said, true, counts = self.sparse.all_cells(n)
        known = (said < k) & (true < k)
        return Cells(
            names[workers[known]], classes[said[known]], classes[true[known]], counts[known]
        )

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The arrays, without spare rows."""
        if self.sparse is not None:
            return self.sparse.pack(self.workers) | {"mass": self.mass}
        return {"counts": self.counts[: self.workers], "mass": self.mass}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        if self.sparse is None:
            fill({"counts": self.counts[:workers], "mass": self.mass}, arrays)
        else:
            fill({"mass": self.mass}, arrays)
            self.sparse.unpack(arrays)
