"""A stream from a file to a file loses nothing and doubles nothing, whenever it is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

import crowdstream as cs
from tests.cli.killing import Damage, KilledStream, damage, many_labels, survives
from tests.cli.tool import Result, call, left_in, refused

LINES = [b'{"task":"t%d","label":"x","votes":3}\n' % number for number in range(20)]


def test_twenty_kills_lose_nothing_double_nothing_and_change_nothing(tmp_path: Path) -> None:
    assert survives(tmp_path, tasks=1500, kills=20, seed=1) == Damage(0, 0, 0)


@pytest.mark.parametrize(
    ("found", "is_damage"),
    [
        (LINES, Damage(0, 0, 0)),
        (LINES[:4] + LINES[5:], Damage(1, 0, 0)),
        ([*LINES[:4], LINES[3], *LINES[4:]], Damage(0, 1, 0)),
        ([*LINES[:4], LINES[4].replace(b"3", b"2"), *LINES[5:]], Damage(0, 0, 1)),
        ([LINES[1], LINES[0], *LINES[2:]], Damage(0, 0, 1)),
    ],
)
def test_the_checker_sees_damage(found: list[bytes], is_damage: Damage) -> None:
    assert damage(b"".join(LINES), b"".join(found)) == is_damage


def test_the_checker_sees_what_a_state_that_lost_its_place_would_do(tmp_path: Path) -> None:
    """Negative control: without cutting back, what was decided after the save is there twice."""
    one = KilledStream(tmp_path, many_labels(200), seed=0)
    half = one.data.index(b"\n", len(one.data) // 2) + 1
    one.input.write_bytes(one.data[:half])
    args = [str(part) for part in one.command()[1:]]
    assert call(*args).code == 0
    early = one.state.read_bytes(), one.output.read_bytes()
    one.input.write_bytes(one.data)
    assert call(*args).code == 0
    whole = one.output.read_bytes()
    one.state.write_bytes(early[0])
    assert call(*args).code == 0  # as after a kill: cut back and decided again
    assert one.output.read_bytes() == whole
    surplus = whole[len(early[1]) :]
    found = damage(whole, whole + surplus)
    assert found.doubled == surplus.count(b"\n") > 0


# What a restart finds --------------------------------------------------------------------------


class Files:
    """Half of the input read, to go on from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.labels, self.decisions, self.state = (
            folder / name for name in ("labels.jsonl", "decisions.jsonl", "s")
        )
        self.data = many_labels(100)
        self.half = self.data[: self.data.index(b"\n", len(self.data) // 2) + 1]
        self.labels.write_bytes(self.half)
        assert self.run().code == 0

    def run(self, *args: str | Path, labels: Path | None = None) -> Result:
        files = labels or self.labels, "-o", self.decisions, "--state", self.state
        return call("stream", *files, "--max-labels", "4", *args)

    def taken(self) -> int:
        """Labels that the stream was given, counted once each."""
        counts = cs.Stream.load(self.state).counts
        assert counts.repeated == counts.replaced == 0
        return counts.labels + counts.late


def rows_in(data: bytes) -> int:
    return data.count(b"\n")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_run_goes_on_at_the_next_row(files: Files) -> None:
    rows = rows_in(files.half)
    before = files.decisions.read_bytes()
    files.labels.write_bytes(files.data)
    result = files.run()
    assert result.code == 0
    assert f"going on at row {rows + 1:,}" in result.err
    assert files.decisions.read_bytes().startswith(before)
    assert files.taken() == rows_in(files.data)
    again = files.decisions.read_bytes()
    assert files.run().code == 0
    assert files.decisions.read_bytes() == again
    assert left_in(files.folder) == ["decisions.jsonl", "labels.jsonl", "s"]


def test_an_input_that_was_replaced_is_refused_with_what_to_do(files: Files) -> None:
    saved = files.state.read_bytes()
    for data in (files.half[:-100], b"x" + files.half[1:], files.half[:-3] + b"y}\n"):
        files.labels.write_bytes(data)
        result = files.run()
        refused(result, str(files.labels), "another one, or a changed one", "--from-start")
        assert files.state.read_bytes() == saved
    assert files.run("--from-start", "--on-error", "skip").code == 0


def test_an_input_that_was_renamed_is_gone_on_with(files: Files) -> None:
    other = files.folder / "labels.1.jsonl"
    files.labels.rename(other)
    other.write_bytes(files.data)
    result = files.run(labels=other)
    assert "going on at row" in result.err
    assert files.taken() == rows_in(files.data)


def test_another_file_is_read_from_its_beginning(files: Files) -> None:
    other = files.folder / "more.jsonl"
    other.write_bytes(files.data[len(files.half) :])
    result = files.run(labels=other)
    assert result.code == 0
    assert files.taken() == rows_in(files.data)
    assert "going on" not in result.err


def test_an_output_that_is_too_short_or_another_is_refused(files: Files) -> None:
    whole = files.decisions.read_bytes()
    for data, words in (
        (whole[:-1], "bytes that"),
        (b"", "put it back, or name a new file"),
        (b"y" + whole[1:], "the decisions that"),
    ):
        files.decisions.write_bytes(data)
        refused(files.run("-q"), str(files.decisions), words)
        assert files.decisions.read_bytes() == data


def test_an_output_that_is_too_long_is_cut_back(files: Files) -> None:
    whole = files.decisions.read_bytes()
    files.decisions.write_bytes(whole + b'{"task":"half a dec')
    result = files.run()
    assert (result.code, "19 bytes after the saved position" in result.err) == (0, True)
    assert files.decisions.read_bytes() == whole


def test_a_new_state_does_not_add_to_decisions_it_knows_nothing_of(files: Files) -> None:
    files.state.unlink()
    before = files.decisions.read_bytes()
    refused(files.run(), str(files.decisions), "an empty file")
    assert files.decisions.read_bytes() == before


def test_decisions_may_go_on_in_a_new_file_once_the_old_one_is_whole(files: Files) -> None:
    old = files.decisions
    files.labels.write_bytes(files.data)
    whole = old.read_bytes()
    old.write_bytes(whole + b"more")
    files.decisions = files.folder / "second.jsonl"
    refused(files.run("-q"), str(old))
    old.write_bytes(whole)
    assert files.run().code == 0
    second = files.decisions.read_bytes()
    assert old.read_bytes() == whole
    files.state.unlink()
    files.decisions = files.folder / "all.jsonl"
    assert files.run().code == 0
    assert files.decisions.read_bytes() == whole + second


def test_a_last_line_without_its_end_is_read_once(files: Files) -> None:
    files.labels.write_bytes(files.data[:-1])
    assert files.run().code == 0
    whole, labels = files.decisions.read_bytes(), rows_in(files.data)
    assert files.taken() == labels
    files.labels.write_bytes(files.data + b'{"task": "z", "worker": "w", "label": "x"}\n')
    result = files.run()
    assert result.code == 0
    assert files.taken() == labels + 1
    assert files.decisions.read_bytes() == whole


def test_a_last_line_that_went_on_is_refused(files: Files) -> None:
    csv = files.folder / "l.csv"
    csv.write_bytes(b"task,worker,label\nt1,ann,sp")
    assert files.run(labels=csv).code == 0
    csv.write_bytes(b"task,worker,label\nt1,ann,spam\n")
    refused(files.run("-q", labels=csv), "line 2", "complete", "--follow")


def test_a_csv_file_is_gone_on_with_under_its_header(files: Files) -> None:
    csv = files.folder / "l.csv"
    csv.write_bytes(b"label,task,worker\n\nx,t1,ann\n")
    files.run(labels=csv)
    csv.write_bytes(b"label,task,worker\n\nx,t1,ann\nx,t2,bob\nx,t3\n")
    refused(files.run("-q", labels=csv), "line 5: expected 3 fields, found 2")
    csv.write_bytes(b"label,task,worker\n\nx,t1,ann\nx,t2,bob\nx,t3,cy\n")
    assert files.run(labels=csv).code == 0
    assert files.taken() == rows_in(files.half) + 3


def test_output_and_input_and_state_are_three_files(files: Files) -> None:
    before = files.labels.read_bytes()
    refused(call("stream", files.labels, "-o", files.labels), "--output", "the labels")
    refused(call("stream", files.labels, "-o", files.folder / "s", "--state", files.state))
    assert files.labels.read_bytes() == before
