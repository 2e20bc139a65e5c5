"""Small files spoilt in every way we could think of: a clear error, or every row accounted for."""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.errors import StateError
from crowdstream.serialization import HEADER
from tests.cli.tool import Result, call, csv_of, jsonl_of, labels
from tests.fuzzing import attempt, seeds, spoil, tool_seeds

Spoil = Callable[[bytes, random.Random], bytes]
SEEDS = 6
WAYS = ((), ("--window", "3"), ("--window", "999", "--online"))


def cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def flip(data: bytes, draw: random.Random) -> bytes:
    spoilt = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
    return bytes(spoilt)


def put(*what: bytes) -> Spoil:
    """Some of these bytes, somewhere."""

    def spoil(data: bytes, draw: random.Random) -> bytes:
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(data) + 1)
            data = data[:at] + draw.choice(what) + data[at:]
        return data

    return spoil


def lines(change: Callable[[list[bytes], int, random.Random], None]) -> Spoil:
    """Change some lines."""

    def spoil(data: bytes, draw: random.Random) -> bytes:
        found = data.split(b"\n")
        for _ in range(draw.randint(1, 3)):
            change(found, draw.randrange(len(found)), draw)
        return b"\n".join(found)

    return spoil


def drop(found: list[bytes], at: int, _: random.Random) -> None:
    del found[at]
    found.append(b"")


def double(found: list[bytes], at: int, _: random.Random) -> None:
    found.insert(at, found[at])


def blank(found: list[bytes], at: int, draw: random.Random) -> None:
    found.insert(at, draw.choice([b"", b" ", b"\t", b"\r"]))


def sink(found: list[bytes], at: int, _: random.Random) -> None:
    """The first row, a header or not, comes later."""
    found.insert(at, found.pop(0))


def shorten(found: list[bytes], at: int, draw: random.Random) -> None:
    found[at] = found[at][: draw.randrange(len(found[at]) + 1)]


def lengthen(found: list[bytes], at: int, draw: random.Random) -> None:
    found[at] += draw.choice([b",", b",x", b",,", b"}", b"]", b"x"])


def garble(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return data[:at] + draw.randbytes(draw.randint(1, 60)) + data[at:]


def recode(data: bytes, draw: random.Random) -> bytes:
    text = data.decode().replace("x", "é")
    return text.encode(draw.choice(["latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252", "utf-8"]))


def end(data: bytes, draw: random.Random) -> bytes:
    found = draw.choice([data.rstrip(b"\n"), data.replace(b"\n", b"\r\n"), data + b"\n \n"])
    return draw.choice([b"", b"\xef\xbb\xbf"]) + found


def swap(data: bytes, draw: random.Random) -> bytes:
    one, other = draw.sample([b"task", b"worker", b"label", b"x", b"y", b"w1", b","], 2)
    return data.replace(one, other, draw.randint(1, 9))


SPOILS: dict[str, Spoil] = {
    "cut": cut,
    "flip": flip,
    "quotes": put(b'"', b'""', b'"\n'),
    "quoted": put(b'"a\nb"', b'"a,b"', b'"\n\n"'),
    "separators": put(b",", b",,", b"\n", b"\n\n", b"\r\n"),
    "returns": put(b"\r", b"\r\r", b"\n\r"),
    "nulls": put(b"\x00", b"\x00\x00\x00"),
    "not-utf-8": put(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5"),
    "marks": put(b"\xef\xbb\xbf", b"\xef\xbf\xbd", b"\xc2\x85", b"\xe2\x80\xa8", b"\x0b", b"\x1c"),
    "braces": put(b"{", b"}", b"[1]", b"{}", b"null", b":", b"\\", b"\\u0000", b"\\ud800"),
    "drop": lines(drop),
    "double": lines(double),
    "blank": lines(blank),
    "sink": lines(sink),
    "shorten": lines(shorten),
    "lengthen": lines(lengthen),
    "garble": garble,
    "recode": recode,
    "end": end,
    "swap": swap,
}


def rows_of_csv(data: bytes) -> int | None:
    """Rows after the header; None if how many there are is a matter of opinion."""
    if re.search(rb"\r(?!\n)", data):
        return None
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    try:
        found = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None
    while found and not any(cell.strip() for cell in found[0]):  # blank above the header
        del found[0]
    return sum(bool(row) for row in found[1:])


def rows_of_jsonl(data: bytes) -> int | None:
    return sum(bool(line.strip()) for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"))


def accounted(result: Result) -> int:
    """Labels and every row that was reported as something else."""
    report = result.report
    words = "bad row|empty label|repeated row|label(?=s? (?:replaced|taken))|late label"
    found = [re.match(rf"([\d,]+) ({words})s? ", warning) for warning in report["warnings"]]
    headers = re.findall(r"repeats the header(?: and so do(?:es)? (\d+) more)?", result.out)
    counts = [int(one[1].replace(",", "")) for one in found if one]
    return int(report["labels"]) + sum(counts) + sum(1 + int(more or 0) for more in headers)


def check(path: Path, data: bytes, rows: int | None, policy: str, window: tuple[str, ...]) -> int:
    """Run a file whole and in a window; the exit code."""
    path.write_bytes(data)
    codes = set()
    for way in ((), window):
        result = call("run", path, "--json", "--on-error", policy, *way)
        about = (policy, way, data, result)
        assert result.code in (0, 2), about
        if result.code == 2:
            assert result.out == "", about
            assert result.err.startswith("crowdstream: "), about
            assert result.err.count("\n") == 1, about
            assert str(path) in result.err, about
        elif rows is not None:
            assert accounted(result) == rows, about
        codes.add(result.code)
    # A window changes what is kept in memory, not what can be read.
    assert len(codes) == 1, (policy, window, data)
    return codes.pop()


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("name", SPOILS)
def test_a_spoilt_file_is_refused_or_every_row_is_accounted_for(
    tmp_path: Path, name: str, kind: str
) -> None:
    for seed in range(SEEDS):
        draw = random.Random(f"{name} {seed}")
        if kind == "csv":
            data = SPOILS[name](csv_of(labels(4, a_task=3, seed=seed)), draw)
            rows = rows_of_csv(data)
        else:
            data = SPOILS[name](jsonl_of(labels(3, a_task=3, seed=seed)), draw)
            rows = rows_of_jsonl(data)
        if name == "recode":  # newlines of UTF-16 are not what they look like
            rows = 12 if kind == "csv" else 9
        policy, window = ("fail", "skip")[seed % 2], WAYS[1 + seed // 2 % 2]
        check(tmp_path / f"l.{kind}", data, rows, policy, window)


@pytest.mark.parametrize("policy", ["fail", "skip"])
@pytest.mark.parametrize("window", WAYS[1:])
def test_an_unspoilt_file_ends_well(tmp_path: Path, policy: str, window: tuple[str, ...]) -> None:
    rows = labels(4, a_task=3)
    assert check(tmp_path / "l.jsonl", jsonl_of(rows), 12, policy, window) == 0
    odd = [*rows, ("t", "a", ""), ("t", "a", "x"), ("t", "a", "x"), ("t", "a", "y")]
    assert check(tmp_path / "l.csv", csv_of(odd), 16, policy, window) == 0


# Every reader and the state loader; `tests/soak/soak_fuzz.py` goes on for longer --------------


GOOD = seeds()


@pytest.mark.parametrize("name", GOOD)
def test_unspoilt_every_one_of_them_can_be_read(tmp_path: Path, name: str) -> None:
    read = sum(attempt(name, GOOD[name], tmp_path, random.Random(seed)) for seed in range(20))
    # Some tries ask for what is not there: the wide form, true labels of tasks.
    assert read >= 10


@pytest.mark.parametrize("name", GOOD)
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(draw=st.randoms(use_true_random=False))
def test_whatever_is_in_a_file_or_a_state_nothing_but_our_own_errors_is_raised(
    tmp_path: Path, name: str, draw: random.Random
) -> None:
    data = spoil(name, GOOD[name], draw)
    attempt(name, data, tmp_path, draw)  # raises what is not our own
    if name.endswith(".state") and data.startswith(GOOD[name][: HEADER.size]):
        assert data == GOOD[name] or not attempt(name, data, tmp_path, draw)


TOOLS = tool_seeds()


@pytest.mark.parametrize("name", TOOLS)
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(draw=st.randoms(use_true_random=False))
def test_a_spoilt_export_of_a_tool_gives_labels_or_one_of_our_own_errors(
    tmp_path: Path, name: str, draw: random.Random
) -> None:
    attempt(name, spoil(name, TOOLS[name], draw), tmp_path, draw)  # raises what is not our own


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300), name=st.sampled_from(sorted(GOOD)), draw=st.randoms())
def test_bytes_that_never_were_a_file_are_refused_or_read(
    tmp_path: Path, data: bytes, name: str, draw: random.Random
) -> None:
    if name.endswith(".state"):
        with pytest.raises(StateError):
            cs.load(data)
    else:
        attempt(name, data, tmp_path, draw)  # raises what is not our own
