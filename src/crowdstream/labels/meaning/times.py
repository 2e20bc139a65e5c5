"""Times of labels: the column ``at`` as numbers, and rows in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl


def read_times(column: pl.Series) -> pl.Series | None:
    """Return times as seconds since 1970; None unless every cell has one.

    Parameters
    ----------
    column
        Numbers, dates and times, or text of either kind.

    Examples
    --------
    >>> import polars as pl
    >>> read_times(pl.Series(["1970-01-01 00:01:00", "1970-01-01T00:00:30"])).to_list()
    [60.0, 30.0]
    >>> read_times(pl.Series(["12", "13.5"])).to_list()
    [12.0, 13.5]
    >>> read_times(pl.Series(["noon", "later"]))
    """
    import polars as pl

    found = column
    if column.dtype == pl.String:
        found = column.str.strip_chars().cast(pl.Float64, strict=False)
        if found.null_count():
            found = column.str.strip_chars().str.replace("T", " ", literal=True)
            found = _moments(found.str.replace(r"\s?(Z|UTC|\+00:?00)$", ""))
    if found.dtype.is_temporal() and found.dtype not in (pl.Time, pl.Duration):
        found = found.cast(pl.Datetime("us")).dt.timestamp("us") / 1e6
    if not found.dtype.is_numeric() or not column.len():
        return None
    found = found.cast(pl.Float64)
    return found if bool(found.is_finite().fill_null(False).all()) else None


def _moments(texts: pl.Series) -> pl.Series:
    """Texts as dates with times, null where one is not; times of other zones are moved to UTC."""
    import polars as pl

    found = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    for pattern in ("%Y-%m-%d %H:%M", "%Y-%m-%d"):
        if found.null_count():
            more = texts.str.to_datetime(pattern, time_unit="us", strict=False)
            found = found.fill_null(more)
    if found.null_count():
        zoned = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%#z", time_unit="us", strict=False)
        found = found.fill_null(zoned.cast(pl.Datetime("us")))
    return found


def is_timed(table: pl.DataFrame) -> bool:
    """Return whether a table knows when some of its labels were given: ``at`` holds numbers."""
    return "at" in table.columns and table["at"].dtype.is_numeric() and table["at"].count() > 0


def in_order_of_time(table: pl.DataFrame) -> pl.DataFrame:
    """Return rows in the order of their times, which become numbers.

    Rows of one time stay in their order; where some row has no time, all stay as they are.
    """
    times = read_times(table["at"]) if "at" in table.columns else None
    if times is None:
        return table
    table = table.with_columns(times.alias("at"))
    if times.is_sorted():
        return table
    return table[np.argsort(times.to_numpy(), kind="stable")]
