"""The judge who agrees with people best, named only where paired differences show it."""

from __future__ import annotations

from collections.abc import Sequence

from crowdstream.plain_text import counted, printable, shortened

APART = 0.05
"""Largest p value, corrected for the number of pairs of judges, at which two are told apart."""

NAME = 36
"""Characters of a judge's name that a sentence shows."""

NAMED = 5
"""Judges that a sentence names."""


def best_words(best: object, alike: Sequence[object], judges: int, items: int) -> str:
    """Return which judge agrees with people best, or that it cannot be told.

    Parameters
    ----------
    best
        The judge who agreed on the largest share of gold items.
    alike
        Judges who cannot be told apart from it.
    judges, items
        How many judges there are, and gold items that were judged.

    Examples
    --------
    >>> best_words("gpt", [], 3, 50)
    'gpt agrees with people better than every other judge (50 gold items)'
    >>> best_words("gpt", ["claude"], 3, 50)
    'gpt agrees with people most often, but claude cannot be told apart from it by 50 gold items'
    """
    name, on = _name(best), counted(items, "gold item")
    if judges < 2:
        return f"{name} is the only judge: nobody to compare it with"
    if not alike:
        return f"{name} agrees with people better than every other judge ({on})"
    if len(alike) == judges - 1 and judges > 2:
        return f"no judge can be told apart from {name}, who agrees most often, by {on}"
    shown = ", ".join(map(_name, alike[:NAMED]))
    more = f" and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    others = f"{shown}{more} cannot be told apart from it by {on}"
    return f"{name} agrees with people most often, but {others}"


def better_words(first: object, second: object) -> str:
    """Return that one judge agrees with people better than another.

    >>> better_words("gpt", "claude")
    'gpt agrees with people better than claude'
    """
    return f"{_name(first)} agrees with people better than {_name(second)}"


def more_items_words(more: int | None, second: object) -> str:
    """Return how many more gold items would tell the best two apart.

    >>> more_items_words(140, "claude")
    'about 140 more gold items would tell it from claude, if they differ as much as seen'
    """
    if more is None:
        return f"it and {_name(second)} do not differ on these gold items: no number can be named"
    return (
        f"about {counted(more, 'more gold item')} would tell it from {_name(second)}, "
        "if they differ as much as seen"
    )


def _name(judge: object) -> str:
    return shortened(printable(judge), NAME)
