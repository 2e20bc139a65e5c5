"""Compiled loops of this room: coded rows in any order → labels grouped by task. Arrays only."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

NULL_WORKER, NULL_LABEL, REPEATED, REPLACED = range(4)
"""Places in the counts that `arrange` returns."""


@njit(cache=True, nogil=True)
def last_row_end(data: NDArray[np.uint8], separator: int) -> int:
    """Where the last whole row of CSV ends: a quote counts only at the beginning of a field."""
    quote, newline = 34, 10
    end, k = 0, 0
    quoted, begins = False, True
    while k < data.size:
        byte = data[k]
        if quoted:
            if byte == quote:
                if k + 1 < data.size and data[k + 1] == quote:
                    k += 1
                else:
                    quoted = False
        elif byte == quote and begins:
            quoted, begins = True, False
        elif byte == newline:
            end, begins = k + 1, True
        else:
            begins = byte == separator
        k += 1
    return end


@njit(cache=True, nogil=True)
def sort_rows(tasks: Codes, n_tasks: int) -> tuple[Ints, Ints, int]:
    """Rows in order of their task, where each task's rows begin, and how many rows have none (−1).

    Within a task the order of the rows is kept.
    """
    bounds = np.zeros(n_tasks + 1, np.int64)
    lost = 0
    for row in range(tasks.size):
        if tasks[row] < 0:
            lost += 1
        else:
            bounds[tasks[row] + 1] += 1
    for task in range(n_tasks):
        bounds[task + 1] += bounds[task]
    place = bounds[:n_tasks].copy()
    order = np.empty(bounds[n_tasks], np.int64)
    for row in range(tasks.size):
        task = tasks[row]
        if task >= 0:
            order[place[task]] = row
            place[task] += 1
    return order, bounds, lost


@njit(cache=True, nogil=True)
def arrange(
    order: Ints, bounds: Ints, workers: Codes, labels: Codes, n_workers: int, n_labels: int
) -> tuple[Ints, Codes, Codes, Ints, Ints, Ints, Ints]:
    """Keep one label a worker and task; −1 is a null.

    The rows of task t are ``order[bounds[t]:bounds[t + 1]]``, or with an empty ``order`` those
    numbers themselves. Rows without worker are dropped; a null label is a skip (its worker is met,
    its row is dropped); of several labels by one worker on one task the last stands, in the first's
    place. Returns starts (a task's labels are ``starts[t]:starts[t + 1]``), workers, labels, the
    workers and the labels in order of first appearance, how many workers were met once each task
    was (−1 for a task none of whose rows names a worker), and the counts.
    """
    counts = np.zeros(4, np.int64)
    n_tasks = bounds.size - 1
    rows = bounds[n_tasks]
    starts = np.zeros(n_tasks + 1, np.int64)
    kept_workers = np.empty(rows, np.int32)
    kept_labels = np.empty(rows, np.int32)
    at = np.full(n_workers, -1, np.int64)  # where this worker's last kept label is
    met = np.zeros(n_workers, np.bool_)
    met_order = np.empty(n_workers, np.int64)
    met_by = np.empty(n_tasks, np.int64)
    n_met = 0
    kept = 0
    for task in range(n_tasks):
        begin = kept
        named = False
        for k in range(bounds[task], bounds[task + 1]):
            row = order[k] if order.size else k
            worker, label = workers[row], labels[row]
            if worker < 0:
                counts[NULL_WORKER] += 1
                continue
            named = True
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
        met_by[task] = n_met if named else -1

    seen = np.zeros(n_labels, np.bool_)
    seen_order = np.empty(n_labels, np.int64)
    n_seen = 0
    for k in range(kept):
        if n_seen == n_labels:
            break
        label = kept_labels[k]
        if not seen[label]:
            seen[label] = True
            seen_order[n_seen] = label
            n_seen += 1
    return (
        starts,
        kept_workers[:kept],
        kept_labels[:kept],
        met_order[:n_met],
        seen_order[:n_seen],
        met_by,
        counts,
    )
