"""Exports of tools through the command line: decisions, explanations, gold, and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from crowdstream.plain_text import counted
from tests.cli.tool import call
from tests.fuzzing import FIXTURES
from tests.labels.test_tools import MIXED, WANTED


@pytest.mark.parametrize("name", WANTED)
def test_every_fixture_is_decided(name: str, tmp_path: Path) -> None:
    wanted = WANTED[name]
    # A set among classes is one more class; what is decided of sets is tested elsewhere.
    more = ("--as-classes",) if wanted.several else ()
    args = ("--json", "--explain", "-o", tmp_path / "out.csv", *more)
    result = call("run", FIXTURES / name, *args)
    assert result.code == 0, result.err
    assert (result.report["tasks"], result.report["labels"]) == (wanted.tasks, wanted.labels)
    assert f"read as {wanted.title}: " in result.err
    assert f"{wanted.tasks} tasks, {counted(wanted.workers, 'worker')}" in result.err


@pytest.mark.parametrize("name", MIXED)
def test_each_question_of_a_mixed_export_is_decided_by_its_own_workers(
    name: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    for question, (workers, labels) in MIXED[name].items():
        if question == "hallucination":
            continue  # scores, not classes
        result = call("run", FIXTURES / name, "--question", question, "--json", "-o", out)
        assert result.code == 0, result.err
        assert (result.report["labels"], result.report["workers"]) == (labels, len(workers))


def test_what_is_counted_only_if_asked_for_is_said_and_can_be_included(tmp_path: Path) -> None:
    path, out = FIXTURES / "promptfoo" / "results.json", tmp_path / "out.csv"
    result = call("run", path, "--json", "-o", out)
    left = "12 checks left out (--include checks counts them)"
    assert any(left in note for note in result.report["warnings"])
    both = ("--include", "checks", "--include", "predictions")
    result = call("run", path, *both, "--question", "contains: It is", "--json", "-o", out)
    assert result.report["labels"] == 6
    alone = "answered by one worker alone, whose word is the decision: contains: It is by contains"
    assert any(alone in note for note in result.report["warnings"])
    result = call("run", path, "--include", "prediction")
    assert result.code == 2
    assert "--include: expected predictions or checks, found 'prediction'" in result.err


def test_gold_in_a_file_is_learnt_from_unless_gold_is_given(tmp_path: Path) -> None:
    path = FIXTURES / "toloka" / "assignments.tsv"
    result = call("run", path, "--json")
    assert result.report["gold_matched"] == {"tasks": 2, "matched": 2, "by_spelling": 0}
    assert any(note.startswith("learnt from the gold in") for note in result.report["warnings"])
    gold = tmp_path / "gold.csv"
    gold.write_text("task,label\n0001--2,good\n")
    result = call("run", path, "--json", "--gold", gold)
    assert result.report["gold_matched"]["matched"] == 1
    assert any("--gold goes before it" in note for note in result.report["warnings"])
    result = call("run", path, "--json", "--window", "9")
    assert any("--window learns from --gold alone" in note for note in result.report["warnings"])


def test_a_report_learns_from_the_gold_in_a_file_as_a_run_does(tmp_path: Path) -> None:
    path = FIXTURES / "toloka" / "assignments.tsv"
    page = tmp_path / "report.html"
    result = call("report", path, "-o", page, "--explain")
    assert result.code == 0, result.err
    assert "read as Toloka's assignments" in result.err
    assert "learnt from the gold in" in page.read_text() + result.err


def test_other_commands_read_exports_by_the_same_door() -> None:
    path = FIXTURES / "mturk" / "batch.csv"
    for command in (("savings", path, "--orders", "1"), ("gold", "plan", path)):
        result = call(*command, "--explain", "--json")
        assert result.code == 0, result.err
        assert "read as results of a Mechanical Turk batch" in result.err


def test_a_window_decides_an_export_as_the_whole_does(tmp_path: Path) -> None:
    path = FIXTURES / "prodigy" / "choice.jsonl"
    for name, more in (("whole.csv", ()), ("window.csv", ("--window", "99"))):
        args = ("-q", "--as-classes", "-o", tmp_path / name, *more)
        assert call("run", path, *args).code == 0
    whole, window = (pl.read_csv(tmp_path / f"{name}.csv") for name in ("whole", "window"))
    # How sure it is differs: a window learns in the order of the stream.
    assert whole["task", "label", "votes"].equals(window["task", "label", "votes"])


def test_standard_input_is_told_by_its_keys_too() -> None:
    data = (FIXTURES / "label-studio" / "export.json").read_bytes()
    result = call("run", "-", "--json", "--as-classes", stdin=data)
    assert (result.code, result.report["labels"]) == (0, 26)


def test_a_plain_table_is_explained_by_its_columns(tmp_path: Path) -> None:
    for name, text in (
        ("labels.csv", "item,rater,answer\n1,ann,x\n1,bob,x\n"),
        ("labels.json", '[{"item": 1, "rater": "ann", "answer": "x"}]'),
    ):
        (tmp_path / name).write_text(text)
        result = call("run", tmp_path / name, "-q", "--explain", "-o", tmp_path / "out.csv")
        assert result.code == 0
        assert "read as: task=item, worker=rater, label=answer (x)" in result.err
        assert "1 task, " in result.err


def test_a_stream_of_what_a_tool_wrote_says_which_command_reads_it() -> None:
    for name in ("prodigy/choice.jsonl", "mturk/batch.csv", "label-studio/webhooks.jsonl"):
        result = call("stream", FIXTURES / name)
        assert result.code == 2
        assert f"it looks like {WANTED[name].title}, which crowdstream run reads" in result.err


def test_a_wrong_format_is_one_line() -> None:
    path = FIXTURES / "label-studio" / "export.json"
    result = call("run", path, "--format", "argilla")
    assert result.code == 2
    hint = "found what looks like a Label Studio export; use --format label-studio"
    assert hint in result.err
    assert call("run", path, "--format", "xml").err.count("label-studio") == 1


def test_of_a_crowd_that_cannot_be_judged_nothing_is_said_of_how_it_errs(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("task,worker,label\n1,ann,a\n1,bob,a\n2,ann,b\n2,bob,a\n")
    result = call("run", path, "-o", tmp_path / "out.csv")
    said = " ".join(result.err.split())
    assert "how many decisions are wrong is unknown" in said
    assert "err independently" not in said


def test_gold_that_has_every_task_is_not_learnt_from(tmp_path: Path) -> None:
    """A benchmark's answers: if they were learnt from, decisions would be these answers."""
    rows = [
        {"id": str(t), "annotations": [
            {"completed_by": who, "ground_truth": who == 0, "result": [
                {"from_name": "q", "type": "choices", "value": {"choices": [said]}}]}
            for who, said in enumerate(("a" if t % 2 else "b", "b", "b"))
        ]}
        for t in range(6)
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(rows))
    found = call("run", path, "--json")
    assert any("has every task" in note for note in found.report["warnings"])
    assert "gold_matched" not in found.report
