"""A window of open tasks over batches of labels: streams of any length in bounded memory.

Tasks close in the order they were opened, each when so many newer ones have been. What is closed is
decided and learnt a batch at a time, so this is as fast as whole tables; `Stream` is for single
labels and for rules that depend on a decision. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.labels import CodedLabels, Table, TaskId, code_rows
from crowdstream.validation import check_number

Hashes: TypeAlias = NDArray[np.uint64]

REMEMBER = 1_000_000
"""Closed tasks whose name is remembered at least (as 8 bytes, of up to twice as many), so that a
late label is known to be late."""


def _hashes(tasks: Sequence[TaskId] | pl.Series) -> Hashes:
    """A number per name."""
    return pl.Series(tasks).hash().to_numpy()


class _Remembered:
    """Hashes of the latest names, sorted: those being collected, and the full set before them."""

    def __init__(self, least: int) -> None:
        self.least = least
        self._sets: tuple[Hashes, Hashes] = (np.empty(0, np.uint64), np.empty(0, np.uint64))

    def has(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Return which of these hashes are remembered."""
        found = np.zeros(hashes.size, np.bool_)
        order = np.argsort(hashes)  # in order they are found several times as fast
        wanted = hashes[order]
        for known in self._sets:
            if known.size:
                at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
                found[order] |= known[at] == wanted
        return found

    def add(self, hashes: Hashes) -> None:
        """Remember these too, and forget what is older than as many as must be remembered."""
        old, new = self._sets
        new = np.sort(np.concatenate([new, np.sort(hashes)]), kind="stable")
        self._sets = (new, new[:0]) if new.size >= self.least else (old, new)


class Window:
    """At most ``size`` open tasks; ``close`` is called with the labels of tasks that close.

    Parameters
    ----------
    size
        How many tasks are open at most.
    close
        Decides tasks; it is given their labels, and returns a table.
    remember
        How many closed tasks are remembered at least.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.AgreementBased()
    >>> window = Window(2, crowd.stream_many)
    >>> rows = [("a", "x", 1), ("b", "x", 1), ("a", "y", 1), ("c", "x", 1), ("a", "z", 0)]
    >>> window.feed(rows).select("task", "votes").rows()
    [('a', 2)]
    >>> window.late, window.end().get_column("task").to_list()
    (1, ['b', 'c'])
    """

    def __init__(
        self, size: int, close: Callable[[CodedLabels], pl.DataFrame], remember: int = REMEMBER
    ) -> None:
        check_number("window", size, 1, 2**40, whole=True)
        self.size = size
        self.close = close
        self.late = 0
        self._open: CodedLabels | None = None
        self._closed = _Remembered(remember)

    def feed(self, labels: Table) -> pl.DataFrame:
        """Take some labels; the decisions on the tasks that closed.

        Parameters
        ----------
        labels
            Rows or a table of any kind.
        """
        new = code_rows(labels)
        held = 0 if self._open is None else len(self._open.batch)
        table = new if self._open is None else CodedLabels.concat([self._open, new])
        gone = self._closed.has(_hashes(table.batch.tasks))
        gone[:held] = False
        if gone.any():
            self.late += int(table.batch.sizes[gone].sum())
            table = table.select(~gone)
        # A task's rank is its place in the order of opening; the newest opened so far sets who is
        # still open. That does not depend on where batches are cut.
        ranks, tasks = table.task_order()
        newest = np.maximum.accumulate(ranks) if ranks.size else ranks
        late = newest - ranks >= self.size
        cut = len(tasks) - self.size
        closing = ranks < cut
        self._open = table.select(~late & ~closing)
        if cut > 0:
            self._closed.add(_hashes(tasks[:cut]))
        self.late += int(table.batch.sizes[late].sum())
        return self.close(table.select(~late & closing))

    def end(self) -> pl.DataFrame:
        """Close what is open: no more labels will come."""
        table, self._open = self._open, None
        return self.close(code_rows([]) if table is None else table)
