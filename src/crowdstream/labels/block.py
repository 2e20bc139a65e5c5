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
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.labels.label import (
    FLOAT_MAX,
    ClassLabel,
    Label,
    LabellerId,
    TaskId,
    clean_id,
    clean_label,
    shorten,
)
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]
"""Of workers and labels: half the memory to move, and two thousand million of each."""
COLUMNS = ("task", "worker", "label")
NO_ORDER: Ints = np.empty(0, np.int64)


@runtime_checkable
class ArrowTable(Protocol):
    """What polars, pandas, pyarrow and duckdb tables have in common."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of Arrow batches."""


Row: TypeAlias = (
    Label | tuple[TaskId | None, LabellerId | None, ClassLabel | None] | Mapping[str, object]
)
Table: TypeAlias = "ArrowTable | pl.LazyFrame | Iterable[Row]"


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


@dataclass(frozen=True, slots=True)
class _Column:
    """A column in codes of its own, −1 for null, and what the codes stand for."""

    codes: Codes
    values: Sequence[ClassLabel] | pl.Series


@dataclass(frozen=True, slots=True)
class _Tasks:
    """The tasks' column: each row's task, or where each begins and the last ends if they stand
    together."""

    codes: Codes | None
    bounds: Ints
    values: Sequence[ClassLabel] | pl.Series


def code_block(data: Table, workers: Vocabulary, classes: Vocabulary) -> Block:
    """Code a table or rows, adding new ids to the vocabularies as their tasks come.

    A failed call leaves both vocabularies as they were.

    >>> people, classes = Vocabulary(), Vocabulary()
    >>> rows = [("t1", "ann", "spam"), ("t2", "ann", "ham"), ("t1", "bob", "spam")]
    >>> block = code_block(rows, people, classes)
    >>> block.starts.tolist(), block.workers.tolist(), block.labels.tolist()
    ([0, 2, 3], [0, 1, 0], [0, 0, 1])
    """
    from crowdstream.labels import kernels

    task, worker, label = _table_columns(data) if _is_table(data) else _row_columns(data)
    order, bounds, lost = NO_ORDER, task.bounds, 0
    if task.codes is not None:
        order, bounds, lost = kernels.sort_rows(task.codes, len(task.values))
    starts, kept_workers, kept_labels, met, seen, met_by, counts = kernels.arrange(
        order, bounds, worker.codes, label.codes, len(worker.values), len(label.values)
    )
    intake = Intake(
        rows=int(worker.codes.size),
        labels=int(kept_labels.size),
        tasks=len(task.values),
        null_task=lost,
        null_worker=int(counts[kernels.NULL_WORKER]),
        null_label=int(counts[kernels.NULL_LABEL]),
        repeated=int(counts[kernels.REPEATED]),
        replaced=int(counts[kernels.REPLACED]),
    )
    sizes = len(workers), len(classes)
    try:
        worker_code = _translate(worker, met, workers)
        label_code = _translate(label, seen, classes)
    except BaseException:
        workers.truncate(sizes[0])
        classes.truncate(sizes[1])
        raise
    # Codes are given in order, so the vocabulary's size is the highest code met so far, plus one.
    sizes_met = np.maximum.accumulate(np.append(sizes[0], worker_code[met] + 1))
    known = np.where(met_by < 0, UNKNOWN, sizes_met[met_by])
    return Block(
        task.values,
        starts,
        _recode(kept_workers, worker_code),
        _recode(kept_labels, label_code),
        known,
        intake,
    )


def _translate(column: _Column, order: Ints, vocabulary: Vocabulary) -> Codes:
    """Column codes → vocabulary codes, new values added in the order given."""
    codes = np.full(len(column.values), UNKNOWN, np.int32)
    values = list(column.values)
    for local in order.tolist():
        codes[local] = vocabulary.add(values[local])
    return codes


def _recode(codes: Codes, new: Codes) -> Codes:
    """Codes in other codes; most often they are the same."""
    return codes if np.array_equal(new, np.arange(new.size)) else new[codes]


# Rows ------------------------------------------------------------------------------------


def _row_columns(rows: object) -> tuple[_Tasks, _Column, _Column]:
    if isinstance(rows, (str, bytes, PurePath, Mapping)) or not isinstance(rows, Iterable):
        raise InputError(
            "labels",
            "a table (polars, pandas, pyarrow, duckdb) or rows of (task, worker, label)",
            f"{type(rows).__name__} {shorten(rows)}"
            + (" (read the file first)" if isinstance(rows, (str, bytes, PurePath)) else ""),
        )
    words = Vocabulary(), Vocabulary(), Vocabulary()
    codes: tuple[list[int], list[int], list[int]] = ([], [], [])
    for number, row in enumerate(rows, start=1):
        for place, value in enumerate(_row_values(row, number)):
            codes[place].append(UNKNOWN if value is None else words[place].add(value))
    task, worker, label = (
        _Column(np.array(found, np.int32), known.to_list())
        for found, known in zip(codes, words, strict=True)
    )
    return _Tasks(task.codes, NO_ORDER, task.values), worker, label


def _row_values(
    row: object, number: int
) -> tuple[str | int | None, str | int | None, ClassLabel | None]:
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


def _table_columns(data: ArrowTable | pl.LazyFrame) -> tuple[_Tasks, _Column, _Column]:
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
    return (
        _code_tasks(_text(_clean_series(frame["task"]))),
        _code_series(_clean_series(frame["worker"])),
        _code_series(_clean_series(frame["label"], bools=True)),
    )


def _text(series: pl.Series) -> pl.Series:
    """Tasks leave as they came, so categories become the text they stand for."""
    import polars as pl

    return series.cast(pl.String) if isinstance(series.dtype, (pl.Categorical, pl.Enum)) else series


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

    tasks = _code_tasks(series)
    codes = tasks.codes
    if codes is None:
        sizes = np.diff(tasks.bounds)
        codes = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
    return codes, pl.Series(tasks.values)


def _code_tasks(series: pl.Series) -> _Tasks:
    """Tasks mostly stand together already: then where they begin is all there is to know."""
    if series.null_count() == 0 and len(series):
        firsts = (series != series.shift(1)).fill_null(True).arg_true()
        heads = series.gather(firsts)
        # Sorted, or of different hashes: then certainly different, and quickly told.
        if (
            heads.is_sorted()
            or heads.hash().n_unique() == len(heads)
            or heads.n_unique() == len(heads)
        ):
            bounds = np.append(firsts.to_numpy(), len(series)).astype(np.int64)
            return _Tasks(None, bounds, heads)
    column = _code_series(series)
    return _Tasks(column.codes, NO_ORDER, column.values)


def _code_series(series: pl.Series) -> _Column:
    """Codes in order of first appearance."""
    import polars as pl

    if series.dtype == pl.String:
        # Categories of our own: the shared default ones would keep every id ever seen.
        series = series.cast(pl.Categorical(pl.Categories.random()))
    values = series.drop_nulls().unique(maintain_order=True)
    if not isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        places = pl.int_range(len(values), eager=True)
        codes = series.replace_strict(values, places, return_dtype=pl.Int32)
        return _Column(codes.fill_null(UNKNOWN).to_numpy(), values)
    met = values.to_physical().to_numpy()
    found = series.to_physical()
    nothing = int(met.max(initial=0)) + 1
    if found.null_count():
        found = found.cast(pl.Int64).fill_null(nothing)
    code_of = np.full(nothing + 1, UNKNOWN, np.int32)
    code_of[met] = np.arange(len(values))
    return _Column(code_of.take(found.to_numpy()), values.cast(pl.String))
