"""Gold that teaches and truth that scores: matched by name, else by spelling, and counted."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdstream as cs
from crowdstream.errors import InputError
from tests.cli.tool import call, csv_of, labels, refused

ROWS = labels(100)
TASKS = list(dict.fromkeys(row[0] for row in ROWS))


Gold = dict[cs.TaskId, cs.ClassLabel]


def write(path: Path, rows: list[tuple[str, str]], header: str = "task,label") -> Path:
    path.write_bytes(csv_of(rows, header))
    return path


@pytest.fixture
def exact(tmp_path: Path) -> Path:
    return write(tmp_path / "exact.csv", [(task, task[-1]) for task in TASKS[:50]])


@pytest.fixture
def respelt(tmp_path: Path) -> Path:
    """The same, nothing of it spelt as in the labels."""
    rows = [(f" {task.upper()} ", f"{task[-1].upper()} ") for task in TASKS[:50]]
    return write(tmp_path / "respelt.csv", rows)


@pytest.mark.parametrize("options", [(), ("--window", "30"), ("--online",)])
@pytest.mark.parametrize("option", ["--gold", "--truth"])
def test_what_is_spelt_otherwise_matches(
    label_file: Path, exact: Path, respelt: Path, option: str, options: tuple[str, ...]
) -> None:
    wanted = call("run", label_file, option, exact, "--json", *options).report
    found = call("run", label_file, option, respelt, "--json", *options).report
    count = f"{option[2:]}_matched"
    assert wanted[count] == {"tasks": 50, "matched": 50, "by_spelling": 0}
    assert found[count] == {"tasks": 50, "matched": 50, "by_spelling": 50}
    (note,) = found["warnings"]
    assert note.startswith(f"50 tasks of {option} found by their spelling: 'T0")
    differ = {"warnings", "seconds", count}
    assert {k: v for k, v in found.items() if k not in differ} == {
        k: v for k, v in wanted.items() if k not in differ
    }
    assert call("run", label_file, option, respelt, "-q", *options).out == (
        call("run", label_file, option, exact, "-q", *options).out
    )


def test_matches_are_counted_on_the_screen(label_file: Path, tmp_path: Path) -> None:
    rows = [(task, task[-1]) for task in TASKS[:41]] + [(f"q{k}", "x") for k in range(9)]
    some = write(tmp_path / "some.csv", rows)
    told = call("run", label_file, "--gold", some).err
    assert "41 of 50 gold tasks matched" in told
    assert "note: 9 tasks of --gold without labels here: 'q0', 'q1', 'q2' and 6 more" in told
    told = call("run", label_file, "--truth", some).err
    assert "41 of 50 true labels matched" in told
    assert "note: 9 tasks of --truth without labels here: 'q0', 'q1', 'q2' and 6 more" in told
    plan = call("gold", "plan", label_file, "--gold", some, "-o", tmp_path / "plan.csv")
    assert "41 of 50 gold tasks matched" in plan.err
    assert "9 tasks of --gold without labels here: 'q0'" in plan.err
    plan = call("gold", "plan", label_file, "--gold", some, "--json")
    assert plan.report["gold_matched"] == {"tasks": 50, "matched": 41, "by_spelling": 0}
    assert "41 of 50 true labels matched" in call("savings", label_file, "--truth", some).err


@pytest.mark.parametrize("options", [(), ("--window", "30"), ("--online",)])
@pytest.mark.parametrize("option", ["--gold", "--truth"])
def test_nothing_in_common_is_an_error_with_examples(
    label_file: Path, tmp_path: Path, option: str, options: tuple[str, ...]
) -> None:
    other = write(tmp_path / "other.csv", [("q1", "x"), ("q2", "y")])
    output = tmp_path / "out.csv"
    result = call("run", label_file, option, other, "-o", output, *options)
    refused(
        result, f"{option}: expected tasks that have labels, such as '{TASKS[0]}'", "'q1', 'q2'"
    )
    assert not output.exists()


def test_nothing_in_common_is_an_error_elsewhere_too(label_file: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.csv", [("q1", "x")])
    words = "none in common of 1: 'q1'"
    refused(call("gold", "plan", label_file, "--gold", other), "--gold", words)
    refused(call("savings", label_file, "--truth", other), "--truth", words)
    refused(call("compare", label_file, "--truth", other, "--quick"), "--truth", words)
    wanted = "an answer that can be used, found none of 1 filled in: row 1: no labels for task 'q1'"
    result = call("gold", "check", label_file, other)
    refused(result, wanted)
    assert "Left out" not in result.err


def test_known_tasks_in_another_spelling_are_not_planned_again(
    label_file: Path, exact: Path, respelt: Path
) -> None:
    wanted = call("gold", "plan", label_file, "--gold", exact, "-q", "-n", "20").out
    assert call("gold", "plan", label_file, "--gold", respelt, "-q", "-n", "20").out == wanted
    assert call("gold", "check", label_file, respelt).out == (
        call("gold", "check", label_file, exact).out
    )


def test_savings_and_compare_match_by_spelling(
    label_file: Path, exact: Path, respelt: Path
) -> None:
    for command in (
        ("savings", label_file, "--orders", "1"),
        ("compare", label_file, "--methods", "majority", "--quick", "--limit", "60"),
    ):
        found = [call(*command, "--truth", file, "--json").report for file in (exact, respelt)]
        assert [len(each["warnings"]) for each in found] == [0, 1]
        if command[0] == "savings":
            assert found[0]["curves"] == found[1]["curves"]
        else:
            finals = [[row["final"] for row in each["rows"]] for each in found]
            assert finals[0] == finals[1]


def test_an_exact_name_goes_before_a_spelling(tmp_path: Path) -> None:
    rows = [(task, who, said) for task, said in (("a1", "x"), ("A1", "y")) for who in "stuv"]
    path = tmp_path / "labels.csv"
    path.write_bytes(csv_of([*rows, *ROWS]))
    truth = write(tmp_path / "truth.csv", [("a1", "x"), ("A1", "y")])
    report = call("run", path, "--truth", truth, "--json").report
    assert report["truth_matched"] == {"tasks": 2, "matched": 2, "by_spelling": 0}
    assert report["error_rate"] == 0
    path.write_bytes(csv_of([*rows, *(("b1", who, "x") for who in "st"), *ROWS]))
    both = [("B1", "x"), ("a1 ", "x"), ("A1", "y")]  # blanks around a name are none of it
    report = call("run", path, "--truth", write(tmp_path / "both.csv", both), "--json").report
    assert report["truth_matched"] == {"tasks": 3, "matched": 3, "by_spelling": 1}
    path.write_bytes(csv_of([("b 1", "s", "x"), ("B 1", "s", "x"), *ROWS]))
    unclear = [("b  1", "x"), (TASKS[0], TASKS[0][-1])]
    report = call("run", path, "--truth", write(tmp_path / "unclear.csv", unclear), "--json").report
    assert report["truth_matched"] == {"tasks": 2, "matched": 1, "by_spelling": 0}


def test_classes_of_the_truth_that_nobody_gave_are_named(label_file: Path, tmp_path: Path) -> None:
    rows = [(task, "zz" if k == 0 else task[-1]) for k, task in enumerate(TASKS[:20])]
    (note,) = call("run", label_file, "--truth", write(tmp_path / "t.csv", rows), "--json").report[
        "warnings"
    ]
    assert note == "1 class of --truth that no worker has given, counted as wrong: 'zz'"


# Files that are wrong ---------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--gold", "--truth"])
def test_a_file_that_is_wrong_is_named_with_its_row(
    label_file: Path, tmp_path: Path, option: str
) -> None:
    task = TASKS[0]
    twice = write(tmp_path / "twice.csv", [(task, "x"), ("", ""), (task, "y")])
    refused(
        call("run", label_file, option, twice), "twice.csv, row 3: ", f"'x' and 'y' of '{task}'"
    )
    columns = write(tmp_path / "columns.csv", [(task, "x")], "task,said")
    refused(
        call("run", label_file, option, columns), "expected columns task, label, found task, said"
    )
    refused(call("run", label_file, option, tmp_path / "none.csv"), f"crowdstream: {option}: ")
    empty = write(tmp_path / "empty.csv", [])
    refused(call("run", label_file, option, empty), option, "at least one row")
    refused(call("gold", "check", label_file, empty), "at least one row filled in")


def test_repeated_rows_that_differ_by_a_blank_are_one_to_run_and_to_check(
    label_file: Path, tmp_path: Path
) -> None:
    rows = [(task, task[-1]) for task in TASKS[:20]]
    once = write(tmp_path / "once.csv", rows)
    twice = write(tmp_path / "twice.csv", [*rows, (f"{TASKS[0]} ", f"{TASKS[0][-1].upper()} ")])
    wanted = call("run", label_file, "--gold", once, "-q")
    assert call("run", label_file, "--gold", twice, "-q") == wanted
    assert (
        call("gold", "check", label_file, twice).out == call("gold", "check", label_file, once).out
    )


# Python -----------------------------------------------------------------------------------------


def test_numbers_and_their_texts_are_the_same_task_and_class_in_python() -> None:
    rows = [(k, who, k % 2) for k in range(30) for who in "abc"]
    texts = [(str(k), who, str(x)) for k, who, x in rows]
    gold: Gold = {k: k % 2 for k in range(10)}
    as_text: Gold = {str(k): str(x) for k, x in gold.items()}
    crowd, other = cs.Adaptive(), cs.Adaptive()
    wanted = crowd.fit_predict(rows, gold=gold)
    assert other.fit_predict(rows, gold=as_text).equals(wanted)
    assert crowd.to_bytes() == other.to_bytes()
    wanted = crowd.fit_predict(texts, gold=as_text)
    assert other.fit_predict(texts, gold=gold).equals(wanted)
    assert crowd.to_bytes() == other.to_bytes()
    assert other.classes_ == ["0", "1"]


def test_gold_of_no_task_is_refused_in_python() -> None:
    rows = [(k, who, k % 2) for k in range(30) for who in "abc"]
    with pytest.raises(InputError, match="none in common"):
        cs.Adaptive().fit_predict(rows, gold={"07": 1})
