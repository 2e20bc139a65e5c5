"""`LabelBatch`: the labels of some tasks in codes, the one shape from readers to loops.

Knows nothing of what the codes stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks
from crowdstream.labels.label import TaskId

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

NO_TRUTHS: Codes = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class LabelBatch:
    """Labels grouped by task: those of task ``t`` are ``starts[t]:starts[t + 1]``.

    ``truths`` are the known classes of the tasks, −1 where none is, or empty where none is known
    of any. ``tasks`` are their names, empty where they have none. ``said`` are the labels
    themselves where ``labels`` and ``truths`` are places that classes share (see
    `crowdstream.labels.folding`), otherwise empty.
    """

    starts: Ints
    workers: Codes
    labels: Codes
    truths: Codes = field(default_factory=lambda: NO_TRUTHS)
    tasks: Sequence[TaskId] | pl.Series = ()
    said: Codes = field(default_factory=lambda: NO_TRUTHS)

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def coded(self) -> Tasks:
        """Return the batch as compiled loops take it."""
        return Tasks(self.starts, self.workers, self.labels, self.truths)

    @property
    def sizes(self) -> Ints:
        """Number of labels of each task."""
        return np.diff(self.starts)

    def sizes_of(self, which: Ints) -> Ints:
        """Return how many labels some of the tasks have."""
        return self.starts[which + 1] - self.starts[which]

    @property
    def known_truths(self) -> Codes:
        """The truths of all tasks, written out: −1 where none is known."""
        return self.truths if self.truths.size else np.full(len(self), -1, np.int32)

    def part(self, first: int, last: int) -> LabelBatch:
        """Tasks ``first`` up to ``last``; the labels are shared, not copied."""
        return LabelBatch(
            self.starts[first : last + 1],
            self.workers,
            self.labels,
            self.truths[first:last],
            self.tasks[first:last],
            self.said,
        )

    def first(self, sizes: Ints) -> LabelBatch:
        """The first labels of every task, so many of each, copied."""
        before = np.repeat(self.starts[:-1], self.sizes)
        place = np.arange(self.starts[0], self.starts[-1]) - before
        kept = self.starts[0] + np.flatnonzero(place < np.repeat(sizes, self.sizes))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        said = self.said[kept] if self.said.size else self.said
        labels = self.workers[kept], self.labels[kept]
        return LabelBatch(starts, *labels, self.truths, self.tasks, said)

    def pick(self, which: Ints) -> LabelBatch:
        """Some of the tasks, in this order, with copies of their labels alone."""
        sizes = self.sizes_of(which)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.starts[which] - starts[:-1], sizes) + np.arange(starts[-1])
        return LabelBatch(
            starts,
            self.workers[rows],
            self.labels[rows],
            self.truths[which] if self.truths.size else NO_TRUTHS,
            self._names_of(which),
            self.said[rows] if self.said.size else self.said,
        )

    def _names_of(self, which: Ints) -> Sequence[TaskId] | pl.Series:
        """The names of some of the tasks, as the column that they are in if they are."""
        if not len(self.tasks):
            return ()
        import polars as pl

        if isinstance(self.tasks, pl.Series):
            return self.tasks.gather(which)
        return [self.tasks[int(t)] for t in which]


def joined(batches: Sequence[LabelBatch]) -> LabelBatch:
    """The tasks of several batches, one after another, without their names.

    >>> one = LabelBatch(np.array([0, 2]), np.array([0, 1], np.int32), np.array([1, 1], np.int32))
    >>> joined([one, one]).starts.tolist()
    [0, 2, 4]
    """
    sizes = np.concatenate([np.zeros(1, np.int64), *(batch.sizes for batch in batches)])
    truths = NO_TRUTHS
    if any(batch.truths.size for batch in batches):
        truths = np.concatenate([batch.known_truths for batch in batches])
    spans = [slice(int(batch.starts[0]), int(batch.starts[-1])) for batch in batches]
    return LabelBatch(
        np.cumsum(sizes),
        np.concatenate([NO_TRUTHS, *(b.workers[s] for b, s in zip(batches, spans, strict=True))]),
        np.concatenate([NO_TRUTHS, *(b.labels[s] for b, s in zip(batches, spans, strict=True))]),
        truths,
    )
