import numpy as np
from numpy.typing import NDArray

COMPILED: bool
TEXT: int
SHARE: int
NUMBER: int
FLAG: int
ODD: int

def format_rows(
    kinds: NDArray[np.uint8],
    columns: NDArray[np.uint64],
    buffers: NDArray[np.uint64],
    rows: NDArray[np.int64],
    separator: int,
    out: NDArray[np.uint8],
) -> int: ...
