"""Compiled loop of this room: coded rows in any order → labels grouped by task. Arrays only."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]

NULL_TASK, NULL_WORKER, NULL_LABEL, REPEATED, REPLACED = range(5)
"""Places in the counts that `arrange` returns."""


@njit(cache=True, nogil=True)
def arrange(
    tasks: Ints, workers: Ints, labels: Ints, n_tasks: int, n_workers: int, n_labels: int
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
    """Group rows by task, keeping the order of first appearance; −1 is a null.

    Rows without task or worker are dropped; a null label is a skip (its worker is met, its row
    is dropped); of several labels by one worker on one task the last stands, in the first's
    place. Returns starts (a task's labels are ``starts[t]:starts[t + 1]``), workers, labels,
    the workers and the labels in order of first appearance, how many workers were met once each
    task was (−1 for a task none of whose rows names a worker), and the counts.
    """
    counts = np.zeros(5, np.int64)
    size = np.zeros(n_tasks + 1, np.int64)
    for row in range(tasks.size):
        if tasks[row] < 0:
            counts[NULL_TASK] += 1
        elif workers[row] < 0:
            counts[NULL_WORKER] += 1
        else:
            size[tasks[row] + 1] += 1
    place = np.cumsum(size)
    order = np.empty(place[n_tasks], np.int64)
    for row in range(tasks.size):
        task = tasks[row]
        if task >= 0 and workers[row] >= 0:
            order[place[task]] = row
            place[task] += 1

    starts = np.zeros(n_tasks + 1, np.int64)
    kept_workers = np.empty(order.size, np.int64)
    kept_labels = np.empty(order.size, np.int64)
    at = np.full(n_workers, -1, np.int64)  # where this worker's last kept label is
    met = np.zeros(n_workers, np.bool_)
    met_order = np.empty(n_workers, np.int64)
    met_by = np.empty(n_tasks, np.int64)
    n_met = 0
    kept = 0
    row = 0
    for task in range(n_tasks):
        begin = kept
        for _ in range(size[task + 1]):
            worker = workers[order[row]]
            label = labels[order[row]]
            row += 1
            if not met[worker]:
                met[worker] = True
                met_order[n_met] = worker
                n_met += 1
            if label < 0:
                counts[NULL_LABEL] += 1
            elif at[worker] < begin:
                at[worker] = kept
                kept_workers[kept] = worker
                kept_labels[kept] = label
                kept += 1
            elif kept_labels[at[worker]] == label:
                counts[REPEATED] += 1
            else:
                counts[REPLACED] += 1
                kept_labels[at[worker]] = label
        starts[task + 1] = kept
        met_by[task] = n_met if size[task + 1] else -1

    seen = np.zeros(n_labels, np.bool_)
    seen_order = np.empty(n_labels, np.int64)
    n_seen = 0
    for k in range(kept):
        label = kept_labels[k]
        if not seen[label]:
            seen[label] = True
            seen_order[n_seen] = label
            n_seen += 1
    return (
        starts,
        kept_workers[:kept].copy(),
        kept_labels[:kept].copy(),
        met_order[:n_met].copy(),
        seen_order[:n_seen].copy(),
        met_by,
        counts,
    )
