from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from crowdstream.cli import app
from crowdstream.labels import readers
from tests.cli.tool import SCRIPT, alike, call, csv_of, gold_of, jsonl_of, labels, left_in, refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = labels()
COLUMNS = ["task", "label", "confidence", "margin", "votes", "settled"]

NEAR = 0.03
"""What monitors say depends a little on how the tasks were cut into blocks, as a window does."""


def table() -> pl.DataFrame:
    return pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row")


# The same whatever it came in ---------------------------------------------------------------


def test_a_task_is_decided_on_a_line_with_its_confidence(label_file: Path) -> None:
    result = call("run", label_file, "--quiet")
    header, *lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert header.split(",") == COLUMNS
    assert [line.split(",")[0] for line in lines] == list(dict.fromkeys(row[0] for row in ROWS))


@pytest.mark.parametrize(
    "name",
    [
        "a.tsv",
        "a.tab",
        "a.txt",
        "a.jsonl",
        "a.ndjson",
        "a.parquet",
        "a.pq",
        "a.arrow",
        "a.feather",
        "a.csv.gz",
        "a.csv.zst",
        "a.jsonl.gz",
        "a.jsonl.zst",
        "a.tsv.zst",
    ],
)
@pytest.mark.parametrize("window", [(), ("--window", "1000")])
def test_the_same_labels_are_decided_alike_from_every_kind_of_file(
    label_file: Path, name: str, window: tuple[str, ...]
) -> None:
    path = label_file.with_name(name)
    kinds = path.suffixes
    if ".parquet" in kinds or ".pq" in kinds:
        table().write_parquet(path)
    elif ".arrow" in kinds or ".feather" in kinds:
        table().write_ipc(path)
    else:
        data = csv_of(ROWS)
        if ".tsv" in kinds or ".tab" in kinds:
            data = data.replace(b",", b"\t")
        if ".jsonl" in kinds or ".ndjson" in kinds:
            data = jsonl_of(ROWS)
        if ".gz" in kinds:
            data = gzip.compress(data)
        if ".zst" in kinds:
            data = zstd.compress(data)
        path.write_bytes(data)
    result = call("run", path, "-q", *window)
    assert result.code == 0
    assert result.out == call("run", label_file, "-q", *window).out


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "ipc"])
def test_standard_input_is_decided_as_files_are(label_file: Path, kind: str) -> None:
    data = {
        "csv": csv_of(ROWS),
        "tsv": csv_of(ROWS).replace(b",", b"\t"),
        "jsonl": jsonl_of(ROWS),
    }.get(kind)
    if data is None:
        path = label_file.with_suffix(".tmp")
        (table().write_parquet if kind == "parquet" else table().write_ipc)(path)
        data = path.read_bytes()
    result = call("run", "-", "--format", kind, "-q", stdin=data)
    assert result == call("run", label_file, "-q")


def test_json_lines_on_standard_input_are_reported_from_csv(label_file: Path) -> None:
    assert call("run", "-", "-q", stdin=jsonl_of(ROWS)) == call("run", label_file, "-q")


def test_ten_files_or_a_glob_are_as_one(label_file: Path) -> None:
    for k in range(10):
        part = ROWS[k * len(ROWS) // 10 : (k + 1) * len(ROWS) // 10]
        label_file.with_name(f"part{k}.csv").write_bytes(csv_of(part))
    whole = call("run", label_file, "-q")
    parts = [label_file.with_name(f"part{k}.csv") for k in range(10)]
    assert call("run", *parts, "-q") == whole
    assert call("run", label_file.with_name("part*.csv"), "-q") == whole
    whole = call("run", label_file, "-q", "--window", "99")
    assert call("run", label_file.with_name("part*.csv"), "-q", "--window", "99") == whole


def test_files_of_different_kinds_and_column_names_add_up(label_file: Path) -> None:
    half = len(ROWS) // 2
    one, other = label_file.with_name("one.csv"), label_file.with_name("other.jsonl")
    one.write_bytes(csv_of(ROWS[:half], "item,Worker ID,Answer"))
    other.write_bytes(jsonl_of(ROWS[half:]))
    assert call("run", one, other, "-q") == call("run", label_file, "-q")


@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba"])
@pytest.mark.parametrize("window", [(), ("--window", "100")])
def test_the_order_of_the_columns_changes_nothing(
    label_file: Path, order: str, window: tuple[str, ...]
) -> None:
    places, names = ["abc".index(letter) for letter in order], ("task", "worker", "label")
    other = label_file.with_name("other.csv")
    header = ",".join(names[k] for k in places)
    other.write_bytes(csv_of([[row[k] for k in places] for row in ROWS], header))
    assert call("run", other, "-q", *window).out == call("run", label_file, "-q", *window).out


def test_columns_can_be_named(label_file: Path) -> None:
    odd = label_file.with_name("odd.csv")
    odd.write_bytes(csv_of([(b, "?", c, a) for a, b, c in ROWS], "p,label,q,r"))
    refused(call("run", odd), str(odd), "a task column", "--task")
    result = call("run", odd, "--task", "r", "--worker", "p", "--label", "q", "-q")
    assert result == call("run", label_file, "-q")
    refused(call("run", odd, "--task", "rr"), "did you mean 'r'?")


def test_one_column_per_worker_is_the_same_as_one_row_per_label(label_file: Path) -> None:
    tasks = list(dict.fromkeys(row[0] for row in ROWS))
    raters = sorted({row[1] for row in ROWS})
    said = {row[:2]: row[2] for row in ROWS}
    cells = [[task, *(said.get((task, who), "") for who in raters)] for task in tasks]
    wide = label_file.with_name("wide.csv")
    wide.write_bytes(csv_of(cells, ",".join(["id", *raters])))
    parquet = label_file.with_name("wide.parquet")
    pl.read_csv(wide, infer_schema=False).write_parquet(parquet)
    ordered = sorted(ROWS, key=lambda row: (tasks.index(row[0]), row[1]))
    label_file.write_bytes(csv_of(ordered))
    long = call("run", label_file, "-q")
    assert call("run", wide, "--wide", "-q") == long
    assert call("run", parquet, "--wide", "-q") == long
    long = call("run", label_file, "-q", "--window", "100")
    assert call("run", wide, "--wide", "-q", "--window", "100") == long


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.ndjson", "d.parquet"])
@pytest.mark.parametrize("window", [(), ("--window", "7")])
def test_decisions_are_written_by_the_extension(
    label_file: Path, name: str, window: tuple[str, ...]
) -> None:
    target = label_file.with_name(name)
    result = call("run", label_file, "-o", target, "-q", *window)
    assert (result.code, result.out) == (0, "")
    if name.endswith(".parquet"):
        found = pl.read_parquet(target)
    elif name.endswith(("jsonl", "ndjson")):
        found = pl.read_ndjson(target)
    else:
        found = pl.read_csv(target, separator="\t" if name.endswith("tsv") else ",")
    assert found.columns == COLUMNS
    assert found["votes"].to_list() == [5] * 60
    assert left_in(label_file.parent) == sorted([name, "labels.csv"])


def test_parquet_is_written_by_pieces_that_leave_no_trace(
    label_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdstream.cli.output.SPILL", 7)
    target, whole = label_file.with_name("d.parquet"), label_file.with_name("d.jsonl")
    assert call("run", label_file, "-o", target, "-q", "--window", "3").code == 0
    assert call("run", label_file, "-o", whole, "-q", "--window", "3").code == 0
    assert pl.read_parquet(target).equals(pl.read_ndjson(whole))
    assert left_in(label_file.parent) == ["d.jsonl", "d.parquet", "labels.csv"]


def test_a_quote_that_is_never_closed_puts_all_it_swallows_aside(tmp_path: Path) -> None:
    path, aside = tmp_path / "l.csv", tmp_path / "bad.txt"
    path.write_text('task,worker,label\na,u,x\na,"v,y\nb,w,x\n')
    result = call("run", path, "--json", "--on-error", f"quarantine={aside}")
    assert result.report["labels"] == 1
    assert aside.read_text().endswith('\ta,"v,y\nb,w,x\n')


def test_the_workers_are_written_too(label_file: Path) -> None:
    workers = label_file.with_name("workers.parquet")
    assert call("run", label_file, "-q", "--workers", workers).code == 0
    found = pl.read_parquet(workers)
    assert sorted(found["worker"]) == [f"w{k}" for k in range(8)]
    assert found["answers"].sum() == len(ROWS)


# What is result -------------------------------------------------------------------------------


def test_json_is_one_object_that_counts_everything(label_file: Path, gold: Path) -> None:
    result = call("run", label_file, "--truth", gold, "--json")
    assert result.out.count("\n") == 1
    assert result.err == ""
    report = result.report
    assert report["schema_version"] == 1
    assert (report["method"], report["tasks"], report["labels"]) == ("adaptive", 60, 300)
    assert (report["workers"], report["classes"], report["scored_tasks"]) == (8, 3, 60)
    assert report["identifiable"] is True
    assert report["warnings"] == []
    assert report["seconds"] >= 0
    assert report["error_rate"] < 0.2


def test_without_gold_nothing_is_said_of_errors(label_file: Path) -> None:
    assert not {"error_rate", "scored_tasks"} & set(call("run", label_file, "--json").report)


def test_the_error_is_the_share_of_wrong_decisions(label_file: Path, gold: Path) -> None:
    rows = call("run", label_file, "-q").out.splitlines()[1:]
    wrong = sum(task[-1] != label for task, label, *_ in (row.split(",") for row in rows))
    assert call("run", label_file, "--json", "--truth", gold).report["error_rate"] == wrong / 60


@pytest.mark.parametrize(
    "window",
    [
        (),
        pytest.param(
            ("--window", "99"),
        ),
    ],
)
def test_ties_are_scored_in_expectation(tmp_path: Path, window: tuple[str, ...]) -> None:
    rows = [(f"t{k}x", who, said) for k in range(9) for who, said in (("a", "x"), ("b", "y"))]
    path, gold = tmp_path / "l.csv", tmp_path / "g.csv"
    path.write_bytes(csv_of(rows))
    gold.write_bytes(gold_of(rows))
    for seed in range(3):
        args = ("--method", "majority", "--seed", str(seed), "--json", *window)
        assert call("run", path, "--truth", gold, *args).report["error_rate"] == 0.5


@pytest.mark.parametrize("window", [(), ("--window", "100"), ("--online",)])
def test_gold_to_learn_from_is_not_scored(
    label_file: Path, gold: Path, window: tuple[str, ...]
) -> None:
    some = label_file.with_name("some.csv")
    some.write_text("".join(gold.read_text().splitlines(keepends=True)[:21]))
    args = ("--json", "--method", "adaptive", *window)
    report = call("run", label_file, "--truth", gold, "--gold", some, *args).report
    assert (report["tasks"], report["scored_tasks"]) == (60, 40)


def test_gold_to_learn_from_is_what_is_said_of_its_tasks(label_file: Path) -> None:
    some = label_file.with_name("some.csv")
    without = call("run", label_file, "--quiet").out.splitlines()[1].split(",")
    other = "x" if without[1] != "x" else "y"
    some.write_text(f"task,gold\n{ROWS[0][0]},{other}\n")
    result = call("run", label_file, "--gold", some, "--quiet").out.splitlines()[1]
    assert result.split(",")[:3] == [ROWS[0][0], other, "1.0"]


def test_gold_of_a_class_that_nobody_gave_is_left_out(label_file: Path) -> None:
    some = label_file.with_name("some.csv")
    known = f"task,gold\n{ROWS[-1][0]},{ROWS[-1][0][-1]}\n"
    some.write_text(known)
    plain = call("run", label_file, "--gold", some)
    some.write_text(f"{known}{ROWS[0][0]},never heard of\n")
    told = call("run", label_file, "--gold", some)
    assert told.out == plain.out
    assert "no worker has given, left out: 'never heard of'" in " ".join(told.err.split())


def test_gold_of_no_task_is_reported(label_file: Path) -> None:
    some = label_file.with_name("some.csv")
    some.write_text(f"task,gold\n{ROWS[0][0]},x\nnobody's,x\n")
    report = call("run", label_file, "--gold", some, "--json").report
    assert report["warnings"] == ['1 task of --gold without labels here: "nobody\'s"']
    assert report["gold_matched"] == {"tasks": 2, "matched": 1, "by_spelling": 0}


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
@pytest.mark.parametrize("gold_kind", ["parquet", "jsonl"])
def test_whole_numbers_are_read_alike_in_labels_and_gold(
    tmp_path: Path, kind: str, gold_kind: str
) -> None:
    rows = pl.DataFrame({"task": [1, 1, 2, 2], "worker": ["a", "b"] * 2, "label": [1.0, 1, 0, 0]})
    truth = pl.DataFrame({"task": [1, 2], "label": [1.0, 0.0]})
    paths = tmp_path / f"l.{kind}", tmp_path / f"g.{gold_kind}"
    for path, table in zip(paths, (rows, truth), strict=True):
        (table.write_parquet if path.suffix == ".parquet" else table.write_ndjson)(path)
    assert call("run", paths[0], "--truth", paths[1], "--json").report["error_rate"] == 0


@pytest.mark.parametrize("args", [("-o", "labels.csv"), ("-o", "x.csv", "--workers", "x.csv")])
def test_nothing_is_written_over_what_is_read_or_written(
    label_file: Path, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(label_file.parent)
    before = label_file.read_bytes()
    refused(call("run", label_file, *args), "a file of its own")
    assert label_file.read_bytes() == before


@pytest.mark.parametrize("window", [(), ("--window", "100")])
def test_a_pipe_with_a_name_is_read_once(label_file: Path, window: tuple[str, ...]) -> None:
    pipe = label_file.with_name("pipe.csv")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[label_file.read_bytes()])
    writer.start()
    report = call("run", pipe, "--json", *window).report
    writer.join()
    assert report["labels"] == 300


def test_too_many_errors_exit_with_1_and_still_write(label_file: Path, gold: Path) -> None:
    target = label_file.with_name("d.csv")
    args = ("run", label_file, "--truth", gold, "-o", target, "--max-error")
    assert call(*args, "1").code == 0
    target.unlink()
    result = call(*args, "0", "-q")
    assert (result.code, result.err) == (1, "")
    assert target.exists()
    result = call(*args, "0", "--json")
    assert result.report["error_rate"] > 0
    assert "above --max-error 0" in result.err


def test_quiet_says_nothing(label_file: Path) -> None:
    assert call("run", label_file, "-q", "-o", label_file.with_name("d.csv"))[1:] == ("", "")


def test_quiet_says_nothing_of_a_window_either(label_file: Path) -> None:
    label_file.write_bytes(csv_of(ROWS[:2]))
    assert (
        call("run", label_file, "-q", "-o", label_file.with_name("d.csv"), "--window", "9").err
        == ""
    )


def test_a_summary_goes_to_standard_error(label_file: Path, gold: Path) -> None:
    result = call("run", label_file, "--truth", gold)
    assert "300 labels on 60 tasks from 8 workers, 3 classes" in result.err
    assert "error rate 0." in result.err


def test_names_in_brackets_are_shown_as_they_are(label_file: Path) -> None:
    label_file.write_bytes(csv_of(ROWS).replace(b",w1,", b",[/b],").replace(b",w2,", b",[red]w,"))
    result = call("run", label_file)
    assert result.code == 0
    assert "[/b]" in result.err
    assert "[red]w" in result.err


def test_repeats_skips_and_changes_of_mind_are_counted(label_file: Path) -> None:
    rows = [("t", "a", "x"), ("t", "a", "x"), ("t", "b", "x"), ("t", "b", "y"), ("t", "c", "")]
    label_file.write_bytes(csv_of(rows))
    report = call("run", label_file, "--json").report
    assert (report["tasks"], report["labels"], report["workers"]) == (1, 2, 3)
    result = " ".join(report["warnings"])
    for words in ("1 empty label skipped", "1 repeated row ignored", "1 label replaced"):
        assert words in result


# Settings -----------------------------------------------------------------------------------


def test_only_the_seed_breaks_ties(label_file: Path) -> None:
    label_file.write_bytes(csv_of((f"t{k}", who, who) for k in range(50) for who in "ab"))
    said = [call("run", label_file, "-q", "--seed", str(seed)).out for seed in (1, 1, 2)]
    assert said[0] == said[1]
    assert said[0] != said[2]


def test_methods_differ_and_are_named(label_file: Path) -> None:
    said = {
        args: call("run", label_file, "-q", *args).out
        for args in [
            ("--method", "agreement"),
            ("--method", "majority"),
            ("--method", "adaptive"),
            ("--method", "centred"),
            ("--online",),
            ("--memory", "5"),
            ("--answer-rate", "0.6"),
        ]
    }
    assert len(set(said.values())) == len(said)
    assert call("run", label_file, "--method", "majority", "--json").report["method"] == "majority"


@pytest.mark.parametrize(
    "args",
    [
        ("--method", "oracle"),
        ("--method", "majority", "--memory", "9"),
        ("--method", "adaptive", "--answer-rate", "0.5"),
        ("--gold", "no such file.csv"),
        ("--memory", "0.5"),
        ("--memory", "nan"),
        ("--memory", "much"),
        ("--answer-rate", "2"),
        ("--answer-rate", "nan"),
        ("--settle", "1.5"),
        ("--settle", "nan"),
        ("--seed", "-1"),
        ("--window", "0"),
        ("--window", "-3"),
        ("--max-error", "0.1"),
        ("--max-error", "nan", "--truth", "labels.csv"),
        ("-o", "decisions.xls"),
        ("-o", "no/such/folder/d.csv"),
        ("--workers", "workers"),
        ("--truth", "missing.csv"),
        ("--on-error", "ignore"),
        ("--on-error", "quarantine"),
        ("--on-error", "quarantine="),
        ("--state", "no/such/folder/s"),
        pytest.param(
            ("--format", "xml"),
        ),
    ],
)
def test_wrong_usage_is_refused_in_a_line(label_file: Path, args: tuple[str, ...]) -> None:
    refused(call("run", label_file, *args, "-q"), args[-1] if args[0] == "--truth" else "")


@pytest.mark.parametrize("args", [(), ("--frobnicate",), ("x.csv", "--seed", "one")])
def test_what_click_refuses_exits_with_2_too(args: tuple[str, ...]) -> None:
    result = call("run", *args)
    assert result.code == 2
    assert "Traceback" not in result.err


@pytest.mark.parametrize("name", ["missing.csv", "*.nothing", ".", "labels.xyz", "labels"])
def test_files_that_are_not_there_are_named(label_file: Path, name: str) -> None:
    label_file.with_name("labels.xyz").touch()
    path = f"{label_file.parent}/{name}"
    refused(call("run", path), path if name != "." else str(label_file.parent))


def test_the_help_of_every_command_has_an_example() -> None:
    for command in ("run", "stream", "workers", "merge", "simulate", "version"):
        shown = CliRunner().invoke(app, [command, "--help"])
        assert shown.exit_code == 0
        assert f"crowdstream {command}" in shown.output


# Windows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["1", "3", "60", "1000"])
@pytest.mark.parametrize(
    "args", [("--method", "agreement"), ("--online",), ("--method", "majority")]
)
def test_a_window_decides_contiguous_tasks_as_the_whole(
    label_file: Path, gold: Path, size: str, args: tuple[str, ...]
) -> None:
    whole = call("run", label_file, "-q", *args)
    part = call("run", label_file, "-q", *args, "--window", size)
    alike(part.out, whole.out)
    reports, workers = [], [label_file.with_name("p.csv"), label_file.with_name("q.csv")]
    for path, extra in zip(workers, ((), ("--window", size)), strict=True):
        result = call(
            "run", label_file, "--truth", gold, "--json", "--workers", path, *args, *extra
        )
        reports.append(result.report | {"seconds": 0, "error_rate": 0, "hardest": 0})
    worth = [report.pop("effective_votes") for report in reports]
    # How split votes are is counted as tasks come: by a winner that may be another at the end.
    most = [report["expected_errors"].pop("high") for report in reports]
    assert most[0] == pytest.approx(most[1], rel=0.1)
    # What a task needs is said when it is decided: in a window, by what is known until then.
    needed = [report.pop("doubtful") for report in reports]
    assert [task["task"] for task in needed[0]] == [task["task"] for task in needed[1]]
    advised = [report.pop("advised") for report in reports]  # error rates are near, not the same
    assert [(who["worker"], who["reason"]) for who in advised[0]] == [
        (who["worker"], who["reason"]) for who in advised[1]
    ]
    assert reports[0] == reports[1]
    assert worth[0] == pytest.approx(worth[1], abs=0.3)
    alike(*workers, error_rate=NEAR, error_low=NEAR, error_high=NEAR)


@pytest.mark.parametrize("size", [150, 1000])
def test_a_window_decides_alike_wherever_the_file_is_cut(
    label_file: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(f'"{task}\n,{task}"', who, said) for task, who, said in ROWS[:100]]
    label_file.write_bytes(csv_of(rows))
    lines = label_file.with_name("l.jsonl")
    lines.write_bytes(jsonl_of([(eval(task.replace("\n", "\\n")), *rest) for task, *rest in rows]))
    method = ("--method", "agreement")  # adaptive learns a table that it sees whole in passes
    whole = call("run", label_file, "-q", *method).out
    monkeypatch.setattr(readers, "read_batches", partial(readers.read_batches, size=size))
    assert call("run", label_file, "-q", "--window", "7", *method).out == whole
    assert call("run", lines, "-q", "--window", "7", *method).out == whole


def test_a_lone_quote_does_not_spoil_the_cuts(
    label_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [('5" pipe', "a", "x"), ("b", "b", "x"), *((f'"t{k}\n"', "b", "x") for k in range(9))]
    label_file.write_bytes(csv_of(rows))
    assert call("run", label_file, "--json").report["labels"] == 11
    monkeypatch.setattr(readers, "read_batches", partial(readers.read_batches, size=20))
    result = call("run", label_file, "--json", "--window", "7")
    assert result.report["labels"] == 11


def test_an_interleaved_window_counts_who_comes_late(label_file: Path) -> None:
    label_file.write_bytes(csv_of([*((f"t{k}", "a", "x") for k in range(5)), ("t0", "b", "x")]))
    report = call("run", label_file, "--json", "--window", "2").report
    assert (report["tasks"], report["labels"]) == (5, 5)
    assert "1 late label ignored: the task had already left the window" in report["warnings"]


def test_a_window_on_a_pipe_is_one_pass(label_file: Path) -> None:
    args = ("run", "-", "-q", "--window", "3")
    online = call("run", label_file, "-q", "--online").out
    alike(call(*args, stdin=csv_of(ROWS)).out, online)
    result = call("run", "-", "--json", "--window", "3", stdin=csv_of(ROWS))
    assert any("read once only" in warning for warning in result.report["warnings"])


# Bad rows -----------------------------------------------------------------------------------

BAD = [("t1", "a", "x"), ("", "b", "x"), ("t1", "c"), ("t1", "d", "x"), ("t2", "", "y")]


def test_a_bad_row_is_named_by_line_and_column(label_file: Path) -> None:
    label_file.write_bytes(csv_of(BAD))
    refused(
        call("run", label_file),
        f"{label_file}, line 3, column 'task': expected a value, found nothing",
    )
    label_file.write_bytes(csv_of(BAD[:1] + BAD[2:]))
    refused(call("run", label_file), f"{label_file}, line 3: expected 3 fields, found 2")


def test_bad_rows_are_skipped_if_asked_and_counted(label_file: Path) -> None:
    label_file.write_bytes(csv_of(BAD))
    report = call("run", label_file, "--on-error", "skip", "--json").report
    assert report["labels"] == 2
    assert "3 bad rows left out" in report["warnings"]


@pytest.mark.parametrize(
    "window",
    [
        (),
        pytest.param(
            ("--window", "9"),
        ),
        ("--window", "9", "--online"),
    ],
)
def test_bad_rows_are_put_aside_once(label_file: Path, window: tuple[str, ...]) -> None:
    label_file.write_bytes(csv_of(BAD))
    aside = label_file.with_name("bad.txt")
    result = call("run", label_file, "--on-error", f"quarantine={aside}", "--json", *window)
    assert "3 bad rows left out" in result.report["warnings"]
    lines = aside.read_text().splitlines()
    assert len(lines) == 3
    for line, number in zip(lines, (3, 4, 6), strict=True):
        assert f"{label_file}, line {number}" in line


def test_bad_rows_are_put_aside_from_json_and_parquet_too(tmp_path: Path) -> None:
    aside, lines, parquet = (tmp_path / name for name in ("bad.txt", "l.jsonl", "l.parquet"))
    lines.write_bytes(jsonl_of([("t", "a", "x")]) + b'{"task": [1], "worker": "b", "label": 1}\n')
    assert call("run", lines, "--on-error", f"quarantine={aside}", "-q").code == 0
    assert "line 2, column 'task'" in aside.read_text()
    frame = pl.DataFrame({"task": ["t", None], "worker": ["a", "b"], "label": [1, 2]})
    frame.write_parquet(parquet)
    refused(call("run", parquet), str(parquet), "row 2", "column 'task'")
    assert call("run", parquet, "--on-error", f"quarantine={aside}", "-q").code == 0
    assert "row 2, column 'task'" in aside.read_text()


# Whole files or none ------------------------------------------------------------------------


@pytest.mark.parametrize("window", [(), ("--window", "2"), ("--window", "2", "--online")])
@pytest.mark.parametrize("target", ["d.csv", "d.jsonl", "d.parquet"])
def test_a_run_that_fails_leaves_nothing_behind(
    label_file: Path, window: tuple[str, ...], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "read_batches", partial(readers.read_batches, size=100))
    label_file.write_bytes(csv_of([*ROWS, ("t", "w")]))
    outputs = ("-o", label_file.with_name(target), "--workers", label_file.with_name("p.csv"))
    refused(
        call("run", label_file, *outputs, "--state", label_file.with_name("s"), *window), "line 302"
    )
    assert left_in(label_file.parent) == ["labels.csv"]


def test_a_run_that_fails_leaves_the_old_output_alone(label_file: Path) -> None:
    target = label_file.with_name("d.csv")
    target.write_text("old")
    label_file.write_bytes(csv_of([*ROWS, ("t", "w")]))
    refused(call("run", label_file, "-o", target, "--window", "3"))
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    "args", [("--truth", "other.csv"), ("--state", "no/such/folder/s"), ("--state", ".")]
)
def test_what_fails_late_leaves_nothing_behind(
    label_file: Path, args: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(label_file.parent)
    other = label_file.with_name("other.csv")
    other.write_text("task,gold\nelsewhere,x\n")
    refused(call("run", label_file, "-o", "d.csv", "-q", *args))
    assert left_in(label_file.parent) == ["labels.csv", "other.csv"]


def test_an_output_that_is_a_folder_is_refused(label_file: Path) -> None:
    label_file.with_name("d.csv").mkdir()
    refused(call("run", label_file, "-o", label_file.with_name("d.csv")))
    assert left_in(label_file.parent) == ["d.csv", "labels.csv"]


# Gold files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["g.csv.gz", "g.jsonl", "g.parquet", "g.tsv.zst", "g.arrow"])
def test_gold_is_the_same_from_every_kind_of_file(label_file: Path, gold: Path, name: str) -> None:
    path, frame = gold.with_name(name), pl.read_csv(gold, infer_schema=False)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(gold.read_bytes()))
    elif name.endswith(".zst"):
        path.write_bytes(zstd.compress(gold.read_bytes().replace(b",", b"\t")))
    elif name.endswith(".jsonl"):
        frame.write_ndjson(path)
    else:
        (frame.write_parquet if name.endswith(".parquet") else frame.write_ipc)(path)
    reports = [call("run", label_file, "--truth", p, "--json").report for p in (gold, path)]
    assert reports[0] | {"seconds": 0} == reports[1] | {"seconds": 0}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("g.csv", b""),
        ("g.csv", b"a,b\n1,2\n"),
        ("g.csv", b"task,gold\nt0x,x\nt0x,y\n"),
        ("g.csv", b"task,gold\nt0x,\xff\n"),
        ("g.csv", b"task,gold\nt0x,x,y\n"),
        ("g.jsonl", b"[1, 2]\n"),
        ("g.jsonl", b'{"task": "t0x", "gold": '),
        ("g.parquet", b"PAR1"),
        ("g.arrow", b"ARROW1"),
        ("g.csv.gz", b"not gzip"),
        pytest.param(
            "g.csv.gz",
            gzip.compress(b"task,gold\nt,x\n", mtime=0)[:-9],
        ),
        pytest.param(
            "g.csv.zst",
            b"not zstd",
        ),
    ],
)
def test_gold_that_cannot_be_read_is_named(label_file: Path, name: str, data: bytes) -> None:
    path = label_file.with_name(name)
    path.write_bytes(data)
    result = call("run", label_file, "--truth", path)
    refused(result)


def test_gold_that_cannot_be_unpacked_is_named(label_file: Path) -> None:
    path = label_file.with_name("g.csv.gz")
    path.write_bytes(b"not gzip")
    refused(call("run", label_file, "--truth", path), str(path))


def test_gold_of_several_files_is_refused_or_read(label_file: Path, gold: Path) -> None:
    gold.with_name("gold2.csv").write_bytes(gold.read_bytes())
    assert call("run", label_file, "--truth", gold.with_name("gold*.csv")).code in (0, 2)


# Other processes ----------------------------------------------------------------------------


def test_the_script_itself_exits_with_2_and_no_traceback(label_file: Path) -> None:
    label_file.write_bytes(b"\x00\x01binary")
    done = subprocess.run([SCRIPT, "run", label_file], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"crowdstream: {label_file}")
    assert done.stderr.count("\n") == 1


def test_a_reader_who_has_enough_gets_no_complaint(label_file: Path) -> None:
    label_file.write_bytes(csv_of(labels(5000)))
    run = subprocess.Popen(
        [SCRIPT, "run", label_file, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    run.stdout.close()
    assert run.stderr is not None
    complaint = run.stderr.read()
    run.stderr.close()
    assert (run.wait(60), complaint) == (141, "")  # as a shell says of a broken pipe


def test_an_interrupt_ends_a_run_without_a_trace(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [SCRIPT, "run", "-", "--window", "5", "-o", tmp_path / "d.csv"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    assert run.stdin is not None
    assert run.stderr is not None
    with run.stdin, run.stderr:
        # More than a pipe holds: once this has been written, the run has begun to read.
        os.write(run.stdin.fileno(), csv_of(ROWS * 100))
        run.send_signal(signal.SIGINT)
        try:
            code = run.wait(5)
        finally:
            run.kill()
            run.wait()
        said = run.stderr.read().decode()
    assert "Traceback" not in said
    assert code == 130
    assert left_in(tmp_path) == []
