import numpy as np
from numpy.typing import NDArray

from crowdstream.monitoring.judging_loops import JudgedSums

class DriftSums(JudgedSums):
    def __init__(
        self,
        rows: NDArray[np.float64],
        swings: NDArray[np.float64],
        events: NDArray[np.float64],
        count: NDArray[np.float64],
    ) -> None: ...
