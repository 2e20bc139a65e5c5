"""Confusions as posterior counts: how often each worker said x on tasks of class a.

A task counts for each class by its posterior, rounded to multiples of 2⁻²⁴ before it is added, so
these sums too do not depend on the order or the partition of the tasks, up to 2²⁹ of them. What a
task adds depends on the estimates at that moment, so merged streams agree with one stream only
approximately. Knows workers and classes by their codes only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints
from crowdstream.sums.agreement import fill
from crowdstream.sums.count_loops import replace_counts
from crowdstream.sums.growing import grown

Floats = NDArray[np.float64]


class Change(NamedTuple):
    """Change of counts: the largest of one count, and how many answers moved in all."""

    largest: float
    moved: float


class ConfusionSums:
    """``counts[i, x, a]``: answers x of worker i on tasks of class a; ``mass[a]``: those tasks.

    ``counts[i, K, a]`` is the sum over all x.
    """

    def __init__(self) -> None:
        self.workers = 0
        self.classes = 2
        self.counts: Floats = np.zeros((0, 3, 2))
        self.mass: Floats = np.zeros(2)

    def reserve(self, workers: int) -> None:
        """Have rows for so many workers, who are yet to be met."""
        self.counts = grown(self.counts, workers)

    def make_room(self, workers: int, classes: int) -> None:
        """Have rows for so many workers and so many classes."""
        k = self.classes
        self.reserve(workers)
        if classes > k:
            counts = np.zeros((len(self.counts), classes + 1, classes))
            counts[:, :k, :k] = self.counts[:, :k]
            counts[:, classes, :k] = self.counts[:, k]
            self.counts, self.classes = counts, classes
            self.mass = np.append(self.mass, np.zeros(classes - k))
        self.workers = max(self.workers, workers)

    def replace(self, counts: Floats, mass: Floats) -> Change:
        """Start again from counts without their sums over x; how much that changes."""
        self.mass[:] = mass
        return Change(*replace_counts(self.counts, counts))

    def add(self, counts: Floats, mass: Floats) -> None:
        """Add counts without their sums over x."""
        n = len(counts)
        self.counts[:n, : self.classes] += counts
        self.counts[:n, self.classes] += counts.sum(axis=1)
        self.mass += mass

    def scale(self, factor: float) -> None:
        """Let every count weigh so many times as much."""
        self.counts *= factor
        self.mass *= factor

    def drop(self, before: ConfusionSums) -> None:
        """Take away what was counted before; no count falls below 0."""
        rows = before.workers
        self.counts[:rows] = np.maximum(self.counts[:rows] - before.counts[:rows], 0.0)
        self.counts[:rows, self.classes] = self.counts[:rows, : self.classes].sum(axis=1)
        self.mass[:] = np.maximum(self.mass - before.mass, 0.0)

    def take_over(self, other: ConfusionSums) -> None:
        """Have the counts of another, of the same workers and classes."""
        self.counts[: other.workers] = other.counts[: other.workers]
        self.mass[:] = other.mass

    def copy(self) -> ConfusionSums:
        """The counts as they are now, without spare rows."""
        found = ConfusionSums()
        found.workers, found.classes = self.workers, self.classes
        found.counts, found.mass = self.counts[: self.workers].copy(), self.mass.copy()
        return found

    def arrays(self) -> list[Floats]:
        """All that forgetting scales."""
        return [self.counts, self.mass]

    def merge(self, other: ConfusionSums, names: Ints, classes: Ints) -> None:
        """Add another's counts; its worker i is ``names[i]`` here, its class a ``classes[a]``."""
        k = classes.size
        theirs = other.counts[: other.workers]
        self.counts[np.ix_(names, classes, classes)] += theirs[:, :k, :k]
        totals = np.array([self.classes])
        self.counts[np.ix_(names, totals, classes)] += theirs[:, other.classes :, :k]
        self.mass[classes] += other.mass[:k]

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """The arrays, without spare rows."""
        return {"counts": self.counts[: self.workers], "mass": self.mass}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        fill({"counts": self.counts[:workers], "mass": self.mass}, arrays)
