"""Exact binomial probabilities and limits. Knows numbers alone."""

from __future__ import annotations

import math

NEGLIGIBLE = 1e-17
"""Terms of a sum, relative to the sum, that change no digit of a double."""

HALVINGS = 60
"""Halvings of [0, 1] after which the limit is exact to the last digit of a double."""


def upper_tail(n: int, k: int, p: float) -> float:
    """Return the probability that Binomial(n, p) is at least k.

    >>> round(upper_tail(10, 3, 0.1), 6)
    0.070191
    """
    if k <= 0 or p >= 1:
        return float(k <= n)
    if k > n or p <= 0:
        return 0.0
    if k <= n * p:  # the other tail is the shorter sum
        return 1.0 - upper_tail(n, n - k + 1, 1.0 - p)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    first = math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
    term = total = 1.0
    for i in range(k, n):
        term *= (n - i) / (i + 1) * p / (1 - p)
        total += term
        if term < NEGLIGIBLE * total:
            break
    return min(first * total, 1.0)


def upper_limit(hits: int, of: int, level: float) -> float:
    """Return Clopper and Pearson's upper limit of a share; 1 if there is nothing to count.

    >>> round(upper_limit(0, 50, 0.95), 3)
    0.058
    """
    if hits == of:
        return 1.0
    low, high = hits / of, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        more = upper_tail(of, hits + 1, middle) < level
        low, high = (middle, high) if more else (low, middle)
    return high


def exact_limits(hits: int, of: int, level: float) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a share.

    >>> [round(limit, 3) for limit in exact_limits(45, 50, 0.95)]
    [0.782, 0.967]
    """
    each = (1.0 + level) / 2.0
    return 1.0 - upper_limit(of - hits, of, each), upper_limit(hits, of, each)
