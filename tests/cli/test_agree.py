"""`crowdstream agree`: what `cs.agreement` finds, in files, JSON and on a terminal."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from tests.cli.tool import call, csv_of, refused

MADE = cs.simulate(5, 80, p=0.2, classes=3, seed=2).labels()
ROWS = [tuple(map(str, row)) for row in MADE.rows()]


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_bytes(csv_of(ROWS, "task,worker,label"))
    return path


def test_files_hold_what_python_finds(labels: Path) -> None:
    out, pairs = labels.with_name("agreement.csv"), labels.with_name("pairs.csv")
    result = call("agree", labels, "-o", out, "--pairs", pairs)
    found = cs.agreement(MADE)
    assert result.code == 0, result.err
    written = pl.read_csv(out)
    assert written.columns == ["coefficient", "value", "low", "high", "purpose"]
    # Cells of text have six decimals.
    assert written["value"].to_list() == pytest.approx(found.table["value"].to_list(), abs=1e-6)
    assert pl.read_csv(pairs).height == 10
    assert result.out == ""
    assert call("agree", labels, "-q").out.splitlines()[0] == "coefficient,value,low,high,purpose"


def test_a_terminal_shows_a_table_of_eighty_columns(
    labels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = call("agree", labels, tty=True)
    assert result.code == 0
    assert result.out == ""
    assert max(map(len, result.err.splitlines())) <= 80
    for name in ("Krippendorff's alpha", "Fleiss' kappa", "Gwet's AC1", "raw agreement"):
        (line,) = (line for line in result.err.splitlines() if line.startswith(f"  {name} "))
        assert "…" not in line
    assert "Cohen's kappa of 10 pairs" in result.err
    assert "weighs its votes" in " ".join(result.err.split())


def test_json_has_a_version_and_all_coefficients(labels: Path) -> None:
    report = call("agree", labels, "--json").report
    found = cs.agreement(MADE)
    assert report["schema_version"] == 1
    assert report["alpha"]["value"] == found.alpha.value
    assert report["gwet"]["low"] == found.gwet.low
    assert report["cohen"]["pairs"] == 10
    assert report["scale"] == "nominal"
    ordinal = call("agree", labels, "--json", "--scale", "ordinal", "--level", "0.8").report
    assert ordinal["scale"] == "ordinal"
    assert ordinal["notes"] == []  # not asked again whether that is a scale
    assert ordinal["alpha"]["value"] == cs.agreement(MADE, scale="ordinal").alpha.value


def test_every_question_has_its_own(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = [(t, w, x, q) for t, w, x in ROWS for q in ("tone", "to[red]xic")]
    path.write_bytes(csv_of(rows, "task,worker,label,question"))
    result = call("agree", path, "--json")
    assert [one["question"] for one in result.report["questions"]] == ["tone", "to[red]xic"]
    shown = call("agree", path, tty=True).err
    assert "to[red]xic" in shown
    assert "--question NAME" in shown
    assert "Gwet's AC1" in call("agree", path, "--question", "tone", tty=True).err
    table = call("agree", path, "-q").out
    assert table.splitlines()[0].startswith("question,coefficient")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    names = {"w0": "\x1b[31mred", "w1": "[bold]"}
    rows = [(t, names.get(w, w), x) for t, w, x in ROWS if w in names]
    path.write_bytes(csv_of(rows, "task,worker,label"))
    shown = call("agree", path, tty=True).err
    assert "\x1b[31m" not in shown
    assert "\\x1b[31mred and [bold]" in shown


def test_mistakes_end_in_one_line(labels: Path, tmp_path: Path) -> None:
    refused(call("agree", labels, "--scale", "ratio"), "--scale")
    refused(call("agree", labels, "--level", "95"), "--level")
    refused(call("agree", labels, "--min-tasks", "0"), "--min-tasks")
    refused(call("agree", labels, "-o", labels), "--output")
    refused(call("agree", labels, "--pairs", "pairs.doc"), "--pairs")
    refused(call("agree", tmp_path / "none.csv"), "none.csv")
    words = tmp_path / "words.csv"
    words.write_bytes(csv_of([("t1", "a", "cat"), ("t1", "b", "dog")], "task,worker,label"))
    refused(call("agree", words, "--scale", "interval"), "order")


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(csv_of([("t1", "ann", "x")], "task,worker,label"))
    result = call("agree", path, tty=True)
    assert result.code == 0
    assert "no task has two labels" in result.err
    assert call("agree", path, "--json").report["alpha"]["value"] is None


def test_a_run_has_a_line_of_agreement_where_monitors_are(labels: Path) -> None:
    result = call("run", labels, "-o", labels.with_name("d.csv"))
    found = cs.agreement(MADE)
    assert "agreement: Krippendorff's alpha" in result.err
    report = call("run", labels, "-o", labels.with_name("d.csv"), "--json").report
    assert report["agreement"]["alpha"]["value"] == found.alpha.value
    assert report["agreement"]["alpha"]["high"] == found.alpha.high
    without = call("run", labels, "-o", labels.with_name("d.csv"), "--method", "majority")
    assert "agreement:" not in without.err
    scale = call("run", labels, "-o", labels.with_name("d.csv"), "--ordinal", "--json").report
    assert scale["agreement"]["scale"] == "ordinal"
