"""`crowdstream jury` and `crowdstream preferences`: what `cs.jury` and `cs.preferences` find."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from tests.cli.tool import call, csv_of, refused
from tests.panel.panels import shared_pull
from tests.panel.test_preferences import UNLIKE, compare

VOTES, TRUTHS = shared_pull(5, 120, seed=1)
ROWS = [(q, who, str(said)) for q, each in VOTES.items() for who, said in each.items()]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    path = tmp_path / "votes.csv"
    path.write_bytes(csv_of(ROWS, "item,judge,verdict"))
    return path


@pytest.fixture
def arena(tmp_path: Path) -> Path:
    path = tmp_path / "arena.csv"
    path.write_bytes(csv_of(compare(UNLIKE, 300)[0], "model_a,model_b,judge,winner"))
    return path


def test_a_panel_is_decided_as_in_python(votes: Path) -> None:
    out, judges = votes.with_name("decisions.csv"), votes.with_name("judges.csv")
    result = call("jury", votes, "-o", out, "--workers", judges)
    found = cs.jury(VOTES)
    assert result.code == 0
    assert pl.read_csv(out)["label"].to_list() == found.decisions["label"].to_list()
    assert pl.read_csv(judges).height == 5
    read_as = "read as: task=item, worker=judge, label=verdict (no, yes)\n"
    assert result.err == read_as + found.summary() + "\n"
    assert call("jury", votes).out.splitlines()[0].startswith("task,label,confidence,margin,votes")


def test_a_wide_panel_with_gold_and_families_as_json(votes: Path) -> None:
    wide = votes.with_name("wide.csv")
    pl.DataFrame([{"item": q, **each} for q, each in VOTES.items()]).write_csv(wide)
    gold = votes.with_name("gold.csv")
    gold.write_bytes(csv_of([(str(q), str(x)) for q, x in list(TRUTHS.items())[:60]], "task,label"))
    families = votes.with_name("families.csv")
    families.write_bytes(csv_of([("judge-3", "one"), ("judge-4", "one")], "judge,family"))
    result = call("jury", wide, "--wide", "--gold", gold, "--families", families, "--json")
    assert result.code == 0, result.err
    report = result.report
    assert report["joint_errors"]["tasks"] == 60
    assert report["decided_by"] == "gold"
    assert [one["family"] for one in report["workers"]].count("one") == 2
    assert "decisions" not in report


def test_comparisons_are_rated_as_in_python(arena: Path) -> None:
    out, judges = arena.with_name("ratings.csv"), arena.with_name("judges.csv")
    result = call("preferences", arena, "-o", out, "--workers", judges)
    found = cs.preferences(compare(UNLIKE, 300)[0])
    assert result.code == 0, result.err
    assert pl.read_csv(out)["item"].to_list() == found.items["item"].to_list()
    assert pl.read_csv(judges)["worker"].to_list() == found.workers["worker"].to_list()
    assert result.err == found.summary() + "\n"
    report = call("preferences", arena, "--json", "--position", "none").report
    assert report["items"][0]["item"] == "m7"
    assert "lean" not in report["workers"][0]


def test_mistakes_end_in_one_line(votes: Path, arena: Path) -> None:
    refused(call("jury", votes, "--sure", "3"), "--sure")
    refused(call("jury", votes, "-o", votes), "--output")
    refused(call("preferences", arena, "--position", "left"), "--position")
    refused(call("preferences", votes), "item_a")
    refused(call("preferences", arena, "--winner", "won"), "winner")
