"""Columns of a streaming DataFrame → rows that are labels, and what is wrong with the others.

A stream goes on: a row that is no label is counted, and stops nothing. Knows nothing of tasks.
"""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.columns import ROLES, ColumnNames, find_columns
from crowdstream.labels.label import FLOAT_MAX
from crowdstream.spark.columns import FRACTIONS, WHOLE, clean_column, quoted
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SECOND = 1_000_000
"""Times are whole numbers of microseconds, as Spark's are."""

AHEAD = 86_400 * SECOND
"""How far ahead of the clock a time may be: a day, for clocks of other time zones. One label of the
year 3000 would make all others late."""

TIMES = ("timestamp", "timestamp_ntz", "date")

NO_TIME = 0
"""The time of labels that have none."""

FAULTS = "bad", "null_task", "null_worker", "null_label", "null_at", "ahead", "late"
"""What a row may be instead of a label; the first that holds is counted."""

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


def micros_of(name: str, interval: object) -> int | None:
    """An interval in microseconds: seconds, a timedelta, or words such as "10 minutes".

    >>> micros_of("idle", "10 minutes"), micros_of("idle", 2), micros_of("idle", None)
    (600000000, 2000000, None)
    """
    if interval is None:
        return None
    if isinstance(interval, datetime.timedelta):
        interval = interval.total_seconds()
    if isinstance(interval, str):
        words = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*", interval.lower())
        if words is None or words[2] not in UNITS:
            expected = "seconds, a timedelta, or words such as '10 minutes'"
            raise InputError(name, expected, repr(interval))
        interval = float(words[1]) * UNITS[words[2]]
    check_number(name, interval, 0.0, 1e10)
    return round(float(interval) * SECOND)  # type: ignore[arg-type]


def label_rows(source: DataFrame, columns: ColumnNames, at: str | None) -> DataFrame:
    """Task, worker, label and time of every row, and whether it is bad or ahead of the clock.

    The clock is Spark's: a micro-batch that is replayed has the time that it had at first.
    """
    from pyspark.sql import functions as F

    names = find_columns(columns, source.columns, "source", "{}=")
    kinds, bad, found = dict(source.dtypes), F.lit(False), []
    for role, name in zip(ROLES, names, strict=True):
        column, kind = F.col(quoted(name)), kinds[name]
        if kind in FRACTIONS:
            given = ~(column.isNull() | F.isnan(column))
            whole = (column == F.floor(column)) & (F.abs(column) <= F.lit(float(FLOAT_MAX)))
            bad = bad | (given & ~whole)
            column = F.when(given & whole, column.try_cast("bigint"))
        else:
            column = clean_column(column, name, kind, role)
        found.append(column.alias(role))
    when, ahead = F.lit(NO_TIME).cast("bigint"), F.lit(False)
    if at is not None:
        if at not in source.columns:
            raise InputError("at", "a column of the source", repr(at))
        when = _micros(F.col(quoted(at)), at, kinds[at])
        if kinds[at] in TIMES:
            ahead = when > F.unix_micros(F.current_timestamp()) + AHEAD
    return source.select(*found, when.alias("at"), bad.alias("bad"), ahead.alias("ahead"))


def _micros(column: Column, name: str, kind: str) -> Column:
    """A time as microseconds; numbers are seconds. Null where it is none."""
    from pyspark.sql import functions as F

    if kind in TIMES:
        return F.unix_micros(column.cast("timestamp"))
    if kind in WHOLE:
        return F.try_multiply(column.cast("bigint"), F.lit(SECOND).cast("bigint"))
    if kind in FRACTIONS:
        return (column * F.lit(float(SECOND))).try_cast("bigint")
    raise InputError(f"column {name!r}", "times or seconds", f"a column of {kind}")


def find_faults(rows: DataFrame, watermark: int | None) -> DataFrame:
    """The rows with a column ``fault``: what each is instead of a label, if it is none.

    ``watermark``: the time before which labels are late.
    """
    from pyspark.sql import functions as F

    late = F.lit(False) if watermark is None else F.col("at") < F.lit(watermark)
    holds = F.col("bad"), *(F.col(name).isNull() for name in (*ROLES, "at")), F.col("ahead"), late
    fault = F.lit(None).cast("string")
    for name, column in reversed(list(zip(FAULTS, holds, strict=True))):
        fault = F.when(column, F.lit(name)).otherwise(fault)
    return rows.select(*ROLES, "at", fault.alias("fault"))
