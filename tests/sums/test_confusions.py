"""Posterior counts: posteriors in multiples of 2⁻²⁴, so that their sums too are exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from crowdstream import parallel
from crowdstream.labels.batch import LabelBatch
from crowdstream.models import scoring_loops
from crowdstream.models.passes import CountPosteriors, InMemory
from crowdstream.sums.confusions import ConfusionSums
from tests.sums.batches import CLASSES, WORKERS, Task, batch_of, tasks

shared = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)
WEIGHTS = np.array([0.3, -0.7, 1.1, 2.3, 0.01, 0.9, 0.5])  # and an unknown worker's
GOLD = 5.0  # times that a task of known truth counts
PRIOR = np.log([0.4, 0.3, 0.2, 0.1])


def vote(batch: LabelBatch, scores: NDArray[np.float64]) -> None:
    """Scores that are no round numbers."""
    scoring_loops.add_weights(batch.coded, WEIGHTS, PRIOR, scores)


def counted(some: Sequence[Task]) -> ConfusionSums:
    (found,) = InMemory(batch_of(some)).add_up([CountPosteriors(vote, WORKERS, CLASSES)])
    sums = ConfusionSums()
    sums.make_room(WORKERS, CLASSES)
    sums.replace(*found)
    return sums


def bits(sums: ConfusionSums) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in sums.pack().items()}


@given(tasks)
@shared
def test_counts_are_posteriors_added_up(some: list[Task]) -> None:
    counts, mass = np.zeros((WORKERS, CLASSES, CLASSES)), np.zeros(CLASSES)
    for said, truth in some:
        if not said:
            continue
        score = PRIOR.copy()
        for who, x in said.items():
            score[x] += WEIGHTS[who]
        posterior = np.exp(score) / np.exp(score).sum()
        if truth >= 0:
            posterior = GOLD * np.eye(CLASSES)[truth]
        mass += posterior
        for who, x in said.items():
            counts[who, x] += posterior
    found = counted(some)
    # Rounding: half of 2⁻²⁴ a label.
    near = 2**-24 * (1 + len(some))
    assert np.allclose(found.counts[:WORKERS, :CLASSES], counts, rtol=0, atol=near)
    assert np.allclose(found.mass, mass, rtol=0, atol=near)
    assert np.array_equal(found.counts[:, CLASSES], found.counts[:, :CLASSES].sum(axis=1))


@given(tasks, st.randoms(use_true_random=False))
@shared
def test_no_order_of_tasks_matters(some: list[Task], random) -> None:  # type: ignore[no-untyped-def]
    assert bits(counted(random.sample(some, len(some)))) == bits(counted(some))


@given(tasks, st.sampled_from([2, 3, 5]))
@shared
def test_no_number_of_threads_matters(
    monkeypatch: pytest.MonkeyPatch, some: list[Task], threads: int
) -> None:
    wanted = bits(counted(some))
    with monkeypatch.context() as patch:
        patch.setattr(parallel, "LARGE", 1)
        patch.setenv("CROWDSTREAM_THREADS", str(threads))
        assert bits(counted(some)) == wanted


@given(tasks, st.data())
@shared
def test_no_partition_or_merge_tree_matters(some: list[Task], data: st.DataObject) -> None:
    which = data.draw(st.lists(st.integers(0, 3), min_size=len(some), max_size=len(some)))
    parts = [
        counted([task for task, w in zip(some, which, strict=True) if w == k]) for k in range(4)
    ]
    while len(parts) > 1:
        one = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        j = data.draw(st.integers(0, len(parts) - 1))
        parts[j].merge(one, np.arange(WORKERS), np.arange(CLASSES))
    assert bits(parts[0]) == bits(counted(some))


@given(tasks, st.randoms(use_true_random=False))
@shared
def test_merging_goes_by_name_and_spare_rows_change_nothing(some: list[Task], random) -> None:  # type: ignore[no-untyped-def]
    names = np.array(random.sample(range(WORKERS + 3), WORKERS))
    classes = np.array(random.sample(range(CLASSES + 2), CLASSES))
    one, large = counted(some), ConfusionSums()
    large.make_room(2, 2)
    large.make_room(WORKERS + 3, CLASSES + 2)
    large.merge(one, names, classes)
    for who, i in enumerate(names):
        for x, y in enumerate(classes):
            assert np.array_equal(large.counts[i, y, classes], one.counts[who, x])
        assert np.array_equal(large.counts[i, -1, classes], one.counts[who, -1])
    assert large.mass.sum() == one.mass.sum()


@given(tasks)
@shared
def test_saved_counts_come_back(some: list[Task]) -> None:
    sums, again = counted(some), ConfusionSums()
    again.unpack(sums.pack(), WORKERS, CLASSES)
    assert bits(again) == bits(sums)
