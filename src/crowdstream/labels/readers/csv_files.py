"""CSV and TSV files, whole or in pieces. Large files without quotes are read in parallel; the rest,
and whatever turns out to be odd, in one pass by `csv_quoting`: at most two passes over the bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_quoting import read_quoted
from crowdstream.labels.readers.csv_rows import Layout
from crowdstream.labels.readers.csv_unquoted import read_unquoted
from crowdstream.labels.tables import ColumnNames
from crowdstream.labels.text_loops import last_row_end

BOM = b"\xef\xbb\xbf"
"""What some programs put before text in UTF-8."""
HEAD = 1 << 20
"""Bytes in which the header is looked for at first."""


def read(
    data: str | bytes, name: str, separator: str, names: ColumnNames, bad: BadRows
) -> CodedLabels:
    """A whole file, by its path or its bytes."""
    head = data if isinstance(data, bytes) else _head(data)
    layout, begin = _read_header(head, name, separator, names)
    if isinstance(data, str):
        found = read_unquoted(data, layout, begin)
        if found is not None:
            return found
        data = Path(data).read_bytes()
    return read_quoted(data, begin, layout, bad, name, 1 + data.count(b"\n", 0, begin))


def read_pieces(
    file: IO[bytes], name: str, separator: str, names: ColumnNames, bad: BadRows, size: int
) -> Iterator[tuple[int, CodedLabels]]:
    """A stream a piece at a time, cut between rows, each with its number of bytes."""
    layout: Layout | None = None
    line, rest = 1, b""
    while True:
        more = file.read(size)
        data = rest + more
        cut = _last_row_end(data, separator) if more else len(data)
        piece, rest = data[:cut], data[cut:]
        if piece or not more:
            begin = 0
            if layout is None:
                layout, begin = _read_header(piece, name, separator, names)
            start = line + piece.count(b"\n", 0, begin)
            yield len(piece), read_quoted(piece, begin, layout, bad, name, start)
            line += piece.count(b"\n")
        if not more:
            return


def _last_row_end(data: bytes, separator: str) -> int:
    """Where the last whole row ends: after a newline that is not inside quotes."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    return last_row_end(np.frombuffer(data, np.uint8), ord(separator))


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        head = file.read(HEAD)
        while head and b"\n" not in head:
            more = file.read(HEAD)
            if not more:
                break
            head += more
    return head


def _read_header(data: bytes, name: str, separator: str, names: ColumnNames) -> tuple[Layout, int]:
    """What the first row says, and where the second begins."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(name, "text in UTF-8", "UTF-16")
    text = data.removeprefix(BOM)
    if not text.strip():
        raise InputError(name, "a header and rows", "nothing")
    end = text.find(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end) + 1
    end = end or len(text)
    first = text[:end].decode("utf-8", errors="replace")
    csv.field_size_limit(1 << 30)
    rows = csv.reader(io.StringIO(first, newline=""), delimiter=separator)
    header = next(rows, [])
    if next(rows, None) is not None:
        raise InputError(name, r"lines that end in \n", r"lines that end in \r alone")
    if "\ufffd" in first and b"\xef\xbf\xbd" not in data:
        raise InputError(f"{name}, line 1", "text in UTF-8", repr(first[:60]))
    layout = Layout.find(header, separator, names, name)
    return layout, len(data) - len(text) + end
