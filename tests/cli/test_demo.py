"""`crowdstream demo`: what it says is what the simulation's truth says, and it needs no extra."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from crowdstream.plain_text import percent
from crowdstream.simulation import simulate_judges
from tests.cli.tool import call, refused


@pytest.fixture(scope="module")
def said() -> str:
    result = call("demo")
    assert result.code == 0, result.err
    return result.out


def wrong(decisions: pl.DataFrame, truths: pl.DataFrame) -> float:
    both = decisions.join(truths.select("task", truth="label"), on="task")
    return float((both["label"] != both["truth"]).mean())  # type: ignore[arg-type]


def test_it_fits_a_terminal_of_80_columns(said: str) -> None:
    lines = said.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 48, "two screens of 24 lines"
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_its_figures_are_those_of_the_simulated_truth(seed: int) -> None:
    made = simulate_judges(seed=seed)
    report = call("demo", "--seed", str(seed), "--json").report
    alone = made.labels.join(made.truths.select("task", truth="label"), on="task")
    rates = alone.group_by("worker").agg((pl.col("label") != pl.col("truth")).mean().alias("rate"))
    best = rates.sort("rate", "worker").row(0)
    majority = cs.MajorityVote().fit_predict(made.labels)
    ours = cs.Adaptive().fit_predict(made.labels)
    # Thirteen votes on two classes: no ties, which the metric would count as halves.
    assert report["error_rate"] == pytest.approx(wrong(ours, made.truths))
    assert report["majority_error_rate"] == pytest.approx(wrong(majority, made.truths))
    assert (report["best_worker"], report["best_worker_error_rate"]) == best
    expected, number = report["expected_errors"], report["error_rate"] * report["tasks"]
    assert report["expected_errors_held"] == (expected["low"] <= number <= expected["high"])
    assert report["true_effective_votes"] < report["effective_votes"] < report["workers"] == 13
    text = call("demo", "--seed", str(seed)).out
    for rate in ("error_rate", "majority_error_rate", "best_worker_error_rate"):
        assert f"wrong on {percent(report[rate]):>6}" in text
    assert ("that held" in text) == report["expected_errors_held"]
    assert f"{report['intervals_held']} of 13 intervals hold" in text
    assert f"13 judges, worth at most {report['effective_votes']:.1f}" in text


def test_the_verdicts_shown_are_the_simulated_ones(said: str) -> None:
    labels = simulate_judges().labels
    marks = re.findall(r"^  (q\d+)  ([·✗ ]{25})  +(\w+)", said, re.MULTILINE)
    assert len(marks) == 8
    for task, row, _ in marks:
        fails = labels.filter((pl.col("task") == task) & (pl.col("label") == "fail")).height
        assert row.count("✗") == fails


def test_the_judge_who_passes_all_and_the_one_who_overlooks_failures_are_named(said: str) -> None:
    assert re.search(r"gull-yes .*nearly one label only", said)
    assert re.search(r"fjord-lenient .*errs on label fail", said)


def test_the_commands_it_ends_with_work_on_the_files_it_leaves(tmp_path: Path) -> None:
    folder = tmp_path / "tried"
    text = call("demo", "-o", folder).out
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["decisions.csv", "labels.csv", "truth.csv"]
    decided = pl.read_csv(folder / "decisions.csv")
    again = tmp_path / "again.csv"
    assert call("run", folder / "labels.csv", "-o", again, "-q").code == 0
    assert pl.read_csv(again)["label"].to_list() == decided["label"].to_list()
    commands = re.findall(r"^  crowdstream (run|jury|report) (\S+)", text, re.MULTILINE)
    assert [name for name, _ in commands] == ["run", "jury", "report"]
    assert {file for _, file in commands} == {f"{folder}/labels.csv"}
    truth = folder / "truth.csv"
    scored = call("run", folder / "labels.csv", "--truth", truth, "--json").report
    assert scored["error_rate"] == call("demo", "--json").report["error_rate"]


def test_mistakes_end_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    refused(call("demo", "-o", tmp_path / "taken"), "--output")
    refused(call("demo", "--seed", "-1"), "--seed")


def test_it_is_plain_text_where_nobody_looks_and_ascii_where_nothing_else_can_be_shown() -> None:
    code = "from crowdstream.cli import entry; entry()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo"],
        capture_output=True,
        env={"PYTHONIOENCODING": "ascii:replace", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout
    assert b" o-" in done.stdout.replace(b"-o", b" o")


def test_nothing_but_the_core_is_imported() -> None:
    core = {"numpy", "polars", "msgspec", "narwhals", "click", "rich"}
    code = (
        "import sys; from crowdstream.cli import app; app(['demo'], standalone_mode=False); "
        "print(*{m.partition('.')[0] for m in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    extras = {"altair", "vl_convert", "starlette", "httpx", "uvicorn", "pandas", "pyarrow"}
    extras |= {"pyspark", "sklearn", "scipy", "inspect_ai", "fastexcel", "xlsxwriter"}
    assert not loaded & extras
    assert core - {"narwhals"} <= loaded
