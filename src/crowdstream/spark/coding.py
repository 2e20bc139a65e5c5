"""A DataFrame of labels → blocks of coded tasks. Tasks stay on the cluster; workers are collected.

Every label moves once, to the others of its task. Workers and classes are numbered in the order of
their names: a cluster's table has no order of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.errors import InputError
from crowdstream.labels import Intake, Truths, Vocabulary, read_truths
from crowdstream.labels.columns import ROLES, ColumnNames, find_columns, pick_columns
from crowdstream.labels.gold import COLUMNS as GOLD_COLUMNS
from crowdstream.labels.label import FLOAT_MAX
from crowdstream.spark.blocks import (
    ARRAYS,
    COUNTS,
    LOOKED_AT,
    NAMES,
    TYPES,
    Found,
    MakeBlocks,
    Names,
    Recode,
    look_around,
)
from crowdstream.spark.session import use_this_python
from crowdstream.spark.task_table import SparkTasks
from crowdstream.spark.tree_sum import tree_sum

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ROWS = 4_000_000
"""Rows that a partition is meant to have: a second of work, and some 200 MB while it is coded."""

SMALL = 1_000_000
"""Known truths up to which every executor gets them all; more are matched by a shuffle."""

WHOLE = ("tinyint", "smallint", "int", "bigint")
FRACTIONS = ("float", "double")

FIRST = ", ".join(
    [f"{name} binary" for name in (*NAMES, *ARRAYS)] + [f"{name} bigint" for name in COUNTS]
)
CODED = ", ".join(f"{name} binary" for name in ("tasks", *ARRAYS))


@dataclass(frozen=True)
class CodedTasks:
    """Blocks in codes that all share, kept on the cluster, and what was found on the way."""

    table: SparkTasks
    kinds: dict[str, str]
    intake: Intake

    def free(self) -> None:
        """Give their memory back."""
        self.table.blocks.unpersist()


def code_tasks(
    df: DataFrame,
    workers: Vocabulary,
    classes: Vocabulary,
    columns: ColumnNames,
    *,
    gold: Truths | DataFrame | None = None,
    at: str | None = None,
    partitions: int | None = None,
) -> CodedTasks:
    """Code a DataFrame, adding new workers and classes to the vocabularies in order of their names.

    Parameters
    ----------
    df
        One row per label.
    workers, classes
        The vocabularies.
    columns
        Its columns, where they are not called by one of their aliases.
    gold
        True classes of some tasks: whatever `read_truths` takes, or a DataFrame.
    at
        The column by which a worker's later label on a task replaces the earlier; of equals, and
        without one, that which comes last in the order of labels stands.
    partitions
        How many parts the tasks are in.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    use_this_python(df.sparkSession)
    table = clean_columns(df, columns, at)
    kinds = dict(table.dtypes)
    if partitions is None:
        partitions = partitions_for(df)
    seen = Observation()
    table = table.observe(seen, F.count("*").alias("rows"), F.count("task").alias("with_task"))
    known = _truths(gold, kinds, df.sparkSession)
    table = _with_truths(table.where("task is not null"), known, kinds["label"])
    own = table.repartition(partitions, "task").mapInArrow(MakeBlocks(), FIRST).persist()
    try:
        found = tree_sum(own.select(*LOOKED_AT), partitions, look_around, Found.join) or Found()
        if gold is not None and found.tasks and not found.gold:
            raise InputError("gold", "tasks of the table", "none in common")
        recode = Recode(_added(found.workers, workers), _added(found.classes, classes))
        blocks = own.mapInArrow(recode, CODED).persist()
        blocks.count()
    finally:
        own.unpersist()
    rows, with_task = (int(seen.get[name]) for name in ("rows", "with_task"))
    intake = Intake(rows, found.labels, found.tasks, rows - with_task, *found.counts[1:])
    return CodedTasks(SparkTasks(blocks, partitions), kinds, intake)


def partitions_for(df: DataFrame) -> int:
    """Parts for a table: as many as its rows ask for, the same number for every core."""
    session = df.sparkSession
    try:
        cores = int(session.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        cores = int(session.conf.get("spark.sql.shuffle.partitions") or 200)
    return cores * max(-(-df.count() // (ROWS * cores)), 1)


def _added(names: pl.Series, vocabulary: Vocabulary) -> Names:
    """Names with their codes in a vocabulary, to which new ones are added in order."""
    return Names(names, np.array([vocabulary.add(name) for name in names], np.int32))


# Columns ----------------------------------------------------------------------------------------


def clean_columns(df: DataFrame, columns: ColumnNames, at: str | None) -> DataFrame:
    """Task, worker and label in types that ids may have, and the time if there is one."""
    from pyspark.sql import functions as F

    names = find_columns(columns, df.columns, "table", "{}=")
    kinds = dict(df.dtypes)
    found = [
        _clean(F.col(_quoted(name)), name, kinds[name], role).alias(role)
        for role, name in zip(ROLES, names, strict=True)
    ]
    if at is not None:
        if at not in df.columns:
            raise InputError("at", "a column of the table", repr(at))
        found.append(_time(F.col(_quoted(at)), at, kinds[at]).alias("at"))
    return df.select(*found)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _clean(column: Column, name: str, kind: str, role: str) -> Column:
    """A column of strings, integers or booleans; fractions that are whole numbers as such."""
    from pyspark.sql import functions as F

    if kind in ("string", "void") or kind.startswith(("varchar", "char")):
        return column.cast("string")
    if kind == "boolean" and role == "label":
        return column
    if kind in WHOLE:
        return column.cast("bigint")
    if kind in FRACTIONS:
        whole = (column == F.floor(column)) & (F.abs(column) <= F.lit(float(FLOAT_MAX)))
        told = F.concat(
            F.lit(f"column {name!r}: expected whole numbers, found "), column.cast("string")
        )
        checked = F.when(whole, column.cast("bigint")).otherwise(F.raise_error(told))
        return F.when(column.isNull() | F.isnan(column), F.lit(None)).otherwise(checked)
    expected = "str, int or bool" if role == "label" else "str or int"
    raise InputError(f"column {name!r}", expected, f"a column of {kind}")


def _time(column: Column, name: str, kind: str) -> Column:
    """When a label was given, as a whole number that grows."""
    from pyspark.sql import functions as F

    if kind in WHOLE:
        return F.coalesce(column.cast("bigint"), F.lit(-(2**63)))
    if kind in ("timestamp", "timestamp_ntz", "date"):
        micros = F.unix_micros(column.cast("timestamp"))
        return F.coalesce(micros, F.lit(-(2**63)))
    if kind in FRACTIONS:
        return F.coalesce((column * 1_000_000).cast("bigint"), F.lit(-(2**63)))
    raise InputError(f"column {name!r}", "times or numbers", f"a column of {kind}")


# Gold -------------------------------------------------------------------------------------------


def _truths(gold: object, kinds: dict[str, str], session: SparkSession) -> DataFrame | None:
    """Known truths as a DataFrame of task and truth, in the types of the table's columns."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    if gold is None:
        return None
    if isinstance(gold, DataFrame):
        task, label = pick_columns(GOLD_COLUMNS, gold.columns, "gold")
        types = dict(gold.dtypes)
        found = gold.select(
            _clean(F.col(_quoted(task)), task, types[task], "task").alias("task"),
            _clean(F.col(_quoted(label)), label, types[label], "label").alias("truth"),
        )
        found = found.where("task is not null and truth is not null").distinct()
        found = found.select(
            F.col("task").cast(kinds["task"]).alias("task"),
            F.col("truth").cast(kinds["label"]).alias("truth"),
        )
        twice = found.groupBy("task").count().where("count > 1").first()
        if twice is not None:
            raise InputError("gold", "one true label per task", f"several of {twice[0]!r}")
        return found
    import pyarrow as pa

    known = read_truths(gold)  # type: ignore[arg-type]
    tasks = [_as(task, kinds["task"], "task") for task in known]
    labels = [_as(label, kinds["label"], "label") for label in known.values()]
    table = pa.table(
        {
            "task": pa.array(tasks, TYPES[kinds["task"]]),
            "truth": pa.array(labels, TYPES[kinds["label"]]),
        }
    )
    found = session.createDataFrame(table)
    return F.broadcast(found) if len(known) <= SMALL else found


def _as(value: object, kind: str, role: str) -> object:
    """A task or class of gold in the type of the table's column: 1 and "1" are the same."""
    if kind == "string" and type(value) is int:
        return str(value)
    if kind == "bigint" and isinstance(value, str) and value.lstrip("-").isdecimal():
        return int(value)
    expected = {"string": str, "bigint": int, "boolean": bool}[kind]
    if type(value) is not expected:
        if role == "task":
            return None  # no task of the table
        raise InputError("gold", f"labels of the table's type, {expected.__name__}", repr(value))
    return value


def _with_truths(table: DataFrame, known: DataFrame | None, kind: str) -> DataFrame:
    from pyspark.sql import functions as F

    if known is None:
        return table.withColumn("truth", F.lit(None).cast(kind))
    return table.join(known, "task", "left")
