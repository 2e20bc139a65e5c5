"""Columns of a streaming DataFrame → rows that are labels, and what is wrong with the others.

A stream goes on: a row that is no label is counted, and stops nothing. Knows nothing of tasks.
"""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.column_hints import shown_name
from crowdstream.labels.columns import ROLES, ColumnNames, Roles, find_columns, find_roles
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

FAULTS = "other", "bad", "null_task", "null_worker", "null_label", "null_at", "ahead", "late"
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


def stream_roles(source: DataFrame, columns: ColumnNames) -> Roles:
    """The columns of a source by what they hold; one of several questions or repeats is refused."""
    find_columns(columns, source.columns, "source", "{}=")  # one of each, or refused
    roles = find_roles(columns, source.columns, "source", "{}=")
    if roles.question is None and columns.question is not None:
        expected = f"a column of questions, {columns.question!r} among them"
        raise InputError("source", expected, "one question, without a name")
    if roles.question is not None and columns.question is None:
        name = shown_name(roles.question)
        raise InputError(
            "source",
            f"one question (question=NAME takes one of several and leaves the others; "
            f"question={name!r} takes the only one there is)",
            f"a column {name!r}, which names questions",
        )
    if roles.repeat is not None:
        raise InputError(
            "source",
            "one label per worker and task (spark.fit_questions counts repeated answers once)",
            f"a column {shown_name(roles.repeat)!r}, which tells repeated answers apart",
        )
    return roles


def label_rows(source: DataFrame, columns: ColumnNames, at: str | None) -> DataFrame:
    """Task, worker, label, question and time of every row, and whether it is bad or ahead of time.

    The clock is Spark's: a micro-batch that is replayed has the time that it had at first. The
    question is empty where rows name none.
    """
    from pyspark.sql import functions as F

    roles = stream_roles(source, columns)
    names = roles.task, str(roles.worker), roles.labels[0]
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
    asked = F.lit("")
    if roles.question is not None:
        asked = F.btrim(F.coalesce(F.col(quoted(roles.question)).cast("string"), asked))
    return source.select(
        *found,
        when.alias("at"),
        bad.alias("bad"),
        ahead.alias("ahead"),
        asked.alias("question"),
    )


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


def find_faults(rows: DataFrame, watermark: int | None, questions: list[str]) -> DataFrame:
    """The rows with a column ``fault``: what each is instead of a label, if it is none.

    ``watermark``: the time before which labels are late. ``questions``: the spellings of the
    question whose labels these are; rows of others are none.
    """
    from pyspark.sql import functions as F

    other = ~F.col("question").isin(questions) if questions else F.lit(False)
    late = F.lit(False) if watermark is None else F.col("at") < F.lit(watermark)
    holds = (
        other,
        F.col("bad"),
        *(F.col(name).isNull() for name in (*ROLES, "at")),
        F.col("ahead"),
        late,
    )
    fault = F.lit(None).cast("string")
    for name, column in reversed(list(zip(FAULTS, holds, strict=True))):
        fault = F.when(column, F.lit(name)).otherwise(fault)
    return rows.select(*ROLES, "at", fault.alias("fault"))
