import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

class Bank:
    named: int
    mean: float
    def __init__(
        self, rows: Floats, crowd: Floats, total: Floats, keep: Floats, prior: Floats, odds: Floats
    ) -> None: ...
    def prepare(self, classes: int) -> None: ...
    def fill_skills(self, out: Floats) -> None: ...
    def fill_weights(self, out: Floats) -> None: ...
    def score(self, starts: Ints, workers: Codes, labels: Codes, scores: Floats) -> None: ...
    def follow(
        self,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        work: Floats,
        majority: bool,
        scores: Floats,
    ) -> None: ...
    def take_back(
        self, starts: Ints, workers: Codes, labels: Codes, truths: Codes, work: Floats
    ) -> None: ...
