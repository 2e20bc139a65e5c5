"""Text → codes 0, 1, 2, … in order of first appearance: a hash table in compiled loops.

Text is looked at eight bytes at a time, where it lies. Needs the compiled loops (`QUICK`); callers
have another way. Knows nothing of what the text means.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.labels import text_loops
from crowdstream.labels.arrow import text_chunks
from crowdstream.labels.arrow_loops import TextColumn
from crowdstream.labels.batch import Codes, Ints

if TYPE_CHECKING:
    import polars as pl

QUICK = text_loops.COMPILED and sys.byteorder == "little"
"""Whether the loops can be used: they take the lowest byte of eight for the first."""
KINDS = 2
"""Columns that may share a table."""
HEAD = 16
"""Bytes of a text that its record holds itself."""
RECORD = np.dtype(
    [
        ("tag", np.uint64),
        ("one", np.uint64),
        ("two", np.uint64),
        ("hashed", np.uint64),
        ("rest", np.int64),
        ("code", np.int64),
    ]
)
"""``Record`` of `text_loops`."""


class TextCodes:
    """Texts known so far, of one column or several: each kind has codes of its own from 0 on."""

    def __init__(self, slots: int = 1 << 12, arena: int = 1 << 12) -> None:
        self._slots = np.full(slots, -1, np.int32)
        self._records = np.empty(slots // 2, RECORD)
        self._arena = np.empty(arena, np.uint64)
        self._used = np.zeros(2 + KINDS, np.int64)
        self.texts = text_loops.TextTable(self._slots, self._records, self._arena, self._used)

    def __len__(self) -> int:
        return int(self._used[text_loops.TEXTS])

    def grow(self, length: int) -> None:
        """Twice the size, and some more for a text of this length."""
        bigger = TextCodes(2 * self._slots.size, 2 * self._arena.size + length)
        bigger._records[: self._records.size] = self._records
        bigger._arena[: self._arena.size] = self._arena
        bigger._used[:] = self._used
        text_loops.fill_slots(bigger.texts)
        self.__dict__ = bigger.__dict__

    def column(self) -> pl.Series:
        """The texts of the first kind as a column, by code."""
        import polars as pl

        number = len(self)
        sizes = int((self._records["tag"][:number] & np.uint64(0xFFFFFFFF)).sum())
        names, ends = np.empty(sizes + HEAD, np.uint8), np.empty(number, np.int64)
        text_loops.copy_texts(self.texts, names, ends, 0)
        return pl.Series(TextColumn(names[:sizes], ends), dtype=pl.String)

    def values(self, kind: int) -> list[str]:
        """The texts of a kind, by code."""
        records = self._records[: len(self)]
        records = records[records["tag"] >> np.uint64(40) == kind]
        first_bytes = np.stack([records["one"], records["two"]], axis=1).tobytes()
        lengths = (records["tag"] & np.uint64(0xFFFFFFFF)).tolist()
        found = []
        for k, (length, rest) in enumerate(zip(lengths, records["rest"].tolist(), strict=True)):
            text = first_bytes[HEAD * k : HEAD * k + min(length, HEAD)]
            if length > HEAD:
                more = self._arena[rest : rest + -(-(length - HEAD) // 8)]
                text += more.tobytes()[: length - HEAD]
            found.append(text.decode())
        return found


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
