"""JSON lines: one object per line. Polars first; where it fails, line by line.

Knows nothing of other formats.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from crowdstream.errors import InputError
from crowdstream.labels.label import shorten
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_files import BOM
from crowdstream.labels.tables import ROLES, ColumnNames, find_columns

if TYPE_CHECKING:
    import polars as pl


def read(data: str | bytes, name: str, names: ColumnNames, bad: BadRows) -> pl.DataFrame:
    """A whole file, by its path or its bytes."""
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    raw = raw.removeprefix(BOM)
    if not raw.strip():
        raise InputError(name, "one JSON object per line", "nothing")
    return _piece(raw, name, 1, names, bad)


def read_pieces(
    file: IO[bytes], name: str, names: ColumnNames, bad: BadRows, size: int
) -> Iterator[tuple[int, pl.DataFrame]]:
    """A stream a piece at a time, cut between lines, each with its number of bytes."""
    line, rest, blank = 1, b"", True
    while True:
        more = file.read(size)
        data = rest + more
        cut = data.rfind(b"\n") + 1 if more else len(data)
        piece, rest = data[:cut], data[cut:]
        if line == 1:
            piece = piece.removeprefix(BOM)
        if piece.strip():
            blank = False
            yield len(piece), _piece(piece, name, line, names, bad)
        line += piece.count(b"\n")
        if not more:
            if blank:
                raise InputError(name, "one JSON object per line", "nothing")
            return


def _piece(data: bytes, name: str, line: int, names: ColumnNames, bad: BadRows) -> pl.DataFrame:
    import polars as pl

    if names.wide:
        raise InputError("--wide", "a CSV, TSV or Parquet file", name)
    start = data.lstrip()
    first = start[: start.find(b"\n")] if b"\n" in start else start
    if start.startswith(b"["):
        raise InputError(name, "one JSON object per line", "a JSON array")
    try:
        header = list(msgspec.json.decode(first, type=dict[str, object]))
        roles = find_columns(names, header, f"{name}, line {line}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _read_lines(data, name, line, names, bad)
    if b"\\ud" in data or b"\\uD" in data:  # half characters, which polars lets pass
        return _read_lines(data, name, line, names, bad)
    try:
        table = pl.read_ndjson(data, schema=dict.fromkeys(roles, pl.String)).select(roles)
    except pl.exceptions.PolarsError:
        return _read_lines(data, name, line, names, bad)
    table.columns = list(ROLES)
    gaps = table.null_count().row(0)
    # A list or an object became its text.
    odd = table.select((pl.all().str.contains(r"^[\[{]") | (pl.all() == "")).any()).row(0)
    if gaps[0] or gaps[1] or gaps[2] or any(odd):
        return _read_lines(data, name, line, names, bad)
    return table


def _read_lines(
    data: bytes, name: str, line: int, names: ColumnNames, bad: BadRows
) -> pl.DataFrame:
    import polars as pl

    kept: list[tuple[str, str, str | None]] = []
    for number, raw in enumerate(data.split(b"\n"), start=line):
        if not raw.strip():
            continue
        where = f"{name}, line {number}"
        shown = raw.decode("utf-8", errors="backslashreplace")
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
            bad.add(where, "task, worker and label", ", ".join(record), shown)
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


def as_text(value: object) -> object:
    """As polars writes it; NotImplemented for what is not a single value."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    return NotImplemented
