"""The loops give the same whether they were compiled or not."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import crowdstream.monitoring
from crowdstream.labels.batch import LabelBatch
from crowdstream.monitoring import loops


@pytest.fixture(scope="module")
def plain() -> ModuleType:
    path = str(Path(crowdstream.monitoring.__file__).parent / "loops.py")
    loader = SourceFileLoader("uncompiled_monitoring_loops", path)
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def batch_of(classes: int, gold: bool) -> LabelBatch:
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 6, 120)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    workers = np.concatenate([rng.permutation(7)[:size] for size in sizes]).astype(np.int32)
    labels = rng.integers(classes, size=workers.size).astype(np.int32)
    truths = rng.integers(-1, classes, 120) if gold else np.empty(0)
    return LabelBatch(starts, workers, labels, truths.astype(np.int32))


def results(
    module: ModuleType, classes: int, gold: bool, in_order: bool, kin: bool
) -> list[np.ndarray]:
    batch = batch_of(classes, gold)
    skills = np.linspace(-0.3, 0.9, 7)  # six workers and the mean: the last is a stranger
    family = np.array([0, 0, 1, -1, 1, -1, -1], np.int32) if kin else np.empty(0, np.int32)
    room = np.empty((4, 8)), np.empty(classes), np.empty(classes)
    judge = module.Judge(skills, family, *room)
    args = batch.starts, batch.workers, batch.labels, batch.truths
    found = [np.zeros((7, 6)), np.zeros(32), np.zeros((32, 32)), np.zeros(5)]
    sums = module.IntervalSums(*found)
    sums.add(judge, *args, 1.0, 1.01, in_order)
    sums.add_slopes(judge, *args, 1.0, 1.01)
    drift = [np.zeros((7, 15)), np.zeros((8, 7)), np.zeros(2)]
    follow = module.DriftSums(*drift)
    trend = [np.zeros((7, 5)), np.zeros((7, 4, 3)), np.zeros(1)]
    plot = module.TrendSums(*trend)
    for _ in range(3):
        follow.add(judge, *args, in_order)
        plot.add(judge, *args, in_order)
    slots = np.array([2, 0, 1, -1, 3, 4, -1], np.int32)
    tables = [np.zeros((5, 5)), np.zeros((5, 5))]
    module.add_pairs(*args[:3], slots, *tables, np.empty(8, np.int64), 1.0, 1.01, 3)
    like = np.empty((120, 3))
    grid = np.array([0.0, 0.5, 1.0])
    module.strengths(*args[:3], 0.7 * skills, grid, np.empty((3, classes)), like)
    return [*found, *drift, *trend, *tables, like]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    ("gold", "in_order", "kin"),
    [(False, False, False), (False, True, False), (True, True, True), (True, False, True)],
)
def test_compiled_or_not_the_sums_are_the_same(
    plain: ModuleType, classes: int, gold: bool, in_order: bool, kin: bool
) -> None:
    one = results(loops, classes, gold, in_order, kin)
    other = results(plain, classes, gold, in_order, kin)
    for ours, theirs in zip(one, other, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, abs=1e-12)
    assert any(array.any() for array in one)


def test_a_label_judged_by_the_others_is_the_posterior_by_hand() -> None:
    skills = np.array([0.8, 0.4, 0.2, 0.5])
    judge = loops.Judge(skills, np.empty(0, np.int32), np.empty((4, 3)), np.empty(2), np.empty(2))
    rows, total = np.zeros((3, 6)), np.zeros(5)
    sums = loops.IntervalSums(rows, np.zeros(32), np.zeros((32, 32)), total)
    starts, workers = np.array([0, 3]), np.array([0, 1, 2], np.int32)
    sums.add(
        judge, starts, workers, np.array([1, 1, 0], np.int32), np.empty(0, np.int32), 1, 1, False
    )
    # Two classes: h = ± tanh of half the others' log-odds; worker 1 says 1, worker 2 says 0.
    odds = np.log((1 + skills) / (1 - skills))
    h = np.tanh((odds[1] - odds[2]) / 2)
    assert rows[0, 0] == pytest.approx(h)
    assert rows[0, 1] == pytest.approx(h**2)
    assert rows[0, 4] == pytest.approx(h**4)
