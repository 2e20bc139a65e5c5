"""Tables → workbooks (.xlsx), row by row. Needs XlsxWriter, of the extra ``excel``.

Names of tasks, workers and classes are data: they are written as text whatever they begin with, so
that a spreadsheet never computes them. Knows nothing of what the tables hold.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.serialization import is_replaced

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 1_048_576
"""Rows that a sheet of Excel can have, the header among them."""

MOST_COLUMNS = 16_384
"""Columns that a sheet of Excel can have."""

MOST_CHARACTERS = 32_767
"""Characters that a cell of Excel can have, in units of UTF-16."""

EXACT = 10**15
"""Whole numbers from here on are written as text: Excel keeps 15 digits."""

OTHERS = "write .csv or .parquet instead"

SETTINGS = {
    "constant_memory": True,
    "strings_to_numbers": False,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "in_memory": False,
}
"""Every row goes to the disk as soon as the next begins; text stays text."""

MARKED = re.compile(r"<r>.*</r>", re.DOTALL)
"""Text that XlsxWriter (3.3) takes for XML of its own, which may hold a formula."""

AMBIGUOUS = re.compile(r"_x[0-9a-fA-F]{4}_x[0-9a-fA-F]{4}_")
"""Two escapes of characters that share a letter: XlsxWriter sees only the first, so that another
name would be read back."""

NARROWEST = 10
"""Width of a column whose name is short, in characters: that of dates and most names."""


def check_writer(option: str) -> None:
    """Refuse, before any work, a workbook that cannot be written for want of a package."""
    if importlib.util.find_spec("xlsxwriter") is None:
        raise CrowdstreamError(
            f"{option}: writing .xlsx needs XlsxWriter: pip install 'crowdstream[excel]'"
        )


@contextlib.contextmanager
def open_workbook(path: str, shown: str) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Yield a function that adds the rows of a table to a workbook's one sheet.

    Parameters
    ----------
    path
        Where it is written; a pipe or a device gets it when it is whole.
    shown
        What messages call the file.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import XlsxWriterException

    beside = Path(path).parent if is_replaced(path) else None
    with tempfile.TemporaryDirectory(prefix=".sheet.", dir=beside) as folder:
        target = path if beside else str(Path(folder) / "whole.xlsx")
        book = xlsxwriter.Workbook(target, SETTINGS | {"tmpdir": folder})
        try:
            yield _Rows(book, shown).add
        except BaseException:
            with contextlib.suppress(Exception):  # it has files open
                book.close()
            raise
        try:
            book.close()
        except XlsxWriterException as error:  # a full disk: it hides the error of the system
            reason = getattr(error.__context__, "strerror", None) or str(error)
            raise InputError(shown, "a file that can be written", reason) from None
        if not beside:
            with open(target, "rb") as whole, open(path, "wb") as out:
                shutil.copyfileobj(whole, out)


class _Rows:
    """The rows of one sheet, the header first."""

    def __init__(self, book: Any, shown: str) -> None:
        self._sheet = book.add_worksheet()
        self._bold = book.add_format({"bold": True})
        self._plain = book.add_format()
        self._shown = shown
        self._next = 0

    def add(self, piece: pl.DataFrame) -> None:
        """Add a piece of the table; refuse what Excel cannot hold."""
        if not self._next:
            self._add_header(piece.columns)
        if self._next + piece.height > MOST_ROWS:
            expected = f"at most {MOST_ROWS - 1:,} rows, which is what a sheet of Excel can hold"
            raise InputError(self._shown, expected, f"more ({OTHERS})")
        for row in piece.iter_rows():
            self._add_row(row, piece.columns)

    def _add_header(self, columns: Sequence[str]) -> None:
        if len(columns) > MOST_COLUMNS:
            expected = f"at most {MOST_COLUMNS:,} columns, which is what a sheet of Excel can hold"
            raise InputError(self._shown, expected, f"{len(columns):,} ({OTHERS})")
        for column, name in enumerate(columns):
            self._check_length(name, name)
            self._sheet.set_column(column, column, max(NARROWEST, min(len(name) + 2, 40)))
            self._write_text(column, name, self._bold)
        self._sheet.freeze_panes(1, 0)
        # Else a green corner on every name that is a number.
        self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
        self._next = 1

    def _add_row(self, row: Sequence[object], columns: Sequence[str]) -> None:
        for column, value in enumerate(row):
            if value is None or value == "":
                continue
            if isinstance(value, bool):
                self._sheet.write_boolean(self._next, column, value)
            elif _is_number(value):
                self._sheet.write_number(self._next, column, value)
            else:
                text = str(value)
                self._check_length(text, columns[column])
                self._write_text(column, text)
        self._next += 1

    def _write_text(self, column: int, text: str, form: object = None) -> None:
        """Write text as it is; what looks like XML is cut in two, neither of which does."""
        if AMBIGUOUS.search(text):
            raise self._unwritable(text)
        if MARKED.fullmatch(text):
            parts = [self._plain, text[:1], self._plain, text[1:]]
            cell = [] if form is None else [form]
            status = self._sheet.write_rich_string(self._next, column, *parts, *cell)
        else:
            status = self._sheet.write_string(self._next, column, text, form)
        if status:  # it says so by a number, and has written nothing
            raise self._unwritable(text)

    def _unwritable(self, text: str) -> InputError:
        return InputError(self._shown, "text that a sheet can hold", f"{text[:60]!r} ({OTHERS})")

    def _check_length(self, text: str, column: str) -> None:
        """Refuse text that would be cut."""
        if 2 * len(text) <= MOST_CHARACTERS:
            return
        length = len(text.encode("utf-16-le")) // 2
        if length > MOST_CHARACTERS:
            where = f"{self._shown}, row {self._next + 1}, column {column[:40]!r}"
            expected = f"at most {MOST_CHARACTERS:,} characters, which is what a cell can hold"
            raise InputError(where, expected, f"{length:,} ({OTHERS})")


def _is_number(value: object) -> bool:
    """Tell whether a spreadsheet has this number as it is."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < EXACT
