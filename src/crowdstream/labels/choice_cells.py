"""Cells that hold several choices: `cat|dog`, `["cat", "dog"]`. The rule for what is a list.

Knows texts alone: nothing of tables, codes or files.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from crowdstream.errors import InputError
from crowdstream.labels.label import shorten
from crowdstream.labels.spelling import INVISIBLE, tidy

SEPARATORS = ("|", ";", ",")
"""Separators that may stand between the choices of one cell."""

BROKEN_LIST = re.compile(r"""\[\s*(?:["'\[{]|$)|\[[^\[\]]*,[^\[\]]*\]$""")
"""Beginning of a text meant as a list that is none: an open bracket with a quote, a bracket,
a brace or nothing behind it; or a list in brackets whose texts lack their quotes. `[unclear]` and
`[1] first` are names."""

MAY_BE_LIST = r"^[\s\x{feff}\x{200b}\x{2060}]*\["
"""Cells that may be JSON lists, for polars: a bracket, behind blanks and invisible characters."""

LIST = 'a JSON list of texts, such as ["cat", "dog"]'
"""Expected in a cell that begins like a list."""


def read_list(text: str) -> list[str] | None:
    """Return the texts of a JSON list, numbers and booleans as they are written; None for others.

    Lists as Python prints them, in single quotes, are read too.

    >>> read_list('["cat", 3, true]'), read_list("['cat', 'dog']"), read_list("cat")
    (['cat', '3', 'true'], ['cat', 'dog'], None)
    """
    text = _bare(text)
    if not (text.startswith("[") and text.endswith("]")):
        return None
    found = _parse(text)
    if found is None and "'" in text:
        found = _parse(text.replace("'", '"'))
    if not isinstance(found, list) or not all(isinstance(each, (str, bool)) for each in found):
        return None
    return [str(each).lower() if isinstance(each, bool) else each for each in found]


def write_list(labels: Sequence[str]) -> str:
    """Return several choices as the text of one cell: a JSON list, or the one there is.

    >>> write_list(["cat", "dog"]), write_list(["cat"]), write_list([])
    ('["cat", "dog"]', 'cat', '[]')
    """
    return labels[0] if len(labels) == 1 else json.dumps(list(labels), ensure_ascii=False)


def _bare(text: str) -> str:
    """The text without blanks and invisible characters around it."""
    return (text if text.isascii() else INVISIBLE.sub("", text)).strip()


def _parse(text: str) -> object:
    try:
        # Numbers stay the text they are: a class 1.10 is not 1.1, and no number is too long.
        return json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def split_cell(text: str, separator: str | None = None) -> tuple[str, ...]:
    """Split a cell into its choices, each once; a cell without a list is one choice.

    Parameters
    ----------
    text
        The cell.
    separator
        What stands between choices, see `find_separator`; None: only JSON lists are lists.

    Raises
    ------
    InputError
        If the cell begins like a JSON list and is none, or is one of something else than texts,
        numbers and booleans.

    Examples
    --------
    >>> split_cell(" cat | dog|cat", "|"), split_cell('["a|b", 3]', "|"), split_cell("[]")
    (('cat', 'dog'), ('a|b', '3'), ())
    >>> split_cell("New York, NY"), split_cell("|", "|")
    (('New York, NY',), ())
    """
    found = read_list(text)
    if found is None:
        if BROKEN_LIST.match(_bare(text)) or isinstance(_parse(_bare(text)), list):
            raise InputError("cell", LIST, shorten(text))
        found = [text] if separator is None else text.split(separator)
    return tuple(dict.fromkeys(part for part in map(tidy, found) if part))


def find_separator(labels: Iterable[str]) -> str | None:
    """Return the separator that the cells use; None if they use none.

    A separator counts if there is a cell all parts of which are in other cells too: a name with a
    comma in it is no list. Of several separators it is the one that most cells use.

    Parameters
    ----------
    labels
        The distinct cells.

    Examples
    --------
    >>> find_separator(["cat", "dog", "cat; dog", "New York, NY"]), find_separator(["New York, NY"])
    (';', None)
    """
    texts = list(dict.fromkeys(labels))
    counts = {each: len(_lists_by(each, texts)) for each in SEPARATORS}
    best = max(SEPARATORS, key=counts.__getitem__)
    return best if counts[best] else None


def several_choices(labels: Iterable[str]) -> list[str]:
    """Return the cells that hold several choices, each of which other cells hold too.

    >>> several_choices(["cat", "dog", "cat|dog", "New York, NY"])
    ['cat|dog']
    """
    texts = list(dict.fromkeys(labels))
    found = {text for each in SEPARATORS for text in _lists_by(each, texts)}
    return [text for text in texts if text in found or len(read_list(text) or ()) > 1]


def _lists_by(separator: str, texts: list[str]) -> list[str]:
    """The texts with this separator between parts that other texts hold too."""
    if not any(separator in text for text in texts):
        return []
    parts: dict[str, set[str]] = {}
    for text in texts:
        found = read_list(text)
        cut = text.split(separator) if found is None else found
        parts[text] = {part for part in map(tidy, cut) if part}
    known = Counter(part for found in parts.values() for part in found)
    # Names have commas in them; other separators are there to separate.
    enough = all if separator == "," else any
    return [
        text
        for text, found in parts.items()
        if len(found) > 1 and read_list(text) is None and enough(known[part] > 1 for part in found)
    ]
