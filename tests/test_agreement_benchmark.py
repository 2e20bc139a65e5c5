"""`benchmarks/agreement.py` measures what it says, on fewer crowds."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.benchmarks import load_benchmark


@pytest.fixture(scope="module")
def measured() -> ModuleType:
    return load_benchmark("agreement")


@pytest.mark.parametrize("number", [0, 5, 8, 11])
def test_intervals_hold_the_truth(measured: ModuleType, number: int) -> None:
    found = measured.coverage(measured.KINDS[number], 200, seed=1)
    # Of 200 crowds whose intervals hold 95 %, fewer than 183 do in one of 200 runs.
    assert min(found.values()) >= 0.915, found


def test_a_race_has_two_times(measured: ModuleType) -> None:
    ours, theirs = measured.race(50_000, 3)
    assert ours > 0
    assert theirs > 0
