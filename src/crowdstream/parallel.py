"""Work in threads: on parts of a batch, or ahead of whoever needs it. Knows nothing of the work."""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Found = TypeVar("Found")

TICK = 0.2
"""Seconds after which a wait is begun anew, so that Ctrl-C works when another thread got it."""

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


def ahead(pieces: Iterable[Found]) -> Iterator[Found]:
    """The same pieces, each made in another thread while the one before is worked on.

    The thread ends with the process: whoever leaves early need not wait for the next piece.

    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    made: queue.Queue[tuple[bool, Found | BaseException | None]] = queue.Queue(1)

    def make() -> None:
        try:
            for piece in pieces:
                made.put((True, piece))
            made.put((False, None))
        except BaseException as error:  # raised again where the pieces are taken
            made.put((False, error))

    threading.Thread(target=make, daemon=True).start()
    while True:
        try:
            more, piece = made.get(timeout=TICK)
        except queue.Empty:
            continue
        if isinstance(piece, BaseException):
            raise piece
        if not more:
            return
        yield cast("Found", piece)
