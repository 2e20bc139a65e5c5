import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

def keep_values(
    data: Bytes, around: Bytes, ends: NDArray[np.int64], out: Bytes, separator: int
) -> int: ...
