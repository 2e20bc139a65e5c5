"""Groups are those that paths of pairs connect, numbered by their first members."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crowdstream.sums.groups import connected

SIZE = 8
members = st.integers(0, SIZE - 1)


@given(st.lists(st.tuples(members, members), max_size=10))
def test_groups_are_what_paths_connect(pairs: list[tuple[int, int]]) -> None:
    reach = np.eye(SIZE, dtype=bool)
    for i, j in pairs:
        reach[i, j] = reach[j, i] = True
    for _ in range(SIZE):
        reach = reach @ reach
    one, other = np.array(pairs, np.int64).reshape(-1, 2).T
    assert connected(SIZE, one, other).tolist() == reach.argmax(axis=1).tolist()
