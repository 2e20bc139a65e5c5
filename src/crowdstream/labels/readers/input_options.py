"""Options on files beside their columns. Knows nothing of how they are read."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crowdstream.defaults import MAX_RATIO
from crowdstream.errors import InputError
from crowdstream.validation import check_number

SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
"""Names of separators for a shell, where the character itself is awkward."""

MAX_HEADER_ROW = 1_048_576
"""The last row that a header may be said to be in: that of the largest sheet Excel can hold."""

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
"""Bytes in the units of a size, as disks are sold."""


PREDICTIONS, CHECKS = "predictions", "checks"

INCLUDABLE = {
    PREDICTIONS: "what models predicted, as Label Studio and Argilla keep it beside answers",
    CHECKS: "verdicts of evaluation tools that code computes instead of asking a model",
}
"""Words of ``--include``: answers that are no votes unless asked for."""


class InputOptions(NamedTuple):
    """Options of reading files; None where that is found out from the file.

    Parameters
    ----------
    separator
        The character between the cells of CSV.
    encoding
        What text is encoded in, by a name that Python knows.
    sheet
        The sheet of a workbook, by its name or its number from 1 on; unless said, the first that
        has the columns.
    max_ratio
        How many times larger than its file unpacked data may be.
    max_bytes
        How many bytes a file may hold, unpacked.
    question
        Of tools' files with several questions, the one that is read.
    include
        Answers in tools' files that are votes only if asked for: words of `INCLUDABLE`.
    tool
        The tool whose file it is, as ``--format`` calls it.
    header_row
        The row of a sheet or of CSV that is the header, from 1 on; what is above is left out.
    columns
        The names of the columns of a sheet or of CSV, in their order, instead of those in a header;
        an empty name stands for a column that is left out.
    any_order
        Whether rows may be returned in another order: the tasks as they first appear, the rows of
        each as they came. Files in random order are read more quickly so.

    Examples
    --------
    >>> make_options(separator="tab", max_bytes="2GB")
    InputOptions(separator='\\t', encoding=None, sheet=None, ..., max_bytes=2000000000, ...)
    """

    separator: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    max_ratio: float = MAX_RATIO
    max_bytes: int | None = None
    question: str | None = None
    include: frozenset[str] = frozenset()
    tool: str | None = None
    header_row: int | None = None
    columns: tuple[str, ...] | None = None
    any_order: bool = False


def make_options(
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_ratio: float = MAX_RATIO,
    max_bytes: str | None = None,
    *,
    question: str | None = None,
    include: Iterable[str] = (),
    header_row: int | None = None,
    columns: Sequence[str] | str | None = None,
) -> InputOptions:
    """Return the options as a user writes them, checked."""
    if separator is not None:
        separator = SEPARATOR_NAMES.get(separator.lower(), separator)
        if len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0':
            raise InputError("--separator", "one character, such as ; or tab", repr(separator))
    if encoding is not None:
        encoding = _known_encoding(encoding)
    check_number("--max-ratio", max_ratio, 1.0, 1e9)
    most = None if max_bytes is None else parse_size(max_bytes, "--max-bytes")
    if header_row is not None:
        check_number("--header-row", header_row, 1, MAX_HEADER_ROW, whole=True)
    return InputOptions(
        separator,
        encoding,
        sheet,
        max_ratio,
        most,
        question,
        _includable(include),
        header_row=header_row,
        columns=None if columns is None else parse_columns(columns),
    )


def parse_columns(given: Sequence[str] | str) -> tuple[str, ...]:
    """Return the names of columns as ``--columns`` has them; empty for those left out.

    Parameters
    ----------
    given
        The names in order, or one text with commas between them; ``-`` leaves a column out.

    Examples
    --------
    >>> parse_columns("task, -, worker,label")
    ('task', '', 'worker', 'label')
    """
    if isinstance(given, str):
        given = next(csv.reader([given], skipinitialspace=True), [])
    elif not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InputError("--columns", "names such as task,worker,label", repr(given)[:60])
    columns = tuple("" if name.strip() in ("-", "") else name.strip() for name in given)
    named = [name for name in columns if name]
    if twice := [name for name in named if named.count(name) > 1]:
        raise InputError("--columns", "names that differ", f"{twice[0]!r} twice")
    if len(named) < 2:
        raise InputError("--columns", "names such as task,worker,label", repr(",".join(given)))
    return columns


def _includable(words: Iterable[str]) -> frozenset[str]:
    found = frozenset([words] if isinstance(words, str) else words)
    for word in sorted(found - INCLUDABLE.keys()):
        raise InputError("--include", " or ".join(INCLUDABLE), repr(word))
    return found


def _known_encoding(name: str) -> str:
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)()
    except (LookupError, UnicodeError, ValueError):
        raise InputError("--encoding", "one such as utf-8, latin-1 or utf-16", repr(name)) from None
    return name


def parse_size(text: str, option: str) -> int:
    """The bytes of a size such as 500, 64KB, 2 GB or 1.5T.

    Parameters
    ----------
    text
        The size.
    option
        What messages call it.

    Examples
    --------
    >>> parse_size("64KB", "--max-bytes")
    64000
    """
    found = re.fullmatch(r"(\d{1,18}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?", text.strip().lower())
    size = 0 if found is None else int(float(found[1]) * UNITS[found[2]])
    if size < 1:
        raise InputError(option, "a size such as 500MB or 2GB", repr(text))
    return size
