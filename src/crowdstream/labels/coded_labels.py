"""`CodedLabels`: rows of labels in codes of their own, as readers hand them over, not yet grouped.

Knows polars' columns; nothing of files or estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.label import ClassLabel, TaskId
from crowdstream.labels.text_codes import TextCodes, add_text, code_series
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary
from crowdstream.parallel import threads

if TYPE_CHECKING:
    import polars as pl

SCHEMA = ("task", "worker", "label")
"""The columns of a table of labels."""


class Origin(Protocol):
    """Source of labels, asked when a worker's labels on a task contradict one another."""

    def telling_columns(self) -> list[str]:
        """Columns without a role that tell such labels apart."""

    def words(self, role: str, value: str) -> str:
        """The words that give a role to a column."""


class LeftOut(NamedTuple):
    """Rows that were left out because the same worker has another label of the same task."""

    null_label: int = 0
    repeated: int = 0
    replaced: int = 0


NOTHING_LEFT_OUT = LeftOut()


@dataclass(frozen=True, slots=True)
class CodedLabels:
    """Rows in the order they came, in codes of ``workers`` and ``classes``; −1 for null.

    A task of ``batch`` is a run of rows with the same task, another than in the run before: one
    task may come in several runs, and a run may have none (null); a worker may come twice in a
    task. Where ``origin`` is known, too many labels that contradict one another are refused.
    ``left_out``: rows that are no longer here.
    """

    batch: LabelBatch
    workers: Vocabulary
    classes: Vocabulary
    origin: Origin | None = None
    left_out: LeftOut = NOTHING_LEFT_OUT

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.batch.workers.size)

    def task_order(self) -> tuple[Codes, Sequence[TaskId] | pl.Series]:
        """Every run's place in the order of first appearance, −1 for null, and the tasks."""
        import polars as pl

        names = self.batch.tasks
        if isinstance(names, pl.Series):
            # In some order, or of different hashes: then certainly different, and soon found out.
            if names.null_count() == 0 and (
                names.is_sorted() or _are_counted(names) or names.hash().n_unique() == len(names)
            ):
                return np.arange(len(names), dtype=np.int32), names
            return code_series(names)
        known = Vocabulary()
        codes = [UNKNOWN if name is None else known.add(name) for name in names]
        return np.array(codes, np.int32), known.to_list()

    def part(self, first: int, last: int) -> CodedLabels:
        """The rows of runs ``first`` up to ``last``; they are shared, not copied."""
        batch = self.batch
        begin, end = batch.starts[first], batch.starts[last]
        kept = LabelBatch(
            batch.starts[first : last + 1] - begin,
            batch.workers[begin:end],
            batch.labels[begin:end],
            tasks=batch.tasks[first:last],
        )
        return CodedLabels(kept, self.workers, self.classes)

    def select(self, runs: NDArray[np.bool_]) -> CodedLabels:
        """The rows of some runs, copied."""
        import polars as pl

        batch, which = self.batch, np.flatnonzero(runs)
        sizes = batch.starts[which + 1] - batch.starts[which]
        bounds = np.append(0, np.cumsum(sizes))
        rows = np.repeat(batch.starts[which] - bounds[:-1], sizes) + np.arange(bounds[-1])
        tasks = pl.Series(batch.tasks).filter(pl.Series(runs))
        starts, tasks = merge_runs(bounds, tasks)
        kept = LabelBatch(starts, batch.workers[rows], batch.labels[rows], tasks=tasks)
        return CodedLabels(kept, self.workers, self.classes)

    def frame(self) -> pl.DataFrame:
        """Return the labels as a table; names of several kinds become text."""
        import polars as pl

        runs = np.repeat(np.arange(len(self.batch)), self.batch.sizes)
        tasks = self.batch.tasks
        return pl.DataFrame(
            {
                "task": (tasks if isinstance(tasks, pl.Series) else as_series(tasks)).gather(runs),
                "worker": _names(self.batch.workers, self.workers),
                "label": _names(self.batch.labels, self.classes),
            }
        )

    @staticmethod
    def concat(
        parts: Sequence[CodedLabels], into: tuple[Codes, Codes] | None = None
    ) -> CodedLabels:
        """The rows of several, one after another, in the codes of the first, which are added to.

        ``into``: arrays in which the codes of workers and labels lie already, with gaps between
        the parts.
        """
        if len(parts) == 1:
            return parts[0]
        import polars as pl

        rows = sum(part.height for part in parts)
        workers, labels = into or (np.empty(rows, np.int32), np.empty(rows, np.int32))
        starts, names = np.empty(sum(len(part.batch) for part in parts) + 1, np.int64), []
        runs, before, latest = 0, 0, None
        for part in parts:
            tasks = pl.Series(part.batch.tasks)
            follows = len(tasks) > 0 and before > 0 and tasks[0] == latest  # the same task goes on
            new = part.batch.starts[int(follows) : -1]
            np.add(new, before, out=starts[runs : runs + new.size])
            runs += new.size
            names.append(tasks[int(follows) :])
            here = slice(before, before + part.height)
            _move(part.batch.workers, workers[here], part.workers, parts[0].workers)
            _move(part.batch.labels, labels[here], part.classes, parts[0].classes)
            before += part.height
            latest = tasks[-1] if len(tasks) else latest
        names = [some for some in names if len(some)] or names[:1]
        starts[runs] = before
        batch = LabelBatch(
            starts[: runs + 1],
            workers[:rows],
            labels[:rows],
            tasks=pl.concat(names),
        )
        return CodedLabels(batch, parts[0].workers, parts[0].classes)


def as_series(names: Sequence[ClassLabel | None]) -> pl.Series:
    """Names as a column: as they are if they are of one kind, else as text.

    >>> as_series([1, None]).to_list(), as_series([1, "ann"]).to_list()
    ([1, None], ['1', 'ann'])
    """
    import polars as pl

    given = [name for name in names if name is not None]
    kinds = {type(name) for name in given}
    wide = kinds == {int} and min(given) < 0 and max(given) >= 2**63  # type: ignore[operator]
    if len(kinds) > 1 or wide:  # no column holds both
        names = [None if name is None else str(name) for name in names]
    return pl.Series(names, dtype=None if kinds else pl.String)


def _are_counted(names: pl.Series) -> bool:
    """Tell whether each text is longer than the one before, or as long and greater.

    So are task-9, task-10, task-11: a tenth of the time that comparing hashes takes.
    """
    import polars as pl

    if names.dtype != pl.String:
        return False
    sizes = names.str.len_bytes()
    size, before = sizes[1:], sizes[:-1]
    return ((size > before) | ((size == before) & (names[1:] > names[:-1]))).all()


def _names(codes: Codes, names: Vocabulary) -> pl.Series:
    import polars as pl

    series = pl.Series(codes)
    return names.column("").gather(series.set(series == UNKNOWN, None))


def _move(codes: Codes, into: Codes, names: Vocabulary, target: Vocabulary) -> None:
    """Copy codes of one vocabulary as codes of another, which is added to."""
    from crowdstream.labels.grouping_loops import recode

    if codes.ctypes.data != into.ctypes.data:  # else they lie there already
        into[:] = codes
    if names is not target:
        new = target.add_all(names)
        if not np.array_equal(new, np.arange(new.size)):
            recode(into, new)


def code_values(
    rows: Iterable[tuple[TaskId | None, TaskId | None, ClassLabel | None]],
) -> CodedLabels:
    """Rows of clean values in codes, one at a time."""
    names = Vocabulary(), Vocabulary()
    codes: tuple[list[int], list[int]] = ([], [])
    starts: list[int] = []
    tasks: list[TaskId | None] = []
    size = 0
    for task, *others in rows:
        if not tasks or task != tasks[-1]:
            starts.append(size)
            tasks.append(task)
        size += 1
        for place, value in enumerate(others):
            codes[place].append(UNKNOWN if value is None else names[place].add(value))
    workers, labels = (np.array(found, np.int32) for found in codes)
    bounds = np.array([*starts, size], np.int64)
    batch = LabelBatch(bounds, workers, labels, tasks=cast("list[TaskId]", tasks))
    return CodedLabels(batch, *names)


def code_frame(frame: pl.DataFrame) -> CodedLabels:
    """A table of clean columns (strings, integers, booleans, categories) in codes."""
    # The loops behind it run side by side, each on a column.
    with ThreadPoolExecutor(min(3, threads())) as pool:
        runs = pool.submit(find_runs, frame["task"])
        worker = pool.submit(code_series, frame["worker"])
        label = pool.submit(code_series, frame["label"])
        starts, tasks = runs.result()
        workers, worker_names = worker.result()
        labels, class_names = label.result()
    batch = LabelBatch(np.append(starts, frame.height), workers, labels, tasks=tasks)
    return CodedLabels(batch, Vocabulary.of_column(worker_names), Vocabulary(class_names))


def code_frames(frames: Iterable[pl.DataFrame]) -> CodedLabels:
    """Code tables of text one after another, each of which can be let go before the next comes."""
    tables = TextCodes(), TextCodes()
    parts: list[tuple[Ints, Codes, Codes, pl.Series]] = []
    with ThreadPoolExecutor(min(3, threads())) as pool:
        for frame in frames:
            runs = pool.submit(find_runs, frame["task"])
            worker = pool.submit(_add, frame["worker"], tables[0])
            label = pool.submit(_add, frame["label"], tables[1])
            starts, tasks = runs.result()
            starts = np.append(starts, frame.height)
            parts.append((starts, worker.result(), label.result(), tasks))
    names = Vocabulary.of_column(tables[0].column(0)), Vocabulary(tables[1].column(0))
    return CodedLabels.concat(
        [
            CodedLabels(LabelBatch(starts, workers, labels, tasks=tasks), *names)
            for starts, workers, labels, tasks in parts
        ]
    )


def _add(series: pl.Series, table: TextCodes) -> Codes:
    return add_text(series, table, np.empty(len(table) + len(series), np.int64))


def find_runs(series: pl.Series) -> tuple[Ints, pl.Series]:
    """Return the rows at which another task begins, and these tasks."""
    import polars as pl

    if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        series = series.cast(pl.String)  # tasks leave as the text they stand for
    starts = _changes(series)
    return starts, series.gather(starts)


def _changes(series: pl.Series) -> Ints:
    """Rows whose value is not that of the row before, the first among them."""
    starts = series.ne_missing(series.shift(1)).arg_true().to_numpy().astype(np.int64)
    if len(series) and not (starts.size and starts[0] == 0):  # the first is null
        starts = np.append(0, starts)
    return starts


def merge_runs(starts: Ints, tasks: pl.Series) -> tuple[Ints, pl.Series]:
    """Runs of one task that have come to stand together as one: where they start, and the tasks.

    ``starts``: where each run starts, and the end of the last.
    """
    new = _changes(tasks)
    return np.append(starts[new], starts[-1]), tasks.gather(new)
