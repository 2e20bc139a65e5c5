"""Whole-number sums: any order, partition, number of threads, merge tree or detour, same bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crowdstream import parallel
from crowdstream.errors import StateError
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.rows import HEAD
from tests.sums.batches import CLASSES, WORKERS, Task, batch_of, tasks

FAMILIES = np.array([0, 0, -1, 1, 1, -1], np.int32)

families = st.booleans()
shared = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)


def empty(related: bool = False) -> AgreementSums:
    sums = AgreementSums(2 if related else 0)
    sums.make_room(WORKERS, CLASSES)
    if related:
        sums.declare(FAMILIES, 0)
    return sums


def summed(some: Sequence[Task], related: bool = False) -> AgreementSums:
    sums = empty(related)
    sums.add(batch_of(some))
    return sums


def bits(sums: AgreementSums, groups: bool = True) -> dict[str, bytes]:
    """Everything, as bytes."""
    packed = sums.pack()
    if not groups:
        del packed["groups"]
    return {name: array.tobytes() for name, array in packed.items()}


def by_definition(some: Sequence[Task], related: bool) -> tuple[np.ndarray, np.ndarray]:
    """The formulas over pairs of labels, as they are written."""
    k = CLASSES
    rows, relatives = np.zeros((WORKERS, HEAD + 3 * k)), np.zeros((2 if related else 0, 2))
    for said, truth in some:
        for i, x in said.items():
            rows[i, HEAD + x] += 1
            rows[i, 3] += truth >= 0
            rows[i, 4] += truth == x
            met = 0
            for j, y in said.items():
                if j == i:
                    continue
                if related and FAMILIES[i] >= 0 and FAMILIES[i] == FAMILIES[j]:
                    relatives[FAMILIES[i]] += 1, x == y
                    continue
                met += 1
                rows[i, 0] += x == y
                rows[i, HEAD + 2 * k + y] += 1
            rows[i, 1] += met
            rows[i, 2] += met * (met - 1)
            rows[i, HEAD + k + x] += met
    return rows, relatives


@given(tasks, families)
@shared
def test_sums_are_what_the_formulas_say(some: list[Task], related: bool) -> None:
    sums = summed(some, related)
    rows, relatives = by_definition(some, related)
    assert np.array_equal(sums.rows, rows)
    assert np.array_equal(sums.relatives, relatives)
    labels = sum(len(said) for said, _ in some)
    assert sums.total.tolist() == [len(some), sum(bool(said) for said, _ in some), labels]
    labelled = [list(said.values()) for said, _ in some if said]
    shares = [sum(said.count(a) / len(said) for said in labelled) for a in range(CLASSES)]
    # Each share of a label is rounded to a multiple of 2⁻²⁴.
    assert sums.shares == pytest.approx(shares, abs=2**-25 * (1 + 12 * WORKERS))


@given(tasks, families, st.randoms(use_true_random=False))
@shared
def test_no_order_of_tasks_or_labels_matters(some: list[Task], related: bool, random) -> None:  # type: ignore[no-untyped-def]
    wanted = bits(summed(some, related))
    for _ in range(3):
        mixed = [(dict(random.sample(list(said.items()), len(said))), t) for said, t in some]
        random.shuffle(mixed)
        assert bits(summed(mixed, related)) == wanted


@given(tasks, families, st.data())
@shared
def test_no_partition_or_merge_tree_matters(
    some: list[Task], related: bool, data: st.DataObject
) -> None:
    wanted = bits(summed(some, related))
    which = data.draw(st.lists(st.integers(0, 4), min_size=len(some), max_size=len(some)))
    parts = [
        summed([task for task, w in zip(some, which, strict=True) if w == k], related)
        for k in range(5)
    ]
    everyone, classes = np.arange(WORKERS), np.arange(CLASSES)
    while len(parts) > 1:  # any two of them
        i = data.draw(st.integers(0, len(parts) - 1))
        one = parts.pop(i)
        j = data.draw(st.integers(0, len(parts) - 1))
        parts[j].merge(one, everyone, classes)
    assert bits(parts[0]) == wanted


@given(tasks, families, st.randoms(use_true_random=False))
@shared
def test_whoever_has_other_codes_elsewhere_is_merged_by_name(  # type: ignore[no-untyped-def]
    some: list[Task], related: bool, random
) -> None:
    names = random.sample(range(WORKERS), WORKERS)
    classes = random.sample(range(CLASSES), CLASSES)
    recoded = [
        ({names.index(who): classes.index(x) for who, x in said.items()},
         truth if truth < 0 else classes.index(truth))
        for said, truth in some
    ]  # fmt: skip
    other = AgreementSums(2 if related else 0)
    other.make_room(WORKERS, CLASSES)
    if related:
        other.declare(FAMILIES[names], 0)
    other.add(batch_of(recoded))
    merged = empty(related)
    merged.merge(other, np.array(names), np.array(classes))
    assert bits(merged) == bits(summed(some, related))


@given(tasks, families, st.sampled_from([1, 2, 3, 5]), st.integers(1, 4))
@shared
def test_no_number_of_threads_matters(
    monkeypatch: pytest.MonkeyPatch, some: list[Task], related: bool, threads: int, large: int
) -> None:
    wanted = bits(summed(some, related))
    with monkeypatch.context() as patch:
        patch.setattr(parallel, "LARGE", large)
        patch.setenv("CROWDSTREAM_THREADS", str(threads))
        assert len(parallel.parts_of(4)) == threads, "or it was one thread after all"
        assert bits(summed(some, related)) == wanted


@given(tasks, tasks, families, st.randoms(use_true_random=False))
@shared
def test_what_is_taken_away_leaves_no_trace(  # type: ignore[no-untyped-def]
    some: list[Task], more: list[Task], related: bool, random
) -> None:
    wanted = bits(summed(some, related), groups=False)  # that two have met is not taken back
    sums = summed(some, related)
    sums.add(batch_of(more))
    back = random.sample(more, len(more))
    sums.add(batch_of(back), -1.0)
    assert bits(sums, groups=False) == wanted
    sums.add(batch_of(some), -1.0)
    assert not any(array.any() for array in sums.arrays())
    sums.add(batch_of(some))
    assert bits(sums, groups=False) == wanted


@given(tasks, families)
@shared
def test_sums_without_a_task_are_a_copy(some: list[Task], related: bool) -> None:
    if not some:
        return
    sums = summed(some, related)
    before = bits(sums)
    rest = sums.without(batch_of(some[:1]))
    assert bits(rest, groups=False) == bits(summed(some[1:], related), groups=False)
    rest.add(batch_of(some))
    assert bits(sums) == before


@given(tasks, tasks, families)
@shared
def test_room_for_more_changes_no_sum(some: list[Task], more: list[Task], related: bool) -> None:
    small = AgreementSums(2 if related else 0)
    for task in (*some, *more):  # grows as workers and classes come
        said, truth = task
        known = small.workers
        small.make_room(max([*said, -1]) + 1, max([*said.values(), truth, -1]) + 1)
        if related and small.workers > known:
            small.declare(FAMILIES[known : small.workers], known)
        small.add(batch_of([task]))
    known = small.workers
    small.make_room(WORKERS, CLASSES)
    if related and known < WORKERS:
        small.declare(FAMILIES[known:], known)
    assert bits(small) == bits(summed([*some, *more], related))


@given(tasks, families)
@shared
def test_saved_sums_come_back(some: list[Task], related: bool) -> None:
    sums, again = summed(some, related), AgreementSums(2 if related else 0)
    again.unpack(sums.pack(), WORKERS, CLASSES)
    assert bits(again) == bits(sums)


def test_saved_sums_that_do_not_fit_are_refused() -> None:
    packed = summed([({0: 1, 1: 1}, -1)]).pack()
    for name, array in packed.items():
        for wrong in ({**packed, name: array[:-1]}, {k: v for k, v in packed.items() if k != name}):
            if name == "relatives":  # no families: nothing to cut off
                continue
            with pytest.raises(StateError, match=name):
                AgreementSums().unpack(wrong, WORKERS, CLASSES)


def test_workers_are_grouped_by_the_tasks_they_share() -> None:
    sums = summed([({0: 1, 3: 1}, -1), ({3: 0, 5: 1}, -1), ({1: 0, 4: 1}, -1), ({2: 0}, -1)])
    assert sums.groups.tolist() == [0, 1, 2, 0, 1, 0]
