from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from tests.cli.tool import SCRIPT, Result, Row, call, csv_of, jsonl_of, labels, left_in, refused

ROWS = labels(40)


def mixed(rows: list[Row], seed: int = 1) -> list[Row]:
    """The labels of many tasks through one another."""
    return random.Random(seed).sample(rows, len(rows))


def stream(data: bytes | int, *args: str | Path) -> Result:
    return call("stream", "-q", *args, stdin=data)


# Decisions ----------------------------------------------------------------------------------


def test_a_task_that_fills_is_decided_on_a_json_line() -> None:
    result = stream(jsonl_of(ROWS), "--settle", "1", "--max-labels", "5")
    assert (result.code, result.err) == (0, "")
    tasks = [line["task"] for line in result.lines]
    assert tasks == list(dict.fromkeys(row[0] for row in ROWS))
    assert {(line["votes"], line["closed"]) for line in result.lines} == {(5, "full")}


@pytest.mark.parametrize("method", ["agreement", "majority"])
def test_a_stream_agrees_with_an_online_run(tmp_path: Path, method: str) -> None:
    target = tmp_path / "d.jsonl"
    args = ("--method", method, "--seed", "3")
    call("run", "-", "--online", "-q", "-o", target, *args, stdin=csv_of(ROWS))
    run = [json.loads(line) for line in target.read_text().splitlines()]
    closed = stream(csv_of(ROWS), "--settle", "1", "--max-labels", "5", *args).lines
    assert len(run) == 40
    for one, other in zip(run, closed, strict=True):
        for name in ("task", "label", "votes"):
            assert one[name] == other[name]
    # A table's classes are known before its first task, a stream's when they come.
    for one, other in zip(run[10:], closed[10:], strict=True):
        for name in ("confidence", "margin"):
            assert one[name] == pytest.approx(other[name], abs=1e-9)


def test_csv_and_json_lines_stream_alike() -> None:
    rows = mixed(ROWS)
    args = ("--max-labels", "4", "--settle", "0.9")
    result = stream(jsonl_of(rows), *args)
    assert stream(csv_of(rows), *args) == result
    assert stream(b"\xef\xbb\xbf" + csv_of(rows).replace(b"\n", b"\r\n")[:-2], *args) == result
    odd = csv_of([(c, a, "?", b) for a, b, c in rows], "verdict,item,x,judge")
    assert stream(odd, *args) == result
    named = csv_of([(c, a, b) for a, b, c in rows], "p,q,r")
    assert stream(named, *args, "--task", "q", "--worker", "r", "--label", "p") == result


def test_a_hopeless_task_is_given_up_and_counted() -> None:
    rng, rows = random.Random(4), []
    for t in range(150):
        rate = 0.5 if t % 3 == 0 else 0.1
        for i in rng.sample(range(20), 12):
            rows.append((f"t{t}", f"w{i}", str(int(rng.random() < rate) ^ t % 2)))
    rules = ("--settle", "0.98", "--max-labels", "12")
    result = call("stream", *rules, "--give-up", "0.2", stdin=jsonl_of(rows))
    hard = [line for line in result.lines if line["closed"] == "hard"]
    assert hard
    assert all(6 <= line["votes"] < 12 and not line["settled"] for line in hard)
    assert f"{len(hard)} given up as hard" in result.err
    assert "hard" not in {line["closed"] for line in stream(jsonl_of(rows), *rules).lines}
    refused(call("stream", "--give-up", "2", stdin=jsonl_of(rows)), "give_up")


def test_a_sure_task_settles_before_it_is_full() -> None:
    closed = stream(jsonl_of(labels(200)), "--settle", "0.9", "--max-labels", "5").lines
    settled = [line for line in closed if line["closed"] == "settled"]
    assert settled
    assert all(line["confidence"] >= 0.9 for line in settled)
    assert any(line["votes"] < 5 for line in settled)


def test_idle_tasks_close_by_the_times_of_the_labels() -> None:
    rows = [("a", 0), ("b", 30), ("a", 40), ("c", 95), ("c", 101)]
    data = "".join(
        json.dumps({"task": task, "worker": f"w{at}", "label": "x", "at": at}) + "\n"
        for task, at in rows
    )
    closed = stream(data.encode(), "--idle", "1m").lines
    assert [(line["task"], line["votes"], line["closed"]) for line in closed] == [
        ("b", 1, "idle"),
        ("a", 2, "idle"),
        ("c", 2, "end"),
    ]


def test_iso_times_are_seconds() -> None:
    data = "task,worker,label,at\na,u,x,2024-01-01T00:00:00Z\nb,u,x,2024-01-01T00:02:00+00:00\n"
    closed = stream(data.encode(), "--idle", "1m").lines
    assert [line["closed"] for line in closed] == ["idle", "end"]
    refused(stream(data.replace("2024-01-01T00:02", "soon").encode()), "line 3", "'at'")


def test_gold_does_not_spoil_the_times_of_the_labels() -> None:
    lines = [
        {"task": "a", "worker": "u", "label": "x", "at": 0, "gold": "x"},
        {"task": "b", "worker": "u", "label": "x", "at": 10},
        {"task": "c", "worker": "u", "label": "x", "at": 100},
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines)
    closed = stream(data.encode(), "--idle", "1m").lines
    assert [line["closed"] for line in closed] == ["idle", "idle", "end"]


def test_a_task_closes_by_the_clock_while_nothing_comes() -> None:
    read, write = os.pipe()
    os.write(write, jsonl_of([("a", "u", "x")]))
    threading.Timer(1.0, os.close, [write]).start()
    try:
        assert [line["closed"] for line in stream(read, "--idle", "0.3s").lines] == ["idle"]
    finally:
        os.close(read)


def test_late_and_repeated_labels_are_reported() -> None:
    rows = [("a", "u", "x"), ("a", "u", "x"), ("a", "u", "y"), ("a", "v", "x"), ("a", "w", "y")]
    result = call("stream", "--max-labels", "2", stdin=jsonl_of([*rows, ("b", "u", "")]))
    assert result.code == 0
    for words in ("2 labels, 2 tasks closed", "1 repeated", "1 replaced", "1 late", "1 skipped"):
        assert words in result.err


@pytest.mark.parametrize(
    "args",
    [
        ("--format", "xml"),
        ("--idle", "soon"),
        ("--idle", "0"),
        ("--save-every", "-1s"),
        ("--settle", "0.2"),
        ("--settle", "nan"),
        ("--max-labels", "0"),
        ("--method", "oracle"),
        ("--on-error", "ignore"),
        ("--state", "."),
    ],
)
def test_wrong_usage_is_refused_in_a_line(args: tuple[str, str]) -> None:
    refused(stream(b"", *args))


# Input that is not what it should be -------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"task,worker,label\na,b\n", "line 2: expected 3 fields, found 2"),
        (b"task,worker,label\na,b,c,d\n", "line 2: expected 3 fields, found 4"),
        (b"task,worker,label\n\n,b,c\n", "line 3"),
        (b'task,worker,label\na,b,"c\n', "line 2"),
        (b"task,worker,label\na,b,\xff\n", "line 2"),
        (b"\xff\xfet\x00a\x00", "line 1"),
        (b"nothing,of,this\na,b,c\n", "a task column"),
        (b'{"task": "a", "worker": "b", "label": "c"}\n{"task": "a"\n', "line 2"),
        (b'{"task": "a", "worker": "b", "label": "c"}\n[1]\n', "line 2"),
        (b'{"task": "a", "worker": "b", "label": ["c"]}\n', "line 1, column 'label'"),
        (b'{"task": {}, "worker": "b", "label": "c"}\n', "line 1, column 'task'"),
        (b'{"task": "a", "worker": null, "label": "c"}\n', "line 1"),
        (b'{"task": "a", "label": "c"}\n', "line 1: expected a worker column"),
        (b'{"task":"a","worker":"b","label":"c","at":' + b"9" * 400 + b"}\n", "column 'at'"),
        (b"\x00\x01\x02\n\x00\n", "standard input"),
        pytest.param(
            b"task,worker,label,label\na,b,c,d\n",
            "one column 'label', found several",
        ),
    ],
)
def test_a_bad_line_is_named(data: bytes, words: str) -> None:
    refused(stream(data), "standard input", words)


def test_bad_lines_are_skipped_or_put_aside_if_asked(tmp_path: Path) -> None:
    data = csv_of([("a", "u", "x"), ("a", "v"), ("", "w", "x"), ("a", "w", "x")])
    result = call("stream", "--on-error", "skip", stdin=data)
    assert result.lines[0]["votes"] == 2
    assert "2 bad rows left out" in result.err
    aside = tmp_path / "bad.txt"
    assert stream(data, "--on-error", f"quarantine={aside}").out == result.out
    assert [line.split(":")[0][:23] for line in aside.read_text().splitlines()] == [
        "standard input, line 3",
        "standard input, line 4,",
    ]


@pytest.mark.parametrize("command", ["run", "stream"])
def test_bad_rows_are_not_set_aside_over_the_labels(tmp_path: Path, command: str) -> None:
    data, source = csv_of([("a", "u", "x"), ("a", "v")]), tmp_path / "labels.csv"
    source.write_bytes(data)
    args = (command, source, "-q", "--on-error")
    refused(
        call(*args, f"quarantine={source}"),
        "--on-error needs a file of its own",
        "that of the labels",
    )
    assert source.read_bytes() == data
    aside = tmp_path / "none" / "bad.txt"
    refused(call(*args, f"quarantine={aside}"), "--on-error", "a file that can be written")


def test_a_header_that_does_not_fit_is_refused_even_when_bad_lines_are_skipped() -> None:
    refused(call("stream", "--on-error", "skip", stdin=b"a,b,c\n1,2,3\n"), "line 1")


def test_nothing_in_is_nothing_out(tmp_path: Path) -> None:
    for data in (b"", b"\n\n", b"task,worker,label\n"):
        assert stream(data) == (0, "", "")


# Stopping and going on ----------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 57, 120, 199])
@pytest.mark.parametrize("args", [(), ("--memory", "10"), ("--method", "majority")])
def test_stopping_at_the_end_of_input_and_going_on_changes_nothing(
    tmp_path: Path, cut: int, args: tuple[str, ...]
) -> None:
    rows, state = mixed(ROWS), tmp_path / "s"
    rules: tuple[str | Path, ...] = (
        "--settle",
        "0.95",
        "--max-labels",
        "4",
        "--state",
        state,
        *args,
    )
    parts = [stream(jsonl_of(part), *rules).out for part in (rows[:cut], rows[cut:])]
    assert left_in(tmp_path) == ["s"]
    saved = state.read_bytes()
    state.unlink()
    assert "".join(parts) == stream(jsonl_of(rows), *rules).out
    # But for the clock, the same is known.
    assert len(saved) == len(state.read_bytes())


def test_a_bad_line_does_not_undo_what_came_before_it(tmp_path: Path) -> None:
    state = tmp_path / "s"
    result = stream(jsonl_of(ROWS[:50]) + b"nonsense\n", "--state", state)
    assert result.code == 2
    workers = call("workers", state, "-o", "-").out
    state.unlink()
    stream(jsonl_of(ROWS[:50]), "--state", state)
    assert call("workers", state, "-o", "-").out == workers


def test_a_state_of_another_method_or_none_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "s"
    assert stream(jsonl_of(ROWS), "--state", state).code == 0
    before = state.read_bytes()
    refused(stream(b"", "--state", state, "--method", "majority"), str(state))
    refused(stream(b"", "--state", state, "--memory", "9"), str(state))
    assert state.read_bytes() == before
    for data in (b"", b"garbage", before[:-3], before[:40] + bytes([before[40] ^ 1]) + before[41:]):
        state.write_bytes(data)
        refused(stream(b"", "--state", state), str(state))
        assert state.read_bytes() == data


def test_a_state_that_cannot_be_saved_is_refused_before_the_first_decision() -> None:
    result = stream(jsonl_of(ROWS), "--max-labels", "5", "--state", "no/such/folder/s")
    refused(result)
    assert result.out == ""


def test_going_on_keeps_to_the_times_of_the_labels(tmp_path: Path) -> None:
    lines = [
        json.dumps({"task": task, "worker": who, "label": "x", "at": at}).encode() + b"\n"
        for task, who, at in (("a", "u", 0), ("b", "u", 10), ("a", "v", 20), ("c", "v", 75))
    ]
    rules = ("--idle", "1m", "--state")
    whole = stream(b"".join(lines), *rules, tmp_path / "whole").lines
    assert [line["task"] for line in whole] == ["b"]
    first = stream(b"".join(lines[:2]), *rules, tmp_path / "s").lines
    read, write = os.pipe()

    def later() -> None:
        time.sleep(0.6)  # long enough for a tick without input
        os.write(write, b"".join(lines[2:]))
        os.close(write)

    feeder = threading.Thread(target=later)
    feeder.start()
    try:
        second = stream(read, *rules, tmp_path / "s").lines
    finally:
        feeder.join()
        os.close(read)
    assert [*first, *second] == whole


def start(stdin: int | IO[bytes], *args: str | Path) -> subprocess.Popen[bytes]:
    command = [SCRIPT, "stream", *args]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        out, err = process.stdout.read(), process.stderr.read()
    return process.wait(60), out, err.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_decision_comes_at_once_and_a_signal_saves_the_state(
    tmp_path: Path, number: signal.Signals
) -> None:
    rows, state = mixed(labels(30)), tmp_path / "s"
    rules = ("--max-labels", "3", "--state", state)
    cut = 90
    before = stream(jsonl_of(rows[:cut]), "--max-labels", "3", "--state", tmp_path / "x").out
    one = start(subprocess.PIPE, *rules)
    assert one.stdin is not None
    assert one.stdout is not None
    # Another task, filled last: its decision says that all before has been read.
    mark = [("mark", f"w{k}", "x") for k in range(3)]
    one.stdin.write(jsonl_of(rows[:cut] + mark))
    one.stdin.flush()
    said = [one.stdout.readline()]
    while json.loads(said[-1])["task"] != "mark":
        said.append(one.stdout.readline())
    one.send_signal(number)
    code, rest, err = finish(one)
    one.stdin.close()
    assert (code, rest) == (0, b"")
    assert "Traceback" not in err
    assert "".join(line.decode() for line in said[:-1]) == before
    assert left_in(tmp_path) == ["s", "x"]
    after = stream(jsonl_of(rows[cut:]), *rules).out
    (tmp_path / "x").unlink()
    whole = stream(jsonl_of(rows[:cut] + mark + rows[cut:]), *rules[:2], "--state", tmp_path / "x")
    assert b"".join(said).decode() + after == whole.out


def test_a_signal_loses_no_label_that_was_read(tmp_path: Path) -> None:
    rows, state = mixed(labels(1000)), tmp_path / "s"
    rules = ("--max-labels", "4", "--state", state)
    queue = tmp_path / "labels.jsonl"
    queue.write_bytes(jsonl_of(rows))
    # Both processes read from one place in the file, as from one end of a pipe.
    with queue.open("rb", buffering=0) as shared:
        one = start(shared, *rules)
        assert one.stdout is not None
        first = one.stdout.readline()
        one.send_signal(signal.SIGTERM)
        code, more, _ = finish(one)
        assert code == 0
        assert shared.tell() < queue.stat().st_size
        code, rest, _ = finish(start(shared, *rules))
        assert code == 0
    state.unlink()
    whole = stream(jsonl_of(rows), *rules).out
    assert (first + more + rest).decode().splitlines() == whole.splitlines()


def test_the_state_is_saved_on_a_schedule(tmp_path: Path) -> None:
    state = tmp_path / "s"
    one = start(subprocess.PIPE, "--max-labels", "9", "--state", state, "--save-every", "0.3s")
    assert one.stdin is not None
    one.stdin.write(jsonl_of(ROWS[:3]))
    one.stdin.flush()
    workers = 1 + len({row[1] for row in ROWS[:3]})
    until = time.monotonic() + 30
    while time.monotonic() < until:
        time.sleep(0.1)
        if state.exists() and call("workers", state, "-q").out.count("\n") == workers:
            break
    # As when the power fails: only the schedule can have saved it.
    one.kill()
    finish(one)
    one.stdin.close()
    result = call("workers", state, "-q")
    assert (result.code, result.out.count("\n")) == (0, workers)


def test_a_reader_who_has_enough_ends_the_stream_as_a_broken_pipe_does() -> None:
    one = start(subprocess.PIPE, "--max-labels", "1")
    assert one.stdout is not None
    assert one.stdin is not None
    one.stdout.close()
    one.stdin.write(jsonl_of(ROWS))
    one.stdin.close()
    assert one.stderr is not None
    with one.stderr:
        complaint = one.stderr.read()
    assert (one.wait(60), complaint) == (128 + signal.SIGPIPE, b"")
