"""CSV and TSV. The fast way is polars; what it stumbles over is read again row by row.

Row by row every bad row is named by line and column. A row must have as many fields as the
header; blank lines are nothing; an empty label is a skip; an empty task or worker is an error.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.columns import Columns
from crowdstream.labels.readers.columns import BOM, Names, find_column, find_columns
from crowdstream.labels.readers.trouble import Trouble

if TYPE_CHECKING:
    import polars as pl


def read(
    data: str | bytes, name: str, separator: str, names: Names, trouble: Trouble
) -> Columns | pl.DataFrame:
    """A whole file, by its path or its bytes."""
    head = data[: 1 << 20] if isinstance(data, bytes) else _head(data)
    header = _header(head, name, separator, names)
    if not names.wide:
        from crowdstream.labels.readers.plain import read_plain

        task, worker, label = (header.index(column) for column in _roles(names, header, name))
        bom = len(BOM) * head.startswith(BOM)
        skip = bom + _first_row_end(head[bom:])
        plain = read_plain(data, separator, (task, worker, label), len(header), skip)
        if plain is not None:
            return plain
    fast = _parse(data, separator, header, names, has_header=True)
    if fast is not None:
        return fast
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    return _read_rows(raw, name, 1, separator, header, names, trouble, has_header=True)


def batches(
    file: IO[bytes],
    name: str,
    separator: str,
    names: Names,
    trouble: Trouble,
    size: int,
) -> Iterator[tuple[int, pl.DataFrame]]:
    """A stream a piece at a time, cut between rows."""
    header: list[str] = []
    line, rest = 1, b""
    while True:
        more = file.read(size)
        data = rest + more
        cut = _last_row_end(data, separator) if more else len(data)
        piece, rest = data[:cut], data[cut:]
        if piece or not more:
            first = not header
            if first:
                header = _header(piece, name, separator, names)
            table = _parse(piece, separator, header, names, has_header=first)
            if table is None:
                table = _read_rows(
                    piece, name, line, separator, header, names, trouble, has_header=first
                )
            line += piece.count(b"\n")
            yield len(piece), table
        if not more:
            return


def _last_row_end(data: bytes, separator: str) -> int:
    """Where the last whole row ends: after a newline that is not inside quotes."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    import numpy as np

    from crowdstream.labels.loops import last_row_end

    return last_row_end(np.frombuffer(data, np.uint8), ord(separator))


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        head = file.read(1 << 20)
        while head and b"\n" not in head:
            more = file.read(1 << 20)
            if not more:
                break
            head += more
    return head


def _header(data: bytes, name: str, separator: str, names: Names) -> list[str]:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(name, "text in UTF-8", "UTF-16")
    text = data.removeprefix(BOM)
    if not text.strip():
        raise InputError(name, "a header and rows", "nothing")
    first = text[: _first_row_end(text)].decode("utf-8", errors="replace")
    csv.field_size_limit(1 << 30)
    rows = csv.reader(io.StringIO(first, newline=""), delimiter=separator)
    header = next(rows, [])
    if next(rows, None) is not None:
        raise InputError(name, r"lines that end in \n", r"lines that end in \r alone")
    if "\ufffd" in first and b"\xef\xbf\xbd" not in data:
        raise InputError(f"{name}, line 1", "text in UTF-8", repr(first[:60]))
    _roles(names, header, name)
    return header


def _first_row_end(data: bytes) -> int:
    end = data.find(b"\n") + 1
    while end and data.count(b'"', 0, end) % 2:
        end = data.find(b"\n", end) + 1
    return end or len(data)


def _roles(names: Names, header: list[str], where: str) -> tuple[str, str, str]:
    if not names.wide:
        return find_columns(names, header, where)
    if len(set(header)) < len(header):
        raise InputError(where, "different names of raters", ", ".join(header))
    return find_column("task", names.task, header, where), "", ""


def _parse(
    data: str | bytes,
    separator: str,
    header: list[str],
    names: Names,
    *,
    has_header: bool,
) -> pl.DataFrame | None:
    """The fast way; None where it is not certain to be right."""
    import polars as pl

    places = [header.index(column) for column in _roles(names, header, "") if column]
    if names.wide:
        places = list(range(len(header)))
    # A row that is too short leaves its last column empty, so that one is looked at too.
    wanted = sorted({*places, len(header) - 1})
    try:
        table = pl.read_csv(
            data,
            has_header=has_header,
            separator=separator,
            columns=wanted,
            infer_schema=False,
            glob=False,
            new_columns=None if has_header else [f"c{k}" for k in wanted],
        )
    except pl.exceptions.PolarsError:
        return None
    gaps_at_end = table.to_series(-1).null_count()
    if gaps_at_end and not _is_even(data, separator, header, table.height + has_header):
        return None
    order = {place: k for k, place in enumerate(wanted)}
    table = table.select(pl.nth(order[place]).alias(f"c{place}") for place in places)
    if names.wide:
        task = header.index(_roles(names, header, "")[0])
        if table.null_count().to_series(task).item():
            return None
        return melt(table, header, task)
    table.columns = ["task", "worker", "label"]
    gaps = table.null_count().row(0)
    empty = table.select((pl.all() == "").any()).row(0)  # a quoted nothing is nothing too
    if gaps[0] or gaps[1] or any(empty):
        return None
    return table


def _is_even(data: str | bytes, separator: str, header: list[str], rows: int) -> bool:
    """Whether all rows have as many fields as the header; without quotes, counting tells."""
    raw = data if isinstance(data, bytes) else Path(data).read_bytes()
    return b'"' not in raw and raw.count(separator.encode()) == rows * (len(header) - 1)


def melt(table: pl.DataFrame, header: list[str], task: int) -> pl.DataFrame:
    """One column a rater → one row a label; empty cells are not labels."""
    import polars as pl

    table = table.rename(lambda name: f"c{table.columns.index(name)}")
    names = dict(zip(table.columns, header, strict=True))
    key = table.columns[task]
    long = table.with_row_index("row").unpivot(index=["row", key], variable_name="worker")
    return (
        long.filter(pl.col("value") != "")
        .sort("row", maintain_order=True)
        .select(
            pl.col(key).alias("task"),
            pl.col("worker").replace_strict(names, return_dtype=pl.String),
            pl.col("value").alias("label"),
        )
    )


def _read_rows(
    data: bytes,
    name: str,
    line: int,
    separator: str,
    header: list[str],
    names: Names,
    trouble: Trouble,
    *,
    has_header: bool,
) -> pl.DataFrame:
    """The sure way, a row at a time."""
    import polars as pl

    roles = _roles(names, header, name)
    kept: list[tuple[str, str, str | None]] = []
    at = [header.index(column) for column in roles if column]
    text = io.TextIOWrapper(
        io.BytesIO(data.removeprefix(BOM)), encoding="utf-8", errors="surrogateescape", newline=""
    )
    rows = csv.reader(text, delimiter=separator, strict=True)
    skip_first = has_header
    while True:
        start = line + rows.line_num
        try:
            row = next(rows, None)
        except csv.Error as error:
            lines = data.split(b"\n")[start - line : rows.line_num]
            raw = b"\n".join(lines).decode(errors="replace")
            trouble.bad_row(f"{name}, line {start}", "a row of CSV", str(error), raw)
            trouble.rows += max(len([each for each in lines if each]) - 1, 0)  # all it swallows
            if rows.line_num + line == start:
                break
            continue
        if row is None:
            break
        if skip_first:
            skip_first = False
            continue
        if not row or row == [""]:
            continue
        where = f"{name}, line {start}"
        raw = separator.join(row)
        wrong = _wrong(row, header, at)
        if wrong is not None:
            column, expected, found = wrong
            trouble.bad_row(where + column, expected, found, raw)
        elif names.wide:
            kept += [
                (row[at[0]], header[k], cell)
                for k, cell in enumerate(row)
                if k != at[0] and cell != ""
            ]
        else:
            task, worker, label = (row[k] for k in at)
            kept.append((task, worker, label or None))
    schema = {"task": pl.String, "worker": pl.String, "label": pl.String}
    return pl.DataFrame(kept, schema, orient="row")


def _wrong(row: list[str], header: list[str], at: list[int]) -> tuple[str, str, str] | None:
    """What is wrong with a row, if anything: where in it, what was expected, what found."""
    if len(row) != len(header):
        return "", f"{len(header)} fields", f"{len(row)}"
    for cell in row:
        if not cell.isascii() and any("\udc80" <= c <= "\udcff" for c in cell):
            return "", "text in UTF-8", ascii(cell[:40])
    for place in at[:2]:
        if row[place] == "":
            return f", column {header[place]!r}", "a value", "nothing"
    return None
