"""Text of any kind → records, a piece at a time: JSON lines, an array, one document, rows of CSV.

Knows nothing of what is in a record.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from crowdstream.errors import InputError
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_files import BOM, LONGEST_ROW
from crowdstream.labels.readers.json_array import ArrayLines
from crowdstream.labels.readers.jsonl import LONGEST_LINE
from crowdstream.labels.readers.sniffing import Dialect
from crowdstream.labels.readers.sources import Readable

DECODER = msgspec.json.Decoder(dict[str, object])
ENCODER = msgspec.json.Encoder()


class FileRecord(NamedTuple):
    """A record, where it is, and its text."""

    where: str
    record: Mapping[str, object]
    raw: str | bytes


Piece = tuple[int, Iterable[FileRecord]]
"""Some records, to be gone through before the next piece, and the bytes they were read from."""

Decoder = msgspec.json.Decoder[dict[str, object]]


def read_records(
    text: Readable,
    dialect: Dialect,
    name: str,
    bad: BadRows,
    size: int,
    *,
    document: bool,
    shape: type | None = None,
) -> Iterator[Piece]:
    """The records of a text, about ``size`` bytes at a time.

    ``document``: it is one record. ``shape``: what of a record is needed, where it has that shape.
    """
    if dialect.kind == "csv":
        return _rows(text, dialect.separator, name, bad, size)
    decoder = DECODER if shape is None else msgspec.json.Decoder(shape)
    if dialect.kind == "array":
        return _lines(ArrayLines(text, name), name, bad, size, "record", decoder)
    if document:
        return iter([_document(text, name, decoder)])
    return _lines(text, name, bad, size, "line", decoder)


def decode_json(text: str | bytes) -> object:
    """JSON; NaN and Infinity, which logs of Python have where a number is missing, are null.

    >>> decode_json('{"value": NaN}')
    {'value': None}
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        data = text.encode() if isinstance(text, str) else text
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        return json.loads(data, parse_constant=lambda _: None)


def decode_record(raw: bytes, where: str, decoder: Decoder = DECODER) -> dict[str, object]:
    """A JSON object whose text can be written."""
    try:
        record: object
        try:
            record = decoder.decode(raw)
        except msgspec.DecodeError:  # of another shape, or with NaN in it
            record = decode_json(raw)
        if b"\\u" in raw:
            ENCODER.encode(record)  # half a character cannot be
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(where, "a JSON object", str(error)) from None
    if not isinstance(record, dict):
        raise InputError(where, "a JSON object", type(record).__name__)
    return record


def _document(text: Readable, name: str, decoder: Decoder) -> Piece:
    raw = text.read().removeprefix(BOM)
    return len(raw), [FileRecord(name, decode_record(raw, name, decoder), b"")]


def _lines(
    text: Readable, name: str, bad: BadRows, size: int, unit: str, decoder: Decoder
) -> Iterator[Piece]:
    number, rest, empty = 0, b"", True
    while True:
        more = text.read(size)
        *lines, rest = (rest + more).split(b"\n") if more else (rest, b"")
        if len(rest) > LONGEST_LINE:
            raise InputError(name, f"{unit}s of at most {LONGEST_LINE:,} bytes", "a longer one")
        if number == 0 and lines:
            lines[0] = lines[0].removeprefix(BOM)
        empty = empty and not any(map(bytes.strip, lines))
        read = sum(map(len, lines)) + len(lines)
        yield read, _decoded(lines, number, name, bad, unit, decoder)
        number += len(lines)
        if not more:
            if empty:
                raise InputError(name, "records", "none")
            return


def _decoded(
    lines: list[bytes], number: int, name: str, bad: BadRows, unit: str, decoder: Decoder
) -> Iterator[FileRecord]:
    """The objects of lines behind so many others; one at a time, so that memory is soon free."""
    for raw in lines:
        number += 1
        if not raw.strip():
            continue
        where = f"{name}, {unit} {number}"
        try:
            yield FileRecord(where, decode_record(raw, where, decoder), raw)
        except InputError as error:
            shown = raw.decode("utf-8", errors="backslashreplace")
            bad.add(error.where, error.expected, error.found, shown)


def _rows(text: Readable, separator: str, name: str, bad: BadRows, size: int) -> Iterator[Piece]:
    csv.field_size_limit(LONGEST_ROW)
    lines = _TextLines(text, name, size)
    rows = csv.reader(lines, delimiter=separator)
    try:
        header = next(rows, [])
        found: list[FileRecord] = []
        for row in rows:
            if not row:
                continue
            where = f"{name}, line {rows.line_num}"
            if len(row) == len(header):
                found.append(FileRecord(where, dict(zip(header, row, strict=True)), str(row)))
            else:
                bad.add(where, f"{len(header)} cells", str(len(row)), separator.join(row))
            if lines.pending >= size:
                yield lines.taken(), found
                found = []
        yield lines.taken(), found
    except csv.Error as error:
        raise InputError(f"{name}, line {rows.line_num}", "a row of CSV", str(error)) from None


class _TextLines:
    """The lines of a text in UTF-8 with their ends, read some bytes at a time."""

    def __init__(self, text: Readable, name: str, size: int) -> None:
        self.text, self.name, self.size = text, name, size
        self.pending = 0  # bytes of the lines given out since they were last taken
        self._decode = codecs.getincrementaldecoder("utf-8")()

    def taken(self) -> int:
        """The bytes of the lines given out since the last call."""
        size, self.pending = self.pending, 0
        return size

    def __iter__(self) -> Iterator[str]:
        rest, first = "", True
        while True:
            data = self.text.read(self.size)
            data, first = data.removeprefix(BOM) if first else data, False
            try:
                rest += self._decode.decode(data, final=not data)
            except UnicodeError as error:
                raise InputError(self.name, "text in UTF-8", str(error)) from None
            *lines, rest = rest.split("\n")
            if len(rest) > LONGEST_ROW:
                raise InputError(self.name, f"a row of at most {LONGEST_ROW:,} bytes", "more")
            for line in lines:
                self.pending += len(line) + 1
                yield line + "\n"
            if not data:
                if rest:
                    self.pending += len(rest)
                    yield rest
                return
