"""Number of gold labels that an interval of a given width needs. Numbers in, numbers out."""

from __future__ import annotations

import math
from statistics import NormalDist

import msgspec

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.rates.limits import FAR, NEAR
from crowdstream.validation import check_number

MOST = 10**7
"""Gold labels beyond which nobody is asked."""


class Spread(msgspec.Struct, frozen=True):
    """Quantities that the width of an interval depends on.

    Attributes
    ----------
    left
        Variance of truth − λ prediction on a gold task.
    ends
        Squared distance, in the mean, of its two ends from its mean.
    scatter
        Variance that the predictions of the others bring in, which more gold does not lessen.
    gain
        Random tasks that a gold task counts as: 1, or more if drawn by strata.
    """

    left: float
    ends: float
    scatter: float = 0.0
    gain: float = 1.0


def expected_width(spread: Spread, n: float, level: float = LEVEL) -> float:
    """Return the width of the interval to be expected with n gold labels.

    >>> round(expected_width(Spread(0.25, 0.25), 100.0), 3)  # of a share of a half
    0.194
    """
    more, n = FAR + NEAR, n * spread.gain
    variance = (n * spread.left + more * spread.ends) / (n + more) / (n + more + 1.0)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    return 2.0 * z * math.sqrt(variance + spread.scatter)


def gold_for_width(width: float, spread: Spread | None = None, level: float = LEVEL) -> int | None:
    """Return how many gold labels make an interval at most so wide; None if no number does.

    Parameters
    ----------
    width
        From the low to the high limit: 0.1 for ± 0.05.
    spread
        What was measured (``Rate.spread``); without it the answer is a bound: that of a share of a
        half by gold alone.
    level
        Level of the interval.

    Returns
    -------
    The number of gold labels in all, those that there are included.

    Examples
    --------
    >>> import crowdstream as cs
    >>> cs.gold_for_width(0.1)
    382
    """
    check_number("width", width, 0.0, 1.0, open_low=True)
    check_number("level", level, *LEVEL_RANGE)
    spread = Spread(0.25, 0.25) if spread is None else spread
    low, high = 1, MOST
    if expected_width(spread, high, level) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        enough = expected_width(spread, middle, level) <= width
        low, high = (low, middle) if enough else (middle + 1, high)
    return low
