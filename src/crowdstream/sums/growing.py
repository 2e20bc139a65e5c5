"""Arrays that grow by rows, for all sums. Knows nothing of what the rows hold."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

FEWEST = 16
"""Rows of the smallest array that is made: few enough to cost nothing."""


def grown(array: NDArray[Scalar], rows: int, fill: float = 0) -> NDArray[Scalar]:
    """The array itself if it has so many rows, or a larger one that begins with the same rows.

    Its length at least doubles, so that adding rows one by one costs constant time each.

    Parameters
    ----------
    array
        Rows along the first axis.
    rows
        How many rows there must be.
    fill
        What new rows hold.

    Examples
    --------
    >>> grown(np.array([[1.0, 2.0]]), 2)[:3].tolist()
    [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    """
    if rows <= len(array):
        return array
    shape = (max(rows, 2 * len(array), FEWEST), *array.shape[1:])
    # Zeros take no memory until they are written to.
    larger = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    larger[: len(array)] = array
    return larger
