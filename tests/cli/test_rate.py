"""`crowdstream rate` and `crowdstream judges`: what `cs.rate` and `cs.judges_against_gold` find."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from tests.cli.tool import call, refused

MADE = cs.simulate(5, 300, p=0.2, seed=4)
NAMES = {"0": "fail", "1": "pass"}
VOTES = MADE.labels().select(
    item="task", judge="worker", verdict=pl.col("label").replace_strict(NAMES)
)
TRUTHS = MADE.truths().select("task", label=pl.col("label").replace_strict(NAMES))
GOLD = TRUTHS.sample(40, seed=1)


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    VOTES.write_ndjson(tmp_path / "votes.jsonl")
    GOLD.write_csv(tmp_path / "gold.csv")
    TRUTHS.write_csv(tmp_path / "outputs.csv")
    return tmp_path / "votes.jsonl"


def test_rates_are_those_of_python(votes: Path) -> None:
    gold, out = votes.with_name("gold.csv"), votes.with_name("rates.csv")
    result = call("rate", votes, "--gold", gold, "-o", out)
    found = cs.rate(VOTES, GOLD)
    assert result.code == 0
    assert result.out == found.summary().partition("\nnote: ")[0] + "\n"
    assert all(len(line) <= 80 for line in result.out.splitlines())
    assert pl.read_csv(out)["low"].to_list() == pytest.approx(
        [each.low for each in found.rates],
        abs=1e-6,  # tables are written with six digits
    )
    report = call("rate", votes, "--gold", gold, "--json", "--width", "0.2").report
    assert report["schema_version"] == 1
    assert report["rates"][0]["value"] == found.rates[0].value
    assert report["gold_needed"] == found.gold_for_width(0.2)


def test_systems_are_compared(votes: Path) -> None:
    gold, outputs = votes.with_name("gold.csv"), votes.with_name("outputs.csv")
    result = call("rate", votes, "--gold", gold, "--system", outputs, "--versus-system", outputs)
    assert "cannot be told apart in the accuracy" in result.out
    result = call(
        "rate", votes, "--gold", gold, "--versus", votes, "--versus-gold", gold,
        "--positive", "pass", "--width", "0.01",
    )  # fmt: skip
    assert "cannot be told apart in the share of pass" in result.out
    assert "more tasks are needed" in result.out
    assert "accuracy" in call("rate", votes, "--gold", gold, "--system", "w1").out


def test_a_filled_plan_is_read_with_its_strata(votes: Path) -> None:
    plan = votes.with_name("plan.csv")
    assert call("gold", "plan", votes, "-n", "40", "-o", plan).code == 0
    table = pl.read_csv(plan, infer_schema=False).drop("gold")
    table.join(TRUTHS.select("task", gold="label"), on="task").write_csv(plan)
    assert "drawn by strata" in call("rate", votes, "--gold", plan).out
    assert "drawn by strata" in call("jury", votes, "--gold", plan).err


def test_several_questions_are_rated_each(votes: Path) -> None:
    both, gold = votes.with_name("both.csv"), votes.with_name("both_gold.csv")
    names = ("tone", "facts")
    pl.concat([VOTES.with_columns(criterion=pl.lit(name)) for name in names]).write_csv(both)
    pl.concat([GOLD.with_columns(question=pl.lit(name)) for name in names]).write_csv(gold)
    for command in ("rate", "judges"):
        result = call(command, both, "--gold", gold)
        assert result.code == 0
        assert all(name in result.out.splitlines() for name in names)
        report = call(command, both, "--gold", gold, "--json").report
        assert [each["question"] for each in report["questions"]] == list(names)
        refused(call(command, both, "--gold", votes.with_name("gold.csv")), "a column question")


def test_judges_are_those_of_python(votes: Path) -> None:
    gold, out = votes.with_name("gold.csv"), votes.with_name("judges.csv")
    result = call("judges", votes, "--gold", gold, "-o", out)
    found = cs.judges_against_gold(VOTES, GOLD)
    assert result.out == found.summary().partition("\nnote: ")[0] + "\n"
    assert all(len(line) <= 80 for line in result.out.splitlines())
    assert pl.read_csv(out)["worker"].to_list() == [each.worker for each in found.workers]
    report = call("judges", votes, "--gold", gold, "--json").report
    assert (report["best"], report["positive"]) == (found.best, "pass")
    assert len(report["workers"][0]["confusion"]) == 2


def test_mistakes_are_one_line(votes: Path, tmp_path: Path) -> None:
    gold = votes.with_name("gold.csv")
    other = tmp_path / "other.csv"
    other.write_text("task,label\nzz,pass\n")
    refused(call("rate", votes, "--gold", tmp_path / "none.csv"), "a file that exists")
    refused(call("rate", votes, "--gold", other), "no labels for task")
    refused(call("rate", votes, "--gold", gold, "--positive", "spam"), "one of the classes")
    refused(call("rate", votes, "--gold", gold, "--versus", votes), "--versus needs --versus-gold")
    refused(call("rate", votes, "--gold", gold, "--versus-system", gold), "needs --system")
    refused(call("rate", votes, "--gold", gold, "--width", "2"), "--width")
    refused(call("rate", votes, "--gold", gold, "--system", other), "outputs on tasks")
    refused(call("judges", votes, "--gold", other), "tasks that have labels")
    refused(call("judges", votes, "--gold", gold, "--positive", "spam"), "one of the classes")


def test_names_are_shown_as_data(votes: Path) -> None:
    hostile = votes.with_name("hostile.csv")
    odd = VOTES.with_columns(pl.col("judge").replace({"w1": "w\x1b[31m"}))
    odd.write_csv(hostile)
    for command in ("rate", "judges"):
        result = call(command, hostile, "--gold", votes.with_name("gold.csv"))
        assert "\x1b" not in result.out + result.err
