"""Files of true labels: a task and a label (or gold) column."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.readers.columnar import as_strings
from crowdstream.labels.readers.columns import find_column

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels.readers.files import Source


def read_gold(source: Source) -> pl.DataFrame:
    """task, gold, both text; rows without either are left out."""
    import polars as pl

    from crowdstream.labels.readers.files import clear_errors, open_bytes

    with clear_errors(source):
        table = _table(source, open_bytes)
    task = find_column("task", None, table.columns, source.name)
    try:
        truth = find_column("gold", None, table.columns, source.name)
    except InputError:
        truth = find_column("label", None, table.columns, source.name)
    return table.select(pl.col(task).alias("task"), pl.col(truth).alias("gold")).drop_nulls()


def read_truths(path: str) -> pl.DataFrame:
    """task, label, both text: one true label a task."""
    from crowdstream.labels.readers.files import find_sources

    truths = read_gold(find_sources([path])[0]).unique(maintain_order=True)
    twice = truths.filter(truths["task"].is_duplicated())
    if twice.height:
        raise InputError(path, "one true label a task", f"several of {twice['task'][0]!r}")
    return truths.rename({"gold": "label"})


def _table(source: Source, open_bytes: Callable[[Source], IO[bytes]]) -> pl.DataFrame:
    import polars as pl

    try:
        if source.format in ("parquet", "ipc"):
            scan = pl.read_parquet if source.format == "parquet" else pl.read_ipc
            table = as_strings(scan(source.path))
        elif source.format == "jsonl":
            table = as_strings(pl.read_ndjson(open_bytes(source).read()))
        else:
            separator = "\t" if source.format == "tsv" else ","
            data = open_bytes(source).read()
            table = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(source.name, "a file of true labels", str(error).splitlines()[0]) from None
    return table
