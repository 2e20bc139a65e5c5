"""Soft confusions: how often each worker said what of which class, classes by how likely they were.

Posteriors are rounded to multiples of 2⁻²⁴ before they are added, so these sums too do not depend
on the order or the partition of the tasks, up to 2²⁹ of them. What a task adds depends on who
judges it when, so merged streams agree with one stream approximately only.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints
from crowdstream.sums.agreement import fill

Floats = NDArray[np.float64]


class ConfusionSums:
    """``counts[i, x, a]``: answers x of worker i on tasks of class a; ``mass[a]``: those tasks.

    ``counts[i, K, a]`` is the sum over all x.
    """

    def __init__(self) -> None:
        self.workers = 0
        self.classes = 2
        self.counts: Floats = np.zeros((0, 3, 2))
        self.mass: Floats = np.zeros(2)

    def make_room(self, workers: int, classes: int) -> None:
        """Let there be rows for so many workers and so many classes."""
        classes = max(classes, self.classes)
        if workers > len(self.counts) or classes > self.classes:
            room, k = len(self.counts), self.classes
            size = max(workers, 2 * room, 16) if workers > room else room
            counts = np.zeros((size, classes + 1, classes))
            counts[:room, :k, :k] = self.counts[:, :k]
            counts[:room, classes, :k] = self.counts[:, k]
            mass = np.zeros(classes)
            mass[:k] = self.mass
            self.counts, self.mass, self.classes = counts, mass, classes
        self.workers = max(self.workers, workers)

    def replace(self, counts: Floats, mass: Floats) -> None:
        """Begin anew from counts without their sums over what was said."""
        n = len(counts)
        self.counts[:n, : self.classes] = counts
        self.counts[:n, self.classes] = counts.sum(axis=1)
        self.mass[:] = mass

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
        """The arrays, without spare room."""
        return {"counts": self.counts[: self.workers], "mass": self.mass}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], workers: int, classes: int) -> None:
        """Take over what `pack` gave."""
        self.make_room(workers, classes)
        fill({"counts": self.counts[:workers], "mass": self.mass}, arrays)
