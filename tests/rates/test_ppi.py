"""PPI++ as `ppi-python` has it, and limits that hold for few gold tasks."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import NormalDist
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from crowdstream.rates.limits import mean_limits
from crowdstream.rates.needed import expected_width, gold_for_width
from crowdstream.rates.ppi import Sample, corrected_mean, gold_alone, power_of, ppi_mean, spread_of
from tests.benchmarks import load_benchmark
from tests.real import needs_data

CASES = json.loads((Path(__file__).parents[1] / "fixtures" / "ppi.json").read_text())
Z = NormalDist().inv_cdf(0.975)


def sample_of(case: dict[str, Any]) -> Sample:
    truth, predicted, rest = (np.array(case[name]) for name in ("truth", "predicted", "rest"))
    return Sample(truth, predicted, rest)


@pytest.mark.parametrize("case", CASES)
def test_a_mean_is_that_of_ppi_python(case: dict[str, Any]) -> None:
    found = ppi_mean(sample_of(case), Z)
    # The same sums in another order: only the last digits may differ.
    assert found[:3] == pytest.approx((case["value"], case["low"], case["high"]), abs=1e-10)
    assert ppi_mean(sample_of(case), Z, 1.0)[1:3] == pytest.approx(case["untuned"], abs=1e-10)


@pytest.mark.parametrize("case", CASES[::2])
def test_the_careful_limits_are_around_the_same_mean(case: dict[str, Any]) -> None:
    found = corrected_mean(sample_of(case), Z)
    assert found.value == pytest.approx(case["value"], abs=1e-10)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0


@pytest.mark.parametrize("case", CASES[:1])
def test_predictions_may_be_on_any_scale(case: dict[str, Any]) -> None:
    plain = sample_of(case)
    shrunk = plain._replace(predicted=0.4 + 0.1 * plain.predicted, rest=0.4 + 0.1 * plain.rest)
    one, other = corrected_mean(plain, Z), corrected_mean(shrunk, Z)
    assert one[:3] == pytest.approx(other[:3], abs=1e-9)
    assert other.power == pytest.approx(10 * one.power)


def test_limits_of_zeros_and_ones_are_those_of_the_beta_distribution() -> None:
    from scipy.stats import beta

    for hits, n in ((0, 30), (1, 30), (12, 40), (200, 200), (3, 200)):
        values = np.repeat([1.0, 0.0], [hits, n - hits])
        low, high = mean_limits(values, np.ones(n), (0.0, 1.0), Z)
        # The saddlepoint approximation is off by less than a thousandth.
        assert low == pytest.approx(beta.ppf(0.025, hits + 0.5, n - hits + 1.0), abs=1e-3)
        assert high == pytest.approx(beta.ppf(0.975, hits + 1.0, n - hits + 0.5), abs=1e-3)


def test_gold_that_is_all_alike_has_an_interval() -> None:
    for n in (1, 2, 5, 30):
        found = corrected_mean(Sample(np.ones(n), np.ones(n), np.ones(100)), Z)
        assert found.high == 1.0
        assert 0.0 < found.low < 1.0 - 1.0 / (n + 2)


def test_predictions_that_tell_nothing_leave_gold_alone() -> None:
    truth = np.repeat([1.0, 0.0], 20)
    same = Sample(truth, np.full(40, 0.7), np.full(300, 0.7))
    assert power_of(same) == 0.0
    assert corrected_mean(same, Z).value == gold_alone(same, Z).value == 0.5
    inverted = Sample(truth, 1.0 - truth, np.repeat([1.0, 0.0], 150))
    assert power_of(inverted) == 0.0


def test_every_task_gold_is_gold_alone() -> None:
    truth = np.repeat([1.0, 0.0], 20)
    found = corrected_mean(Sample(truth, truth, np.zeros(0)), Z)
    assert (found.value, found.power) == (0.5, 0.0)


def test_gold_that_is_no_random_sample_widens_the_limits() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(60) < 0.9).astype(float)
    rest = (rng.random(1000) < 0.4).astype(float)
    sample = Sample(truth, truth, rest)
    found, alone = corrected_mean(sample, Z), gold_alone(sample, Z)
    assert found.low <= min(alone.low, found.value)
    assert found.high >= alone.high


def test_as_many_gold_labels_as_asked_for_give_the_width() -> None:
    """Within a tenth: the spread is measured on 60 gold tasks."""
    rng = np.random.default_rng(1)

    def drawn(n: int) -> Sample:
        truth = (rng.random(n + 5000) < 0.6).astype(float)
        said = np.where(rng.random(truth.size) < 0.9, truth, 1 - truth)
        return Sample(truth[:n], said[:n], said[n:])

    asked = []
    for _ in range(20):
        sample = drawn(60)
        asked.append(gold_for_width(0.08, spread_of(sample, power_of(sample))))
    needed = int(np.mean([number for number in asked if number is not None]))
    found = [corrected_mean(drawn(needed), Z) for _ in range(30)]
    assert np.median([each.high - each.low for each in found]) == pytest.approx(0.08, rel=0.1)


def test_no_gold_makes_up_for_too_few_tasks() -> None:
    sample = Sample(np.repeat([1.0, 0.0], 30), np.repeat([1.0, 0.0], 30), np.repeat([1.0, 0.0], 50))
    spread = spread_of(sample, power_of(sample))
    assert gold_for_width(0.02, spread) is None
    assert expected_width(spread, 10**6) > 0.02


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("rates")


def test_intervals_hold_a_jointly_wrong_panel_and_every_other(benchmark: ModuleType) -> None:
    """Over all kinds of judges and shares; each row is checked by the benchmark with more draws."""
    rows = list(benchmark.process(40, (30, 200)))
    assert len(rows) == 56
    assert sum(row.held for row in rows) / sum(row.draws for row in rows) >= 0.95
    assert min(row.coverage for row in rows) >= 0.85  # of 40 draws: 0.93 less twice 0.04
    assert np.mean([row.ratio for row in rows]) < 1.0
    good = [row.ratio for row in rows if row.name == "good, share 0.5"]
    assert max(good) <= benchmark.GOOD


def test_intervals_of_differences_hold(benchmark: ModuleType) -> None:
    rows = list(benchmark.paired(40, (30,)))
    assert sum(row.held for row in rows) / sum(row.draws for row in rows) >= 0.93
    assert np.mean([row.ratio for row in rows]) < 1.0


@needs_data
@pytest.mark.parametrize("name", ["duchenne", "rte", "temp", "weather"])
def test_intervals_hold_on_real_crowds(benchmark: ModuleType, name: str) -> None:
    rows = list(benchmark.real(60, (30, 50), [name]))
    assert len(rows) == 2
    assert all(row.coverage >= 0.9 for row in rows)  # of 60 draws: 0.93 less a standard error
