"""`Trends`: how each worker's error rate developed, in at most 17 points. Changes no estimate.

A point is a stretch of a worker's answers, judged by the other labels of their tasks. When 16
points are full, neighbours are added up and a point takes twice as many answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crowdstream.errors import InputError
from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import WorkerId
from crowdstream.labels.tables import value_series
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring import rows as columns
from crowdstream.monitoring.trend_loops import TrendSums
from crowdstream.monitoring.worker_sums import Floats, HistorySums, Shapes

if TYPE_CHECKING:
    import polars as pl

POINTS = 16
"""Finished points per worker: enough for a line in a table or a small chart."""

PRIOR = 4.0
"""Answers at the crowd's mean in every point: half of the shortest."""

Z = 1.959964
"""Standard errors of the limits, 95 %."""


class Trends(HistorySums):
    """Keeps a few points per worker."""

    per_worker: ClassVar[Shapes] = {"rows": (5,), "points": (POINTS, 3)}
    shared: ClassVar[Shapes] = {"count": (1,)}

    def _bind(self) -> None:
        self._sums = TrendSums(self.arrays["rows"], self.arrays["points"], self.arrays["count"])

    def line(self, i: int) -> tuple[Floats, Floats, Floats]:
        """Points of worker i: the tasks seen up to each, the skill, its standard error."""
        row = self.arrays["rows"][i]
        points = self.arrays["points"][i, : int(row[columns.POINTS])]
        if row[columns.NEXT_N] > 0:
            latest = *row[[columns.NEXT_B, columns.NEXT_C]], self.arrays["count"][0]
            points = np.vstack([points, latest])
        size = points[:, 1] + PRIOR
        return points[:, 2], (points[:, 0] + PRIOR * self.skills[-1]) / size, 1 / np.sqrt(size)


def trends(crowd: Estimator, workers: Sequence[WorkerId] | None = None) -> pl.DataFrame:
    """Tabulate how error rates developed: worker, tasks_seen, error_rate, error_low, error_high.

    At most 17 points per worker, each over equally many answers, with limits at 95 %.

    Parameters
    ----------
    crowd
        An estimator with monitors, see `monitor`.
    workers
        Only these workers; all if ``None``.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.monitor(cs.Adaptive())
    >>> crowd.learn_many(cs.simulate(10, 600, p=0.1).labels())
    >>> trends(crowd, ["w3"]).height
    10
    """
    import polars as pl

    observer, names = view.observer_of(crowd, Trends), crowd.workers_
    codes = range(min(len(names), observer.workers))
    wanted = codes if workers is None else [_code(names, worker) for worker in workers]
    wanted = [i for i in wanted if i < len(codes)]  # the others' tasks are still open
    worst = 1.0 - 1.0 / view.class_count(crowd)
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


def latest_changes(crowd: Estimator) -> Floats:
    """Return how much each worker's error rate has grown of late; NaN where that is not clear.

    Of late: over the last finished point and what came since; before: over the points before it.
    Clear: by more than chance explains at 95 %.
    """
    observer = view.observer_of(crowd, Trends)
    n = min(len(crowd._workers), observer.workers)
    rows, points = observer.arrays["rows"][:n], observer.arrays["points"][:n]
    count = rows[:, columns.POINTS].astype(np.int64)
    every = np.arange(POINTS)
    late = points[np.arange(len(rows)), np.maximum(count - 1, 0), :2]
    late = late + rows[:, [columns.NEXT_B, columns.NEXT_C]]
    early = (points[:, :, :2] * (every < (count - 1)[:, None])[:, :, None]).sum(axis=1)
    prior = np.array([PRIOR * observer.skills[-1], PRIOR])
    late, early = late + prior, early + prior
    change = early[:, 0] / early[:, 1] - late[:, 0] / late[:, 1]
    clear = np.abs(change) > Z * np.sqrt(1.0 / late[:, 1] + 1.0 / early[:, 1])
    worst = 1.0 - 1.0 / view.class_count(crowd)
    return np.where((count >= 2) & clear, change * worst, np.nan)


def _code(names: Sequence[WorkerId], worker: WorkerId) -> int:
    try:
        return names.index(worker)
    except ValueError:
        raise InputError("workers", "workers who were met", repr(worker)) from None
