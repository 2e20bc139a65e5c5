"""Checks of what the functions accept: vectors, error rates, agreement rates, weights."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdstream import InputError
from crowdstream.extension import check_number

Floats: TypeAlias = NDArray[np.float64]


def vector(name: str, values: ArrayLike, least: int) -> Floats:
    """A list of at least so many numbers."""
    try:
        given = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(name, "a list of numbers", repr(values)) from None
    if given.ndim != 1 or given.size < least:
        found = f"an array of shape {given.shape}"
        raise InputError(name, f"a list of at least {least} numbers", found)
    return given


def check_error_rates(p: ArrayLike, least: int = 1) -> Floats:
    """Error rates, each from 0 to 1."""
    given = vector("p", p, least)
    if not ((given >= 0) & (given <= 1)).all():
        raise InputError("p", "error rates from 0 to 1", str(given.tolist()))
    return given


def check_agreements(agreements: ArrayLike) -> Floats:
    """Estimates of agreement rates may be above 1 where not everybody answers."""
    given = vector("agreements", agreements, 3)
    if not ((given >= 0) & np.isfinite(given)).all():
        raise InputError("agreements", "rates from 0", str(given.tolist()))
    return given


def check_weights(weights: ArrayLike, n: int | None = None) -> Floats:
    """Weights, as many as there are error rates."""
    given = vector("weights", weights, 1)
    if n not in (None, given.size):
        raise InputError("weights", f"as many as error rates, {n}", str(given.size))
    if np.isnan(given).any():
        raise InputError("weights", "numbers", str(given.tolist()))
    return given


def check_alpha(alpha: float) -> None:
    """Refuse an answer rate that is not above 0 and at most 1."""
    check_number("alpha", alpha, 0, 1, open_low=True)


def check_classes(classes: int) -> None:
    """Refuse a number of classes that is not whole and at least 2."""
    check_number("classes", classes, 2, 10**9, whole=True)


def divide(above: float, below: float) -> float:
    """Infinity where there is nothing to divide by."""
    return above / below if below > 0 else math.inf
