"""How many cells the sheets of a workbook span, counted before they are laid out in memory.

Readers of workbooks make a cell for every place between the first value and the last: two values,
in A1 and XFD1048576, fit in 5 KB and would take 550 GB. Knows the XML of sheets, no values.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import IO

from crowdstream.errors import InputError
from crowdstream.labels.readers.sources import HARMLESS, Source

HARMLESS_CELLS = 8 << 20
"""Cells that any sheet may span: all million rows of eight columns, in 256 MB."""

REFERENCE = re.compile(
    rb"""\br\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,7})["'](?:\s[^<>]{200}|(?:\s[^<>]{0,199})?(?<!/)>)"""
)
"""The place of a cell or row that has a value, or may have one: it is not closed at once. No more
attributes are looked at than any program writes, else long ones would take for ever."""


def check_extents(data: bytes, source: Source) -> None:
    """Refuse a workbook with a sheet that spans far more cells than it has bytes.

    ``data`` must have passed `archives.check_unpacked`, which bounds what is unpacked here.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        for entry in book.infolist():
            with book.open(entry) as file:
                rows, columns, size = _extent(file)
            if rows * columns > max(HARMLESS_CELLS, size):
                found = f"{rows:,} rows and {columns:,} columns, nearly all empty"
                raise InputError(source.name, "a sheet without far-away cells", found)


def _extent(file: IO[bytes]) -> tuple[int, int, int]:
    """Return the last row and column of an entry with a value, and how many bytes it has."""
    last_row, columns, size = 0, {b"A"}, 0
    for piece in _pieces(file):
        size += len(piece)
        found = REFERENCE.findall(piece)
        if found:
            names, rows = zip(*found, strict=True)
            columns.update(names)
            last_row = max(last_row, *map(int, set(rows)))
    return last_row, max(map(_column_number, columns)), size


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes of a file, cut where an element begins."""
    rest = b""
    while more := file.read(HARMLESS):
        data = rest + more
        cut = data.rfind(b"<")
        if cut < 0 or len(data) - cut > HARMLESS:  # no XML of a sheet
            cut = len(data)
        yield data[:cut]
        rest = data[cut:]
    yield rest


def _column_number(name: bytes) -> int:
    """Return the number of a column by its letters.

    >>> _column_number(b"A"), _column_number(b"xfd")
    (1, 16384)
    """
    number = 0
    for letter in name.upper():
        number = 26 * number + letter - 64
    return number
