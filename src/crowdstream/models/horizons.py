"""`HorizonSums`: skills that change, at several horizons, and whether change is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints
from crowdstream.models.change_loops import ChangeEvidence
from crowdstream.models.horizon_loops import Horizons
from crowdstream.models.scoring_loops import FamilyPowers
from crowdstream.serialization import Packed
from crowdstream.sums.agreement import fill
from crowdstream.sums.growing import grown

Floats = NDArray[np.float64]

HORIZONS = (8, 16, 64, 256, 1024)
"""Own answers after which what a worker did counts 1/e; beside them one that never forgets."""

KEEP: Floats = np.array([1.0 - 1.0 / horizon for horizon in HORIZONS] + [1.0])
"""What an answer leaves of the sums at each horizon."""

LABELS = 8
"""Labels of a task that there is space to work on at first."""


class HorizonSums:
    """What is learnt of every worker at each horizon, of the crowd, and of change.

    ``rows``: B, C and weights; ``crowd``: spread, pairs and belief of each horizon; ``total``: see
    `crowdstream.models.horizon_loops`; ``evidence``: see `crowdstream.models.change_loops`.
    """

    def __init__(self, powers: FamilyPowers) -> None:
        horizons = KEEP.size
        self._rows: Floats = np.zeros((0, 3 * horizons))
        self.crowd: Floats = np.zeros((4, horizons))
        self.crowd[2] = 1.0 / horizons
        self.crowd[3] = 1.0
        self.total: Floats = np.zeros(6)
        self.evidence: Floats = np.zeros(2)
        self._odds: Floats = np.empty(2)
        self._work: Floats = np.empty((2, LABELS))
        self.loops = Horizons(powers, self.crowd, self.total, KEEP, np.empty(horizons))
        self._bind()
        self.change = ChangeEvidence(self.loops, self.evidence)

    def set_classes(self, classes: int) -> None:
        """Score so many classes."""
        if classes != self._odds.size:
            self._odds = np.empty(classes)
            self._bind()

    def make_room(self, workers: int, labels: int = 0) -> None:
        """Have rows for so many workers, and space to work on so many labels of a task.

        The loops ask for it, so that a crowd that learns tables alone has no rows.
        """
        self._rows = grown(self._rows, workers)
        if labels > self._work.shape[1]:
            self._work = np.empty((2, 2 * labels))
        self._bind()

    def _bind(self) -> None:
        self.loops.bind(self._rows, self._odds, self._work, self.make_room)

    @property
    def rows(self) -> Floats:
        """One row per worker, up to the last of whom anything is known."""
        known = np.flatnonzero(self._rows.any(axis=1))
        return self._rows[: known[-1] + 1 if known.size else 0]

    # Reading ---------------------------------------------------------------------------------

    def skills(self, workers: int) -> Floats:
        """Return how much better than chance each of so many workers is now."""
        found = np.empty(workers)
        self.loops.prepare()
        self.loops.fill_skills(found)
        return found

    @property
    def mean(self) -> float:
        """The crowd's mean skill."""
        self.loops.prepare()
        return self.loops.mean

    # Merging and saving ----------------------------------------------------------------------

    def merge(self, other: HorizonSums, names: Ints) -> None:
        """Add another crowd's sums; weights and evidence are averaged by what each crowd saw."""
        n, theirs = KEEP.size, other.rows
        names = names[: len(theirs)]
        self.make_room(int(names.max(initial=-1)) + 1)
        mine = self._rows[names]
        seen = mine[:, 2 * n - 1 : 2 * n], theirs[:, 2 * n - 1 : 2 * n]
        both = np.maximum(seen[0] + seen[1], 1e-300)
        weights = (seen[0] * mine[:, 2 * n :] + seen[1] * theirs[:, 2 * n :]) / both
        mine[:, : 2 * n] += theirs[:, : 2 * n]
        mine[:, 2 * n :] = weights
        self._rows[names] = mine
        tasks = self.total[3], other.total[3]
        if sum(tasks) > 0:
            for one, two in ((self.crowd[2], other.crowd[2]), (self.evidence, other.evidence)):
                one[:] = (tasks[0] * one + tasks[1] * two) / sum(tasks)
        self.crowd[:2] += other.crowd[:2]
        self.total += other.total

    def pack(self) -> Packed:
        """The arrays, without spare rows."""
        return {
            "rows": self.rows,
            "crowd": self.crowd,
            "total": self.total,
            "evidence": self.evidence,
        }

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `pack` gave."""
        self.make_room(len(arrays["rows"]))
        slots = self.pack() | {"rows": self._rows[: len(arrays["rows"])]}
        fill(slots, arrays)
