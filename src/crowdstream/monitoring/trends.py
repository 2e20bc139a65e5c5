"""`Trends`: how each worker's error rate went, in at most 17 points. Changes no estimate.

A point is a worker's answers over some stretch, judged by the other labels of their tasks; when 16
points are full, neighbours are added up and a point takes twice as many answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.worker_table import value_series
from crowdstream.labels import WorkerId
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.monitoring import loops
from crowdstream.monitoring.worker_sums import WorkerSums, observer_of

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

POINTS = 16
"""Finished points per worker: enough for a line in a table or a small chart."""

PRIOR = 4.0
"""Answers at the crowd's mean in every point: half of the shortest."""

Z = 1.959964
"""Standard errors of the limits, 95 %."""

NEXT_B, NEXT_C, NEXT_N, STRIDE, COUNT = range(5)
"""Columns of a worker's row, as in `loops`."""


class Trends(WorkerSums):
    """Keeps a few points per worker."""

    per_worker: ClassVar[dict[str, tuple[int, ...]]] = {"rows": (5,), "points": (POINTS, 3)}
    shared: ClassVar[dict[str, tuple[int, ...]]] = {"count": (1,)}

    def _bind(self) -> None:
        self._sums = loops.TrendSums(*(self.arrays[name] for name in ("rows", "points", "count")))

    def see(self, batch: LabelBatch, crowd: Estimator, sign: int, in_order: bool) -> None:
        """Follow tasks in order. What is taken back stays in the points."""
        self._make_room(crowd.n_workers_)
        if sign > 0:
            judge = self._judge_for(batch, crowd, sign)
            args = batch.starts, batch.workers, batch.labels, batch.truths
            self._sums.add(judge, *args, in_order)
        else:
            self.arrays["count"][0] -= len(batch)
        self.tasks += sign * len(batch)

    def merge(self, other: Self, names: Ints, classes: Ints) -> None:
        """Take over the points of workers who have none here: two streams have no common order."""
        self._add_counts(other, names)
        few = names[: other.workers]
        fresh = ~self.arrays["rows"][few].any(axis=1)
        for name in self.per_worker:
            self.arrays[name][few[fresh]] = other.arrays[name][: other.workers][fresh]
        self.arrays["count"] += other.arrays["count"]

    def line(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Of worker i: the tasks up to which, the skill, its standard error."""
        row = self.arrays["rows"][i]
        points = self.arrays["points"][i, : int(row[COUNT])]
        if row[NEXT_N] > 0:
            points = np.vstack([points, [row[NEXT_B], row[NEXT_C], self.arrays["count"][0]]])
        told = points[:, 1] + PRIOR
        return points[:, 2], (points[:, 0] + PRIOR * self.skills[-1]) / told, 1 / np.sqrt(told)


def trends(crowd: Estimator, workers: Sequence[WorkerId] | None = None) -> pl.DataFrame:
    """How error rates went: worker, tasks_seen, error_rate, error_low, error_high.

    At most 17 points per worker, each over as many answers; limits are 95 %. ``workers``: of these
    only.

    >>> from crowdstream.estimators import Adaptive
    >>> from crowdstream.monitoring import monitor
    >>> from crowdstream.science.simulate import simulate
    >>> crowd = monitor(Adaptive())
    >>> crowd.learn_many(simulate(10, 600, p=0.1).labels())
    >>> trends(crowd, ["w3"]).height
    10
    """
    import polars as pl

    observer, names = observer_of(crowd, Trends), crowd.workers_
    codes = range(min(len(names), observer.workers))
    wanted = codes if workers is None else [_code(names, who) for who in workers]
    worst = 1.0 - 1.0 / max(len(crowd.classes_), 2)
    lines = [observer.line(i) for i in wanted]
    who = [names[i] for i, (tasks, _, _) in zip(wanted, lines, strict=True) for _ in tasks]
    tasks, skill, doubt = np.concatenate([np.empty((3, 0)), *(np.array(x) for x in lines)], axis=1)
    error, half = (1.0 - skill) * worst, Z * doubt * worst
    return pl.DataFrame(
        {
            "worker": value_series("worker", who),
            "tasks_seen": tasks.astype(np.int64),
            "error_rate": error.clip(0, 1),
            "error_low": (error - half).clip(0, 1),
            "error_high": (error + half).clip(0, 1),
        }
    )


def _code(names: Sequence[WorkerId], who: WorkerId) -> int:
    try:
        return names.index(who)
    except ValueError:
        raise InputError("workers", "workers who were met", repr(who)) from None
