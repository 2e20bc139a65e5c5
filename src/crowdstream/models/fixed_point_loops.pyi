from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SOLVED: Final = 0
FLAT: Final = 1
NO_SOLUTION: Final = 2

def solve(
    agreement: Floats, dominant: bool, shares: Floats, slope: Floats
) -> tuple[int, float]: ...
