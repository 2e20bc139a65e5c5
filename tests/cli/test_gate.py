"""`crowdstream gate`: exit codes, what is printed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from crowdstream.simulation import simulate
from tests.cli.tool import call


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    made = simulate(7, 400, p=0.15, seed=3)
    labels, gold = tmp_path / "labels.csv", tmp_path / "gold.csv"
    made.labels().write_csv(labels)
    made.truths().head(150).write_csv(gold)
    return labels, gold


@pytest.mark.parametrize(
    ("least", "code", "words"),
    [
        (0.85, 0, "trusted: every minimum is reached"),
        (0.999, 3, "cannot be told yet"),
    ],
)
def test_exit_codes_say_what_was_found(
    files: tuple[Path, Path], least: float, code: int, words: str
) -> None:
    labels, gold = files
    found = call("gate", labels, "--gold", gold, "--min-accuracy", str(least))
    assert found.code == code
    assert words in " ".join(found.err.split())


def test_a_missed_minimum_ends_with_1(files: tuple[Path, Path], tmp_path: Path) -> None:
    labels, gold = files
    wrong = pl.read_csv(gold).with_columns(label=1 - pl.col("label"))
    wrong.write_csv(tmp_path / "wrong.csv")
    found = call("gate", labels, "--gold", tmp_path / "wrong.csv", "--min-kappa", "0.2")
    assert found.code == 1
    assert "not trusted" in found.err


def test_json_and_markdown(files: tuple[Path, Path], tmp_path: Path) -> None:
    labels, gold = files
    summary = tmp_path / "summary.md"
    summary.write_text("what another step wrote\n")
    found = call(
        "gate", labels, "--gold", gold, "--min-kappa", "0.5", "--min-effective", "2",
        "--json", "--markdown", summary,
    )  # fmt: skip
    assert found.report["outcome"] == "passed"
    checks = {each["name"]: each for each in found.report["questions"][0]["checks"]}
    assert checks["kappa"]["low"] >= 0.5
    assert checks["effective"]["outcome"] == "passed"
    text = summary.read_text()
    assert text.startswith("what another step wrote")
    assert "| Cohen's kappa with gold |" in text


def test_each_question_is_checked(tmp_path: Path) -> None:
    parts = []
    truths = []
    for name, p in (("tone", 0.05), ("topic", 0.45)):
        made = simulate(5, 200, p=p, seed=1)
        parts.append(made.labels().with_columns(question=pl.lit(name)))
        truths.append(made.truths().with_columns(question=pl.lit(name)))
    pl.concat(parts).write_csv(tmp_path / "labels.csv")
    pl.concat(truths).write_csv(tmp_path / "gold.csv")
    found = call(
        "gate", tmp_path / "labels.csv", "--gold", tmp_path / "gold.csv", "--min-accuracy", "0.9",
        "--json",
    )  # fmt: skip
    outcomes = {each["question"]: each["outcome"] for each in found.report["questions"]}
    assert outcomes == {"tone": "passed", "topic": "failed"}
    assert (found.code, found.report["outcome"]) == (1, "failed")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "gate needs a minimum: --min-kappa, --min-accuracy, --min-effective"),
        (["--min-kappa", "7"], "--min-kappa"),
        (["--min-effective", "2", "--only", "w1"], "--min-effective is of a panel"),
        (["--min-kappa", "0.5", "--only", "nobody"], "nobody"),
    ],
)
def test_mistakes_are_one_line_and_code_2(
    files: tuple[Path, Path], options: list[str], words: str
) -> None:
    labels, gold = files
    found = call("gate", labels, "--gold", gold, *options)
    assert found.code == 2
    assert words in found.err
    assert "Traceback" not in found.err
