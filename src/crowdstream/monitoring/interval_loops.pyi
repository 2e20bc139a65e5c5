import numpy as np
from numpy.typing import NDArray

from crowdstream.monitoring.judging_loops import JudgedSums

class IntervalSums(JudgedSums):
    def __init__(
        self, rows: NDArray[np.float64], doubts: NDArray[np.float64], total: NDArray[np.float64]
    ) -> None: ...

class SlopeSums(JudgedSums):
    def __init__(self, pull: NDArray[np.float64], info: NDArray[np.float64]) -> None: ...
