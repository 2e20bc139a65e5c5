import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

def replace_counts(counts: Floats, found: Floats) -> tuple[float, float]: ...
