"""Coded rows in any order → labels grouped by task, one a worker and task.

Makes the arrays for `loops` and looks at their lengths. Knows nothing of text, files or estimators.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crowdstream.labels import loops
from crowdstream.labels.columns import Codes, Ints


class Arranged(NamedTuple):
    """Labels grouped by task, one a worker and task.

    Those of task t are ``starts[t]:starts[t + 1]``; ``met`` and ``seen`` are the workers and the
    labels in order of first appearance; ``met_by[t]`` is how many workers were met once task t was,
    −1 for a task none of whose rows names a worker. ``counts`` tells what became of the other rows,
    at the places that `loops` names.
    """

    starts: Ints
    workers: Codes
    labels: Codes
    met: Ints
    seen: Ints
    met_by: Ints
    counts: Ints


def sort_rows(tasks: Codes, n_tasks: int) -> tuple[Ints, Ints, int]:
    """Rows in order of their task, where each task's rows begin, and how many rows have none (−1).

    Within a task the order of the rows is kept.
    """
    _check_codes("tasks", tasks, n_tasks)
    bounds = np.zeros(n_tasks + 1, np.int64)
    lost = loops.count_rows(tasks, bounds)
    order = np.empty(bounds[n_tasks], np.int64)
    loops.place_rows(tasks, bounds[:n_tasks].copy(), order)
    return order, bounds, lost


def arrange(
    order: Ints, bounds: Ints, workers: Codes, labels: Codes, n_workers: int, n_labels: int
) -> Arranged:
    """Keep one label a worker and task; −1 is a null.

    The rows of task t are ``order[bounds[t]:bounds[t + 1]]``, or with an empty ``order`` those
    numbers themselves; nothing is copied then if every row stands. Rows without worker are dropped;
    a null label is a skip (its worker is met, its row is dropped); of several labels by one worker
    on one task the last stands, in the first's place.
    """
    n_tasks, rows = bounds.size - 1, int(bounds[-1])
    if workers.size != labels.size or rows > (order.size or workers.size):
        raise ValueError(f"{rows} rows of {workers.size} workers and {labels.size} labels")
    _check_codes("workers", workers, n_workers)
    _check_codes("labels", labels, n_labels)
    met = np.empty(n_workers, np.int64)
    met_by = np.empty(n_tasks, np.int64)
    counts = np.zeros(4, np.int64)
    if order.size == 0 and rows == workers.size:
        by = np.full(n_workers, -1, np.int64)
        n_met = loops.all_stand(bounds, workers, labels, by, met, met_by)
        if n_met >= 0:
            seen = _first_seen(labels, n_labels)
            return Arranged(bounds, workers, labels, met[:n_met], seen, met_by, counts)
    starts = np.empty(n_tasks + 1, np.int64)
    kept_workers, kept_labels = np.empty(rows, np.int32), np.empty(rows, np.int32)
    at = np.full(n_workers, -2, np.int64)
    n_met = loops.keep_last(
        order, bounds, workers, labels, at, starts, kept_workers, kept_labels, met, met_by, counts
    )
    kept = int(starts[-1])
    seen = _first_seen(kept_labels[:kept], n_labels)
    return Arranged(
        starts, kept_workers[:kept], kept_labels[:kept], met[:n_met], seen, met_by, counts
    )


def _first_seen(codes: Codes, n: int) -> Ints:
    """Codes below ``n`` in order of first appearance."""
    seen = np.empty(n, np.int64)
    return seen[: loops.first_seen(codes, np.zeros(n, np.uint8), seen)]


def _check_codes(name: str, codes: Codes, n: int) -> None:
    """The loops write where a code points to."""
    if codes.size and int(codes.max()) >= n:
        raise ValueError(f"{name}: expected codes below {n}, found {int(codes.max())}")
