"""The one way in: labels of any kind → a `LabelBatch` in an estimator's codes.

    a file     readers:      bytes → codes of the reader's own           CodedLabels
    a table    tables:       three clean columns → codes of their own    CodedLabels
    rows       row_values:   checked values → codes of their own         CodedLabels
    then       grouping:     rows in any order → labels grouped by task  LabelBatch
    and        _translate:   their codes → the estimator's, once; nothing to do if it is fresh

Text is looked at once, when it is coded. Knows nothing of estimators but their vocabularies.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.coded_labels import CodedLabels, code_frame, code_values
from crowdstream.labels.gold import Truths, read_truths
from crowdstream.labels.label import (
    ClassLabel,
    Label,
    TaskId,
    WorkerId,
    are_usual,
    clean_id,
    clean_label,
    is_usual,
    shorten,
)
from crowdstream.labels.matching import in_kind_of
from crowdstream.labels.tables import (
    ROLES,
    ArrowTable,
    ColumnNames,
    find_columns,
    is_table,
    read_table,
)
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

Row: TypeAlias = (
    Label | tuple[TaskId | None, WorkerId | None, ClassLabel | None] | Mapping[str, object]
)
Table: TypeAlias = "ArrowTable | pl.LazyFrame | CodedLabels | Iterable[Row]"

LISTS = (Sequence, np.ndarray)
"""What a row of three values may be."""

ANY_NAMES = ColumnNames()
"""Columns are found by their aliases."""


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

    @classmethod
    def of_task(cls, answers: Sequence[tuple[WorkerId, ClassLabel | None]]) -> Intake:
        """What one task's answers bring in.

        Parameters
        ----------
        answers
            Who said what; ``None`` is a skip.

        Examples
        --------
        >>> Intake.of_task([("ann", "spam"), ("bob", None)]).labels
        1
        """
        given = sum(label is not None for _, label in answers)
        return cls(len(answers), given, tasks=1, null_label=len(answers) - given)

    def count(self, other: Intake, sign: int = 1) -> None:
        """Add another's counts, or with sign −1 take them back.

        Parameters
        ----------
        other
            What is added.
        sign
            1 or −1.

        Examples
        --------
        >>> intake = Intake(rows=2, labels=1)
        >>> intake.count(Intake(rows=1, labels=1))
        >>> intake.rows, intake.labels
        (3, 2)
        """
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))


def code_table(
    data: Table,
    workers: Vocabulary,
    classes: Vocabulary,
    *,
    columns: ColumnNames = ANY_NAMES,
    gold: Truths | None = None,
) -> tuple[LabelBatch, Intake]:
    """Code a table or rows, adding new ids to the vocabularies in order of appearance.

    A failed call leaves both vocabularies as they were.

    Parameters
    ----------
    data
        A table of any kind, rows of (task, worker, label), or what a reader of files returns.
    workers, classes
        The vocabularies.
    columns
        The table's columns, where they are not called by one of their aliases.
    gold
        True classes of some tasks: whatever `read_truths` takes.

    Examples
    --------
    >>> workers, classes = Vocabulary(), Vocabulary()
    >>> rows = [("t1", "ann", "spam"), ("t2", "ann", "ham"), ("t1", "bob", "spam")]
    >>> batch, intake = code_table(rows, workers, classes, gold={"t2": "ham"})
    >>> batch.starts.tolist(), batch.workers.tolist(), batch.labels.tolist()
    ([0, 2, 3], [0, 1, 0], [0, 0, 1])
    >>> batch.truths.tolist(), intake.labels
    ([-1, 1], 3)
    """
    from crowdstream.labels.grouping import group, sort_rows

    truths = read_truths(gold)
    coded = code_rows(data, columns)
    order, rows, lost = np.empty(0, np.int64), coded.batch, 0
    ranks, tasks = coded.task_order()
    bounds = rows.starts
    if ranks.size > len(tasks):  # tasks come in several runs, or some rows have none
        order, bounds, lost = sort_rows(np.repeat(ranks, rows.sizes), len(tasks))
    rows = LabelBatch(bounds, rows.workers, rows.labels, tasks=tasks)
    batch, met, seen, *others = group(rows, order, len(coded.workers), len(coded.classes))
    intake = Intake(coded.height, batch.labels.size, len(tasks), lost, *others)
    sizes = len(workers), len(classes)
    try:
        batch = LabelBatch(
            batch.starts,
            _translate(batch.workers, met, coded.workers, workers),
            _translate(batch.labels, seen, coded.classes, classes),
            _code_truths(tasks, truths, classes),
            tasks,
        )
    except BaseException:
        workers.truncate(sizes[0])
        classes.truncate(sizes[1])
        raise
    return batch, intake


def _translate(codes: Codes, order: Ints, names: Vocabulary, target: Vocabulary) -> Codes:
    """Codes of one vocabulary as those of another; new names are added in the order given."""
    from crowdstream.labels.grouping_loops import recode

    new = np.array([target.add(names[code]) for code in order.tolist()], np.int32)
    if np.array_equal(new, order):
        return codes
    code_of = np.full(len(names), UNKNOWN, np.int32)
    code_of[order] = new
    translated = codes.copy()
    recode(translated, code_of)
    return translated


def _code_truths(
    tasks: Iterable[TaskId], truths: Mapping[TaskId, ClassLabel], classes: Vocabulary
) -> Codes:
    if not truths:
        return NO_TRUTHS
    truths = in_kind_of(truths, tasks)
    known = (truths.get(task) for task in tasks)
    codes = [UNKNOWN if label is None else _truth_code(label, classes) for label in known]
    return np.array(codes, np.int32)


def _truth_code(label: ClassLabel, classes: Vocabulary) -> int:
    """The code of a true class: 1 and "1" are the same where only one of them is known."""
    if label not in classes and type(label) is not bool:
        text = isinstance(label, str) and label.isdecimal() and str(int(label)) == label
        other = int(label) if text else str(label)
        if other in classes:
            return classes.code(other)
    return classes.add(label)


def code_rows(data: Table, columns: ColumnNames = ANY_NAMES) -> CodedLabels:
    """Code a table or rows in codes of their own, in the order they have.

    >>> code_rows([("t1", "ann", "spam"), ("t1", "bob", None)]).batch.labels.tolist()
    [0, -1]
    """
    if isinstance(data, CodedLabels):
        return data
    if is_table(data):
        return code_frame(read_table(data, columns))
    if isinstance(data, (str, bytes, PurePath, Mapping)) or not isinstance(data, Iterable):
        raise InputError(
            "labels",
            "a table (polars, pandas, pyarrow, duckdb) or rows of (task, worker, label)",
            f"{type(data).__name__} {shorten(data)}"
            + (" (read the file first)" if isinstance(data, (str, bytes, PurePath)) else ""),
        )
    return code_values(row_values(row, k, columns) for k, row in enumerate(data, start=1))


def usual_columns(
    rows: Sequence[object],
) -> tuple[list[TaskId], list[WorkerId], list[ClassLabel | None]] | None:
    """Tasks, workers and labels of rows, checked at once; ``None`` if any is not as most are.

    >>> usual_columns([("t1", "ann", "spam"), ("t2", "bob", "ham")])
    (['t1', 't2'], ['ann', 'bob'], ['spam', 'ham'])
    >>> usual_columns([("t1", "ann", None)])
    """
    if set(map(type, rows)) != {tuple} or set(map(len, rows)) != {3}:  # type: ignore[arg-type]
        return None
    columns = tuple(map(list, zip(*rows, strict=True)))
    return columns if all(map(are_usual, columns)) else None  # type: ignore[return-value]


def row_values(
    row: object, number: int, columns: ColumnNames = ANY_NAMES
) -> tuple[TaskId | None, WorkerId | None, ClassLabel | None]:
    """The task, worker and label of a row, checked.

    >>> row_values({"item": 7.0, "judge": "gpt-a", "verdict": "yes"}, 1)
    (7, 'gpt-a', 'yes')
    """
    if type(row) is tuple and len(row) == 3:  # as most are: nothing to say where it stands
        task, worker, label = row
        if is_usual(task) and is_usual(worker) and (is_usual(label) or type(label) is bool):
            return task, worker, label
    where = f"row {number}"
    if isinstance(row, Label):
        found: Sequence[object] = (row.task, row.worker, row.label)
    elif isinstance(row, Mapping):
        found = [row[name] for name in _keys(tuple(map(str, row)), columns, where)]
    elif isinstance(row, LISTS) and not isinstance(row, (str, bytes)) and len(row) == 3:
        found = list(row)
    else:
        raise InputError(where, "(task, worker, label)", f"{type(row).__name__} {shorten(row)}")
    return (
        clean_id(found[0], f"{where}, column 'task'"),
        clean_id(found[1], f"{where}, column 'worker'"),
        clean_label(found[2], f"{where}, column 'label'"),
    )


def _keys(header: tuple[str, ...], columns: ColumnNames, where: str) -> tuple[str, str, str]:
    """The keys of a row that is a mapping."""
    if header[:3] == ROLES and columns == ANY_NAMES:  # as most are
        return ROLES
    try:
        return _known_keys(header, columns)
    except InputError as error:
        raise InputError(where, error.expected, error.found) from None


@functools.lru_cache(maxsize=64)
def _known_keys(header: tuple[str, ...], columns: ColumnNames) -> tuple[str, str, str]:
    return find_columns(columns, header, "row", "{}=")
