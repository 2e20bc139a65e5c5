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
from crowdstream.labels.columns import ALIASES, pick_columns, simple_name
from crowdstream.labels.gold import COLUMNS as GOLD_COLUMNS
from crowdstream.labels.meaning.repeats import refuse_replaced
from crowdstream.labels.spelling import normalise
from crowdstream.spark.blocks import (
    ARRAYS,
    COUNTS,
    LOOKED_AT,
    NAMES,
    PIECES,
    TYPES,
    Found,
    MakeBlocks,
    Names,
    Recode,
    look_around,
    make_pieces,
)
from crowdstream.spark.columns import clean_column, label_column, quoted, recode, trimmed
from crowdstream.spark.meaning import SparkQuestion, written_number
from crowdstream.spark.session import use_this_python
from crowdstream.spark.task_table import SparkTasks
from crowdstream.spark.tree_sum import tree_sum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 4_000_000
"""Rows that a partition is meant to have: a second of work, and some 200 MB while it is coded."""

SMALL = 1_000_000
"""Known truths up to which every executor gets them all; more are matched by a shuffle."""

FIRST = ", ".join(
    [f"{name} binary" for name in (*NAMES, *ARRAYS)]
    + [f"{name} bigint" for name in COUNTS]
    + ["flips binary"]
)
CODED = ", ".join(f"{name} binary" for name in ("tasks", *ARRAYS))


@dataclass(frozen=True)
class CodedTasks:
    """Blocks in codes that all share, kept on the cluster, and what was found on the way."""

    table: SparkTasks
    kinds: dict[str, str]
    intake: Intake
    flips: pl.DataFrame | None = None

    def free(self) -> None:
        """Give their memory back."""
        self.table.free()


def code_tasks(
    labels: SparkQuestion,
    workers: Vocabulary,
    classes: Vocabulary,
    *,
    gold: Truths | DataFrame | None = None,
    partitions: int | None = None,
) -> CodedTasks:
    """Code labels, adding new workers and classes to the vocabularies in order of their names.

    Parameters
    ----------
    labels
        The labels of one question. Of several labels of a worker on a task the latest stands; of
        equals, and without times, that which comes last in the order of labels.
    workers, classes
        The vocabularies.
    gold
        True classes of some tasks: whatever `read_truths` takes, or a DataFrame.
    partitions
        How many parts the tasks are in.
    """
    from pyspark.sql import functions as F

    table = labels.table
    session = table.sparkSession
    use_this_python(session)
    kinds = dict(table.dtypes)
    if partitions is None:
        partitions = partitions_for(session, labels.rows)
    known = find_truths(gold, labels)
    table = _with_truths(table, known, kinds["label"])
    table = table.withColumn("part", F.pmod(F.hash("task"), F.lit(partitions)))
    pieces = table.mapInArrow(make_pieces, PIECES).repartitionById(partitions, "part")
    own = pieces.drop("part").mapInArrow(MakeBlocks(labels.policy), FIRST).persist()
    try:
        found = tree_sum(own.select(*LOOKED_AT), partitions, look_around, Found.join) or Found()
        if known is not None and found.tasks and not found.gold:
            raise InputError("gold", "tasks of the table", "none in common")
        intake = Intake(found.counts[0], found.labels, found.tasks, 0, *found.counts[1:])
        refuse_replaced(intake.replaced, intake.given, labels.origin)
        codes = _added(found.workers, workers), _added(found.classes, classes)
    except BaseException:
        own.unpersist()
        raise
    blocks = own.mapInArrow(Recode(*codes), CODED).persist()
    return CodedTasks(SparkTasks(blocks, partitions, source=own), kinds, intake, found.flips)


def partitions_for(session: SparkSession, rows: int) -> int:
    """Parts for a table: as many as its rows ask for, the same number for every core."""
    try:
        cores = int(session.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context
        cores = int(session.conf.get("spark.sql.shuffle.partitions") or 200)
    return cores * max(-(-rows // (ROWS * cores)), 1)


def _added(names: pl.Series, vocabulary: Vocabulary) -> Names:
    """Names with their codes in a vocabulary, to which new ones are added in order."""
    return Names(names, np.array([vocabulary.add(name) for name in names], np.int32))


# Gold -------------------------------------------------------------------------------------------


def find_truths(gold: object, labels: SparkQuestion) -> DataFrame | None:
    """Known truths as a DataFrame of task and truth, in the types of the table's columns.

    A class is named as workers name it; where files were cleaned, one that none has named is left
    out. None where there are none of this question.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    if gold is None:
        return None
    kinds = dict(labels.table.dtypes)
    if isinstance(gold, DataFrame):
        found = _of_question(gold, labels)
        if labels.clean or labels.question.kind.recode is not None:
            found = _classes_of(found, labels, kinds["label"])
        found = found.select(
            F.col("task").cast(kinds["task"]).alias("task"),
            F.col("truth").cast(kinds["label"]).alias("truth"),
        )
        found = found.where("task is not null and truth is not null").distinct()
        twice = found.groupBy("task").count().where("count > 1").first()
        if twice is not None:
            raise InputError("gold", "one true label per task", f"several of {twice[0]!r}")
        return None if labels.name and found.isEmpty() else found
    import pyarrow as pa

    known = read_truths(gold, question=labels.name)  # type: ignore[arg-type]
    if not known:
        return None
    tasks = [_as(task, kinds["task"], "task") for task in known]
    classes = [labels.true_class(label) for label in known.values()]
    shown = [None if one is None else _as(one, kinds["label"], "label") for one in classes]
    table = pa.table(
        {
            "task": pa.array(tasks, TYPES[kinds["task"]]),
            "truth": pa.array(shown, TYPES[kinds["label"]]),
        }
    )
    found = labels.table.sparkSession.createDataFrame(table)
    return F.broadcast(found) if len(known) <= SMALL else found


def _of_question(gold: DataFrame, labels: SparkQuestion) -> DataFrame:
    """Task and truth of the rows of one question; all of them where there is one only."""
    from pyspark.sql import functions as F

    task, label = pick_columns(GOLD_COLUMNS, gold.columns, "gold")
    rest = {simple_name(name): name for name in gold.columns if name not in (task, label)}
    asked = next((rest[name] for name in ALIASES["question"] if name in rest), None)
    wanted = labels.name or labels.picked
    if asked is None and labels.name:
        expected = f"a column question, since labels have several, {labels.name!r} among them"
        raise InputError("gold", expected, ", ".join(gold.columns))
    if asked is not None and wanted:
        text = F.coalesce(F.col(quoted(asked)).cast("string"), F.lit(""))
        named = [row[0] for row in gold.select(text).distinct().collect()]
        mine = [name for name in named if normalise(name) == normalise(wanted)]
        gold = gold.where(text.isin(mine))
    kinds = dict(gold.dtypes)
    name = clean_column(F.col(quoted(task)), task, kinds[task], "task")
    truth = label_column(F.col(quoted(label)), label, kinds[label])
    found = gold.select(name.alias("task"), truth.alias("truth"))
    if labels.clean and dict(found.dtypes)["task"] == "string":
        found = found.withColumn("task", trimmed(F.col("task")))
    return found


def _classes_of(truths: DataFrame, labels: SparkQuestion, kind: str) -> DataFrame:
    """The same with the classes that true labels count as."""
    given = [row[0] for row in truths.select("truth").distinct().collect() if row[0] is not None]
    names = {
        label: labels.true_class(written_number(label) if type(label) is float else label)
        for label in given
    }
    return recode(truths, "truth", names, kind)


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
