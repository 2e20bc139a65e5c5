"""Work on parts of a batch in threads. Knows nothing of what the work is."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Found = TypeVar("Found")

LARGE = 20_000
"""Tasks from which on threads save time."""


def parts_of(tasks: int) -> list[tuple[int, int]]:
    """First and last task of each part of so many tasks.

    >>> parts_of(7)
    [(0, 7)]
    """
    parts = (os.cpu_count() or 1) if tasks >= LARGE else 1
    return list(itertools.pairwise(tasks * k // parts for k in range(parts + 1)))


def side_by_side(work: Callable[[int], Found], parts: int) -> list[Found]:
    """Do the work on each part in a thread of its own; the results in order."""
    if parts == 1:
        return [work(0)]
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(work, range(parts)))
