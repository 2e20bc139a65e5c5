"""Labels on executors: rows → blocks of whole tasks, each one row of bytes, and back.

A block is coded once and gone through as often as there are passes; nothing is parsed again. Rows
of a partition may come in any order: what a block holds does not depend on it. Runs on executors,
knows Arrow's batches and polars' columns, and nothing of sessions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.coded_labels import CodedLabels, find_runs
from crowdstream.labels.grouping import Grouped, group, sort_rows
from crowdstream.labels.meaning.repeats import one_per_task
from crowdstream.labels.text_codes import code_series
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

NAMES = "tasks", "worker_names", "class_names"
"""Columns of a block that hold names; the last two are gone once all blocks share their codes."""

ARRAYS = {"starts": np.int64, "workers": np.int32, "labels": np.int32, "truths": np.int32}
"""The arrays of a block, as bytes."""

COUNTS = "rows", "null_worker", "null_label", "repeated", "replaced"
"""Rows that a block was made of, and those among them that are no labels."""

ROWS = 1 << 21
"""Rows whose text is in memory at once; of more only codes are kept."""

LABELS = 1 << 20
"""Labels in a block, 4 MB of each code; a task is never divided."""

BYTES = [(name, pa.binary()) for name in (*NAMES, *ARRAYS)]
SCHEMA = pa.schema([*BYTES, *((name, pa.int64()) for name in COUNTS), ("flips", pa.binary())])

TYPES = {
    "string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_(), "double": pa.float64()
}  # fmt: skip
"""Arrow's names of the types that columns have once they are clean, by Spark's."""

Values = NDArray[np.int64]


class Rows(NamedTuple):
    """Rows in the order they came: names of tasks by run, codes and their names."""

    tasks: pl.Series
    sizes: Ints
    workers: tuple[Codes, pl.Series]
    labels: tuple[Codes, pl.Series]
    truths: tuple[Codes, pl.Series]
    at: Values


def code_rows(batches: list[Any]) -> Rows:
    """Some of Arrow's batches, whose columns are task, worker, label, truth and at."""
    table = pa.Table.from_batches(batches)
    frame = pl.DataFrame(table.drop_columns(["at"]) if "at" in table.schema.names else table)
    at = np.empty(0, np.int64)
    if "at" in table.schema.names:
        at = table["at"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    starts, tasks = find_runs(frame["task"])
    workers, labels, truths = (code_series(frame[name]) for name in ("worker", "label", "truth"))
    sizes = np.diff(np.append(starts, frame.height))
    return Rows(tasks, sizes, workers, labels, truths, at)


@dataclass(frozen=True)
class MakeBlocks:
    """Makes blocks of the rows of a partition, which has all rows of its tasks.

    ``policy``: which of several labels of a worker on a task counts, as `one_per_task` has it. None
    stands for the last one, a correction.
    """

    policy: str | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Blocks in codes of their own."""
        parts: list[Rows] = []
        waiting: list[Any] = []
        size = 0
        for batch in batches:
            waiting.append(batch)
            size += batch.num_rows
            if size >= ROWS:
                parts.append(code_rows(waiting))
                waiting, size = [], 0
        if size:
            parts.append(code_rows(waiting))
        if parts:
            del waiting
            yield from self._blocks(parts)

    def _blocks(self, parts: list[Rows]) -> Iterator[Any]:
        runs, tasks = code_series(pl.concat([part.tasks for part in parts]))
        task = np.repeat(runs, np.concatenate([part.sizes for part in parts]))
        workers, worker_names = _one_code([part.workers for part in parts])
        labels = [part.labels for part in parts]
        codes, class_names = _one_code([*labels, *(part.truths for part in parts)])
        said, truths = codes[: task.size], codes[task.size :]
        at = np.concatenate([part.at for part in parts])
        parts.clear()
        truth = np.full(len(tasks), UNKNOWN, np.int32)
        known = np.flatnonzero(truths >= 0)
        truth[task[known]] = truths[known]
        flips = b""
        if self.policy is not None:
            once = _one_per_task(task, workers, said, at, self.policy)
            task, workers, said, at = once.task, once.workers, once.said, at[:0]
            names = worker_names.gather(once.flips["worker"])
            flips = pack_table(once.flips.with_columns(names.alias("worker")))
        found = _group(task, workers, at, said, (len(tasks), len(worker_names), len(class_names)))
        counts: tuple[int, ...] = (task.size, *found[3:])
        batch = found.batch
        whole = LabelBatch(batch.starts, batch.workers, batch.labels, truth, tasks)
        for part in split(whole, LABELS):
            yield _pack(part, worker_names, class_names, counts, flips)
            counts, flips = (0,) * len(COUNTS), b""


def _one_code(parts: list[tuple[Codes, pl.Series]]) -> tuple[Codes, pl.Series]:
    """Codes of several vocabularies in the order of the names of all, and these."""
    names = pl.concat([own.drop_nulls() for _, own in parts if len(own)] or [parts[0][1]])
    names = names.unique().sort()
    found = []
    for codes, own in parts:
        rank = np.append(names.search_sorted(own).to_numpy(), UNKNOWN).astype(np.int32)
        found.append(rank[codes])  # −1 is the last
    return np.concatenate(found), names


class Once(NamedTuple):
    """Rows of which each worker has one per task, and how often workers contradicted themselves."""

    task: Codes
    workers: Codes
    said: Codes
    flips: pl.DataFrame


def _one_per_task(task: Codes, workers: Codes, said: Codes, at: Values, policy: str) -> Once:
    """Keep one label of each worker on each task; ``at`` tells which came first."""
    order = np.argsort(at, kind="stable")
    rows = LabelBatch(
        np.arange(task.size + 1), workers[order], said[order], tasks=pl.Series(task[order])
    )
    who, classes = (Vocabulary(range(int(x.max(initial=-1)) + 1)) for x in (workers, said))
    table, flips = one_per_task(CodedLabels(rows, who, classes), policy)
    kept = table.batch
    of = np.repeat(np.asarray(kept.tasks, np.int32), kept.sizes)
    return Once(of, kept.workers, kept.labels, flips)


def _group(
    task: Codes, workers: Codes, at: Values, said: Codes, sizes: tuple[int, int, int]
) -> Grouped:
    """Labels grouped by task, in each by worker; of a worker's several the last by time stands.

    Of several at one time that which is last in the order of labels does.
    """
    order, _, _ = sort_rows(said + 1, sizes[2] + 1)
    if at.size:
        order = order[np.argsort(at[order], kind="stable")]
    order = order[sort_rows(workers[order] + 1, sizes[1] + 1)[0]]
    inner, bounds, _ = sort_rows(task[order], sizes[0])
    rows = LabelBatch(bounds, workers, said)
    return group(rows, order[inner], sizes[1], sizes[2])


def split(batch: LabelBatch, labels: int) -> Iterator[LabelBatch]:
    """Parts of about so many labels, with labels of their own."""
    at = 0
    while at < len(batch):
        goal = int(batch.starts[at]) + labels
        end = max(int(np.searchsorted(batch.starts, goal, side="right")) - 1, at + 1)
        first, last = int(batch.starts[at]), int(batch.starts[end])
        yield LabelBatch(
            batch.starts[at : end + 1] - first,
            batch.workers[first:last],
            batch.labels[first:last],
            batch.truths[at:end],
            batch.tasks[at:end],
        )
        at = end


def _pack(
    batch: LabelBatch,
    worker_names: pl.Series,
    class_names: pl.Series,
    counts: tuple[int, ...],
    flips: bytes,
) -> Any:
    """One row, with the names that it needs and no others."""
    workers, who = _few(batch.workers, worker_names)
    codes, classes = _few(np.concatenate([batch.labels, batch.truths]), class_names)
    labels, truths = codes[: batch.labels.size], codes[batch.labels.size :]
    names = [pack_names(names) for names in (pl.Series(batch.tasks), who, classes)]
    arrays = [array.tobytes() for array in (batch.starts, workers, labels, truths)]
    values = (*names, *arrays, *counts, flips)
    return pa.record_batch([[value] for value in values], schema=SCHEMA)


def _few(codes: Codes, names: pl.Series) -> tuple[Codes, pl.Series]:
    """The same in codes of those names that occur."""
    used = np.zeros(len(names) + 1, np.bool_)
    used[codes] = True
    used[-1] = False
    rank = (np.cumsum(used) - 1).astype(np.int32)
    rank[-1] = UNKNOWN
    return rank[codes], names.filter(pl.Series(used[:-1]))


def pack_names(names: pl.Series) -> bytes:
    """A column as bytes."""
    return names.to_frame("name").write_ipc_stream(None).getvalue()


def pack_table(table: pl.DataFrame) -> bytes:
    """A table as bytes."""
    return table.write_ipc_stream(None).getvalue()


def read_names(data: Any) -> pl.Series:
    """The column that `pack_names` packed."""
    return pl.read_ipc_stream(bytes(data))["name"]


def read_blocks(batches: Iterable[Any], homes: Codes | None = None) -> Iterator[LabelBatch]:
    """The blocks in batches of Arrow; names are there if their column is.

    ``homes``: the places of the classes, where they share any.
    """
    for row in rows_of(batches):
        starts, workers, labels, truths = (row.array(name) for name in ARRAYS)
        tasks: Any = row.names("tasks") if row.has("tasks") else ()
        if homes is not None:
            labels = homes[labels]
            truths = np.where(truths >= 0, homes[truths], truths).astype(np.int32)
        known = truths if (truths >= 0).any() else NO_TRUTHS
        yield LabelBatch(starts, workers, labels, known, tasks)


class Row:
    """One row of a batch of Arrow: a block."""

    def __init__(self, batch: Any, place: int) -> None:
        self.batch, self.place = batch, place

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self.batch.schema.names

    def value(self, name: str) -> Any:
        """A cell."""
        return self.batch.column(name)[self.place]

    def array(self, name: str) -> Any:
        """An array, copied: loops want to own theirs."""
        return np.frombuffer(self.value(name).as_buffer(), ARRAYS[name]).copy()

    def names(self, name: str) -> pl.Series:
        """A column of names."""
        return read_names(self.value(name).as_buffer())


def rows_of(batches: Iterable[Any]) -> Iterator[Row]:
    """All rows of some batches."""
    for batch in batches:
        for place in range(batch.num_rows):
            yield Row(batch, place)


class Found:
    """What there is in some blocks: names in order, and counts."""

    def __init__(self) -> None:
        self.workers = self.classes = pl.Series("name", [], pl.String)
        self.tasks = self.labels = self.gold = 0
        self.counts = [0] * len(COUNTS)
        self.flips: pl.DataFrame | None = None

    def join(self, other: Found) -> None:
        """Add what there is in other blocks."""
        self.workers = _union(self.workers, other.workers)
        self.classes = _union(self.classes, other.classes)
        self.tasks += other.tasks
        self.labels += other.labels
        self.gold += other.gold
        self.counts = [one + two for one, two in zip(self.counts, other.counts, strict=True)]
        if self.flips is not None and other.flips is not None:
            both = pl.concat([self.flips, other.flips]).group_by("worker")
            self.flips = both.agg(pl.col("repeated", "flips").sum())
        else:
            self.flips = other.flips if self.flips is None else self.flips


LOOKED_AT = "worker_names", "class_names", "starts", "truths", *COUNTS, "flips"
"""Columns that `look_around` needs."""


def look_around(batches: Iterable[Any]) -> Found:
    """What there is in blocks of codes of their own."""
    found = Found()
    for row in rows_of(batches):
        starts, here = row.array("starts"), Found()
        here.workers, here.classes = row.names("worker_names"), row.names("class_names")
        here.tasks, here.labels = starts.size - 1, int(starts[-1])
        here.gold = int((row.array("truths") >= 0).sum())
        here.counts = [row.value(name).as_py() for name in COUNTS]
        if flips := row.value("flips").as_py():
            here.flips = pl.read_ipc_stream(flips)
        found.join(here)
    return found


def _union(one: pl.Series, other: pl.Series) -> pl.Series:
    if not len(one) or not len(other):
        return one if len(one) else other
    return pl.concat([one, other]).unique().sort()


class Names(NamedTuple):
    """Names in order, and the code of each."""

    names: pl.Series
    codes: Codes

    def recode(self, codes: Codes, own: pl.Series) -> Codes:
        """Codes of a block's own names as these."""
        places = self.names.search_sorted(own).to_numpy()
        return np.append(self.codes[places], np.int32(UNKNOWN))[codes]


@dataclass(frozen=True)
class Recode:
    """Makes blocks in codes of their own to blocks in codes that all share."""

    workers: Names
    classes: Names

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same blocks, without names but those of tasks."""
        for row in rows_of(batches):
            workers = self.workers.recode(row.array("workers"), row.names("worker_names"))
            names = row.names("class_names")
            labels, truths = (
                self.classes.recode(row.array(name), names) for name in ("labels", "truths")
            )
            arrays = [array.tobytes() for array in (row.array("starts"), workers, labels, truths)]
            found = [row.value("tasks").as_buffer().to_pybytes(), *arrays]
            columns = [pa.array([value], pa.binary()) for value in found]
            yield pa.record_batch(columns, ["tasks", *ARRAYS])
