from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import crowdstream
from crowdstream.estimators import Estimator
from tests.cli.tool import call, csv_of, jsonl_of, labels, left_in, refused

ROWS = labels()


def saved(path: Path, part: slice = slice(None), *args: str) -> Path:
    """A state learnt from some of the labels."""
    assert call("run", "-", "-q", "--state", path, *args, stdin=csv_of(ROWS[part])).code == 0
    return path


def test_the_version_is_the_package_s() -> None:
    assert call("version") == (0, f"crowdstream {crowdstream.__version__}\n", "")


# workers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, "-", "p.csv", "p.tsv", "p.jsonl", "p.parquet"])
def test_a_state_file_tells_of_its_workers(tmp_path: Path, name: str | None) -> None:
    state, workers = saved(tmp_path / "s"), tmp_path / "workers.csv"
    call("run", "-", "-q", "--workers", workers, stdin=csv_of(ROWS))
    if name in (None, "-"):
        result = call("workers", state, "-q", *(() if name is None else ("-o", name)))
        assert result == (0, workers.read_text(), "")
        return
    target = tmp_path / str(name)
    assert call("workers", state, "-o", target).code == 0
    if name == "p.parquet":
        found = pl.read_parquet(target)
    elif name == "p.jsonl":
        found = pl.read_ndjson(target)
    else:
        found = pl.read_csv(target, separator="\t" if name == "p.tsv" else ",")
    assert found["worker"].to_list() == pl.read_csv(workers)["worker"].to_list()
    assert found["answers"].sum() == len(ROWS)


def test_a_stream_s_state_tells_of_its_workers_too(tmp_path: Path) -> None:
    state = tmp_path / "s"
    call(
        "stream", "--settle", "1", "--max-labels", "5", "--state", state, "-q", stdin=jsonl_of(ROWS)
    )
    result = call("workers", state)
    run = call("workers", saved(tmp_path / "r", slice(None), "--online"))
    # A stream judges a label by those before it only, a run by all others on its task: what the
    # monitors say is therefore less sure in a stream, and flags follow the intervals.
    counted = ("worker", "answers", "agreement")
    found, wanted = (pl.read_csv(out.encode()) for out in (result.out, run.out))
    assert found.select(counted).equals(wanted.select(counted))
    assert wanted["error_rate"].is_between(found["error_low"], found["error_high"]).all()
    assert "60 tasks, 8 workers" in result.err


@pytest.mark.parametrize("data", [None, b"", b"task,worker,label\n", b"\x00" * 99])
def test_what_is_no_state_is_refused_by_name(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "s"
    if data is not None:
        path.write_bytes(data)
    refused(call("workers", path), str(path))
    refused(call("merge", path, "-o", tmp_path / "m"), str(path))
    assert not (tmp_path / "m").exists()


def test_a_state_cut_short_is_refused_by_name(tmp_path: Path) -> None:
    for path in (saved(tmp_path / "s"), tmp_path / "t"):
        if not path.exists():
            call("stream", "--state", path, "-q", stdin=jsonl_of(ROWS))
        path.write_bytes(path.read_bytes()[:-20])
        refused(call("workers", path), str(path))


# merge --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [(150,), (50, 100, 250)])
def test_states_of_different_tasks_merge_to_that_of_all(
    tmp_path: Path, cuts: tuple[int, ...]
) -> None:
    ends = (0, *cuts, len(ROWS))
    exact = ("--method", "agreement")
    parts = [
        saved(tmp_path / f"s{k}", slice(*ends[k : k + 2]), *exact) for k in range(len(ends) - 1)
    ]
    whole = call("workers", saved(tmp_path / "whole", slice(None), *exact), "-q").out
    result = call("merge", *parts, "-o", tmp_path / "m")
    assert result.code == 0
    assert "60 tasks, 8 workers" in result.err
    # Intervals add up approximately.
    drop = ["error_low", "error_high", "flags"]
    mine, theirs = (
        pl.read_csv(out.encode()).drop(drop).sort("worker")
        for out in (call("workers", tmp_path / "m", "-q").out, whole)
    )
    assert mine.equals(theirs)
    assert call("merge", *reversed(parts), "-o", tmp_path / "m", "-q") == (0, "", "")
    found = pl.read_csv(call("workers", tmp_path / "m", "-q").out.encode()).sort("worker")
    wanted = pl.read_csv(whole.encode()).sort("worker")
    assert found["answers"].equals(wanted["answers"])
    assert found["error_rate"].to_list() == pytest.approx(wanted["error_rate"].to_list())


def test_a_state_may_be_merged_into_itself_s_file(tmp_path: Path) -> None:
    one, other = saved(tmp_path / "a", slice(150)), saved(tmp_path / "b", slice(150, None))
    assert call("merge", one, other, "-o", one, "-q").code == 0
    assert Estimator.load(one.read_bytes()).tasks_ == 60
    assert left_in(tmp_path) == ["a", "b"]


def test_states_of_different_methods_are_not_merged(tmp_path: Path) -> None:
    one = saved(tmp_path / "a")
    other = saved(tmp_path / "b", slice(None), "--method", "majority")
    refused(call("merge", one, other, "-o", tmp_path / "m"), str(other))
    assert left_in(tmp_path) == ["a", "b"]


def test_merging_to_nowhere_is_refused(tmp_path: Path) -> None:
    refused(call("merge", saved(tmp_path / "a"), "-o", tmp_path / "no" / "m"))
    result = call("merge", tmp_path / "a")
    assert result.code == 2
    assert "Traceback" not in result.err


def test_a_file_name_in_brackets_is_reported_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "week[1]x[red].state"
    result = call("merge", saved(tmp_path / "a"), "-o", target)
    assert "week[1]x[red].state" in result.err.replace("\n", "")


# simulate -----------------------------------------------------------------------------------


def test_the_same_seed_makes_the_same_labels_and_another_others() -> None:
    args = ("simulate", "-n", "7", "-t", "50", "-q", "0.3", "--quiet", "--seed")
    one, again, other = (call(*args, seed) for seed in ("1", "1", "2"))
    assert one == again
    assert one.out != other.out
    assert one.out.count("\n") == 7 * 50 + 1


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_made_up_labels_are_decided_right(tmp_path: Path, kind: str) -> None:
    target, truth = tmp_path / f"l.{kind}", tmp_path / f"t.{kind}"
    args = ("-n", "9", "-t", "300", "-p", ".1", "-k", "3", "-o", target, "--truth", truth)
    result = call("simulate", *args)
    assert result.code == 0
    assert "2,700 labels on 300 tasks from 9 workers" in result.err
    report = call("run", target, "--truth", truth, "--json").report
    assert (report["tasks"], report["labels"], report["classes"]) == (300, 2700, 3)
    assert report["error_rate"] < 0.01


def test_some_answer_and_errors_drift() -> None:
    some = call("simulate", "-t", "400", "--answer-rate", "0.25", "--quiet").out.count("\n") - 1
    assert 850 < some < 1150
    args = ("simulate", "-n", "4", "-t", "50", "-p", "0.25", "--quiet")
    assert call(*args).out != call(*args, "--drift", "sine:0.1").out


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_no_tasks_make_a_file_without_rows(tmp_path: Path, name: str) -> None:
    assert call("simulate", "-t", "0", "-o", tmp_path / name, "--quiet").code == 0
    assert call("run", tmp_path / name, "--json").report["tasks"] == 0


@pytest.mark.parametrize(
    "args",
    [
        ("-n", "0"),
        ("-t", "-1"),
        ("-k", "1"),
        ("--answer-rate", "0"),
        ("--answer-rate", "1.5"),
        ("-p", "a,b"),
        ("-p", ".1,.2"),
        ("-p", "2"),
        ("-q", "0.1"),
        ("-q", "nan"),
        ("-o", "l.xls"),
        ("--truth", "no/such/folder/t.csv"),
        ("--seed", "-1"),
        ("-p", "nan"),
        ("--drift", "waves:1"),
        ("--drift", "jump:10"),
        ("--drift", "jump:10:2"),
        ("--per-task", "11"),
        ("--adversaries", "2"),
        ("--copy", "1:0"),
        ("--copy", "1:77:0.5"),
    ],
)
def test_what_cannot_be_made_up_is_refused(args: tuple[str, ...]) -> None:
    refused(call("simulate", "--quiet", *args))
