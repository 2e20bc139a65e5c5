"""Whether two that answered the same items differ: exact tests, Holm's correction, sample size.

Numbers in, numbers out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

POWER = 0.8
"""How often a difference as large as seen is to be found with the number of items asked for."""


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided mid-p value of McNemar's test.

    The exact test is too careful with few items; its mid-p value counts half of the outcome seen
    (Fagerland, Lydersen and Laake, 2013).

    Parameters
    ----------
    only_first, only_second
        Items that only the first, or only the second, got right.

    Examples
    --------
    >>> round(mcnemar(9, 1), 4)
    0.0117
    """
    n, least = int(only_first + only_second), int(min(only_first, only_second))
    below = sum(math.comb(n, k) for k in range(least + 1))
    return min(float((2 * below - math.comb(n, least)) / 2**n), 1.0)


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
