"""A table's sample is the tasks with the smallest keys, however few of them are looked at."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.models import passes, scoring_loops
from crowdstream.models.passes import NO_LIMIT, ChooseTasks, go_through, join_all, task_keys
from tests.uncompiled import uncompiled


def a_table(sizes: Ints) -> LabelBatch:
    starts = np.append(0, np.cumsum(sizes))
    nobody = np.zeros(starts[-1], np.int32)
    names = pl.Series([f"t{k}" for k in range(sizes.size)], dtype=pl.String)
    return LabelBatch(starts, np.arange(starts[-1], dtype=np.int32), nobody, tasks=names)


def expected(batch: LabelBatch, how: ChooseTasks) -> list[str]:
    """By sorting all tasks."""
    chosen: list[str] = []
    labels = 0
    for t in np.argsort(task_keys(batch, how.seed)).tolist():
        if len(chosen) == how.tasks or labels >= how.labels:
            break
        if batch.sizes[t]:
            chosen.append(batch.tasks[t])
            labels += min(int(batch.sizes[t]), how.each)
    return chosen


def in_names(batch: LabelBatch, whole: LabelBatch) -> list[str]:
    """The names of tasks, each told by its first label's worker, who has no other."""
    first = dict(zip(whole.workers[whole.starts[:-1][whole.sizes > 0]], _named(whole), strict=True))
    return [first[worker] for worker in batch.workers[batch.starts[:-1]]]


def _named(whole: LabelBatch) -> list[str]:
    return [name for name, size in zip(whole.tasks, whole.sizes, strict=True) if size]


EVEN: Callable[[np.random.Generator], Ints] = lambda rng: np.full(3000, 5)  # noqa: E731
MIXED: Callable[[np.random.Generator], Ints] = lambda rng: rng.integers(0, 9, 3000)  # noqa: E731
HEAVY: Callable[[np.random.Generator], Ints] = lambda rng: rng.geometric(0.01, 300)  # noqa: E731


@pytest.mark.parametrize("sizes", [EVEN, MIXED, HEAVY])
@pytest.mark.parametrize(
    ("tasks", "labels", "each"),
    [(NO_LIMIT, 700, NO_LIMIT), (40, NO_LIMIT, NO_LIMIT), (100, 500, 4), (NO_LIMIT, 10**6, 2)],
)
def test_the_sample_is_the_tasks_with_the_smallest_keys(
    sizes: Callable[[np.random.Generator], Ints], tasks: int, labels: int, each: int
) -> None:
    batch = a_table(sizes(np.random.default_rng(0)))
    how = ChooseTasks(7, tasks=tasks, labels=labels, each=each)
    (whole,) = go_through([how], [batch])
    assert in_names(whole.batch, batch) == expected(batch, how)
    cut = len(batch) // 3
    (one,) = go_through([how], [batch.part(0, cut)])
    (other,) = go_through([how], [batch.part(cut, len(batch))])
    join_all([how], [one], [other])
    assert in_names(one.batch, batch) == expected(batch, how)


def test_uncompiled_the_sample_is_the_same() -> None:
    batch = a_table(MIXED(np.random.default_rng(1)))
    how = ChooseTasks(3, labels=100)
    (compiled,) = go_through([how], [batch])
    with patch.object(passes, "choose_below", uncompiled(scoring_loops).choose_below):
        (found,) = go_through([how], [batch])
    assert found.keys.tolist() == compiled.keys.tolist()
    assert found.keys.size > 10


def test_no_task_is_a_sample_of_none() -> None:
    (found,) = go_through([ChooseTasks(0, labels=10)], [a_table(np.zeros(3, np.int64))])
    assert len(found.batch) == 0
