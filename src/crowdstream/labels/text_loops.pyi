from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

COMPILED: Final[bool]
TEXTS: Final = 0
WORDS: Final = 1
ROWS: Final = 0
RUNS: Final = 1
HEADS: Final = 2
LAST: Final = 3
AT: Final = 4
WANT: Final = 5
DONE: Final = 0
GROW: Final = 1
ODD: Final = 2

class TextTable:
    def __init__(self, slots: Codes, records: NDArray[Any], arena: Words, used: Ints) -> None: ...

def fill_slots(table: TextTable) -> None: ...
def code_chunk(
    views: Words,
    buffers: Words,
    valid: int,
    first_bit: int,
    row: int,
    table: TextTable,
    codes: Codes,
    firsts: Ints,
    before: int,
) -> int: ...
def run_starts(views: Words, buffers: Words, before: int, starts: Ints) -> int: ...
def read_rows(
    data: Bytes,
    stop: int,
    separator: int,
    at_task: int,
    at_worker: int,
    at_label: int,
    fields: int,
    table: TextTable,
    spots: Ints,
    heads: Bytes,
    workers: Codes,
    labels: Codes,
    starts: Ints,
    state: Ints,
) -> int: ...
