"""Properties that make a crowd easy: Assumption 1, γ, η and λ."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdstream_lab.theory.checks import (
    Floats,
    check_classes,
    check_error_rates,
    check_weights,
)
from crowdstream_lab.theory.combinations import ATOMS, TIE, alike, halves, outer, within_reach


class Bounds(NamedTuple):
    """A number between two: the same two if it is known.

    Parameters
    ----------
    low, high
        The least and the most that it can be.

    Examples
    --------
    >>> Bounds(0.0, 0.5).high
    0.5
    """

    low: float
    high: float


def assumption_1(p: ArrayLike) -> bool:
    """Return True if the mean error rate is below ``½ − 1/n``: the paper's Assumption 1.

    Parameters
    ----------
    p
        The error rates of at least three workers, each from 0 to 1.

    Examples
    --------
    >>> assumption_1([0.1, 0.1, 0.1, 0.5]), assumption_1([0.0, 0.5, 0.5, 0.5])
    (True, False)
    """
    rates = check_error_rates(p, least=3)
    return bool(rates.mean() < 0.5 - 1 / rates.size)


def gamma(p: ArrayLike) -> float:
    """Return how far the crowd is from not being identifiable: 1 at best, 0 if it is not.

    ``γ = v(a) − v_0(a)``, which is ``((Σθ − 2 max θ) / n)²``. It is above 0 as long as nobody holds
    half of the signal, ``Σθ > 2 max θ``; under Assumption 1, ``Σθ > 2``, it always is.

    Parameters
    ----------
    p
        The error rates of at least three workers, each from 0 to 1.

    Examples
    --------
    >>> gamma([0.0, 0.0, 0.0, 0.0]), gamma([0.0, 0.5, 0.5, 0.5])
    (0.25, 0.0)
    """
    reliability = 1 - 2 * check_error_rates(p, least=3)
    left = float(reliability.sum() - 2 * reliability.max())
    return (max(left, 0.0) / reliability.size) ** 2


def as_two_classes(p: ArrayLike, classes: int) -> Floats:
    """The error rates of a crowd of two classes that agrees as this one of K does.

    ``Kp/(2(K−1))``: if who errs, errs evenly, then two of K classes agree with probability
    ``1/K + (1 − 1/K) θ_iθ_j`` with ``θ = 1 − Kp/(K−1)``. So ``(K·1{agree} − 1)/(K−1)`` has the mean
    θ_iθ_j that agreements minus disagreements have of two classes and reliabilities θ.

    Parameters
    ----------
    p
        The workers' error rates, each from 0 to 1.
    classes
        The number K of classes, at least 2.

    Examples
    --------
    >>> as_two_classes([0.0, 0.3, 2 / 3], classes=3).tolist()  # the last one guesses
    [0.0, 0.22499999999999998, 0.5]
    """
    check_classes(classes)
    return check_error_rates(p) * classes / (2 * (classes - 1))


def eta(p: ArrayLike) -> float:
    """The paper's ``η = min p_i (1 − p_i)``: 0 if somebody is always right or always wrong.

    Parameters
    ----------
    p
        The workers' error rates, each from 0 to 1.

    Examples
    --------
    >>> eta([0.2, 0.5])
    0.16000000000000003
    """
    rates = check_error_rates(p)
    return float((rates * (1 - rates)).min())


def lambda_(weights: ArrayLike) -> Bounds:
    """The closest vote that is not a tie: the least nonzero ``|Σ w_i x_i| / n``, x_i in {−1, 0, 1}.

    Exact for up to 24 different weights, fewer if shared (`ATOMS`): low and high are then the same.
    Beyond, nothing but 0 is known to be below it, and ``high`` is the closest vote among the
    workers of least weight. Theorem 2 needs the low side. Votes below `TIE` count as ties;
    infinite weights are never part of a close vote. No vote but ties: infinity. (The paper prints
    it without the 1/n its proof needs.)

    Parameters
    ----------
    weights
        The weight of each worker's vote: any number, also negative or infinite.

    Examples
    --------
    >>> lambda_([1.0, 1.0, 1.5, 4.0])
    Bounds(low=0.125, high=0.125)
    """
    given = check_weights(weights)
    sizes = np.abs(given[np.isfinite(given)])
    parts = [sizes[group].mean() * np.arange(-group.size, group.size + 1) for group in alike(sizes)]
    # A part has three values at least, so no more parts than this can be within the limit.
    fitting = parts[: round(2 * math.log(ATOMS, 3)) + 1]
    while not within_reach(fitting):
        fitting = fitting[:-1]
    left, right = (outer(np.add, half, 0.0) for half in halves(fitting))
    right = np.append(np.sort(right), math.inf)
    # The first sum above a tie; those below are the same ones with the sign changed.
    tie = TIE * float(sizes.sum())
    closest = right[np.searchsorted(right, tie - left, side="right")] + left
    least = float(closest.min()) / given.size
    return Bounds(least if len(fitting) == len(parts) else 0.0, least)
