"""Classes that have an order, such as one to five stars. Knows nothing of votes or decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from crowdstream.errors import InputError
from crowdstream.labels.label import ClassLabel, shorten

DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
"""A number as half of the world writes it."""

FEWEST_STEPS, MOST_STEPS = 3, 11
"""Places of what looks like a scale: from low-mid-high up to 0 to 10, as in recommendation scores.
Two are yes and no, and more are scores or codes of classes."""


def as_number(label: ClassLabel) -> float | None:
    """Return a label as a number, or None if it is not one.

    >>> as_number("4"), as_number("4.5"), as_number("0,5"), as_number("good"), as_number("nan")
    (4.0, 4.5, 0.5, None, None)
    """
    if isinstance(label, str) and DECIMAL_COMMA.fullmatch(label):
        label = label.replace(",", ".")
    try:
        number = float(label)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def scale_of(
    classes: Iterable[ClassLabel],
    order: Sequence[ClassLabel] | None = None,
    where: str = "order",
) -> dict[str, float]:
    """Return the place of each class by its text: numbers at their value, others in steps.

    Parameters
    ----------
    classes
        The classes there are.
    order
        All of them from one end to the other. Not needed where they are numbers.
    where
        What messages call the order.

    Examples
    --------
    >>> scale_of(["10", "9", "1"])
    {'1': 1.0, '9': 9.0, '10': 10.0}
    >>> scale_of(["good", "bad"], order=["bad", "fair", "good"])
    {'bad': 0.0, 'fair': 1.0, 'good': 2.0}
    """
    if order is not None:
        steps = {str(label): float(step) for step, label in enumerate(order)}
        if len(steps) < len(order):
            twice = next(str(each) for k, each in enumerate(order) if each in order[:k])
            raise InputError(where, "every class once", f"{shorten(twice)} twice")
        missing = [str(label) for label in classes if str(label) not in steps]
        if missing:
            named = shorten(missing[0])
            raise InputError(where, f"all classes, {named} too", ", ".join(steps) or "none")
        return steps
    numbers = {str(label): as_number(label) for label in classes}
    for label, number in numbers.items():
        if number is None:
            expected = "the classes in their order, since not all are numbers"
            raise InputError(where, expected, f"none for {shorten(label)}")
    known = {label: number for label, number in numbers.items() if number is not None}
    return dict(sorted(known.items(), key=lambda each: each[1]))


def looks_like_scale(classes: Iterable[ClassLabel]) -> str:
    """Return the ends of the scale that classes look like, such as "1 to 5"; "" if they do not.

    They look so if they are three or more whole numbers of which all would fit on a scale of up to
    eleven places; some places may be missing, as nobody may have given one star.

    >>> looks_like_scale(["3", "1", "2", "5"]), looks_like_scale(["1", "2"])
    ('1 to 5', '')
    >>> looks_like_scale(["0", "5", "10"]), looks_like_scale(["101", "205", "340"])
    ('0 to 10', '')
    """
    found = {as_number(label) for label in classes}
    if any(number is None or not number.is_integer() for number in found):
        return ""
    whole = [int(number) for number in found if number is not None]
    if len(whole) < FEWEST_STEPS or max(whole) - min(whole) >= MOST_STEPS:
        return ""
    return f"{min(whole)} to {max(whole)}"
