"""`read_labels`: a file of labels of any format or tool → a table. Knows no estimators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, cast

from crowdstream.errors import InputError
from crowdstream.labels.label import shorten
from crowdstream.labels.readers import BadRows, find_sources, make_options
from crowdstream.labels.readers.files import read_tables
from crowdstream.labels.tables import ROLES, ColumnNames

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels.readers.tally import Tally


def read_labels(
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002 what the command line calls it
    question: str | None = None,
    include_predictions: bool = False,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    wide: bool = False,
    on_error: str = "fail",
    sheet: str | int | None = None,
    header_row: int | None = None,
    columns: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Labels of a file, or several, as a table of task, worker and label.

    Reads what ``crowdstream run`` reads: CSV, TSV, JSON lines, JSON arrays, Parquet, Arrow, Excel,
    packed or not, and the exports of labelling tools, told by their keys. Every value is text.
    Where a tool says when an answer was given there is a column ``at`` (seconds since 1970), and
    where it knows the true class of a task, a column ``gold``: the table can be given to an
    estimator as labels and as gold alike.

    Parameters
    ----------
    path
        A file or a glob, or several.
    format
        The format, or the tool that wrote it (``"label-studio"``), if the file does not show it.
    question
        Of an export with several questions, the one to read.
    include_predictions
        Whether models whose predictions are in an export are workers (``model:name``).
    task, worker, label
        The columns, if their names do not tell.
    wide
        Whether the file has one row per task and one column per worker.
    on_error
        Records that cannot be read: ``"fail"``, ``"skip"`` or ``"quarantine=FILE"``.
    sheet
        The sheet of a workbook, by its name or its number from 1 on; unless given, the first that
        has the columns.
    header_row
        The row of a sheet or of CSV that names the columns, from 1 on; unless given, the first that
        names task, worker and label.
    columns
        The names of the columns of a sheet or of CSV, in their order, if there is no header;
        ``"-"`` leaves a column out. With ``header_row`` they replace the names in that row.

    Examples
    --------
    >>> import json
    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> import crowdstream as cs
    >>> record = {"id": "r1", "responses": {"mood": [{"value": "good", "user_id": "ann"}]}}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "records.json")
    ...     _ = path.write_text(json.dumps([record]))
    ...     cs.read_labels(path).rows()
    [('r1', 'ann', 'good')]
    """
    import polars as pl

    one = isinstance(path, (str, bytes, PathLike)) or not isinstance(path, Iterable)
    paths = [_checked(each) for each in cast("Iterable[object]", [path] if one else path)]
    options = make_options(
        sheet=None if sheet is None else str(sheet),
        question=question,
        predictions=include_predictions,
        header_row=header_row,
        columns=columns,
    )
    sources = find_sources(paths, format, options)
    names = ColumnNames(task, worker, label, wide)
    with BadRows(on_error) as bad:
        tables = list(read_tables(sources, names, bad))
    if not tables:
        return pl.DataFrame(schema=dict.fromkeys(ROLES, pl.String))
    table = pl.concat(tables, how="diagonal")
    if "at" in table.columns and table["at"].null_count() == table.height:
        table = table.drop("at")
    return _with_gold(table, bad.tally)


def _checked(path: object) -> str:
    if not isinstance(path, (str, PathLike)):
        raise InputError("path", "the path of a file, or several", shorten(path))
    return str(fspath(path))


def _with_gold(table: pl.DataFrame, tally: Tally | None) -> pl.DataFrame:
    """The true class beside each label of a task whose gold the files know."""
    import polars as pl

    if tally is None or not tally.gold:
        return table
    gold = pl.col("task").replace_strict(
        list(tally.gold), list(tally.gold.values()), default=None, return_dtype=pl.String
    )
    return table.with_columns(gold=gold)
