"""What `benchmarks/inference.py` promises, measured on fewer and smaller runs."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.benchmarks import load_benchmark
from tests.real import needs_data


@pytest.fixture(scope="module")
def inference() -> ModuleType:
    return load_benchmark("inference")


# Left out are those that take long (the tests of the watch and of stopping measure the same) and
# `cost`, which is about time.
@pytest.mark.parametrize(
    "claim",
    ["dependent_intervals", "copying", "honest", "alarm", "cold_starts", "needed", "specialists"],
)
def test_the_claim_holds(inference: ModuleType, claim: str) -> None:
    lines = list(inference.CLAIMS[claim](True))
    assert lines
    broken = [f"{line.what}: {line.found}, asked {line.asked}" for line in lines if not line.ok]
    assert not broken


@needs_data
def test_intervals_with_gold_hold_on_real_sets(inference: ModuleType) -> None:
    lines = list(inference.CLAIMS["real_intervals"](True))
    assert lines
    assert all(line.ok for line in lines)


def test_without_data_nothing_is_said_of_real_sets(
    inference: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CROWDSTREAM_DATA", raising=False)
    assert inference.available(quick=True) == []
    assert list(inference.real_intervals(True)) == []


def test_every_claim_says_what_it_measures(inference: ModuleType) -> None:
    assert {"intervals", "alarm", "copying", "honest", "cold_starts", "cost"} <= set(
        inference.CLAIMS
    )
    for name, claim in inference.CLAIMS.items():
        assert claim.__name__ == name
        assert claim.__doc__


def test_a_line_about_coverage_allows_for_its_noise(inference: ModuleType) -> None:
    assert inference.covers("all", [True] * 20).ok
    assert inference.covers("one of twenty", [True] * 19 + [False]).ok
    assert not inference.covers("half", [True, False] * 50).ok
