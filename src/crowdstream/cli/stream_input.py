"""Lines → labels, one at a time, from JSON lines or CSV.

Knows nothing of streams or files: a line comes in as bytes, a label goes out as a `LabelEvent`.
"""

from __future__ import annotations

import csv
import datetime
import math
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import InputError
from crowdstream.labels.columns import ALIASES, simple_name
from crowdstream.labels.label import shorten
from crowdstream.labels.spelling import normalise

if TYPE_CHECKING:
    from crowdstream.labels import ColumnNames

UNITS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds in the units of a duration."""

AHEAD = 86_400.0
"""Seconds that the time of a label may be ahead of the clock: clocks differ, zones are forgotten,
and beyond a day it is a mistake."""

EARLIEST = 946_684_800.0
"""The year 2000: a time in thousandths of a second or less is taken for one if it is no earlier."""

FINER = {1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}
"""Units that a time may be in instead of seconds, and how many make a second."""


OTHERS = {
    b"[": "a JSON array, which crowdstream run reads",
    b"\x1f\x8b": "a packed file: zcat FILE | crowdstream stream",
    b"\x28\xb5\x2f\xfd": "a packed file: zstdcat FILE | crowdstream stream",
    b"PK\x03\x04": "a workbook, which crowdstream run reads",
    b"\xff\xfe": "UTF-16: iconv -f utf-16 -t utf-8 FILE | crowdstream stream",
    b"\xfe\xff": "UTF-16: iconv -f utf-16 -t utf-8 FILE | crowdstream stream",
}
"""Beginnings of inputs that are no lines of labels in UTF-8, and what to do with them."""


QUESTIONS = frozenset(ALIASES["question"])
"""Names of columns that hold the question of a line."""


class LabelEvent(NamedTuple):
    """One line of input: a label, and when it was given and what is correct, if the line says."""

    task: str | None
    worker: str | None
    label: str | None
    at: float | None
    gold: str | None


def seconds(text: str, option: str) -> float:
    """Seconds of a duration such as 45, 500ms, 30s, 10m, 2h, 1d.

    Parameters
    ----------
    text
        The duration.
    option
        What messages call it.

    Examples
    --------
    >>> seconds("10m", "--idle")
    600.0
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise InputError(option, "a duration such as 30s, 10m or 2h", repr(text))
    return float(found[1]) * UNITS[found[2]]


class LineParser:
    """Lines of JSON or CSV → labels; the first line tells which, unless ``format`` does."""

    def __init__(
        self,
        names: ColumnNames,
        format: str | None,  # noqa: A002
        source: str = "standard input",
    ) -> None:
        if format not in (None, "jsonl", "csv"):
            raise InputError("--format", "jsonl or csv", repr(format))
        self.names = names
        self.format = format
        self.source = source
        self.line = 0
        self.header: list[str] | None = None
        self.columns: tuple[str, str, str] | None = None
        self.question: str | None = None
        """The one question of the stream, once a line has named it."""
        self.others = 0
        """Lines of other questions than the one asked for."""
        self.times = Times()
        self._asks: str | None = None
        self._said: set[str] = set()
        self._maybe_header = self._header_noted = False

    def go_on(self, line: int, format: str | None, header: list[str] | None) -> None:  # noqa: A002
        """Lines up to this one were read before, and told format and header.

        Where they were another input's (``line`` is 0), a header may come again.
        """
        self.line, self.header = line, header
        self.format = self.format or format
        self._maybe_header = line == 0 and header is not None
        if header is not None:
            self.columns = self._find_columns(header, dict.fromkeys(header))

    @property
    def where(self) -> str:
        """The current line, as messages name it."""
        return f"{self.source}, line {self.line}"

    @property
    def header_missing(self) -> bool:
        """True if CSV is read and its header has not been understood yet."""
        return self.format == "csv" and self.columns is None

    def parse(self, raw: bytes) -> LabelEvent | None:
        """The label on a line; None if it is blank or the header."""
        record = self._record(raw)
        if record is None:
            return None
        if self.columns is None or not all(name in record for name in self.columns):
            self.columns = self._find_columns(list(record), record)
        if not self._is_asked(record):
            self.others += 1
            return None
        task, worker, label = (_text(record[name], name) for name in self.columns)
        at, gold = self.times.read(record.get("at")), _text(record.get("gold"), "gold")
        return LabelEvent(task, worker, label, at, gold)

    def _find_columns(
        self, header: list[str], record: Mapping[str, object]
    ) -> tuple[str, str, str]:
        """The columns by a row or a header; what a tool wrote is said to be for another command."""
        from crowdstream.labels.columns import find_roles

        try:
            roles = find_roles(self.names, header, self.where)
            if len(roles.labels) != 1 or roles.worker is None:
                expected = "one label column (--label names it: a stream holds one question)"
                several = ", ".join(roles.labels or roles.others)
                raise InputError(self.where, expected, several)
            self._asks = roles.question
            if roles.repeat is not None and roles.repeat not in self._said:
                self._said.add(roles.repeat)
                self.times.noticed.append(
                    f"column {roles.repeat!r} is not used: in a stream a later answer of a worker "
                    "on a task replaces the earlier one"
                )
            return roles.task, roles.worker, roles.labels[0]
        except InputError as error:
            from crowdstream.labels.readers.tools import tell_tool

            found = tell_tool([record])
            if found is not None:
                error.found += f"; it looks like {found[0].title}, which crowdstream run reads"
            raise

    def _is_asked(self, record: Mapping[str, object]) -> bool:
        """Return True if a line is of the question; another is refused, unless one is asked for."""
        column = self._asks
        if column is None or column not in record:
            column = next((name for name in record if simple_name(name) in QUESTIONS), None)
            if column is None or column in (self.columns or ()):
                return True
        asked = _text(record[column], column)
        wanted = self.names.question
        if wanted is not None and wanted != column:
            if asked is None:
                raise InputError(f"{self.where}, column {column!r}", "a question", "nothing")
            return normalise(asked) == normalise(wanted)
        if self.question is None:
            self.question = asked
        if asked != self.question:
            expected = f"the question {self.question!r} (a stream holds one: --question NAME)"
            raise InputError(f"{self.where}, column {column!r}", expected, repr(asked))
        return True

    def clean(self, raw: bytes) -> bytes:
        """A line without line ending and byte order mark; sees which format it is."""
        self.line += 1
        raw = raw.removesuffix(b"\r")
        if self.line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if self.format is None and raw.strip():
            self.format = "jsonl" if raw.lstrip().startswith(b"{") else "csv"
        return raw

    def _record(self, raw: bytes) -> dict[str, object] | None:
        if self.line == 1:
            self._check_kind(raw)
        if self.format == "jsonl":
            from crowdstream.labels.readers.jsonl import decode_row

            return decode_row(raw, self.where)
        try:
            (cells,) = csv.reader([raw.decode("utf-8")], strict=True)
        except (csv.Error, UnicodeDecodeError, ValueError) as error:
            raise InputError(self.where, "a row of CSV in UTF-8", str(error)) from None
        if self.header is None or (self._maybe_header and self._is_header(cells)):
            self.header = cells
            self.columns = self._find_columns(cells, dict.fromkeys(cells))
            self._maybe_header = False
            return None
        self._maybe_header = False
        if cells == self.header:
            self._note_header()
            return None
        if len(cells) != len(self.header):
            raise InputError(self.where, f"{len(self.header)} fields", str(len(cells)))
        return dict(zip(self.header, (cell or None for cell in cells), strict=True))

    def _check_kind(self, first: bytes) -> None:
        """Refuse, by its first line, what other commands or tools read."""
        for begin, found in OTHERS.items():
            if first.startswith(begin):
                raise InputError(self.where, "JSON lines or CSV in UTF-8", found)
        cells = [(first.count(mark), name) for mark, name in ((b";", ";"), (b"\t", "tabs"))]
        most, name = max(cells)
        if self.format == "csv" and most >= 2 and b"," not in first:  # three columns
            found = f"{name} between them (crowdstream run reads it)"
            raise InputError(self.where, "CSV with commas between the cells", found)

    def _note_header(self) -> None:
        """Files put together have their header again: said once, counted by nobody."""
        if not self._header_noted:
            self.times.noticed.append(f"{self.where} repeats the header: left out")
        self._header_noted = True

    def _is_header(self, cells: list[str]) -> bool:
        """Return True if the first row of an input names the columns again."""
        from crowdstream.labels.columns import find_columns

        try:
            find_columns(self.names, cells, self.where)
        except InputError:
            return False
        return True


class Times:
    """The times of labels, in seconds since 1970. ``noticed``: what is odd about them, to be said.

    A time more than a day ahead of the clock is refused, unless it is one of the past in
    milliseconds or finer.
    """

    def __init__(self) -> None:
        self.noticed: list[str] = []
        self._finer: set[float] = set()

    def read(self, value: object) -> float | None:
        """The time in a cell, if there is any."""
        found = _moment(value)
        if found is None or not math.isfinite(found):
            return found
        latest = time.time() + AHEAD
        if found <= latest:
            return found
        number = not isinstance(value, str) or _is_number(value)
        for scale, name in FINER.items():
            if number and EARLIEST <= found / scale <= latest:
                return self._scaled(found, scale, name)
        expected = "a time that is not more than a day ahead of the clock"
        raise InputError("column 'at'", expected, shorten(value))

    def _scaled(self, found: float, scale: float, name: str) -> float:
        if scale not in self._finer:
            self._finer.add(scale)
            self.noticed.append(f"column 'at' is in {name}: read as such")
        return found / scale


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _text(value: object, column: str) -> str | None:
    """Every value as text, as files are read."""
    from crowdstream.labels.label import as_text

    found = as_text(value)
    if found is NotImplemented:
        raise InputError(f"column {column!r}", "text or a number", type(value).__name__)
    return str(found) if found else None


def _moment(value: object) -> float | None:
    """Seconds since 1970 of a number or an ISO 8601 time; UTC if it names no zone."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        text = str(value)
        if _is_number(text):
            return float(text)
        moment = datetime.datetime.fromisoformat(text)
    except (ValueError, OverflowError):  # JSON may have integers of any length
        raise InputError("column 'at'", "seconds or ISO 8601", shorten(value)) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
