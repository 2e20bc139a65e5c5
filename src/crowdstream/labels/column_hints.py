"""Hints when columns are not found: the nearest ones, and whether the table is a wide one.

Knows names and a few rows; nothing of files or tables.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from crowdstream.errors import InputError

SHOWN = 12
"""Columns that a message names: two lines of a terminal."""

NAME_WIDTH = 40
"""Characters of a column's name that a message shows."""

COMPARED = 1_000
"""Columns that are compared letter by letter; of more, only those with a word in common."""

NEAR = 0.75
"""Least likeness, by difflib's ratio, of two names of which one is a misspelling."""

NEAR_GIVEN = 0.6
"""Least likeness to a name that the user gave: it is meant to be there. difflib's default."""

DIGITS = re.compile(r"\d+")

FEW_VALUES = 20
"""Different cells that the columns of a wide table have together, at most: they are classes."""


def shown_name(name: str) -> str:
    """A column's name as a message shows it, on one line and not without end."""
    name = " ".join(name[: 4 * NAME_WIDTH].split())
    return name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…"


def shown_columns(header: Sequence[str], first: Sequence[str] = ()) -> str:
    """The columns of a table, those that matter first, not too many.

    >>> shown_columns([f"q{k}" for k in range(100)], ["q57"])
    'q57, q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10 and 88 more'
    """
    if not header:
        return "no columns"
    names = list(dict.fromkeys([*first, *header[: SHOWN + len(first)]]))
    text = ", ".join(map(shown_name, names[:SHOWN]))
    return text + (f" and {len(header) - SHOWN:,} more" if len(header) > SHOWN else "")


def nearest_columns(header: Sequence[str], wanted: Sequence[str], near: float = NEAR) -> list[str]:
    """The columns whose names are like one of those wanted, the nearest first.

    >>> nearest_columns(["id", "text", "anotator", "worker email"], ["worker", "annotator"])
    ['anotator', 'worker email']
    >>> nearest_columns(["Input.text", "Answer.choice"], ["label", "answer"])
    ['Answer.choice']
    """
    words = set(wanted)
    scored = []
    for place, name in enumerate(header):
        simple = name[: 2 * NAME_WIDTH].strip().lower().replace(" ", "_")
        score = 0.5 if words.intersection(re.split(r"[\W_]+", simple)) else 0.0
        if place < COMPARED and len(simple) <= NAME_WIDTH:
            score = max(score, _likeness(simple, wanted, near))
        if score:
            scored.append((-score, place, name))
    return [name for _, _, name in sorted(scored)]


def _likeness(name: str, wanted: Sequence[str], near: float) -> float:
    """Return the likeness of a name to the nearest of some names; 0 if none is near."""
    matcher = difflib.SequenceMatcher(None, "", name)
    best = 0.0
    for word in wanted:
        matcher.set_seq1(word)
        if matcher.real_quick_ratio() >= near and matcher.quick_ratio() >= near:
            best = max(best, matcher.ratio())
    return best if best >= near else 0.0


def looks_wide(header: Sequence[str], rows: Iterable[Sequence[str | None]]) -> bool:
    """Return True for one column per worker: several columns whose cells are the same few values.

    >>> looks_wide(["item", "ann", "bob"], [("1", "yes", "no"), ("2", "no", ""), ("3", "no", "no")])
    True
    >>> looks_wide(["id", "who", "what"], [("1", "ann", "x"), ("2", "bob", "y"), ("3", "cy", "x")])
    False
    """
    cells = [row for row in rows if len(row) == len(header)]
    if len(cells) < 2:
        return False
    columns = Counter(frozenset(filter(None, column)) for column in zip(*cells, strict=True))
    del columns[frozenset()]
    most = min(FEW_VALUES, max(len(cells) - 1, 2))
    few = sorted((values for values in columns if 2 <= len(values) <= most), key=len)
    for classes in few[-SHOWN:]:
        workers = sum(count for values, count in columns.items() if values <= classes)
        if workers >= 2 and 2 * workers >= len(header) - 1:
            return True
    return False


def suggest_wide(
    error: InputError, header: Sequence[str], rows: Iterable[Sequence[str | None]]
) -> None:
    """Add to what is said of missing columns that the table may be a wide one."""
    rows = list(rows)
    missing = " column" in error.expected
    if missing and looks_wide(header, rows):
        how = (
            f"--wide --task {shown_name(header[0])!r}"
            if "task column" in error.expected
            else "--wide"
        )
        error.found += f"; it looks like one row per task and one column per worker: try {how}"


def looks_like_data(header: Sequence[str], rows: Iterable[Sequence[str | None]]) -> bool:
    """Tell whether what should be a header is a row like those below: there is none, then.

    A cell says so that comes again in its column, or that differs from most of them in digits only.

    >>> looks_like_data(["t1", "ann", "x"], [("t2", "bob", "y"), ("t3", "ann", "x")])
    True
    >>> looks_like_data(["id", "who", "what"], [("1", "ann", "x"), ("2", "bob", "y")])
    False
    """
    first = [cell.strip() for cell in header]
    cells = [[(cell or "").strip() for cell in row] for row in rows if len(row) == len(header)]
    below = [row for row in cells if row != first]  # which repeats the header
    for cell, column in zip(first, zip(*below, strict=True), strict=False):
        if cell and cell in column:
            return True
        form = DIGITS.sub("0", cell)
        alike = sum(DIGITS.sub("0", other) == form for other in column)
        if DIGITS.search(cell) and 2 * alike >= len(column):
            return True
    return False


def suggest_columns(
    error: InputError, header: Sequence[str], rows: Iterable[Sequence[str | None]], *, wide: bool
) -> None:
    """Add to what is said of missing columns that there may be no header, or one row per task.

    Parameters
    ----------
    error
        What is said; it is changed.
    header
        The row that was taken for the header.
    rows
        Some rows below it.
    wide
        Whether the user says that there is one column per worker.
    """
    rows = list(rows)
    if not looks_like_data(header, rows):
        if not wide:
            suggest_wide(error, header, rows)
        return
    names, option = ["task", "worker", "label"], "--columns"
    if wide or looks_wide(header, rows):
        names = ["task", *(f"worker{k}" for k in range(1, len(header)))]
        option = "--columns" if wide else "--wide --columns"
    shown = ",".join((names + ["-"] * len(header))[: max(min(len(header), SHOWN), 2)])
    more = ",…" if len(header) > SHOWN else ""
    error.expected = "a header"
    error.found = (
        f"{shown_columns(header)}, which look like data: if there is no header, name the columns "
        f"in their order with {option} {shown}{more}"
    )
