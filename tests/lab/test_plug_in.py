"""K classes, even errors: what estimated error rates cost, against enumeration of all answers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream_lab import theory
from crowdstream_lab.theory.estimation import radius_of

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""A few hundred products and sums of numbers below 1 in double precision."""


def exact_error(p: Floats, weights: Floats, classes: int, alpha: float) -> float:
    """How often a vote errs, by enumeration; the truth is class 0, a tie is decided by a coin."""
    total = 0.0
    silent = [-1] if alpha < 1 else []
    for said in itertools.product([*range(classes), *silent], repeat=p.size):
        chance, scores = 1.0, np.zeros(classes)
        for i, label in enumerate(said):
            if label < 0:
                chance *= 1 - alpha
                continue
            chance *= alpha * (1 - p[i] if label == 0 else p[i] / (classes - 1))
            scores[label] += weights[i]
        first = scores >= scores.max() - 1e-9
        total += chance * (1 - first[0] / first.sum())
    return total


def lost(p: Floats, estimates: Floats, classes: int, alpha: float) -> float:
    """How much more often the plug-in vote errs than the best one."""
    found, best = (
        exact_error(p, theory.optimal_weights(x, classes), classes, alpha) for x in (estimates, p)
    )
    return found - best


def crowds(number: int, seed: int) -> list[tuple[Floats, Floats, int, float]]:
    """Error rates, estimates, classes and answer rates of all kinds, small enough to enumerate."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(number):
        classes = int(rng.integers(2, 5))
        n = int(rng.integers(1, 5 if classes < 4 else 4))
        p = rng.uniform(0.01, rng.choice([0.5, 0.99]), n)
        if rng.random() < 0.3:  # ties, which a slight difference decides
            p[:] = p[0]
        off = rng.choice([0.003, 0.03, 0.3]) * rng.standard_normal(n)
        estimates = np.clip(p + off, 0.001, 0.999)
        made.append((p, estimates, classes, float(rng.choice([1.0, 0.6]))))
    return made


def test_no_crowd_loses_more_than_the_bound() -> None:
    ratios = []
    for p, estimates, classes, alpha in crowds(400, seed=1):
        found = lost(p, estimates, classes, alpha)
        bound = theory.plug_in_excess_bound(p, estimates, classes=classes, alpha=alpha)
        assert -ROUNDING <= found <= bound + ROUNDING
        off = float(np.abs(estimates - p).max())
        worst = theory.worst_plug_in_excess(p, off, classes=classes, alpha=alpha)
        assert bound <= worst + ROUNDING
        ratios.append(found / bound)
    assert max(ratios) > 0.8, "some come close, so that a bound a fifth smaller would fail"


def test_either_part_of_the_bound_is_needed() -> None:
    guesser = theory.plug_in_excess_bound([0.499], [0.501])
    assert guesser == pytest.approx(2 * 0.002)
    # taken for slightly worse than a guesser: all that it knows is read backwards
    assert lost(np.array([0.499]), np.array([0.5 + 1e-9]), 2, 1.0) == pytest.approx(0.002, rel=1e-5)
    many = theory.worst_plug_in_excess([0.2] * 30, 0.01, classes=4)
    assert many < 1e-3 * 2 * 30 * 0.01, "exponentially small in the number of workers"


def test_the_bound_falls_linearly_with_the_distance_and_exponentially_with_workers() -> None:
    for classes in (2, 3, 10):
        by_distance = [
            theory.worst_plug_in_excess([0.3] * 9, off, classes=classes)
            for off in (1e-6, 1e-5, 1e-4)
        ]
        assert by_distance[1] / by_distance[0] == pytest.approx(10, rel=1e-3)
        assert by_distance[2] / by_distance[1] == pytest.approx(10, rel=1e-2)
        by_workers = [
            theory.worst_plug_in_excess([0.3] * n, 1e-3, classes=classes) for n in (10, 20, 40)
        ]
        rate = 2 * math.sqrt(0.21 / (classes - 1)) + (classes - 2) * 0.3 / (classes - 1)
        assert by_workers[1] / by_workers[0] == pytest.approx(math.sqrt(2) * rate**10, rel=1e-2)
        assert by_workers[2] / by_workers[1] == pytest.approx(math.sqrt(2) * rate**20, rel=1e-2)


def test_estimates_that_are_right_lose_nothing_and_certain_ones_are_bounded_too() -> None:
    assert theory.plug_in_excess_bound([0.0, 0.3], [0.0, 0.3], classes=3) == 0.0
    assert theory.plug_in_excess_bound([0.0, 0.3], [0.0, 0.4]) == 0.0, "who is right decides alone"
    assert theory.plug_in_excess_bound([0.02, 0.3], [0.0, 0.3]) == pytest.approx(0.04)
    assert theory.worst_plug_in_excess([0.02, 0.3], 0.03) == pytest.approx(0.12)
    assert theory.worst_plug_in_excess([0.2, 0.3], 1.0) == 1.0
    # very many workers: neither product nor power leaves the range of numbers
    assert theory.worst_plug_in_excess([0.45] * 100_000, 0.4, classes=3) <= 1.0


def test_crowds_of_k_classes_agree_as_their_twins_of_two_do() -> None:
    for classes in (2, 3, 5):
        p = np.array([0.1, 0.3, 0.25, 0.5])
        twins = theory.as_two_classes(p, classes)
        agree = np.multiply.outer(1 - p, 1 - p) + np.multiply.outer(p, p) / (classes - 1)
        score = (1 + (classes * agree - 1) / (classes - 1)) / 2
        np.fill_diagonal(score, 0.0)
        rates = score.sum(axis=1) / (p.size - 1)
        assert rates == pytest.approx(theory.agreement_rates(twins), abs=ROUNDING)
        found = theory.error_rates_from_agreements(rates)
        assert found is not None
        assert found * 2 * (classes - 1) / classes == pytest.approx(p, abs=1e-9)  # by bisection


def simulated(p: Floats, classes: int, tasks: int, seed: int) -> tuple[NDArray[np.int64], Floats]:
    """Labels of workers who err evenly, and how often each agrees with the others, in score."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, (tasks, 1))
    wrong = rng.random((tasks, p.size)) < p
    said = (truth + wrong * rng.integers(1, classes, wrong.shape)) % classes
    counts = np.stack([(said == c).sum(axis=1) for c in range(classes)], axis=1)
    agreed = (np.take_along_axis(counts, said, axis=1) - 1).sum(axis=0) / (p.size - 1) / tasks
    return said, (1 + (classes * agreed - 1) / (classes - 1)) / 2


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_estimator_is_the_one_that_the_theorems_are_about(classes: int) -> None:
    p = np.array([0.1, 0.2, 0.3, 0.25, 0.15, 0.4])
    said, agreements = simulated(p, classes, 400, seed=classes)
    tasks, workers = np.indices(said.shape)
    columns = {"task": tasks.ravel(), "worker": workers.ravel(), "label": said.ravel()}
    crowd = cs.AgreementBased(answer_rate=1.0, shrinkage=0, clip=0).fit(pl.DataFrame(columns))
    found = theory.error_rates_from_agreements(agreements)
    assert found is not None
    told = crowd.workers().sort("worker")["error_rate"].to_numpy()
    # both by bisection
    assert told == pytest.approx(found * 2 * (classes - 1) / classes, abs=1e-6)


@pytest.mark.parametrize("classes", [3, 5])
def test_estimates_of_k_classes_are_as_near_as_theorem_1_says(classes: int) -> None:
    """In terms of its two lemmas; that many tasks can be counted, not drawn, is their point."""
    p = np.array([0.05, 0.1, 0.08, 0.12, 0.06, 0.1])
    twins = theory.as_two_classes(p, classes)
    gamma, scale = theory.gamma(twins), 2 * (classes - 1) / classes
    rng = np.random.default_rng(classes)
    for _ in range(50):
        off = gamma / 80 * rng.uniform(-1, 1, p.size)
        found = theory.error_rates_from_agreements(theory.agreement_rates(twins) + off)
        assert found is not None
        radius = radius_of(gamma, float(np.abs(off).max()))
        assert float(np.abs(found - twins).max()) <= radius
        assert float(np.abs(found * scale - p).max()) <= radius * scale
    # Lemma 1: scores are within [0, 1], so that Hoeffding's inequality holds as for two classes
    tasks, epsilon, misses = 300, 0.09, 0
    for seed in range(300):
        _, agreements = simulated(p, classes, tasks, seed)
        misses += bool(np.abs(agreements - theory.agreement_rates(twins)).max() >= epsilon)
    assert misses / 300 <= theory.lemma_1(p.size, 1.0, tasks, epsilon) < 0.1
    assert theory.theorem_1(p, 1.0, 1e9, 0.01, classes=classes) == pytest.approx(
        theory.theorem_1(twins, 1.0, 1e9, 0.01 / scale)
    )


def test_theorem_2_loses_nothing_where_estimates_are_as_near_as_it_asks() -> None:
    """c of the theorem: no vote that is not a tie is decided otherwise, so nothing is lost."""
    rng = np.random.default_rng(3)
    for classes in (2, 3, 4):
        for _ in range(12):
            n = 3 if classes == 4 else 4
            p = rng.uniform(0.05, 0.6, n)
            closest = min(theory.lambda_(theory.optimal_weights(p, classes)).low, 2.0)
            near = closest * theory.eta(p) / 4
            signs = rng.choice([-1, 1], n)
            assert lost(p, p + 0.999 * near * signs, classes, 1.0) == pytest.approx(0, abs=ROUNDING)
    # and beyond it something is, or the distance would say nothing
    p = np.array([0.2, 0.2, 0.1])
    assert lost(p, np.array([0.2, 0.2, 0.02]), 3, 1.0) > 1e-3


def test_theorem_2_of_k_classes() -> None:
    p = [0.1, 0.2, 0.15, 0.12, 0.1]
    for classes in (2, 3, 6):
        first = theory.theorem_2(p, 0.8, 10**8, classes=classes)
        later = theory.theorem_2(p, 0.8, 10**12, classes=classes)
        assert later.simple <= first.simple <= 1
        assert first.cumulative <= later.cumulative
    assert theory.theorem_2(p, 0.8, 10**12) == theory.theorem_2(p, 0.8, 10**12, classes=2)
    weights = theory.optimal_weights(p, 3)
    off = theory.lambda_(weights).low * theory.eta(p) / 4 * 3 / 4
    gamma = theory.gamma(theory.as_two_classes(p, 3))
    said = 16 * 5 / (gamma**3 * off**2)
    assert theory.theorem_2(p, 1.0, math.inf, classes=3).cumulative == pytest.approx(said, rel=1e-9)


def test_the_regret_without_lambda_falls_with_tasks_and_workers() -> None:
    p = [0.1, 0.15, 0.2, 0.25]
    by_tasks = [theory.regret_bound(p * 5, 1.0, t, classes=3) for t in (1, 1e5, 1e7, 1e9, 1e11)]
    assert by_tasks[0] == 1.0
    assert by_tasks == sorted(by_tasks, reverse=True)
    # as √(log t / t): a hundred times the tasks, a tenth of the regret, the logarithm aside
    assert 7 < by_tasks[3] / by_tasks[4] < 10
    by_workers = [theory.regret_bound(p * m, 1.0, 1e10, classes=3) for m in (2, 4, 8)]
    assert by_workers == sorted(by_workers, reverse=True)
    assert theory.theorem_2(p * 10, 1.0, 1e11, classes=3).simple == 1.0, "λ is next to nothing"
    assert theory.regret_bound(p * 10, 1.0, 1e11, classes=3) < 1e-6


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: theory.plug_in_excess_bound([0.1, 0.2], [0.1]), "estimates"),
        (lambda: theory.plug_in_excess_bound([0.1], [1.2]), "p"),
        (lambda: theory.plug_in_excess_bound([0.1], [0.2], classes=1), "classes"),
        (lambda: theory.plug_in_excess_bound([0.1], [0.2], alpha=0.0), "alpha"),
        (lambda: theory.worst_plug_in_excess([0.1], -0.1), "epsilon"),
        (lambda: theory.regret_bound([0.1, 0.1], 1.0, 10), "p"),
        (lambda: theory.regret_bound([0.1] * 3, 1.0, 0), "tasks"),
        (lambda: theory.theorem_2([0.1] * 3, 1.0, 10, classes=1), "classes"),
        (lambda: theory.optimal_weights([0.1], 0), "classes"),
    ],
)
def test_nonsense_is_refused(call: object, named: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=named):
        call()
