"""What a label of a stream costs, at once and row by row, against counting votes in a dict; memory.

    make bench        or        python benchmarks/stream.py [--tasks N] [--quick]

Simulated labels with text ids: two classes, tasks open side by side and in no order, closed by
``settle=0.95`` or when they are full (five labels), so that a part of the rows is late. Processor
time of one core, the least of many batches of 1,000 rows, as other programs can only add to it. At
last so many tasks of five labels stay open: memory of the whole process, saving and loading.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = "1"

import numpy as np

import crowdstream as cs

Rows = list[tuple[str, str, str]]

BATCH = 1_000
"""Rows given at once."""

SIDE_BY_SIDE = 300
"""Tasks that take labels at a time."""

LABELS = 5
"""Labels after which a task is full."""

NAMES = ("no", "yes")


def simulate(workers: int, labels: int) -> Rows:
    """Rows of tasks that are open side by side; each gets five labels of different workers."""
    rng = np.random.default_rng(workers)
    right = rng.uniform(0.6, 0.95, workers)
    tasks = labels // LABELS + 1
    who = np.argsort(rng.random((tasks, min(workers, 200))), axis=1)[:, :LABELS]
    who = (who + rng.integers(workers, size=(tasks, 1))) % workers
    truth = rng.integers(2, size=(tasks, 1))
    said = np.where(rng.random((tasks, LABELS)) < right[who], truth, 1 - truth)
    # Each label comes at a time of its own, within the time of as many tasks as are open at once.
    come = np.arange(tasks)[:, None] + rng.uniform(0, SIDE_BY_SIDE, (tasks, LABELS))
    order = np.argsort(come, axis=None)[:labels]
    return [
        (f"task-{at // LABELS:07d}", f"worker-{i}", NAMES[x])
        for at, i, x in zip(
            order.tolist(), who.ravel()[order].tolist(), said.ravel()[order].tolist(), strict=True
        )
    ]


def batches(rows: Rows) -> Iterator[Rows]:
    """The rows, a thousand at a time."""
    for at in range(0, len(rows), BATCH):
        yield rows[at : at + BATCH]


def least(take: Callable[[Rows], object], rows: Rows) -> float:
    """Microseconds a row of the fastest batch."""
    taken = []
    for some in batches(rows):
        start = time.process_time()
        take(some)
        taken.append(time.process_time() - start)
    return min(taken) / BATCH * 1e6


def count_votes(rows: Rows) -> None:
    """Majority vote as one would write it."""
    votes: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for task, _, label in rows:
        votes[task][label] += 1
    for found in votes.values():
        max(found, key=found.__getitem__)


def compare(workers: int, labels: int) -> None:
    """Print what a label costs once half of the rows are learnt."""
    rows = simulate(workers, labels)
    known, new = rows[: labels // 2], rows[labels // 2 :]
    streams = [cs.Stream(settle=0.95, max_labels=LABELS) for _ in range(2)]
    for stream in streams:
        for some in batches(known):
            stream.observe_many(some, at=0)
    one, many = streams

    def by_row(some: Rows) -> None:
        for row in some:
            one.observe(*row, at=0)

    counting = least(count_votes, new)
    at_once = least(lambda some: many.observe_many(some, at=0), new)
    row_by_row = least(by_row, new)
    assert one.to_bytes() == many.to_bytes()
    late = many.counts.late / len(rows)
    print(
        f"{workers:,} workers: observe_many {at_once:.2f} µs a label, {row_by_row / at_once:.0f} "
        f"times less than observe ({row_by_row:.1f} µs), {at_once / counting:.1f} times counting "
        f"votes in a dict ({counting:.2f} µs); {late:.0%} of the rows came late"
    )


def resident() -> float:
    """Megabytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def fill(tasks: int, workers: int) -> None:
    """Print what tasks that stay open cost."""
    rng, stream = np.random.default_rng(0), cs.Stream(settle=None)
    start = resident()
    for _ in range(LABELS):
        for at in range(0, tasks, BATCH):
            who = rng.integers(workers, size=BATCH)
            said = rng.integers(2, size=BATCH)
            stream.observe_many(
                [
                    (f"task-{t:07d}", f"worker-{i}", NAMES[x])
                    for t, i, x in zip(
                        range(at, min(at + BATCH, tasks)), who.tolist(), said.tolist(), strict=False
                    )
                ],
                at=0,
            )
    full, began = resident(), time.process_time()
    saved = stream.to_bytes()
    packed = time.process_time()
    again = cs.Stream.load(saved)
    loaded = time.process_time()
    assert again.n_open == stream.n_open
    before = time.process_time()
    stream.next_task("worker-7")
    asked = time.process_time() - before
    print(
        f"{stream.n_open:,} open tasks, {stream.counts.labels:,} labels: {full:.0f} MB in memory "
        f"({start:.0f} before), {len(saved) / 1e6:.0f} MB saved in {packed - began:.2f} s, loaded "
        f"in {loaded - packed:.2f} s; next_task {asked * 1e3:.0f} ms"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=2_000_000, help="that stay open")
    parser.add_argument("--quick", action="store_true", help="a tenth of the labels")
    given = parser.parse_args()
    print(f"crowdstream {cs.__version__}, numpy {np.__version__}")
    labels = 40_000 if given.quick else 400_000
    for workers in (100, 1_000):
        compare(workers, labels)
    for tasks in (100_000, given.tasks // (10 if given.quick else 1)):
        fill(tasks, 1_000)


if __name__ == "__main__":
    main()
