"""Text from data as people may see it: control characters shown, long names cut.

Knows nothing of terminals, charts or pages, which all go by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
"""Characters that would move the cursor, change colours or turn the direction of the text, that
cannot be seen, or that XML does not allow. Those that join letters and emoji are none of them."""

NAME_LENGTH = 36
"""Characters of a name that a chart shows: a UUID has as many, and they fit beside it."""


def printable(value: object) -> str:
    r"""Text that can be shown as it is: control characters are escaped.

    >>> printable("ann\x1b[31m")
    'ann\\x1b[31m'
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), str(value))


def shortened(text: str, most: int) -> str:
    """Text of at most so many characters: what is left out of its middle becomes an ellipsis.

    >>> shortened("abcdefghij", 7)
    'abcd…ij'
    """
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def counted(count: int, noun: str, rest: str = "") -> str:
    """A count with its noun in the right number.

    Parameters
    ----------
    count
        How many.
    noun
        Of what, in the singular; its plural takes an s.
    rest
        What follows.

    Examples
    --------
    >>> counted(1, "bad row", "left out"), counted(2000, "alarm")
    ('1 bad row left out', '2,000 alarms')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'} {rest}".rstrip()


def chart_names(names: Iterable[object]) -> list[str]:
    r"""Names for a chart: printable, short, and as many different ones as there were.

    >>> chart_names(["ann", "bob\x07", "x" * 99 + "1", "x" * 99 + "2", "ann"])[:2]
    ['ann', 'bob\\x07']
    """
    return unlike_names(names, NAME_LENGTH)


def unlike_names(names: Iterable[object], most: int) -> list[str]:
    """Names of at most so many characters, and a number where they would look like another.

    >>> unlike_names(["a long name", "a long same", "short"], 7)
    ['a lo…me', 'a lo…me (2)', 'short']
    """
    shown: dict[str, str] = {}
    taken: set[str] = set()
    found = []
    for name in map(str, names):
        if name not in shown:
            shown[name] = _free(shortened(printable(name), most), taken)
            taken.add(shown[name])
        found.append(shown[name])
    return found


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken: numbered if it is, or two workers would be drawn as one."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


def percent(share: float) -> str:
    """A share as people read it: one digit, two below one per cent.

    >>> percent(0.0193), percent(0.0081), percent(0.0)
    ('1.9 %', '0.81 %', '0 %')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{100 * share:.{2 if share < 0.01 else 1}f} %"


def as_sentence(text: str) -> str:
    """Return words with a capital and a full stop.

    >>> as_sentence("errors look independent")
    'Errors look independent.'
    """
    return text[:1].upper() + text[1:].rstrip(".") + "."
