"""The one reader of small tables, each in one file: true labels, families of workers, costs.

Every value is text, as in files of labels. Knows nothing of what the tables are for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.readers.columnar import as_strings
from crowdstream.labels.readers.files import Source, clear_errors, find_sources, open_bytes
from crowdstream.labels.tables import ALIASES, pick_columns

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels.label import ClassLabel, WorkerId


def read_small_table(
    path: str, columns: Mapping[str, Sequence[str]], *, gaps: bool = False
) -> pl.DataFrame:
    """Some columns of a file, as text; every cell must have a value (``gaps``: or its row goes).

    ``columns``: the names that each may have, the likeliest first.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "costs.csv")
    ...     _ = path.write_text("Label,cost\\nspam,3\\n")
    ...     read_small_table(str(path), {"class": ("class", "label"), "cost": ("cost",)}).rows()
    [('spam', '3')]
    """
    import polars as pl

    table = read_text_table(path)
    names = pick_columns(columns, table.columns, path)
    rows = table.select(
        pl.col(name).replace("", None).alias(role)
        for role, name in zip(columns, names, strict=True)
    )
    if gaps:
        return rows.drop_nulls()
    for role in columns:
        if rows[role].null_count():
            row = int(rows[role].is_null().arg_true()[0]) + 1
            raise InputError(f"{path}, row {row}, column {role!r}", "a value", "nothing")
    return rows


def read_text_table(path: str) -> pl.DataFrame:
    """The whole of one file, every value as text, rows and columns as they are."""
    sources = find_sources([path])
    if len(sources) > 1:
        raise InputError(path, "one file", f"{len(sources)} that match")
    with clear_errors(sources[0]):
        return _as_text(sources[0])


def _as_text(source: Source) -> pl.DataFrame:
    import polars as pl

    try:
        if source.format in ("parquet", "ipc"):
            scan = pl.read_parquet if source.format == "parquet" else pl.read_ipc
            return as_strings(scan(source.path))
        with open_bytes(source) as file:
            data = file.read()
        if source.format == "jsonl":
            return as_strings(pl.read_ndjson(data))
        separator = "\t" if source.format == "tsv" else _comma(data)
        return pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(source.name, "a table", str(error).splitlines()[0]) from None


def _comma(data: bytes) -> str:
    """What separates the cells: spreadsheets of half of Europe write semicolons.

    >>> _comma(b"task;gold\\n1;spam, they say\\n")
    ';'
    """
    header = data.partition(b"\n")[0]
    return ";" if b";" in header and b"," not in header else ","


def read_families(path: str) -> dict[WorkerId, str]:
    """The family of each worker, from a file with a worker and a family column.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "families.csv")
    ...     _ = path.write_text("model,family\\ngpt-a,gpt\\ngpt-b,gpt\\n")
    ...     read_families(str(path))
    {'gpt-a': 'gpt', 'gpt-b': 'gpt'}
    """
    columns = {"worker": ALIASES["worker"], "family": ("family", "family_id")}
    rows = read_small_table(path, columns).unique(maintain_order=True)
    twice = rows.filter(rows["worker"].is_duplicated())
    if twice.height:
        raise InputError(path, "one family per worker", f"several of {twice['worker'][0]!r}")
    return dict(rows.iter_rows())


def read_costs(path: str) -> dict[ClassLabel, dict[ClassLabel, float]]:
    """What it costs to take a class for another, from columns class, taken_for and cost.

    >>> from pathlib import Path; from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "costs.csv")
    ...     _ = path.write_text("class,taken_for,cost\\nill,well,10\\nwell,ill,1\\n")
    ...     read_costs(str(path))
    {'ill': {'well': 10.0}, 'well': {'ill': 1.0}}
    """
    columns = {"class": ("class", "label"), "taken_for": ("taken_for",), "cost": ("cost",)}
    costs: dict[ClassLabel, dict[ClassLabel, float]] = {}
    for truth, taken, cost in read_small_table(path, columns).iter_rows():
        where = f"{path}, {truth!r} taken for {taken!r}"
        try:
            number = float(cost)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise InputError(where, "a number from 0", repr(cost))
        if costs.setdefault(truth, {}).setdefault(taken, number) != number:
            raise InputError(where, "one cost", f"{costs[truth][taken]:g} and {number:g}")
    return costs
