"""Verdicts by gold: whether it is a random sample, and whether two systems differ."""

from __future__ import annotations

from statistics import NormalDist

from crowdstream.plain_text import percent

SHIFT_LEVEL = 0.05
"""Highest rate at which random gold is said not to look random: a quarter of it is
meant to be, since predictions near 0 and 1 are far from normal with thirty gold tasks."""

APART_POINTS = 100.0
"""Points of a percentage in a share."""


def shift_limit(classes: int) -> float:
    """Return the standard errors that gold's predictions may be off the others' in any class.

    >>> round(shift_limit(2), 2), round(shift_limit(10), 2)
    (2.5, 3.2)
    """
    tests = max(classes - 1, 1)  # the last class is what the others leave
    return NormalDist().inv_cdf(1.0 - SHIFT_LEVEL / 8.0 / tests)


def shift_words(name: str, gold: float, rest: float) -> str:
    """Return what is said where gold does not look like a random sample of the tasks.

    >>> shift_words("pass", 0.4, 0.7).partition(":")[0]
    'gold does not look like a random sample of the tasks'
    """
    return (
        f"gold does not look like a random sample of the tasks: by the panel {percent(gold)} of "
        f"the gold tasks are {name}, of the others {percent(rest)}; limits include those of gold "
        "alone"
    )


def chance_shift_words(shift: float) -> str:
    """Return what is said where gold differs from the other tasks as far as chance may take it.

    >>> chance_shift_words(-2.1).partition(":")[0]
    'predictions of the gold tasks are 2.1 standard errors off those of the others'
    """
    return (
        f"predictions of the gold tasks are {abs(shift):.1f} standard errors off those of the "
        "others: chance or no random sample, so limits include those of gold alone"
    )


def difference_words(what: str, value: float, low: float, high: float) -> str:
    """Return which of two systems has more, or that it cannot be told.

    Parameters
    ----------
    what
        What it is a difference in, such as ``"the accuracy"``.
    value, low, high
        The first system's share less the second's, and its limits.

    Examples
    --------
    >>> difference_words("the accuracy", 0.031, 0.004, 0.058)
    'the accuracy of the first is higher than of the second by 3.1 points (0.4 to 5.8)'
    >>> difference_words("the accuracy", 0.031, -0.004, 0.066).partition(":")[0]
    'the two cannot be told apart in the accuracy'
    """
    scaled = [APART_POINTS * number for number in (value, low, high)]
    if low <= 0.0 <= high:
        return (
            f"the two cannot be told apart in {what}: {scaled[0]:+.1f} points "
            f"({scaled[1]:+.1f} to {scaled[2]:+.1f})"
        )
    word = "higher" if value > 0.0 else "lower"
    points, *limits = (abs(number) for number in scaled)
    least, most = sorted(limits)
    return (
        f"{what} of the first is {word} than of the second by {points:.1f} points "
        f"({least:.1f} to {most:.1f})"
    )
