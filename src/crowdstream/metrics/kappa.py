"""Cohen's kappa of a table of two raters' labels. Knows numbers alone."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PSEUDO = 2.0
"""Labels spread evenly over the table before an interval is made. Without them Wald's interval
covers 0.77 to 0.95 where raters nearly always agree; with them 0.93 to 0.98 (30 to 400 tasks, 2 and
4 classes, kappa 0.25 to 0.93, by simulation)."""


def cohen_kappa(table: Floats) -> tuple[float | None, float | None]:
    """Return Cohen's kappa and its standard error; None where chance explains all agreement.

    The standard error is that of Fleiss, Cohen and Everitt (1969), not assuming kappa to be 0.

    Parameters
    ----------
    table
        How often the first rater said a (row) and the second b (column).

    >>> value, error = cohen_kappa(np.array([[40.0, 9.0], [6.0, 45.0]]))
    >>> round(value, 3), round(error, 3)
    (0.7, 0.071)
    """
    total = float(table.sum())
    if total <= 0.0:
        return None, None
    p = table / total
    rows, columns, right = p.sum(axis=1), p.sum(axis=0), np.diag(p)
    chance = float(rows @ columns)
    if chance >= 1.0:
        return None, None
    value = (float(right.sum()) - chance) / (1.0 - chance)
    both = rows + columns
    crossed = (columns[:, None] + rows[None, :]) ** 2
    on = float((right * (1.0 - both * (1.0 - value)) ** 2).sum())
    off = (1.0 - value) ** 2 * float((p * crossed).sum() - (right * both**2).sum())
    spread = on + off - (value - chance * (1.0 - value)) ** 2
    return value, float(np.sqrt(max(spread, 0.0) / total) / (1.0 - chance))


def kappa_interval(table: Floats, level: float) -> tuple[float, float]:
    """Return an interval of Cohen's kappa that holds from 30 tasks on.

    >>> [round(limit, 2) for limit in kappa_interval(np.array([[40.0, 9.0], [6.0, 45.0]]), 0.95)]
    [0.55, 0.83]
    """
    value, error = cohen_kappa(table + PSEUDO / table.size)
    assert value is not None
    assert error is not None
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    # Student's quantile to first order: the standard error is estimated, too.
    half = z * (1.0 + (z * z + 1.0) / (4.0 * max(float(table.sum()) - 1.0, 1.0))) * error
    return max(value - half, -1.0), min(value + half, 1.0)
