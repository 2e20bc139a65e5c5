"""The paper's algorithm as printed, on its own and as the oracle of `AgreementBased`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.reference import AB, error_rates, excess
from crowdstream_lab import theory
from tests.simulated import error_rates as estimated

Floats = NDArray[np.float64]

SAME = 1e-8
"""What the estimator promises against the paper; measured, they differ by 1e-13."""

EDGE = 1e-7
"""Where (cuni) holds or fails by less, the last bit decides whether there is a solution."""


def product(alpha: float, beta: float) -> cs.AgreementBased:
    """The estimator with all that the paper does not have turned off."""
    return cs.AgreementBased(
        answer_rate=alpha, memory=1 / beta if beta else None, shrinkage=0, clip=0
    )


def stream(n: int, tasks: int, alpha: float, seed: int) -> Floats:
    """X(1), X(2), …, a row each, of workers whose error rates are drawn."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.5, n)
    truth = rng.choice([-1.0, 1.0], (tasks, 1))
    said = np.where(rng.random((tasks, n)) < p, -truth, truth)
    return said * (rng.random((tasks, n)) < alpha)


def dominant() -> AB:
    """Three of whom the first agrees with both others, who agree with each other less."""
    crowd = AB(3)
    for x in ([1, -1, 1], [1, 1, -1], [-1, 1, -1]) * 20:
        crowd.learn(x)
    return crowd


@pytest.mark.parametrize("beta", [0.0, 0.05])
@pytest.mark.parametrize("alpha", [1.0, 0.7, 0.4])
@pytest.mark.parametrize("n", [3, 4, 7, 20])
def test_the_estimator_is_the_paper_after_every_task(n: int, alpha: float, beta: float) -> None:
    solved = 0
    for seed in range(5):
        paper, crowd = AB(n, alpha, beta), product(alpha, beta)
        for x in stream(n, 60, alpha, seed):
            paper.learn(x)
            crowd.learn_one({i: None if v == 0 else int(v) for i, v in enumerate(x)})
            if abs(excess(paper.a, 0.0)) < EDGE:
                continue
            wanted = paper.error_rates
            if not crowd.identifiable_:
                assert (wanted == 0.5).all()
                continue
            solved += 1
            assert np.abs(estimated(crowd) - np.clip(wanted, 0, 1)).max() < SAME
    # Small crowds who answer rarely and forget mostly have no solution.
    assert solved > 5


@pytest.mark.parametrize("n", [4, 7])
def test_the_estimator_decides_as_the_paper_does(n: int) -> None:
    paper, crowd = AB(n), product(1.0, 0.0)
    decided = 0
    for x in stream(n, 150, 1.0, seed=n):
        answers = {i: int(v) for i, v in enumerate(x)}
        # Weights beyond the estimator's 21 are infinite here, so compare where all are finite.
        p = paper.error_rates
        vote = paper.decide(x)
        if vote and abs(excess(paper.a, 0.0)) > EDGE and (p > 1e-6).all() and (p < 1 - 1e-6).all():
            decided += 1
            assert crowd.predict_one(answers) == vote
        paper.learn(x)
        crowd.learn_one(answers)
    assert decided > 75


@pytest.mark.parametrize("beta", [0.0, 0.05])
def test_a_stream_decides_an_open_task_as_the_paper_does(beta: float) -> None:
    """By the tasks before it: an open task's own labels have no part in it, nor has its place."""
    paper, run = AB(8, beta=beta), cs.Stream(product(1.0, beta), settle=None)
    decided = 0
    for t, x in enumerate(stream(8, 150, 1.0, seed=3)):
        for i, label in enumerate(x.tolist()):
            last = run.observe(t, i, int(label), at=0)
        p, vote = paper.error_rates, paper.decide(x)
        if vote and abs(excess(paper.a, 0.0)) > EDGE and (p > 1e-6).all() and (p < 1 - 1e-6).all():
            decided += 1
            assert last.label == vote
        paper.learn(x)
        run.close(t)
    assert decided > 75


def test_the_recursion_is_the_average_it_is_said_to_be() -> None:
    x = stream(6, 50, 0.6, seed=1)
    agree = np.array([[np.sum(r * r[i] == 1) - (r[i] != 0) for i in range(6)] for r in x])
    for beta in (0.0, 0.1):
        crowd = AB(6, 0.6, beta)
        for row in x:
            crowd.learn(row)
        ages = np.arange(len(x))[::-1]
        weights = beta * (1 - beta) ** ages if beta else np.full(len(x), 1 / len(x))
        # (adef) and (abel) of the paper.
        wanted = weights @ agree / (5 * 0.6**2)
        assert crowd.a.tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


def test_a_crowds_own_agreement_rates_give_back_its_error_rates() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 5, 10, 50):
        p = rng.uniform(0.0, 0.2, n)
        assert np.abs(error_rates(theory.agreement_rates(p)) - p).max() < 1e-12


def test_before_any_task_heads_are_counted() -> None:
    crowd = AB(5)
    assert (crowd.error_rates == 0.5).all()
    assert crowd.decide([1, 1, -1, 0, 0]) == 1
    assert crowd.decide([1, -1, 0, 0, 0]) == 0


def test_without_a_solution_everybody_is_at_chance_and_heads_are_counted() -> None:
    crowd = dominant()
    assert excess(crowd.a, 0.0) > 0
    assert crowd.error_rates.tolist() == [0.5, 0.5, 0.5]
    assert crowd.decide([1, -1, -1]) == -1


def test_who_agrees_exactly_as_often_as_by_chance_is_a_solution_too() -> None:
    assert error_rates(np.full(4, 0.5)).tolist() == [0.5] * 4


def test_an_error_rate_of_zero_or_less_outvotes_everybody_and_so_does_the_opposite_of_one() -> None:
    crowd = AB(6)
    # Agreement rates of such a crowd, a little off as estimates are.
    crowd.a[:] = theory.agreement_rates([0.0, 0.0, 0.3, 0.3, 0.3, 0.3]) + 0.01
    assert (crowd.error_rates[:2] < 0).all()
    assert crowd.decide([1, 0, -1, -1, -1, -1]) == 1
    assert crowd.decide([1, -1, -1, -1, -1, -1]) == -1  # they cancel, the others decide
    crowd.a[:] = theory.agreement_rates([0.1, 0.1, 0.1, 0.1, 0.1, 1.0]) - [0, 0, 0, 0, 0, 0.02]
    assert crowd.error_rates[5] > 1
    assert crowd.decide([-1, -1, -1, -1, -1, -1]) == 1


def test_forgetting_starts_from_nothing_as_printed() -> None:
    crowd = AB(4, beta=0.1)
    for t in range(1, 20):
        crowd.learn([1, 1, 1, 1])
        assert crowd.a.tolist() == pytest.approx([1 - 0.9**t] * 4)


@pytest.mark.parametrize("bad", [(2, 1.0, 0.0), (3, 0.0, 0.0), (3, 1.1, 0.0), (3, 1.0, 1.0)])
def test_what_the_model_does_not_have_is_refused(bad: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="expected n > 2"):
        AB(*bad)
