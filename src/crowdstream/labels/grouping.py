"""Coded rows in any order → labels grouped by task, one per worker and task.

Makes the arrays for `grouping_loops` and checks their lengths. Knows nothing of text, files or
estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdstream.labels import grouping_loops as loops
from crowdstream.labels.batch import Codes, Ints, LabelBatch
from crowdstream.labels.label import TaskId
from crowdstream.parallel import parts_of, side_by_side

if TYPE_CHECKING:
    import polars as pl


class Grouped(NamedTuple):
    """Labels grouped by task; workers and classes in order of first appearance; other rows."""

    batch: LabelBatch
    workers: Ints
    classes: Ints
    null_worker: int = 0
    null_label: int = 0
    repeated: int = 0
    replaced: int = 0


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


def gather_rows(tasks: Codes, rows: LabelBatch, names: Sequence[TaskId] | pl.Series) -> LabelBatch:
    """Bring rows of the tasks in these codes together, task by task, in parts side by side."""
    number = len(names)
    _check_codes("tasks", tasks, number)
    bounds = np.zeros(number + 1, np.int64)
    if loops.count_rows(tasks, bounds) or tasks.size != rows.workers.size:
        raise ValueError("a task for every row")
    kept = LabelBatch(
        bounds, np.empty(tasks.size, np.int32), np.empty(tasks.size, np.int32), tasks=names
    )
    place, spans = bounds[:number].copy(), parts_of(number)

    def work(part: int) -> None:
        loops.gather_rows(tasks, np.array(spans[part]), place, rows.coded, kept.coded)

    side_by_side(work, len(spans))
    return kept


def group(rows: LabelBatch, order: Ints, n_workers: int, n_classes: int) -> Grouped:
    """Keep one label per worker and task; −1 is a null.

    The rows of task t are ``order[starts[t]:starts[t + 1]]``, or with an empty ``order`` those
    numbers themselves; nothing is copied then if every row stands. Rows without worker are dropped;
    a null label is a skip (its worker is met, its row is dropped); of several labels by one worker
    on one task the last stands, in the first's place.
    """
    size = int(rows.starts[-1])
    if rows.workers.size != rows.labels.size or size > (order.size or rows.workers.size):
        found = f"{rows.workers.size} workers and {rows.labels.size} labels"
        raise ValueError(f"{size} rows of {found}")
    _check_codes("workers", rows.workers, n_workers)
    _check_codes("labels", rows.labels, n_classes)
    met = np.empty(n_workers, np.int64)
    if order.size == 0 and size == rows.workers.size:
        n_met = loops.all_stand(rows.coded, np.full(n_workers, -1, np.int64), met)
        if n_met >= 0:
            return Grouped(rows, met[:n_met], _first_seen(rows.labels, n_classes))
    starts = np.empty(rows.starts.size, np.int64)
    kept = LabelBatch(starts, np.empty(size, np.int32), np.empty(size, np.int32))
    at = np.full(n_workers, -2, np.int64)
    n_met, *others = loops.keep_last(order, rows.coded, kept.coded, at, met)
    size = int(starts[-1])
    labels = kept.labels[:size]
    batch = LabelBatch(starts, kept.workers[:size], labels, tasks=rows.tasks)
    return Grouped(batch, met[:n_met], _first_seen(labels, n_classes), *others)


def _first_seen(codes: Codes, n: int) -> Ints:
    """Codes below ``n`` in order of first appearance."""
    seen = np.empty(n, np.int64)
    return seen[: loops.first_seen(codes, np.zeros(n, np.uint8), seen)]


def _check_codes(name: str, codes: Codes, n: int) -> None:
    """The loops write where a code points to."""
    if codes.size and int(codes.max()) >= n:
        raise ValueError(f"{name}: expected codes below {n}, found {int(codes.max())}")
