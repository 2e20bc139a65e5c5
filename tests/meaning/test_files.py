"""The files that people have: decided as what they are through every way in, or refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import crowdstream as cs
from tests.cli.tool import call, refused
from tests.meaning.files import FILES, File

Decisions = dict[tuple[str, str], str | None]

NOT_FOR_READING = ("ordinal", "order", "threshold", "bins", "choices", "as_classes", "repeats")
"""What is said when labels are decided, not when they are read."""


def saved(name: str, folder: Path) -> tuple[File, Path]:
    file = FILES[name]()
    path = folder / file.name
    path.write_bytes(file.data)
    return file, path


def by_task(table: pl.DataFrame, task: str = "task") -> Decisions:
    """Label by question and task."""
    if "question" not in table.columns:
        table = table.with_columns(pl.lit("").alias("question"))
    texts = table.select("question", task, "label").cast(pl.String)
    return {(question, task): label for question, task, label in texts.iter_rows()}


def run(path: Path, flags: list[str], folder: Path, *more: str) -> Decisions:
    out = folder / "out.csv"
    result = call("run", path, *flags, "-o", out, "-q", *more)
    assert result.code == 0, result.err
    return by_task(pl.read_csv(out, infer_schema=False))


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_decided_question_by_question(name: str, tmp_path: Path) -> None:
    file, path = saved(name, tmp_path)
    found = run(path, file.flags(), tmp_path)
    assert {question for question, _ in found} == set(file.questions)
    for key, label in file.wanted.items():
        assert found[key] == label


@pytest.mark.parametrize("name", [name for name, make in FILES.items() if make().refused])
def test_what_it_is_not_is_refused_with_words_that_work(name: str, tmp_path: Path) -> None:
    file, path = saved(name, tmp_path)
    # A wide table is known by --wide; what is missing is which columns.
    given = ["--wide"] if name == "wide_with_questions" else []
    outputs = {"run": "o.csv", "jury": "j.csv", "report": "r.html"}
    for command, out in outputs.items():
        refused(call(command, path, *given, "-o", tmp_path / out), *file.refused)
    for words in file.works:
        assert run(path, list(words), tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_run_jury_report_and_python_decide_alike(name: str, tmp_path: Path) -> None:
    file, path = saved(name, tmp_path)
    wanted = run(path, file.flags(), tmp_path)
    flags = [flag for flag in file.flags() if flag not in ("--on-error", "skip")]
    if "on_error" not in file.options:
        out = tmp_path / "jury.csv"
        result = call("jury", path, *flags, "-o", out, "-q")
        assert result.code == 0, result.err
        table = pl.read_csv(out, infer_schema=False)
        assert by_task(table, "task") == wanted
    said = {key: value for key, value in file.options.items() if key in NOT_FOR_READING}
    said |= {"order": said["order"].split(",")} if "order" in said else {}
    reading = {key: value for key, value in file.options.items() if key not in NOT_FOR_READING}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        raw = cs.read_labels(path, **reading, **_whole(said))
        found = cs.fit_questions(raw, **said)
        assert by_task(found.decisions) == wanted
        report = cs.make_report(raw, **said)
        tables = {q: each.decisions for q, each in report.questions.items()}
        told: Decisions = {}
        for question, decided in tables.items():
            assert decided is not None
            told |= {(question, task): label for (_, task), label in by_task(decided).items()}
        assert told == wanted


def _whole(said: dict[str, Any]) -> dict[str, Any]:
    """What makes reading leave scores and sets as they are, to be decided later."""
    return {"as_classes": True} if said.keys() - {"repeats"} else {}


@pytest.mark.parametrize("name", FILES)
def test_every_summary_says_what_was_read(name: str, tmp_path: Path) -> None:
    file, path = saved(name, tmp_path)
    result = call("run", path, *file.flags(), "--json")
    assert result.code == 0, result.err
    text = result.report["read_as"]["text"]
    assert text.startswith("read as: ")
    assert "task=" in text or name in ("promptfoo", "langfuse")
    several = file.questions if len(file.questions) > 1 else ()
    assert tuple(result.report["read_as"]["questions"]) == several
    screen = call("run", path, *file.flags(), "-o", tmp_path / "o.csv")
    assert screen.err.startswith("read as: ")


def test_the_majority_of_stars_is_the_median_of_the_votes(tmp_path: Path) -> None:
    _, path = saved("stars", tmp_path)
    found = run(path, ["--ordinal"], tmp_path, "--method", "majority")
    assert (found["", "a"], found["", "b"]) == ("5", "5")


def test_spellings_are_said_first_and_counted(tmp_path: Path) -> None:
    _, path = saved("spellings", tmp_path)
    report = call("run", path, "--json").report
    assert report["classes"] == 2
    assert [sorted(group) for group in report["read_as"]["joined"]] == [
        ["NO", "No ", "no"],
        ["YES", "Yes ", "yes"],
    ] or len(report["read_as"]["joined"]) == 2
    assert report["read_as"]["no_answer"]["N/A"] > 0
    assert "spellings are 2 classes" in report["warnings"][0]
    assert call("run", path, "--json", "--exact").report["classes"] > 2
    assert call("run", path, "--json", "--keep", "N/A").report["classes"] == 3


def test_flip_rates_and_missing_verdicts_are_told(tmp_path: Path) -> None:
    _, path = saved("epochs", tmp_path)
    report = call("run", path, "--json", "--workers", tmp_path / "w.csv").report
    assert report["flip_rates"]["w4"]["low"] > 0.15
    assert report["flip_rates"]["w0"]["rate"] == 0
    assert "flip_rate" in pl.read_csv(tmp_path / "w.csv").columns
    assert any("contradict themselves" in note for note in report["warnings"])


def test_columns_left_out_are_named(tmp_path: Path) -> None:
    _, path = saved("wide_with_notes", tmp_path)
    report = call("run", path, "--wide", "--json").report
    assert list(report["read_as"]["left_out"]) == ["notes"]
    assert report["workers"] == 4


def test_pairwise_comparisons_are_for_another_command(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("id,judge,model_a,model_b,winner\n1,gpt,x,y,a\n2,gpt,x,y,b\n")
    refused(call("run", path), "crowdstream preferences")
