"""CSV and TSV files, whole or in pieces. Large files without quotes are read in parallel; the rest,
and whatever turns out to be odd, in one pass by `csv_quoting`: at most two passes over the bytes.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.column_hints import suggest_columns
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_quoting import read_columns, read_quoted
from crowdstream.labels.readers.csv_rows import Layout
from crowdstream.labels.readers.csv_unquoted import read_unquoted
from crowdstream.labels.readers.header_rows import (
    FIELD_MAX,
    SAMPLE,
    WINDOW,
    HeaderRule,
    TextRow,
    check_no_header,
    check_titles,
    found_in_row,
    label_header,
    row_missing,
    split_rows,
    unnamed_columns,
)
from crowdstream.labels.readers.input_options import InputOptions
from crowdstream.labels.readers.repeated_headers import RepeatedHeaders
from crowdstream.labels.readers.sources import Readable
from crowdstream.labels.text_loops import last_row_end

if TYPE_CHECKING:
    import polars as pl

BOM = b"\xef\xbb\xbf"
"""Mark that some programs put before text in UTF-8."""
HEAD = 1 << 20
"""Bytes in which the header is looked for at first."""
LONGEST_HEADER = 4 << 20
"""Bytes that a header may have: enough for 200,000 workers of a wide table."""
LONGEST_ROW = 64 << 20
"""Bytes after which a row that has not ended is given up when a file is read in pieces."""


def read(
    data: str | bytes,
    name: str,
    separator: str,
    shaper: Shaper,
    bad: BadRows,
    decode: Callable[[bytes], bytes] = bytes,
    options: InputOptions = InputOptions(),  # noqa: B008 a tuple
) -> CodedLabels | pl.DataFrame:
    """A whole file, by its path or its bytes; ``decode`` makes UTF-8 of what may not be.

    Where a row is more than a label, what comes back is a table that `Shaper.shape` has made.
    """
    head = data if isinstance(data, bytes) else _head(data)
    layout, begin = _read_header(head, name, separator, shaper, bad, options)
    headers = RepeatedHeaders(layout, bad, name)
    if isinstance(data, str):
        found = read_unquoted(data, layout, begin, any_order=options.any_order)
        if found is not None and options.any_order and headers.are_in(found):
            found = read_unquoted(data, layout, begin)  # to tell in which rows
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
    file: Readable,
    name: str,
    separator: str,
    shaper: Shaper,
    bad: BadRows,
    size: int,
    options: InputOptions = InputOptions(),  # noqa: B008 a tuple
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
        early = headers is None and more and len(data) <= LONGEST_HEADER
        if early and _is_too_little(piece, separator, label_header(shaper.names), options):
            rest = data
            continue
        if piece or not more:
            begin = 0
            if headers is None:
                layout, begin = _read_header(piece, name, separator, shaper, bad, options)
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
    """Return where the last whole row ends: after a newline that is not inside quotes."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    return last_row_end(np.frombuffer(data, np.uint8), ord(separator))


def _head(path: str) -> bytes:
    """Return the beginning of a file, enough of it to find the header."""
    with open(path, "rb") as file:
        head = file.read(HEAD)
        while 0 < len(head) <= LONGEST_HEADER and (
            head.count(b"\n") < WINDOW or _header_end(head) == len(head)
        ):
            more = file.read(HEAD)
            if not more:
                break
            head += more
    return head


class _Header(NamedTuple):
    """The header of a text, or the names in its place; the rows of labels begin at ``end``.

    ``row`` is its number; 0 if there is none.
    """

    cells: list[str]
    begin: int
    end: int
    row: int


def _read_header(
    data: bytes, name: str, separator: str, shaper: Shaper, bad: BadRows, options: InputOptions
) -> tuple[Layout, int]:
    """Find the header; return what it says, and where the row below begins."""
    text = data.removeprefix(BOM)
    if not text[: LONGEST_HEADER + 1].strip():
        raise InputError(name, "a header and rows", "nothing")
    names = shaper.names
    header = _find_header(text, name, separator, label_header(names), bad, options)
    columns = header.cells if options.columns is None else list(options.columns)
    try:
        layout = Layout.find(columns, separator, shaper)
    except InputError as error:
        if options.columns is None:
            sample = itertools.islice(
                split_rows(text[: header.end + HEAD], separator, header.end), SAMPLE
            )
            suggest_columns(error, columns, (row.cells for row in sample), wide=names.wide)
        raise
    if names.wide and options.columns is None:
        bad.note(unnamed_columns(name, [k for k, cell in enumerate(columns) if not cell]))
    return layout, len(data) - len(text) + header.end


def _find_header(
    text: bytes, name: str, separator: str, rule: HeaderRule, bad: BadRows, options: InputOptions
) -> _Header:
    if options.columns is None and options.header_row is None:
        first = _first_row(text, name, separator)
        if first is not None and rule.is_header(first.cells):
            return first
    few = text[: LONGEST_HEADER + 1]
    most = options.header_row or WINDOW
    rows = list(itertools.islice(split_rows(few, separator), most))
    if not rows:  # as the csv module cannot read it
        raise InputError(name, "a header and rows", ascii(text[:60].decode(errors="replace")))
    if options.header_row is not None:
        if len(rows) < most:
            raise row_missing(name, most, len(rows))
        return _checked(rows[-1], most, text, name)
    if options.columns is not None:
        again = check_no_header(name, options.columns, [row.cells for row in rows])
        return _Header([], 0, rows[0].end if again else 0, 0)
    cells = [row.cells for row in rows]
    index, found = rule.place(cells)
    if found:
        below = split_rows(text[: rows[index].end + HEAD], separator, rows[index].end)
        sample = (row.cells for row in itertools.islice(below, SAMPLE))
        check_titles(name, cells[:index], cells[index], sample)
        bad.note(found_in_row(name, cells, index))
    return _checked(rows[index], index + 1, text, name)


def _first_row(text: bytes, name: str, separator: str) -> _Header | None:
    """Return the first row; None if it is so long that it may be a title with a quote in it."""
    end = _header_end(text)
    if end > LONGEST_HEADER:
        return None
    header, *more = _read_rows(text[:end].decode("utf-8", errors="replace"), separator, 2)
    if more:
        raise InputError(name, r"lines that end in \n", r"lines that end in \r alone")
    return _checked(TextRow(header, 0, end), 1, text, name)


def _checked(row: TextRow, number: int, text: bytes, name: str) -> _Header:
    """Refuse a header that is too long, or not in UTF-8."""
    raw = text[row.begin : row.end]
    _check_length(raw, LONGEST_HEADER, name)
    if any("\ufffd" in cell for cell in row.cells) and b"\xef\xbf\xbd" not in raw:
        line = 1 + text.count(b"\n", 0, row.begin)
        shown = raw.decode("utf-8", errors="replace")[:60]
        raise InputError(f"{name}, line {line}", "text in UTF-8", repr(shown))
    return _Header(row.cells or [""], row.begin, row.end, number)


def _is_too_little(piece: bytes, separator: str, rule: HeaderRule, options: InputOptions) -> bool:
    """Tell whether the header may come only in the next piece."""
    if options.header_row is not None:
        return piece.count(b"\n") < options.header_row
    if options.columns is not None or piece.count(b"\n") >= WINDOW:
        return False
    first = next(split_rows(piece.removeprefix(BOM), separator), None)
    return first is None or not rule.is_header(first.cells)


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
    csv.field_size_limit(FIELD_MAX)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    found: list[list[str]] = []
    for row in rows:
        found.append(row)
        if len(found) == most:
            break
    return found or [[]]
