"""A stream in pipes: each decision at least once, and a producer who is told what to send again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import crowdstream as cs
from crowdstream.errors import StateError
from tests.cli.tool import SCRIPT, Result, call, csv_of, jsonl_of, labels, refused

ROWS = random.Random(3).sample(labels(100), 500)
RULES = ("--max-labels", "4")


def stream(data: bytes | int, *args: str | Path) -> Result:
    return call("stream", *RULES, *args, stdin=data)


def piped(data: bytes, read: int, *args: str | Path) -> tuple[bytes, int, str]:
    """What a reader gets who reads so many bytes and leaves, and how the stream ended."""
    process = subprocess.Popen(
        [SCRIPT, "stream", *RULES, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(data)
    process.stdin.close()
    got = b""
    while len(got) < read and (more := process.stdout.read(read - len(got))):
        got += more
    process.stdout.close()
    with process.stderr:
        said = process.stderr.read().decode()
    return got, process.wait(60), said


@pytest.mark.parametrize("read", [0, 400, 5000])
def test_what_the_reader_of_a_pipe_did_not_read_comes_first_next_time(
    tmp_path: Path, read: int
) -> None:
    state, data = tmp_path / "s", jsonl_of(ROWS)
    whole = stream(data, "-q", "--state", tmp_path / "whole").out.splitlines()
    assert len(whole) > 50
    got, code, said = piped(data, read, "--state", state)
    assert code == 1
    assert "kept in" in said
    assert "Traceback" not in said
    complete = got.decode().splitlines() if got.endswith(b"\n") else got.decode().split("\n")[:-1]
    rest = stream(data, "-q", "--state", state, "--replayed")
    assert rest.code == 0
    # The line that was read in part comes again; nothing else does, and nothing is missing.
    assert complete + rest.out.splitlines() == whole


def test_pending_decisions_survive_a_run_that_is_killed_before_it_sends_them(
    tmp_path: Path,
) -> None:
    state, data = tmp_path / "s", jsonl_of(ROWS)
    assert piped(data, 0, "--state", state)[1] == 1
    saved = cs.Stream.load(state).bookmark
    # A run that never gets to send: its output is refused.
    refused(call("stream", "-q", *RULES, "--state", state, "-o", tmp_path / "no" / "d"))
    assert cs.Stream.load(state).bookmark == saved
    found = tmp_path / "d.jsonl"
    assert stream(data, "-q", "--state", state, "--replayed", "-o", found).code == 0
    assert found.read_text() == stream(data, "-q", "--state", tmp_path / "whole").out


def test_a_reader_who_reads_all_has_all_and_nothing_comes_twice(tmp_path: Path) -> None:
    state, data = tmp_path / "s", jsonl_of(ROWS)
    got, code, _ = piped(data, 1 << 30, "--state", state)
    assert code == 0
    assert got.decode() == stream(data, "-q", "--state", tmp_path / "whole").out
    assert stream(b"", "-q", "--state", state).out == ""


# Input that is sent again -----------------------------------------------------------------------


@pytest.mark.parametrize("make", [jsonl_of, csv_of])
@pytest.mark.parametrize("cut", [0, 1, 77, 499, 500])
def test_a_replayed_input_is_gone_on_with(tmp_path: Path, make, cut: int) -> None:  # type: ignore[no-untyped-def]
    state = tmp_path / "s"
    first = stream(make(ROWS[:cut]), "-q", "--state", state).out
    second = stream(make(ROWS), "-q", "--state", state, "--replayed")
    assert second.code == 0
    assert first + second.out == stream(make(ROWS), "-q", "--state", tmp_path / "whole").out
    counts = cs.Stream.load(state).counts
    assert (counts.labels + counts.late, counts.repeated) == (500, 0)


def test_a_restart_says_how_many_rows_to_skip(tmp_path: Path) -> None:
    state = tmp_path / "s"
    stream(csv_of(ROWS[:76]), "-q", "--state", state)
    said = stream(b"", "--state", state).err
    assert "77 rows read before" in said
    assert "--replayed" in said
    assert "--skip-rows 77" in said
    assert "may be repeated" in said
    again = stream(csv_of(ROWS), "-q", "--state", state, "--skip-rows", "77")
    assert again.code == 0
    counts = cs.Stream.load(state).counts
    assert (counts.labels + counts.late, counts.repeated) == (500, 0)


def test_other_rows_than_those_read_before_are_refused_and_change_nothing(tmp_path: Path) -> None:
    state = tmp_path / "s"
    stream(jsonl_of(ROWS[:77]), "-q", "--state", state)
    before = cs.Stream.load(state).bookmark
    for data in (jsonl_of(ROWS[1:]), jsonl_of(ROWS[:50]), jsonl_of([*ROWS[1:77], ROWS[0]])):
        refused(stream(data, "-q", "--state", state, "--replayed"), "read before")
        assert cs.Stream.load(state).bookmark == before


def test_replayed_goes_on_over_several_restarts(tmp_path: Path) -> None:
    state = tmp_path / "s"
    out = stream(jsonl_of(ROWS[:100]), "-q", "--state", state).out
    out += stream(jsonl_of(ROWS[100:200]), "-q", "--state", state).out  # the producer skipped them
    out += stream(jsonl_of(ROWS), "-q", "--state", state, "--replayed").out
    assert out == stream(jsonl_of(ROWS), "-q", "--state", tmp_path / "whole").out


def test_a_csv_input_is_gone_on_with_with_or_without_its_header(tmp_path: Path) -> None:
    whole = stream(csv_of(ROWS), "-q", "--state", tmp_path / "whole").out
    for name, rest in (("with", csv_of(ROWS[77:])), ("without", csv_of(ROWS[77:])[18:])):
        state = tmp_path / name
        first = stream(csv_of(ROWS[:77]), "-q", "--state", state).out
        assert first + stream(rest, "-q", "--state", state).out == whole


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "l.jsonl"
    file.write_bytes(jsonl_of(ROWS))
    refused(stream(b"", "--replayed"), "--replayed", "--state")
    refused(call("stream", file, "--replayed", "--state", tmp_path / "s"), "--replayed")
    refused(call("stream", file, "--skip-rows", "3"), "--skip-rows")
    refused(stream(b"", "--skip-rows", "-3"), "--skip-rows")
    refused(stream(b"", "--follow"), "--follow", "a file")


# Input that is not what it should be ------------------------------------------------------------


@pytest.mark.parametrize("at", ["begin", "middle", "end"])
def test_a_line_without_end_is_a_bad_row(tmp_path: Path, at: str) -> None:
    long = b'{"task": "' + b"x" * 3_000_000
    rows = [jsonl_of([row]) for row in ROWS[:4]]
    place = {"begin": 0, "middle": 2, "end": 4}[at]
    data = b"".join([*rows[:place], long, b"\n" * (at != "end"), *rows[place:]])
    first = () if at != "begin" else ("--format", "jsonl")
    result = stream(data, *first, "--on-error", "skip")
    assert "1 bad row left out" in result.err
    assert "4 labels" in result.err
    refused(stream(data, *first, "-q"), f"line {place + 1}", "at most 1,000,000 bytes", "3,000,0")
    assert "4 labels, " in stream(data, "--max-line", "4MB", "--on-error", "skip").err
    for size in ("0", "-1", "many", "1.5XB"):
        refused(stream(b"", "--max-line", size), "--max-line")


def test_a_line_without_end_is_not_kept_in_memory(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from crowdstream.cli.stream_source import LineSplitter\n"
        "splitter = LineSplitter(1_000_000)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "block = b'x' * 65536\n"
        "for _ in range(16_000):\n"
        "    assert not list(splitter.split(block))\n"
        "(line,) = splitter.split(b'\\n')\n"
        "assert (line.size, line.too_long, len(line.raw)) == (16_000 * 65536 + 1, True, 200)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    # In KB: the bound of a line, twice while it is put together, and some to spare; not 1 GB.
    assert int(done.stdout) < 20_000


def test_a_line_is_the_same_however_it_comes_in_blocks() -> None:
    from crowdstream.cli.stream_source import LineSplitter

    data = b"ab\n\ncdefgh\nxy" + b"z" * 30 + b"\nlast"
    whole = LineSplitter(12)
    expected = [*whole.split(data), whole.rest()]
    assert [(line.raw, line.too_long) for line in expected if line][:3] == [
        (b"ab", False),
        (b"", False),
        (b"cdefgh", False),
    ]
    assert expected[3] is not None
    assert (expected[3].too_long, expected[3].size) == (True, 33)
    for step in range(1, 12):
        cut = LineSplitter(12)
        found = [
            line for at in range(0, len(data), step) for line in cut.split(data[at : at + step])
        ]
        assert [line._replace(raw=line.raw[:3]) for line in [*found, cut.rest()] if line] == [
            line._replace(raw=line.raw[:3]) for line in expected if line
        ]


def timed(*ats: object) -> bytes:
    lines = ({"task": f"t{n}", "worker": "w", "label": "x", "at": at} for n, at in enumerate(ats))
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_times_in_milliseconds_are_scaled_with_a_word() -> None:
    now = time.time() - 1000
    for scale, name in ((1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")):
        result = stream(timed(*(int((now + t) * scale) for t in (0, 1, 100, 101))), "--idle", "1m")
        assert [line["closed"] for line in result.lines] == ["idle", "idle", "end", "end"]
        assert result.err.count(f"'at' is in {name}") == 1
    as_text = stream(timed(str(int(now * 1000))))
    assert (as_text.code, "milliseconds" in as_text.err) == (0, True)


def test_times_in_the_future_are_bad_rows() -> None:
    soon, later = time.time() + 3600, time.time() + 3 * 86_400
    assert stream(timed(soon), "-q").code == 0
    for at in (later, 5e10, "2999-01-01T00:00:00Z", time.time() * 1000 + 3e8):
        refused(stream(timed(at), "-q"), "line 1, column 'at'", "ahead of the clock")
    result = stream(timed(0, later, 100), "--idle", "1m", "--on-error", "skip")
    assert "1 bad row left out" in result.err
    assert [line["closed"] for line in result.lines] == ["idle", "end"]


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_json_that_is_nested_deeply_is_a_bad_row(opening: bytes) -> None:
    deep = b'{"task": "t", "worker": "w", "label": "x", "more": ' + opening * 100_000 + b"\n"
    refused(stream(deep, "-q"), "line 1")
    result = stream(jsonl_of(ROWS[:2]) + deep + jsonl_of(ROWS[2:4]), "--on-error", "skip")
    assert "1 bad row left out" in result.err
    assert "4 labels" in result.err


@pytest.mark.parametrize("state", ["", "--state s"])
@pytest.mark.parametrize(("close", "name"), [("<&-", "input"), (">&-", "output")])
def test_a_closed_pipe_is_named_without_a_traceback(
    tmp_path: Path, close: str, name: str, state: str
) -> None:
    done = subprocess.run(
        f"exec {SCRIPT} stream {state} {close}",
        shell=True,
        input=jsonl_of(ROWS),
        capture_output=True,
        cwd=tmp_path,
    )
    said = done.stderr.decode()
    assert (done.returncode, said.count("\n")) == (2, 1)
    assert said.startswith(f"crowdstream: standard {name}: ")
    assert "found it closed" in said


# One process, one disk --------------------------------------------------------------------------


def start(*args: str | Path, **more: object) -> subprocess.Popen[bytes]:
    command = [SCRIPT, "stream", *RULES, *args]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, **{**pipes, **more})  # type: ignore[call-overload]


def until(holds, seconds: float = 60.0) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_second_process_on_one_state_is_refused_and_the_lock_dies_with_its_owner(
    tmp_path: Path,
) -> None:
    state = tmp_path / "s"
    one = start("--state", state)
    until(state.exists)
    before = state.read_bytes()
    refused(stream(jsonl_of(ROWS), "-q", "--state", state), str(state), "in use")
    assert state.read_bytes() == before
    assert stream(jsonl_of(ROWS), "-q", "--state", tmp_path / "another").code == 0
    one.send_signal(signal.SIGKILL)
    one.communicate()
    assert stream(jsonl_of(ROWS), "-q", "--state", state).code == 0
    assert not (tmp_path / "s.lock").exists()


def limited(bytes_a_file: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file))


def test_a_full_disk_at_a_periodic_save_is_said_once_and_tried_again(tmp_path: Path) -> None:
    state, data = tmp_path / "s", jsonl_of(ROWS)
    assert stream(b"", "-q", "--state", state).code == 0
    room = state.stat().st_size + 2000  # for the state as it is, not for one that has learnt
    one = start("-q", "--state", state, "--save-every", "50ms", preexec_fn=lambda: limited(room))
    assert one.stdin is not None
    assert one.stdout is not None
    assert one.stderr is not None
    one.stdin.write(data)
    one.stdin.flush()
    said = one.stderr.readline().decode()
    assert f"{state}: not saved" in said
    time.sleep(0.5)  # for more saves that fail
    assert one.poll() is None  # it goes on
    one.stdin.close()
    with one.stdout, one.stderr:
        got, rest = one.stdout.read().decode(), one.stderr.read().decode()
    assert rest.count("not saved") == 0
    assert f"crowdstream: {state}: cannot be written" in rest
    assert one.wait(60) == 2
    assert got == stream(data, "-q", "--state", tmp_path / "whole").out
    assert cs.Stream.load(state).counts.labels < 50  # as it was last saved: whole, if early
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "whole"]


def test_a_save_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crowdstream.cli import stream_saving

    state, done = tmp_path / "s", stream_saving.replace_durably
    tries: list[int] = []

    def sometimes(path: str, data: bytes) -> None:
        tries.append(len(data))
        if len(tries) in (2, 3, 5):
            raise StateError(f"{path}: cannot be written: No space left on device")
        done(path, data)

    monkeypatch.setattr(stream_saving, "replace_durably", sometimes)
    monkeypatch.setattr(stream_saving, "SHARE", 0)
    result = stream(jsonl_of(ROWS), "-q", "--state", state, "--save-every", "1ms")
    assert (result.code, result.err.count("not saved")) == (0, 1)
    assert len(tries) > 6
    counts = cs.Stream.load(state).counts
    assert counts.labels + counts.late == 500


def test_nothing_is_saved_while_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crowdstream.cli import stream_saving

    saves: list[str] = []
    monkeypatch.setattr(stream_saving, "replace_durably", lambda path, _: saves.append(path))
    read, write = os.pipe()
    os.write(write, jsonl_of(ROWS[:1]))
    threading.Timer(1.5, os.close, [write]).start()  # ticks of 0.2 s, each a time to save
    try:
        assert stream(read, "-q", "--state", tmp_path / "s", "--save-every", "1ms").code == 0
    finally:
        os.close(read)
    assert 2 <= len(saves) <= 3  # at the beginning, and after the label


def test_a_full_disk_under_the_decisions_loses_none(tmp_path: Path) -> None:
    labels_file, found, state = (tmp_path / name for name in ("l", "d", "s"))
    labels_file.write_bytes(jsonl_of(ROWS))
    files = (labels_file, "-o", found, "--state", state, "--save-every", "1ms")
    room = 2_000 + len(cs.Stream().to_bytes())  # less than the decisions and the last state
    one = start(*files, "-q", "--method", "majority", preexec_fn=lambda: limited(room))
    said = one.communicate()[1].decode()
    assert one.wait(60) == 2
    assert said.count("\n") <= 2
    assert "Traceback" not in said
    assert call("stream", *RULES, *files, "-q", "--method", "majority").code == 0
    whole = call("stream", *RULES, labels_file, "--method", "majority", "--state", tmp_path / "w")
    assert found.read_text() == whole.out


# Following a file -------------------------------------------------------------------------------


def follow(tmp_path: Path, *args: str | Path) -> subprocess.Popen[bytes]:
    files = (tmp_path / "l", "--follow", "-o", tmp_path / "d", "--state", tmp_path / "s")
    return start(*files, *args)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_file_is_followed_until_a_signal_and_then_saved(
    tmp_path: Path, number: signal.Signals
) -> None:
    data = jsonl_of(ROWS)
    (tmp_path / "l").write_bytes(data[:10_000])
    one = follow(tmp_path)
    until(lambda: (tmp_path / "d").exists() and (tmp_path / "d").stat().st_size > 0)
    with (tmp_path / "l").open("ab") as file:
        file.write(data[10_000:-5])
    whole = stream(data, "-q", "--state", tmp_path / "whole").out
    until(lambda: len((tmp_path / "d").read_text().splitlines()) >= len(whole.splitlines()) - 1)
    one.send_signal(number)
    said = one.communicate()[1].decode()
    assert one.wait(60) == 0
    assert "500" not in said.split(" labels")[0]  # the last line is not complete
    with (tmp_path / "l").open("ab") as file:
        file.write(data[-5:])
    assert call("stream", tmp_path / "l", *RULES, "-o", tmp_path / "d", "--state", tmp_path / "s")
    assert (tmp_path / "d").read_text() == whole
    counts = cs.Stream.load(tmp_path / "s").counts
    assert counts.labels + counts.late == 500


@pytest.mark.parametrize("how", ["cut", "replaced", "removed"])
def test_a_followed_file_that_is_no_longer_itself_ends_the_stream_with_a_word(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "l"
    path.write_bytes(jsonl_of(ROWS))
    one = follow(tmp_path, "-q")
    until(lambda: (tmp_path / "d").exists() and (tmp_path / "d").stat().st_size > 0)
    if how == "cut":
        os.truncate(path, 100)
    elif how == "replaced":
        path.rename(tmp_path / "l.1")
        path.write_bytes(b"")
    else:
        path.unlink()
    said = one.communicate()[1].decode()
    assert one.wait(60) == 2
    words = {"cut": "cut", "replaced": "another file under its name", "removed": "none under"}
    assert words[how] in said
    counts = cs.Stream.load(tmp_path / "s").counts  # what was read is not undone
    assert counts.labels + counts.late == 500
