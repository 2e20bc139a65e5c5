"""Input people really have, at the command line: read, and said how; refused in a line if not."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.tool import call, csv_of, gold_of, labels, refused

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = labels(60)
NAMES = ("task", "worker", "label")
WINDOWS = pytest.mark.parametrize("window", [(), ("--window", "100")])
COMMAND = (sys.executable, "-c", "from crowdstream.cli import entry; entry()")


def decided(*args: str | Path) -> tuple[str, list[str]]:
    """The decisions as CSV, and the warnings of the same run."""
    report = call("run", *args, "--json").report
    assert report["labels"] == len(ROWS)
    return call("run", *args, "-q").out, report["warnings"]


@WINDOWS
@pytest.mark.parametrize(
    ("change", "encoding", "said"),
    [
        ((",", ";"), "utf-8", "read as ;-separated"),
        ((",", "|"), "latin-1", "read as |-separated, Latin-1"),
        ((",", "\t"), "utf-8", "read as tab-separated"),
        (("\n", "\r"), "utf-8", r"read as \r line ends"),
        ((",", ","), "utf-16", "read as UTF-16"),
    ],
)
def test_exports_of_all_kinds_give_the_same_decisions_and_are_said(
    tmp_path: Path,
    label_file: Path,
    change: tuple[str, str],
    encoding: str,
    said: str,
    window: tuple[str, ...],
) -> None:
    path = tmp_path / "export.csv"
    text = csv_of(ROWS).decode().replace("w3", "wé").replace(*change)
    path.write_bytes(text.encode(encoding))
    label_file.write_bytes(csv_of(ROWS).replace(b"w3", "wé".encode()))
    out, warnings = decided(path, *window)
    assert out == decided(label_file, *window)[0]
    assert f"{path}: {said}" in warnings


@WINDOWS
def test_a_json_array_and_a_workbook_give_the_same_decisions(
    tmp_path: Path, label_file: Path, window: tuple[str, ...]
) -> None:
    wanted = decided(label_file, *window)[0]
    array = tmp_path / "l.json"
    array.write_text(json.dumps([dict(zip(NAMES, row, strict=True)) for row in ROWS], indent=2))
    assert decided(array, *window)[0] == wanted
    assert call("run", "-", "-q", *window, stdin=array.read_bytes()).code == 0
    book = tmp_path / "l.xlsx"
    pl.DataFrame(ROWS, list(NAMES), orient="row").write_excel(book, worksheet="Labels")
    assert decided(book, *window)[0] == wanted
    assert decided(book, "--sheet", "Labels", *window)[0] == wanted
    refused(call("run", book, "--sheet", "Gold", *window), str(book), "--sheet", "Labels")


def test_the_options_are_obeyed(tmp_path: Path, label_file: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(csv_of(ROWS).replace(b",", b"#").decode().encode("utf-16-le"))
    out, warnings = decided(path, "--separator", "#", "--encoding", "utf-16-le")
    assert (out, warnings) == decided(label_file)
    refused(call("run", path, "--encoding", "latin-1"), str(path))
    refused(call("run", path, "--encoding", "klingon"), "--encoding")
    refused(call("run", path, "--separator", "and"), "--separator")
    refused(call("run", label_file, "--max-bytes", "100"), "--max-bytes")
    refused(call("run", label_file, "--max-bytes", "lots"), "--max-bytes")


# Every command that reads labels says how it read them -----------------------------------------


def test_other_commands_say_it_too(tmp_path: Path, gold: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(csv_of(ROWS).replace(b",", b";"))
    said = f"{path}: read as ;-separated"
    for args in (
        ("gold", "plan", path),
        ("gold", "check", path, gold),
        ("savings", path, "--orders", "1"),
        ("compare", path, "--truth", gold, "--methods", "majority", "--quick"),
    ):
        result = call(*args)
        assert result.code == 0, result
        assert said in " ".join(result.err.split()), args
        assert call(*args, "--json").report["warnings"][:1] == [said], args
        assert said not in call(*args, "-q").err


def test_how_gold_and_truth_were_read_is_said(tmp_path: Path, label_file: Path) -> None:
    path = tmp_path / "gold.csv"
    path.write_bytes(gold_of(ROWS).replace(b",", b";"))
    for option in ("--gold", "--truth"):
        warnings = call("run", label_file, option, path, "--json").report["warnings"]
        assert f"{option} {path}: read as ;-separated" in warnings


# Second headers --------------------------------------------------------------------------------


@WINDOWS
def test_cat_of_two_files_is_noticed(
    tmp_path: Path, label_file: Path, window: tuple[str, ...]
) -> None:
    path = tmp_path / "both.csv"
    path.write_bytes(csv_of(ROWS[:150]) + csv_of(ROWS[150:]))
    out, warnings = decided(path, *window)
    assert out == decided(label_file, *window)[0]
    assert f"{path}: row 151 repeats the header, left out" in warnings


def test_the_number_of_the_row_is_as_people_count(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    rows = labels(1000)
    path.write_bytes(csv_of(rows) * 2)
    assert "row 5,001 repeats the header" in call("run", path, "--json").out


# Columns ---------------------------------------------------------------------------------------


def test_the_useful_columns_are_named_first_in_two_lines_of_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(",".join([*(f"extra_{k}" for k in range(90)), "item", "anotator", "answer"]))
    result = call("run", path)
    refused(result, "found anotator, extra_0", "and 81 more", "did you mean 'anotator'", "--worker")
    assert len(result.err.removeprefix(f"crowdstream: {path}")) < 240


def test_the_wide_form_is_suggested_and_a_long_one_noticed(
    tmp_path: Path, label_file: Path
) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("item,ann,bob,cy\n" + "".join(f"i{k},yes,{'yn'[k % 2]},no\n" for k in range(9)))
    path.write_text(path.read_text().replace(",y,", ",yes,").replace(",n,", ",no,"))
    refused(call("run", path), str(path), "try --wide")
    assert call("run", path, "--wide", "--json").report["labels"] == 27
    refused(call("run", label_file, "--wide"), str(label_file), "leave out --wide")


def test_a_header_of_20_mb_is_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    for header in (b"x" * 20_000_000, b"columns, " * 2_200_000):
        path.write_bytes(header + b"\n1,2\n")
        result = call("run", path)
        refused(result, str(path), "a header of at most 4,194,304 bytes")
        assert len(result.err) < 300
    path = tmp_path / "l.jsonl"
    path.write_bytes(b'{"' + b"x" * 20_000_000 + b'": 1}\n')
    result = call("run", path)
    refused(result, "a task column")
    assert len(result.err) < 300


# Small tables ----------------------------------------------------------------------------------


def test_mistakes_in_small_tables_name_the_option(tmp_path: Path, label_file: Path) -> None:
    empty, missing = tmp_path / "empty.csv", tmp_path / "missing.csv"
    empty.write_text("task,gold\n")
    for option in ("--gold", "--truth"):
        refused(call("run", label_file, option, empty), option, str(empty), "at least one row")
        refused(call("run", label_file, option, missing), f"{option}: expected a file that exists")
    for option in ("--families", "--costs"):
        refused(call("run", label_file, option, missing), f"{option}: expected a file that exists")
        refused(call("run", label_file, option, empty), f"{option} {empty}")
    refused(call("gold", "plan", label_file, "--gold", missing), "--gold: expected a file")
    refused(
        call("gold", "plan", label_file, "--gold", empty), f"--gold {empty}", "at least one row"
    )
    refused(call("savings", label_file, "--truth", missing), "--truth: expected a file")
    refused(call("compare", label_file, "--truth", missing), "--truth: expected a file")


# Nobody gets hurt ------------------------------------------------------------------------------


def limited(*args: str | Path, most: int) -> subprocess.CompletedProcess[str]:
    """A command in a process that may not take more memory than this."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))

    return subprocess.run(
        [*COMMAND, *map(str, args)],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        env={**os.environ, "POLARS_MAX_THREADS": "2"},  # each thread takes some
        timeout=120,
        check=False,
    )


@WINDOWS
@pytest.mark.parametrize("kind", ["csv.gz", "csv.zst", "jsonl.gz"])
def test_a_file_that_unpacks_to_gigabytes_is_stopped_early(
    tmp_path: Path, kind: str, window: tuple[str, ...]
) -> None:
    path = tmp_path / f"bomb.{kind}"
    pack = zstd.compress if kind.endswith("zst") else lambda data: gzip.compress(data, 9)
    head = b"task,worker,label\n" if kind.startswith("csv") else b""
    # Packed texts one after another are one text: 2 GiB of zeros from 2 MB (gzip), 70 KB (zstd).
    path.write_bytes(pack(head) + pack(bytes(64 << 20)) * 32)
    found = limited("run", path, "-q", *window, most=1 << 30)
    assert found.returncode == 2, found.stderr
    assert "at most 200 times its size" in found.stderr
    assert "--max-ratio" in found.stderr
    found = limited("run", path, "-q", "--max-ratio", "1e6", "--max-bytes", "9MB", most=1 << 30)
    assert (found.returncode, "--max-bytes" in found.stderr) == (2, True), found.stderr


def test_a_small_table_that_unpacks_to_gigabytes_is_stopped_too(
    tmp_path: Path, label_file: Path
) -> None:
    path = tmp_path / "gold.csv.gz"
    path.write_bytes(gzip.compress(b"task,gold\n") + gzip.compress(bytes(64 << 20)) * 32)
    for option in ("--gold", "--truth", "--families"):
        found = limited("run", label_file, "-q", option, path, most=1 << 30)
        assert found.returncode == 2, found.stderr
        assert option in found.stderr
        assert "--max-ratio" in found.stderr


def test_an_array_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "l.json.gz"
    row = json.dumps({"task": "t", "worker": "w", "label": "x", "text": "x" * 500_000}).encode()
    # As a whole it would not fit twice.
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"[" + row)
        for _ in range(400):
            file.write(b"," + row)
        file.write(b"]")
    size = 400 * len(row)
    found = limited("run", path, "--json", "--max-ratio", "1e6", most=2 * size)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["tasks"] == 1


@pytest.mark.parametrize("kind", [(), ("--format", "parquet"), ("--format", "jsonl")])
def test_a_closed_standard_input_is_no_traceback(kind: tuple[str, ...]) -> None:
    line = " ".join(["exec", f"'{COMMAND[0]}'", "-c", f"'{COMMAND[2]}'", "run", "-", *kind, "<&-"])
    found = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert found.returncode == 2
    message = "standard input: expected something to read, found it closed"
    assert found.stderr == f"crowdstream: {message}\n"


@WINDOWS
def test_json_nested_without_end_is_refused_or_set_aside(
    tmp_path: Path, window: tuple[str, ...]
) -> None:
    path = tmp_path / "l.jsonl"
    deep = b'{"task":"a","worker":"b","label":"c","x":' + b"[" * 10**6 + b"]" * 10**6 + b"}\n"
    path.write_bytes(deep)
    refused(call("run", path, *window), str(path), "line 1: expected JSON nested at most 100 deep")
    path.write_bytes(b'{"task":"a","worker":"b","label":"c"}\n' + deep)
    report = call("run", path, "--json", "--on-error", "skip", *window).report
    assert "1 bad row left out" in report["warnings"]
