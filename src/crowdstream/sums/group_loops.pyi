import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

def join_pairs(groups: Codes, one: Ints, other: Ints) -> None: ...
def flatten(groups: Codes) -> None: ...
