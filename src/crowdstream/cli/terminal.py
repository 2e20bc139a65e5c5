"""Terminal output: lines, tables and progress on standard error.

Data never goes through here. Names from data are shown as they are: no markup, no control codes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from crowdstream.plain_text import printable, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NAME_WIDTH = 24
"""Characters of a name that a table shows."""

LINE_LENGTH = 2000
"""Characters of one message: a name of a million is not what anybody wants to read."""

WIDEST = 100
"""Columns beyond which lines of text are hard to read."""

JOINED = "\N{NO-BREAK SPACE}%"
"""A sign that stays with its number: text is not broken at such a space."""


def shorten_name(value: object, width: int = NAME_WIDTH) -> str:
    """A name as a table shows it: printable, and its middle gives way if it is long.

    >>> shorten_name("annotator-000000000000000042@example.org", 20)
    'annotator-000…le.org'
    """
    return shortened(printable(value), width)


def console(*, stderr: bool = True, width: int | None = None) -> Console:
    """A console that takes no text for markup."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def say(text: str, style: str | None = None) -> None:
    """One line on standard error."""
    console().print(shortened(printable(text), LINE_LENGTH), style=style, soft_wrap=True)


def say_paragraph(text: str, style: str | None = None, *, indent: int = 2) -> None:
    """Some sentences on standard error, broken between words to fit the terminal."""
    import textwrap

    lines, text = console(), printable(text)
    room = max(min(lines.width, WIDEST) - indent, 30)
    # Between a number and its sign no line is broken.
    for line in textwrap.wrap(text.replace(" %", JOINED), room, break_on_hyphens=False):
        shown = " " * indent + line.replace(JOINED, " %")
        lines.print(shown, style=style, soft_wrap=True)


def make_table(
    title: str,
    left: Sequence[str],
    right: Sequence[str] = (),
    last: str = "",
    *,
    line: bool = False,
) -> Table:
    """A table without borders: names on the left, numbers to the right, then a remark."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, box=box.SIMPLE_HEAD if line else None, pad_edge=False)
    table.min_width = len(title)  # or the title of a narrow table would be broken
    table.padding = (0, 1) if line else (0, 2, 0, 0)
    table.title_justify, table.title_style, table.header_style = "left", "bold", "dim"
    for name in left:
        table.add_column(name, max_width=NAME_WIDTH, no_wrap=True, overflow="ellipsis")
    for name in right:
        table.add_column(name, justify="right", no_wrap=True, min_width=max(len(name), 5))
    if last:
        table.add_column(last, no_wrap=True, overflow="ellipsis")
    return table


def add_row(table: Table, *cells: object, style: str | None = None) -> None:
    """One row; a cell that is None stays empty."""
    shown = ("" if cell is None else shortened(printable(cell), LINE_LENGTH) for cell in cells)
    table.add_row(*shown, style=style)


class ProgressBar:
    """A progress bar on standard error; none if ``silent`` or if nobody looks."""

    def __init__(self, description: str, total: float | None, *, silent: bool = False) -> None:
        self.description = description
        self.total = total
        self.silent = silent or not sys.stderr.isatty()
        self.started = time.perf_counter()

    def __enter__(self) -> Self:
        if not self.silent:
            from rich.progress import (
                BarColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._bars = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[note]}", markup=False),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=console(),
                transient=True,
            )
            self._bars.start()
            shown = printable(self.description)
            self._bar = self._bars.add_task(shown, total=self.total or None, note="")
        return self

    def update(
        self, description: str | None = None, advance: float = 0.0, note: str | None = None
    ) -> None:
        """Say what is being done, and how much further it is."""
        if self.silent:
            return
        fields: dict[str, Any] = {} if note is None else {"note": printable(note)}
        if description is not None:
            fields["description"] = printable(description)
        self._bars.update(self._bar, advance=advance, **fields)

    def __exit__(self, *_: object) -> None:
        if not self.silent:
            self._bars.stop()
