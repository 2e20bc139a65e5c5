from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

import polars as pl
import pytest
from _pytest.mark import ParameterSet

from tests.cli.tool import call, csv_of, jsonl_of, labels, refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = labels(20)
HEAD = b"task,worker,label\n"
WINDOWS = pytest.mark.parametrize("window", [(), ("--window", "100")])


def mended(*values: object, reason: str) -> ParameterSet:
    """A case that once went wrong, and how."""
    return pytest.param(*values, id=reason)


# Right answers from odd files ----------------------------------------------------------------

LONG = b"x" * 1_000_000
JSON_LINE = re.compile(rb"(\xef\xbb\xbf|\s)*\{")


@WINDOWS
@pytest.mark.parametrize(
    ("data", "tasks", "given"),
    [
        (HEAD + b"a,b,c\nd,e,f", 2, 2),
        (b"\xef\xbb\xbf" + HEAD + b"a,b,c\n", 1, 1),
        ((HEAD + b"a,b,c\nd,e,f\n").replace(b"\n", b"\r\n"), 2, 2),
        (HEAD + b"\n\na,b,c\n\nd,e,f\n\n\n", 2, 2),
        (HEAD + b'"a\nb",w,x\n"a\nb",v,x\n', 1, 2),
        (HEAD + b'"say ""a""",w,"x,y"\n', 1, 1),
        (HEAD + b"a\x00b,w,x\na,w,x\n", 2, 2),
        (HEAD + LONG + b",w,x\n" + LONG + b",v,x\n", 1, 2),
        (HEAD + b"a,w," + LONG + b"\n", 1, 1),
        (HEAD, 0, 0),
        (HEAD.strip(), 0, 0),
        (HEAD + b"a,b,\na,c,x\n", 1, 1),
        (HEAD + "ä,ж,漢\n".encode(), 1, 1),
        (HEAD + b" a,w,x\na,w,x\n", 1, 1),  # blanks around a name are none of it
        (b'"task","worker","label"\n"a","b","c"\n', 1, 1),
        (b"x,task,worker,label,x\n1,a,b,c,2\n1,d,e,f,2\n", 2, 2),
        (b"x,task,worker,label,x\n1,a,b,c,\n,d,e,f,2\n", 2, 2),
        (HEAD + b"007,1.0,1e3\n7,1,1000\n", 2, 2),
        (HEAD + b"NA,null,nan\n", 1, 0),  # a task and a worker may be called so, a label not
        mended(
            HEAD + b'a,b,""\na,c,x\n', 1, 1, reason="a quoted empty label is a class of its own"
        ),
        (b'{"task":"a","worker":"b","label":"c"}', 1, 1),
        (b'\xef\xbb\xbf{"task":"a","worker":"b","label":"c"}\r\n\r\n', 1, 1),
        (b'\n\n{"item":1,"judge":2,"verdict":true,"why":{"a":[1]}}\n', 1, 1),
        (b'{"task":1,"worker":2,"label":3}\n{"task":"1","worker":"4","label":"3"}\n', 1, 2),
        (b'{"task":"a","worker":"b","label":null}\n{"label":"c","worker":"c","task":"a"}\n', 1, 1),
        (b'{"task":"[a]","worker":"{b}","label":"c"}\n', 1, 1),
        (b'{"task":"a","worker":"b","label":"' + LONG + b'"}\n', 1, 1),
        (b'{"task":"\\u0000","worker":"\\n","label":"\\ud83d\\ude00"}\n', 1, 1),
        mended(
            b'{"task":"a","worker":"b","label":""}\n{"task":"a","worker":"c","label":"c"}\n',
            1,
            1,
            reason="an empty label is a class here, a skip in CSV and in stream",
        ),
    ],
)
def test_odd_files_are_counted_right(
    tmp_path: Path, data: bytes, tasks: int, given: int, window: tuple[str, ...]
) -> None:
    path = tmp_path / ("l.jsonl" if JSON_LINE.match(data) else "l.csv")
    path.write_bytes(data)
    report = call("run", path, "--json", *window).report
    assert (report["tasks"], report["labels"]) == (tasks, given)


def test_a_gap_elsewhere_does_not_change_how_numbers_are_written(tmp_path: Path) -> None:
    line = b'{"task":1.0,"worker":1e3,"label":1E2}\n'
    gap = b'{"task":2,"worker":2,"label":null}\n'
    said = []
    for data in (line, line + gap):
        path = tmp_path / "l.jsonl"
        path.write_bytes(data)
        said.append(call("run", path, "-q").out.splitlines()[1].split(",")[:2])
    assert said[0] == said[1]


def test_a_key_twice_in_a_line_is_refused_or_always_the_same(tmp_path: Path) -> None:
    line = b'{"task":"a","task":"b","worker":"w","label":"x"}\n'
    said = []
    for more in (b"", b'{"task":"c","worker":"w","label":null}\n'):
        path = tmp_path / "l.jsonl"
        path.write_bytes(line + more)
        said.append(call("run", path, "-q").out.split("\n")[1:2])
    assert said[0] == said[1]


@WINDOWS
def test_half_a_character_is_refused_as_in_a_stream(
    tmp_path: Path, window: tuple[str, ...]
) -> None:
    path = tmp_path / "l.jsonl"
    path.write_bytes(jsonl_of(ROWS) + b'{"task":"\\ud800","worker":"b","label":"c"}\n')
    refused(call("stream", stdin=path.read_bytes()), "line 101")
    refused(call("run", path, "-q", *window), str(path), "line 101")


@WINDOWS
def test_types_of_parquet_are_read_as_text(tmp_path: Path, window: tuple[str, ...]) -> None:
    path = tmp_path / "l.parquet"
    frame = pl.DataFrame(
        {"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [True, False, None]}
    )
    frame.with_columns(pl.col("worker").cast(pl.Categorical)).write_parquet(path)
    lines = call("run", path, "-q", *window).out.splitlines()[1:]
    assert [line.split(",")[0] for line in lines] == ["1", "2"]
    report = call("run", path, "--json", *window).report
    assert (report["labels"], report["classes"], report["workers"]) == (2, 2, 2)


def test_an_empty_text_in_parquet_is_a_gap_as_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    frame = pl.DataFrame({"task": ["a", "a"], "worker": ["u", "v"], "label": ["x", ""]})
    frame.write_parquet(path)
    assert call("run", path, "--json").report["labels"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "l[1].csv",
        "l[1].jsonl",
        "l*.csv",
        "l?.arrow",
        mended("l[1].parquet", reason="scan_parquet takes the name for a glob"),
        mended("l[1].arrow", reason="scan_ipc takes the name for a glob"),
    ],
)
def test_a_file_s_own_name_is_no_pattern(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row")
    if name.endswith("csv"):
        path.write_bytes(csv_of(ROWS))
    elif name.endswith("jsonl"):
        path.write_bytes(jsonl_of(ROWS))
    else:
        (frame.write_parquet if name.endswith("parquet") else frame.write_ipc)(path)
    for window in ((), ("--window", "5")):
        assert call("run", path, "--json", *window).report["labels"] == 100


# Clear errors ---------------------------------------------------------------------------------


@WINDOWS
@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("l.csv", b"", ""),
        ("l.csv", b"\n\n", ""),
        ("l.csv", b"\xef\xbb\xbf", ""),
        ("l.csv", b"a,b,c\n1,2,3\n", "a task column"),
        ("l.csv", HEAD + b"a,b\n", "line 2: expected 3 fields, found 2"),
        ("l.csv", HEAD + b"a,b,c\na,b,c,d\n", "line 3: expected 3 fields, found 4"),
        ("l.csv", HEAD + b"a,b,c\n\n\na\n", "line 5"),
        ("l.csv", HEAD + b'a,b,c\nd,"e,f\ng,h,i\n', "line 3"),
        ("l.csv", HEAD + "ä,b,c\na,".encode() + b"\xff,c\n", "line 3: expected text in UTF-8"),
        ("l.csv", HEAD + b"a,b,c\na,\x81\x8d,c\n", "line 3: expected text in UTF-8"),
        ("l.csv", "task,worker,label\na,b,c\n".encode("utf-16")[:-1], "text in utf-16"),
        ("l.csv", b"task,worker,label,label\na,b,c,d\n", "one column 'label', found several"),
        ("l.csv", b"task,task,worker,label\na,b,c,d\n", "one column 'task', found several"),
        ("l.csv", b"\x89PNG\r\n\x1a\n\x00\x00", ""),
        ("l.csv", HEAD + b"a,,c\n", "line 2, column 'worker'"),
        ("l.csv", HEAD + b"\n".join([b"a,b,c"] * 5000) + b"\n,b,c", "line 5002, column 'task'"),
        ("l.tsv", HEAD + b"a,b,c\n", "a task column"),
        ("l.jsonl", b"", ""),
        ("l.jsonl", b'[{"task":"a","worker":"b","label":"c"}', "a JSON array, whole"),
        ("l.jsonl", b'[{"task":"a","worker":"b","label":"c"}] []', "nothing behind"),
        ("l.jsonl", b'[{"task":"a","worker":"b","label":"c"}, 7]', "row 2: expected a JSON object"),
        ("l.jsonl", b'{"task":"a","worker":"b","label":"c"}\n[1]\n', "line 2"),
        ("l.jsonl", b'{"task":"a","worker":"b","label":"c"}\n{"task":"a","wor', "line 2"),
        ("l.jsonl", b'{"task":"a","worker":"b","label":"c"} {"task":1}\n', "line 1"),
        ("l.jsonl", b'{"task":"a",\n"worker":"b","label":"c"}\n', "line 1"),
        ("l.jsonl", b'{"task":"a","worker":"b"}\n', "line 1: expected a label column"),
        ("l.jsonl", b'{"task":"a","worker":"b","label":"c"}\n{"task":"a","label":"c"}\n', "line 2"),
        ("l.jsonl", b'{"task":"a","worker":"b","label":[["c"]]}\n', "line 1, column 'label'"),
        ("l.jsonl", b'{"task":"a","worker":"b","label":{"c":1}}\n', "line 1, column 'label'"),
        ("l.jsonl", b'{"task":"a","worker":null,"label":"c"}\n', "line 1, column 'worker'"),
        ("l.jsonl", b'{"task":"a","worker":"\xff","label":"c"}\n', "line 1"),
        ("l.jsonl", b"\x00\x01\x02", "line 1"),
        ("l.jsonl", b'"text"\n', "line 1"),
        ("l.parquet", b"", ""),
        ("l.parquet", b"PAR1 and no more PAR1", ""),
        ("l.arrow", b"", ""),
        ("l.arrow", b"ARROW1\x00\x00garbage", ""),
        ("l.csv.gz", b"", ""),
        ("l.csv.gz", b"plain", ""),
        ("l.csv.gz", gzip.compress(csv_of(ROWS), mtime=0)[:-20], ""),
        ("l.csv.gz", gzip.compress(csv_of(ROWS), mtime=0) + b"more", ""),
        ("l.csv.zst", zstd.compress(csv_of(ROWS))[:-20], ""),
        mended("l.csv.zst", b"plain", "", reason="ZstdError is not caught"),
        mended(
            "l.csv.gz",
            gzip.compress(csv_of(ROWS), mtime=0)[:10] + b"\xff" * 90,
            "",
            reason="zlib.error is not caught",
        ),
        mended(
            "l.csv", HEAD + b'"",b,c\n', "column 'task'", reason="a quoted empty task is a task"
        ),
        mended(
            "l.csv",
            b"task,worker,label,more\na,b,c,1\na,d,c\n",
            "line 3: expected 4 fields, found 3",
            reason="a row short of columns that are not needed passes",
        ),
        mended(
            "l.csv",
            b'"ta\nsk",b,c\n1,2,3\n',
            "",
            reason="the header's newline makes the message two lines",
        ),
        mended(
            "l.csv",
            b"p," + LONG + b"\n1,2\n",
            "",
            reason="csv.Error: field larger than field limit, in the header",
        ),
        mended(
            "l.jsonl",
            b'{"task":"","worker":"b","label":"c"}\n',
            "column 'task'",
            reason="an empty task is a task here, an error in CSV",
        ),
    ],
)
def test_a_broken_file_is_named_in_a_line(
    tmp_path: Path, name: str, data: bytes, words: str, window: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    refused(call("run", path, "--json", *window), str(path), words)


@pytest.mark.parametrize(
    "window", [(), mended(("--window", "9"), reason="a window finds no labels and says nothing")]
)
def test_a_file_of_blank_lines_is_refused(tmp_path: Path, window: tuple[str, ...]) -> None:
    path = tmp_path / "l.jsonl"
    path.write_bytes(b" \n \n")
    refused(call("run", path, *window), str(path))


@WINDOWS
def test_a_truncated_parquet_file_is_named(tmp_path: Path, window: tuple[str, ...]) -> None:
    path = tmp_path / "l.parquet"
    pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row").write_parquet(path)
    whole = path.read_bytes()
    for cut in (3, 50, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        refused(call("run", path, *window), str(path))


def test_nested_columns_of_parquet_are_named(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    pl.DataFrame({"task": [[1]], "worker": ["a"], "label": ["b"]}).write_parquet(path)
    refused(call("run", path), str(path), "column 'task'")
    pl.DataFrame({"task": ["a"], "worker": ["a"], "label": [b"\xff"]}).write_parquet(path)
    refused(call("run", path), str(path), "column 'label'")


@WINDOWS
def test_lines_that_end_as_on_old_macs_are_read_or_refused(
    tmp_path: Path, window: tuple[str, ...]
) -> None:
    path = tmp_path / "l.csv"
    for rows in (ROWS, ROWS[:2]):
        path.write_bytes(csv_of(rows).replace(b"\n", b"\r"))
        result = call("run", path, "--json", *window)
        assert result.code == 2 or result.report["labels"] == len(rows)


@WINDOWS
def test_wide_tables_that_are_odd_are_refused(tmp_path: Path, window: tuple[str, ...]) -> None:
    path = tmp_path / "l.csv"
    for data, words in (
        (b"id,a,a\n1,x,y\n", "column names that differ"),
        (b"what,a,b\n1,x,y\n", "a task column"),
        (b"id,a,b\n1,x,y\n,x,y\n", "line 3, column 'id'"),
        (b"id,a,b\n1,x,y,z\n", "line 2: expected 3 fields, found 4"),
    ):
        path.write_bytes(data)
        refused(call("run", path, "--wide", *window), str(path), words)
    path.with_suffix(".jsonl").write_bytes(jsonl_of(ROWS))
    refused(call("run", path.with_suffix(".jsonl"), "--wide", *window), "--wide")


@WINDOWS
def test_a_wide_row_that_is_too_short_is_refused(tmp_path: Path, window: tuple[str, ...]) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(b"id,a,b\n1,x\n2,x,y\n")
    refused(call("run", path, "--wide", *window), str(path), "line 2: expected 3 fields, found 2")


@pytest.mark.parametrize(
    "task",
    [
        "row",
        "value",
        mended("", reason="with_row_index's DuplicateError, in Parquet"),
        mended("worker", reason="unpivot's DuplicateError, in Parquet"),
        mended("label", reason="unpivot's DuplicateError, in Parquet"),
    ],
)
def test_a_wide_table_s_task_column_may_have_any_name(tmp_path: Path, task: str) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(f"{task},a,b,c\n1,x,y,x\n2,y,y,x\n".encode())
    pl.read_csv(path, infer_schema=False).write_parquet(path.with_suffix(".parquet"))
    for found in (path, path.with_suffix(".parquet")):
        assert call("run", found, "--wide", "--task", task, "--json").report["labels"] == 6


def test_json_in_quarantine_is_as_it_was(tmp_path: Path) -> None:
    path, aside = tmp_path / "l.jsonl", tmp_path / "bad"
    bad = json.dumps({"task": "a", "worker": [1], "label": "ü"})
    path.write_bytes(jsonl_of(ROWS) + bad.encode())
    assert call("run", path, "-q", "--on-error", f"quarantine={aside}").code == 0
    assert aside.read_text().rstrip("\n").endswith(bad)
