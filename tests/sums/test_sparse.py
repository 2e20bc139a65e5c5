"""Counts of many classes are those of all cells, however few of these are kept."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

from crowdstream.errors import StateError
from crowdstream.sums.confusions import ConfusionSums
from crowdstream.sums.rows import FEW_CLASSES
from crowdstream.sums.sparse import Cells, SparseCounts

K, N = FEW_CLASSES + 8, 9


def some(seed: int, number: int = 4000) -> Cells:
    """Counts, many of the same cells; a worker's rows have up to all classes."""
    rng = np.random.default_rng(seed)
    workers = (rng.integers(N, size=number) * rng.random(number)).astype(np.int64)
    said, classes = rng.integers(K, size=(2, number))
    return Cells(workers, said, classes, rng.integers(1, 2**24, number) / 2.0**24)


def dense(cells: Cells, workers: int = N) -> np.ndarray:
    found = np.zeros((workers, K, K))
    np.add.at(found, cells[:3], cells.counts)
    return found


def summed(*parts: Cells) -> ConfusionSums:
    sums = ConfusionSums()
    sums.make_room(N, K)
    for part in parts:
        counts = SparseCounts(N, K)
        counts.add_cells(part)
        sums.add(counts, np.zeros(K))
    return sums


def counts_of(sums: ConfusionSums) -> np.ndarray:
    assert sums.sparse is not None
    return sums.sparse.dense(sums.workers)


def test_sums_are_those_of_all_cells() -> None:
    one, two = some(1), some(2)
    sums = summed(one, two)
    assert sums.sparse is not None
    assert np.array_equal(counts_of(sums), dense(one) + dense(two))
    assert np.array_equal(sums.sparse.totals[:N], counts_of(sums).sum(axis=1))


def test_what_is_replaced_is_gone_and_how_much_that_changed_is_told() -> None:
    one, two = some(3), some(4, 300)
    sums, counts = summed(one), SparseCounts(N, K)
    counts.add_cells(two)
    sums.reserve(3 * N)
    change = sums.replace(counts, np.zeros(K))
    off = np.abs(dense(one) - dense(two))
    assert change == (off.max(), off.sum() / 2)
    assert np.array_equal(counts_of(sums), dense(two))
    sums.add(summed(one).sparse or counts, np.zeros(K))
    assert np.array_equal(counts_of(sums), dense(one) + dense(two))


def test_what_is_dropped_never_falls_below_nothing() -> None:
    one, two = some(5, 600), some(6, 600)
    sums = summed(one)
    sums.drop(summed(two))
    assert np.array_equal(counts_of(sums), np.maximum(dense(one) - dense(two), 0.0))


def test_few_classes_become_many() -> None:
    rng = np.random.default_rng(7)
    few, found = ConfusionSums(), rng.integers(3, size=(N, 3, 3)).astype(np.float64)
    few.make_room(N, 3)
    few.add(found, np.arange(3.0))
    few.make_room(N + 2, K - 1)
    few.make_room(N + 2, K)
    wide = np.zeros((N + 2, K, K))
    wide[:N, :3, :3] = found
    assert np.array_equal(counts_of(few), wide)
    assert few.sparse is not None
    assert np.array_equal(few.sparse.totals[: N + 2], wide.sum(axis=1))
    assert few.mass.tolist() == [0.0, 1.0, 2.0] + [0.0] * (K - 3)


@pytest.mark.parametrize("few", [False, True])
def test_merging_gives_workers_and_classes_their_codes_here(few: bool) -> None:
    rng = np.random.default_rng(8)
    k = 4 if few else K
    other, counts = ConfusionSums(), rng.integers(3, size=(N, k, k)).astype(np.float64)
    other.make_room(N, k)
    other.add(counts, np.ones(k))
    names, classes = rng.permutation(N), rng.permutation(K)[:k]
    sums = summed(some(9))
    sums.merge(other, names, classes)
    wanted = dense(some(9))
    wanted[np.ix_(names, classes, classes)] += counts
    assert np.array_equal(counts_of(sums), wanted)


COPIES: list[Callable[[ConfusionSums], ConfusionSums]] = [
    ConfusionSums.copy,
    lambda sums: pickle.loads(pickle.dumps(sums)),
]


@pytest.mark.parametrize("copied", COPIES)
def test_copies_are_equal_and_apart(copied: Callable[[ConfusionSums], ConfusionSums]) -> None:
    sums = summed(some(10))
    other = copied(sums)
    other.scale(2.0)
    assert np.array_equal(counts_of(sums), dense(some(10)))
    assert np.array_equal(counts_of(other), 2.0 * dense(some(10)))


def test_a_state_does_not_depend_on_the_order_of_what_was_counted() -> None:
    cells = some(11)
    workers, said, classes = (part[::-1] for part in cells[:3])
    back = Cells(workers, said, classes, cells.counts[::-1])
    one, two = summed(cells), summed(back, some(12), some(12)._replace(counts=-some(12).counts))
    saved = one.pack()
    assert saved.keys() == two.pack().keys()
    for name, array in two.pack().items():
        assert array.tobytes() == saved[name].tobytes(), name
    again = ConfusionSums()
    again.unpack(saved, N, K)
    assert np.array_equal(counts_of(again), dense(cells))


@pytest.mark.parametrize("name", ["cells", "values", "right", "totals"])
def test_a_damaged_state_is_refused(name: str) -> None:
    saved = summed(some(13)).pack()
    for bad in ({**saved, name: saved[name][1:]}, {n: a for n, a in saved.items() if n != name}):
        with pytest.raises(StateError, match="do not fit"):
            ConfusionSums().unpack(bad, N, K)
    with pytest.raises(StateError, match="do not fit"):
        ConfusionSums().unpack({**saved, "cells": saved["cells"] + N * K * K}, N, K)
