"""`benchmarks/estimators.py` measures what it says, on fewer and smaller runs."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from crowdstream.metrics import error_rate
from tests.benchmarks import load_benchmark
from tests.real import needs_data

SIMULATED = (
    "regret", "theorem", "simulated", "uneven_classes", "change", "cold", "centred", "copies",
)  # fmt: skip
REAL = ("real", "gold", "panels", "names", "merge")
FIGURE = re.compile(r"[+-]?\d+\.\d+")


@pytest.fixture(scope="module")
def estimators() -> ModuleType:
    return load_benchmark("estimators")


def figures(printed: str) -> list[float]:
    """Of the rows of a table: the numbers with a point in them."""
    rows = [line for line in printed.splitlines() if line.startswith("│")]
    assert rows
    assert "nan" not in printed
    return [float(found) for row in rows for found in FIGURE.findall(row.split("│", 2)[2])]


@pytest.mark.parametrize("name", SIMULATED)
def test_a_table_of_simulated_crowds_has_figures(
    estimators: ModuleType, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    estimators.main(["--quick", name])
    assert len(figures(capsys.readouterr().out)) >= 12


@needs_data
@pytest.mark.parametrize("name", REAL)
def test_a_table_of_real_sets_has_figures(
    estimators: ModuleType, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    estimators.main(["--quick", name])
    found = figures(capsys.readouterr().out)
    # Of the two small sets one is dense; what names change is a power of ten.
    assert len(found) >= {"panels": 5, "names": 2}.get(name, 10)
    assert name == "names" or all(-1 <= x <= 1 for x in found)


def test_without_data_it_says_so(
    estimators: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimators.datasets, "available", list)
    estimators.main(list(REAL))
    assert capsys.readouterr().out.count("set CROWDSTREAM_DATA") == len(REAL)


def test_every_table_says_what_it_is_and_an_unknown_one_is_refused(estimators: ModuleType) -> None:
    assert {*SIMULATED, *REAL} == set(estimators.TABLES)
    assert all(table.__doc__ for table in estimators.TABLES.values())
    with pytest.raises(SystemExit):
        estimators.main(["reel"])


def test_there_are_forty_cold_starts_of_every_kind(estimators: ModuleType) -> None:
    recipes = list(estimators.cold_starts())
    assert len(recipes) == len({recipe.name for recipe in recipes}) == 40
    assert set(estimators.COLD) == set(estimators.KINDS)
    assert {len(recipe.prior) for recipe in recipes} == {2, 3, 5}
    for recipe in recipes:
        rows = recipe.draw(np.random.default_rng(0), min(recipe.n, 20)).sum(axis=2)
        assert np.allclose(rows, 1)


def test_who_knows_the_confusions_does_best(estimators: ModuleType) -> None:
    for recipe in estimators.REGRETS:
        crowd = estimators.replace(recipe, tasks=4_000).make(7)
        best = error_rate(crowd.known, crowd.gold)
        # Of 4,000 tasks majority gets over a hundred more wrong.
        assert best < estimators.majority_error(crowd) - 0.01
        assert crowd.labels.height == 40_000
        assert crowd.labels.equals(estimators.replace(recipe, tasks=4_000).make(7).labels)


def test_parts_have_all_tasks_once(estimators: ModuleType) -> None:
    labels = pl.DataFrame({"task": list("abcabcdef"), "worker": range(9), "label": ["x"] * 9})
    parts = estimators.cut(labels, 4)
    assert len(parts) == 4
    assert sum(part.height for part in parts) == 9
    assert sum(part["task"].n_unique() for part in parts) == 6


def test_what_is_worse_is_flagged_and_noise_is_not(estimators: ModuleType) -> None:
    assert estimators._worse([0.010, 0.012, 0.011])
    assert not estimators._worse([0.010, -0.012, 0.011])
    assert not estimators._worse([0.0005, 0.0005, 0.0005])
    assert not estimators._worse([-0.01, -0.01, -0.01])
