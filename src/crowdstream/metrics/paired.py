"""Paired comparisons on the same items: exact tests, Holm's correction, sample sizes.

Numbers in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

POWER = 0.8
"""Power that the recommended number of items has for a difference as large as seen."""

MANY = 2000
"""Tasks that only one got right from which on the normal law is used: it is as good, and sums of
huge whole numbers are slow."""


def mcnemar(only_first: int, only_second: int, *, exact: bool = False) -> float:
    """Return the two-sided p value of McNemar's test: the mid-p value, or the exact one.

    The exact test is too careful with few tasks; its mid-p value counts half of the outcome seen
    (Fagerland, Lydersen and Laake, 2013).

    Parameters
    ----------
    only_first, only_second
        Tasks that only the first, or only the second, got right.
    exact
        Count the whole of the outcome seen: the test never exceeds its level.

    Examples
    --------
    >>> round(mcnemar(9, 1), 4), round(mcnemar(9, 1, exact=True), 4)
    (0.0117, 0.0215)
    """
    n, least = int(only_first + only_second), int(min(only_first, only_second))
    if n > MANY:
        apart = abs(only_first - only_second) - float(exact)
        return math.erfc(max(apart, 0.0) / math.sqrt(2.0 * n))
    twice = 2 * sum(math.comb(n, k) for k in range(least + 1))
    counted = twice if exact else twice - math.comb(n, least)
    return min(float(counted / 2**n), 1.0)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values corrected for there being several (Holm, 1979), in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda k: values[k])
    found, most = [0.0] * len(values), 0.0
    for rank, k in enumerate(order):
        most = max(most, min((len(values) - rank) * values[k], 1.0))
        found[k] = most
    return found


def items_to_tell(
    only_first: float, only_second: float, items: int, alpha: float = 0.05
) -> int | None:
    """Return how many items tell two apart, if they differ as seen; None if they do not differ.

    Parameters
    ----------
    only_first, only_second
        Items that only the first, or only the second, got right.
    items
        Items of both.
    alpha
        Level of the test.

    Examples
    --------
    >>> items_to_tell(12, 6, 100)
    391
    """
    one, other = only_first / max(items, 1), only_second / max(items, 1)
    apart, either = abs(one - other), one + other
    if not apart:
        return None
    normal = NormalDist()
    z, more = normal.inv_cdf(1.0 - alpha / 2.0), normal.inv_cdf(POWER)
    root = z * math.sqrt(either) + more * math.sqrt(max(either - apart**2, 0.0))
    return math.ceil((root / apart) ** 2)
