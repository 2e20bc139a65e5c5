import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]

class Tasks:
    def __init__(
        self, starts: NDArray[np.int64], workers: Codes, labels: Codes, truths: Codes
    ) -> None: ...
