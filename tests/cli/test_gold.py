from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from crowdstream.gold_plan.fooled import plan_words
from tests.cli.tool import call, csv_of, labels, refused

ROWS = labels(200)


def fill(path: Path, rows: int | None = None) -> Path:
    """What an expert makes of a plan: the truth is the last letter of a task's name."""
    plan = pl.read_csv(path, infer_schema=False)
    truth = pl.when(pl.int_range(pl.len()) < (rows or plan.height)).then(pl.col("task").str.tail(1))
    filled = path.with_name("filled.csv")
    plan.with_columns(gold=truth).write_csv(filled)
    return filled


@pytest.fixture
def plan_file(label_file: Path) -> Path:
    path = label_file.with_name("to_check.csv")
    assert call("gold", "plan", label_file, "-n", "40", "-o", path).code == 0
    return path


# gold plan -----------------------------------------------------------------------------------


def test_a_plan_is_a_file_to_fill_in(plan_file: Path) -> None:
    plan = pl.read_csv(plan_file, infer_schema=False)
    columns = ["task", "label", "confidence", "votes", "gold", "stratum", "stratum_tasks"]
    assert plan.columns == columns
    assert plan.height == 40
    assert plan["gold"].null_count() == 40
    assert set(plan["task"]) <= {task for task, _, _ in ROWS}


def test_a_plan_says_what_to_do_next(label_file: Path) -> None:
    path = label_file.with_name("to_check.csv")
    result = call("gold", "plan", label_file, "-o", path)
    assert result.out == ""
    assert "30 of 200 tasks to check" in result.err
    assert f"crowdstream gold check {label_file} {path}" in result.err
    assert call("gold", "plan", label_file, "-o", path, "-q").err == ""


def test_a_plan_says_what_its_settled_decisions_can_find(label_file: Path) -> None:
    path = label_file.with_name("to_check.csv")
    result = call("gold", "plan", label_file, "-n", "40", "-o", path)
    plan = pl.read_csv(path)
    settled = plan.filter(pl.col("confidence") >= 0.95)["confidence"]
    said = plan_words(settled.len(), float((1 - settled).to_numpy().mean()))
    assert said in " ".join(result.err.split())


def test_a_plan_goes_to_a_pipe_and_a_terminal_shows_it(label_file: Path) -> None:
    piped = call("gold", "plan", label_file, "-n", "12", "-q")
    assert len(piped.out.splitlines()) == 13
    shown = call("gold", "plan", label_file, "-n", "12", tty=True)
    assert shown.out == ""
    assert "-o FILE writes all of them" in shown.err


def test_a_blind_plan_shows_nothing_of_the_crowd(label_file: Path) -> None:
    result = call("gold", "plan", label_file, "--blind", "-q")
    assert result.out.splitlines()[0] == "task,gold,stratum,stratum_tasks"


def test_a_blind_plan_can_be_checked(label_file: Path) -> None:
    path = label_file.with_name("blind.csv")
    call("gold", "plan", label_file, "--blind", "-o", path)
    report = call("gold", "check", label_file, fill(path), "--json").report
    assert (report["checked"], report["stratified"]) == (30, True)


def test_known_tasks_are_not_chosen_again(label_file: Path, plan_file: Path) -> None:
    filled = fill(plan_file)
    again = call("gold", "plan", label_file, "--gold", filled, "-q").out.splitlines()[1:]
    before = set(pl.read_csv(plan_file, infer_schema=False)["task"])
    assert again
    assert not {line.split(",")[0] for line in again} & before


def test_a_plan_in_json_counts_its_strata(label_file: Path) -> None:
    report = call("gold", "plan", label_file, "-n", "25", "--json").report
    assert (report["schema_version"], report["tasks"], report["to_check"]) == (1, 200, 25)
    assert sum(each["to_check"] for each in report["strata"]) == 25
    assert sum(each["tasks"] for each in report["strata"]) == 200


def test_answers_are_not_written_over(label_file: Path, plan_file: Path) -> None:
    filled = fill(plan_file, 3)
    before = filled.read_bytes()
    refused(call("gold", "plan", label_file, "-o", filled), "--output", "without answers", "with 3")
    assert filled.read_bytes() == before
    assert call("gold", "plan", label_file, "-o", plan_file).code == 0  # nothing filled in yet


def test_a_plan_of_no_tasks_is_refused(label_file: Path) -> None:
    refused(call("gold", "plan", label_file, "-n", "0"), "--number", "whole number from 1")


# gold check ----------------------------------------------------------------------------------


def test_a_check_says_how_wrong_and_how_that_is_known(label_file: Path, plan_file: Path) -> None:
    result = call("gold", "check", label_file, fill(plan_file, 25))
    first = result.out.splitlines()[0]
    assert result.code == 0
    assert first.startswith("wrong decisions ")
    assert first.endswith(" %, checked against 25 gold tasks, 15 rows left blank")
    for words in (
        "the crowd's own confidence expects",
        "of the 25 checked,",
        "with this gold, wrong decisions",
        "of the 175 other decisions change",
        "settled decisions (confidence 0.95 or more)",
        "More gold is worth having",
    ):
        assert words in result.out


def test_a_check_in_json_has_what_is_shown(label_file: Path, plan_file: Path) -> None:
    report = call("gold", "check", label_file, fill(plan_file), "--json").report
    assert (report["tasks"], report["checked"], report["blank"]) == (200, 40, 0)
    rate = report["error_rate"]
    assert 0 <= rate["low"] <= rate["value"] <= rate["high"] <= 1
    assert {each["label"] for each in report["classes"]} == set("xyz")
    assert report["settled"]["promised"] == pytest.approx(0.05)


def test_a_check_names_what_it_cannot_use(label_file: Path, plan_file: Path) -> None:
    filled = fill(plan_file)
    plan = pl.read_csv(filled, infer_schema=False)
    task, gold = plan["task"].to_list(), plan["gold"].to_list()
    gold[1], task[4] = "xx", "t999"
    plan.with_columns(task=pl.Series(task), gold=pl.Series(gold)).write_csv(filled)
    result = call("gold", "check", label_file, filled)
    assert call("gold", "check", label_file, filled, "-q") == result._replace(err="")
    notes = [line for line in result.err.splitlines() if line.startswith("note: ")]
    assert f"{filled}, row 2 (task {task[1]}): 'xx' is not one of the classes" in notes[0]
    assert f"{filled}, row 5: no labels for task 't999'" in notes[1]
    assert "checked against 38 gold tasks" in result.out


def test_plain_gold_is_taken_for_a_random_sample_and_that_is_said(
    label_file: Path, gold: Path
) -> None:
    result = call("gold", "check", label_file, gold)
    assert "taken for a random sample" in result.out
    assert "all tasks were checked" in result.out


def test_a_check_without_answers_is_refused(label_file: Path, plan_file: Path) -> None:
    refused(call("gold", "check", label_file, plan_file), "to_check.csv", "filled in")
    refused(call("gold", "check", label_file, "nowhere.csv"), "FILLED", "'nowhere.csv'")


def test_a_class_that_no_worker_gave_is_announced(label_file: Path, plan_file: Path) -> None:
    filled = fill(plan_file, 5)
    plan = pl.read_csv(filled, infer_schema=False)
    plan.with_columns(gold=pl.when(pl.col("gold").is_not_null()).then(pl.lit("w"))).write_csv(
        filled
    )
    refused(call("gold", "check", label_file, filled), "filled in", "'w' is not one of")
    report = call("gold", "check", label_file, filled, "--also", "w", "--json").report
    assert (report["checked"], report["right"]) == (5, 0)


# run -----------------------------------------------------------------------------------------


def spaced(text: str) -> str:
    """Without the ends of lines."""
    return " ".join(text.split())


def test_a_run_says_how_many_decisions_are_expected_to_be_wrong(
    label_file: Path, plan_file: Path
) -> None:
    alone = call("run", label_file)
    assert "with joint errors as far as labels allow" in spaced(alone.err)
    told = call("run", label_file, "--gold", fill(plan_file))
    assert ", checked against 40 gold tasks" in spaced(told.err)
    followed = call("run", label_file, "--gold", fill(plan_file), "--online")
    assert "gold was learnt from, not checked against" in spaced(followed.err)


def test_expected_errors_are_in_the_json(label_file: Path, plan_file: Path) -> None:
    found = call("run", label_file, "--json").report["expected_errors"]
    decisions = pl.read_csv(call("run", label_file, "-q").out.encode())
    assert found["errors"] == pytest.approx((1 - decisions["confidence"]).sum(), abs=1e-3)
    assert found["low"] < found["errors"] < found["high"]
    assert found["gold_tasks"] == 0
    pieces = call("run", label_file, "--json", "--window", "40").report["expected_errors"]
    assert pieces["low"] < pieces["errors"] < pieces["high"]
    told = call("run", label_file, "--json", "--gold", fill(plan_file)).report["expected_errors"]
    assert told["gold_tasks"] == 40
    assert (told["basis"], found["basis"]) == ("gold", "joint")


def test_gold_that_is_odd_is_noted(label_file: Path, plan_file: Path, tmp_path: Path) -> None:
    refused(
        call("run", label_file, "--gold", plan_file), "--gold", "at least one row", "found none"
    )
    odd = tmp_path / "odd.csv"
    odd.write_bytes(csv_of([(ROWS[0][0], "xx"), (ROWS[-1][0], ROWS[0][2])], "task,gold"))
    assert (
        "1 class of --gold that no worker has given, left out: 'xx'"
        in call("run", label_file, "--gold", odd).err
    )


def test_names_like_formulas_come_back_as_they_went(label_file: Path) -> None:
    """And are said, since a spreadsheet would compute them; a number is none."""
    strange = dict(zip(("t0", "t1", "t2", "t3"), ("=1+1 ", "@x ", "+y ", "-7"), strict=True))
    rows = [(strange.get(task[:-1], task[:-1]) + task[-1], *rest) for task, *rest in ROWS]
    label_file.write_bytes(csv_of([row for row in rows if not row[0].startswith("-7")]))
    plan = label_file.with_name("plan.csv")
    result = call("gold", "plan", label_file, "-n", "199", "-o", plan)
    assert "3 task names begin like a formula" in result.err
    named = set(pl.read_csv(plan, infer_schema=False)["task"])
    assert {name for name in named if name[0] in "=@+"} == {
        task for task, *_ in rows if task[0] in "=@+"
    }
    checked = call("gold", "check", label_file, fill(plan), "--json")
    assert checked.code == 0
    assert checked.report["checked"] == 199
    label_file.write_bytes(csv_of([("-7", "a", "x"), ("-7", "b", "x"), ("-8", "a", "y")]))
    assert (
        "like a formula"
        not in call("gold", "plan", label_file, "-o", label_file.with_name("p.csv")).err
    )
