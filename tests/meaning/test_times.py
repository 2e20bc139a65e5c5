"""Rows that have a time are taken in its order, and only then is it asked who changed."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from crowdstream.labels.meaning.times import in_order_of_time, read_times
from crowdstream.simulation import jump
from tests.cli.tool import call, refused


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["2024-01-01T00:00:10Z", "2024-01-01 00:00:09.5"], [1704067210.0, 1704067209.5]),
        (["2024-01-01T02:00:00+02:00", "2024-01-01"], [1704067200.0, 1704067200.0]),
        ([" 12 ", "7.5"], [12.0, 7.5]),
        ([3, 4], [3.0, 4.0]),
    ],
)
def test_times_of_any_kind_are_seconds(cells: list[object], seconds: list[float]) -> None:
    found = read_times(pl.Series(cells))
    assert found is not None
    assert found.to_list() == seconds


@pytest.mark.parametrize("cells", [["noon", "1"], ["1", None], [True, False], [[1], [2]], [""]])
def test_what_is_no_time_is_not_taken_for_one(cells: list[object]) -> None:
    assert read_times(pl.Series(cells)) is None


def test_rows_of_one_time_stay_in_their_order() -> None:
    table = pl.DataFrame({"task": ["c", "a", "b"], "at": [2, 1, 1]})
    assert in_order_of_time(table)["task"].to_list() == ["a", "b", "c"]
    untimed = pl.DataFrame({"task": ["c", "a"], "at": ["x", "y"]})
    assert in_order_of_time(untimed).equals(untimed)


def test_the_later_label_of_a_worker_stands_whatever_the_order_of_rows() -> None:
    rows = [("t", "ann", "new", 2), ("t", "bob", "new", 1), ("t", "ann", "old", 1)]
    table = pl.DataFrame(rows, ["task", "worker", "label", "at"], orient="row")
    with pytest.warns(cs.NotIdentifiable):
        assert cs.Adaptive().fit_predict(table)["label"].to_list() == ["new"]


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels of ten workers, of whom one begins to err after half of the tasks."""
    drift = jump(1500, [0.45] + [0.1] * 9)
    labels = cs.simulate(10, 3000, p=0.1, drift=drift, seed=1).labels()
    folder = tmp_path_factory.mktemp("changing")
    labels.write_csv(folder / "plain.csv")
    timed = labels.with_columns(pl.int_range(pl.len()).alias("at") * 60 + 1_700_000_000)
    timed.write_csv(folder / "timed.csv")
    timed.sample(fraction=1.0, shuffle=True, seed=2).write_csv(folder / "shuffled.csv")
    timed.sort("worker").drop("at").write_csv(folder / "sorted.csv")
    return folder


def asked(file: Path, *options: str) -> object:
    return json.loads(call("run", str(file), "--json", *options).out)["alarms"]


def test_who_changed_is_asked_only_where_the_order_is_time(changing: Path) -> None:
    assert asked(changing / "plain.csv") is None
    assert asked(changing / "sorted.csv") is None
    assert asked(changing / "plain.csv", "--in-order") == 1
    assert asked(changing / "timed.csv") == 1
    assert asked(changing / "shuffled.csv") == 1


def test_decisions_do_not_depend_on_it(changing: Path, tmp_path: Path) -> None:
    tables = []
    for name, *options in (("plain",), ("plain", "--in-order"), ("timed",)):
        call("run", str(changing / f"{name}.csv"), "-o", str(tmp_path / "d.csv"), *options)
        tables.append((tmp_path / "d.csv").read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_a_state_of_labels_in_no_order_does_not_know_who_changed(
    changing: Path, tmp_path: Path
) -> None:
    state = str(tmp_path / "crowd.state")
    call("run", str(changing / "plain.csv"), "--state", state, "-o", str(tmp_path / "d.csv"))
    refused(call("workers", state, "--alarms"), "run --in-order")
