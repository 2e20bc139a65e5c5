# cython: language_level=3
# cython: infer_types=True
"""Points of a worker's trend: Σh and Σe₂ over stretches of answers. Knows nothing of estimators.

Changing it changes every trend and what saved rows mean (their columns are in `rows`). Types
are in trend_loops.pxd.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.monitoring.rows import *
else:
    from crowdstream.monitoring.judging_loops import JudgedSums
    from crowdstream.monitoring.rows import *

SHORTEST = 8.0
"""Answers of a worker's first points."""


class TrendSums(JudgedSums):
    """A few points per worker, each Σh, Σe₂ over equally many answers and the last task's number.

    When all points of a worker are full, neighbours are added up. ``count``: tasks seen.
    """

    def __init__(self, rows, points, count):
        self.rows = rows
        self.points = points
        self.count = count

    def count_task(self, judge, tasks, t, weight):
        """One more task seen."""
        self.count[0] += 1.0

    def add_label(self, judge, i, at):
        """Add a label to its worker's unfinished point."""
        self.rows[i, NEXT_B] += judge.h[at]
        self.rows[i, NEXT_C] += judge.e2[at]
        self.rows[i, NEXT_N] += 1.0
        if self.rows[i, NEXT_N] >= max(self.rows[i, STRIDE], SHORTEST):
            self.finish_point(i)

    def finish_point(self, i):
        """Store the point; if all are full, halve their number and let this point go on."""
        most = self.points.shape[1]
        at = cython.cast(cython.Py_ssize_t, self.rows[i, POINTS])
        self.rows[i, STRIDE] = max(self.rows[i, STRIDE], SHORTEST)
        if at == most:
            for k in range(most // 2):
                self.points[i, k, 0] = self.points[i, 2 * k, 0] + self.points[i, 2 * k + 1, 0]
                self.points[i, k, 1] = self.points[i, 2 * k, 1] + self.points[i, 2 * k + 1, 1]
                self.points[i, k, 2] = self.points[i, 2 * k + 1, 2]
            self.rows[i, STRIDE] *= 2.0
            self.rows[i, POINTS] = most // 2
            return
        self.points[i, at, 0] = self.rows[i, NEXT_B]
        self.points[i, at, 1] = self.rows[i, NEXT_C]
        self.points[i, at, 2] = self.count[0]
        self.rows[i, POINTS] += 1.0
        for k in range(3):
            self.rows[i, k] = 0.0
