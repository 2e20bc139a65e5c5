"""The one way in: labels of any kind → a `LabelBatch` in an estimator's codes.

    a file     readers:      bytes → codes of the reader's own           RawLabels
    a table    tables:       clean columns → codes of their own          RawLabels
    rows       row_values:   checked values → codes of their own         RawLabels
    each       meaning:      what labels mean → the labels of a question CodedLabels
    then       grouping:     rows in any order → labels grouped by task  LabelBatch
    and        _translate:   their codes → the estimator's, once; nothing to do if it is fresh

Text is looked at once, when it is coded. Knows nothing of estimators but their vocabularies.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias, Unpack, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError, OddLabels
from crowdstream.labels.batch import NO_TRUTHS, Codes, Ints, LabelBatch
from crowdstream.labels.choice_cells import write_list
from crowdstream.labels.coded_labels import CodedLabels, code_frame, code_values
from crowdstream.labels.columns import ROLES, ColumnNames, Roles, find_columns
from crowdstream.labels.gold import Truths, read_truths
from crowdstream.labels.label import (
    ClassLabel,
    Label,
    TaskId,
    WorkerId,
    are_usual,
    as_text,
    clean_answer,
    clean_id,
    clean_label,
    is_usual,
    shorten,
)
from crowdstream.labels.matching import in_kind_of
from crowdstream.labels.meaning.answers import is_no_answer, recoded
from crowdstream.labels.meaning.interpreting import (
    Interpreter,
    Meaning,
    QuestionLabels,
    RawLabels,
)
from crowdstream.labels.meaning.kinds import LabelHints, are_scores
from crowdstream.labels.meaning.options import HOW, TableMeaning, TableReading, read_meaning
from crowdstream.labels.meaning.repeats import refuse_replaced, telling_columns
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.meaning.words import group_words
from crowdstream.labels.row_loops import split_rows
from crowdstream.labels.spelling import find_twins
from crowdstream.labels.tables import (
    ArrowTable,
    clean_table,
    is_table,
    readable_again,
    select_columns,
)
from crowdstream.labels.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import polars as pl

Row: TypeAlias = (
    Label | tuple[TaskId | None, WorkerId | None, ClassLabel | None] | Mapping[str, object]
)
Table: TypeAlias = "ArrowTable | pl.LazyFrame | CodedLabels | QuestionLabels | Iterable[Row]"

LISTS = (Sequence, np.ndarray)
"""Types that a row of three values may have."""

SETS = (list, tuple, set, frozenset)
"""Types that a label may have that is a set of choices."""

ANY_NAMES = ColumnNames()
"""Columns are found by their aliases."""


class Intake(msgspec.Struct):
    """Counts of rows that came in, and of those that are not counted as labels."""

    rows: int = 0
    labels: int = 0
    tasks: int = 0
    null_task: int = 0
    null_worker: int = 0
    null_label: int = 0
    repeated: int = 0
    replaced: int = 0

    @property
    def given(self) -> int:
        """Labels that came in, also those that were repeated or replaced.

        Examples
        --------
        >>> Intake(labels=7, repeated=2, replaced=1).given
        10
        """
        return self.labels + self.repeated + self.replaced

    @classmethod
    def of_task(cls, answers: Sequence[tuple[WorkerId, ClassLabel | None]]) -> Intake:
        """Count what one task's answers bring in.

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
    gold: Truths | None = None,
    **meaning: Unpack[TableMeaning],
) -> tuple[LabelBatch, Intake]:
    """Code a table or rows, adding new ids to the vocabularies in order of appearance.

    A failed call leaves both vocabularies as they were.

    Parameters
    ----------
    data
        A table of any kind, rows of (task, worker, label), or what a reader of files returns.
    workers, classes
        The vocabularies.
    gold
        True classes of some tasks: whatever `read_truths` takes.
    **meaning
        What the table means, where it does not show it (`TableMeaning`).

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
    coded = code_rows(data, **meaning)
    order, rows, lost = np.empty(0, np.int64), coded.batch, 0
    ranks, tasks = coded.task_order()
    bounds = rows.starts
    if ranks.size > len(tasks):  # tasks come in several runs, or some rows have none
        order, bounds, lost = sort_rows(np.repeat(ranks, rows.sizes), len(tasks))
    rows = LabelBatch(bounds, rows.workers, rows.labels, tasks=tasks)
    batch, met, seen, *others = group(rows, order, len(coded.workers), len(coded.classes))
    intake = Intake(coded.height, batch.labels.size, len(tasks), lost, *others)
    refuse_replaced(intake.replaced, intake.given, coded.origin)
    intake.count(Intake(sum(coded.left_out), **coded.left_out._asdict()))
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

    new = target.add_all(names, order)
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


def code_rows(data: Table, **meaning: Unpack[TableMeaning]) -> CodedLabels:
    """Code the labels of one question, a table or rows, in codes of their own.

    >>> code_rows([("t1", "ann", "spam"), ("t1", "bob", None)]).batch.labels.tolist()
    [0, -1]
    """
    return interpret(data, **meaning).only("table", "question= names one").table


def interpret(data: Table, **meaning: Unpack[TableMeaning]) -> Meaning:
    """Tell what a table or rows mean: the labels of every question.

    Labels that were read from files are taken as they are. Of other tables, labels that look like
    the same class in several spellings are warned of.

    Parameters
    ----------
    data
        A table of any kind, or rows of (task, worker, label).
    **meaning
        What the table means, where it does not show it.

    Examples
    --------
    >>> rows = [{"item": 1, "judge": "a", "criterion": c, "verdict": "yes"} for c in ("x", "y")]
    >>> [question.name for question in interpret(rows).questions]
    ['x', 'y']
    """
    reading = read_meaning(meaning)
    if isinstance(data, QuestionLabels):
        raw = RawLabels(data.table, Roles(*ROLES[:2], ROLES[2:]))
        hints = reading.hints._replace(as_classes=True)
        return Interpreter(hints=hints, clean=False).whole([raw])._replace(questions=[data])
    if isinstance(data, CodedLabels):
        hints = reading.hints
        raw = RawLabels(data, Roles(*ROLES[:2], ROLES[2:]))
        if hints == LabelHints(exact=True):  # interpreted already
            hints = hints._replace(as_classes=True)
        return Interpreter(hints=hints, where="table", how=HOW, clean=False).whole([raw])
    if is_table(data):
        data = readable_again(data)
    elif isinstance(data, Iterable) and not isinstance(data, (Sequence, Mapping)):
        data = list(data)
    raw = _raw_table(data, reading)
    found = Interpreter(reading.names, reading.hints, where="table", how=HOW, clean=False).whole(
        [raw]
    )
    origin = TableOrigin(data, raw.roles)
    questions = [
        replace(question, table=replace(question.table, origin=origin))
        for question in found.questions
    ]
    for question in questions:
        _warn_of_twins(question, reading.hints)
    return found._replace(questions=questions)


def _raw_table(data: Table, reading: TableReading) -> RawLabels:
    """A table or rows as a reader would hand them over."""
    shaper = Shaper(reading.names, "table", HOW)
    if isinstance(data, (str, bytes, PurePath, Mapping)) or not (
        is_table(data) or isinstance(data, Iterable)
    ):
        raise InputError(
            "labels",
            "a table (polars, pandas, pyarrow, duckdb) or rows of (task, worker, label)",
            f"{type(data).__name__} {shorten(data)}"
            + (" (read the file first)" if isinstance(data, (str, bytes, PurePath)) else ""),
        )
    if is_table(data):
        return _raw_frame(select_columns(data, shaper.needed), shaper, reading.on_error)
    rows = cast("Sequence[Row]", data)
    names = reading.names
    header = dict.fromkeys(str(key) for row in rows if isinstance(row, Mapping) for key in row)
    if header and not shaper.look_at(list(header), "row 1").plain:
        return _raw_frame(_frame_of_rows(rows, shaper, list(header)), shaper, reading.on_error)
    if rows and not header and (names.wide or names.repeat or len(names.labels) > 1):
        asked = "wide" if names.wide else "repeat" if names.repeat else "label"
        expected = f"a table, or rows that are mappings ({asked}= is about columns)"
        raise InputError("row 1", expected, f"{type(rows[0]).__name__} {shorten(rows[0])}")
    coded = _code_answers(rows, names, reading.hints)
    ids = coded.batch.workers < 0
    if any(task is None for task in coded.batch.tasks):
        ids = ids | np.repeat([task is None for task in coded.batch.tasks], coded.batch.sizes)
    _refuse_nameless(ids, reading.on_error)
    return RawLabels(coded, shaper.roles or Roles(*ROLES[:2], ROLES[2:]))


def _raw_frame(frame: pl.DataFrame, shaper: Shaper, on_error: str) -> RawLabels:
    """A table of polars, one row per label."""
    import polars as pl

    roles = shaper.roles or shaper.look_at(frame.columns)
    ids = [column for column in (roles.task, roles.worker) if column is not None]
    nameless = frame.select(pl.any_horizontal(_is_missing(frame[name]) for name in ids))
    # Rows that are skipped stay until they are counted (`Intake`).
    _refuse_nameless(nameless.to_series().to_numpy(), on_error)
    table = clean_table(shaper.shape(frame))
    plain = table.columns == list(ROLES)
    return RawLabels(code_frame(table) if plain else table, shaper.roles or roles, shaper.left_out)


def _is_missing(column: pl.Series) -> pl.Series:
    return column.fill_nan(None).is_null() if column.dtype.is_float() else column.is_null()


def _refuse_nameless(missing: NDArray[np.bool_], on_error: str) -> None:
    """Refuse rows without a task or a worker, unless they are to be left out."""
    if on_error == "fail" and missing.any():
        row, number = int(missing.argmax()) + 1, int(missing.sum())
        found = f"nothing, as in {number:,} rows in all" if number > 1 else "nothing"
        raise InputError(f"row {row}", "a task and a worker (on_error='skip' leaves out)", found)


def _code_answers(rows: Sequence[object], names: ColumnNames, hints: LabelHints) -> CodedLabels:
    """Rows in codes. Scores are text, as in files; among words they are refused unless told of."""
    scores: list[tuple[int, object]] = []

    def values() -> Iterator[tuple[TaskId | None, WorkerId | None, ClassLabel | None]]:
        for number, row in enumerate(rows, start=1):
            yield row_values(row, number, names, scores)

    coded = code_values(values())
    if not scores:
        return coded
    if hints == LabelHints(exact=True) and not are_scores(list(coded.classes)):
        number, label = scores[0]
        clean_label(label, f"row {number}, column 'label'")  # raises
    return recoded(coded, [str(label) for label in coded.classes])


def _frame_of_rows(rows: Sequence[object], shaper: Shaper, header: list[str]) -> pl.DataFrame:
    """Rows that are mappings as a table of the columns that are needed."""
    roles = shaper.look_at(header)
    named = {roles.task, roles.worker, roles.question, roles.repeat, *roles.labels}
    cells: dict[str, list[ClassLabel | None]] = {name: [] for name in shaper.needed(header)}
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number}", "a mapping, as the others are", shorten(row))
        for name, values in cells.items():
            where = f"row {number}, column {name!r}"
            try:
                values.append(_cell(row.get(name), where))
            except InputError:
                if name in named:
                    raise
                values.append(None)  # a column that may turn out to hold no labels
    import polars as pl

    return pl.DataFrame([_column_of(name, values) for name, values in cells.items()])


def _cell(value: object, where: str) -> ClassLabel | None:
    """A cell of a row; a list is a set of choices, as JSON text."""
    if not isinstance(value, SETS):
        return clean_answer(value, where)
    cells = [clean_answer(each, where) for each in value]
    return write_list([str(as_text(cell)) for cell in cells if cell is not None])


def _column_of(name: str, values: list[ClassLabel | None]) -> pl.Series:
    """Values of rows as a column: text if they are of several kinds."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    if kinds != {int}:
        return pl.Series(name, values, None if kinds == {bool} else pl.String)
    for kind in (pl.Int64, pl.UInt64):
        try:
            return pl.Series(name, values, kind)
        except (TypeError, OverflowError):
            continue
    raise InputError(f"column {name!r}", "integers of 64 bits, signed or not", "both")


def _warn_of_twins(question: QuestionLabels, hints: LabelHints) -> None:
    """Warn of labels that look like one class in several spellings, or like no answer."""
    if hints.as_classes or question.kind.made:
        return
    texts = [label for label in question.table.classes if isinstance(label, str)]
    twins = find_twins(texts)
    none = [text for text in texts if is_no_answer(text)]
    if twins:
        text = "labels that differ only in spelling count as classes of their own: "
        warnings.warn(OddLabels(text + group_words(twins)), stacklevel=5)
    if none:
        shown = ", ".join(map(repr, none[:4]))
        warnings.warn(
            OddLabels(f"{shown} looks like no answer and counts as a class"), stacklevel=5
        )


class TableOrigin:
    """The table that labels came from.

    Parameters
    ----------
    data
        The table, or rows.
    roles
        Its columns.
    """

    def __init__(self, data: Table, roles: Roles) -> None:
        self.data, self.roles = data, roles

    def telling_columns(self) -> list[str]:
        """Columns without a role that tell contradicting labels apart."""
        import polars as pl

        roles = self.roles
        if roles.worker is None or not roles.others:
            return []
        rows = [] if is_table(self.data) else cast("Sequence[Row]", self.data)
        if not all(isinstance(row, Mapping) for row in rows):
            return []
        keys = [name for name in (roles.task, roles.worker, roles.question) if name is not None]
        columns = [self._column(name) for name in (*keys, roles.labels[0])]
        for name in roles.others:
            try:
                columns.append(self._column(name))
            except InputError:
                continue  # a column that is no Arrow
        frame = pl.DataFrame(columns)
        others = [name for name in roles.others if name in frame.columns]
        others = [name for name in others if not frame[name].dtype.is_nested()]
        return telling_columns(frame, keys, roles.labels[0], others)

    def _column(self, name: str) -> pl.Series:
        if is_table(self.data):
            return select_columns(self.data, lambda _: [name]).to_series()
        rows = cast("Sequence[Mapping[str, object]]", self.data)
        return _column_of(name, [_cell(row.get(name), name) for row in rows])

    def words(self, role: str, value: str) -> str:
        """The words that give a role to a column."""
        return f"{role}={value!r}" if value else f"{role}=True"


def usual_columns(
    rows: Sequence[object],
) -> tuple[list[TaskId], list[WorkerId], list[ClassLabel | None]] | None:
    """Tasks, workers and labels of rows, checked at once; ``None`` if any is not as most are.

    >>> usual_columns([("t1", "ann", "spam"), ("t2", "bob", "ham")])
    (['t1', 't2'], ['ann', 'bob'], ['spam', 'ham'])
    >>> usual_columns([("t1", "ann", None)])
    """
    columns = split_rows(rows if isinstance(rows, list) else list(rows))
    return columns if columns is not None and all(map(are_usual, columns)) else None


def row_values(
    row: object,
    number: int,
    columns: ColumnNames = ANY_NAMES,
    scores: list[tuple[int, object]] | None = None,
) -> tuple[TaskId | None, WorkerId | None, ClassLabel | None]:
    """The task, worker and label of a row, checked.

    ``scores``: takes the rows whose label is a number that is not whole, which becomes text, as a
    set of choices does; such labels are refused without it.

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
    task_id = clean_id(found[0], f"{where}, column 'task'")
    worker_id = clean_id(found[1], f"{where}, column 'worker'")
    if scores is None:
        return task_id, worker_id, clean_label(found[2], f"{where}, column 'label'")
    answer = _cell(found[2], f"{where}, column 'label'")
    if isinstance(answer, str) and not isinstance(found[2], (str, *SETS)):
        scores.append((number, found[2]))
    return task_id, worker_id, answer


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
