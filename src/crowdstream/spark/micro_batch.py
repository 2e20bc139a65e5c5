"""One micro-batch of a stream: from its rows to a commit. Every part of it may be done again.

Labels are decided by what was known before the micro-batch; then it is learnt. Nothing is kept in
memory between two of them: all is read from the last commit, so that a restart cannot differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from crowdstream.errors import StateError
from crowdstream.estimators import Estimator
from crowdstream.estimators.passes import AddTasks, InMemory
from crowdstream.labels import Intake, Vocabulary
from crowdstream.labels.batch import joined
from crowdstream.labels.tables import ROLES
from crowdstream.serialization import pack_arrays, unpack_arrays
from crowdstream.spark.blocks import Names
from crowdstream.spark.session import quietly, use_this_python
from crowdstream.spark.stream_blocks import (
    CLOSED,
    FIRST,
    JUDGED,
    OPEN,
    REASONS,
    ClosingRule,
    Closings,
    JudgeBlocks,
    JudgedTasks,
    MakeBlocks,
    Seen,
    Unpack,
    count_closings,
    look_around,
    sql,
)
from crowdstream.spark.stream_columns import FAULTS, find_faults
from crowdstream.spark.stream_folder import Commit, StreamFolder, sync
from crowdstream.spark.tree_sum import tree_sum
from crowdstream.sums.agreement import AgreementSums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Output = Callable[["DataFrame", int], None]
"""What is given the decisions of a micro-batch, and its id."""

TYPES = {"string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}

ROWS = 1_000_000
"""Rows that a partition is meant to have: their text is in memory at once, some 200 MB."""

TABLES = 16
"""Tables of closed tasks' names that are read; then they are made one."""


@dataclass(frozen=True)
class StreamRules:
    """When tasks close, and how late labels may be: in microseconds."""

    closing: ClosingRule
    idle: int | None = None
    delay: int | None = None

    def watermark(self, newest: int | None) -> int | None:
        """The time before which labels are late."""
        return None if self.delay is None or newest is None else newest - self.delay

    def closing_at(self, newest: int | None) -> ClosingRule:
        """What closes a task once labels of this time have come."""
        watermark = self.watermark(newest)
        since = None if self.idle is None or watermark is None else watermark - self.idle
        return replace(self.closing, idle_since=since)


@dataclass(frozen=True)
class MicroBatches:
    """What is done with every micro-batch of a stream."""

    folder: StreamFolder
    rules: StreamRules
    output: Output | None = None
    partitions: int | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Take a micro-batch, unless it was taken before."""
        commit = self.folder.latest()
        if commit is None:
            raise StateError(f"{self.folder.path}: its commits are gone")
        if batch <= commit.batch:
            return
        if batch > commit.batch + 1:
            raise StateError(
                f"{self.folder.path}: Spark goes on with micro-batch {batch}, but the last commit "
                f"is of {commit.batch}: those between are lost, begin again in a new folder"
            )
        with quietly():
            MicroBatch(self, rows.sparkSession, commit, batch).take(rows)

    def end(self, session: SparkSession) -> None:
        """Close all tasks that are open."""
        commit = self.folder.latest()
        if commit is not None and commit.counts.open:
            ending = replace(self.rules, closing=replace(self.rules.closing, end=True))
            with quietly():
                MicroBatch(replace(self, rules=ending), session, commit, commit.batch).take(None)


class MicroBatch:
    """A micro-batch on its way from the commit before it to its own.

    Parameters
    ----------
    stream
        The rules and the folder.
    session
        Spark's.
    commit
        The commit before.
    batch
        Spark's id.
    """

    def __init__(
        self, stream: MicroBatches, session: SparkSession, commit: Commit, batch: int
    ) -> None:
        self.stream, self.session, self.batch = stream, session, batch
        self.folder, self.rules = stream.folder, stream.rules
        self.before, self.step = commit, commit.step + 1
        self.counts = msgspec.structs.replace(commit.counts)
        self.newest = commit.newest
        self.crowd = Estimator.load(commit.crowd)
        self.held: list[DataFrame] = []

    def take(self, rows: DataFrame | None) -> None:
        """Decide, write, learn, commit; in this order, so that what was not committed is redone."""
        use_this_python(self.session)
        try:
            came = None if rows is None else self._look_at(rows)
            blocks, partitions = self._arrange(came)
            judged, closings = self._judge(blocks, partitions)
            self._write_decisions(judged, closings)
            left = self._write_left(judged, closings)
            closed = self._write_closed(judged, closings)
            open_sums = self._learn(judged, partitions, closings)
            self._commit(closings, open_sums, left, *closed)
        finally:
            for frame in self.held:
                frame.unpersist()

    def _hold(self, frame: DataFrame) -> DataFrame:
        """Keep a table on the cluster until the micro-batch is over."""
        self.held.append(frame.persist())
        return frame

    # In --------------------------------------------------------------------------------------

    def _look_at(self, rows: DataFrame) -> DataFrame:
        """The labels among the rows; the others are counted by what is wrong with them."""
        from pyspark.sql import functions as F

        rows = self._hold(find_faults(rows, self.rules.watermark(self.newest)))
        of = {name: F.count_if(F.col("fault") == name) for name in FAULTS}
        newest = F.max(F.when(F.col("fault").isNull(), F.col("at")))
        number, latest, *faults = rows.agg(F.count("*"), newest, *of.values()).collect()[0]
        self.counts.rows += number
        self.counts.labels += number - sum(faults)
        for name, found in zip(FAULTS, faults, strict=True):
            setattr(self.counts, name, getattr(self.counts, name) + found)
        if latest is not None and self.before.timed:
            self.newest = latest if self.newest is None else max(latest, self.newest)
        labels = rows.where("fault is null").withColumn("step", F.lit(self.step).cast("bigint"))
        return labels.select(*ROLES, "step", "at")

    def _arrange(self, came: DataFrame | None) -> tuple[DataFrame, int]:
        """The labels of all tasks that are open or new, in blocks, and in how many partitions."""
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F

        kinds, parts = self.before.kinds, [] if came is None else [came]
        if self.before.left:
            parts.append(self._read([self.before.left], kinds))
        closed = self._closed_names()
        if closed is not None and came is not None:
            nothing = [F.lit(None).cast(kinds[name]).alias(name) for name in ("worker", "label")]
            marks = F.lit(CLOSED).cast("bigint").alias("step"), F.lit(0).cast("bigint").alias("at")
            parts.append(closed.select("task", *nothing, *marks))
        rows = functools.reduce(DataFrame.unionByName, parts)
        partitions = self.stream.partitions or self._partitions()
        work = MakeBlocks(self.rules.closing.max_labels)
        blocks = rows.repartition(partitions, "task").mapInArrow(work, sql(FIRST))
        return self._hold(blocks), partitions

    def _partitions(self) -> int:
        """Parts as many as the rows ask for, the same number for every core."""
        new = self.counts.rows - self.before.counts.rows
        rows = new + self.before.open_labels + self.before.closed_names
        cores = int(self.session.sparkContext.defaultParallelism)
        return cores * max(-(-rows // (ROWS * cores)), 1)

    def _read(self, tables: list[str], kinds: dict[str, str]) -> DataFrame:
        schema = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        paths = [str(self.folder.path / table) for table in tables]
        return self.session.read.schema(schema).parquet(*paths)

    def _closed_names(self) -> DataFrame | None:
        """The names of closed tasks that are not forgotten, and when they were closed."""
        if not self.before.closed:
            return None
        kinds = {"task": self.before.kinds["task"], "at": "bigint"}
        names = self._read(self.before.closed, kinds)
        watermark = self.rules.watermark(self.before.newest)
        return names if watermark is None else names.where(names["at"] >= watermark)

    # Decisions -------------------------------------------------------------------------------

    def _judge(self, blocks: DataFrame, partitions: int) -> tuple[DataFrame, Closings]:
        """Decide all tasks by the crowd as it was; new workers and classes become known to it."""
        look = blocks.select("worker_names", "class_names", "late", "repeated", "replaced")
        seen = tree_sum(look, partitions, look_around, Seen.join) or Seen()
        for name, number in zip(("late", "repeated", "replaced"), seen.counts, strict=True):
            setattr(self.counts, name, getattr(self.counts, name) + number)
            self.counts.labels -= number
        workers = _named(seen.workers, self.crowd._workers)
        classes = _named(seen.classes, self.crowd._classes)
        rule = self.rules.closing_at(self.newest)
        work = JudgeBlocks(self.before.crowd, workers, classes, rule, self.step)
        judged = self._hold(blocks.mapInArrow(work, sql(JUDGED)))
        look = judged.select("why", "starts")
        closings = tree_sum(look, partitions, count_closings, Closings.join) or Closings()
        for reason, number in zip(REASONS[1:], closings.tasks[1:].tolist(), strict=True):
            setattr(self.counts, str(reason), getattr(self.counts, str(reason)) + number)
        self.counts.open = int(closings.tasks[OPEN])
        return judged, closings

    def _write_decisions(self, judged: DataFrame, closings: Closings) -> None:
        """Hand over the decisions on tasks that have closed; a replay hands over the same."""
        if not closings.tasks[1:].any():
            return
        kinds = {
            "task": self.before.kinds["task"], "label": self.before.kinds["label"],
            "confidence": "double", "margin": "double", "votes": "bigint", "settled": "boolean",
            "identifiable": "boolean", "closed": "string",
        }  # fmt: skip
        decisions = self._unpacked(judged, "decided", kinds)
        if self.stream.output is not None:
            self.stream.output(decisions, self.batch)
            return
        end = "-end" if self.rules.closing.end else ""
        self._write(decisions, f"decisions/batch={self.batch}{end}")

    def _write_left(self, judged: DataFrame, closings: Closings) -> str:
        """Write the labels of tasks that stay open; the name of their table."""
        if not closings.tasks[OPEN]:
            return ""
        left = self._unpacked(judged, "left", self.before.kinds)
        return self._write(left, f"open/step={self.step}")

    def _write_closed(self, judged: DataFrame, closings: Closings) -> tuple[list[str], int]:
        """Write the names of tasks that have closed, for as long as labels may be late."""
        from pyspark.sql import functions as F

        tables, number = self.before.closed, int(closings.tasks[1:].sum())
        if not number:
            return tables, self.before.closed_names
        kinds = {"task": self.before.kinds["task"]}
        at = F.lit(self.newest or 0).cast("bigint").alias("at")
        names = self._unpacked(judged, "decided", kinds).select("task", at)
        old = self._closed_names() if len(tables) >= TABLES else None
        if old is not None:
            names, tables = names.unionByName(old).coalesce(self._partitions()), []
        table = self._write(names, f"closed/step={self.step}")
        if old is not None:
            return [table], self._read([table], kinds).count()
        return [*tables, table], self.before.closed_names + number

    def _unpacked(self, judged: DataFrame, column: str, kinds: dict[str, str]) -> DataFrame:
        types = TYPES | {"double": pa.float64()}
        schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
        told = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        return judged.select(column).mapInArrow(Unpack(column, schema), told)

    def _write(self, frame: DataFrame, table: str) -> str:
        """Write a table in place of what a failed attempt may have left; its name."""
        path = self.folder.path / table
        frame.write.mode("overwrite").parquet(str(path))
        sync(path)
        return table

    # Learning --------------------------------------------------------------------------------

    def _learn(self, judged: DataFrame, partitions: int, closings: Closings) -> AgreementSums:
        """Learn the micro-batch; the sums of tasks that stay open are returned, too."""
        crowd = self.crowd
        crowd._make_room()
        folding = crowd._folding
        homes = None if folding is None else folding.homes(len(crowd._classes))
        tables = [JudgedTasks(judged, partitions, closed, homes) for closed in (False, True)]
        now: AgreementSums
        (now,) = tables[0].add_up([AddTasks(crowd._sums)])
        tasks, labels = crowd._sums.total[[0, 2]].tolist()
        crowd._replace_open(self._open_before(), now)
        number = int(closings.tasks[1:].sum())
        table = tables[1] if number else InMemory(joined([]))
        crowd._learn_table(table)
        if number:
            crowd._notify_more(table, number, in_order=True)
        more, said = (crowd._sums.total[[0, 2]] - [tasks, labels]).astype(int).tolist()
        crowd.intake_.count(self._intake(more, said))
        return now

    def _open_before(self) -> AgreementSums:
        """What the tasks that were open had added to the sums, in today's codes and places."""
        sums, now = AgreementSums(len(self.crowd._family_names())), self.crowd._sums
        if self.before.open_sums:
            sums.unpack(unpack_arrays(self.before.open_sums), *self.before.open_size)
        folding = self.crowd._folding
        if folding is not None and sums.classes != now.classes:
            sums.fold(folding.homes(sums.classes), now.classes)
        sums.make_room(now.workers, now.classes)
        return sums

    def _intake(self, tasks: int, labels: int) -> Intake:
        """What this micro-batch brought in, as estimators count it."""
        names = "null_task", "null_worker", "null_label", "repeated", "replaced"
        found = {
            name: getattr(self.counts, name) - getattr(self.before.counts, name) for name in names
        }
        return Intake(rows=labels + sum(found.values()), labels=labels, tasks=tasks, **found)

    def _commit(
        self,
        closings: Closings,
        open_sums: AgreementSums,
        left: str,
        closed: list[str],
        closed_names: int,
    ) -> None:
        self.folder.commit(
            Commit(
                step=self.step,
                batch=self.batch,
                crowd=self.crowd.to_bytes(),
                kinds=self.before.kinds,
                timed=self.before.timed,
                counts=self.counts,
                open_sums=pack_arrays(open_sums.pack()),
                open_labels=int(closings.labels[OPEN]),
                open_size=(open_sums.workers, open_sums.classes),
                newest=self.newest,
                left=left,
                closed=closed,
                closed_names=closed_names,
                before=[name for name in (self.before.left, *self.before.closed) if name],
            )
        )


def _named(names: pl.Series, vocabulary: Vocabulary) -> Names:
    """Names with their codes in a vocabulary, to which new ones are added in order."""
    return Names(names, np.array([vocabulary.add(name) for name in names], np.int32))
