"""Pairwise preferences as they come: tables or rows of two items, a judge and who won, into codes.

Knows nothing of how they are rated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels import ClassLabel, Kind, TaskId, Vocabulary, clean_id, kind_of, shorten
from crowdstream.labels.columns import ALIASES, find_column, pick_columns, simple_name
from crowdstream.labels.label import clean_label
from crowdstream.labels.tables import ArrowTable, is_table, select_columns
from crowdstream.panel.bradley_terry import Floats, Ints

if TYPE_CHECKING:
    import polars as pl

PairRow: TypeAlias = (
    "tuple[TaskId, TaskId, TaskId | None, ClassLabel | None] | Mapping[str, object]"
)
PairTable: TypeAlias = "ArrowTable | pl.LazyFrame | Iterable[PairRow]"
"""Comparisons: a table of any kind, or rows of (item_a, item_b, judge, winner)."""

FIRST = ("item_a", "model_a", "response_a", "answer_a", "first", "left", "a")
SECOND = ("item_b", "model_b", "response_b", "answer_b", "second", "right", "b")
WINNER = ("winner", "preference", "preferred", "verdict", "choice", "label", "outcome", "vote")
"""Names that the columns may have, the likeliest first."""

JUDGE = tuple(name for name in ALIASES["worker"] if name != "model")
"""Names of the judge's column; `model` is what is compared."""

A_WON = {"a", "item_a", "model_a", "response_a", "answer_a", "first", "left"}
B_WON = {"b", "item_b", "model_b", "response_b", "answer_b", "second", "right"}
TIED = {"tie", "tied", "draw", "equal", "both", "neither", "same", "tie_(bothbad)", "both_bad"}
"""Words for a tie, compared without case and spaces."""

ONE_JUDGE = "all"
"""Name of the judge where no column names one."""


class Pairs(NamedTuple):
    """Comparisons in codes; ``won`` is 1 where the first item won, ½ for a tie."""

    items: list[TaskId]
    judges: list[TaskId]
    first: Ints
    second: Ints
    judge: Ints
    won: Floats
    left_out: int
    """Rows without a winner, or of an item with itself."""
    kind: Kind


class PairColumns(NamedTuple):
    """The columns as the user named them; None where they are to be found by their usual names."""

    item_a: str | None = None
    item_b: str | None = None
    worker: str | None = None
    winner: str | None = None


def read_pairs(data: PairTable, columns: PairColumns) -> Pairs:
    """Comparisons in codes.

    >>> found = read_pairs([("x", "y", "gpt", "a"), ("y", "x", "gpt", "x")], PairColumns())
    >>> found.items, found.won.tolist()
    (['x', 'y'], [1.0, 0.0])
    """
    items, judges = Vocabulary(), Vocabulary()
    rows: list[tuple[int, int, int, float]] = []
    left_out = 0
    for number, (one_item, other, by, said) in enumerate(_rows(data, columns), start=1):
        where = f"row {number}"
        first = clean_id(one_item, f"{where}, item_a")
        second = clean_id(other, f"{where}, item_b")
        judge = clean_id(by, f"{where}, worker")
        label = clean_label(said, f"{where}, winner")
        if first is None or second is None:
            raise InputError(where, "two items", "one without a name")
        won = None if label is None or label == "" else _outcome(label, first, second, where)
        if won is None or first == second:
            left_out += 1
            continue
        name = ONE_JUDGE if judge is None else judge
        rows.append((items.add(first), items.add(second), judges.add(name), won))
    if not rows:
        raise InputError("comparisons", "at least one with a winner or a tie", "none")
    one, two, who = np.array([row[:3] for row in rows], np.int64).T.copy()
    shares = np.array([row[3] for row in rows])
    named = items.to_list(), judges.to_list()
    return Pairs(*named, one, two, who, shares, left_out, kind_of(data))


def _outcome(label: ClassLabel, first: TaskId, second: TaskId, where: str) -> float:
    """1 if the first item won, 0 if the second, ½ for a tie."""
    text = simple_name(str(label))
    by_name = {str(first): 1.0, str(second): 0.0}.get(str(label))
    by_place = 1.0 if text in A_WON else 0.0 if text in B_WON else 0.5 if text in TIED else None
    if by_name is None and by_place is None:
        expected = "'a', 'b', 'tie', or the name of one of the two items"
        raise InputError(f"{where}, winner", expected, shorten(label))
    if by_name is not None and by_place is not None and by_name != by_place:
        expected = "a winner that is either a place or an item (rename items called so)"
        raise InputError(f"{where}, winner", expected, f"{shorten(label)}, which is both")
    return by_place if by_name is None else by_name  # type: ignore[return-value]


def _rows(data: PairTable, columns: PairColumns) -> Iterable[tuple[object, ...]]:
    """Item a, item b, judge (None if there is no such column), winner."""
    if isinstance(data, (str, bytes)):
        expected = "a table or rows (a file: crowdstream preferences FILE)"
        raise InputError("comparisons", expected, shorten(data))
    if is_table(data):
        found: list[str | None] = []

        def choose(header: list[str]) -> list[str]:
            found.extend(_find(header, columns))
            return list(dict.fromkeys(name for name in found if name is not None))

        table = select_columns(data, choose)
        series = [[None] * table.height if name is None else table[name] for name in found]
        return zip(*series, strict=True)
    return _plain_rows(cast("Iterable[PairRow]", data), columns)


def _plain_rows(data: Iterable[PairRow], columns: PairColumns) -> Iterable[tuple[object, ...]]:
    for number, row in enumerate(data, start=1):
        if isinstance(row, Mapping):
            names = _find([str(name) for name in row], columns)
            yield tuple(None if name is None else row[name] for name in names)
        elif isinstance(row, (tuple, list)) and len(row) == 4:
            yield tuple(row)
        else:
            expected = "item_a, item_b, judge, winner"
            raise InputError(f"comparisons, row {number}", expected, shorten(row))


def _find(header: list[str], columns: PairColumns) -> list[str | None]:
    """The four columns; a table need not name a judge."""
    given = columns._asdict()
    aliases = {"item_a": FIRST, "item_b": SECOND, "winner": WINNER}
    for role, name in given.items():
        if name is not None:
            find_column(role, name, header, "comparisons", "{}=")  # says what there is instead
    wanted = {role: names for role, names in aliases.items() if given[role] is None}
    picked = dict(zip(wanted, pick_columns(wanted, header, "comparisons"), strict=True))
    judge = columns.worker
    if judge is None:
        simple = {simple_name(name): name for name in reversed(header)}
        judge = next((simple[name] for name in JUDGE if name in simple), None)
    named = {role: name or picked[role] for role, name in given.items() if role != "worker"}
    return [named["item_a"], named["item_b"], judge, named["winner"]]
