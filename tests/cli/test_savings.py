from __future__ import annotations

from pathlib import Path
from unittest import mock

import polars as pl
import pytest

from tests.cli.tool import call, csv_of, jsonl_of, labels, left_in, refused

ROWS = labels(30, a_task=4)


def test_the_answer_and_a_table_are_reported(label_file: Path, gold: Path) -> None:
    result = call("savings", label_file, "--truth", gold, "--orders", "1")
    assert (result.code, result.out) == (0, "")
    assert "the error majority vote has with all 120 labels (0." in result.err
    assert "labels per task" in result.err
    assert "never" in result.err
    assert "no gold" not in result.err


def test_without_gold_this_is_said(label_file: Path, gold: Path) -> None:
    result = call("savings", label_file, "--orders", "1")
    assert "no gold: an error is a decision that differs from the one with all labels" in result.err


def test_json_is_one_object_and_quiet_is_quiet(label_file: Path, gold: Path) -> None:
    args = ("savings", label_file, "--truth", gold, "--orders", "1")
    result = call(*args, "--json")
    assert result.err == ""
    report = result.report
    assert (report["schema_version"], report["method"]) == (1, "adaptive")
    assert (report["tasks"], report["labels"], report["scored_tasks"]) == (30, 120, 30)
    assert report["error_against"] == "truth"
    assert {"rule", "settle", "labels_per_task", "error"} <= set(report["curves"][0])
    assert call(*args, "-q") == (0, "", "")


def test_the_same_seed_gives_the_same_and_another_another(label_file: Path) -> None:
    args = ("savings", label_file, "--json", "--orders", "1", "--seed")
    one, again, other = (call(*args, seed) for seed in ("1", "1", "2"))
    assert one == again
    assert one.out != other.out


@pytest.mark.parametrize("method", ["agreement", "centred", "majority"])
def test_every_method_can_be_the_crowd(label_file: Path, method: str) -> None:
    result = call("savings", label_file, "--json", "--orders", "1", "--method", method)
    assert result.report["method"] == method


@pytest.mark.parametrize("name", ["c.csv", "c.jsonl", "c.parquet", "-"])
def test_the_curves_are_written(label_file: Path, tmp_path: Path, name: str) -> None:
    target = "-" if name == "-" else tmp_path / name
    result = call("savings", label_file, "-q", "--orders", "1", "-o", target)
    assert result.code == 0
    if name == "-":
        found = pl.read_csv(result.out.encode())
    elif name == "c.csv":
        found = pl.read_csv(target)
    elif name == "c.jsonl":
        found = pl.read_ndjson(target)
    else:
        found = pl.read_parquet(target)
    assert found.columns == ["rule", "settle", "redundancy", "labels_per_task", "error", "spread"]
    assert found.height == 11 + 2 * 4


@pytest.mark.parametrize(
    ("name", "begins"), [("c.html", b"<!DOCTYPE html>"), ("c.png", b"\x89PNG"), ("c.svg", b"<svg")]
)
def test_the_chart_is_drawn(
    label_file: Path, gold: Path, tmp_path: Path, name: str, begins: bytes
) -> None:
    pytest.importorskip("altair")
    target = tmp_path / name
    assert call("savings", label_file, "-q", "--orders", "1", "--chart", target).code == 0
    assert target.read_bytes().lstrip().startswith(begins)
    assert name == "c.png" or b"labels.csv: 120 labels of 30 tasks" in target.read_bytes()
    assert left_in(tmp_path) == sorted([name, "gold.csv", "labels.csv"])


def test_columns_are_named_and_other_formats_read(tmp_path: Path) -> None:
    odd, plain = tmp_path / "odd.csv", tmp_path / "plain.jsonl"
    odd.write_bytes(csv_of(ROWS, "thing,who,what"))
    plain.write_bytes(jsonl_of(ROWS))
    args = ("--json", "--orders", "1")
    named = call("savings", odd, *args, "--task", "thing", "--worker", "who", "--label", "what")
    piped = call("savings", "-", "--format", "csv", *args, stdin=csv_of(ROWS))
    found = [each.report for each in (named, call("savings", plain, *args), piped)]
    assert found[0].pop("read_as")["columns"]["task"] == ["thing"]
    assert [each.pop("read_as")["columns"]["task"] for each in found[1:]] == [["task"]] * 2
    assert found[0] == found[1] == found[2]


def test_one_row_per_task_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_bytes(
        b"task,ann,bob,eve\n"
        + b"".join(b"t%d,x,%s,y\n" % (k, b"y" if k % 2 else b"x") for k in range(9))
    )
    report = call("savings", path, "--wide", "--json", "--orders", "1").report
    assert (report["tasks"], report["labels"]) == (9, 27)


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--method", "magic"), "--method"),
        (("--orders", "0"), "--orders"),
        (("--seed", "-1"), "--seed"),
        (("-o", "c.xls"), "--output"),
        (("--chart", "c.gif"), ".html .png .svg"),
        (("--chart", "no/such/c.png"), "a folder that exists"),
        (("--truth", "no-such.csv"), "no-such.csv"),
        (("--task", "thing"), "thing"),
    ],
)
def test_wrong_usage_is_refused(label_file: Path, args: tuple[str, str], word: str) -> None:
    refused(call("savings", label_file, *args), word)


def test_labels_of_which_none_can_be_saved_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(csv_of([("a", "w", "x"), ("b", "w", "x")]))
    refused(call("savings", path), "one each")
    path.write_bytes(csv_of([]))
    refused(call("savings", path), "labels: expected some")


def test_gold_of_other_tasks_is_refused(label_file: Path, gold: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_bytes(b"task,gold\nelsewhere,x\n")
    refused(call("savings", label_file, "--truth", other), "none in common")
    other.write_bytes(b"task,gold\nt0x,x\nt0x,y\n")
    refused(call("savings", label_file, "--truth", other), "one true label per task")


def test_a_chart_is_not_written_over_the_labels(tmp_path: Path) -> None:
    pytest.importorskip("altair")
    path = tmp_path / "labels.svg"
    path.write_bytes(csv_of(ROWS))
    refused(call("savings", path, "--format", "csv", "--chart", path), "a file of its own")


def test_without_the_extra_a_chart_says_which_to_install(label_file: Path) -> None:
    with mock.patch("importlib.util.find_spec", return_value=None):
        result = call("savings", label_file, "--chart", "c.png")
    refused(result, "this needs altair: pip install 'crowdstream[report]'")
