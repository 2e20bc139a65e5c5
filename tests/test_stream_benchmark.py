"""`benchmarks/stream.py` measures what it says, on fewer and smaller runs."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from types import ModuleType
from unittest import mock

import pytest

import crowdstream as cs
from tests.benchmarks import load_benchmark

FIGURE = re.compile(r"[+-]?\d+\.\d+")


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    with mock.patch.dict(os.environ):  # it limits threads, for its process alone
        module = load_benchmark("stream")
    for name, value in {
        "BATCH": 60,
        "SINGLES": 30,
        "YOUNG": 600,
        "OLD": 2_000,
        "IN_STREAM": 120,
    }.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "LEARNT", (200, 400))
    return module


def figures(printed: str) -> list[float]:
    """The numbers with a point in the rows of the tables."""
    assert "nan" not in printed
    rows = [line for line in printed.splitlines() if line.startswith("│")]
    return [float(found) for row in rows for found in FIGURE.findall(row)]


def test_every_estimator_is_measured(stream: ModuleType) -> None:
    kinds = {
        kind
        for kind in cs.Estimator._kinds.values()
        if getattr(cs, kind.__name__, None) is kind and kind is not cs.DictEstimator
    }
    assert set(stream.KINDS.values()) == kinds
    assert stream.FIRST == "Adaptive"


@pytest.mark.parametrize(
    ("name", "least"), [("labels", 64), ("monitored", 30), ("agreement", 12), ("growth", 24)]
)
def test_the_tables_have_figures(
    stream: ModuleType, capsys: pytest.CaptureFixture[str], name: str, least: int
) -> None:
    stream.main(["--quick", name])
    assert len(figures(capsys.readouterr().out)) >= least


def test_memory_is_told_of_open_tasks(
    stream: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    stream.main(["--quick", "memory"])
    assert "10,000 open tasks" in capsys.readouterr().out


def test_an_unknown_table_is_refused(stream: ModuleType) -> None:
    assert all(table.__doc__ for table in stream.TABLES.values())
    with pytest.raises(SystemExit):
        stream.main(["lables"])


def test_a_task_has_labels_of_five_workers_and_tasks_overlap(stream: ModuleType) -> None:
    rows = stream.simulate(100, 3_000)
    workers = defaultdict(set)
    for task, worker, _ in rows:
        workers[task].add(worker)
    assert len(rows) == len(set(rows)) == 3_000
    assert max(map(len, workers.values())) == stream.LABELS
    assert rows[0][0] in {row[0] for row in rows[20:]}, "its labels do not come together"
    others = {row[0] for row in stream.simulate(100, 3_000, first=5_000_000)}
    assert not others & set(workers)


def test_rounds_alternate_and_mean_and_least_are_of_all(stream: ModuleType) -> None:
    order: list[str] = []
    clock = stream.Clock()
    for _ in range(3):
        clock.round({name: lambda name=name: order.append(name) for name in "abc"}, 10)
    assert "".join(order) == "abcbcacab"
    clock.taken["a"] = [1.0, 2.0, 6.0]
    assert clock.costs["a"] == (3.0, 1.0)


def test_ratios_are_to_adaptive_of_the_same_run(stream: ModuleType) -> None:
    costs = {"Adaptive": stream.Cost(4.0, 2.0), "MajorityVote": stream.Cost(6.0, 5.0)}
    assert list(stream.cells(costs)) == ["4.00 (2.00)", "6.00 (5.00)\n×1.50 (×2.50)"]


def test_the_chart_has_a_panel_for_workers_and_one_for_labels(stream: ModuleType) -> None:
    pytest.importorskip("altair")
    points = [
        {"against": against, "of": of, "estimator": name, "cost": 2.0}
        for against in ("workers", "labels")
        for of in (10, 100)
        for name in stream.KINDS
    ]
    drawn = stream.draw(stream.pl.DataFrame(points)).to_dict()
    assert len(drawn["hconcat"]) == 2
    assert all(len(data) == 2 * len(stream.KINDS) for data in drawn["datasets"].values())
