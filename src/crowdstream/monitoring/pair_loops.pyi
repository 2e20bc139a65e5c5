import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

class PairSums:
    def __init__(
        self,
        met: NDArray[np.float64],
        same: NDArray[np.float64],
        slots: NDArray[np.int32],
        scratch: NDArray[np.int64],
    ) -> None: ...
    def add(self, tasks: Tasks, weight: float, growth: float, most: int) -> None: ...
