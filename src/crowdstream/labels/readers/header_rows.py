"""Search for the header of a table: titles may stand above it, or there may be none at all.

One rule for sheets and for text. Knows rows of cells and what is looked for in a header; nothing of
files or formats.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from crowdstream.errors import InputError
from crowdstream.labels.column_hints import looks_like_data, shown_columns
from crowdstream.labels.columns import ROLES, ColumnNames, count_roles, simple_name
from crowdstream.labels.readers.csv_quoting import LINE
from crowdstream.labels.readers.input_options import InputOptions

WINDOW = 30
"""Rows among which the header is looked for: titles, a legend and an address fit in a screen."""

SAMPLE = 60
"""Rows below the header that are looked at to say what kind of table it is."""

FIELD_MAX = 1 << 30
"""Characters that a cell of CSV may have; what is too long for a row is refused elsewhere."""

NOWHERE = "\0"
"""A column's name that no file has."""

IsHeader = Callable[[Sequence[str]], bool]
"""Test of whether the cells of a row name all columns that are needed."""


class HeaderPlace(NamedTuple):
    """The header among some rows: its place from 0; ``found``: it names all columns needed."""

    at: int
    found: bool


class HeaderRule(NamedTuple):
    """Rule by which a header is known: the columns that it names.

    Parameters
    ----------
    is_header
        Whether a row names all columns that are needed.
    count
        How many of the columns that are looked for a row names.
    needed
        The columns in words, for messages.
    wide
        Whether every named column but the task's is a worker.
    """

    is_header: IsHeader
    count: Callable[[Sequence[str]], int]
    needed: str
    wide: bool = False

    def place(self, rows: Sequence[Sequence[str]]) -> HeaderPlace:
        """Find the header; where no row names all columns, the row that most looks like one.

        >>> rule = label_header(ColumnNames())
        >>> rule.place([["Labels of March"], [], ["task", "worker", "label"], ["1", "ann", "x"]])
        HeaderPlace(at=2, found=True)
        >>> rule.place([["Labels of March"], ["item", "who", "said"], ["1", "ann", "x"]])
        HeaderPlace(at=1, found=False)
        """
        rows = rows[:WINDOW]
        found = find_header(rows, self.is_header)
        if found is not None:
            return HeaderPlace(found, found=True)
        # What follows only decides which columns the error names.
        first = find_header(rows, lambda cells: any(map(str.strip, cells))) or 0
        if rows and len(_names(rows[first])) < 2:
            full = [k for k, row in enumerate(rows) if len(_names(row)) >= len(ROLES)]
            known = [k for k in full if self.count(rows[k]) >= 2]
            if full:
                return HeaderPlace((known or full)[0], found=False)
        return HeaderPlace(first, found=False)


def find_header(rows: Sequence[Sequence[str]], is_header: IsHeader) -> int | None:
    """Return the index of the first row that is a header; None if none is.

    >>> find_header([["Our labels"], ["task", "gold"]], lambda cells: "gold" in cells)
    1
    """
    return next((k for k, cells in enumerate(rows) if is_header(cells)), None)


def label_header(names: ColumnNames) -> HeaderRule:
    """Return the rule for tables of labels.

    A header names task, worker and label; or task and worker beside others, one of which is a label
    by another name. That of a wide table names the task and at least two workers.

    >>> rule = label_header(ColumnNames())
    >>> rule.is_header(["task, worker and label of every answer"])
    False
    >>> rule.is_header(["Item", "Rater", "tone"])
    True
    """

    def is_header(cells: Sequence[str]) -> bool:
        if names.wide:
            return count_roles(names, cells) == 1 and len(_names(cells)) >= 3
        if count_roles(names, cells) == len(ROLES):
            return True
        if names.label is not None or len(_names(cells)) < len(ROLES):
            return False
        return count_roles(names._replace(label=NOWHERE), cells) == 2

    given = zip(ROLES, names[:3], strict=True)
    task, worker, label = (role if name is None else f"{role} ({name!r})" for role, name in given)
    needed = f"{task} and workers" if names.wide else f"{task}, {worker} and {label}"
    return HeaderRule(is_header, lambda cells: count_roles(names, cells), needed, names.wide)


def column_header(columns: Mapping[str, Sequence[str]]) -> HeaderRule:
    """Return the rule for other tables: every column by one of its names.

    >>> rule = column_header({"task": ("task", "item"), "gold": ("gold", "truth")})
    >>> rule.is_header(["Item", "note", "Truth"]), rule.is_header(["item", "task"])
    (True, False)
    """

    def count(cells: Sequence[str]) -> int:
        simple = set(map(simple_name, cells))
        return sum(not simple.isdisjoint(names) for names in columns.values())

    return HeaderRule(lambda cells: count(cells) == len(columns), count, ", ".join(columns))


def likely_header(wanted: Collection[str]) -> HeaderRule:
    """Return the rule for tables that need no column: a header has two of some names, or a cell.

    >>> likely_header(["task", "label", "confidence"]).is_header(["Task", "confidence", "x"])
    True
    """

    def count(cells: Sequence[str]) -> int:
        return len(set(map(simple_name, cells)).intersection(wanted))

    least = min(len(wanted), 2)
    return HeaderRule(
        lambda cells: bool(_names(cells)) and count(cells) >= least, count, ", ".join(wanted)
    )


def _names(cells: Sequence[str]) -> set[str]:
    return {cell for cell in cells if cell.strip()}


class TextRow(NamedTuple):
    """A row of CSV, and the bytes that it takes: from ``begin`` to ``end``."""

    cells: list[str]
    begin: int
    end: int


def split_rows(data: bytes, separator: str, begin: int = 0) -> Iterator[TextRow]:
    r"""Yield the rows of CSV with the places of their bytes, blank lines too, until one is odd.

    >>> [row[:2] for row in split_rows(b'"Our\nlabels"\n\ntask;gold\n', ";")]
    [(['Our\nlabels'], 0), ([], 13), (['task', 'gold'], 14)]
    """
    at = begin

    def lines() -> Iterator[str]:
        nonlocal at
        while at < len(data):
            found = LINE.match(data, at)
            assert found is not None  # the pattern matches anything
            at = found.end()
            yield found[0].decode("utf-8", errors="replace")

    csv.field_size_limit(FIELD_MAX)
    rows = csv.reader(lines(), delimiter=separator)
    while True:
        start = at
        try:
            cells = next(rows, None)
        except csv.Error:
            return
        if cells is None:
            return
        yield TextRow(cells, start, at)


def found_in_row(where: str, rows: Sequence[Sequence[str]], index: int) -> str | None:
    """Say where the header was found, unless nothing stands above it.

    >>> found_in_row("labels.csv", [["Our labels"], ["task", "worker", "label"]], 1)
    'labels.csv: header found in row 2'
    """
    if not any(map(_names, rows[:index])):
        return None
    return f"{where}: header found in row {index + 1}"


def check_titles(
    where: str,
    above: Sequence[Sequence[str]],
    header: Sequence[str],
    below: Iterable[Sequence[str | None]],
) -> None:
    """Refuse a header that was found below rows like those that follow it: they are no titles.

    >>> rows = [("t1", "ann", "x"), ("t2", "ann", "y")]
    >>> check_titles("labels.csv", rows[:1], ["task", "worker", "label"], rows[1:])
    Traceback (most recent call last):
    ...
    crowdstream.errors.InputError: labels.csv: expected titles above the header in row 2, found ...
    """
    width, number = len(_names(header)), len(above) + 1
    full = [(k, row) for k, row in enumerate(above, start=1) if len(_names(row)) >= width]
    if not full:
        return
    rows = list(below)
    for k, row in full:
        if looks_like_data(row, rows):
            hint = f"--header-row {number} leaves out what is above"
            found = f"{shown_columns(row)} in row {k}, which look like data ({hint})"
            raise InputError(where, f"titles above the header in row {number}", found)


def unnamed_columns(where: str, places: Sequence[int]) -> str | None:
    """Say which columns of a wide table, by their places from 0, are left out.

    >>> unnamed_columns("labels.csv", [0])
    'labels.csv: column 1 has no name, left out'
    """
    if not places:
        return None
    if len(places) == 1:
        return f"{where}: column {places[0] + 1} has no name, left out"
    shown = shown_columns([f"{place + 1}" for place in places])
    return f"{where}: columns {shown} have no name, left out"


def row_missing(where: str, header_row: int, rows: int) -> InputError:
    """Return the error for a ``--header-row`` that is not there."""
    return InputError(where, f"a header in row {header_row:,} (--header-row)", f"{rows:,} rows")


def check_no_header(where: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Refuse ``--columns`` where one of the first rows is a header of other names.

    Returns True if the first row has these very names: it is no row of labels then.
    """
    if rows and [cell.strip() for cell in rows[0]] == list(columns):
        return True
    found = find_header(rows[:WINDOW], label_header(ColumnNames()).is_header)
    if found is not None:
        shown = f"the header {shown_columns(rows[found])} in row {found + 1}"
        hint = f"add --header-row {found + 1}, or leave out --columns"
        raise InputError(where, "no header, as --columns was given", f"{shown} ({hint})")
    return False


def refuse_header_options(options: InputOptions, where: str, kind: str) -> None:
    """Refuse ``--columns`` and ``--header-row`` for files whose columns have names anyway.

    >>> refuse_header_options(InputOptions(header_row=2), "labels.parquet", "Parquet")
    Traceback (most recent call last):
    ...
    crowdstream.errors.InputError: labels.parquet: expected CSV, TSV or Excel for --header-row, ...
    """
    for option, given in (("--columns", options.columns), ("--header-row", options.header_row)):
        if given is not None:
            found = f"{kind}, which names its columns itself (see --task, --worker, --label)"
            raise InputError(where, f"CSV, TSV or Excel for {option}", found)
