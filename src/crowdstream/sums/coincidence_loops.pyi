import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

Whole = NDArray[np.int64]

class CoincidenceRows:
    def __init__(
        self, tasks: Whole, squares: Whole, said: Whole, moved: Whole, pairs: Whole, fourth: Whole
    ) -> None: ...

def add_tasks(
    tasks: Tasks,
    sign: int,
    row_of: NDArray[np.int32],
    sums: CoincidenceRows,
    votes: Whole,
    found: NDArray[np.int32],
    products: Whole,
    alike: Whole,
) -> None: ...
def add_pair_tables(
    tasks: Tasks, slots: NDArray[np.int32], tables: NDArray[np.int32], held: Whole
) -> None: ...
