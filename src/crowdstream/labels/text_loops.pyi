from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]

COMPILED: Final[bool]
TEXTS: Final = 0
ARENA: Final = 1
DONE: Final = 0
FULL: Final = 1
ODD: Final = 2

class TextTable:
    def __init__(self, slots: UInts, records: NDArray[Any], arena: UInts, used: Ints) -> None: ...

class Views:
    def __init__(self, views: UInts, buffers: UInts, valid: int, first_bit: int) -> None: ...

class RowReader:
    rows: int
    runs: int
    filled: int
    at: int
    wanted: int
    full_of_tasks: bool
    def __init__(
        self,
        separator: int,
        places: tuple[int, int, int],
        fields: int,
        codes: tuple[Codes, Codes],
        tasks: tuple[Ints, UInts, Bytes],
        scratch: Bytes,
    ) -> None: ...
    def code_tasks(self, tasks: Codes, table: TextTable) -> None: ...
    def read(self, data: Bytes, stop: int, table: TextTable, quoted: bool) -> int: ...

def fill_slots(table: TextTable) -> None: ...
def copy_texts(table: TextTable, kind: int, views: UInts, into: Bytes) -> int: ...
def code_chunk(
    chunk: Views, row: int, table: TextTable, codes: Codes, firsts: Ints, before: int
) -> int: ...
def last_row_end(data: Bytes, separator: int) -> int: ...
