from typing import Final

import numpy as np
from numpy.typing import NDArray

NULL_WORKER: Final = 0
NULL_LABEL: Final = 1
REPEATED: Final = 2
REPLACED: Final = 3

def last_row_end(data: NDArray[np.uint8], separator: int) -> int: ...
def recode(codes: NDArray[np.int32], new: NDArray[np.int32]) -> None: ...
