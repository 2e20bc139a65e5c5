"""One micro-batch of a stream: from its rows to a commit. Every part of it may be done again.

Labels are decided by what was known before the micro-batch; then it is learnt. Nothing is kept in
memory between two of them: all is read from the last commit, so that a restart cannot differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa

from crowdstream.decisions.reason import Reason
from crowdstream.errors import InputError, StateError
from crowdstream.estimators import Estimator
from crowdstream.labels import Intake, Vocabulary
from crowdstream.labels.batch import joined
from crowdstream.labels.column_hints import shown_name
from crowdstream.labels.columns import ROLES
from crowdstream.labels.meaning.kinds import LabelHints, find_kind
from crowdstream.labels.meaning.options import HOW
from crowdstream.labels.spelling import normalise
from crowdstream.models.passes import AddTasks, InMemory
from crowdstream.serialization import pack_arrays, unpack_arrays
from crowdstream.spark.blocks import TYPES, Names
from crowdstream.spark.session import quietly, use_this_python
from crowdstream.spark.stream_blocks import (
    CLOSED,
    FIRST,
    JUDGED,
    ClosingRule,
    Closings,
    CountClosings,
    JudgeBlocks,
    JudgedTasks,
    MakeBlocks,
    Seen,
    Unpack,
    look_around,
    sql,
)
from crowdstream.spark.stream_columns import FAULTS, NO_TIME, find_faults
from crowdstream.spark.stream_folder import Commit, StreamFolder, sync
from crowdstream.spark.tree_sum import tree_sum
from crowdstream.sums.agreement import AgreementSums

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Output = Callable[["DataFrame", int], None]
"""What is given the decisions of a micro-batch, and its id."""

ROWS = 1_000_000
"""Rows that a partition is meant to have: their text is in memory at once, some 200 MB."""

MOST_QUESTIONS = 10_000
"""Different questions of a micro-batch that are looked at; nobody asks so many."""

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


class Asked(NamedTuple):
    """What the user says of the labels of a stream.

    ``question``: the one that is taken, of several. ``named``: whether rows name their question;
    then the first that comes is held, if none was chosen. ``as_classes``: labels are classes,
    whatever they look like.
    """

    question: str = ""
    named: bool = False
    as_classes: bool = False


CLASSES = Asked()
"""Rows name no question, and labels are what they look like."""


@dataclass(frozen=True)
class MicroBatches:
    """What is done with every micro-batch of a stream."""

    folder: StreamFolder
    rules: StreamRules
    output: Output | None = None
    partitions: int | None = None
    asked: Asked = CLASSES

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


class Judged(NamedTuple):
    """The tasks of a micro-batch once they are decided."""

    tasks: JudgedTasks
    closings: Closings
    open_sums: AgreementSums

    @property
    def closed(self) -> int:
        """How many have closed."""
        return int(self.closings.tasks[Reason.OPEN + 1 :].sum())


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
        self.newest, self.question = commit.newest, commit.question
        self.crowd = Estimator.load(commit.crowd)
        self.held: list[DataFrame] = []

    def take(self, rows: DataFrame | None) -> None:
        """Decide, write, learn, commit; in this order, so that what was not committed is redone."""
        use_this_python(self.session)
        try:
            came = None if rows is None else self._look_at(rows)
            blocks, partitions = self._arrange(came)
            judged = self._judge(blocks, partitions)
            self._write_decisions(judged)
            tables = self._write_left(judged)
            self._learn(judged)
            self._commit(judged, *tables)
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

        questions = self._questions(rows) if self.stream.asked.named else []
        rows = self._hold(find_faults(rows, self.rules.watermark(self.newest), questions))
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

    def _questions(self, rows: DataFrame) -> list[str]:
        """The spellings of the question that is taken; a second one is refused, not dropped."""
        found = rows.select("question").distinct().limit(MOST_QUESTIONS + 1).collect()
        there = sorted(row[0] for row in found)
        if len(there) > MOST_QUESTIONS:
            told = f"more than {MOST_QUESTIONS:,}, such as {there[-1]!r}"
            raise InputError(f"micro-batch {self.batch}", "a column of questions", told)
        wanted = self.stream.asked.question
        if wanted:
            self.question = wanted
            # Nothing is in no question: a list that is empty would take all rows.
            return [name for name in there if normalise(name) == normalise(wanted)] or [wanted]
        held = [self.question] if self.question else []
        held += [name for name in there if name and name not in held]
        if len(held) > 1 or "" in there:
            named = [repr(shown_name(name)) for name in held] + ["none"] * ("" in there)
            raise InputError(
                f"micro-batch {self.batch}",
                "labels of one question (question=NAME takes one of them, in a folder of its own)",
                ", ".join(named),
            )
        self.question = held[0] if held else ""
        return held

    def _arrange(self, came: DataFrame | None) -> tuple[DataFrame, int]:
        """The labels of all tasks that are open or new, in blocks, and in how many partitions."""
        from pyspark.sql import DataFrame

        parts = [] if came is None else [came]
        if self.before.left:
            parts.append(self._read(self.before.left))
        closed = self._closed_names()
        if closed is not None and came is not None:
            parts.append(closed)
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

    def _read(self, *tables: str) -> DataFrame:
        paths = [str(self.folder.path / table) for table in tables]
        return self.session.read.schema(_told(self.before.kinds)).parquet(*paths)

    def _closed_names(self) -> DataFrame | None:
        """The names of closed tasks that are not forgotten, and when they were closed."""
        if not self.before.closed:
            return None
        names = self._read(*self.before.closed)
        watermark = self.rules.watermark(self.before.newest)
        return names if watermark is None else names.where(names["at"] >= watermark)

    # Decisions -------------------------------------------------------------------------------

    def _judge(self, blocks: DataFrame, partitions: int) -> Judged:
        """Decide all tasks by the crowd as it was; new workers and classes become known to it."""
        look = blocks.select("worker_names", "class_names", "late", "repeated", "replaced")
        seen = tree_sum(look, partitions, look_around, Seen.join) or Seen()
        self._refuse_kind(seen)
        for name, number in zip(("late", "repeated", "replaced"), seen.counts, strict=True):
            setattr(self.counts, name, getattr(self.counts, name) + number)
            self.counts.labels -= number
        workers = _named(seen.workers, self.crowd._workers)
        classes = _named(seen.classes, self.crowd._classes)
        rule, now = self.rules.closing_at(self.newest), self.newest or NO_TIME
        work = JudgeBlocks(self.before.crowd, workers, classes, rule, self.step, now)
        judged = self._hold(blocks.mapInArrow(work, sql(JUDGED)))
        self.crowd._make_room()
        homes = self.crowd._places.homes(len(self.crowd._classes))
        adding = AddTasks(self.crowd._model.sums)
        count = CountClosings(adding, homes)
        look = judged.select("why", "starts", "workers", "labels")
        closings, open_sums = tree_sum(look, partitions, count, count.join) or count([])
        for reason in (Reason.SETTLED, Reason.FULL, Reason.IDLE, Reason.END):
            name = str(reason.word)
            setattr(self.counts, name, getattr(self.counts, name) + int(closings.tasks[reason]))
        self.counts.open = int(closings.tasks[Reason.OPEN])
        return Judged(JudgedTasks(judged, partitions, homes), closings, open_sums)

    def _refuse_kind(self, seen: Seen) -> None:
        """Refuse labels that are no classes: scores, sets, free text."""
        new = [label for label in seen.classes if label not in self.crowd._classes]
        if not new:
            return
        classes = [*self.crowd.classes_, *new]
        hints = LabelHints(as_classes=self.stream.asked.as_classes)
        find_kind(classes, self.counts.labels, hints, f"micro-batch {self.batch}", HOW)

    def _write_decisions(self, judged: Judged) -> None:
        """Hand over the decisions on tasks that have closed; a replay hands over the same."""
        if not judged.closed:
            return
        kinds = {
            "task": self.before.kinds["task"], "label": self.before.kinds["label"],
            "confidence": "double", "margin": "double", "votes": "bigint", "settled": "boolean",
            "identifiable": "boolean", "closed": "string",
        }  # fmt: skip
        decisions = _unpacked(judged.tasks.blocks, "decided", kinds)
        if self.stream.output is not None:
            self.stream.output(decisions, self.batch)
            return
        end = "-end" if self.rules.closing.end else ""
        self._write(decisions, f"decisions/batch={self.batch}{end}")

    def _write_left(self, judged: Judged) -> tuple[str, list[str], int]:
        """Write the labels of tasks that stay open, and the names of those that have closed.

        The table of the first and the tables of the others are returned, and how many these are.
        """
        left = _unpacked(judged.tasks.blocks, "left", self.before.kinds)
        tables, number = self.before.closed, self.before.closed_names + judged.closed
        old = self._closed_names() if len(tables) >= TABLES else None
        if old is not None:
            left, tables = left.unionByName(old), []
        if not self.counts.open and not judged.closed and old is None:
            return "", tables, number
        name = f"tables/step={self.step}"
        left = left.withColumn("closed", left["step"] == CLOSED)
        self._write(left, name, "closed")
        found = [table for table in (f"{name}/closed=true",) if (self.folder.path / table).exists()]
        if old is not None:
            number = self._read(*found).count() if found else 0
        return f"{name}/closed=false" if self.counts.open else "", [*tables, *found], number

    def _write(self, frame: DataFrame, table: str, *apart: str) -> None:
        """Write a table in place of what a failed attempt may have left."""
        path = self.folder.path / table
        writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "static")
        writer.partitionBy(*apart).parquet(str(path))
        sync(path)

    # Learning --------------------------------------------------------------------------------

    def _learn(self, judged: Judged) -> None:
        """Agreement of open tasks takes the place of what it was; closed tasks are learnt."""
        crowd, model = self.crowd, self.crowd._model
        tasks, labels = model.sums.total[[0, 2]].tolist()
        model.replace_open(self._open_before(), judged.open_sums)
        if judged.closed:
            model.learn_table(judged.tasks)
            crowd._notify_more(judged.tasks, judged.closed, in_order=True)
        else:
            model.learn_table(InMemory(joined([])))
        more, said = (model.sums.total[[0, 2]] - [tasks, labels]).astype(int).tolist()
        crowd.intake_.count(self._intake(more, said))

    def _open_before(self) -> AgreementSums:
        """What the tasks that were open had added to the sums, in today's codes and places."""
        sums, now = AgreementSums(self.crowd._n_families), self.crowd._model.sums
        if self.before.open_sums:
            arrays = unpack_arrays(self.before.open_sums)
            sums = AgreementSums(len(arrays["relatives"]))  # families may have been found since
            sums.unpack(arrays, *self.before.open_size)
        homes = self.crowd._places.homes(sums.classes)
        if homes is not None and sums.classes != now.classes:
            sums.fold(homes, now.classes)
        sums.make_room(now.workers, now.classes)
        return sums

    def _intake(self, tasks: int, labels: int) -> Intake:
        """What this micro-batch brought in, as estimators count it."""
        names = "null_task", "null_worker", "null_label", "repeated", "replaced"
        found = {
            name: getattr(self.counts, name) - getattr(self.before.counts, name) for name in names
        }
        return Intake(rows=labels + sum(found.values()), labels=labels, tasks=tasks, **found)

    def _commit(self, judged: Judged, left: str, closed: list[str], closed_names: int) -> None:
        sums = judged.open_sums
        self.folder.commit(
            Commit(
                step=self.step,
                batch=self.batch,
                crowd=self.crowd.to_bytes(),
                kinds=self.before.kinds,
                timed=self.before.timed,
                counts=self.counts,
                open_sums=pack_arrays(sums.pack()),
                open_labels=int(judged.closings.labels[Reason.OPEN]),
                open_size=(sums.workers, sums.classes),
                newest=self.newest,
                left=left,
                closed=closed,
                closed_names=closed_names,
                before=[name for name in (self.before.left, *self.before.closed) if name],
                question=self.question,
            )
        )


def _told(kinds: dict[str, str]) -> str:
    """Columns as Spark writes them."""
    return ", ".join(f"{name} {kind}" for name, kind in kinds.items())


def _unpacked(blocks: DataFrame, column: str, kinds: dict[str, str]) -> DataFrame:
    """The rows of a table that judged blocks carry."""
    schema = pa.schema([(name, TYPES[kind]) for name, kind in kinds.items()])
    return blocks.select(column).mapInArrow(Unpack(column, schema), _told(kinds))


def _named(names: pl.Series, vocabulary: Vocabulary) -> Names:
    """Names with their codes in a vocabulary, to which new ones are added in order."""
    return Names(names, np.array([vocabulary.add(name) for name in names], np.int32))
