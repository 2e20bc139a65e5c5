"""A micro-batch on executors: rows → blocks of open tasks → decisions, labels that stay, sums.

Every partition has all rows of its tasks: the labels that came, those that open tasks have, and the
names of tasks that have closed. Rows may come in any order; what is made of them does not depend
on it. Knows Arrow's batches and polars' columns, and nothing of sessions or files.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from crowdstream.decisions.decision import SettleRule, reasons
from crowdstream.decisions.reason import WORDS, Reason
from crowdstream.errors import InputError
from crowdstream.estimators import Estimator
from crowdstream.estimators.settling import predicted
from crowdstream.estimators.state import load_crowd
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.models.passes import AddTasks, Pass, TaskTable, go_through
from crowdstream.spark.blocks import Names, Row, pack_names, rows_of, split
from crowdstream.spark.task_table import JoinAll
from crowdstream.spark.tree_sum import tree_sum
from crowdstream.sums.agreement import AgreementSums

CLOSED = -1
"""The step of a row that names a task which has closed."""

LABELS = 1 << 20
"""Labels in a block; a task is never divided."""

ARRAYS = {
    "starts": np.int64, "workers": np.int32, "labels": np.int32, "steps": np.int64, "at": np.int64
}  # fmt: skip
"""The arrays of a block, as bytes: of each label also when it came and when it was given."""

COUNTS = "late", "repeated", "replaced"
"""Rows of a micro-batch that are no further labels."""

NAMES = "tasks", "worker_names", "class_names"

FIRST = pa.schema(
    [(name, pa.binary()) for name in (*NAMES, *ARRAYS)] + [(name, pa.int64()) for name in COUNTS]
)
JUDGED = pa.schema(
    [
        (name, pa.binary())
        for name in ("tasks", "starts", "workers", "labels", "why", "decided", "left")
    ]
)

Bools = NDArray[np.bool_]
Why = NDArray[np.uint8]


def sql(schema: pa.Schema) -> str:
    """A schema as Spark writes it."""
    kinds = {pa.binary(): "binary", pa.int64(): "bigint"}
    return ", ".join(f"{field.name} {kinds[field.type]}" for field in schema)


# Rows → blocks ----------------------------------------------------------------------------------


class Arranged(NamedTuple):
    """Labels that stand, by task and in the order they came; rows that are no further labels."""

    rows: pl.DataFrame
    late: int
    repeated: int
    replaced: int


def arrange(rows: pl.DataFrame, most: int | None) -> Arranged:
    """One label per worker and task: of several the one given last.

    Labels for closed tasks are late, and so are those beyond ``most`` of a task.

    >>> data = [("t1", "ann", "x", 1, 0), ("t1", "ann", "y", 2, 9), ("t2", "ann", "x", 2, 0)]
    >>> names = ["task", "worker", "label", "step", "at"]
    >>> data.append(("t2", None, None, CLOSED, 0))
    >>> found = arrange(pl.DataFrame(data, names, orient="row"), 3)
    >>> found.rows.rows(), found.late, found.replaced
    ([('t1', 'ann', 'y', 1, 9)], 1, 1)
    """
    closed = rows["step"] == CLOSED
    labels = rows.filter(~closed)
    kept = labels
    if closed.any():
        kept = labels.join(rows.filter(closed).select("task").unique(), on="task", how="anti")
    late = labels.height - kept.height
    kept = kept.sort("task", "worker", "at", "step", "label")
    if not kept.height:
        return Arranged(kept, late, 0, 0)
    first = _differs(kept["task"]) | _differs(kept["worker"])
    changes = first | _differs(kept["label"])
    starts = np.flatnonzero(first)
    stands = np.flatnonzero(changes)
    last = stands[np.searchsorted(stands, np.append(starts[1:], first.size)) - 1]
    steps = np.minimum.reduceat(kept["step"].to_numpy(), starts)
    counts = first.size - stands.size, stands.size - starts.size
    kept = kept[last].with_columns(step=steps).sort("task", "step", "at", "worker")
    if most is not None:
        place = pl.int_range(pl.len()).over("task")
        few = kept.filter(place < most)
        late, kept = late + kept.height - few.height, few
    return Arranged(kept, late, *counts)


def _differs(column: pl.Series) -> Bools:
    """Where a column's value is another than that of the row before."""
    found = (column != column.shift()).to_numpy().copy() if len(column) else np.empty(0, np.bool_)
    found = np.asarray(found, np.bool_)
    found[:1] = True
    return found


@dataclass(frozen=True)
class MakeBlocks:
    """Makes blocks, in codes of their own, of the rows of a partition."""

    most: int | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row per block."""
        table = pa.Table.from_batches([batch for batch in batches if batch.num_rows] or [EMPTY])
        if not table.num_rows:
            return
        rows, *counts = arrange(pl.DataFrame(table), self.most)
        del table
        starts = np.flatnonzero(_differs(rows["task"]))
        bounds = np.append(starts, rows.height)
        parts: Iterable[slice] = [slice(0, 0)]
        if rows.height:
            parts = [slice(*bounds[[a, b]].tolist()) for a, b in _parts(bounds)]
        for part in parts:
            yield _pack(rows[part], counts)
            counts = [0] * len(COUNTS)


EMPTY = pa.record_batch(
    {name: pa.array([], pa.int64()) for name in ("task", "worker", "label", "step", "at")}
)


def _parts(bounds: Ints) -> Iterator[tuple[int, int]]:
    """Tasks in parts of about `LABELS` labels."""
    nobody = np.zeros(int(bounds[-1]), np.int32)
    at = 0
    for part in split(LabelBatch(bounds, nobody, nobody), LABELS):
        yield at, at + len(part)
        at += len(part)


def _pack(rows: pl.DataFrame, counts: Sequence[int]) -> Any:
    starts = np.flatnonzero(_differs(rows["task"]))
    workers, worker_names = _code(rows["worker"])
    labels, class_names = _code(rows["label"])
    arrays = np.append(starts, rows.height), workers, labels, rows["step"], rows["at"]
    names = [
        pack_names(names) for names in (rows["task"].gather(starts), worker_names, class_names)
    ]
    data = [
        np.asarray(array, kind).tobytes()
        for array, kind in zip(arrays, ARRAYS.values(), strict=True)
    ]
    return pa.record_batch([[value] for value in (*names, *data, *counts)], schema=FIRST)


def _code(column: pl.Series) -> tuple[Codes, pl.Series]:
    """A column in codes of its names, which are in order."""
    names = column.unique().sort()
    return names.search_sorted(column).to_numpy().astype(np.int32), names


def array_of(row: Row, name: str, kind: Any) -> Any:
    """An array of a block, copied: loops want to own theirs."""
    return np.frombuffer(row.value(name).as_buffer(), kind).copy()


class Seen:
    """What there is in some blocks: names in order, and counts of rows that are no labels."""

    def __init__(self) -> None:
        self.workers = self.classes = pl.Series("name", [], pl.String)
        self.counts = [0] * len(COUNTS)

    def join(self, other: Seen) -> None:
        """Add what there is in other blocks."""
        self.workers = _union(self.workers, other.workers)
        self.classes = _union(self.classes, other.classes)
        self.counts = [one + two for one, two in zip(self.counts, other.counts, strict=True)]


def look_around(batches: Iterable[Any]) -> Seen:
    """What there is in blocks of codes of their own."""
    found = Seen()
    for row in rows_of(batches):
        here = Seen()
        here.workers, here.classes = row.names("worker_names"), row.names("class_names")
        here.counts = [row.value(name).as_py() for name in COUNTS]
        found.join(here)
    return found


def _union(one: pl.Series, other: pl.Series) -> pl.Series:
    if not len(one) or not len(other):
        return one if len(one) else other
    return pl.concat([one, other]).unique().sort()


# Blocks → decisions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ClosingRule:
    """When a task takes no more labels.

    ``idle_since``: a task whose last label is not after this time is idle. ``end``: all are closed.
    """

    settle: SettleRule
    max_labels: int | None
    idle_since: int | None = None
    end: bool = False

    def why(self, batch: LabelBatch, settled: Bools, last: Ints) -> Why:
        """The reason of each task, by its number."""
        idle = np.zeros(len(batch), np.uint8)
        if self.idle_since is not None:
            idle = (last <= self.idle_since).view(np.uint8)
        return reasons(settled, batch.sizes, self.max_labels, idle, self.end)


@dataclass(frozen=True)
class JudgeBlocks:
    """Decides the tasks of a partition by what was known before the micro-batch.

    ``step``: its number; labels of earlier ones are among the crowd's sums. ``now``: the latest
    time so far, at which tasks close.
    """

    crowd: bytes
    workers: Names
    classes: Names
    rule: ClosingRule
    step: int
    now: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same blocks in codes that all share, with decisions and what is left for the next."""
        crowd = _loaded(self.crowd)
        classes = crowd._classes.copy()
        for place in np.argsort(self.classes.codes):
            classes.add(self.classes.names[int(place)])
        for row in rows_of(batches):
            starts, own, said, steps, at = (array_of(row, *item) for item in ARRAYS.items())
            if starts.size < 2:
                continue
            tasks, names = row.names("tasks"), (row.names("worker_names"), row.names("class_names"))
            codes = self.workers.recode(own, names[0]), self.classes.recode(said, names[1])
            batch = LabelBatch(starts, *codes, tasks=tasks)
            votes = crowd._decide(batch, classes)
            learnt = np.minimum.reduceat(steps, starts[:-1]) < self.step
            frame = predicted(crowd, batch, votes, self.rule.settle, classes, learnt)
            last = np.maximum.reduceat(at, starts[:-1])
            why = self.rule.why(batch, frame["settled"].to_numpy(), last)
            decided = frame.with_columns(
                identifiable=pl.lit(votes.identified),
                closed=pl.Series(WORDS, dtype=pl.String).gather(why),
            ).filter(why != Reason.OPEN)
            left = pl.DataFrame(
                {
                    "task": tasks.gather(np.repeat(np.arange(len(batch)), batch.sizes)),
                    "worker": names[0].gather(own),
                    "label": names[1].gather(said),
                    "step": steps,
                    "at": at,
                }
            ).filter(np.repeat(why == Reason.OPEN, batch.sizes))
            yield _judged(row, batch, why, decided, self._with_closed(left, decided["task"]))

    def _with_closed(self, left: pl.DataFrame, closed: pl.Series) -> pl.DataFrame:
        """Labels of open tasks, and the names of closed ones."""
        marks = pl.DataFrame({"task": closed}).with_columns(
            step=pl.lit(CLOSED, pl.Int64), at=pl.lit(self.now, pl.Int64)
        )
        return pl.concat([left, marks], how="diagonal")


def _judged(row: Row, batch: LabelBatch, why: Why, *frames: pl.DataFrame) -> Any:
    arrays = [array.tobytes() for array in (batch.starts, batch.workers, batch.labels, why)]
    tasks = row.value("tasks").as_buffer().to_pybytes()
    tables = [frame.write_ipc_stream(None).getvalue() for frame in frames]
    columns = [pa.array([value], pa.binary()) for value in (tasks, *arrays, *tables)]
    return pa.record_batch(columns, schema=JUDGED)


@functools.lru_cache(maxsize=2)
def _loaded(state: bytes) -> Estimator:
    """An estimator that was sent, once per process and state."""
    crowd = load_crowd(state)
    assert isinstance(crowd, Estimator)
    return crowd


@dataclass(frozen=True)
class Unpack:
    """The rows of a table that blocks carry, in columns of these types."""

    column: str
    schema: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Batches of Arrow."""
        for row in rows_of(batches):
            table = pl.read_ipc_stream(io.BytesIO(row.value(self.column).as_buffer())).to_arrow()
            yield from table.select(self.schema.names).cast(self.schema).to_batches()


# Blocks → sums ----------------------------------------------------------------------------------


class Closings:
    """How many tasks closed, by reason, and labels and tasks that stay open."""

    def __init__(self) -> None:
        self.tasks: Ints = np.zeros(len(WORDS), np.int64)
        self.labels: Ints = np.zeros(len(WORDS), np.int64)

    def add(self, row: Row) -> None:
        """Count those in a judged block."""
        why, sizes = array_of(row, "why", np.uint8), np.diff(array_of(row, "starts", np.int64))
        self.tasks += np.bincount(why, minlength=len(WORDS))
        self.labels += np.bincount(why, sizes, len(WORDS)).astype(np.int64)

    def join(self, other: Closings) -> None:
        """Add those of other blocks."""
        self.tasks += other.tasks
        self.labels += other.labels


@dataclass(frozen=True)
class GoThroughClosed:
    """What a partition does in a pass over its tasks that have closed."""

    passes: Sequence[Pass[Any]]
    homes: Codes | None

    def __call__(self, batches: Iterable[Any]) -> list[Any]:
        """The sums of all passes."""
        tasks = (some_tasks(row, self.homes, closed=True) for row in rows_of(batches))
        return go_through(self.passes, tasks)


@dataclass(frozen=True)
class CountClosings:
    """What a partition does once its tasks are judged: counts, and the sums of open tasks."""

    adding: AddTasks
    homes: Codes | None

    def __call__(self, batches: Iterable[Any]) -> tuple[Closings, AgreementSums]:
        """Both of all its blocks."""
        found, sums = Closings(), self.adding.begin()
        for row in rows_of(batches):
            found.add(row)
            self.adding.add(sums, some_tasks(row, self.homes, closed=False))
        return found, sums

    @staticmethod
    def join(one: tuple[Closings, AgreementSums], other: tuple[Closings, AgreementSums]) -> None:
        """Add those of another partition."""
        one[0].join(other[0])
        one[1].add_sums(other[1])


def some_tasks(row: Row, homes: Codes | None, closed: bool) -> LabelBatch:
    """The tasks of a judged block that are closed, or those that are not, as they are learnt."""
    starts, workers, labels = (
        array_of(row, name, ARRAYS[name]) for name in ("starts", "workers", "labels")
    )
    if homes is not None:
        labels = homes[labels]
    which = np.flatnonzero((array_of(row, "why", np.uint8) != Reason.OPEN) == closed)
    found = LabelBatch(starts, workers, labels).pick(which)
    names: Any = row.names("tasks").gather(which) if row.has("tasks") else ()
    return LabelBatch(found.starts, found.workers, found.labels, tasks=names)


class JudgedTasks(TaskTable):
    """The tasks of a micro-batch that have closed, in blocks on a cluster.

    Parameters
    ----------
    blocks
        Rows that `JudgeBlocks` made, persisted.
    partitions
        How many they are in.
    homes
        The places of the classes, where they share any.
    """

    def __init__(self, blocks: Any, partitions: int, homes: Codes | None) -> None:
        self.blocks, self.partitions, self.homes = blocks, partitions, homes

    @property
    def batch(self) -> LabelBatch:
        """Refused: a cluster's table has no order."""
        raise InputError("estimator", "one that adds up tasks in any order", "one that does not")

    def add_up(self, passes: Sequence[Pass[Any]]) -> list[Any]:
        """One job; only sums reach the driver."""
        columns = ["starts", "workers", "labels", "why"]
        if any(one.by_name for one in passes):
            columns.append("tasks")
        work = GoThroughClosed(passes, self.homes)
        found = tree_sum(self.blocks.select(*columns), self.partitions, work, JoinAll(passes))
        return [one.begin() for one in passes] if found is None else found
