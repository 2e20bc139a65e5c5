from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

class SparseRows:
    size: int
    def __init__(self, grow: Callable[[], Callable[[int], None] | None]) -> None: ...
    def bind(
        self,
        starts: Codes,
        sizes: Codes,
        right: Floats,
        totals: Floats,
        where: Codes,
        values: Floats,
        left: Codes,
    ) -> None: ...
    def add_all(self, workers: Ints, said: Ints, classes: Ints, counts: Floats) -> None: ...
    def fill_keys(self, n: int, out: Ints) -> None: ...

def add_rows(mine: SparseRows, other: SparseRows, n: int) -> None: ...
def change_to(mine: SparseRows, other: SparseRows, n: int) -> tuple[float, float]: ...
