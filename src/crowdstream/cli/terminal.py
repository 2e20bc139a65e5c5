"""What people see on a terminal: lines, tables and progress on standard error.

Data never goes through here. Names from data are shown as they are: no markup, no control codes.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

NAME_WIDTH = 24
"""Characters of a name that a table shows."""

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that would move the cursor, change colours or turn the direction of the text."""


def printable(value: object) -> str:
    r"""Text that a terminal shows as it is: control characters are escaped.

    >>> printable("ann\x1b[31m")
    'ann\\x1b[31m'
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))


def console(*, stderr: bool = True, width: int | None = None) -> Console:
    """A console that takes no text for markup."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def say(text: str, style: str | None = None) -> None:
    """One line on standard error."""
    console().print(printable(text), style=style, soft_wrap=True)


def say_notes(notes: Sequence[str]) -> None:
    """What users should know of how their files were read."""
    for note in notes:
        say(note, "yellow")


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
    table.padding = (0, 1) if line else (0, 2, 0, 0)
    table.title_justify, table.title_style, table.header_style = "left", "bold", "dim"
    for name in left:
        table.add_column(name, max_width=NAME_WIDTH, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True, min_width=max(len(name), 5))
    if last:
        table.add_column(last)
    return table


def add_row(table: Table, *cells: object, style: str | None = None) -> None:
    """One row; a cell that is None stays empty."""
    table.add_row(*("" if cell is None else printable(cell) for cell in cells), style=style)


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
