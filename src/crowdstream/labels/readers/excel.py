"""Workbooks (.xlsx): the sheet that has the columns, every cell as text.

Needs fastexcel, of the extra ``excel``. Knows nothing of other formats, nor what the columns are.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.labels.column_hints import SHOWN, shown_columns, shown_name
from crowdstream.labels.readers.archives import check_unpacked
from crowdstream.labels.readers.header_rows import (
    SAMPLE,
    WINDOW,
    HeaderPlace,
    HeaderRule,
    check_no_header,
    check_titles,
    found_in_row,
    row_missing,
    unnamed_columns,
)
from crowdstream.labels.readers.input_options import InputOptions
from crowdstream.labels.readers.sheet_extents import check_extents
from crowdstream.labels.readers.sources import Source, open_bytes

if TYPE_CHECKING:
    import fastexcel
    import polars as pl

MOST_SHEETS = 100
"""Sheets that are looked through for columns: a sheet a day for a season, read in some seconds."""


class Sheet(NamedTuple):
    """A sheet as a table of text; ``where``: what messages call it.

    ``rows`` are the numbers of the table's rows in the sheet, as the spreadsheet shows them.
    """

    where: str
    table: pl.DataFrame
    rows: pl.Series


def read_sheet(source: Source, rule: HeaderRule, note: Callable[[str], object]) -> Sheet:
    """Read the sheet that is asked for, else the first that has the columns.

    Parameters
    ----------
    source
        The workbook.
    rule
        How the header is known.
    note
        Takes what is to be said of how it was read.
    """
    book = _open(source)
    names = book.sheet_names
    if not names:
        raise InputError(source.name, "a workbook with a sheet", "none")
    wanted = source.options.sheet
    asked = names[:MOST_SHEETS] if wanted is None else [_find_sheet(names, wanted, source)]
    seen: list[_RawSheet] = []
    for name in asked:
        where = source.name if len(names) == 1 else f"{source.name}, sheet {shown_name(name)!r}"
        raw = _load(book, name, where, rule, source.options, alone=len(asked) == 1)
        seen.append(raw)
        if raw.place.found:
            break
    else:
        raw = _only_sheet(seen, rule, source)
    if len(asked) > 1:
        others = ", ".join(repr(shown_name(name)) for name in names[:SHOWN] if name != raw.name)
        more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        note(f"{source.name}: sheet {shown_name(raw.name)!r} is read, not {others}{more} (--sheet)")
    return raw.cut(rule, source.options, note)


def _open(source: Source) -> fastexcel.ExcelReader:
    if importlib.util.find_spec("fastexcel") is None:
        raise CrowdstreamError(
            f"{source.name}: reading .xlsx needs fastexcel: pip install 'crowdstream[excel]'"
        )
    import fastexcel

    with open_bytes(source) as file:
        data = file.read()
    check_unpacked(data, source, "a workbook (.xlsx)")
    check_extents(data, source)
    try:
        return fastexcel.read_excel(data)
    except fastexcel.FastExcelError as error:
        raise _broken(source.name, error) from None


def _broken(where: str, error: Exception) -> InputError:
    found = (str(error).splitlines() or ["another"])[0]
    return InputError(where, "a workbook (.xlsx)", found[:200])


def _find_sheet(names: list[str], wanted: str, source: Source) -> str:
    """Return the sheet asked for by name or by number."""
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(names):
        return names[int(wanted) - 1]
    found = f"sheets {shown_columns(names)}"
    raise InputError(source.name, f"a sheet {shown_name(wanted)!r} (--sheet)", found)


class _RawSheet(NamedTuple):
    """A sheet as it lies there, and where its header is."""

    name: str
    where: str
    cells: pl.DataFrame
    place: HeaderPlace

    def row(self, index: int) -> list[str]:
        return [cell or "" for cell in self.cells.row(index)] if self.cells.height else []

    def shown(self, options: InputOptions) -> str:
        """Describe the sheet in a message: its name and what looks like its header."""
        name = repr(shown_name(self.name))
        if not self.cells.height:
            return f"{name} (empty)"
        if options.columns is not None and options.header_row is None:
            return f"{name} ({self.cells.width} columns)"
        return f"{name} ({shown_columns([cell for cell in self.row(self.place.at) if cell])})"

    def cut(self, rule: HeaderRule, options: InputOptions, note: Callable[[str], object]) -> Sheet:
        """Return what is below the header, without blank rows and columns without a name."""
        import polars as pl

        if not self.cells.height:
            raise InputError(self.where, "a header and rows", "nothing")
        header, begin = self.row(self.place.at), self.place.at + 1
        if options.columns is not None:
            header, begin = self._named(options, header, begin)
        elif options.header_row is None and self.place.found:
            above = [self.row(k) for k in range(begin)]
            below = self.cells.slice(begin, SAMPLE).rows()
            check_titles(self.where, above[:-1], header, below)
            if (said := found_in_row(self.where, above, begin - 1)) is not None:
                note(said)
        table = self.cells.with_row_index("row", offset=1).slice(begin)
        table = table.filter(pl.any_horizontal(pl.exclude("row").str.strip_chars() != ""))
        places = [place for place, name in enumerate(header) if name]
        if rule.wide and options.columns is None:
            _note_unnamed(table, header, self.where, note)
        names = _different([header[place] for place in places], rule, self.where)
        columns = self.cells.columns  # a list made anew at every look
        chosen = table.select(
            pl.col(columns[place]).alias(name) for place, name in zip(places, names, strict=True)
        )
        return Sheet(self.where, chosen, table["row"])

    def _named(self, options: InputOptions, header: list[str], begin: int) -> tuple[list[str], int]:
        """Return the names that the user gave the columns, and where the rows begin."""
        names = list(options.columns or ())
        if options.header_row is None:
            above = [self.row(k) for k in range(min(self.cells.height, WINDOW))]
            begin = int(check_no_header(self.where, names, above))
        if len(names) != self.cells.width:
            found = f"{self.cells.width}, the first row being {shown_columns(header)}"
            raise InputError(self.where, f"{len(names)} columns (--columns)", found)
        return names, begin


def _load(
    book: fastexcel.ExcelReader,
    name: str,
    where: str,
    rule: HeaderRule,
    options: InputOptions,
    *,
    alone: bool,
) -> _RawSheet:
    """Load a sheet and find its header; one that cannot be loaded is empty unless it is alone."""
    import fastexcel
    import polars as pl

    try:
        loaded = book.load_sheet(name, header_row=None, skip_rows=0, dtypes="string")
        cells = loaded.to_polars()
    except fastexcel.FastExcelError as error:  # a sheet that is a chart, too
        if alone:
            raise _broken(where, error) from None
        cells = pl.DataFrame()
    while cells.width and cells[:, -1].null_count() == cells.height:
        cells = cells[:, :-1]
    return _RawSheet(name, where, cells, _place(cells, where, rule, options, alone=alone))


def _place(
    cells: pl.DataFrame, where: str, rule: HeaderRule, options: InputOptions, *, alone: bool
) -> HeaderPlace:
    """Find the header by what the user says of it, else by the rule."""
    height, given = cells.height, options.header_row
    rows = [[cell or "" for cell in row] for row in cells.head(WINDOW).rows()]
    if not height:
        return HeaderPlace(0, found=False)
    if given is not None:
        if given > height and alone:
            raise row_missing(where, given, height)
        index = min(given, height) - 1
        row = [cell or "" for cell in cells.row(index)]
        named = options.columns is not None and len(options.columns) == cells.width
        return HeaderPlace(index, given <= height and (named or rule.is_header(row)))
    if options.columns is not None:
        first = next((k for k, row in enumerate(rows) if any(row)), 0)
        return HeaderPlace(first, len(options.columns) == cells.width)
    return rule.place(rows)


def _only_sheet(seen: Sequence[_RawSheet], rule: HeaderRule, source: Source) -> _RawSheet:
    """Return the only sheet there is, though it has no header; of several, name what they have."""
    if len(seen) == 1:
        return seen[0]
    filled = [raw for raw in seen if raw.cells.height]
    if not filled:
        raise InputError(source.name, "a header and rows", "nothing")
    options = source.options
    expected = f"a sheet with {rule.needed}"
    if options.columns is not None:
        expected = f"a sheet of {len(options.columns)} columns (--columns)"
    shown = ", ".join(raw.shown(options) for raw in seen[:SHOWN])
    more = f" and {len(seen) - SHOWN} more" if len(seen) > SHOWN else ""
    raise InputError(source.name, expected, f"sheets {shown}{more}; name one with --sheet")


def _note_unnamed(
    table: pl.DataFrame, header: Iterable[str], where: str, note: Callable[[str], object]
) -> None:
    """Say which columns of a wide table have cells and no name."""
    filled = table.drop("row").null_count().row(0) if table.height else ()
    places = [
        place
        for place, (name, nulls) in enumerate(zip(header, filled, strict=False))
        if not name and nulls < table.height
    ]
    if (said := unnamed_columns(where, places)) is not None:
        note(said)


def _different(names: list[str], rule: HeaderRule, where: str) -> list[str]:
    """Return the names with numbers behind those that come again; refuse it where it matters."""
    times = Counter(names)
    twice = [name for name, count in times.items() if count > 1]
    if matter := [name for name in twice if rule.wide or rule.count([name])]:
        raise InputError(where, "column names that differ", f"some twice: {shown_columns(matter)}")
    if not twice:
        return names
    taken = set(names)
    seen: Counter[str] = Counter()
    different = []
    for name in names:
        seen[name] += 1
        fresh = name if seen[name] == 1 else f"{name} ({seen[name]})"
        while seen[name] > 1 and fresh in taken:
            fresh += "'"
        taken.add(fresh)
        different.append(fresh)
    return different
