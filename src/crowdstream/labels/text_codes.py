"""Columns → codes 0, 1, 2, … in order of first appearance; text by a hash table in compiled loops.

Text is looked at eight bytes at a time, where it lies. That needs the compiled loops (`QUICK`);
polars is the other way. Knows nothing of what the text means.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.labels import text_loops
from crowdstream.labels.arrow import text_chunks
from crowdstream.labels.arrow_loops import TextViews
from crowdstream.labels.batch import Codes, Ints

if TYPE_CHECKING:
    import polars as pl

QUICK = text_loops.COMPILED and sys.byteorder == "little"
"""True if the loops can be used: they take the lowest byte of eight for the first."""
NULL = -1
"""The code of a null."""
ONE_BUFFER = 1 << 30
"""Bytes of long texts that one buffer of a column holds."""
KINDS = 2
"""Columns that may share a table."""
RECORD = np.dtype(
    [
        ("tag", np.uint64),
        ("one", np.uint64),
        ("two", np.uint64),
        ("code", np.int32),
        ("rest", np.uint32),
    ]
)
"""``Record`` of `text_loops`."""
MOST_WORDS = 1 << 32
"""Words of eight bytes that a record can tell apart."""
FREE = 2**64 - 1
"""A slot of a table without a text."""
LINE = 64
"""Bytes of a line of the cache: two records."""
MORE = 4
"""Growth of a full table: all copies together are then a third of the last."""


class TextCodes:
    """Texts known so far, of one column or several: each kind has codes of its own from 0 on."""

    def __init__(self, slots: int = 1 << 12, arena: int = 1 << 12) -> None:
        self._slots = np.full(slots, FREE, np.uint64)
        room = np.empty(slots // 2 * RECORD.itemsize + LINE, np.uint8)
        skip = -room.ctypes.data % LINE  # no record on two lines: each is a wait for memory
        self._records = room[skip : room.size - LINE + skip].view(RECORD)
        self._arena = np.empty(arena, np.uint64)
        self._used = np.zeros(2 + KINDS, np.int64)
        self.texts = text_loops.TextTable(self._slots, self._records, self._arena, self._used)

    def __len__(self) -> int:
        return int(self._used[text_loops.TEXTS])

    def grow(self, length: int) -> None:
        """Make room for several times the texts, and for one of this length."""
        if self._arena.size >= MOST_WORDS:
            raise MemoryError("names take more than 32 GB")
        arena = min(MORE * self._arena.size + length, MOST_WORDS)
        bigger = TextCodes(MORE * self._slots.size, arena)
        bigger._records[: self._records.size] = self._records
        bigger._arena[: self._arena.size] = self._arena
        bigger._used[:] = self._used
        text_loops.fill_slots(bigger.texts)
        self.__dict__ = bigger.__dict__

    def column(self, kind: int) -> pl.Series:
        """The texts of a kind, by code."""
        import polars as pl

        tags = self._records["tag"][: len(self)]
        sizes = tags[tags >> np.uint64(40) == kind].astype(np.uint32)
        views = np.empty(2 * sizes.size, np.uint64)
        text = np.empty(text_room(int(sizes.sum(dtype=np.int64))), np.uint8)
        filled = text_loops.copy_texts(self.texts, kind, views, text)
        return pl.Series(TextViews(views, text[:filled]))


def text_room(size: int) -> int:
    """Return the bytes that long texts of so many take, where none is cut by a buffer's end."""
    return size if size < ONE_BUFFER else 2 * size


def code_series(series: pl.Series) -> tuple[Codes, pl.Series]:
    """Codes in order of first appearance, −1 for null, and the values."""
    import polars as pl

    if series.dtype == pl.String and QUICK:
        codes, firsts = code_text(series)
        return codes, series.gather(firsts)
    values = series.drop_nulls().unique(maintain_order=True)
    if not len(values):
        return np.full(len(series), NULL, np.int32), values
    if not isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        places = pl.int_range(len(values), eager=True)
        coded = series.replace_strict(values, places, return_dtype=pl.Int32)
        return coded.fill_null(NULL).to_numpy(writable=True), values
    met = values.to_physical().to_numpy()
    found = series.to_physical()
    nothing = int(met.max(initial=0)) + 1
    if found.null_count():
        found = found.cast(pl.Int64).fill_null(nothing)
    code_of = np.full(nothing + 1, NULL, np.int32)
    code_of[met] = np.arange(len(values))
    return code_of.take(found.to_numpy()), values.cast(pl.String)


def code_text(series: pl.Series) -> tuple[Codes, Ints]:
    """A column of strings in codes, −1 for null, and the rows where each code came up first."""
    firsts = np.empty(len(series), np.int64)  # memory is taken as it is filled
    table = TextCodes()
    codes = add_text(series, table, firsts)
    return codes, firsts[: len(table)]


def add_text(series: pl.Series, table: TextCodes, firsts: Ints) -> Codes:
    """Return a column of strings in the codes of a table, to which new ones are added.

    ``firsts``: takes the row in which each new code came up first; one per code of the table.
    """
    codes = np.empty(len(series), np.int32)
    before = 0
    with text_chunks(series) as chunks:
        for chunk in chunks:
            views = text_loops.Views(*chunk)
            here = codes[before : before + chunk.views.size // 2]
            row = 0
            while True:
                row = text_loops.code_chunk(views, row, table.texts, here, firsts, before)
                if row == here.size:
                    break
                table.grow(int(chunk.views[2 * row] & 0xFFFFFFFF))
            before += here.size
    return codes
