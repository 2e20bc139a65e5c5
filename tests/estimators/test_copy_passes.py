"""Copies among very many workers are found as among few, in whatever parts the tasks are."""

from __future__ import annotations

import sys
from unittest.mock import patch

import numpy as np
import pytest

from crowdstream.labels import batch_loops
from crowdstream.labels.batch import LabelBatch
from crowdstream.models import copies, copy_loops, copy_passes, scoring_loops
from crowdstream.models.copies import find_copies
from crowdstream.models.copy_passes import ListPairs, SketchPairs, candidates, find_in
from crowdstream.models.passes import ChooseTasks, InMemory, go_through, join_all
from crowdstream.models.reservoir import Reservoir
from crowdstream.models.rows import SKETCH
from crowdstream.sums.agreement import AgreementSums
from tests.copying import Ints, copying, crowd
from tests.uncompiled import uncompiled


def spread(labels: Ints, rng: np.random.Generator, each: int) -> LabelBatch:
    """The labels of a few at a time, as many of the crowd as ``each`` says, with names of tasks."""
    tasks, n = labels.shape
    who = rng.random((tasks, n)).argsort(axis=1)[:, :each]
    who.sort(axis=1)
    said = np.take_along_axis(labels, who, axis=1)
    starts = np.arange(tasks + 1) * each
    names = np.arange(tasks).tolist()
    return LabelBatch(
        starts, who.ravel().astype(np.int32), said.ravel().astype(np.int32), tasks=names
    )


def sums_of(batch: LabelBatch, workers: int, classes: int) -> AgreementSums:
    sums = AgreementSums()
    sums.make_room(workers, classes)
    sums.add(batch)
    return sums


@pytest.fixture(scope="module")
def table() -> LabelBatch:
    """Four of sixty copy, who meet on 1 task in 25 each two."""
    rng = np.random.default_rng(1)
    return spread(copying(rng, 20_000, group=4, share=0.98, workers=60), rng, 12)


@pytest.mark.parametrize("hashed", [False, True])
def test_candidates_are_those_who_copy(
    table: LabelBatch, hashed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hashed:
        two_rows = lambda one: (np.zeros((2, SKETCH), np.int32), np.zeros(one.number, np.int64))  # noqa: E731
        monkeypatch.setattr(SketchPairs, "begin", two_rows)
    sums = sums_of(table, 60, 2)
    found = candidates(InMemory(table), np.ones(60, np.bool_), sums)
    assert found.tolist() == [0, 1, 2, 3]
    sample = InMemory(table).add_up([ChooseTasks(0, labels=2000)])[0]
    copied = find_in(InMemory(table), sample.batch, sums, Reservoir(), sums.answers, 0)
    assert [group.members.tolist() for group in copied] == [[0, 1, 2, 3]]
    whole = find_copies(table, 2)
    assert [group.members.tolist() for group in whole] == [[0, 1, 2, 3]]


def test_three_labels_a_task_are_enough() -> None:
    rng = np.random.default_rng(2)
    table = spread(copying(rng, 60_000, group=4, share=0.98, workers=40), rng, 3)
    sums = sums_of(table, 40, 2)
    assert candidates(InMemory(table), np.ones(40, np.bool_), sums).tolist() == [0, 1, 2, 3]


def test_nobody_is_a_candidate_in_an_honest_crowd() -> None:
    rng = np.random.default_rng(0)
    table = spread(crowd(rng, 20_000, rng.uniform(0.1, 0.4, 60)), rng, 12)
    assert not candidates(InMemory(table), np.ones(60, np.bool_), sums_of(table, 60, 2)).size


def test_many_workers_are_compared_by_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    table = spread(copying(rng, 3000, group=5, share=1.0, workers=50), rng, 25)
    sums = sums_of(table, 50, 2)
    few = find_in(InMemory(table), table, sums, Reservoir(), sums.answers, 0)
    for module in (copies, copy_passes):
        monkeypatch.setattr(module, "most_compared", lambda classes: 20)
    many = find_in(InMemory(table), table, sums, Reservoir(), sums.answers, 0)
    for found in (few, many):
        assert [group.members.tolist() for group in found] == [[0, 1, 2, 3, 4]]


def test_sums_in_parts_are_those_of_the_whole(table: LabelBatch) -> None:
    slots = np.arange(60, dtype=np.int32)
    passes = [SketchPairs(slots, 60, 2)]
    whole = go_through(passes, [table])
    first, second = (
        go_through(passes, [part]) for part in (table.part(0, 7000), table.part(7000, 20_000))
    )
    join_all(passes, first, second)
    for mine, theirs in zip(first[0], whole[0], strict=True):
        assert (mine == theirs).all()
    sketch = np.full((2, SKETCH), 99, np.int32)
    listed = ListPairs(slots, 2, sketch, 10)
    (once,) = go_through([listed], [table])
    one, two = (
        go_through([listed], [part]) for part in (table.part(0, 7000), table.part(7000, 20_000))
    )
    join_all([listed], one, two)
    assert (one[0].keys == once.keys).all()
    assert (one[0].counts == once.counts).all()
    # Listed pairs are those that the exact counters count.
    assert once.counts.sum() == whole[0][0].sum()


@pytest.mark.parametrize("classes", [2, 7])
def test_compiled_or_not_the_counts_are_the_same(classes: int) -> None:
    rng = np.random.default_rng(0)
    batch = spread(copying(rng, 60, classes, group=4, share=0.9, workers=12), rng, 8)
    found = []
    sources = {module.__name__: uncompiled(module) for module in (batch_loops, scoring_loops)}
    with patch.dict(sys.modules, sources):
        source = uncompiled(copy_loops)
    arrays = batch.starts, batch.workers, batch.labels, batch.truths
    for loops, kind in ((copy_loops, batch_loops.Tasks), (source, source.Tasks)):
        tasks = kind(*arrays)
        slots, here = np.arange(12, dtype=np.int32), np.empty(8, np.int64)
        place = np.array([0, 0, 0, 0, 1, 1, -2] + [-1] * 5, np.int32)
        family = np.array([-1] * 9 + [0] * 3, np.int32)
        joint, same = np.zeros((12, 12, classes), np.int32), np.zeros((12, 12), np.int32)
        loops.count_pairs(tasks, slots, joint, same, here)
        cases = np.zeros((12, classes, 3), np.int64)
        mates, alike = np.zeros((12, 12), np.int32), np.zeros((12, 12), np.int32)
        votes = np.zeros(classes, np.int64)
        loops.count_cases(tasks, place, slots, votes, here, cases, mates, alike)
        agreement = np.zeros((2, 3, 3))
        habits = np.full((12, classes), 1 / classes)
        empty = np.zeros(classes), np.zeros(classes)
        loops.add_agreement(tasks, place, family, habits, *empty, agreement)
        said = np.empty(60, np.int32)
        loops.fill_pluralities(tasks, place, -1, votes, said)
        counted = np.zeros(classes, np.int32)
        exact, hashed = np.zeros((1, 66), np.int32), np.zeros((2, SKETCH), np.int32)
        for sketch in (exact, hashed):
            minority = np.zeros(12, np.int64)
            loops.add_to_sketch(tasks, slots, counted, here, sketch, minority)
        pairs = np.zeros(1000, np.uint64)
        listed = loops.list_pairs(tasks, 0, slots, counted, here, hashed, 2, pairs)
        shared = np.zeros((3, 2), np.int64)
        table = np.full((12, 12), -1, np.int32)
        table[0, 1] = table[1, 0] = 0
        table[2, 3] = table[3, 2] = 1
        loops.count_listed(tasks, slots, here, table, shared)
        found.append(
            [joint, same, cases, mates, alike, agreement, said, exact, hashed, minority, pairs,
             np.array(listed), shared]
        )  # fmt: skip
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other)
        assert one.any()
