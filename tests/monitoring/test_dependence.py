"""Who copies whom: groups of copies are found whole, and honest crowds are left in peace."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from crowdstream.monitoring.dependence import Dependence, Floats, Ints, dependence, families

Crowd = Callable[[np.random.Generator], Ints]


def answers(rng: np.random.Generator, truth: Ints, errors: Floats, k: int) -> Ints:
    """Tasks × workers: the truth, or with the worker's error rate another class."""
    wrong = rng.random((truth.size, errors.shape[-1])) < errors
    found: Ints = (truth[:, None] + wrong * rng.integers(1, k, wrong.shape)) % k
    return found


def crowd(rng: np.random.Generator, tasks: int, errors: Floats, k: int = 2) -> Ints:
    return answers(rng, rng.integers(0, k, tasks), errors, k)


def copying(
    rng: np.random.Generator, tasks: int, k: int = 2, group: int = 9, error: float = 0.35
) -> Ints:
    """Twenty workers; the first ``group`` are a leader and followers who copy 9 times in 10."""
    errors = rng.uniform(0.2, 0.4, 20)
    errors[:group] = error
    labels = crowd(rng, tasks, errors, k)
    copied = rng.random((tasks, group - 1)) < 0.9
    labels[:, 1:group] = np.where(copied, labels[:, :1], labels[:, 1:group])
    return labels


def thinned(rng: np.random.Generator, labels: Ints, left: int) -> Ints:
    """So many labels a task, by chance; the others are −1."""
    rank = rng.random(labels.shape).argsort(axis=1).argsort(axis=1)
    return np.where(rank < left, labels, -1)


def counts(labels: Ints) -> tuple[Floats, Floats, Floats]:
    """What `dependence` takes."""
    votes = (labels[:, :, None] == np.arange(labels.max() + 1)).astype(np.float64)
    there = votes.sum(axis=2)
    return there.T @ there, np.einsum("tik,tjk->ij", votes, votes, optimize=True), votes.sum(axis=0)


def found_in(labels: Ints) -> list[int]:
    return list(families(dependence(*counts(labels)))[0])


def group_of(size: int, crowd_size: int = 20) -> list[int]:
    return [1] * size + [0] * (crowd_size - size)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("tasks", [300, 1000, 3000])
def test_nine_of_twenty_who_copy_are_found_whole_and_alone(tasks: int, k: int) -> None:
    for seed in range(3):
        labels = copying(np.random.default_rng(seed), tasks, k)
        assert found_in(labels) == group_of(9)


def test_five_labels_per_task_of_twenty_are_enough() -> None:
    rng = np.random.default_rng(0)
    assert found_in(thinned(rng, copying(rng, 10_000), 5)) == group_of(9)


def test_copies_are_found_where_they_are_the_best_of_the_crowd() -> None:
    assert found_in(copying(np.random.default_rng(0), 3000, error=0.1)) == group_of(9)


def test_a_majority_of_copies_is_found_where_the_others_do_not_look_like_copies() -> None:
    assert found_in(copying(np.random.default_rng(0), 3000, group=12)) == group_of(12)


def test_two_groups_are_two_families() -> None:
    rng = np.random.default_rng(0)
    labels = copying(rng, 2000, group=4)
    copied = rng.random((2000, 3)) < 0.9
    labels[:, 5:8] = np.where(copied, labels[:, 4:5], labels[:, 5:8])
    assert found_in(labels) == [1] * 4 + [2] * 4 + [0] * 12


def test_rho_is_the_correlation_of_errors_and_skill_is_the_centred_skill() -> None:
    # Followers who copy with probability 0.9 err like the leader with ρ = 0.9, like each other with
    # 0.81; skill is (1 − 2·error)·√½. Six standard errors at 10,000 tasks.
    found = dependence(*counts(copying(np.random.default_rng(0), 10_000)))
    followers = found.rho[1:9, 1:9][np.triu_indices(8, 1)]
    assert found.rho[0, 1:9].mean() == pytest.approx(0.9, abs=0.03)
    assert followers.mean() == pytest.approx(0.81, abs=0.03)
    assert np.abs(found.rho[9:]).max() < 0.1
    assert found.skill[:9].mean() == pytest.approx(0.3 * 0.5**0.5, abs=0.03)
    family, inside = families(found)
    assert family.max() == 1
    assert inside[0] == pytest.approx(0.83, abs=0.03)


def difficult(rng: np.random.Generator) -> Ints:
    errors = rng.uniform(0, 2, (3000, 1)) * rng.uniform(0.1, 0.4, 20)
    return crowd(rng, 3000, errors)


def drifting(rng: np.random.Generator) -> Ints:
    skill = 1 + np.sin(np.arange(3000) / 200)[:, None]
    return crowd(rng, 3000, skill * rng.uniform(0.15, 0.4, 20))


def parrots(rng: np.random.Generator) -> Ints:
    labels = crowd(rng, 1000, rng.uniform(0.1, 0.4, 20))
    said = rng.integers(0, 2, 6)
    labels[:, :6] = np.where(rng.random((1000, 6)) < 0.98, said, labels[:, :6])
    labels[:, :2] = 1
    return labels


def unbalanced(rng: np.random.Generator) -> Ints:
    return answers(rng, (rng.random(1000) < 0.1).astype(np.int64), rng.uniform(0.02, 0.4, 20), 2)


def confused(rng: np.random.Generator) -> Ints:
    rows = 0.5 * np.eye(3) + 0.5 * rng.dirichlet(np.ones(3), (20, 3))
    drawn = rows.cumsum(axis=2)[:, rng.integers(0, 3, 3000), :2].transpose(1, 0, 2)
    found: Ints = (rng.random((3000, 20, 1)) > drawn).sum(axis=2)
    return found


HONEST: dict[str, Crowd] = {
    "five": lambda rng: crowd(rng, 1000, rng.uniform(0.2, 0.4, 5)),
    "fifty": lambda rng: crowd(rng, 1000, rng.uniform(0.2, 0.4, 50)),
    "few tasks": lambda rng: crowd(rng, 30, rng.uniform(0.05, 0.4, 20)),
    "sparse": lambda rng: thinned(rng, crowd(rng, 5000, rng.uniform(0.1, 0.4, 20)), 3),
    "very good": lambda rng: crowd(rng, 1000, rng.uniform(0.01, 0.05, 20)),
    "perfect": lambda rng: crowd(rng, 1000, np.zeros(20)),
    "guessers": lambda rng: crowd(rng, 1000, np.full(20, 0.5)),
    "two experts among guessers": lambda rng: crowd(rng, 1000, np.repeat([0.02, 0.5], [2, 18])),
    "experts and guessers, sparse": lambda rng: thinned(
        rng, crowd(rng, 3000, np.repeat([0.02, 0.5], [9, 11])), 3
    ),
    "adversaries": lambda rng: crowd(rng, 1000, np.repeat([0.8, 0.2], [6, 14])),
    "parrots": parrots,
    "unbalanced classes": unbalanced,
    "confusions by class": confused,
    "unequal difficulty": difficult,
    "drifting together": drifting,
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_crowd_has_no_family(name: str) -> None:
    for seed in range(5):
        assert not any(found_in(HONEST[name](np.random.default_rng(seed))))


def test_most_skills_are_positive() -> None:
    errors = np.repeat([0.8, 0.2], [9, 11])
    skill = dependence(*counts(crowd(np.random.default_rng(0), 1000, errors))).skill
    assert (skill[:9] < 0).all()
    assert (skill[9:] > 0).all()


def test_pairs_that_hardly_met_say_nothing() -> None:
    rng = np.random.default_rng(0)
    met, agreed, said = counts(copying(rng, 1000))
    met[0, 1] = met[1, 0] = agreed[0, 1] = agreed[1, 0] = 19.0
    found = dependence(met, agreed, said)
    assert found.rho[0, 1] == found.z[0, 1] == 0
    family, inside = families(found)
    assert list(family) == group_of(9), "they belong together by way of others"
    assert inside[0] > 0.8, "and do not count in the mean"


def test_twenty_labels_alike_are_not_certainty() -> None:
    met = np.full((6, 6), 20.0)
    agreed = np.full((6, 6), 11.0)
    agreed[0, 1] = agreed[1, 0] = 20.0
    found = dependence(met, agreed, np.full((6, 2), 10.0))
    assert 0 < found.z[0, 1] < 5


def test_faded_counts_are_as_good_as_whole_ones() -> None:
    met, agreed, said = counts(copying(np.random.default_rng(0), 3000))
    family, _ = families(dependence(0.3 * met, 0.3 * agreed, 0.3 * said))
    assert list(family) == group_of(9)


def test_the_order_of_workers_and_classes_does_not_matter() -> None:
    met, agreed, said = counts(copying(np.random.default_rng(0), 1000, 3))
    order = np.random.default_rng(1).permutation(20)
    moved = dependence(met[order][:, order], agreed[order][:, order], said[order][:, ::-1])
    assert moved.rho == pytest.approx(dependence(met, agreed, said).rho[order][:, order], abs=1e-6)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("classes", [1, 2])
def test_crowds_too_small_to_tell_have_no_family(size: int, classes: int) -> None:
    tasks = 100.0
    met = np.full((size, size), tasks)
    said = np.full((size, classes), tasks / classes)
    for counted in (met, np.zeros_like(met)):
        found = dependence(counted, counted, said)
        assert not families(found)[0].any()
        assert found.skill.shape == (size,)


def test_tables_are_finite_symmetric_and_empty_on_the_diagonal() -> None:
    rng = np.random.default_rng(0)
    labels = thinned(rng, parrots(rng), 4)
    arguments = counts(labels)
    before = [a.copy() for a in arguments]
    found = dependence(*arguments)
    assert all((a == b).all() for a, b in zip(arguments, before, strict=True)), "nothing is changed"
    for table in (found.rho, found.z):
        assert np.isfinite(table).all()
        assert (table == table.T).all()
        assert (np.diag(table) == 0).all()
    assert np.abs(found.rho).max() <= 1


def test_a_family_is_all_that_near_duplicates_connect() -> None:
    rho = np.zeros((6, 6))
    for i, j, r in [(0, 3, 0.6), (3, 5, 0.8), (1, 2, 0.9), (4, 5, 0.4)]:
        rho[i, j] = rho[j, i] = r
    z = 10 * rho
    family, inside = families(Dependence(rho, z, np.zeros(6)))
    assert list(family) == [1, 2, 2, 1, 0, 1]
    assert inside == pytest.approx([0.7, 0.9])
    family, inside = families(Dependence(rho, z, np.zeros(6)), least_z=8.5)
    assert list(family) == [0, 1, 1, 0, 0, 0]


def test_256_workers_take_a_blink() -> None:
    rng = np.random.default_rng(0)
    arguments = counts(crowd(rng, 500, rng.uniform(0.2, 0.4, 256)))
    took = []
    for _ in range(5):
        start = time.perf_counter()
        families(dependence(*arguments))
        took.append(time.perf_counter() - start)
    assert min(took) < 0.2, "0.03 s measured; the rest is for busy machines"
