import numpy as np
from numpy.typing import NDArray

from crowdstream.monitoring.judging_loops import JudgedSums

class TrendSums(JudgedSums):
    def __init__(
        self, rows: NDArray[np.float64], points: NDArray[np.float64], count: NDArray[np.float64]
    ) -> None: ...
