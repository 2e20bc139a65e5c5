"""Small tables that options name: families of workers, costs of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels import ClassLabel, WorkerId
    from crowdstream.labels.readers.files import Source


def read_families(path: str) -> dict[WorkerId, str]:
    """The family of each worker, from a file with a worker and a family column."""
    from crowdstream.labels.readers.columns import ALIASES

    aliases = {"worker": ALIASES["worker"], "family": ("family", "family_id")}
    rows = _read("--families", path, aliases).unique(maintain_order=True)
    twice = rows.filter(rows["worker"].is_duplicated())
    if twice.height:
        raise InputError(path, "one family a worker", f"several of {twice['worker'][0]!r}")
    return dict(rows.iter_rows())


def read_costs(path: str) -> dict[ClassLabel, dict[ClassLabel, float]]:
    """What it costs to take a class for another, from columns class, taken_for and cost."""
    aliases = {"class": ("class", "label"), "taken_for": ("taken_for",), "cost": ("cost",)}
    costs: dict[ClassLabel, dict[ClassLabel, float]] = {}
    for truth, taken, cost in _read("--costs", path, aliases).iter_rows():
        where = f"{path}, {truth!r} taken for {taken!r}"
        try:
            number = float(cost)
        except ValueError:
            raise InputError(where, "a number from 0", repr(cost)) from None
        if not 0 <= number < float("inf"):
            raise InputError(where, "a number from 0", repr(cost))
        if costs.setdefault(truth, {}).setdefault(taken, number) != number:
            raise InputError(where, "one cost", f"{costs[truth][taken]:g} and {number:g}")
    return costs


def _read(option: str, path: str, aliases: dict[str, tuple[str, ...]]) -> pl.DataFrame:
    """The columns wanted, as text; every cell must have a value."""
    import polars as pl

    from crowdstream.labels.readers import find_sources
    from crowdstream.labels.readers.files import clear_errors

    sources = find_sources([path])
    if len(sources) > 1:
        raise InputError(option, "one file", f"{len(sources)} that match {path!r}")
    with clear_errors(sources[0]):
        table = _as_text(sources[0])
    plain = {name.strip().lower().replace(" ", "_"): name for name in reversed(table.columns)}
    found = [
        next((plain[alias] for alias in names if alias in plain), None)
        for names in aliases.values()
    ]
    if None in found:
        wanted = ", ".join(aliases)
        raise InputError(path, f"columns {wanted}", ", ".join(table.columns) or "none")
    rows = table.select(
        pl.col(str(name)).replace("", None).alias(role)
        for role, name in zip(aliases, found, strict=True)
    )
    for role in aliases:
        if rows[role].null_count():
            row = int(rows[role].is_null().arg_true()[0]) + 1
            raise InputError(f"{path}, row {row}, column {role!r}", "a value", "nothing")
    return rows


def _as_text(source: Source) -> pl.DataFrame:
    import polars as pl

    from crowdstream.labels.readers.columnar import as_strings
    from crowdstream.labels.readers.files import open_bytes

    try:
        if source.format in ("parquet", "ipc"):
            scan = pl.read_parquet if source.format == "parquet" else pl.read_ipc
            return as_strings(scan(source.path))
        data = open_bytes(source).read()
        if source.format == "jsonl":
            return as_strings(pl.read_ndjson(data))
        separator = "\t" if source.format == "tsv" else ","
        return pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(source.name, "a table", str(error).splitlines()[0]) from None
