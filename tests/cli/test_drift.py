"""`crowdstream drift`: what `cs.compare_runs` finds, in files and exit codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from tests.benchmarks import load_benchmark
from tests.cli.tool import call, refused

ONE, TWO, TRUTHS = load_benchmark("statements").two_runs(1, 6, 200, np.full(6, 0.15), more=0.25)


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before.jsonl", tmp_path / "after.jsonl"
    ONE.write_ndjson(before)
    TWO.write_ndjson(after)
    return before, after


def test_two_files_are_compared_as_in_python(runs: tuple[Path, Path]) -> None:
    out = runs[0].with_name("changes.csv")
    result = call("drift", *runs, "-o", out)
    assert result.code == 0, result.err
    found = cs.compare_runs(ONE, TWO)
    assert pl.read_csv(out)["verdict"].to_list() == found.workers["verdict"].to_list()
    assert "1 judge changed" in result.err
    assert call("drift", *runs).out.startswith("worker,verdict,tasks,flips,flip_rate")


def test_the_exit_code_tells_if_asked_to(runs: tuple[Path, Path]) -> None:
    assert call("drift", *runs, "--fail-on-change", "-q").code == 1
    assert call("drift", runs[0], runs[0], "--fail-on-change", "-q").code == 0


def test_json_has_everything(runs: tuple[Path, Path]) -> None:
    gold = runs[0].with_name("gold.csv")
    TRUTHS.write_csv(gold)
    report = call("drift", *runs, "--gold", gold, "--json").report
    assert report["schema_version"] == 1
    assert (report["by"], report["changed"], report["tasks"]) == ("gold", ["w0"], 200)
    assert {row["worker"] for row in report["estimated"]} == {f"w{k}" for k in range(6)}
    assert report["workers"][0]["checked"] == 200


def test_spellings_of_the_first_run_count_in_the_second(tmp_path: Path) -> None:
    rows = [(str(t), w, "yes" if t % 3 else "no") for t in range(60) for w in "abc"]
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    for path, change in ((one, str), (two, str.upper)):
        text = "".join(f"{t},{w},{change(x)}\n" for t, w, x in rows)
        path.write_text("item,judge,verdict\n" + text)
    report = call("drift", one, two, "--json").report
    assert report["changed"] == []
    assert sum(row["flips"] for row in report["workers"]) == 0


def test_mistakes_end_in_one_line(runs: tuple[Path, Path], tmp_path: Path) -> None:
    refused(call("drift", runs[0], tmp_path / "none.csv"), "none.csv")
    refused(call("drift", "-", runs[0]), "standard input")
    refused(call("drift", *runs, "-o", runs[0]), "--output")
    assert call("drift", runs[0]).code == 2
    other = tmp_path / "other.csv"
    other.write_text("task,worker,label\nx,nobody,c0\n")
    result = call("drift", runs[0], other)
    assert result.code == 0
    assert "no task in common" in result.err
