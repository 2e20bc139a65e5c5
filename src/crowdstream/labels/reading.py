"""`read_labels`: a file of labels of any format or tool → a table. Knows no estimators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Unpack, cast

from crowdstream.errors import InputError
from crowdstream.labels.columns import ROLES
from crowdstream.labels.label import shorten
from crowdstream.labels.meaning.interpreting import Interpreter, Meaning
from crowdstream.labels.meaning.options import HOW, TableMeaning, read_meaning
from crowdstream.labels.readers import BadRows, find_sources, make_options, read_all

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels.readers.tally import Tally


def read_labels(
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002 what the command line calls it
    include: Iterable[str] = (),
    exact: bool = False,
    keep: Iterable[str] = (),
    sheet: str | int | None = None,
    header_row: int | None = None,
    columns: Sequence[str] | None = None,
    **meaning: Unpack[TableMeaning],
) -> pl.DataFrame:
    """Read the labels of a file, or several, as a table of task, worker and label.

    Reads what ``crowdstream run`` reads, and cleans it alike: CSV, TSV, JSON lines, JSON arrays,
    Parquet, Arrow, Excel, packed or not, and the exports of labelling tools, told by their keys.
    Every value is text; a label that is no answer is null. Where a file has several questions there
    is a column ``question``, and `fit_questions` decides the table. Where a tool knows the true
    class of a task there is a column ``gold``: the table can be given to an estimator as labels and
    as gold alike.

    Parameters
    ----------
    path
        A file or a glob, or several.
    format
        The format, or the tool that wrote it (``"label-studio"``), if the file does not show it.
    include
        Answers of an export that are votes only if asked for: ``"predictions"`` (models whose
        predictions are in it become workers, ``model:name``), ``"checks"`` (assertions of promptfoo
        that compute a verdict instead of asking a model).
    exact
        Whether labels that differ only in spelling are different classes.
    keep
        Labels that are answers though they look like none, such as ``"none"``.
    sheet
        The sheet of a workbook, by its name or its number from 1 on; unless given, the first that
        has the columns.
    header_row
        The row of a sheet or of CSV that names the columns, from 1 on; unless given, the first that
        names task, worker and label.
    columns
        The names of the columns of a sheet or of CSV, in their order, if there is no header;
        ``"-"`` leaves a column out. With ``header_row`` they replace the names in that row.
    **meaning
        What the file means, where it does not show it: as for `Estimator.fit_predict`;
        ``on_error``: records that cannot be read, ``"fail"``, ``"skip"`` or ``"quarantine=FILE"``.

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
    one = isinstance(path, (str, bytes, PathLike)) or not isinstance(path, Iterable)
    paths = [_checked(each) for each in cast("Iterable[object]", [path] if one else path)]
    on_error = meaning.pop("on_error", "fail")
    reading = read_meaning(meaning)
    names = reading.names
    hints = reading.hints._replace(exact=exact, keep=tuple(keep))
    options = make_options(
        sheet=None if sheet is None else str(sheet),
        question=names.question,
        include=include,
        header_row=header_row,
        columns=columns,
    )
    sources = find_sources(paths, format, options)
    where = sources[0].name if len(sources) == 1 else "labels"
    with BadRows(on_error) as bad:
        raws = read_all(sources, names, bad)
    found = Interpreter(names, hints, where=where, how=HOW).whole(raws)
    return _table(found, bad.tally)


def _checked(path: object) -> str:
    if not isinstance(path, (str, PathLike)):
        raise InputError("path", "the path of a file, or several", shorten(path))
    return str(fspath(path))


def _table(found: Meaning, tally: Tally | None) -> pl.DataFrame:
    """The labels of all questions as one table, with the gold that the files know."""
    import polars as pl

    tables = []
    for question in found.questions:
        table = question.table.frame().cast(dict.fromkeys(ROLES, pl.String))
        if question.at is not None:
            table = table.with_columns(question.at.alias("at"))
        gold: dict[str, str] = {}
        if tally is not None:
            gold = tally.golds.get(question.name, {}) if question.name else tally.gold
        if gold:
            true = pl.col("task").replace_strict(
                list(gold), list(gold.values()), default=None, return_dtype=pl.String
            )
            table = table.with_columns(gold=true)
        if question.name:
            table = table.with_columns(pl.lit(question.name).alias("question"))
        tables.append(table)
    return pl.concat(tables, how="diagonal")
