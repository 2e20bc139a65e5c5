"""Compiled loops of this room: coded rows in any order → labels grouped by task. Arrays only."""

from __future__ import annotations

from typing import NamedTuple

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
def recode(codes: Codes, new: Codes) -> None:
    """Put ``new[code]`` for every code; −1, a null, stays."""
    for k in range(codes.size):
        if codes[k] >= 0:
            codes[k] = new[codes[k]]


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


class Arranged(NamedTuple):
    """Labels grouped by task, one a worker and task.

    Those of task t are ``starts[t]:starts[t + 1]``; ``met`` and ``seen`` are the workers and the
    labels in order of first appearance; ``met_by[t]`` is how many workers were met once task t was,
    −1 for a task none of whose rows names a worker.
    """

    starts: Ints
    workers: Codes
    labels: Codes
    met: Ints
    seen: Ints
    met_by: Ints
    counts: Ints


@njit(cache=True, nogil=True)
def arrange(
    order: Ints, bounds: Ints, workers: Codes, labels: Codes, n_workers: int, n_labels: int
) -> Arranged:
    """Keep one label a worker and task; −1 is a null.

    The rows of task t are ``order[bounds[t]:bounds[t + 1]]``, or with an empty ``order`` those
    numbers themselves; nothing is copied then if every row stands. Rows without worker are dropped;
    a null label is a skip (its worker is met, its row is dropped); of several labels by one worker
    on one task the last stands, in the first's place.
    """
    n_tasks = bounds.size - 1
    met = np.empty(n_workers, np.int64)
    met_by = np.empty(n_tasks, np.int64)
    counts = np.zeros(4, np.int64)
    if order.size == 0 and bounds[n_tasks] == workers.size:
        n_met = _all_stand(bounds, workers, labels, met, met_by)
        if n_met >= 0:
            seen = _first_seen(labels, n_labels)
            return Arranged(bounds, workers, labels, met[:n_met], seen, met_by, counts)
    starts = np.zeros(n_tasks + 1, np.int64)
    kept_workers = np.empty(bounds[n_tasks], np.int32)
    kept_labels = np.empty(bounds[n_tasks], np.int32)
    at = np.full(n_workers, -1, np.int64)  # where this worker's last kept label is
    is_met = np.zeros(n_workers, np.bool_)
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
            if not is_met[worker]:
                is_met[worker] = True
                met[n_met] = worker
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
    seen = _first_seen(kept_labels[:kept], n_labels)
    return Arranged(
        starts, kept_workers[:kept], kept_labels[:kept], met[:n_met], seen, met_by, counts
    )


@njit(cache=True, nogil=True)
def _all_stand(bounds: Ints, workers: Codes, labels: Codes, met: Ints, met_by: Ints) -> int:
    """Whether no row is null and no worker comes twice in a task: how many were met, or −1."""
    by = np.full(met.size, -1, np.int64)  # the last task this worker was met in
    n_met = 0
    for task in range(bounds.size - 1):
        for row in range(bounds[task], bounds[task + 1]):
            worker = workers[row]
            if worker < 0 or labels[row] < 0 or by[worker] == task:
                return -1
            if by[worker] < 0:
                met[n_met] = worker
                n_met += 1
            by[worker] = task
        met_by[task] = n_met
    return n_met


@njit(cache=True, nogil=True)
def _first_seen(codes: Codes, n: int) -> Ints:
    """Codes below ``n`` in order of first appearance."""
    is_seen = np.zeros(n, np.bool_)
    seen = np.empty(n, np.int64)
    found = 0
    for code in codes:
        if found == n:
            break
        if not is_seen[code]:
            is_seen[code] = True
            seen[found] = code
            found += 1
    return seen[:found]
