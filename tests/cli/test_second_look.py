"""What new users stumbled over: headers again in a stream, pipes that close, gold that fits not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl

import crowdstream as cs

from .tool import call

ROWS = "".join(f"t{t},w{w},{'yes' if t % 2 else 'no'}\n" for t in range(30) for w in range(4))
LABELS = "task,worker,label\n" + ROWS
START = [sys.executable, "-c", "from crowdstream.cli import main; main()"]


def test_a_header_again_is_no_label_of_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text(LABELS + "task,worker,label\n" + ROWS.replace("t", "u") + LABELS)
    found = call("stream", path)
    tasks = {json.loads(line)["task"] for line in found.out.splitlines()}
    assert len(tasks) == 60
    assert "task" not in tasks
    assert found.err.count("line 122 repeats the header: left out") == 1
    assert found.err.count("repeats the header") == 1


def test_what_is_called_broken_pipe_is_no_reader_that_left(tmp_path: Path) -> None:
    found = call("run", tmp_path / "Broken pipe.csv")
    assert found.code == 2
    assert "expected a file that exists" in found.err


def test_a_reader_that_leaves_before_the_state_is_saved_is_no_success(tmp_path: Path) -> None:
    made = cs.simulate(3, 30_000, p=0.2, seed=1).labels()
    made.write_csv(tmp_path / "many.csv")
    command = [*START, "run", "many.csv", "-q", "--state", "crowd.state"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as one:
        assert one.stdout is not None
        os.read(one.stdout.fileno(), 10)
        one.stdout.close()
        code = one.wait(60)
    assert (code, (tmp_path / "crowd.state").exists()) == (141, False)


def test_gold_in_other_words_is_refused_and_some_of_it_is_counted(tmp_path: Path) -> None:
    labels, gold = tmp_path / "labels.csv", tmp_path / "gold.csv"
    labels.write_text(LABELS)
    gold.write_text("task,label\nt1,ja\nt2,nein\n")
    for option in ("--gold", "--truth"):
        found = call("run", labels, option, gold, "-o", tmp_path / "o.csv")
        expected = f"{option}: expected classes that workers have given, such as 'no', 'yes'"
        assert found.code == 2
        assert f"{expected}, found only 'ja', 'nein'" in found.err
    gold.write_text("task,label\nt1,ja\nt2,No\n")
    found = call("run", labels, "--gold", gold, "-o", tmp_path / "o.csv")
    said = "2 of 2 gold tasks matched, 1 of them in classes that no worker gave"
    assert found.code == 0
    assert said in " ".join(found.err.split())


def test_the_screen_and_the_file_of_tasks_to_resend_say_the_same(tmp_path: Path) -> None:
    made = cs.simulate(30, 3000, q=0.3, per_task=7, seed=1).labels()
    made.write_csv(tmp_path / "labels.csv")
    again = tmp_path / "again.csv"
    found = call(
        "run", tmp_path / "labels.csv", "--resend", again, "--json", "-o", tmp_path / "o.csv"
    )
    shown = [(task["task"], task["more_labels"]) for task in json.loads(found.out)["doubtful"]]
    assert (
        pl.read_csv(again, schema_overrides={"task": pl.String})
        .select("task", "more_labels")
        .head(5)
        .rows()
        == shown
    )


def test_small_words(tmp_path: Path) -> None:
    one, out = tmp_path / "one.csv", tmp_path / "o.csv"
    one.write_text("task,worker,label\na,w,x\n")
    assert "1 worker, 1 class;" in call("run", one, "-o", out).err
    assert call("run", one, "-o", out, "--window", "0").err.startswith("crowdstream: --window: ")
    found = call("run", one, "-o", out, "--order", "x,y,x")
    assert "expected every class once, found 'x' twice" in found.err
    one.write_text("task,worker,Input.text,Answer.choice\na,w,x,y\n")
    assert "--label Input.text --label Answer.choice" in call("run", one, "-o", out).err


def test_a_stream_says_what_reads_the_input_that_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    for content, found in (
        (b'[{"task": 1, "worker": 2, "label": 3}]', "a JSON array, which crowdstream run reads"),
        (b"\x1f\x8b\x08\x00\x00", "zcat FILE | crowdstream stream"),
        (LABELS.encode("utf-16"), "iconv -f utf-16"),
        (LABELS.replace(",", ";").encode(), "found ; between them (crowdstream run reads it)"),
        (LABELS.replace(",", "\t").encode(), "found tabs between them"),
    ):
        path.write_bytes(content)
        result = call("stream", path)
        assert result.code == 2
        assert found in result.err
