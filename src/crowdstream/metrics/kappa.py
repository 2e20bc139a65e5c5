"""Cohen's kappa of a confusion table, with its standard error. Arrays in, numbers out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def cohen_kappa(table: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float] | None:
    """Return Cohen's kappa and its standard error; None where chance alone agrees on everything.

    Parameters
    ----------
    table
        Counts: a row per class that one said, a column per class that the other said.
    weights
        How far each two classes agree, from 0 to 1; 1 for the same class and 0 else unless given.

    Examples
    --------
    >>> value, error = cohen_kappa([[20, 5], [10, 15]])
    >>> round(value, 2), round(error, 3)
    (0.4, 0.127)

    References
    ----------
    Fleiss, Cohen and Everitt (1969), Large sample standard errors of kappa and weighted kappa,
    Psychological Bulletin 72.
    """
    counts = np.asarray(table, np.float64)
    n = float(counts.sum())
    if not n:
        return None
    shares = counts / n
    agree = np.eye(counts.shape[0]) if weights is None else np.asarray(weights, np.float64)
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    seen, chance = float((agree * shares).sum()), float(rows @ agree @ columns)
    if chance > 1.0 - 1e-12:
        return None
    value = (seen - chance) / (1.0 - chance)
    means = (agree @ columns)[:, None] + (rows @ agree)[None, :]
    square = float((shares * (agree * (1.0 - chance) - means * (1.0 - seen)) ** 2).sum())
    variance = (square - (seen * chance - 2.0 * chance + seen) ** 2) / (n * (1.0 - chance) ** 4)
    return value, math.sqrt(max(variance, 0.0))
