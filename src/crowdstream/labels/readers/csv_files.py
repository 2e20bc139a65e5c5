"""CSV and TSV files, whole or in pieces. Large files without quotes are read in parallel; the rest,
and whatever turns out to be odd, in one pass by `csv_quoting`: at most two passes over the bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.column_hints import suggest_wide
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_quoting import read_columns, read_quoted
from crowdstream.labels.readers.csv_rows import Layout
from crowdstream.labels.readers.csv_unquoted import read_unquoted
from crowdstream.labels.readers.repeated_headers import RepeatedHeaders
from crowdstream.labels.readers.sources import Readable
from crowdstream.labels.text_loops import last_row_end

if TYPE_CHECKING:
    import polars as pl

BOM = b"\xef\xbb\xbf"
"""What some programs put before text in UTF-8."""
HEAD = 1 << 20
"""Bytes in which the header is looked for at first."""
LONGEST_HEADER = 4 << 20
"""Bytes that a header may have: enough for 200,000 workers of a wide table."""
LONGEST_ROW = 64 << 20
"""Bytes after which a row that has not ended is given up when a file is read in pieces."""
SAMPLE = 60
"""Rows that are looked at to tell a wide table."""


def read(
    data: str | bytes,
    name: str,
    separator: str,
    shaper: Shaper,
    bad: BadRows,
    decode: Callable[[bytes], bytes] = bytes,
) -> CodedLabels | pl.DataFrame:
    """A whole file, by its path or its bytes; ``decode`` makes UTF-8 of what may not be.

    Where a row is more than a label, what comes back is a table that `Shaper.shape` has made.
    """
    head = data if isinstance(data, bytes) else _head(data)
    layout, begin = _read_header(head, name, separator, shaper)
    headers = RepeatedHeaders(layout, bad, name)
    if isinstance(data, str):
        found = read_unquoted(data, layout, begin)
        if found is not None:
            return headers.drop(found, last=True)
        data = decode(Path(data).read_bytes())
    line = 1 + data.count(b"\n", 0, begin)
    if layout.columns:
        table = read_columns(data, begin, layout, bad, name, line, headers)
        headers.note()
        return shaper.shape(table)
    return headers.drop(read_quoted(data, begin, layout, bad, name, line), last=True)


def read_pieces(
    file: Readable, name: str, separator: str, shaper: Shaper, bad: BadRows, size: int
) -> Iterator[tuple[int, CodedLabels | pl.DataFrame]]:
    """A stream a piece at a time, cut between rows, each with its number of bytes."""
    headers: RepeatedHeaders | None = None
    line, rest = 1, b""
    while True:
        more = file.read(size)
        data = rest + more
        cut = _last_row_end(data, separator) if more else len(data)
        piece, rest = data[:cut], data[cut:]
        _check_length(rest, LONGEST_HEADER if line == 1 and not cut else LONGEST_ROW, name)
        if piece or not more:
            begin = 0
            if headers is None:
                layout, begin = _read_header(piece, name, separator, shaper)
                headers = RepeatedHeaders(layout, bad, name)
            start = line + piece.count(b"\n", 0, begin)
            if headers.layout.columns:
                table = read_columns(piece, begin, headers.layout, bad, name, start, headers)
                yield len(piece), shaper.shape(table)
                if not more:
                    headers.note()
            else:
                coded = read_quoted(piece, begin, headers.layout, bad, name, start)
                yield len(piece), headers.drop(coded, last=not more)
            line += piece.count(b"\n")
        if not more:
            return


def _check_length(row: bytes, most: int, name: str) -> None:
    """Refuse a row without end before it fills the memory."""
    if len(row) > most:
        what = "header" if most == LONGEST_HEADER else "row"
        hint = " (a quote that is not closed?)" if b'"' in row else ""
        raise InputError(name, f"a {what} of at most {most:,} bytes", f"a longer one{hint}")


def _last_row_end(data: bytes, separator: str) -> int:
    """Where the last whole row ends: after a newline that is not inside quotes."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    return last_row_end(np.frombuffer(data, np.uint8), ord(separator))


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        head = file.read(HEAD)
        while head and _header_end(head) == len(head) <= LONGEST_HEADER:
            more = file.read(HEAD)
            if not more:
                break
            head += more
    return head


def _read_header(data: bytes, name: str, separator: str, shaper: Shaper) -> tuple[Layout, int]:
    """What the first row says, and where the second begins."""
    text = data.removeprefix(BOM)
    if not text[: LONGEST_HEADER + 1].strip():
        raise InputError(name, "a header and rows", "nothing")
    end = _header_end(text)
    _check_length(text[:end], LONGEST_HEADER, name)
    first = text[:end].decode("utf-8", errors="replace")
    header, *more = _read_rows(first, separator, 2)
    if more:
        raise InputError(name, r"lines that end in \n", r"lines that end in \r alone")
    if "\ufffd" in first and b"\xef\xbf\xbd" not in text[:end]:
        raise InputError(f"{name}, line 1", "text in UTF-8", repr(first[:60]))
    try:
        layout = Layout.find(header, separator, shaper)
    except InputError as error:
        if not shaper.names.wide:
            sample = text[end : end + HEAD].decode("utf-8", errors="replace")
            suggest_wide(error, header, _read_rows(sample, separator, SAMPLE))
        raise
    return layout, len(data) - len(text) + end


def _header_end(text: bytes) -> int:
    """Behind the first newline that is not inside quotes."""
    end = quotes = 0
    while end <= LONGEST_HEADER:
        before, end = end, text.find(b"\n", end) + 1
        if not end:
            return len(text)
        quotes += text.count(b'"', before, end)
        if quotes % 2 == 0:
            break
    return end


def _read_rows(text: str, separator: str, most: int) -> list[list[str]]:
    """The first rows of a text, as the csv module reads them."""
    csv.field_size_limit(1 << 30)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    found: list[list[str]] = []
    for row in rows:
        found.append(row)
        if len(found) == most:
            break
    return found or [[]]
