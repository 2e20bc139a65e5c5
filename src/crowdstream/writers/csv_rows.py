"""Large tables → rows of CSV, the bytes that polars would write, several pieces side by side."""

from __future__ import annotations

import contextlib
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.arrow import text_chunks
from crowdstream.parallel import threads
from crowdstream.writers.csv_loops import COMPILED, FLAG, NUMBER, ODD, SHARE, TEXT, format_rows

if TYPE_CHECKING:
    import polars as pl

Bytes = NDArray[np.uint8]

DIGITS = 6
"""Decimals of numbers in cells of text: more than they are accurate to, and quicker to write."""

PIECE = 1 << 15
"""Rows of a piece: of decisions about a megabyte, which stays in the cache."""

SMALL = 50_000
"""Rows of a table that polars writes as quickly."""

WIDEST = 1 << 10
"""Bytes of a row at most, by the longest text of each column: pieces take memory for such rows."""


class Columns(NamedTuple):
    """A table as the loop takes it: addresses, what keeps them alive, and a row's most bytes."""

    kinds: Bytes
    data: NDArray[np.uint64]
    buffers: NDArray[np.uint64]
    kept: list[object]
    width: int


def csv_pieces(table: pl.DataFrame, separator: str) -> Iterator[bytes | memoryview]:
    """Yield the rows of a table as CSV without a header.

    Text that needs quotes, and numbers out of the usual, are left to polars piece by piece; so is a
    table that is small, or that has nulls or columns of other kinds.
    """
    with contextlib.ExitStack() as open_columns:
        columns = None
        if COMPILED and sys.byteorder == "little" and table.height >= SMALL:
            columns = _columns(table, open_columns)
        if columns is None:
            yield by_polars(table, separator)
            return

        def write(first: int) -> bytes | memoryview:
            last = min(first + PIECE, table.height)
            out = np.empty((last - first) * columns.width + 16, np.uint8)
            rows = np.array([first, last])
            kinds, data, buffers, *_ = columns
            size = format_rows(kinds, data, buffers, rows, ord(separator), out)
            return by_polars(table[first:last], separator) if size == ODD else out[:size].data

        waiting: deque[Future[bytes | memoryview]] = deque()
        with ThreadPoolExecutor(threads()) as pool:
            for first in range(0, table.height, PIECE):
                waiting.append(pool.submit(write, first))
                if len(waiting) > 2 * threads():
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def by_polars(table: pl.DataFrame, separator: str) -> bytes:
    """Return the rows of a table as polars writes them, numbers rounded."""
    import polars.selectors as cs

    table = table.with_columns(cs.float().round(DIGITS))
    return table.write_csv(include_header=False, separator=separator).encode()


def _columns(table: pl.DataFrame, open_columns: contextlib.ExitStack) -> Columns | None:
    """Return the columns of a table as the loop takes them; None if it cannot take one."""
    import polars as pl

    kinds, places, buffers, width = [], [], [], 0
    kept: list[object] = []
    for series in table.rechunk():
        if series.null_count():
            return None
        text_buffers = 0
        if series.dtype == pl.String:
            (chunk,) = open_columns.enter_context(text_chunks(series))
            found, kind = chunk.views, TEXT
            kept.append(chunk)
            text_buffers = chunk.buffers.ctypes.data
            size = int((chunk.views[::2] & np.uint64(2**32 - 1)).max())
        elif series.dtype.is_float():
            found, kind, size = series.cast(pl.Float64).to_numpy(), SHARE, 8
        elif series.dtype.is_integer() and series.dtype not in (pl.UInt64, pl.Int128):
            found, kind, size = series.cast(pl.Int64).to_numpy(), NUMBER, 20
        elif series.dtype == pl.Boolean:
            found, kind, size = series.to_numpy().view(np.uint8), FLAG, 5
        else:
            return None
        found = np.ascontiguousarray(found)
        kept.append(found)
        kinds.append(kind)
        places.append(found.ctypes.data)
        buffers.append(text_buffers)
        width += size + 1
    if width > WIDEST:
        return None
    numbers = np.array(places, np.uint64), np.array(buffers, np.uint64)
    return Columns(np.array(kinds, np.uint8), *numbers, kept, width)
