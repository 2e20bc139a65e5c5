"""Workbooks (.xlsx): one sheet, every cell as text. Needs fastexcel, of the extra ``excel``.

Knows nothing of other formats.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
import zlib
from typing import TYPE_CHECKING

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.labels.column_hints import shown_columns, shown_name
from crowdstream.labels.readers.sources import HARMLESS, Source, open_bytes, too_large

if TYPE_CHECKING:
    import polars as pl

UNPACKED_MAX = 4 << 30
"""Bytes that a workbook may hold unless ``--max-bytes`` says: the million rows that a sheet can
have take some hundred millions."""


def read_sheet(source: Source) -> pl.DataFrame:
    """A sheet of a workbook as a table of text."""
    if importlib.util.find_spec("fastexcel") is None:
        raise CrowdstreamError(
            f"{source.name}: reading .xlsx needs fastexcel: pip install 'crowdstream[excel]'"
        )
    import fastexcel

    with open_bytes(source) as file:
        data = file.read()
    _check_unpacked(data, source)
    try:
        book = fastexcel.read_excel(data)
        sheet = _find_sheet(book.sheet_names, source)
        table: pl.DataFrame = book.load_sheet(sheet, dtypes="string").to_polars()
    except fastexcel.FastExcelError as error:
        found = (str(error).splitlines() or ["another"])[0]
        raise InputError(source.name, "a workbook (.xlsx)", found[:200]) from None
    if not table.width:
        raise InputError(f"{source.name}, sheet {sheet!r}", "a header and rows", "nothing")
    return table


def _find_sheet(names: list[str], source: Source) -> str:
    """The sheet asked for by name or by number; the first if none is."""
    wanted = source.options.sheet
    if not names:
        raise InputError(source.name, "a workbook with a sheet", "none")
    if wanted is None:
        return names[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(names):
        return names[int(wanted) - 1]
    found = f"sheets {shown_columns(names)}"
    raise InputError(source.name, f"a sheet {shown_name(wanted)!r} (--sheet)", found)


def _check_unpacked(data: bytes, source: Source) -> None:
    """A workbook is packed: unpack it once and count, before anybody keeps what is in it."""
    options = source.options
    most = UNPACKED_MAX if options.max_bytes is None else options.max_bytes
    ratio = max(HARMLESS, int(options.max_ratio * len(data)))
    total = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as book:
            for entry in book.infolist():
                total += _unpacked_size(data, entry, min(most, ratio) - total)
                if total > most:
                    raise too_large(source, most)
                if total > ratio:
                    expected = f"at most {options.max_ratio:g} times its size unpacked"
                    raise InputError(source.name, expected, "more (--max-ratio allows it)")
    except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(source.name, "a workbook (.xlsx)", str(error)) from None


def _unpacked_size(data: bytes, entry: zipfile.ZipInfo, most: int) -> int:
    """How many bytes an entry really unpacks to, counted no further than ``most`` and some."""
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        return entry.compress_size
    at = entry.header_offset
    names = int.from_bytes(data[at + 26 : at + 28], "little")
    extra = int.from_bytes(data[at + 28 : at + 30], "little")
    begin = at + 30 + names + extra  # a local header has 30 bytes, then the name and more
    packed = data[begin : begin + entry.compress_size]
    unpacker, size = zlib.decompressobj(-zlib.MAX_WBITS), 0
    while packed and not unpacker.eof and size <= most:
        size += len(unpacker.decompress(packed, HARMLESS))
        packed = unpacker.unconsumed_tail
    return size
