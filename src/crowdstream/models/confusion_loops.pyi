import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks
from crowdstream.models.scoring_loops import FamilyPowers
from crowdstream.sums.sparse_loops import SparseRows

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

class Student:
    workers: int
    strength: float
    typical: float
    even: bool
    def __init__(
        self,
        powers: FamilyPowers,
        pooled: Floats,
        prior: Floats,
        product: Floats,
        row: Floats,
        where: Codes,
    ) -> None: ...
    def bind(self, counts: Floats, sparse: SparseRows | None, mass: Floats) -> None: ...
    def renew(self, workers: int, strength: float, unit: float, f: Floats) -> None: ...
    def spread_strength(self, most: float, unit: float) -> float: ...
    def fill_confusions(self, out: Floats) -> None: ...
    def fill_rows(self, own: Floats, off: Floats, on: Floats) -> None: ...

def recount(
    tasks: Tasks,
    powers: Floats,
    logs: Floats,
    prior: Floats,
    counts: Floats,
    mass: Floats,
    room: Floats,
) -> float: ...
