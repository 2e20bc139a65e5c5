"""Loss of a vote with estimated error rates against one that knows them, for any classes.

The model: K classes, equally likely; worker i answers with probability α and is then wrong with
probability p_i, and who is wrong says any of the K − 1 wrong classes with equal chances. The
*plug-in vote* weighs each label by ``log((K−1)(1−p̂)/p̂)``, ties by a coin. Proofs: docs/maths.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from crowdstream import InputError
from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import Floats, check_alpha, check_classes, check_error_rates
from crowdstream_lab.theory.estimation import theorem_1

DISTANCES = 400
"""Distances of estimates from error rates that `regret_bound` tries: each gives a bound."""

NEAREST = 1e-9
"""The least of them."""


def plug_in_excess_bound(
    p: ArrayLike, estimates: ArrayLike, *, classes: int = 2, alpha: float = 1.0
) -> float:
    """The most that a vote by estimated error rates p̂ errs beyond the best vote, on one task.

    The lesser of ``2α Σ |p̂_i − p_i|`` and::

        (K−1) Π β_i √(½ [Π (1 + g_i) − 1])
        β_i = 1 − α + α (2 √(p_i(1−p_i)/(K−1)) + (K−2) p_i/(K−1))
        g_i = α (p̂_i − p_i)² / (β_i √((K−1) p_i(1−p_i)) p̂_i(1−p̂_i))

    The first holds for all estimates; of the second the product of the β_i is exponentially small
    in the number of workers, and it needs estimates that are neither 0 nor 1.

    Parameters
    ----------
    p
        The workers' error rates, each from 0 to 1.
    estimates
        The estimated error rates p̂ that the vote goes by, as many.
    classes
        The number K of classes, at least 2.
    alpha
        The probability that a worker answers a task, above 0 and at most 1.

    Examples
    --------
    >>> round(plug_in_excess_bound([0.3] * 9, [0.28] * 4 + [0.32] * 5, classes=3), 4)
    0.0341
    >>> round(plug_in_excess_bound([0.5], [0.4]), 2)  # who guesses cannot be weighed wrongly
    0.2
    """
    rates, given = check_error_rates(p), check_error_rates(estimates)
    if given.size != rates.size:
        raise InputError("estimates", f"as many as error rates, {rates.size}", str(given.size))
    check_classes(classes)
    check_alpha(alpha)
    return _bound(rates, given - rates, classes, alpha)


def worst_plug_in_excess(
    p: ArrayLike, epsilon: float, *, classes: int = 2, alpha: float = 1.0
) -> float:
    """`plug_in_excess_bound` for all estimates within ``epsilon`` of the error rates.

    Each term grows with the distance of p̂_i from p_i on either side, so that it is largest at
    ``p_i − ε`` or ``p_i + ε``. Where that leaves (0, 1) for some worker, ``2αnε`` is left.

    Parameters
    ----------
    p, classes, alpha
        As for `plug_in_excess_bound`.
    epsilon
        The largest distance of an estimate from the error rate, from 0.

    Examples
    --------
    >>> round(worst_plug_in_excess([0.3] * 9, 0.02, classes=3), 4)
    0.0348
    """
    rates = check_error_rates(p)
    check_number("epsilon", epsilon, 0, 1)
    check_classes(classes)
    check_alpha(alpha)
    return _worst(rates, epsilon, classes, alpha)


def regret_bound(p: ArrayLike, alpha: float, tasks: float, *, classes: int = 2) -> float:
    """Bound how much likelier an error on task t is than with the best vote, without λ.

    ``r(t) ≤ min over ε of [worst_plug_in_excess(ε) + theorem_1(t − 1, ε)]``. `theorem_2` falls
    exponentially in t, but only once every close vote is decided rightly, which takes a λ that is
    tiny in crowds of more than a few workers and out of reach in large ones. This one falls as
    √(log t / t) only, but its constant is exponentially small in n. Of the algorithm as printed:
    ``AgreementBased(answer_rate=α, shrinkage=0, clip=0)``.

    Parameters
    ----------
    p
        The error rates of at least three workers, each from 0 to 1.
    alpha, classes
        As for `plug_in_excess_bound`.
    tasks
        The number t of the task, at least 1.

    Examples
    --------
    >>> p = [0.1, 0.15, 0.2, 0.25] * 5
    >>> round(regret_bound(p, 1.0, 10**7, classes=3), 6)
    3.1e-05
    """
    rates = check_error_rates(p, least=3)
    check_alpha(alpha)
    check_number("tasks", tasks, 1, math.inf)
    check_classes(classes)
    found = (
        _worst(rates, epsilon, classes, alpha)
        + theorem_1(rates, alpha, tasks - 1, epsilon, classes=classes)
        for epsilon in map(float, np.geomspace(NEAREST, 1.0, DISTANCES))
    )
    return min(1.0, *found)


def _worst(rates: Floats, epsilon: float, classes: int, alpha: float) -> float:
    low, high = np.maximum(rates - epsilon, 0), np.minimum(rates + epsilon, 1)
    # (p̂ − p)²/(p̂(1 − p̂)) at the end of the interval that is nearer to 0 or 1
    outer = np.where(low * (1 - low) < high * (1 - high), low, high)
    off = np.where(outer < rates, -epsilon, epsilon)
    return _bound(rates, np.where((outer <= 0) | (outer >= 1), off, outer - rates), classes, alpha)


def _bound(rates: Floats, off: Floats, classes: int, alpha: float) -> float:
    linear = min(2 * alpha * float(np.abs(off).sum()), 1.0)
    given, spread = rates + off, rates * (1 - rates)
    moved = off != 0
    if not ((given > 0) & (given < 1) & (spread > 0) | ~moved).all():
        return linear
    root = np.sqrt(spread / (classes - 1))
    beta = 1 - alpha + alpha * (2 * root + (classes - 2) * rates / (classes - 1))
    if not (beta > 0).all():  # somebody always tells the truth, or its opposite, and is known to
        return 0.0
    with np.errstate(over="ignore"):
        below = beta[moved] * (given * (1 - given))[moved] * (classes - 1) * root[moved]
        growth = float(np.log1p(alpha * off[moved] ** 2 / below).sum())
    if growth > 700:  # no promise; the product may be out of range
        return linear
    product = float(np.log(beta).sum())
    return min((classes - 1) * math.exp(product) * math.sqrt(math.expm1(growth) / 2), linear)
