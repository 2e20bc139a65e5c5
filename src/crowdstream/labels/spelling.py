"""Texts that mean the same and look different: one form to compare them by, and what looks odd.

Knows texts alone: nothing of tables, codes or files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

INVISIBLE = re.compile("[\ufeff\u200b\u2060]")
"""Characters without width that copying leaves behind: byte order mark, zero-width space, word
joiner. Those that join letters mean something and stay."""

WHOLE = re.compile(r"([+-]?[0-9]+)\.0*")
"""A whole number as spreadsheets write it; 1.10 stays, it may be the tenth part of chapter one."""

PLAIN = "^[ -~]*$"
"""Printable ASCII: the normal form of such a text is found without looking at each by itself."""

MAY_DIFFER = r"[A-Z]|[^!-~]|[0-9]\.0*$"
"""Pattern in any text whose normal form is another."""


def tidy(text: str) -> str:
    r"""The text as people mean it, upper and lower case kept: what is shown.

    Blanks around it go, blanks inside become one space; composed letters (NFC); 3.0 is 3.

    >>> tidy("  Caf\u0065\u0301  au\u00a0lait"), tidy("3.0"), tidy("1.10")
    ('Café au lait', '3', '1.10')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
    text = " ".join(text.split())
    whole = WHOLE.fullmatch(text)
    return text if whole is None else whole[1]


def normalise(text: str) -> str:
    """Return the normal form that spellings of one thing share: `tidy`, in lower case.

    >>> normalise(" YES "), normalise("Straße") == normalise("STRASSE"), normalise("3.0")
    ('yes', True, '3')
    """
    folded = tidy(text).casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)


def may_differ(texts: pl.Series) -> bool:
    """Return True if any text may be another in normal form: quick, so clean names cost little.

    >>> import polars as pl
    >>> may_differ(pl.Series(["t1", "t2"])), may_differ(pl.Series(["t1", "T2"]))
    (False, True)
    """
    return bool(texts.str.contains(MAY_DIFFER).any())


def normal_series(texts: pl.Series) -> pl.Series:
    """`normalise` of every text of a column; nulls stay.

    >>> import polars as pl
    >>> normal_series(pl.Series([" YES ", "É", None])).to_list()
    ['yes', 'é', None]
    """
    return _each(texts, normalise, _plain_tidy(texts).str.to_lowercase())


def tidy_series(texts: pl.Series) -> pl.Series:
    """`tidy` of every text of a column; nulls stay.

    >>> import polars as pl
    >>> tidy_series(pl.Series([" YES ", "3.0", None])).to_list()
    ['YES', '3', None]
    """
    return _each(texts, tidy, _plain_tidy(texts))


def _plain_tidy(texts: pl.Series) -> pl.Series:
    """`tidy` of what is `PLAIN`."""
    stripped = texts.str.strip_chars(" ").str.replace_all(" {2,}", " ")
    return stripped.str.replace(r"^([+-]?[0-9]+)\.0*$", "$1")


def _each(texts: pl.Series, form: Callable[[str], str], plain: pl.Series) -> pl.Series:
    """The forms of texts: those of plain ones are there, the others are made one by one."""
    import polars as pl

    others = (~texts.str.contains(PLAIN)).arg_true()
    if not len(others):
        return plain
    made = [form(text) for text in texts.gather(others)]
    return plain.scatter(others, pl.Series(made, dtype=pl.String))


def find_twins(texts: Iterable[str] | pl.Series) -> list[list[str]]:
    """The texts that are the same in normal form, group by group, as they first came.

    Parameters
    ----------
    texts
        The texts; the same one may come again.

    Examples
    --------
    >>> find_twins(["yes", "no", "Yes", "YES ", "maybe"])
    [['yes', 'Yes', 'YES ']]
    """
    import polars as pl

    given = texts if isinstance(texts, pl.Series) else pl.Series(list(texts), dtype=pl.String)
    given = given.drop_nulls()
    if not may_differ(given):
        return []
    given = given.unique(maintain_order=True)
    normal = normal_series(given)
    if normal.n_unique() == len(normal):
        return []
    twins = pl.DataFrame({"text": given, "normal": normal}).filter(normal.is_duplicated())
    groups = twins.group_by("normal", maintain_order=True).agg("text")
    return [list(group) for group in groups["text"]]
