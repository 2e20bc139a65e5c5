"""Batches of labels for the sums' tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from crowdstream.labels.batch import NO_TRUTHS, LabelBatch

WORKERS, CLASSES = 6, 4

Task = tuple[dict[int, int], int]
"""What each worker said, and the truth or −1."""

tasks = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, WORKERS - 1), st.integers(0, CLASSES - 1), max_size=WORKERS),
        st.integers(-1, CLASSES - 1),
    ),
    max_size=12,
)


def batch_of(some: Sequence[Task], gold: bool = True) -> LabelBatch:
    """Tasks in codes; ``gold``: with their truths."""
    sizes = [len(said) for said, _ in some]
    return LabelBatch(
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64),
        np.array([who for said, _ in some for who in said], np.int32),
        np.array([label for said, _ in some for label in said.values()], np.int32),
        np.array([truth for _, truth in some], np.int32) if gold else NO_TRUTHS,
    )
