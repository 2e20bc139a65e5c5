"""The paper's mathematics: its formulas against enumeration, its bounds against simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream_lab import theory
from tests.simulated import error_rates

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""A few hundred additions of numbers near 1 in double precision."""

HAMMERS = np.repeat([0.0, 0.5], 10)
"""The paper's hammer-spammer crowd of 20."""


class Answers:
    """Everything a small crowd can say about a task, and how likely it says so (G = +1).

    A stream of any length is then one multinomial draw: AB needs only how often each row came.
    """

    def __init__(self, p: Floats, alpha: float) -> None:
        self.p, self.n, self.alpha = p, p.size, alpha
        self.rows = np.array(list(itertools.product([-1, 0, 1], repeat=p.size)), float)
        chances = np.where(self.rows < 0, alpha * p, np.where(self.rows > 0, alpha * (1 - p), 0))
        self.likelihood = np.where(self.rows == 0, 1 - alpha, chances).prod(axis=1)

    def agreeing(self) -> Floats:
        """The share of the others who agree, over α²: what a row adds to â (equation 6)."""
        same = (self.rows[:, :, None] * self.rows[:, None, :] == 1).sum(axis=2) - (self.rows != 0)
        return np.asarray(same / ((self.n - 1) * self.alpha**2))

    def agreements(self, tasks: int, times: int, seed: int = 0) -> Floats:
        """Estimated agreement rates after so many tasks, for many streams."""
        rng = np.random.default_rng(seed)
        return rng.multinomial(tasks, self.likelihood, size=times) / tasks @ self.agreeing()

    def vote_error(self, weights: Floats) -> float:
        """The error rate of a vote, row by row."""
        votes = self.rows @ weights
        votes[np.abs(votes) < ROUNDING] = 0
        return float(self.likelihood @ np.where(votes < 0, 1, np.where(votes == 0, 0.5, 0)))

    def bayes_error(self) -> float:
        """Half of the mass that both truths share: the least error rate of any decision."""
        return float(np.minimum(self.likelihood, self.likelihood[::-1]).sum()) / 2


def estimates(agreements: Floats) -> Floats:
    """AB's error rates for each row: ½ where there is no solution."""
    found = [theory.error_rates_from_agreements(row) for row in agreements]
    return np.array([np.full(agreements.shape[1], 0.5) if p is None else p for p in found])


def random_crowd(rng: np.random.Generator, n: int) -> Floats:
    """Error rates that are identifiable, with a worker or two at chance, perfect or hostile."""
    while True:
        p = rng.choice([rng.uniform(0, 1), 0.0, 0.5, *rng.uniform(0, 0.6, 6)], n)
        # √δ is at least √γ: below 1e-3 the inversion loses more than half of its digits.
        if theory.gamma(p) > 1e-6:
            return p


# Agreement rates and their inversion ----------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_agreement_rates_are_what_the_papers_estimate_is_on_average(alpha: float) -> None:
    crowd = Answers(np.array([0.0, 0.1, 0.5, 0.7, 0.3]), alpha)
    mean = crowd.likelihood @ crowd.agreeing()
    assert np.allclose(theory.agreement_rates(crowd.p), mean, rtol=0, atol=ROUNDING)


def test_the_inversion_recovers_error_rates_from_their_agreement_rates() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        p = random_crowd(rng, int(rng.integers(3, 60)))
        found = theory.error_rates_from_agreements(theory.agreement_rates(p))
        assert found is not None
        # 1e-16 in δ is 1e-16/√γ in √δ, times n/4: 1e-12 at the worst, amplified by n/4 in v.
        assert np.allclose(found, p, rtol=0, atol=1e-9)


def test_the_fixed_point_is_the_square_of_one_minus_twice_the_mean_error_rate() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        p = random_crowd(rng, int(rng.integers(3, 60)))
        fixed = theory.v(theory.agreement_rates(p))
        assert fixed == pytest.approx((1 - 2 * p.mean()) ** 2, abs=ROUNDING)


def test_gamma_is_the_distance_of_the_fixed_point_from_where_the_equation_begins() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        p = random_crowd(rng, int(rng.integers(3, 60)))
        rates = theory.agreement_rates(p)
        fixed = theory.v(rates)
        assert fixed is not None
        assert theory.gamma(p) == pytest.approx(fixed - theory.v_0(rates), abs=ROUNDING)


def test_assumption_1_is_enough_but_more_than_is_needed() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        p = rng.uniform(0, 1, int(rng.integers(3, 12))) ** rng.uniform(1, 4)
        assert theory.gamma(p) > 0 or not theory.assumption_1(p)
    crowd = np.full(10, 0.45)
    assert not theory.assumption_1(crowd)
    found = theory.error_rates_from_agreements(theory.agreement_rates(crowd))
    assert found is not None
    assert np.allclose(found, crowd, rtol=0, atol=ROUNDING)


def test_a_crowd_at_chance_has_the_solution_that_all_guess() -> None:
    found = theory.error_rates_from_agreements([0.5, 0.5, 0.5])
    assert found is not None
    assert found.tolist() == [0.5, 0.5, 0.5]


def test_no_error_rates_explain_a_crowd_that_disagrees_throughout() -> None:
    assert theory.v([0.3, 0.3, 0.3]) is None
    assert theory.error_rates_from_agreements([0.3, 0.3, 0.3]) is None


@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_the_inversion_is_the_estimators(alpha: float) -> None:
    crowd = Answers(np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5]), alpha)
    rng = np.random.default_rng(5)
    drawn = rng.choice(len(crowd.rows), size=400, p=crowd.likelihood)
    model = cs.AgreementBased(answer_rate=alpha, shrinkage=0, clip=0)
    for row in crowd.rows[drawn]:
        model.learn_one({i: None if x == 0 else int(x) for i, x in enumerate(row)})
    found = theory.error_rates_from_agreements(crowd.agreeing()[drawn].mean(axis=0))
    assert found is not None
    # √δ near 0 halves the digits of a bisection in double precision.
    assert np.allclose(np.clip(found, 0, 1), error_rates(model), rtol=0, atol=1e-7)


# λ ----------------------------------------------------------------------------------------------


def brute_lambda(weights: Floats) -> float:
    signs = np.array(list(itertools.product([-1, 0, 1], repeat=weights.size)))
    sums = np.abs(signs @ weights)
    return float(sums[sums > ROUNDING].min(initial=math.inf)) / weights.size


def test_lambda_is_that_of_enumeration() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        n = int(rng.integers(1, 8))
        weights = rng.choice([rng.normal(), 0.0, 1.0, -1.0, 2.0, *rng.normal(size=4)], n)
        low, high = theory.lambda_(weights)
        # The same few additions in another order.
        assert low == high == pytest.approx(brute_lambda(weights), rel=1e-9)


def test_lambda_takes_what_is_zero_but_for_rounding_for_a_tie() -> None:
    assert 0.1 + 0.2 - 0.3 != 0
    assert theory.lambda_([0.1, 0.2, 0.3]).low == pytest.approx(0.1 / 3, rel=1e-9)


def test_lambda_of_a_large_crowd_with_few_weights_is_exact() -> None:
    p = np.repeat([0.2, 0.8, 0.5], 1000)
    low, high = theory.lambda_(theory.optimal_weights(p))
    assert low == high == pytest.approx(math.log(4) / 3000, rel=1e-9)


def test_lambda_of_24_workers_is_exact_and_of_25_is_not() -> None:
    weights = np.random.default_rng(18).uniform(1, 2, 25)
    low, high = theory.lambda_(weights[:24])
    assert 0 < low == high
    assert theory.lambda_(weights).low == 0


def test_lambda_out_of_reach_is_bounded_from_above_only() -> None:
    weights = np.random.default_rng(7).uniform(1, 2, 60)
    low, high = theory.lambda_(weights)
    assert low == 0
    # Even the closest two of 60 weights are within 1/59 of one another.
    assert 0 < high < 1 / 59 / 60


def test_infinite_weights_are_no_part_of_lambda() -> None:
    assert theory.lambda_([math.inf, -math.inf, 2.0]) == (2 / 3, 2 / 3)
    assert theory.lambda_([math.inf, 0.0]) == (math.inf, math.inf)


# Lemmas 1 and 2, Theorem 1 ----------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 0.7])
@pytest.mark.parametrize("delta", [0.5, 0.1, 0.02])
def test_agreement_rates_are_off_no_more_often_than_lemma_1_says(
    alpha: float, delta: float
) -> None:
    n, tasks, times = 3, 60, 20_000
    epsilon = math.sqrt(math.log(2 * n / delta) / (2 * alpha**4 * tasks))
    assert theory.lemma_1(n, alpha, tasks, epsilon) == pytest.approx(delta, rel=1e-9)
    crowd = Answers(np.full(n, 0.5), alpha)
    off = np.abs(crowd.agreements(tasks, times) - theory.agreement_rates(crowd.p)).max(axis=1)
    assert (off >= epsilon).mean() <= delta
    # The check has teeth: at a quarter of the distance they are off more often than that.
    assert (off >= epsilon / 4).mean() > delta


def test_lemma_2_holds_in_the_worst_corners_where_propositions_4_and_5_fail_too() -> None:
    rng = np.random.default_rng(8)
    closest = 0.0
    for _ in range(200):
        p = random_crowd(rng, int(rng.integers(3, 10)))
        rates = theory.agreement_rates(p)
        epsilon = theory.gamma(p) / 80
        promised = 4 * epsilon / theory.gamma(p) ** 1.5
        assert theory.lemma_2(p, epsilon) == pytest.approx(min(1.0, promised), rel=1e-9)
        for signs in [
            np.where(np.arange(p.size) == p.argmin(), 1, -1),
            *rng.choice([-1, 1], (9, p.size)),
        ]:
            moved = theory.error_rates_from_agreements(np.maximum(rates + signs * epsilon, 0))
            assert moved is not None
            closest = max(closest, np.abs(moved - p).max() / promised)
    # Not a vacuous bound: some corner comes within a factor of twenty.
    assert 0.05 < closest <= 1


CROWDS = [
    (np.full(8, 0.1), 1.0),
    (np.array([0.02, 0.02, 0.05, 0.05, 0.1, 0.2, 0.5]), 0.8),
    (np.full(6, 0.0), 0.5),
]


@pytest.mark.parametrize(("p", "alpha"), CROWDS)
@pytest.mark.parametrize("delta", [0.5, 0.05])
def test_error_rates_are_off_no_more_often_than_theorem_1_says(
    p: Floats, alpha: float, delta: float
) -> None:
    epsilon = 0.05
    crowd = Answers(p, alpha)
    tasks = int(theory.tasks_needed(p, alpha, epsilon, delta))
    assert theory.theorem_1(p, alpha, tasks, epsilon) <= delta
    assert theory.theorem_1(p, alpha, tasks - 1, epsilon) > delta
    off = np.abs(estimates(crowd.agreements(tasks, 200)) - p).max(axis=1)
    assert (off >= epsilon).mean() <= delta


def test_the_check_of_theorem_1_fails_with_ten_thousand_times_fewer_tasks() -> None:
    p, alpha, epsilon, delta = np.full(8, 0.1), 1.0, 0.05, 0.5
    tasks = int(theory.tasks_needed(p, alpha, epsilon, delta)) // 10_000
    off = np.abs(estimates(Answers(p, alpha).agreements(tasks, 200)) - p).max(axis=1)
    assert (off >= epsilon).mean() > delta


def test_theorem_1_reaches_as_far_as_its_proof_and_does_not_grow_beyond() -> None:
    p = np.full(8, 0.2)
    limit = 1 / (20 * math.sqrt(theory.gamma(p)))
    assert limit > 1 / 20
    tasks = theory.tasks_needed(p, 1.0, limit, 0.1)
    assert tasks < theory.tasks_needed(p, 1.0, 1 / 20, 0.1)
    for epsilon in (limit, 10 * limit):
        assert theory.theorem_1(p, 1.0, tasks, epsilon) == pytest.approx(0.1, rel=1e-5)


def test_the_theorems_are_the_formulas_of_the_paper() -> None:
    p, alpha, tasks, sigma, beta = np.full(7, 0.1), 0.9, 2e9, 1e-12, 1e-8
    gamma, eta, smallest = ((7 * 0.8 - 1.6) / 7) ** 2, 0.09, math.log(9) / 7
    first = 14 * math.exp(-(gamma**3) * alpha**4 * tasks * 0.001**2 / 8)
    assert theory.theorem_1(p, alpha, tasks, 0.001) == pytest.approx(first, rel=1e-9)
    rate = gamma**3 * alpha**4 * (smallest * eta / 4) ** 2
    second = theory.theorem_2(p, alpha, 1e8)
    assert second.simple == pytest.approx(14 * math.exp(-rate * (1e8 - 1) / 8), rel=1e-9)
    assert second.cumulative == pytest.approx(16 * 7 / rate, rel=1e-9)
    epsilon = 0.0002
    third = 14 * math.exp(-2 * epsilon**2 * alpha**4 / beta)
    reached = 4 * gamma**-1.5 * (epsilon + 2 * sigma / beta)
    # The exponent is the square of a small difference: it keeps six digits or more.
    assert theory.theorem_3(p, alpha, sigma, beta, reached) == pytest.approx(third, rel=1e-6)
    assert first < 1
    assert third < 1


def test_accuracy_and_tasks_needed_undo_each_other() -> None:
    p, alpha, delta = np.full(12, 0.1), 0.9, 0.05
    for epsilon in [0.05, 0.01, 0.001]:
        tasks = theory.tasks_needed(p, alpha, epsilon, delta)
        # Rounding up a number of tasks above 1e5 changes the sixth digit.
        assert theory.accuracy(p, alpha, tasks, delta) == pytest.approx(epsilon, rel=1e-5)
    assert theory.accuracy(p, alpha, 1000, delta) == 1
    assert theory.accuracy(p, alpha, math.inf, delta) == 0


@pytest.mark.parametrize("alpha", [1.0, 0.8])
def test_the_confidence_region_holds_the_error_rates_as_often_as_it_says(alpha: float) -> None:
    p, delta = np.array([0.02, 0.05, 0.05, 0.1, 0.1, 0.2, 0.3]), 0.2
    crowd = Answers(p, alpha)
    tasks = int(theory.tasks_needed(p, alpha, 0.05, delta))
    inside = []
    for row in crowd.agreements(tasks, 100):
        low, high = theory.confidence_region(row, alpha, tasks, delta)
        assert (high - low < 0.2).all()  # an estimate's γ is near the true one: 0.1 and a little
        inside.append(bool(((low <= p) & (p <= high)).all()))
    assert np.mean(inside) >= 1 - delta
    for few in (theory.agreement_rates(p), np.full(7, 0.3)):
        low, high = theory.confidence_region(few, alpha, 100, delta)
        assert low.tolist() == [0] * 7
        assert high.tolist() == [1] * 7


def test_the_confidence_region_reads_an_agreement_rate_above_one_as_one() -> None:
    others = theory.agreement_rates(np.full(6, 0.05))
    found, wanted = (theory.confidence_region([*others, top], 0.5, 1e9, 0.1) for top in (1.1, 1.0))
    assert wanted.low.max() > 0
    assert found.low.tolist() == wanted.low.tolist()
    assert found.high.tolist() == wanted.high.tolist()


def test_corollary_1_is_theorem_1_up_to_a_constant() -> None:
    for p in (np.full(10, 0.1), np.full(10, 0.3)):
        for alpha, tasks in [(1.0, 10**7), (0.5, 10**9)]:
            order = theory.corollary_1(p, alpha, tasks)
            constant = math.sqrt(8 * math.log(20 / 0.1) / math.log(10))
            found = theory.accuracy(p, alpha, tasks, 0.1)
            assert found == pytest.approx(constant * order, rel=1e-9)


# Theorem 2 ------------------------------------------------------------------------------------


def simulated_regret(crowd: Answers, tasks: int, times: int) -> float:
    """Of the decision on the next task, after so many."""
    guess = np.full(crowd.n, 0.5)
    rates = estimates(crowd.agreements(tasks, times)) if tasks else np.tile(guess, (times, 1))
    errors = [
        # All at chance is a majority vote.
        crowd.vote_error(np.ones(crowd.n) if (row == 0.5).all() else theory.optimal_weights(row))
        for row in np.clip(rates, 1e-9, 1 - 1e-9)
    ]
    return float(np.mean(errors)) - crowd.bayes_error()


@pytest.mark.parametrize(
    ("p", "alpha"), [(np.full(5, 0.1), 1.0), (np.array([0.05, 0.1, 0.1, 0.2, 0.2]), 0.8)]
)
def test_the_regret_is_no_more_than_theorem_2_says(p: Floats, alpha: float) -> None:
    crowd = Answers(p, alpha)
    total = theory.theorem_2(p, alpha, math.inf).cumulative
    cumulative, at = 0.0, 0
    while at < 4 * total:
        after = max(at + 1, int(1.3 * at))
        regret = simulated_regret(crowd, at, 20)
        # 1e-12: rounding in the sums of 243 likelihoods.
        assert regret <= theory.theorem_2(p, alpha, at + 1).simple + ROUNDING
        cumulative += max(regret, 0.0) * (after - at)  # the regret falls, so not less than it is
        at = after
    # Both checks can fail: the bounds are below what a useless vote would do by now.
    assert theory.theorem_2(p, alpha, at).simple < 0.01
    assert 0 < cumulative <= total < at / 2


def test_theorem_2_decides_a_task_with_what_the_tasks_before_have_taught() -> None:
    p = np.full(5, 0.1)
    margin = theory.lambda_(theory.optimal_weights(p)).low * theory.eta(p) / 4
    assert theory.theorem_2(p, 1.0, 1).simple == 1
    for tasks in (20_000_000, 30_000_000):
        before = theory.theorem_1(p, 1.0, tasks - 1, margin)
        assert theory.theorem_2(p, 1.0, tasks).simple == pytest.approx(before, rel=1e-9)


def test_theorem_2_counts_lambda_up_to_two() -> None:
    p = np.full(3, 1e-4)
    assert theory.lambda_(theory.optimal_weights(p)).low > 2
    margin = 2 * theory.eta(p) / 4
    total = 16 * 3 / (theory.gamma(p) ** 3 * margin**2)
    assert theory.theorem_2(p, 1.0, math.inf).cumulative == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("p", [np.linspace(0.01, 0.3, 40), np.array([0.0, 0.1, 0.1, 0.1])])
def test_theorem_2_promises_nothing_if_lambda_is_out_of_reach_or_somebody_is_never_wrong(
    p: Floats,
) -> None:
    assert theory.theorem_2(p, 1.0, 1e9) == (1.0, 1e9)


# Theorem 3 ------------------------------------------------------------------------------------


def forgetful_agreements(p: Floats, beta: float, rng: np.random.Generator) -> Floats:
    """The paper's â^β(t) of one stream, all answering; p has one row per task."""
    tasks, n = p.shape
    answers = np.where(rng.random((tasks, n), np.float32) < p, -1.0, 1.0)
    weights = beta * (1 - beta) ** np.arange(tasks - 1, -1, -1)
    agreeing = (weights * answers.sum(axis=1)) @ answers + weights.sum() * (n - 2)
    return np.asarray(agreeing / (2 * (n - 1)))


def drifting(n: int, tasks: int, start: float, sigma: float) -> Floats:
    """Half of the workers improve, half get worse, as fast as sigma allows."""
    ways = np.where(np.arange(n) % 2, 1.0, -1.0)
    return np.clip(start + sigma * np.arange(tasks)[:, None] * ways, 0, 1)


def test_drifting_error_rates_are_off_no_more_often_than_theorem_3_says() -> None:
    n, sigma, beta, tasks, epsilon = 16, 1e-8, 2e-5, 400_000, 0.05
    p = drifting(n, tasks, 0.01, sigma)
    bound = theory.theorem_3(p[-1], 1.0, sigma, beta, epsilon, tasks)
    assert bound < 0.6  # so it can fail
    rng = np.random.default_rng(9)
    found = estimates(np.array([forgetful_agreements(p, beta, rng) for _ in range(10)]))
    off = np.abs(found - p[-1]).max(axis=1)
    assert (off >= epsilon).mean() <= bound


def test_drifting_agreement_rates_are_off_no_more_often_than_propositions_7_and_8_say() -> None:
    n, sigma, beta, tasks = 4, 0.002, 0.05, 200
    p = drifting(n, tasks, 0.45, sigma)
    rng = np.random.default_rng(10)
    found = np.array([forgetful_agreements(p, beta, rng) for _ in range(4000)])
    off = np.abs(found - theory.agreement_rates(p[-1])).max(axis=1)
    bias = theory.drift_bias(sigma, beta, tasks)
    assert np.abs(found.mean(axis=0) - theory.agreement_rates(p[-1])).max() <= bias
    for epsilon in (0.23, 0.26, 0.3):
        bound = theory.lemma_1(n, 1.0, 1 / beta, epsilon)
        assert bound < 1
        assert (off >= epsilon + bias).mean() <= bound


def test_theorem_3_as_printed_fails_early_because_the_average_starts_at_zero() -> None:
    n, beta, epsilon, tasks = 16, 1e-5, 0.05, 1000
    p = np.full((tasks, n), 0.01)
    found = estimates(forgetful_agreements(p, beta, np.random.default_rng(11))[None])
    assert np.abs(found - 0.01).max() > epsilon
    assert theory.theorem_3(p[0], 1.0, 0.0, beta, epsilon) < 0.01
    assert theory.theorem_3(p[0], 1.0, 0.0, beta, epsilon, tasks) == 1
    assert theory.theorem_3_holds(p[0], 0.0, beta)
    assert not theory.theorem_3_holds(p[0], 0.0, beta, tasks)


def test_without_drift_theorem_3_is_theorem_1_with_one_over_beta_tasks() -> None:
    p = np.full(12, 0.1)
    for beta in (1e-5, 3e-6):
        found = theory.theorem_3(p, 0.9, 0.0, beta, 0.04)
        assert found == pytest.approx(theory.theorem_1(p, 0.9, 1 / beta, 0.04), rel=1e-9)
        again = theory.drift_accuracy(p, 0.9, 0.0, beta, 0.1)
        assert again == pytest.approx(theory.accuracy(p, 0.9, 1 / beta, 0.1), rel=1e-9)


def test_drift_accuracy_is_theorem_3_the_other_way() -> None:
    p = np.full(20, 0.05)
    epsilon = theory.drift_accuracy(p, 1.0, 1e-8, 1e-5, 0.1)
    assert theory.theorem_3(p, 1.0, 1e-8, 1e-5, epsilon) == pytest.approx(0.1, rel=1e-9)
    assert theory.drift_accuracy(p, 1.0, 1e-4, 1e-2, 0.1) == 1


def test_the_best_beta_balances_the_two_terms_of_corollary_2() -> None:
    for n, alpha, sigma in [(10, 1.0, 1e-4), (1000, 0.5, 1e-6)]:
        p = np.full(n, 0.2)
        beta = theory.best_beta(alpha, sigma, n)
        balanced = theory.corollary_2(p, alpha, sigma, beta)
        assert balanced == pytest.approx(2 * theory.corollary_3(p, alpha, sigma), rel=1e-9)
        least = min(theory.corollary_2(p, alpha, sigma, b) for b in beta * np.logspace(-1, 1, 201))
        # √x + 1/x is least at x = ∛4, where it is 3/∛4: 2 is 6 % more.
        assert balanced <= 1.06 * least
        printed = beta * math.log(n) ** (1 / 3 - 3)
        assert theory.corollary_2(p, alpha, sigma, printed) > 2 * balanced


def test_the_best_beta_is_never_above_one_and_zero_without_drift() -> None:
    assert theory.best_beta(1.0, 1.0, 3) <= 1
    assert theory.best_beta(1.0, 0.0, 3) == 0


# Votes ----------------------------------------------------------------------------------------


def small_crowds() -> list[tuple[Floats, float]]:
    rng = np.random.default_rng(12)
    crowds = []
    for _ in range(40):
        n = int(rng.integers(1, 8))
        p = rng.choice([*rng.uniform(0, 1, 5), 0.5, 0.2, 0.8], n)
        crowds.append((p, float(rng.choice([1.0, rng.uniform(0.1, 1)]))))
    return crowds


@pytest.mark.parametrize(("p", "alpha"), small_crowds())
def test_the_error_of_a_vote_is_that_of_enumeration(p: Floats, alpha: float) -> None:
    crowd = Answers(p, alpha)
    rng = np.random.default_rng(13)
    weights = rng.choice([*rng.normal(size=4), 0.0, 1.0, -1.0, 2.0], p.size)
    for w in (weights, np.ones(p.size), theory.optimal_weights(p)):
        found = theory.vote_error(p, w, alpha)
        assert found.standard_error == 0
        assert found.value == pytest.approx(crowd.vote_error(w), abs=ROUNDING)
    majority = theory.majority_error(p, alpha)
    assert majority == pytest.approx(crowd.vote_error(np.ones(p.size)), abs=ROUNDING)


@pytest.mark.parametrize(("p", "alpha"), small_crowds())
def test_no_decision_errs_less_than_the_vote_with_known_error_rates(
    p: Floats, alpha: float
) -> None:
    found = theory.optimal_error(p, alpha).value
    assert found == pytest.approx(Answers(p, alpha).bayes_error(), abs=ROUNDING)


@pytest.mark.parametrize("alpha", [1.0, 0.4])
def test_workers_who_are_never_wrong_or_never_right_decide(alpha: float) -> None:
    for p in ([0.0, 0.3, 0.4], [1.0, 0.3, 0.4], [0.0, 1.0, 0.2, 0.5]):
        crowd = Answers(np.array(p), alpha)
        found = theory.optimal_error(p, alpha).value
        assert found == pytest.approx(crowd.bayes_error(), abs=ROUNDING)


def test_infinite_weights_that_cancel_leave_the_decision_to_the_others() -> None:
    crowd = Answers(np.array([0.2, 0.3, 0.1]), 0.7)
    found = theory.vote_error(crowd.p, [math.inf, math.inf, 1.0], 0.7).value
    assert found == pytest.approx(crowd.vote_error(np.array([9.0, 9.0, 1.0])), abs=ROUNDING)


def test_equal_workers_count_together_as_they_would_one_by_one() -> None:
    # Eleven always answer, so there is no tie, and weights that differ in the ninth digit, which
    # make every worker a group of its own, decide alike.
    p = np.where(np.arange(20) < 11, 0.3, 0.5)
    together = theory.optimal_weights(p)
    apart = together * (1 + 1e-9 * np.arange(20))
    found = [theory.vote_error(p, w) for w in (together, apart)]
    assert found[0].value == pytest.approx(found[1].value, rel=1e-9)
    assert found[0].standard_error == found[1].standard_error == 0


def test_weights_that_are_equal_but_for_rounding_are_one_group() -> None:
    p, weights = np.full(60, 0.4), 1 + np.arange(60) * 2.0**-52
    found = theory.vote_error(p, weights, 0.5)
    assert found.standard_error == 0
    assert found.value == pytest.approx(theory.majority_error(p, 0.5), rel=1e-9)


def test_a_large_crowd_of_equal_workers_errs_as_the_binomial_says() -> None:
    p = np.concatenate([np.full(401, 0.45), np.full(600, 0.5)])
    exact = sum(math.comb(401, k) * 0.45**k * 0.55 ** (401 - k) for k in range(201, 402))
    found = theory.optimal_error(p)
    # Four hundred multiplications of numbers near 1.
    assert found.value == pytest.approx(exact, rel=1e-9)
    assert found.standard_error == 0


@pytest.mark.parametrize("alpha", [1.0, 0.3])
@pytest.mark.parametrize(
    "p", [np.linspace(0.05, 0.5, 12), np.array([0.0, 1.0, 0.2, 0.3]), np.linspace(0.3, 0.7, 9)]
)
def test_sampling_agrees_with_the_exact_error(
    p: Floats, alpha: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(14)
    all_weights = (theory.optimal_weights(p), rng.normal(size=p.size), np.ones(p.size))
    exact = [theory.vote_error(p, w, alpha).value for w in all_weights]
    monkeypatch.setattr(theory.combinations, "ATOMS", 1)
    for weights, wanted in zip(all_weights, exact, strict=True):
        found = theory.vote_error(p, weights, alpha, samples=20_000)
        assert found == theory.vote_error(p, weights, alpha, samples=20_000)
        # Four standard errors: once in 16,000 by chance, and the seed is fixed. 1e-12: rounding.
        assert abs(found.value - wanted) <= 4 * found.standard_error + ROUNDING
        assert found.standard_error < 0.004  # half of 1/√20,000 at the most


def test_beyond_the_limit_the_error_comes_with_a_standard_error() -> None:
    p = np.random.default_rng(15).uniform(0.2, 0.45, 50)
    found = theory.optimal_error(p, 0.3, samples=10_000)
    assert 0 < found.standard_error < 0.005
    assert found.value < theory.majority_error(p, 0.3) + 4 * found.standard_error


# The Hoeffding bounds -------------------------------------------------------------------------


def test_the_hammer_spammer_crowd_has_the_bounds_of_the_paper() -> None:
    weights = theory.optimal_weights(HAMMERS)
    # Both to rounding: e^(−n/8) ≈ 0.08 and e^(−n/4) ≈ 0.007.
    assert theory.majority_error_bound(HAMMERS) == pytest.approx(math.exp(-2.5), rel=1e-12)
    assert theory.weighted_error_bound(HAMMERS, weights) == pytest.approx(math.exp(-5), rel=1e-12)
    assert theory.optimal_error(HAMMERS).value == 0
    against = theory.weighted_error_bound(1 - HAMMERS, -weights)
    assert against == pytest.approx(math.exp(-5), rel=1e-12)


@pytest.mark.parametrize(("p", "alpha"), small_crowds())
def test_no_vote_errs_more_often_than_its_bound(p: Floats, alpha: float) -> None:
    rng = np.random.default_rng(16)
    assert theory.majority_error(p, alpha) <= theory.majority_error_bound(p, alpha)
    for w in (theory.optimal_weights(p), rng.normal(size=p.size)):
        found = theory.vote_error(p, w, alpha).value
        assert found <= theory.weighted_error_bound(p, w, alpha) + ROUNDING


def test_the_bound_on_a_vote_against_the_crowd_is_one() -> None:
    p = np.full(9, 0.1)
    assert theory.weighted_error_bound(p, -np.ones(9)) == 1
    assert theory.vote_error(p, -np.ones(9)).value > 0.99


# Slips of the paper ---------------------------------------------------------------------------


def test_what_cannot_be_told_apart_is_p_and_one_minus_p() -> None:
    p = np.array([0.1, 0.2, 0.3, 0.4])
    rates = theory.agreement_rates(p)
    assert np.allclose(theory.agreement_rates(1 - p), rates, rtol=0, atol=ROUNDING)
    assert not np.allclose(theory.agreement_rates(1 - 2 * p), rates, rtol=0, atol=0.01)


def v_1(agreements: Floats) -> float:
    """The paper's v_1, of Propositions 4 and 5."""
    return float(2 * (2 * agreements - 1).mean())


def test_proposition_4_needs_twice_the_v_0_it_asks_for() -> None:
    rates = np.array([1.0, 0.75, 0.75])
    assert v_1(rates) >= theory.v_0(rates)
    assert theory.v(rates) is None
    rng = np.random.default_rng(17)
    for rates in rng.uniform(0.3, 1, (300, 5)):
        if v_1(rates) >= 2 * theory.v_0(rates):
            assert theory.v(rates) is not None


def test_proposition_5_is_not_true_of_every_crowd() -> None:
    p = np.array([0.0, 0.0, 0.4, *[0.5] * 7])
    assert theory.assumption_1(p)
    rates = theory.agreement_rates(p)
    fixed = theory.v(rates)
    assert fixed is not None
    assert v_1(rates) - theory.v_0(rates) < fixed


def test_lambda_is_a_mean_over_the_crowd() -> None:
    assert theory.lambda_(np.full(8, 2.0)) == (0.25, 0.25)


# Edges ----------------------------------------------------------------------------------------

OF_P: list[Callable[[Floats], object]] = [
    theory.agreement_rates,
    lambda p: theory.error_rates_from_agreements(theory.agreement_rates(p)),
    theory.gamma,
    theory.eta,
    lambda p: theory.lambda_(theory.optimal_weights(p)),
    lambda p: theory.lemma_2(p, 0.001),
    lambda p: theory.theorem_1(p, 0.5, 1000, 0.05),
    lambda p: theory.tasks_needed(p, 0.5, 0.05, 0.1),
    lambda p: theory.accuracy(p, 0.5, 1000, 0.1),
    lambda p: theory.confidence_region(theory.agreement_rates(p), 0.5, 10**9, 0.1).low,
    lambda p: theory.theorem_2(p, 0.5, 1000),
    lambda p: theory.theorem_3(p, 0.5, 1e-6, 0.01, 0.05),
    lambda p: theory.drift_accuracy(p, 0.5, 1e-6, 0.01, 0.05),
    lambda p: theory.corollary_1(p, 0.5, 1000),
    lambda p: theory.corollary_2(p, 0.5, 1e-6, 0.01),
    lambda p: theory.corollary_3(p, 0.5, 1e-6),
    theory.majority_error_bound,
    lambda p: theory.weighted_error_bound(p, theory.optimal_weights(p)),
    theory.majority_error,
    theory.optimal_error,
]


@pytest.mark.parametrize("function", OF_P)
@pytest.mark.parametrize("p", [[0, 0, 0], [1, 1, 1], [0.5] * 3, [0, 0.5, 1], [1e-300, 0.5, 0.5]])
def test_nothing_is_not_a_number_at_the_edges(
    function: Callable[[Floats], object], p: list[float]
) -> None:
    found = function(np.array(p, float))
    assert found is None or not np.isnan(np.asarray(found, float)).any()


def test_a_crowd_that_cannot_be_identified_is_promised_nothing() -> None:
    p = [0.1, 0.5, 0.5, 0.5]
    assert theory.gamma(p) == 0
    assert theory.theorem_1(p, 1.0, 1e12, 0.05) == 1
    assert theory.tasks_needed(p, 1.0, 0.05, 0.1) == math.inf
    assert theory.accuracy(p, 1.0, math.inf, 0.1) == 1
    assert theory.theorem_2(p, 1.0, 1e12) == (1.0, 1e12)
    assert theory.theorem_3(p, 1.0, 0.0, 0.01, 0.05) == 1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: theory.agreement_rates([0.1]), "p: expected a list of at least 2 numbers"),
        (lambda: theory.gamma([0.1, 0.2]), "p: expected a list of at least 3 numbers"),
        (lambda: theory.gamma([0.1, 0.2, 1.2]), "p: expected error rates from 0 to 1"),
        (lambda: theory.gamma([0.1, 0.2, math.nan]), "p: expected error rates from 0 to 1"),
        (lambda: theory.gamma("abc"), "p: expected a list of numbers"),
        (lambda: theory.v([0.1, 0.2, math.inf]), "agreements: expected rates from 0"),
        (lambda: theory.lambda_([math.nan]), "weights: expected numbers"),
        (lambda: theory.vote_error([0.1], [1.0, 2.0]), "weights: expected as many as error rates"),
        (lambda: theory.theorem_1([0.1] * 3, 0.0, 10, 0.05), "alpha: expected a number above 0"),
        (lambda: theory.theorem_1([0.1] * 3, 1.0, 10, 0.0), "epsilon: expected a number above 0"),
        (lambda: theory.accuracy([0.1] * 3, 1.0, 0, 0.05), "tasks: expected a number from 1"),
        (lambda: theory.tasks_needed([0.1] * 3, 1.0, 0.1, 2), "delta: expected a number above 0"),
        (lambda: theory.drift_bias(-1.0, 0.1), "sigma: expected a number from 0"),
        (lambda: theory.drift_bias(0.1, 0.0), "beta: expected a number above 0"),
        (lambda: theory.best_beta(1.0, 0.1, 2), "n: expected a whole number from 3"),
    ],
)
def test_what_is_not_a_crowd_is_refused_with_a_reason(
    call: Callable[[], object], told: str
) -> None:
    with pytest.raises(InputError) as refused:
        call()
    assert str(refused.value).startswith(told)
