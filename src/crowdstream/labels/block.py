"""Rows or tables of labels → coded blocks grouped by task. Knows nothing of estimators.

Anything that speaks Arrow (``__arrow_c_stream__``: polars, pandas, pyarrow, duckdb) comes in
through polars; any other iterable is read as rows, one at a time.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, runtime_checkable

import msgspec
import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.columns import (
    Codes,
    Column,
    Columns,
    Ints,
    Runs,
    code_frame,
    code_series,
    find_task_runs,
)
from crowdstream.labels.label import (
    FLOAT_MAX,
    ClassLabel,
    Label,
    TaskId,
    WorkerId,
    clean_id,
    clean_label,
    shorten,
)
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("task", "worker", "label")
NO_ORDER: Ints = np.empty(0, np.int64)


@runtime_checkable
class ArrowTable(Protocol):
    """What polars, pandas, pyarrow and duckdb tables have in common."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of Arrow batches."""


Row: TypeAlias = (
    Label | tuple[TaskId | None, WorkerId | None, ClassLabel | None] | Mapping[str, object]
)
Table: TypeAlias = "ArrowTable | pl.LazyFrame | Columns | Iterable[Row]"


class Intake(msgspec.Struct):
    """What came in, and what became of the rows that are not counted as labels."""

    rows: int = 0
    labels: int = 0
    tasks: int = 0
    null_task: int = 0
    null_worker: int = 0
    null_label: int = 0
    repeated: int = 0
    replaced: int = 0

    def count(self, other: Intake, sign: int = 1) -> None:
        """Add another's counts, or with sign −1 take them back."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))


@dataclass(frozen=True, slots=True)
class Block:
    """The labels of some tasks, coded: those of task ``t`` are ``starts[t]:starts[t + 1]``.

    ``known[t]`` is the size of the workers' vocabulary once task ``t`` has been met: it counts
    those who were asked and gave no answer. −1 where nobody was asked: there is nothing to learn.
    """

    tasks: Sequence[TaskId] | pl.Series
    starts: Ints
    workers: Codes
    labels: Codes
    known: Ints
    intake: Intake


def code_block(data: Table, workers: Vocabulary, classes: Vocabulary) -> Block:
    """Code a table or rows, adding new ids to the vocabularies as their tasks come.

    A failed call leaves both vocabularies as they were.

    >>> people, classes = Vocabulary(), Vocabulary()
    >>> rows = [("t1", "ann", "spam"), ("t2", "ann", "ham"), ("t1", "bob", "spam")]
    >>> block = code_block(rows, people, classes)
    >>> block.starts.tolist(), block.workers.tolist(), block.labels.tolist()
    ([0, 2, 3], [0, 1, 0], [0, 0, 1])
    """
    from crowdstream.labels import grouping, loops

    columns = code_columns(data)
    worker, label = columns.worker, columns.label
    order, bounds, lost = NO_ORDER, np.append(columns.task.starts, columns.height), 0
    codes, tasks = _order_of(columns.task)
    if codes.size > len(tasks):  # they do not stand together, or some rows have none
        order, bounds, lost = grouping.sort_rows(np.repeat(codes, np.diff(bounds)), len(tasks))
    found = grouping.arrange(
        order, bounds, worker.codes, label.codes, len(worker.values), len(label.values)
    )
    counts = found.counts
    intake = Intake(
        rows=int(worker.codes.size),
        labels=int(found.labels.size),
        tasks=len(tasks),
        null_task=lost,
        null_worker=int(counts[loops.NULL_WORKER]),
        null_label=int(counts[loops.NULL_LABEL]),
        repeated=int(counts[loops.REPEATED]),
        replaced=int(counts[loops.REPLACED]),
    )
    sizes = len(workers), len(classes)
    try:
        worker_code = _translate(worker, found.met, workers)
        label_code = _translate(label, found.seen, classes)
    except BaseException:
        workers.truncate(sizes[0])
        classes.truncate(sizes[1])
        raise
    # Codes are given in order, so the vocabulary's size is the highest code met so far, plus one.
    sizes_met = np.maximum.accumulate(np.append(sizes[0], worker_code[found.met] + 1))
    known = np.where(found.met_by < 0, UNKNOWN, sizes_met[found.met_by])
    return Block(
        tasks,
        found.starts,
        _recode(found.workers, worker_code),
        _recode(found.labels, label_code),
        known,
        intake,
    )


def _translate(column: Column, order: Ints, vocabulary: Vocabulary) -> Codes:
    """Column codes → vocabulary codes, new values added in the order given."""
    codes = np.full(len(column.values), UNKNOWN, np.int32)
    values = list(column.values)
    for local in order.tolist():
        codes[local] = vocabulary.add(values[local])
    return codes


def _recode(codes: Codes, new: Codes) -> Codes:
    """Codes in other codes; most often they are the same."""
    return codes if np.array_equal(new, np.arange(new.size)) else new[codes]


def code_columns(data: Table) -> Columns:
    """Code a table or rows, in the order they have."""
    if isinstance(data, Columns):
        return data
    return _table_columns(data) if _is_table(data) else _row_columns(data)


# Rows ------------------------------------------------------------------------------------


def _row_columns(rows: object) -> Columns:
    if isinstance(rows, (str, bytes, PurePath, Mapping)) or not isinstance(rows, Iterable):
        raise InputError(
            "labels",
            "a table (polars, pandas, pyarrow, duckdb) or rows of (task, worker, label)",
            f"{type(rows).__name__} {shorten(rows)}"
            + (" (read the file first)" if isinstance(rows, (str, bytes, PurePath)) else ""),
        )
    words = Vocabulary(), Vocabulary()
    codes: tuple[list[int], list[int]] = ([], [])
    starts: list[int] = []
    tasks: list[ClassLabel | None] = []
    for number, row in enumerate(rows, start=1):
        task, *others = row_values(row, number)
        if not tasks or task != tasks[-1]:
            starts.append(number - 1)
            tasks.append(task)
        for place, value in enumerate(others):
            codes[place].append(UNKNOWN if value is None else words[place].add(value))
    worker, label = (
        Column(np.array(found, np.int32), known.to_list())
        for found, known in zip(codes, words, strict=True)
    )
    return Columns(Runs(np.array(starts, np.int64), tasks), worker, label)


def row_values(
    row: object, number: int
) -> tuple[str | int | None, str | int | None, ClassLabel | None]:
    """The task, worker and label of a row, checked; ``number`` is told in errors."""
    where = f"row {number}"
    if isinstance(row, Label):
        found: Sequence[object] = (row.task, row.worker, row.label)
    elif isinstance(row, Mapping):
        missing = [name for name in COLUMNS if name not in row]
        if missing:
            raise _missing(missing, [str(name) for name in row], where)
        found = [row[name] for name in COLUMNS]
    elif isinstance(row, Sequence) and not isinstance(row, (str, bytes)) and len(row) == 3:
        found = row
    else:
        raise InputError(where, "(task, worker, label)", f"{type(row).__name__} {shorten(row)}")
    return (
        clean_id(found[0], f"{where}, column 'task'"),
        clean_id(found[1], f"{where}, column 'worker'"),
        clean_label(found[2], f"{where}, column 'label'"),
    )


def _missing(names: Sequence[str], present: Sequence[str], where: str) -> InputError:
    near = {name: difflib.get_close_matches(name, present, n=1) for name in names}
    hints = [f"rename {found[0]!r} to {name!r}?" for name, found in near.items() if found]
    told = ", ".join(present) or "no column"
    return InputError(
        where,
        f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}",
        told + (f" ({' '.join(hints)})" if hints else ""),
    )


# Tables ----------------------------------------------------------------------------------


def _is_table(data: object) -> TypeGuard[ArrowTable | pl.LazyFrame]:
    return isinstance(data, ArrowTable) or hasattr(data, "collect_schema")


def _table_columns(data: ArrowTable | pl.LazyFrame) -> Columns:
    import polars as pl

    if type(data).__module__.startswith("pandas"):
        # Other columns may hold what Arrow cannot: leave them out before converting.
        data = data.loc[:, [name for name in COLUMNS if name in data.columns]]  # type: ignore[union-attr]
    try:
        frame = data.collect() if isinstance(data, pl.LazyFrame) else pl.DataFrame(data)
    except Exception as error:  # whatever the library that made the table raises
        raise InputError("table", "one that can be read as Arrow", shorten(error, 200)) from error
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        raise _missing(missing, frame.columns, "table")
    return code_frame(
        pl.DataFrame(
            [
                _clean_series(frame["task"]),
                _clean_series(frame["worker"]),
                _clean_series(frame["label"], bools=True),
            ]
        )
    )


def _clean_series(series: pl.Series, *, bools: bool = False) -> pl.Series:
    """A column of plain strings, integers or booleans, by the rules of `clean_id`."""
    import polars as pl

    kind = series.dtype
    if kind in (pl.Int128, pl.UInt128) or kind.is_float():
        return _whole(series.fill_nan(None) if kind.is_float() else series, bools=bools)
    if kind == pl.String or kind.is_integer() or (kind == pl.Boolean and bools):
        return series
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return series
    if kind == pl.Null:
        return series.cast(pl.String)
    expected = "str, int or bool" if bools else "str or int"
    raise InputError(f"column {series.name!r}", expected, f"a column of {kind}")


def _whole(series: pl.Series, *, bools: bool) -> pl.Series:
    """Numbers that are integers of 64 bits as such; the first that is not is named."""
    import polars as pl

    signed = series.cast(pl.Int64, strict=False)
    for whole in (signed, series.cast(pl.UInt64, strict=False)):
        good = (whole.cast(series.dtype) == series).fill_null(False) | series.is_null()
        if series.dtype.is_float():
            good &= (series.abs() <= FLOAT_MAX).fill_null(True)
        if good.all():
            return whole
        if series.dtype.is_float():
            break
    row = int((~good).arg_max() or 0)
    clean = clean_label if bools else clean_id
    clean(series[row], f"row {row + 1}, column {series.name!r}")  # raises what a row would
    raise InputError(f"column {series.name!r}", "integers of 64 bits, signed or not", "both")


def first_appearances(series: pl.Series) -> tuple[Codes, pl.Series]:
    """Every value's place in the order of first appearance, and the values in that order."""
    import polars as pl

    runs = find_task_runs(series)
    lengths = np.diff(np.append(runs.starts, len(series)))
    codes, values = _order_of(runs)
    return np.repeat(codes, lengths), pl.Series(values)


def _order_of(runs: Runs) -> tuple[Codes, Sequence[ClassLabel] | pl.Series]:
    """Every run's place in the order of first appearance, −1 for null, and the tasks."""
    import polars as pl

    if isinstance(runs.values, pl.Series):
        heads = runs.values
        # Sorted, or of different hashes: then certainly different, and quickly told.
        if heads.null_count() == 0 and (heads.is_sorted() or heads.hash().n_unique() == len(heads)):
            return np.arange(len(heads), dtype=np.int32), heads
        column = code_series(heads)
        return column.codes, column.values
    known = Vocabulary()
    codes = [UNKNOWN if value is None else known.add(value) for value in runs.values]
    return np.array(codes, np.int32), known.to_list()
