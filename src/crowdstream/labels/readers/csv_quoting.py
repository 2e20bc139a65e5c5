"""CSV and TSV with quotes, in one pass over the bytes: this is where quoting is decided.

A field that begins with a quote ends at the next quote that is not doubled; a quote elsewhere is a
letter. A row must have as many fields as the header; blank lines are nothing; an empty label is a
skip; an empty task or worker is an error. The compiled loop stops at each row that is odd; Python's
csv module looks at that row alone, and names what is wrong with it by line and column.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.labels.coded_labels import CodedLabels, code_values
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_rows import PADDING, Layout, RowCodes
from crowdstream.labels.readers.csv_unquoted import NEWLINE, has_lone_returns
from crowdstream.labels.readers.repeated_headers import RepeatedHeaders
from crowdstream.labels.text_codes import QUICK
from crowdstream.labels.text_loops import ODD

if TYPE_CHECKING:
    import polars as pl

PIECE_ROWS = 100_000
"""Rows of text that are kept as Python's own before they become columns."""

LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
"""A line as Python's files have it."""


def read_quoted(
    data: bytes,
    begin: int,
    layout: Layout,
    bad: BadRows,
    name: str,
    line: int,
) -> CodedLabels:
    """The rows of a file from byte ``begin`` on, where this line begins."""
    rows = _PythonRows(data, begin, layout, bad, name, line)
    if not QUICK or has_lone_returns(data, len(data)):
        return code_values(rows.long())
    size = len(data)
    padded = np.zeros(size + 1 + PADDING, np.uint8)
    padded[:size] = np.frombuffer(data, np.uint8)
    padded[size] = NEWLINE
    stop = size if data.endswith(b"\n") else size + 1
    codes = RowCodes(layout, size + 1 - begin)
    while rows.at < size and codes.read(padded, rows.at, stop) == ODD:
        rows.skip_to(codes.reader.at)
        rows.report_next()
    return codes.finish()


def read_columns(
    data: bytes,
    begin: int,
    layout: Layout,
    bad: BadRows,
    name: str,
    line: int,
    headers: RepeatedHeaders,
) -> pl.DataFrame:
    """Some columns of the rows from byte ``begin`` on, as text; empty cells are null."""
    import polars as pl

    rows = _PythonRows(data, begin, layout, bad, name, line)
    places = [layout.header.index(column) for column in layout.columns]
    schema = dict.fromkeys(layout.columns, pl.String)
    pieces: list[pl.DataFrame] = []
    kept: list[list[str | None]] = []
    while (row := rows.next()) is not None:
        if not row or headers.sees(row):
            continue
        kept.append([row[place] or None for place in places])
        if len(kept) == PIECE_ROWS:
            pieces.append(pl.DataFrame(kept, schema, orient="row"))
            kept = []
    return pl.concat([*pieces, pl.DataFrame(kept, schema, orient="row")])


@dataclass
class _PythonRows:
    """Rows as Python's csv module reads them; it never reads further than the row it returns."""

    data: bytes
    at: int
    layout: Layout
    bad: BadRows
    name: str
    line: int

    @functools.cached_property
    def _rows(self) -> Iterator[list[str]]:
        """Made when needed: it and this object hold each other, and with them all the data."""
        return csv.reader(self._lines(), delimiter=self.layout.separator, strict=True)

    def _lines(self) -> Iterator[str]:
        while self.at < len(self.data):
            found = LINE.match(self.data, self.at)
            assert found is not None  # the pattern matches anything
            self.at = found.end()
            self.line += 1
            yield found[0].decode("utf-8", errors="surrogateescape")

    def skip_to(self, at: int) -> None:
        """Go on at a row that somebody else has come to."""
        self.line += self.data.count(b"\n", self.at, at)
        self.at = at

    def report_next(self) -> None:
        """Say what is wrong with the next row, on which the loop has stopped; it may be blank."""
        where = f"{self.name}, line {self.line}"
        row = self.next()
        if row:
            self.bad.add(where, "a row of CSV", ascii(row)[:60], self.layout.separator.join(row))

    def next(self) -> list[str] | None:
        """The next row if it is good, nothing in its place if not, None at the end."""
        begin, where = self.at, f"{self.name}, line {self.line}"
        try:
            row = next(self._rows, None)
        except csv.Error as error:
            raw = self.data[begin : self.at].removesuffix(b"\n")
            self.bad.add(where, "a row of CSV", str(error), raw.decode(errors="replace"))
            swallowed = sum(bool(line) for line in raw.split(b"\n"))
            self.bad.rows += max(swallowed - 1, 0)
            return []
        if row is None or not row or row == [""]:
            return None if row is None else []
        wrong = _wrong(row, self.layout)
        if wrong is None:
            return row
        column, expected, found = wrong
        self.bad.add(where + column, expected, found, self.layout.separator.join(row))
        return []

    def long(self) -> Iterator[tuple[str, str, str | None]]:
        """Task, worker and label of all rows that are left."""
        task, worker, label = self.layout.places
        while (row := self.next()) is not None:
            if row:
                yield row[task], row[worker], row[label] or None


def _wrong(row: list[str], layout: Layout) -> tuple[str, str, str] | None:
    """Return what is wrong with a row, if anything: where in it, what was expected, what found."""
    if len(row) != len(layout.header):
        return "", f"{len(layout.header)} fields", f"{len(row)}"
    places = [layout.header.index(name) for name in layout.columns] or layout.places
    for cell in [row[place] for place in places]:
        if not cell.isascii() and any("\udc80" <= c <= "\udcff" for c in cell):
            return "", "text in UTF-8 (else name its --encoding)", ascii(cell[:40])
    for place in layout.places[:2]:
        if row[place] == "":
            return f", column {layout.header[place]!r}", "a value", "nothing"
    return None
