import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

Floats = NDArray[np.float64]

class Judge:
    def __init__(
        self, skills: Floats, family: NDArray[np.int32], per_label: Floats, per_class: Floats
    ) -> None: ...

class JudgedSums:
    def add(
        self, judge: Judge, tasks: Tasks, weight: float, growth: float, in_order: bool
    ) -> None: ...
    def add_with(self, other: JudgedSums, judge: Judge, tasks: Tasks, in_order: bool) -> None: ...
