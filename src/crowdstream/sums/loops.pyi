import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

def merge_groups(groups: Codes, others: Codes, names: Ints) -> None: ...
def flatten(groups: Codes) -> None: ...

class Rows:
    def __init__(
        self,
        rows: Floats,
        shares: Floats,
        groups: Codes,
        family: Codes,
        kin: Floats,
        total: Floats,
        votes: Floats,
    ) -> None: ...
    def add(
        self,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        weight: float,
        growth: float,
    ) -> None: ...
