from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bytes = NDArray[np.uint8]

NULL_WORKER: Final = 0
NULL_LABEL: Final = 1
REPEATED: Final = 2
REPLACED: Final = 3

def last_row_end(data: Bytes, separator: int) -> int: ...
def recode(codes: Codes, new: Codes) -> None: ...
def count_rows(tasks: Codes, bounds: Ints) -> int: ...
def place_rows(tasks: Codes, place: Ints, order: Ints) -> None: ...
def all_stand(
    bounds: Ints, workers: Codes, labels: Codes, by: Ints, met: Ints, met_by: Ints
) -> int: ...
def keep_last(
    order: Ints,
    bounds: Ints,
    workers: Codes,
    labels: Codes,
    at: Ints,
    starts: Ints,
    kept_workers: Codes,
    kept_labels: Codes,
    met: Ints,
    met_by: Ints,
    counts: Ints,
) -> int: ...
def first_seen(codes: Codes, is_seen: Bytes, seen: Ints) -> int: ...
