import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]

def find_reason(settled: bool, labels: int, max_labels: int) -> int: ...
def fill_sure(
    confidences: Floats, labels: Ints, settle: float, min_labels: int, out: Flags
) -> None: ...
def fill_survivors(
    confidences: Floats,
    alone: Floats,
    same: Flags,
    labels: Ints,
    against: float,
    settle: float,
    min_labels: int,
    out: Flags,
) -> None: ...
def fill_reasons(
    settled: Flags, labels: Ints, max_labels: int, is_idle: Flags, ends: bool, out: Flags
) -> None: ...
