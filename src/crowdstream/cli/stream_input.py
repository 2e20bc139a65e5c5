"""Lines on standard input → labels, one at a time, as JSON lines or CSV.

Knows nothing of streams: a label goes out as a `LabelEvent`.
"""

from __future__ import annotations

import csv
import datetime
import os
import re
import select
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import InputError

if TYPE_CHECKING:
    from crowdstream.labels import ColumnNames

TICK = 0.2
"""Seconds without input after which signals, idle tasks and alarms are looked at."""

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
"""Seconds in the units of a duration."""


class LabelEvent(NamedTuple):
    """One line of input: a label, and when it was given and what is correct, if the line says."""

    task: str | None
    worker: str | None
    label: str | None
    at: float | None
    gold: str | None


def seconds(text: str, option: str) -> float:
    """Seconds of a duration such as 45, 30s, 10m, 2h, 1d.

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
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise InputError(option, "a duration such as 30s, 10m or 2h", repr(text))
    return float(found[1]) * UNITS[found[2]]


def input_lines(stopped: Callable[[], bool]) -> Iterator[bytes | None]:
    """Lines of standard input as they come; None now and then while none does."""
    source = sys.stdin.fileno()
    rest = b""
    while not stopped():
        if not select.select([source], [], [], TICK)[0]:
            yield None
            continue
        more = os.read(source, 1 << 16)
        *lines, rest = (rest + more).split(b"\n")
        if not more and rest:
            lines.append(rest)
        yield from lines  # what was read is not lost to a signal
        if not more:
            return
    # Nor is the line that was begun, if the rest of it is there.
    while rest and select.select([source], [], [], 0)[0]:
        more = os.read(source, 1)
        if more in (b"", b"\n"):
            yield rest
            return
        rest += more


class LineParser:
    """Lines of JSON or CSV → labels; the first line tells which, unless ``format`` does."""

    def __init__(self, names: ColumnNames, format: str | None) -> None:  # noqa: A002
        if format not in (None, "jsonl", "csv"):
            raise InputError("--format", "jsonl or csv", repr(format))
        self.names = names
        self.format = format
        self.line = 0
        self.header: list[str] | None = None
        self.columns: tuple[str, str, str] | None = None

    @property
    def where(self) -> str:
        """The current line, as messages name it."""
        return f"standard input, line {self.line}"

    @property
    def header_missing(self) -> bool:
        """Whether CSV is read whose header has not been understood."""
        return self.format == "csv" and self.columns is None

    def parse(self, raw: bytes) -> LabelEvent | None:
        """The label on a line; None if it is blank or the header."""
        record = self._record(raw)
        if record is None:
            return None
        from crowdstream.labels.tables import find_columns

        if self.columns is None or not all(name in record for name in self.columns):
            self.columns = find_columns(self.names, list(record), self.where)
        task, worker, label = (_text(record[name], name) for name in self.columns)
        at, gold = _moment(record.get("at")), _text(record.get("gold"), "gold")
        return LabelEvent(task, worker, label, at, gold)

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
        import msgspec

        if self.format == "jsonl":
            try:
                return msgspec.json.decode(raw, type=dict[str, object])
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(self.where, "a JSON object", str(error)) from None
        try:
            (cells,) = csv.reader([raw.decode("utf-8")], strict=True)
        except (csv.Error, UnicodeDecodeError, ValueError) as error:
            raise InputError(self.where, "a row of CSV in UTF-8", str(error)) from None
        if self.header is None:
            from crowdstream.labels.tables import find_columns

            self.header = cells
            self.columns = find_columns(self.names, cells, self.where)
            return None
        if len(cells) != len(self.header):
            raise InputError(self.where, f"{len(self.header)} fields", str(len(cells)))
        return dict(zip(self.header, (cell or None for cell in cells), strict=True))


def _text(value: object, column: str) -> str | None:
    """Every value as text, as files are read."""
    from crowdstream.labels.readers.jsonl import as_text

    found = as_text(value)
    if found is NotImplemented:
        raise InputError(f"column {column!r}", "text or a number", type(value).__name__)
    return str(found) if found else None


def _moment(value: object) -> float | None:
    """Seconds since 1970 of a number or an ISO 8601 time; UTC if it names no zone."""
    if value is None or value == "":
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    try:
        text = str(value)
        if re.fullmatch(r"-?\d+(\.\d+)?", text):
            return float(text)
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InputError("column 'at'", "seconds or ISO 8601", repr(value)) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
