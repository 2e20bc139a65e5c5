"""Labels on executors: rows → blocks of whole tasks, each one row of bytes, and back.

Rows are coded where they are read, in pieces by where their tasks go; the pieces are moved, and
joined to blocks there. A block is gone through as often as there are passes; nothing is parsed
again. Pieces may come in any order: what a block holds does not depend on it. Runs on executors,
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

ARRAYS = "starts", "workers", "labels", "truths"
"""The arrays of a block, as bytes; all but the first are codes in the fewest bytes (`narrow`)."""

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


CODED = "task", "worker", "label", "truth"
"""Columns that a piece has codes of, each with names of its own."""

PIECE = pa.schema(
    [("part", pa.int32())]
    + [(f"{name}_{what}", pa.binary()) for name in CODED for what in ("names", "codes")]
    + [("at", pa.binary())]
)

PIECES = ", ".join(f"{one.name} {'int' if one.name == 'part' else 'binary'}" for one in PIECE)
"""`PIECE` as Spark writes it."""


class Piece(NamedTuple):
    """Rows in the order they came: codes with their names, and times where there are any."""

    task: tuple[Codes, pl.Series]
    worker: tuple[Codes, pl.Series]
    label: tuple[Codes, pl.Series]
    truth: tuple[Codes, pl.Series]
    at: Values


def make_pieces(batches: Iterator[Any]) -> Iterator[Any]:
    """Code the rows of an input partition, divided by the part that their tasks belong to.

    What the shuffle moves is some rows of bytes in place of one row of text per label.
    """
    waiting: list[Any] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.num_rows
        if size >= ROWS:
            yield from _divide(waiting)
            waiting, size = [], 0
    if size:
        yield from _divide(waiting)


def _divide(batches: list[Any]) -> Iterator[Any]:
    """Yield a row of `PIECE` for each part; ``batches`` have part, task, worker, label, truth, at.

    There may be no ``at``.
    """
    table = pa.Table.from_batches(batches)
    at = np.empty(0, np.int64)
    if "at" in table.schema.names:
        at = table["at"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    frame = pl.DataFrame(table.select(["part", *CODED]))
    starts, runs = find_runs(frame["task"])
    of_run, tasks = code_series(runs)
    task = np.repeat(of_run, np.diff(np.append(starts, frame.height)))
    coded = [(task, tasks), *(code_series(frame[name]) for name in CODED[1:])]
    parts = frame["part"].to_numpy()
    order, bounds, _ = sort_rows(parts, int(parts.max()) + 1)
    for part in np.flatnonzero(np.diff(bounds)):
        rows = order[bounds[part] : bounds[part + 1]]
        values: list[Any] = [int(part)]
        for codes, names in coded:
            few, own = _few(codes[rows], names)
            values += [pack_names(own), few.astype(_width(len(own))).tobytes()]
        values.append(at[rows].tobytes() if at.size else b"")
        yield pa.record_batch([[value] for value in values], schema=PIECE)


def read_piece(row: Row) -> Piece:
    """Return the piece in a row of `PIECE`."""

    def coded(name: str) -> tuple[Codes, pl.Series]:
        names = row.names(f"{name}_names")
        codes = np.frombuffer(row.value(f"{name}_codes").as_buffer(), _width(len(names)))
        return codes.astype(np.int32), names

    task, worker, label, truth = (coded(name) for name in CODED)
    at = np.frombuffer(row.value("at").as_buffer(), np.int64)
    return Piece(task, worker, label, truth, at)


@dataclass(frozen=True)
class MakeBlocks:
    """Makes blocks of the pieces of a partition, which has all rows of its tasks.

    ``policy``: which of several labels of a worker on a task counts, as `one_per_task` has it. None
    stands for the last one, a correction.
    """

    policy: str | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Blocks in codes of their own."""
        pieces = [read_piece(row) for row in rows_of(batches)]
        if pieces:
            yield from self._blocks(pieces)

    def _blocks(self, pieces: list[Piece]) -> Iterator[Any]:
        codes_of, tasks = code_series(pl.concat([piece.task[1] for piece in pieces]))
        firsts = np.cumsum([0, *(len(piece.task[1]) for piece in pieces)])
        task = np.concatenate(
            [codes_of[first + piece.task[0]] for first, piece in zip(firsts, pieces, strict=False)]
        )
        workers, worker_names = _one_code([piece.worker for piece in pieces])
        labels = [piece.label for piece in pieces]
        codes, class_names = _one_code([*labels, *(piece.truth for piece in pieces)])
        said, truths = codes[: task.size], codes[task.size :]
        at = np.concatenate([piece.at for piece in pieces])
        pieces.clear()
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
    arrays = [narrow(array) for array in (workers, labels, truths)]
    values = (*names, batch.starts.tobytes(), *arrays, *counts, flips)
    return pa.record_batch([[value] for value in values], schema=SCHEMA)


def _few(codes: Codes, names: pl.Series) -> tuple[Codes, pl.Series]:
    """The same in codes of those names that occur."""
    if codes.size < len(names):  # many parts: work must not grow with all names for each of them
        which, few = np.unique(codes, return_inverse=True)
        nulls = int(which.size and which[0] < 0)
        return (few - nulls).astype(np.int32), names.gather(which[nulls:])
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
        starts, workers, labels, truths = read_arrays(row)
        tasks: Any = row.names("tasks") if row.has("tasks") else ()
        if homes is not None:
            labels = homes[labels]
            truths = np.where(truths >= 0, homes[truths], truths).astype(np.int32)
        known = truths if (truths >= 0).any() else NO_TRUTHS
        yield LabelBatch(starts, workers, labels, known, tasks)


def narrow(codes: Codes) -> bytes:
    """Codes in the fewest bytes that hold them: less to keep and to send to Python in each pass."""
    return codes.astype(_width(int(codes.max(initial=0)))).tobytes()


def _width(most: int) -> np.dtype[Any]:
    """Return the narrowest type of codes up to a number, and of `UNKNOWN`."""
    return np.min_scalar_type(-1 - most)


def read_codes(row: Row, name: str, number: int) -> Codes:
    """Return so many codes of a block; how wide they are shows by their bytes."""
    data = row.value(name).as_buffer()
    width = max(data.size // max(number, 1), 1)
    return np.frombuffer(data, f"i{width}").astype(np.int32)


def read_arrays(row: Row) -> tuple[Ints, Codes, Codes, Codes]:
    """Return starts, workers, labels and truths of a block, copied: loops want to own theirs."""
    starts = row.starts()
    labels = int(starts[-1])
    workers, said = (read_codes(row, name, labels) for name in ("workers", "labels"))
    return starts, workers, said, read_codes(row, "truths", starts.size - 1)


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

    def starts(self) -> Ints:
        """Return where each task's labels begin."""
        return np.frombuffer(self.value("starts").as_buffer(), np.int64).copy()

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
        starts, here = row.starts(), Found()
        here.workers, here.classes = row.names("worker_names"), row.names("class_names")
        here.tasks, here.labels = starts.size - 1, int(starts[-1])
        here.gold = int((read_codes(row, "truths", starts.size - 1) >= 0).sum())
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
            starts, workers, *codes = read_arrays(row)
            names = row.names("class_names")
            arrays = [
                narrow(self.workers.recode(workers, row.names("worker_names"))),
                *(narrow(self.classes.recode(array, names)) for array in codes),
            ]
            found = [row.value("tasks").as_buffer().to_pybytes(), starts.tobytes(), *arrays]
            columns = [pa.array([value], pa.binary()) for value in found]
            yield pa.record_batch(columns, ["tasks", *ARRAYS])
