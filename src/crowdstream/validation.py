"""Checks of arguments that every part of the package shares. Knows nothing of labels."""

from __future__ import annotations

import numbers

from crowdstream.errors import InputError


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    whole: bool = False,
) -> None:
    """Refuse what is not a number between ``low`` and ``high``.

    >>> check_number("settle", 95, 0, 1)
    Traceback (most recent call last):
    crowdstream.errors.InputError: settle: expected a number from 0 to 1, found 95
    """
    kind = numbers.Integral if whole else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, bool)
    if not (good and (low < value if open_low else low <= value) and value <= high):  # type: ignore[operator]
        told = "a whole number" if whole else "a number"
        above = "above" if open_low else "from"
        raise InputError(name, f"{told} {above} {low:g} to {high:g}", repr(value))
