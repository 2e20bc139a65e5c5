"""Connected groups: who is linked with whom. Knows numbers only, not what they stand for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.sums.group_loops import flatten, join_pairs

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


def connected(size: int, one: Ints, other: Ints) -> Codes:
    """Number the groups that pairs link: each group has the number of its first member.

    Parameters
    ----------
    size
        How many members there are, numbered from 0.
    one, other
        The members of each pair.

    Examples
    --------
    >>> connected(5, np.array([4, 3]), np.array([1, 4])).tolist()
    [0, 1, 2, 1, 1]
    """
    groups = np.arange(size, dtype=np.int32)
    join_pairs(groups, *(np.ascontiguousarray(k, np.int64) for k in (one, other)))
    flatten(groups)
    return groups
