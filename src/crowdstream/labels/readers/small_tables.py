"""The one reader of small tables, each in one file: true labels, families of workers, costs.

Every value is text, as in files of labels. Knows nothing of what the tables are for.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.columns import ALIASES, pick_columns
from crowdstream.labels.readers.columnar import as_strings
from crowdstream.labels.readers.csv_files import BOM, LONGEST_HEADER
from crowdstream.labels.readers.files import COLUMNAR, columnar_data, find_sources
from crowdstream.labels.readers.header_rows import (
    SAMPLE,
    WINDOW,
    HeaderRule,
    check_titles,
    column_header,
    find_header,
    found_in_row,
    likely_header,
    split_rows,
)
from crowdstream.labels.readers.json_array import ArrayLines
from crowdstream.labels.readers.jsonl import DEEPEST, is_too_deep
from crowdstream.labels.readers.sources import Source, clear_errors, open_bytes
from crowdstream.labels.readers.text_stream import TextStream

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels.label import ClassLabel, WorkerId


def read_small_table(
    path: str,
    columns: Mapping[str, Sequence[str]],
    *,
    option: str = "",
    notes: list[str] | None = None,
) -> pl.DataFrame:
    """Some columns of a file, as text; every cell must have a value.

    ``columns``: the names that each may have, the likeliest first. ``option``: what named the
    file, for messages. ``notes`` takes what is to be said of how it was read.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "costs.csv")
    ...     _ = path.write_text("Label;cost\\nspam;3\\n")
    ...     read_small_table(str(path), {"class": ("class", "label"), "cost": ("cost",)}).rows()
    [('spam', '3')]
    """
    import polars as pl

    where = f"{option} {path}".lstrip()
    table = read_text_table(path, option=option, notes=notes, columns=columns)
    names = pick_columns(columns, table.columns, where)
    if not table.height:
        raise InputError(where, "at least one row", "a header alone")
    rows = table.select(
        pl.col(name).replace("", None).alias(role)
        for role, name in zip(columns, names, strict=True)
    )
    for role in columns:
        if rows[role].null_count():
            row = int(rows[role].is_null().arg_true()[0]) + 1
            raise InputError(f"{where}, row {row}, column {role!r}", "a value", "nothing")
    return rows


def read_text_table(
    path: str,
    *,
    option: str = "",
    notes: list[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    wanted: Collection[str] = (),
) -> pl.DataFrame:
    """Read the whole of one file, every value as text, rows and columns as they are.

    ``columns``: those that are needed and the names that each may have, by which the header is
    found below titles and, in a workbook, on one of the sheets. ``wanted``: names of columns by
    which the separator can be told, where none is needed.
    """
    rule = likely_header(wanted) if columns is None else column_header(columns)
    sources = find_sources([path], option=option)
    if len(sources) > 1:
        raise InputError(option or path, "one file", f"{len(sources)} that match {path!r}")
    with clear_errors(sources[0]):
        return _as_text(sources[0], [] if notes is None else notes, rule)


def _as_text(source: Source, notes: list[str], rule: HeaderRule) -> pl.DataFrame:
    import polars as pl

    try:
        if source.format in COLUMNAR:
            scan = pl.read_parquet if source.format == "parquet" else pl.read_ipc
            return as_strings(scan(columnar_data(source)))
        if source.format == "xlsx":
            from crowdstream.labels.readers.excel import read_sheet

            return read_sheet(source, rule, notes.append).table
        return _read_text(source, notes, rule)
    except pl.exceptions.PolarsError as error:
        found = str(error).splitlines()[0][:200]
        if "cannot cast" in found:
            found = "lists or objects in its cells"
        raise InputError(source.name, "a table of text and numbers", found) from None


def _read_text(source: Source, notes: list[str], rule: HeaderRule) -> pl.DataFrame:
    import polars as pl

    with open_bytes(source) as file:
        text = TextStream(file, source, rule.count)
        array = text.dialect.kind == "array"
        data = ArrayLines(text, source.name).read() if array else text.read()
    if (note := text.dialect.note(source.name)) is not None:
        notes.append(note)
    if text.dialect.kind == "csv":
        separator = text.dialect.separator
        data = _below_titles(data.removeprefix(BOM), separator, rule, source.name, notes)
        return pl.read_csv(data, separator=separator, infer_schema=False)
    if any(map(is_too_deep, data.split(b"\n"))):
        raise InputError(source.name, f"JSON nested at most {DEEPEST} deep", "deeper")
    return as_strings(pl.read_ndjson(data.removeprefix(BOM)))


def _below_titles(
    data: bytes, separator: str, rule: HeaderRule, where: str, notes: list[str]
) -> bytes:
    """Return CSV from its header on; all of it if no row has the columns."""
    rows = list(itertools.islice(split_rows(data[:LONGEST_HEADER], separator), WINDOW))
    cells = [row.cells for row in rows]
    index = find_header(cells, rule.is_header)
    if not index:
        return data
    below = split_rows(data[: rows[index].end + LONGEST_HEADER], separator, rows[index].end)
    sample = (row.cells for row in itertools.islice(below, SAMPLE))
    check_titles(where, cells[:index], cells[index], sample)
    if (said := found_in_row(where, cells, index)) is not None:
        notes.append(said)
    return data[rows[index].begin :]


def read_families(path: str, *, option: str = "") -> dict[WorkerId, str]:
    """The family of each worker, from a file with a worker and a family column.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "families.csv")
    ...     _ = path.write_text("model,family\\ngpt-a,gpt\\ngpt-b,gpt\\n")
    ...     read_families(str(path))
    {'gpt-a': 'gpt', 'gpt-b': 'gpt'}
    """
    columns = {"worker": ALIASES["worker"], "family": ("family", "family_id")}
    rows = read_small_table(path, columns, option=option).unique(maintain_order=True)
    twice = rows.filter(rows["worker"].is_duplicated())
    if twice.height:
        where = f"{option} {path}".lstrip()
        raise InputError(where, "one family per worker", f"several of {twice['worker'][0]!r}")
    return dict(rows.iter_rows())


def read_costs(path: str, *, option: str = "") -> dict[ClassLabel, dict[ClassLabel, float]]:
    """Read the costs of taking a class for another, from columns class, taken_for and cost.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "costs.csv")
    ...     _ = path.write_text("class,taken_for,cost\\nill,well,10\\nwell,ill,1\\n")
    ...     read_costs(str(path))
    {'ill': {'well': 10.0}, 'well': {'ill': 1.0}}
    """
    columns = {"class": ("class", "label"), "taken_for": ("taken_for",), "cost": ("cost",)}
    costs: dict[ClassLabel, dict[ClassLabel, float]] = {}
    for truth, taken, cost in read_small_table(path, columns, option=option).iter_rows():
        where = f"{option} {path}, {truth!r} taken for {taken!r}".lstrip()
        try:
            number = float(cost)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise InputError(where, "a number from 0", repr(cost))
        if costs.setdefault(truth, {}).setdefault(taken, number) != number:
            raise InputError(where, "one cost", f"{costs[truth][taken]:g} and {number:g}")
    return costs
