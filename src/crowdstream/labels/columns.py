"""Three columns in codes: what tables, rows and files of labels become before they are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.label import ClassLabel
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]
"""Of workers and labels: half the memory to move, and two thousand million of each."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column in codes of its own, −1 for null, and what the codes stand for."""

    codes: Codes
    values: Sequence[ClassLabel] | pl.Series


@dataclass(frozen=True, slots=True)
class Runs:
    """The tasks' column: where another task begins than in the row before, and which it is."""

    starts: Ints
    values: Sequence[ClassLabel | None] | pl.Series


@dataclass(frozen=True, slots=True)
class Columns:
    """Labels in codes, row by row."""

    task: Runs
    worker: Column
    label: Column

    @property
    def height(self) -> int:
        """The number of rows."""
        return int(self.worker.codes.size)

    def part(self, begin: int, end: int) -> Columns:
        """Some of the rows, from one at which a task begins to one at which another does."""
        first, last = np.searchsorted(self.task.starts, (begin, end))
        return Columns(
            Runs(self.task.starts[first:last] - begin, self.task.values[first:last]),
            Column(self.worker.codes[begin:end], self.worker.values),
            Column(self.label.codes[begin:end], self.label.values),
        )

    def frame(self) -> pl.DataFrame:
        """The same as a table."""
        import polars as pl

        lengths = np.diff(np.append(self.task.starts, self.height))
        runs = np.repeat(np.arange(lengths.size), lengths)
        return pl.DataFrame(
            {
                "task": pl.Series(self.task.values).gather(runs),
                "worker": _values_of(self.worker),
                "label": _values_of(self.label),
            }
        )

    @staticmethod
    def concat(parts: Sequence[Columns], into: tuple[Codes, Codes] | None = None) -> Columns:
        """The rows of several, one after another.

        ``into``: arrays in which the codes of workers and labels lie already, with gaps between
        the parts.
        """
        if len(parts) == 1:
            return parts[0]
        import polars as pl

        rows = sum(part.height for part in parts)
        workers, labels = into or (np.empty(rows, np.int32), np.empty(rows, np.int32))
        starts, values = [], []
        before, latest = 0, None
        for part in parts:
            heads = pl.Series(part.task.values, dtype=pl.String)
            follows = len(heads) > 0 and heads[0] == latest  # the same task goes on
            starts.append(part.task.starts[int(follows) :] + before)
            values.append(heads[int(follows) :])
            before += part.height
            latest = heads[-1] if len(heads) else latest
        return Columns(
            Runs(np.concatenate(starts), pl.concat(values)),
            _joined([part.worker for part in parts], workers[:rows]),
            _joined([part.label for part in parts], labels[:rows]),
        )


def _values_of(column: Column) -> pl.Series:
    import polars as pl

    codes = pl.Series(column.codes)
    return pl.Series(column.values).gather(codes.set(codes == UNKNOWN, None))


def _joined(columns: Sequence[Column], codes: Codes) -> Column:
    """One after another in ``codes``, where they may lie already, further behind."""
    from crowdstream.labels.loops import recode

    known = Vocabulary()
    end = 0
    for column in columns:
        new = np.array([known.add(value) for value in column.values], np.int32)
        begin, end = end, end + column.codes.size
        codes[begin:end] = column.codes
        if not np.array_equal(new, np.arange(new.size)):
            recode(codes[begin:end], new)
    return Column(codes, known.to_list())


def code_frame(frame: pl.DataFrame) -> Columns:
    """A table of clean columns (strings, integers, booleans, categories) in codes."""
    # The loops behind it run side by side.
    with ThreadPoolExecutor(3) as pool:
        task = pool.submit(find_task_runs, frame["task"])
        worker = pool.submit(code_series, frame["worker"])
        label = pool.submit(code_series, frame["label"])
        return Columns(task.result(), worker.result(), label.result())


def find_task_runs(series: pl.Series) -> Runs:
    """Tasks mostly stand together already: then where they begin is all there is to know."""
    import polars as pl

    if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        series = series.cast(pl.String)  # tasks leave as the text they stand for
    if series.dtype == pl.String and series.null_count() == 0:
        from crowdstream.labels.words import find_runs

        starts = find_runs(series)
    else:
        starts = series.ne_missing(series.shift(1)).arg_true().to_numpy().astype(np.int64)
        if len(series) and not (starts.size and starts[0] == 0):  # the first is null
            starts = np.append(0, starts)
    return Runs(starts, series.gather(starts))


def code_series(series: pl.Series) -> Column:
    """Codes in order of first appearance."""
    import polars as pl

    if series.dtype == pl.String:
        from crowdstream.labels.words import code_text

        codes, firsts = code_text(series)
        return Column(codes, series.gather(firsts))
    values = series.drop_nulls().unique(maintain_order=True)
    if not len(values):
        return Column(np.full(len(series), UNKNOWN, np.int32), values)
    if not isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        places = pl.int_range(len(values), eager=True)
        coded = series.replace_strict(values, places, return_dtype=pl.Int32)
        return Column(coded.fill_null(UNKNOWN).to_numpy(writable=True), values)
    met = values.to_physical().to_numpy()
    found = series.to_physical()
    nothing = int(met.max(initial=0)) + 1
    if found.null_count():
        found = found.cast(pl.Int64).fill_null(nothing)
    code_of = np.full(nothing + 1, UNKNOWN, np.int32)
    code_of[met] = np.arange(len(values))
    return Column(code_of.take(found.to_numpy()), values.cast(pl.String))
