"""How often each sentence is said of crowds of which it is not so: `benchmarks/statements.py`.

On 200 crowds at most 5 % may be; the crowds here are small, so that it takes seconds. That a
sentence is said where it is so is asked for with crowds large enough to show it.
"""

from __future__ import annotations

from types import ModuleType

import pytest

import crowdstream as cs
from crowdstream.simulation import simulate, simulate_dependent
from crowdstream.statements.dependence import describe_dependence
from tests.benchmarks import load_benchmark

CROWDS, LABELS = 200, 1_200

SEEN = {
    "dependence": 0.0,  # of so few labels: the tests below have more
    "identifying": 0.95,
    "advising": 0.0,
    "alarming": 0.9,
    "copying": 0.6,
    "expecting": 0.0,
    "calibrating": 0.6,
    "worth": 0.0,
    "changing_between_runs": 0.8,  # 15 points more errors on 300 tasks
    "judging": 0.9,
    "rating": 0.9,
}
"""Least share of crowds of which each must be said where it is so; 0 where none was made so."""


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("statements")


@pytest.mark.parametrize("name", SEEN)
def test_a_sentence_is_seldom_said_where_it_is_not_so(benchmark: ModuleType, name: str) -> None:
    for told in benchmark.MEASURES[name](CROWDS, LABELS):
        assert len(told.false) >= CROWDS or name == "worth", "or 5 % means little"
        assert told.false_share <= benchmark.ALLOWED, told.row()
        if told.true:
            assert sum(told.true) / len(told.true) >= SEEN[name], told.row()


def test_every_measure_is_tested(benchmark: ModuleType) -> None:
    assert set(SEEN) == set(benchmark.MEASURES)


@pytest.mark.parametrize("seed", range(5))
def test_large_independent_crowds_look_independent(seed: int) -> None:
    apart = cs.Adaptive().fit(simulate(20, 6000, p=0.25, per_task=10, seed=seed).labels())
    assert apart.dependence_.verdict == "independent"
    assert apart.calibration_ == "independence"


def test_large_crowds_with_hard_tasks_err_together() -> None:
    """Of some crowds, such as the fifth, so little correlation shows that it cannot be told."""
    said = []
    for seed in range(6):
        made = simulate_dependent("difficulty", 20, 3000, per_task=10, classes=3, seed=seed)
        said.append(cs.Adaptive().fit(made.labels()).dependence_)
    verdicts = [found.verdict for found in said]
    assert "independent" not in verdicts
    assert verdicts.count("together") >= 5
    assert describe_dependence(said[0]).startswith("these workers make mistakes together")
