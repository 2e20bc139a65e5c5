"""Sentence on whether more gold is worth having. Knows nothing but a few numbers."""

from __future__ import annotations

import math

from crowdstream.gold_plan.report import Rate, Settled

NARROW = 0.05
"""Half the width of an interval from which on an error rate counts as known: five points either
way is what most people who ask for an error rate can act on."""

CHANGING = 0.01
"""The share of other decisions changed from which on gold still teaches: one in a hundred."""

Z2 = 1.959964**2
"""The square of the standard errors on either side of a 95 % interval."""


def more_gold(error: Rate, checked: int, settled: Settled, flips: int, tasks: int) -> str:
    """The sentence.

    Parameters
    ----------
    error
        The whole set's error rate with the gold given, from ``checked`` tasks.
    checked
        How many those are.
    settled
        Whether settled decisions keep their promise.
    flips, tasks
        Decisions on other tasks that the gold changed, and all decisions.

    Examples
    --------
    >>> unclear = Settled(90, 10, 0.05, Rate(0.1, 0.02, 0.4), None)
    >>> more_gold(Rate(0.2, 0.1, 0.36), 30, unclear, 5, 1000)
    'More gold is worth having: the share of wrong decisions is known to within 13 points only; 30
    more tasks would make that about 9.2.'
    """
    changed = f"{100 * flips / tasks:.1f} %"
    half = (error.high - error.low) / 2
    if checked >= tasks:
        return "No more gold is to be had: all tasks were checked."
    if half > NARROW:
        then = f"{checked:,} more tasks would make that about {_points(half / math.sqrt(2))}"
        return (
            "More gold is worth having: the share of wrong decisions is known to within "
            f"{_points(half)} points only; {then}."
        )
    if settled.kept is None and settled.decided:
        enough = max(math.ceil(Z2 * (0.5 / max(settled.promised, 1e-9) - 1)), 1)
        more = max(min(enough, settled.decided) - settled.checked, 0)
        need = f"at least {more:,} more" if more else "more"
        return (
            f"More gold is worth having: whether settled decisions keep their promise takes {need} "
            "of them, checked."
        )
    if flips > CHANGING * tasks:
        return (
            f"More gold is worth having: what there is changed {changed} of the other decisions, "
            "so it still teaches."
        )
    return (
        "More gold would tell little: the share of wrong decisions is known to within "
        f"{_points(half)} points, and what there is changed {changed} of the other decisions."
    )


def _points(share: float) -> str:
    """Percentage points: one digit below ten.

    >>> _points(0.123), _points(0.0456)
    ('12', '4.6')
    """
    return f"{100 * share:.0f}" if share >= 0.095 else f"{100 * share:.1f}"
