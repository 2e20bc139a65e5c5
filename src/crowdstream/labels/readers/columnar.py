"""Parquet and Arrow IPC: typed columns, read as text. Knows nothing of other formats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels, code_frames
from crowdstream.labels.column_hints import suggest_columns, suggest_wide
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.repeated_headers import note_repeated
from crowdstream.labels.tables import is_list, list_text
from crowdstream.labels.text_codes import QUICK
from crowdstream.parallel import ahead

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels.readers.excel import Sheet

BATCH_ROWS = 500_000
"""Rows read at a time when a file is not read whole: about what 8 MB of CSV hold."""


SAMPLE = 60
"""Rows that are looked at to tell a wide table."""


def read(
    data: str | bytes, name: str, kind: str, shaper: Shaper, bad: BadRows
) -> CodedLabels | pl.DataFrame:
    """A whole file, by its path or its bytes: task, worker, label, and what else it tells.

    Where a row is a label and nothing else, it is coded some rows at a time, while the next are
    read: as text, all of them take several times the memory.
    """
    query = _scan(data, name, kind, shaper)
    if QUICK and shaper.roles is not None and shaper.roles.plain:
        return code_frames(ahead(_batches(query, name, shaper, bad)))
    return _clean(_text(query, name, shaper), name, shaper, bad, 0)


def _batches(
    query: pl.LazyFrame, name: str, shaper: Shaper, bad: BadRows
) -> Iterator[pl.DataFrame]:
    """The rows of a file some at a time; one batch at least."""
    start, rows = 0, BATCH_ROWS
    while rows == BATCH_ROWS:
        table = _text(query.slice(start, BATCH_ROWS), name, shaper)
        rows = table.height
        if rows or not start:
            yield _clean(table, name, shaper, bad, start)
        start += rows


def read_frame(sheet: Sheet, shaper: Shaper, bad: BadRows) -> pl.DataFrame:
    """Read a sheet: a table of text that is in memory already."""
    import polars as pl

    table = sheet.table
    shaper.where = sheet.where
    try:
        chosen = _choose(table.lazy(), table.columns, sheet.where, shaper).collect()
    except InputError as error:
        suggest_columns(error, table.columns, table.head(SAMPLE).rows(), wide=shaper.names.wide)
        raise
    repeated = chosen.select(
        pl.all_horizontal(pl.col(column) == pl.lit(column) for column in chosen.columns).fill_null(
            False
        )
    ).to_series()
    note_repeated(sheet.rows.filter(repeated).to_list(), bad, sheet.where)
    rows = sheet.rows.filter(~repeated)
    return _clean(chosen.filter(~repeated), sheet.where, shaper, bad, rows)


def read_pieces(
    data: str | bytes, name: str, kind: str, shaper: Shaper, bad: BadRows
) -> Iterator[tuple[int, pl.DataFrame]]:
    """A file some rows at a time, each with its share of the bytes."""
    import polars as pl

    query = _scan(data, name, kind, shaper)
    height = max(int(query.select(pl.len()).collect().item()), 1)
    size = Path(data).stat().st_size if isinstance(data, str) else len(data)
    done = 0
    for start in range(0, height, BATCH_ROWS):
        rows = min(BATCH_ROWS, height - start)
        read = size * (start + rows) // height
        table = _text(query.slice(start, rows), name, shaper)
        yield read - done, _clean(table, name, shaper, bad, start)
        done = read


def _scan(data: str | bytes, name: str, kind: str, shaper: Shaper) -> pl.LazyFrame:
    import polars as pl

    try:
        scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
        query = scan(data, glob=False)
        header = query.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(name, f"a {kind} file", str(error).splitlines()[0]) from None
    return _choose(query, header, name, shaper)


def _choose(query: pl.LazyFrame, header: list[str], name: str, shaper: Shaper) -> pl.LazyFrame:
    """The columns that are needed."""
    try:
        return query.select(shaper.needed(header))
    except InputError as error:
        if not shaper.names.wide:
            sample = _text(query.select(header[:SAMPLE]).head(SAMPLE), name)
            suggest_wide(error, sample.columns, sample.rows())
        raise


def _text(query: pl.LazyFrame, name: str, shaper: Shaper | None = None) -> pl.DataFrame:
    """The rows as text; lists of labels become JSON, other nested columns are refused."""
    import polars as pl

    roles = None if shaper is None else shaper.roles
    ids = () if roles is None else (roles.task, roles.worker)
    try:
        table = query.collect()
        for column, kind in table.schema.items():
            if is_list(table[column]) and column not in ids:
                table = table.with_columns(list_text(table[column]))
            elif kind.is_nested() or kind == pl.Binary:
                raise InputError(f"{name}, column {column!r}", "text or numbers", str(kind))
        return as_strings(table)
    except pl.exceptions.PolarsError as error:
        raise InputError(name, "a file that is whole", str(error).splitlines()[0]) from None


def as_strings(table: pl.DataFrame) -> pl.DataFrame:
    """All columns as text; a whole number is written alike whatever its type."""
    import polars as pl
    import polars.selectors as cs

    number = cs.float()
    whole = number.cast(pl.Int64, strict=False)
    return table.with_columns(
        pl.when(number == whole)
        .then(whole.cast(pl.String))
        .otherwise(number.cast(pl.String))
        .name.keep()
    ).select(pl.all().cast(pl.String))


def _clean(
    table: pl.DataFrame, name: str, shaper: Shaper, bad: BadRows, rows: pl.Series | int
) -> pl.DataFrame:
    """Return the labels of rows that have a task and a worker; the others are bad.

    ``rows``: the numbers of the rows, or how many come before.
    """
    import polars as pl

    if any(table.select((pl.all() == "").any()).row(0)):
        table = table.with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())
    roles = shaper.look_at(table.columns)
    needed = [column for column in (roles.task, roles.worker) if column is not None]
    if any(table[column].null_count() for column in needed):
        empty = table.select(pl.any_horizontal(pl.col(needed).is_null())).to_series()
        if roles.wide:  # sheets have empty rows
            blank = table.select(pl.all_horizontal(pl.all().is_null())).to_series()
            table, empty = table.filter(~blank), empty.filter(~blank)
        for row in empty.arg_true():
            column = next(column for column in needed if table[column][row] is None)
            where = f"{name}, row {_number(rows, row)}, column {column!r}"
            bad.add(where, "a value", "nothing", str(table.row(row)))
        table = table.filter(~empty)
    return shaper.shape(table)


def _number(rows: pl.Series | int, index: int) -> int:
    """Return the number by which messages call a row."""
    return rows + index + 1 if isinstance(rows, int) else int(rows[index])
