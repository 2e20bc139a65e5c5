from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks
from crowdstream.models.scoring_loops import FamilyPowers

Floats = NDArray[np.float64]

class Horizons:
    mean: float
    mixed: float
    lasting: float
    def __init__(
        self, powers: FamilyPowers, crowd: Floats, total: Floats, keep: Floats, prior: Floats
    ) -> None: ...
    def bind(
        self, rows: Floats, odds: Floats, work: Floats, room: Callable[[int, int], None]
    ) -> None: ...
    def prepare(self) -> None: ...
    def fill_skills(self, out: Floats) -> None: ...
    def take_back(self, tasks: Tasks) -> None: ...
