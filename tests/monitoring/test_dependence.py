"""How far two workers agree beyond what the truth explains."""

from __future__ import annotations

import time

import numpy as np
import pytest

from crowdstream.monitoring.dependence import Floats, Ints, dependence
from tests.copying import copying, crowd, parrots, thinned


def counts(labels: Ints) -> tuple[Floats, Floats, Floats]:
    """What `dependence` takes."""
    votes = (labels[:, :, None] == np.arange(labels.max() + 1)).astype(np.float64)
    there = votes.sum(axis=2)
    return there.T @ there, np.einsum("tik,tjk->ij", votes, votes, optimize=True), votes.sum(axis=0)


def test_rho_is_the_correlation_of_errors_and_skill_is_the_centred_skill() -> None:
    # Followers who copy with probability 0.9 err like the leader with ρ = 0.9, like each other with
    # 0.81; skill is (1 − 2·error)·√½. Six standard errors at 10,000 tasks.
    found = dependence(*counts(copying(np.random.default_rng(0), 10_000)))
    followers = found.rho[1:9, 1:9][np.triu_indices(8, 1)]
    assert found.rho[0, 1:9].mean() == pytest.approx(0.9, abs=0.03)
    assert followers.mean() == pytest.approx(0.81, abs=0.03)
    assert np.abs(found.rho[9:]).max() < 0.1
    assert found.skill[:9].mean() == pytest.approx(0.3 * 0.5**0.5, abs=0.03)


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


def test_twenty_labels_alike_are_not_certainty() -> None:
    met = np.full((6, 6), 20.0)
    agreed = np.full((6, 6), 11.0)
    agreed[0, 1] = agreed[1, 0] = 20.0
    found = dependence(met, agreed, np.full((6, 2), 10.0))
    assert 0 < found.z[0, 1] < 5


def test_the_order_of_workers_and_classes_does_not_matter() -> None:
    met, agreed, said = counts(copying(np.random.default_rng(0), 1000, 3))
    order = np.random.default_rng(1).permutation(20)
    moved = dependence(met[order][:, order], agreed[order][:, order], said[order][:, ::-1])
    assert moved.rho == pytest.approx(dependence(met, agreed, said).rho[order][:, order], abs=1e-6)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("classes", [1, 2])
def test_crowds_too_small_to_tell_have_no_dependence(size: int, classes: int) -> None:
    tasks = 100.0
    met = np.full((size, size), tasks)
    said = np.full((size, classes), tasks / classes)
    for counted in (met, np.zeros_like(met)):
        found = dependence(counted, counted, said)
        assert np.abs(found.rho).max(initial=0.0) < 0.01
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


def test_256_workers_take_a_blink() -> None:
    rng = np.random.default_rng(0)
    arguments = counts(crowd(rng, 500, rng.uniform(0.2, 0.4, 256)))
    took = []
    for _ in range(5):
        start = time.perf_counter()
        dependence(*arguments)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.2, "0.03 s measured; the rest is for busy machines"
