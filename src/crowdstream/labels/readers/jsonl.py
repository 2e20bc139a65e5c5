"""JSON lines: one object per line. Lines that are all alike are read by `json_template`, others by
polars; where it fails, line by line.

Knows nothing of other formats; an array comes as the lines that `json_array` makes of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.column_hints import shown_columns
from crowdstream.labels.label import as_text, shorten
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_files import BOM
from crowdstream.labels.readers.json_template import find_template, read_alike
from crowdstream.labels.readers.sources import Readable
from crowdstream.labels.tables import ROLES, ColumnNames, find_columns

if TYPE_CHECKING:
    import polars as pl


DEEPEST = 100
"""Arrays and objects that may be inside one another in a row: ten times what people nest, a tenth
of what parsers of JSON bear."""

LONGEST_LINE = 64 << 20
"""Bytes after which a line that has not ended is given up when a file is read in pieces."""

STRING = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON; one that is not closed goes on to the end."""


def decode_row(raw: bytes, where: str = "line") -> dict[str, object]:
    """The object on a line of JSON; anything else is refused, and so is what is nested too deep.

    Parameters
    ----------
    raw
        The line.
    where
        What messages call it.

    Examples
    --------
    >>> decode_row(b'{"task": "t1", "worker": "ann", "label": "spam"}')
    {'task': 't1', 'worker': 'ann', 'label': 'spam'}
    >>> decode_row(b'{"task": ' + b"[" * 1000 + b"]" * 1000 + b"}", "line 3")
    Traceback (most recent call last):
    crowdstream.errors.InputError: line 3: expected JSON nested at most 100 deep, found deeper
    """
    if is_too_deep(raw):
        raise InputError(where, f"JSON nested at most {DEEPEST} deep", "deeper")
    try:
        return msgspec.json.decode(raw, type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(where, "a JSON object", str(error)) from None


def is_too_deep(raw: bytes) -> bool:
    """Whether a line of JSON is nested deeper than `DEEPEST`; brackets in strings do not count."""
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return False
    rest = np.frombuffer(STRING.sub(b"", raw), np.uint8)
    opening, closing = np.isin(rest, list(b"[{")), np.isin(rest, list(b"]}"))
    depth = np.cumsum(opening.astype(np.int64) - closing)
    return bool(depth.max(initial=0) > DEEPEST)


def _may_be_deep(data: bytes) -> bool:
    """Whether some line of many has more brackets than may be nested; found out quickly."""
    brackets = data.count(b"[") + data.count(b"{")
    if brackets - data.count(b"\n{") <= DEEPEST:
        return False
    text = np.frombuffer(data, np.uint8)
    so_far = np.cumsum((text == ord("[")) | (text == ord("{")), dtype=np.int64)
    ends = np.append(so_far[text == ord("\n")], brackets)
    return bool(np.diff(ends, prepend=0).max() > DEEPEST)


def read(data: str | bytes, name: str, names: ColumnNames, bad: BadRows) -> CodedLabels:
    """A whole file, by its path or its bytes."""
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    raw = raw.removeprefix(BOM)
    if not raw.strip():
        raise InputError(name, "one JSON object per line", "nothing")
    return _coded(raw, name, 1, names, bad)


def read_pieces(
    file: Readable, name: str, names: ColumnNames, bad: BadRows, size: int, unit: str = "line"
) -> Iterator[tuple[int, CodedLabels]]:
    """A stream a piece at a time, cut between lines, each with its number of bytes.

    ``unit`` is what messages call a line.
    """
    line, rest, blank = 1, b"", True
    while True:
        more = file.read(size)
        data = rest + more
        cut = data.rfind(b"\n") + 1 if more else len(data)
        piece, rest = data[:cut], data[cut:]
        if len(rest) > LONGEST_LINE:
            raise InputError(name, f"{unit}s of at most {LONGEST_LINE:,} bytes", "a longer one")
        if line == 1:
            piece = piece.removeprefix(BOM)
        if piece.strip():
            blank = False
            yield len(piece), _coded(piece, name, line, names, bad, unit)
        line += piece.count(b"\n")
        if not more:
            if blank:
                found = "nothing" if unit == "line" else "an empty array"
                raise InputError(name, f"one JSON object per {unit}", found)
            return


def _coded(
    data: bytes, name: str, line: int, names: ColumnNames, bad: BadRows, unit: str = "line"
) -> CodedLabels:
    end = data.find(b"\n")
    template = find_template(data[: end if end >= 0 else len(data)].strip())
    if template is not None and not names.wide and unit == "line":
        roles = find_columns(names, template.keys, f"{name}, {unit} {line}")
        found = read_alike(data, template, roles)
        if found is not None:
            return found
    return code_frame(_piece(data, name, line, names, bad, unit))


def _piece(
    data: bytes, name: str, line: int, names: ColumnNames, bad: BadRows, unit: str = "line"
) -> pl.DataFrame:
    import polars as pl

    if names.wide:
        raise InputError("--wide", "a CSV, TSV, Parquet or Excel file", name)
    start = data.lstrip()
    first = start[: start.find(b"\n")] if b"\n" in start else start
    if _may_be_deep(data):
        return _read_lines(data, name, line, names, bad, unit)
    try:
        header = list(msgspec.json.decode(first, type=dict[str, object]))
        roles = find_columns(names, header, f"{name}, {unit} {line}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_lines(data, name, line, names, bad, unit)
    if b"\\ud" in data or b"\\uD" in data:  # half characters, which polars lets pass
        return _read_lines(data, name, line, names, bad, unit)
    try:
        table = pl.read_ndjson(data, schema=dict.fromkeys(roles, pl.String)).select(roles)
    except pl.exceptions.PolarsError:
        return _read_lines(data, name, line, names, bad, unit)
    table.columns = list(ROLES)
    gaps = table.null_count().row(0)
    # A list or an object became its text.
    odd = table.select((pl.all().str.contains(r"^[\[{]") | (pl.all() == "")).any()).row(0)
    if gaps[0] or gaps[1] or gaps[2] or any(odd):
        return _read_lines(data, name, line, names, bad, unit)
    return table


def _read_lines(
    data: bytes, name: str, line: int, names: ColumnNames, bad: BadRows, unit: str
) -> pl.DataFrame:
    import polars as pl

    kept: list[tuple[str, str, str | None]] = []
    for number, raw in enumerate(data.split(b"\n"), start=line):
        if not raw.strip():
            continue
        where = f"{name}, {unit} {number}"
        shown = raw.decode("utf-8", errors="backslashreplace")
        if is_too_deep(raw):
            bad.add(where, f"JSON nested at most {DEEPEST} deep", "deeper", shown)
            continue
        try:
            record = json.loads(raw, object_pairs_hook=_first_of_each, parse_constant=_refuse)
        except ValueError as error:
            bad.add(where, "a JSON object", str(error), shown)
            continue
        if not isinstance(record, dict):
            bad.add(where, "a JSON object", type(record).__name__, shown)
            continue
        if not _writable(record):
            bad.add(where, "text that can be written", "half a character", shown)
            continue
        roles = find_columns(names, list(record), where) if not kept else _same(names, record)
        if roles is None:
            bad.add(where, "task, worker and label", shown_columns(list(record)), shown)
            continue
        values = [as_text(record[role]) or None for role in roles]
        for role, value in zip(roles, values, strict=True):
            if value is NotImplemented:
                found = f"{type(record[role]).__name__} {shorten(record[role])}"
                bad.add(f"{where}, column {role!r}", "text or a number", found, shown)
                break
            if value is None and role != roles[2]:
                bad.add(f"{where}, column {role!r}", "a value", "nothing", shown)
                break
        else:
            kept.append((str(values[0]), str(values[1]), values[2]))  # type: ignore[arg-type]
    schema = dict.fromkeys(ROLES, pl.String)
    return pl.DataFrame(kept, schema, orient="row")


def _first_of_each(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Of a key that comes twice the first counts, as with polars."""
    return dict(reversed(pairs))


def _writable(record: dict[str, object]) -> bool:
    """JSON can spell text that UTF-8 cannot: lone surrogates."""
    try:
        for value in (*record, *record.values()):
            if isinstance(value, str):
                value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def _same(names: ColumnNames, record: dict[str, object]) -> tuple[str, str, str] | None:
    try:
        return find_columns(names, list(record), "")
    except InputError:
        return None
