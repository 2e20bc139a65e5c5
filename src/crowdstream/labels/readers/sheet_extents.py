"""Counts of the cells a workbook's sheets span, made before they are laid out in memory.

Readers of workbooks make a cell for every place between the first value and the last: two values,
in A1 and XFD1048576, fit in 5 KB and would take 550 GB. Knows the XML of sheets, no values.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from crowdstream.errors import InputError
from crowdstream.labels.readers.archives import unpack_entry, zipfile
from crowdstream.labels.readers.sources import HARMLESS, Source

HARMLESS_CELLS = 8 << 20
"""Cells that any sheet may span: all million rows of eight columns, in 256 MB."""

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""Rows and columns that a sheet of Excel can have."""

REFERENCE = re.compile(
    rb"""\br\s*=\s*["']([A-Za-z]{0,9})([0-9]{1,20})["'](?:\s[^<>]{200}|(?:\s[^<>]{0,199})?(?<!/)>)"""
)
"""The place of a cell or row that has a value, or may have one: it is not closed at once. No more
attributes are looked at than any program writes, else long ones would take for ever."""

BEYOND_ROWS = rb"[A-Za-z]{0,9}(?:10[5-9][0-9]{4}|1[1-9][0-9]{5}|[2-9][0-9]{6}|[0-9]{8})"
"""A place in a row that Excel does not have (some hundred rows too late, which does not matter)."""

BEYOND_COLUMNS = {
    702: rb"[A-Za-z]{3}",
    26: rb"[A-Za-z]{2}",
    8: rb"(?:[I-Zi-z]|[A-Za-z]{2})",
}
"""Beginnings of the places behind so many columns."""

FAR = {
    columns: re.compile(rb"""r\s*=\s*["'](?:%b[A-Za-z]{0,9}[0-9]|%b)""" % (begin, BEYOND_ROWS))
    for columns, begin in BEYOND_COLUMNS.items()
}
"""Pattern that no sheet has with only so many columns, and no more rows than Excel: quick to find,
a tenth of the time that reading the sheet takes."""


def check_extents(data: bytes, source: Source) -> None:
    """Refuse a workbook with a sheet that spans far more cells than it has bytes.

    ``data`` must have passed `archives.check_unpacked`, which bounds what is unpacked here.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        entries = book.infolist()
    for entry in entries:
        size, far = _look_for(FAR[8], data, entry)
        most = max(HARMLESS_CELLS, size)
        columns = next(few for few in FAR if few <= most // MOST_ROWS)
        if not far or (columns > 8 and not _look_for(FAR[columns], data, entry)[1]):
            continue
        rows, columns = _extent(data, entry)
        if rows * columns > most or columns > MOST_COLUMNS:
            found = f"{rows:,} rows and {columns:,} columns, nearly all empty"
            raise InputError(source.name, "a sheet without far-away cells", found)


def _look_for(pattern: re.Pattern[bytes], data: bytes, entry: zipfile.ZipInfo) -> tuple[int, bool]:
    """Return how many bytes an entry has, and whether the pattern is among them."""
    size, found = 0, False
    for piece in _pieces(data, entry):
        size += len(piece)
        found = found or pattern.search(piece) is not None
    return size, found


def _extent(data: bytes, entry: zipfile.ZipInfo) -> tuple[int, int]:
    """Return the last row and column of an entry with a value."""
    last_row, columns = 0, {b"A"}
    for piece in _pieces(data, entry):
        found = REFERENCE.findall(piece)
        if found:
            names, rows = zip(*found, strict=True)
            columns.update(names)
            last_row = max(last_row, *map(int, set(rows)))
    return last_row, max(map(_column_number, columns))


def _pieces(data: bytes, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the unpacked bytes of an entry, cut where an element of XML begins."""
    rest = b""
    for more in unpack_entry(data, entry):
        rest += more
        cut = rest.rfind(b"<")
        if cut < 0 or len(rest) - cut > HARMLESS:  # no XML of a sheet
            cut = len(rest)
        yield rest[:cut]
        rest = rest[cut:]
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
