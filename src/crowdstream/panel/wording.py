"""Names in sentences for people. They come from data and are made printable."""

from __future__ import annotations

from collections.abc import Iterable

from crowdstream.plain_text import NAME_LENGTH, printable, shortened

NAMED = 5
"""Names that a sentence lists; the others are counted."""


def listed(names: Iterable[object]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b"]), listed("abcdefg")
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    shown = [shortened(printable(name), NAME_LENGTH) for name in names]
    rest = len(shown) - NAMED
    return ", ".join(shown[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
