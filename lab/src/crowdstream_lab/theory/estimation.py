"""Guarantees on the estimated error rates: Lemmas 1 and 2, Theorem 1, Corollary 1."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdstream.extension import check_number
from crowdstream_lab.theory.agreement import error_rates_at, v, v_0
from crowdstream_lab.theory.checks import (
    Floats,
    check_agreements,
    check_alpha,
    check_error_rates,
    divide,
)
from crowdstream_lab.theory.crowd import as_two_classes, gamma


class Region(NamedTuple):
    """Between which error rates each worker's lies.

    Parameters
    ----------
    low, high
        The least and the largest error rate of each worker, from 0 to 1.

    Examples
    --------
    >>> Region(np.array([0.0, 0.1]), np.array([0.2, 0.3])).high.tolist()
    [0.2, 0.3]
    """

    low: Floats
    high: Floats


def lemma_1(n: int, alpha: float, tasks: float, epsilon: float) -> float:
    """Bound the chance that some agreement rate is off by ``epsilon`` or more (Lemma 1).

    ``P(‖â(t) − a‖∞ ≥ ε) ≤ 2n exp(−2 ε² α⁴ t)``. With forgetting, around its mean, ``t = 1/β``
    (Proposition 8).

    Parameters
    ----------
    n
        The number of workers, at least 3.
    alpha
        The probability that a worker answers a task, above 0 and at most 1.
    tasks
        The number of tasks seen, from 0.
    epsilon
        A distance between true and estimated agreement rates, from 0.

    Examples
    --------
    >>> round(lemma_1(10, 1.0, 1000, 0.06), 4)
    0.0149
    """
    check_number("n", n, 3, math.inf, whole=True)
    check_alpha(alpha)
    check_number("tasks", tasks, 0, math.inf)
    check_number("epsilon", epsilon, 0, math.inf)
    if epsilon == 0:
        return 1.0
    return min(1.0, 2 * n * math.exp(-2 * epsilon**2 * alpha**4 * tasks))


def lemma_2(p: ArrayLike, epsilon: float) -> float:
    """Bound how far off error rates are if no agreement rate is off by more than ``epsilon``.

    ``‖p̂ − p‖∞ ≤ 4 γ^(−3/2) ε`` if ``ε ≤ γ/80`` (Lemma 2). Else nothing is promised: 1, which error
    rates clipped to [0, 1] never exceed.

    That â has a fixed point cannot rest on Propositions 4 and 5, but follows from Proposition 2.
    No δ_i and no v_0 moves by more than ``κ = 8(n−1)ε/n²``, so ``f(â, v_0 + κ)`` is at most
    ``f(a, v_0 + 2κ)``; and as the slope of f(a, ·) is at least ``n²/(n−2)²``, that is at most
    ``v_0 + κ``, which is at least v_0(â), whenever ``ε ≤ γ/4``.

    Parameters
    ----------
    p
        The error rates of at least three workers, each from 0 to 1.
    epsilon
        A distance between true and estimated agreement rates, from 0.

    Examples
    --------
    >>> round(lemma_2([0.0] * 20, 0.001), 5)
    0.00549
    """
    check_number("epsilon", epsilon, 0, math.inf)
    return radius_of(gamma(p), epsilon)


def theorem_1(
    p: ArrayLike, alpha: float, tasks: float, epsilon: float, *, classes: int = 2
) -> float:
    """Bound the chance that some error rate is off by ``epsilon`` or more after so many tasks.

    ``P(‖p̂(t) − p‖∞ ≥ ε) ≤ 2n exp(−γ³ α⁴ t ε² / 8)`` (Theorem 1). The paper asks ε ≤ 1/20; its proof
    gives ε ≤ 1/(20 √γ), and the bound there is also one for all that is larger. Of the algorithm as
    printed only: ``AgreementBased(answer_rate=α, shrinkage=0, clip=0)``. With K classes that are
    confused evenly it holds with ``Kε/(2(K−1))`` for ε, and γ of `as_two_classes` (docs/maths.md).

    Parameters
    ----------
    alpha, tasks
        As for `lemma_1`.
    p
        The error rates of at least three workers, each from 0 to 1.
    epsilon
        A distance between true and estimated error rates, above 0.
    classes
        The number K of classes, at least 2.

    Examples
    --------
    >>> round(theorem_1([0.05] * 20, 1.0, 50_000, 0.05), 4)
    0.4848
    """
    rates = check_error_rates(p, least=3)
    check_number("epsilon", epsilon, 0, math.inf, open_low=True)
    nearness, scaled = (
        gamma(as_two_classes(rates, classes)),
        epsilon * classes / (2 * (classes - 1)),
    )
    return lemma_1(rates.size, alpha, tasks, leeway_of(nearness, scaled))


def tasks_needed(p: ArrayLike, alpha: float, epsilon: float, delta: float) -> float:
    """Return how many tasks make all error rates good to ``epsilon``, with chance ``1 − delta``.

    Theorem 1 solved for t: ``8 log(2n/δ) / (γ³ α⁴ ε²)``, rounded up; infinity if γ is 0.

    Parameters
    ----------
    p, alpha, epsilon
        As for `theorem_1`.
    delta
        The probability that the promise is broken, above 0 and at most 1.

    Examples
    --------
    >>> tasks_needed([0.05] * 20, 1.0, 0.05, 0.1)
    67885.0
    """
    rates = check_error_rates(p, least=3)
    check_alpha(alpha)
    check_number("epsilon", epsilon, 0, math.inf, open_low=True)
    check_number("delta", delta, 0, 1, open_low=True)
    leeway = leeway_of(gamma(rates), epsilon)
    needed = divide(math.log(2 * rates.size / delta), 2 * (leeway * alpha**2) ** 2)
    return needed if math.isinf(needed) else float(math.ceil(needed))


def accuracy(p: ArrayLike, alpha: float, tasks: float, delta: float) -> float:
    """Bound how far off error rates are after so many tasks, with probability ``1 − delta``.

    Theorem 1 solved for ε: ``√(8 log(2n/δ) / (γ³ α⁴ t))``, or 1 where that is beyond 1/(20 √γ).
    It takes the true p. For a region around an estimate, without it, see `confidence_region`.

    Parameters
    ----------
    p, alpha, delta
        As for `tasks_needed`.
    tasks
        The number of tasks seen, at least 1.

    Examples
    --------
    >>> round(accuracy([0.05] * 20, 1.0, 100_000, 0.1), 4)
    0.0412
    """
    rates = check_error_rates(p, least=3)
    return radius_of(gamma(rates), deviation_of(rates.size, alpha, tasks, delta))


def confidence_region(agreements: ArrayLike, alpha: float, tasks: float, delta: float) -> Region:
    """Return where error rates are with probability ``1 − delta``, by estimated agreement rates.

    Theorem 1 does not give it directly, because γ is not known. But Lemma 2 can be read from the
    estimate instead of the truth: its proof asks of the centre only that a solution exists and that
    no agreement rate is above 1. So with ``ε = √(log(2n/δ) / (2 α⁴ t))`` and γ the estimate's, the
    region is ``φ(â) ± 4 γ^(−3/2) ε`` if ``ε ≤ γ/80``, else all of [0, 1]. It supposes, as the paper
    does, a crowd with ``Σθ > 2 max θ``.

    Parameters
    ----------
    alpha, tasks, delta
        As for `accuracy`.
    agreements
        The estimated agreement rates of at least three workers, from 0; may be above 1.

    Examples
    --------
    >>> from crowdstream_lab.theory import agreement_rates
    >>> low, high = confidence_region(agreement_rates([0.05] * 20), 1.0, 100_000, 0.1)
    >>> low.round(3).tolist()[0], high.round(3).tolist()[0]
    (0.009, 0.091)
    """
    rates = np.minimum(check_agreements(agreements), 1.0)  # no further from the truth than before
    deviation = deviation_of(rates.size, alpha, tasks, delta)
    fixed = v(rates)
    radius = 1.0 if fixed is None else radius_of(fixed - v_0(rates), deviation)
    if fixed is None or radius == 1.0:
        return Region(np.zeros(rates.size), np.ones(rates.size))
    centre = error_rates_at(rates, fixed)
    return Region(np.clip(centre - radius, 0, 1), np.clip(centre + radius, 0, 1))


def corollary_1(p: ArrayLike, alpha: float, tasks: float) -> float:
    """The order of the estimation error, without its constant (Corollary 1).

    ``γ^(−3/2) α^(−2) √(log n / t)``

    Parameters
    ----------
    p, alpha, tasks
        As for `accuracy`.

    Examples
    --------
    >>> round(corollary_1([0.05] * 20, 1.0, 100_000), 4)
    0.0103
    """
    rates = check_error_rates(p, least=3)
    check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    return divide(math.sqrt(math.log(rates.size) / tasks), gamma(rates) ** 1.5 * alpha**2)


def radius_of(gamma: float, deviation: float) -> float:
    """Lemma 2: from agreement rates to error rates."""
    if gamma == 0 or deviation > gamma / 80:
        return 1.0
    return float(min(1.0, 4 * deviation / gamma**1.5))


def leeway_of(gamma: float, epsilon: float) -> float:
    """Lemma 2 the other way: how far off agreement rates may be for error rates good to epsilon."""
    return float(min(epsilon * gamma**1.5 / 4, gamma / 80))


def deviation_of(n: int, alpha: float, tasks: float, delta: float) -> float:
    """Lemma 1 solved for ε."""
    check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    check_number("delta", delta, 0, 1, open_low=True)
    return divide(math.sqrt(math.log(2 * n / delta) / (2 * tasks)), alpha**2)
