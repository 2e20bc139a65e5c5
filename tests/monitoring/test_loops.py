"""The loops give the same whether they were compiled or not."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from crowdstream.labels import batch_loops
from crowdstream.labels.batch import LabelBatch
from crowdstream.monitoring import (
    difficulty_loops,
    drift_loops,
    interval_loops,
    judging_loops,
    pair_loops,
    trend_loops,
)
from tests.uncompiled import uncompiled

COMPILED: list[ModuleType] = [
    batch_loops, judging_loops, interval_loops, drift_loops, trend_loops, pair_loops,
    difficulty_loops,
]  # fmt: skip


def names_of(modules: list[ModuleType]) -> SimpleNamespace:
    return SimpleNamespace(
        **{name: value for each in modules for name, value in vars(each).items()}
    )


@pytest.fixture(scope="module")
def sources() -> SimpleNamespace:
    """The loops as the Python they are written in, each importing the others' sources."""
    found = []
    with patch.dict(sys.modules):
        for module in COMPILED:
            found.append(uncompiled(module))
            sys.modules[module.__name__] = found[-1]
    return names_of(found)


def batch_of(classes: int, gold: bool) -> LabelBatch:
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 6, 120)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    workers = np.concatenate([rng.permutation(7)[:size] for size in sizes]).astype(np.int32)
    labels = rng.integers(classes, size=workers.size).astype(np.int32)
    truths = rng.integers(-1, classes, 120) if gold else np.empty(0)
    return LabelBatch(starts, workers, labels, truths.astype(np.int32))


def results(
    loops: SimpleNamespace, classes: int, gold: bool, in_order: bool, families: bool
) -> list[np.ndarray]:
    batch = batch_of(classes, gold)
    tasks = loops.Tasks(batch.starts, batch.workers, batch.labels, batch.truths)
    skills = np.linspace(-0.3, 0.9, 7)  # six workers and the mean: the last is unknown
    family = np.array([0, 0, 1, -1, 1, -1, -1] if families else [], np.int32)
    judge = loops.Judge(skills, family, np.empty((4, 8)), np.empty((2, classes)))
    rows = [np.zeros((7, 6)), np.zeros((7, 3)), np.zeros(5)]
    loops.IntervalSums(*rows).add(judge, tasks, 1.0, 1.01, in_order)
    slopes = [np.zeros(32), np.zeros((32, 32))]
    loops.SlopeSums(*slopes).add(judge, tasks, 1.0, 1.01, False)
    drift = [np.zeros(size) for size in ((7, 25), (8, 3), (8, 8), (5,))]
    trend = [np.zeros((7, 5)), np.zeros((7, 4, 3)), np.zeros(1)]
    for sums in (loops.DriftSums(*drift), loops.TrendSums(*trend)):
        for _ in range(3):
            sums.add(judge, tasks, 1.0, 1.0, in_order)
    slots = np.array([2, 0, 1, -1, 3, 4, -1], np.int32)
    tables = [np.zeros((5, 5)), np.zeros((5, 5))]
    loops.PairSums(*tables, slots, np.empty(8, np.int64)).add(tasks, 1.0, 1.01, 3)
    like, grid = np.empty((120, 3)), np.array([0.0, 0.5, 1.0])
    loops.fill_likelihoods(tasks, 0.7 * skills, grid, np.empty((3, classes)), like)
    return [*rows, *slopes, *drift, *trend, *tables, like]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    ("gold", "in_order", "families"),
    [(False, False, False), (False, True, False), (True, True, True), (True, False, True)],
)
def test_compiled_or_not_the_sums_are_the_same(
    sources: SimpleNamespace, classes: int, gold: bool, in_order: bool, families: bool
) -> None:
    one = results(names_of(COMPILED), classes, gold, in_order, families)
    other = results(sources, classes, gold, in_order, families)
    for ours, theirs in zip(one, other, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)
    assert sum(array.any() for array in one) >= 11  # alarms may be missing


def test_a_label_judged_by_the_others_is_the_posterior_by_hand() -> None:
    skills = np.array([0.8, 0.4, 0.2, 0.5])
    family = np.empty(0, np.int32)
    judge = judging_loops.Judge(skills, family, np.empty((4, 3)), np.empty((2, 2)))
    rows = np.zeros((3, 6))
    labels = np.array([0, 1, 2], np.int32), np.array([1, 1, 0], np.int32)
    batch = LabelBatch(np.array([0, 3]), *labels)
    doubts = np.zeros((3, 3))
    interval_loops.IntervalSums(rows, doubts, np.zeros(5)).add(judge, batch.coded, 1, 1, False)
    # Two classes: h = ± tanh of half the others' log-odds; worker 1 says 1, worker 2 says 0.
    odds = np.log((1 + skills) / (1 - skills))
    h = np.tanh((odds[1] - odds[2]) / 2)
    grain = 2.0**-23  # sums are kept in multiples of half of that
    assert rows[0, 0] == pytest.approx(h, abs=grain)
    assert rows[0, 1] == pytest.approx(h**2, abs=grain)
    assert rows[0, 4] == pytest.approx(h**4, abs=grain)
    assert (rows / grain * 2 == np.rint(rows / grain * 2)).all()
    # Class 1 wins. Of the others one each is against it for workers 0 and 1, none for worker 2.
    assert doubts.tolist() == [[1, 0.5, 0], [1, 0.5, 0], [1, 0, 0]]
