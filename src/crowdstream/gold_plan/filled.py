"""A plan that somebody has filled in → answers that can be used, and what was wrong with the rest.

People leave rows blank, misspell classes and paste tasks from elsewhere: what cannot be used is
left out and named with its row, never guessed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, TaskId, Truths, read_truths
from crowdstream.labels.columns import ALIASES, pick_columns
from crowdstream.labels.gold import COLUMNS
from crowdstream.labels.matching import NameIndex
from crowdstream.labels.readers.small_tables import read_text_table
from crowdstream.labels.tables import is_table, select_columns

if TYPE_CHECKING:
    import polars as pl

NAMED = 5
"""Rows that are named one by one; of further ones of the same kind only the number is."""

CLASSES_SHOWN = 12
"""Classes that a message names."""


class Answer(NamedTuple):
    """One row that was filled in: a stratum of −1 is none."""

    task: TaskId
    gold: ClassLabel
    stratum: int = -1
    stratum_tasks: int = 0


@dataclass
class Filled:
    """The answers, how many rows were blank, and what was left out."""

    answers: list[Answer] = field(default_factory=list)
    blank: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def stratified(self) -> bool:
        """True if any answer says which stratum it stands for; rows that somebody added do not."""
        return any(answer.stratum >= 0 for answer in self.answers)


class _Row(NamedTuple):
    number: int
    task: str
    gold: str
    stratum: int
    stratum_tasks: int


def read_filled(filled: Truths, tasks: Iterable[TaskId], classes: Sequence[ClassLabel]) -> Filled:
    """Read a plan that was filled in: a file, a table, or a mapping of task to class.

    Parameters
    ----------
    filled
        The plan. Without the columns stratum and stratum_tasks it is a plain list of true labels.
    tasks, classes
        Those there are. Names are compared as text and, where none is the same, by their normal
        form: without regard to upper and lower case and blanks; 1.0 is 1.

    Examples
    --------
    >>> filled = {"t1": "Spam", "t2": "spma", "t9": "ham"}
    >>> found = read_filled(filled, ["t1", "t2"], ["spam", "ham"])
    >>> found.answers
    [Answer(task='t1', gold='spam', stratum=-1, stratum_tasks=0)]
    >>> for note in found.notes:
    ...     print(note)
    gold, row 2 (task t2): 'spma' is not one of the classes spam, ham; perhaps 'spam'? Left out
    gold, row 3: no labels for task 't9'. Left out
    """
    where, rows = _rows(filled)
    by_name, by_class = NameIndex(tasks), NameIndex(classes)
    found, seen = Filled(), dict[TaskId, _Row]()
    misspelt, unknown = list[str](), list[str]()
    for row in rows:
        if not row.gold:
            found.blank += 1
            continue
        task, label = by_name.find(row.task), by_class.find(row.gold)
        if task is None:
            unknown.append(f"{where}, row {row.number}: no labels for task {row.task!r}. Left out")
        elif label is None:
            at = f"{where}, row {row.number} (task {row.task})"
            misspelt.append(
                f"{at}: {row.gold!r} {_hint(row.gold, classes)}. Left out".replace("?.", "?")
            )
        elif task in seen:
            if by_class.find(seen[task].gold) != label:
                both = f"{seen[task].gold!r} and {row.gold!r}"
                raise InputError(f"{where}, row {row.number} (task {row.task})", "one class", both)
        else:
            seen[task] = row
            found.answers.append(Answer(task, label, row.stratum, row.stratum_tasks))
    for notes, what in ((misspelt, "such classes"), (unknown, "such tasks")):
        found.notes += notes[:NAMED]
        if len(notes) > NAMED:
            found.notes.append(f"… and {len(notes) - NAMED:,} more {what}")
    added = sum(answer.stratum < 0 for answer in found.answers)
    if found.stratified and added:
        rest = "nothing in column stratum: not counted in shares of all tasks"
        found.notes.append(f"{where}: {added:,} answers with {rest}")
    if not found.answers:
        if not found.notes:
            raise InputError(where, "at least one row filled in, in column gold", "none")
        first = found.notes[0].removeprefix(f"{where}, ").removesuffix(" Left out").rstrip(".")
        count = len(misspelt) + len(unknown)
        raise InputError(
            where, "an answer that can be used", f"none of {count:,} filled in: {first}"
        )
    return found


PLANNED = {"stratum", "stratum_tasks"}
"""Columns that a plan has and other true labels do not."""


def is_plan(filled: Truths | None) -> bool:
    """Return whether true labels say by which strata their tasks were drawn.

    >>> is_plan({"t1": "spam"})
    False
    """
    if isinstance(filled, (str, PathLike)):
        return set(read_text_table(fspath(filled)).columns) >= PLANNED
    if filled is None or not is_table(filled):
        return False
    return set(select_columns(filled, lambda header: header).columns) >= PLANNED


def new_classes(filled: Truths, classes: Sequence[ClassLabel]) -> list[str]:
    """Return the classes that answers name and nobody else has, unless they look misspelt.

    Parameters
    ----------
    filled
        As for `read_filled`.
    classes
        Those that labels have.

    Examples
    --------
    >>> new_classes({"t1": "Spam", "t2": "spma", "t9": "refused"}, ["spam", "ham"])
    ['refused']
    """
    index, names = NameIndex(classes), [str(label) for label in classes]
    said = dict.fromkeys(row.gold for row in _rows(filled)[1] if row.gold)
    unknown = [label for label in said if index.find(label) is None]
    return [label for label in unknown if not difflib.get_close_matches(label, names, 1)]


def _hint(said: str, classes: Iterable[ClassLabel]) -> str:
    names = [str(label) for label in classes]
    shown = ", ".join(names[:CLASSES_SHOWN])
    if len(names) > CLASSES_SHOWN:
        shown += f" and {len(names) - CLASSES_SHOWN:,} more"
    close = difflib.get_close_matches(said, names, 1)
    return f"is not one of the classes {shown}" + (f"; perhaps {close[0]!r}?" if close else "")


def _rows(filled: Truths) -> tuple[str, list[_Row]]:
    """Return the table's name for messages, and its rows, numbered from 1 below the header."""
    if isinstance(filled, (str, PathLike)):
        where = fspath(filled)
        return where, _table_rows(read_text_table(where), where)
    if is_table(filled):
        import polars as pl

        table = select_columns(filled, lambda header: header)
        return "gold", _table_rows(table.select(pl.all().cast(pl.String)), "gold")
    pairs = enumerate(read_truths(filled).items(), start=1)
    return "gold", [_Row(k, str(task), str(label), -1, 0) for k, (task, label) in pairs]


def _table_rows(table: pl.DataFrame, where: str) -> list[_Row]:
    planned = set(table.columns) >= PLANNED
    # In a plan the column label is what the crowd decided: never to be taken for the truth.
    wanted = {"task": COLUMNS["task"], "gold": ALIASES["gold"]} if planned else COLUMNS
    task, gold = pick_columns(wanted, table.columns, where)
    columns = [table[task], table[gold]]
    if planned:
        columns += [table["stratum"], table["stratum_tasks"]]
    rows = []
    for number, (name, said, *stratum) in enumerate(zip(*columns, strict=True), start=1):
        place, size = _stratum(stratum, f"{where}, row {number}") if planned else (-1, 0)
        rows.append(_Row(number, (name or "").strip(), (said or "").strip(), place, size))
    return rows


def _stratum(cells: list[str | None], where: str) -> tuple[int, int]:
    """The stratum and its size; a row that somebody added has neither."""
    if not any(cells):
        return -1, 0
    try:
        place, size = (int(float(cell or "")) for cell in cells)
    except ValueError:
        raise InputError(
            f"{where}, columns stratum and stratum_tasks", "whole numbers", repr(cells)
        ) from None
    return place, size
