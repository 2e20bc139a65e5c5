"""All repetitions at once are the library's estimator and the paper's algorithm, one by one."""

from __future__ import annotations

import numpy as np
import pytest

import crowdstream as cs
from crowdstream import reference
from crowdstream.simulation import Simulated, error_rates, simulate
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch
from crowdstream_lab.experiments.common import Floats

SAME = 1e-9
"""Solvers that stop at 1e-13 of a share, times what n/4 √v and a small γ make of it."""

EDGE = 1e-7
"""Where a fixed point exists or not by less, the last bit decides."""


def estimator(alpha: float, beta: float, clip: float = 0.0) -> cs.AgreementBased:
    memory = 1 / beta if beta else None
    return cs.AgreementBased(answer_rate=alpha, memory=memory, shrinkage=0, clip=clip)


def right(block: Simulated) -> Floats:
    """Labels times the truth."""
    said = block.matrix()
    agrees = np.where(said == block.truth[:, None], 1.0, -1.0)
    return np.where(said < 0, 0.0, agrees)


@pytest.mark.filterwarnings("ignore::crowdstream.NotIdentifiable")
@pytest.mark.parametrize("beta", [0.0, 0.03])
@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_estimates_are_those_of_the_estimator(alpha: float, beta: float) -> None:
    blocks = [
        simulate(10, 400, p=error_rates(10, q=0.31), answer_rate=alpha, seed=seed)
        for seed in range(4)
    ]
    together = np.stack([right(block) for block in blocks])
    agreed = batch.agreements(together, alpha, beta)
    found = batch.error_rates(agreed)
    compared = 0
    for block, rates, agreement in zip(blocks, found, agreed, strict=True):
        labels, crowd = block.columns(), estimator(alpha, beta)
        for t in range(20, 401, 20):
            crowd.learn_many(labels.part(t - 20, t))
            if abs(reference.excess(agreement[t - 1], 0.0)) < EDGE:
                continue
            wanted = np.asarray(crowd.workers()["error_rate"].fill_null(0.5))
            assert np.abs(np.clip(rates[t - 1], 0, 1) - wanted).max() < SAME
            compared += bool(crowd.identifiable_)
    assert compared > 40


@pytest.mark.parametrize("n", [3, 4, 7, 20])
def test_fixed_points_are_those_of_the_paper(n: int) -> None:
    rng = np.random.default_rng(n)
    agreed = rng.uniform(0.3, 1.0, (400, n))
    agreed[:200] = np.clip(0.75 + rng.normal(0, 0.05, (200, n)), 0, 1)
    clear = np.array([abs(reference.excess(a, 0.0)) > EDGE for a in agreed])
    wanted = np.array([reference.error_rates(a) for a in agreed])
    found = batch.error_rates(agreed)
    assert np.abs(found - wanted)[clear].max() < SAME
    solved = (wanted != 0.5).any(axis=1)
    assert solved.any()
    assert not solved.all()


def test_a_crowd_comes_back_from_its_own_agreement_rates() -> None:
    p = np.array([[0.05, 0.1, 0.2, 0.4, 0.5], [0.0, 0.0, 0.0, 0.5, 0.9]])
    agreed = np.array([theory.agreement_rates(crowd) for crowd in p])
    assert np.abs(batch.error_rates(agreed) - p).max() < SAME


def test_decisions_as_printed_are_those_of_the_paper() -> None:
    x = batch.draw(np.random.default_rng(0), (3, 150, 8), error_rates(8, q=0.3))
    before = np.full_like(x, 0.5)
    before[:, 1:] = batch.error_rates(batch.agreements(x)[:, :-1])
    found = batch.vote_errors(x, before)
    for path, errors in zip(x, found, strict=True):
        crowd = reference.AB(8)
        for labels, error in zip(path, errors, strict=True):
            # The reference calls a score of 1e-16 a decision and not a tie: compare where it is.
            clear = abs(reference.excess(crowd.a, 0.0)) > EDGE or crowd.t == 0
            if clear and error != 0.5:
                assert error == (1 - crowd.decide(labels)) / 2
            crowd.learn(labels)


@pytest.mark.filterwarnings("ignore::crowdstream.NotIdentifiable")
def test_decisions_with_a_clip_are_those_of_the_estimator() -> None:
    same = tasks = 0
    for seed in range(3):
        block = simulate(10, 400, p=error_rates(10, q=0.31), seed=seed)
        x = right(block)
        before = np.full_like(x, 0.5)
        before[1:] = batch.error_rates(batch.agreements(x)[:-1])
        ours = batch.vote_errors(x, before, 0.05)
        decided = estimator(1.0, 0.0, 0.05).stream_many(block.columns())
        missed = (decided["label"].to_numpy() != block.truth).astype(float)
        theirs = np.where(decided["margin"].to_numpy() == 0, 0.5, missed)
        same += int((ours == theirs).sum())
        tasks += ours.size
    # Before task 20 a fixed point often exists by a rounding error only.
    assert same > 0.99 * tasks


def test_ties_count_a_half_and_certain_votes_come_first() -> None:
    said = np.array([[1.0, -1.0, 0.0], [1.0, -1.0, -1.0]])
    assert batch.vote_errors(said, np.full(3, 0.5)).tolist() == [0.5, 1.0]
    assert batch.vote_errors(said, np.array([0.0, 0.1, 0.1])).tolist() == [0.0, 0.0]
    assert batch.vote_errors(said, np.array([0.0, 0.1, 0.1]), clip=0.1).tolist() == [0.5, 1.0]


def test_labels_err_and_are_missing_as_often_as_asked() -> None:
    drawn = batch.draw(np.random.default_rng(1), (20_000, 2), np.array([0.1, 0.4]), 0.5)
    assert (drawn != 0).mean() == pytest.approx(0.5, abs=0.02)
    wrong = (drawn < 0).sum(axis=0) / (drawn != 0).sum(axis=0)
    # Four standard errors of a share of 10,000.
    assert wrong == pytest.approx([0.1, 0.4], abs=0.02)
