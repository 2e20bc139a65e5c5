"""`Simulated`: the labels of a made-up crowd, with the truth behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from crowdstream.labels import CodedLabels, LabelBatch, Vocabulary
from crowdstream.labels.scale import MOST_STEPS
from crowdstream.simulation.drifts import Floats, Ints


@dataclass(frozen=True)
class Simulated:
    """Simulated labels, with the truth and the error rates behind them.

    ``tasks, workers, said`` have one entry per label; ``tasks`` count from ``first``, the number
    of the block's first task. ``error_rates`` are n, or one row of n per task if they drift (with
    confusions: the chance of an error averaged over the classes). ``classes``: how many there are.
    """

    first: int
    n: int
    tasks: Ints
    workers: Ints
    said: Ints
    truth: Ints
    error_rates: Floats
    classes: int = 2

    def labels(self) -> pl.DataFrame:
        """As a table of task, worker and label, all text."""
        width = len(str(self.n - 1))
        names = pl.Series([f"w{i:0{width}}" for i in range(self.n)], dtype=pl.String)
        return pl.DataFrame(
            {
                "task": self._names().gather(self.tasks),
                "worker": names.gather(self.workers),
                "label": self._classes(self.said),
            }
        )

    def truths(self) -> pl.DataFrame:
        """The true labels, as a table of task and label."""
        return pl.DataFrame({"task": self._names(), "label": self._classes(self.truth)})

    def matrix(self) -> Ints:
        """One row per task, one column per worker: what it said, −1 for nothing."""
        found = np.full((self.truth.size, self.n), -1)
        found[self.tasks, self.workers] = self.said
        return found

    def columns(self) -> CodedLabels:
        """In codes, as estimators take it without a table: every worker is asked every task."""
        n = self.n
        starts = np.arange(0, self.truth.size * n + 1, n)
        workers = np.tile(np.arange(n, dtype=np.int32), self.truth.size)
        said = self.matrix().astype(np.int32).ravel()
        tasks = pl.int_range(self.first, self.first + self.truth.size, eager=True)
        batch = LabelBatch(starts, workers, said, tasks=tasks)
        classes = Vocabulary(range(int(said.max(initial=0)) + 1))
        return CodedLabels(batch, Vocabulary(range(n)), classes)

    def _classes(self, codes: Ints) -> pl.Series:
        """The names of classes: numbers, but where so many numbers would look like scores."""
        letter = "c" if self.classes > MOST_STEPS else ""
        return pl.select(pl.format(f"{letter}{{}}", pl.Series(codes))).to_series()

    def _names(self) -> pl.Series:
        return pl.int_range(self.first, self.first + self.truth.size, eager=True).cast(pl.String)
