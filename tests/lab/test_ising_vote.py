"""The Ising vote: its model against sums over all answers, its slope, and coupled judges."""

from __future__ import annotations

import itertools
from typing import TypeAlias

import numpy as np
import polars as pl
import pytest

from crowdstream.metrics import error_rate
from crowdstream_lab.baselines import DawidSkene, IsingVote
from crowdstream_lab.baselines.common import code
from crowdstream_lab.baselines.ising_vote import Couplings, surprise
from tests.lab.test_new_rivals_formulas import tiny

Chances: TypeAlias = dict[tuple[int, ...], float]


def potts(a: np.ndarray, j: np.ndarray, classes: int, truth: int | None) -> Chances:
    """The chance of every set of answers, given the truth or summed over it."""
    n, found = len(a), {}
    for x in itertools.product(range(classes), repeat=n):
        pairs = sum(j[u, v] for u in range(n) for v in range(u) if x[u] == x[v])
        truths = range(classes) if truth is None else [truth]
        found[x] = sum(np.exp(sum(a[np.array(x) == c]) + pairs) for c in truths)
    total = sum(found.values())
    return {x: value / total for x, value in found.items()}


@pytest.mark.parametrize("classes", [2, 3])
def test_the_posterior_in_potts_model_is_a_linear_vote(classes: int) -> None:
    rng = np.random.default_rng(classes)
    a, j = rng.random(4), rng.normal(0, 0.5, (4, 4))
    given = [potts(a, j, classes, truth) for truth in range(classes)]
    for x in given[0]:
        exact = np.array([chance[x] for chance in given])
        votes = np.array([np.exp(a[np.array(x) == c].sum()) for c in range(classes)])
        assert exact / exact.sum() == pytest.approx(votes / votes.sum(), abs=1e-12)  # rounding


@pytest.mark.parametrize("classes", [2, 3])
def test_what_one_says_given_the_others_is_as_in_the_whole_model(classes: int) -> None:
    rng = np.random.default_rng(classes)
    rows = [("t", who, int(x)) for who, x in enumerate([0, 1, classes - 1, 0, 1])]
    coded = code(rows)
    couplings = Couplings(coded)
    a, j = rng.random(5), rng.normal(0, 0.5, couplings.pairs.size)
    square = np.zeros((5, 5))
    square[couplings.pairs // 5, couplings.pairs % 5] = j
    chances = potts(a, square + square.T, classes, None)
    said, expected = tuple(coded.label.tolist()), 0.0
    for who in range(5):
        others = [(*said[:who], c, *said[who + 1 :]) for c in range(classes)]
        expected -= np.log(chances[said] / sum(chances[x] for x in others))
    found = surprise(coded, a, couplings.fields(j))[0]
    assert found == pytest.approx(expected, abs=1e-9)  # rounding


@pytest.mark.parametrize("classes", [2, 3])
def test_the_ising_votes_slope_is_that_of_its_objective(classes: int) -> None:
    from scipy.optimize import approx_fprime

    coded = code(tiny(classes))
    couplings, crowd = Couplings(coded), IsingVote()
    rng = np.random.default_rng(0)
    at = np.concatenate([rng.random(len(coded.workers)), rng.normal(0, 0.5, couplings.pairs.size)])
    slope = crowd._misfit(coded, couplings, at)[1]
    by_steps = approx_fprime(at, lambda x: crowd._misfit(coded, couplings, x)[0], 1e-6)
    # Forward differences of 1e-6 are wrong by about as much as the second derivative, some tens.
    assert slope == pytest.approx(by_steps, abs=1e-4)


def test_coupled_judges_weigh_less_than_by_themselves() -> None:
    """Nine judges who tell alike of the truth, of whom four agree with each other in any case."""
    a, j = np.full(9, 0.8), np.zeros((9, 9))
    j[:4, :4] = 0.6
    chances = potts(a, j, 2, 1)
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=5000)
    draws = rng.choice(len(chances), 5000, p=list(chances.values()))
    x = np.array(list(chances))[draws]
    x = np.where(truth[:, None] == 1, x, 1 - x)
    rows = [(t, who, int(x[t, who])) for t in range(5000) for who in range(9)]
    gold = pl.DataFrame({"task": range(5000), "label": truth})
    crowd, independent = IsingVote(), DawidSkene()
    error = error_rate(crowd.fit_predict(rows), gold)
    # Equal weights are best, as all are 0.8. Who takes the four for independent gives them two to
    # three times the others' weight, and errs more by over two standard errors, 2·√(0.06/5000).
    assert error < error_rate(independent.fit_predict(rows), gold) - 0.007
    assert crowd.weights_[:4].mean() < 1.5 * crowd.weights_[4:].mean()
    pairs, found = crowd.couplings_
    inside = pairs.max(axis=1) < 4
    assert found[inside].min() > 0.25
    assert found[inside].mean() > found[~inside].mean() + 0.4
