"""CSV without quotes, bytes to codes: against the csv module, in pieces and parts of any size."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.labels.readers import plain
from crowdstream.labels.readers.plain import read_plain

CELL = st.text(
    st.characters(exclude_characters='",\r\n', codec="utf-8"),
    min_size=1,
    max_size=20,
)


def read(data: bytes, piece: int = 1 << 20, parts: int = 1, fields: int = 3) -> object:
    """The rows found, read in small pieces and in several parts."""
    with (
        mock.patch.object(plain, "PIECE", piece),
        mock.patch.object(plain, "SMALL", 0),
        mock.patch("os.cpu_count", return_value=parts),
    ):
        found = read_plain(data, ",", (0, 1, 2), fields, 0)
    return None if found is None else found.frame().rows()


@settings(deadline=None)  # the first example may compile
@given(
    st.lists(st.tuples(CELL, CELL, st.one_of(st.just(""), CELL)), max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(200, 400),
    st.integers(1, 4),
)
def test_rows_are_those_of_the_csv_module(
    rows: list[tuple[str, str, str]], end: str, last: bool, piece: int, parts: int
) -> None:
    rows = [row for row in rows for _ in range(2)]
    text = end.join(",".join(row) for row in rows) + (end if last and rows else "")
    wanted = [
        (task, worker, label or None)
        for task, worker, label in csv.reader(io.StringIO(text, newline=""))
    ]
    assert read(text.encode(), piece, parts) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b'a,"b",c\n',
        b"a,b\n",
        b"a,b,c,d\n",
        b"a,b,c\n\na,b,c\n",
        b",b,c\n",
        b"a,,c\n",
        b"a,b\rc,d\n",
        b"a,b\xff,c\n",
        b"\xff,b,c\n",
        b"a,b,c\n" + b"x" * 500 + b",b,c\n" * 2,
    ],
    ids=[
        "quote",
        "short",
        "long",
        "blank",
        "no task",
        "no worker",
        "return",
        "bytes",
        "task",
        "row",
    ],
)
def test_what_is_not_plain_is_left_to_others(data: bytes) -> None:
    assert read(data, piece=256) is None


def test_a_table_of_many_workers_grows() -> None:
    rows = [(f"t{k // 3}", f"worker with a long name {k}", "yes" * (k % 9)) for k in range(20_000)]
    found = read("".join(",".join(row) + "\n" for row in rows).encode(), parts=3)
    assert found == [(task, worker, label or None) for task, worker, label in rows]


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("x\ty\tz\nt1\tann\tspam\nt1\tbob\tham")
    found = read_plain(str(path), "\t", (0, 1, 2), 3, 6)
    assert found is not None
    assert found.frame().equals(
        pl.DataFrame({"task": ["t1", "t1"], "worker": ["ann", "bob"], "label": ["spam", "ham"]})
    )
