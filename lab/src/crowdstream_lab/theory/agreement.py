"""Agreement rates and their inversion: the paper's fixed-point equation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from crowdstream_lab.theory.checks import Floats, check_agreements, check_error_rates


def agreement_rates(p: ArrayLike) -> Floats:
    """Return how often each worker agrees with another who answers the same task (equation 2).

    ``a_i = 1/(n−1) Σ_{j≠i} (p_i p_j + (1−p_i)(1−p_j)) = ½ + θ_i (Σθ − θ_i) / (2(n−1))``

    Parameters
    ----------
    p
        The error rates of at least two workers, each from 0 to 1.

    Examples
    --------
    >>> agreement_rates([0.0, 0.0, 0.5]).tolist()
    [0.75, 0.75, 0.5]
    """
    reliability = 1 - 2 * check_error_rates(p, least=2)
    others = (reliability.sum() - reliability) / (reliability.size - 1)
    return np.asarray(0.5 + reliability * others / 2)


def v_0(agreements: ArrayLike) -> float:
    """Return where the fixed-point equation begins to make sense (section 3).

    ``v_0(a) = max(4(n−1)/n² · max_i (2a_i − 1), 0)``

    Parameters
    ----------
    agreements
        The agreement rates of at least three workers, from 0; estimates may be above 1.

    Examples
    --------
    >>> v_0([0.75, 0.75, 0.5])
    0.4444444444444444
    """
    return _v_0(_offsets(check_agreements(agreements)))


def v(agreements: ArrayLike) -> float | None:
    """The solution of ``v = f(a, v)``, by bisection; None if there is none (Propositions 2 and 3).

    ``f(a, v) = (Σ √δ_i / (n−2))²`` with ``δ_i = v − 4(n−1)/n² · (2a_i − 1)``. For a crowd's own
    agreement rates it is ``(1 − 2q)²``, q being the mean error rate.

    Parameters
    ----------
    agreements
        The agreement rates of at least three workers, from 0; estimates may be above 1.

    Examples
    --------
    >>> v(agreement_rates([0.1, 0.2, 0.3, 0.2]))
    0.36
    """
    rates = check_agreements(agreements)
    offsets = _offsets(rates)
    low = _v_0(offsets)
    if _excess(offsets, low) > 0:
        return None
    # Every δ_i is at least v − v_0, so f(a, v) ≥ n²/(n−2)² (v − v_0), which is v at the upper end.
    high = max(2 * float(rates.max()) - 1, low)
    while low < (middle := (low + high) / 2) < high:
        if _excess(offsets, middle) > 0:
            high = middle
        else:
            low = middle
    return middle


def error_rates_from_agreements(agreements: ArrayLike) -> Floats | None:
    """The error rates that agreement rates tell, the paper's φ; None if none do (Proposition 3).

    ``p_i = ½ + n/4 (√δ_i − √v)``. Estimated agreement rates may lead out of [0, 1]; nothing is
    clipped here.

    Parameters
    ----------
    agreements
        The agreement rates of at least three workers, from 0; estimates may be above 1.

    Examples
    --------
    >>> error_rates_from_agreements(agreement_rates([0.1, 0.2, 0.3, 0.2])).round(12).tolist()
    [0.1, 0.2, 0.3, 0.2]
    >>> error_rates_from_agreements([1.0, 0.75, 0.75]) is None
    True
    """
    rates = check_agreements(agreements)
    fixed = v(rates)
    if fixed is None:
        return None
    return error_rates_at(rates, fixed)


def error_rates_at(agreements: Floats, v: float) -> Floats:
    """The paper's g: error rates from agreement rates and v."""
    return 0.5 + agreements.size / 4 * (np.sqrt(v - _offsets(agreements)) - math.sqrt(v))


def _offsets(agreements: Floats) -> Floats:
    """``v − δ_i``."""
    n = agreements.size
    return 4 * (n - 1) / n**2 * (2 * agreements - 1)


def _v_0(offsets: Floats) -> float:
    return max(float(offsets.max()), 0.0)


def _excess(offsets: Floats, v: float) -> float:
    """Return a number of the sign of ``f(a, v) − v``, which grows with v."""
    return float(np.sqrt(v - offsets).sum()) - (offsets.size - 2) * math.sqrt(v)
