"""Sums of judged labels over a whole table, in whatever parts. Knows nothing of what is summed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.models.passes import Pass
from crowdstream.monitoring.judging_loops import Judge, JudgedSums

Floats = NDArray[np.float64]


def new_judge(skills: Floats, family: Codes, classes: int, largest: int) -> Judge:
    """A judge of labels by these skills, the last for unknown workers, and tasks of this size."""
    return Judge(skills.copy(), family, np.empty((4, largest)), np.empty((2, classes)))


@dataclass(frozen=True, eq=False)
class JudgeTasks(Pass[list[Floats]]):
    """The arrays, of these shapes, that ``kind`` adds judged labels to."""

    kind: type[JudgedSums]
    shapes: tuple[tuple[int, ...], ...]
    skills: Floats
    family: Codes
    classes: int
    in_order: bool = False

    @property
    def by_name(self) -> bool:
        """No: by codes alone."""
        return False

    def begin(self) -> list[Floats]:
        """Nothing judged."""
        return [np.zeros(shape) for shape in self.shapes]

    def add(self, sums: list[Floats], batch: LabelBatch) -> None:
        """Judge every label by all others of its task, or those before it."""
        largest = int(batch.sizes.max(initial=1))
        judge = new_judge(self.skills, self.family, self.classes, largest)
        self.kind(*sums).add(judge, batch.coded, 1.0, 1.0, self.in_order)

    def join(self, sums: list[Floats], other: list[Floats]) -> None:
        """Add other tasks' sums."""
        for mine, theirs in zip(sums, other, strict=True):
            mine += theirs
