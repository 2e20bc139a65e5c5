"""CSV, bytes to codes: against the csv module, with and without quotes, in parts of any size."""

from __future__ import annotations

import csv
import gc
import io
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crowdstream import parallel
from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.readers import csv_files, csv_quoting, csv_unquoted
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.csv_quoting import read_quoted
from crowdstream.labels.readers.csv_rows import Layout
from tests.reading import coded, shaper

CELL = st.text(
    st.characters(exclude_characters='",\r\n', codec="utf-8"),
    min_size=1,
    max_size=20,
)
QUOTED = st.one_of(st.text('",\na', max_size=20), st.text(st.characters(codec="utf-8")))
LAYOUT = Layout(",", ["task", "worker", "label"], (0, 1, 2))


@pytest.fixture
def unquoted(tmp_path: Path) -> Callable[..., object]:
    def read(data: bytes, piece: int = 1 << 20, parts: int = 1) -> object:
        """The rows found, read in small pieces and in several parts."""
        path = tmp_path / "labels.csv"
        path.write_bytes(data)
        with (
            mock.patch.object(csv_unquoted, "PIECE", piece),
            mock.patch.object(csv_unquoted, "SMALL", 0),
            mock.patch.dict(os.environ, CROWDSTREAM_THREADS=str(parts)),
        ):
            found = csv_unquoted.read_unquoted(str(path), LAYOUT, 0)
        return None if found is None else found.frame().rows()

    return read


def quoted(data: bytes, policy: str = "fail") -> CodedLabels:
    return read_quoted(data, 0, LAYOUT, BadRows(policy), "labels.csv", 1)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(CELL, CELL, st.one_of(st.just(""), CELL)), max_size=30),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(200, 400),
    st.integers(1, 4),
)
def test_rows_are_those_of_the_csv_module(
    unquoted: Callable[..., object],
    rows: list[tuple[str, str, str]],
    end: str,
    last: bool,
    piece: int,
    parts: int,
) -> None:
    rows = [row for row in rows for _ in range(2)]
    text = end.join(",".join(row) for row in rows) + (end if last and rows else "")
    wanted = [
        (task, worker, label or None)
        for task, worker, label in csv.reader(io.StringIO(text, newline=""))
    ]
    assert unquoted(text.encode(), piece, parts) == wanted
    assert quoted(text.encode()).frame().rows() == wanted


@settings(deadline=None)
@given(
    st.lists(st.tuples(QUOTED, QUOTED, QUOTED), max_size=20),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_quoted_rows_are_those_of_the_csv_module(
    rows: list[tuple[str, str, str]], end: str, quoting: int
) -> None:
    if quoting == csv.QUOTE_MINIMAL:  # a return alone would be written without quotes
        rows = [(t.replace("\r", ""), w.replace("\r", ""), x.replace("\r", "")) for t, w, x in rows]
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    wanted = [(t, w, label or None) for t, w, label in rows if t and w]
    assert quoted(file.getvalue().encode(), "skip").frame().rows() == wanted


@settings(deadline=None)
@given(st.binary(), st.lists(st.sampled_from([b",", b'"', b"\n", b"a", b"\xc3", b"\r"])))
def test_whatever_the_bytes_python_finds_the_same_rows_and_the_same_bad_ones(
    some: bytes, more: list[bytes]
) -> None:
    data = b"t,w,x\n" + some + b"".join(more)
    found = []
    for quick in (True, False):
        bad = BadRows("skip")
        with mock.patch.object(csv_quoting, "QUICK", quick):
            coded = read_quoted(data, 0, LAYOUT, bad, "labels.csv", 1)
        found.append((coded.frame().rows(), bad.rows))
    assert found[0] == found[1]


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
def test_what_is_odd_is_left_to_the_pass_that_knows_quotes(
    unquoted: Callable[..., object], data: bytes
) -> None:
    assert unquoted(data, piece=256) is None


def test_an_odd_row_is_named_and_those_around_it_are_read() -> None:
    good = "".join(f"t{k},w{k % 3},yes\n" for k in range(1000)).encode()
    data = good + b't,"w"x,yes\n' + good + b"t,\xff,yes\n" + good + b't,w\n"t\n",w,y\n'
    with pytest.raises(InputError, match=r"labels.csv, line 1001: expected a row of CSV"):
        quoted(data)
    bad = BadRows("skip")
    coded = read_quoted(data, 0, LAYOUT, bad, "labels.csv", 1)
    assert (bad.rows, coded.height) == (3, 3001)
    with pytest.raises(InputError, match=r"labels.csv, line 2002: expected text in UTF-8"):
        quoted(data.replace(b'"w"x', b"w"))


def test_bytes_are_looked_at_twice_at_most(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"task,worker,label\n" + b"t,w,yes\n" * 3 + b't,"v ""x""",no\n' + b"t,\n")
    opened: list[object] = []

    def note(*args: object, **options: object) -> object:
        opened.append(args)
        return real(*args, **options)  # type: ignore[call-overload]

    real = open
    with mock.patch.object(csv_unquoted, "SMALL", 0), mock.patch("builtins.open", note):
        found = coded(csv_files.read(str(path), "labels.csv", ",", shaper(), BadRows("skip")))
    assert found.height == 4
    assert list(found.workers) == ["w", 'v "x"']
    assert len(opened) <= 1 + parallel.threads()  # the header, and the fast pass


def test_a_table_of_many_workers_grows(unquoted: Callable[..., object]) -> None:
    rows = [(f"t{k // 3}", f"worker with a long name {k}", "yes" * (k % 9)) for k in range(20_000)]
    data = "".join(",".join(row) + "\n" for row in rows).encode()
    wanted = [(task, worker, label or None) for task, worker, label in rows]
    assert unquoted(data, parts=3) == wanted
    assert quoted(data).frame().rows() == wanted


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("task\tworker\tlabel\nt1\tann\tspam\nt1\tbob\tham")
    wanted = pl.DataFrame(
        {"task": ["t1", "t1"], "worker": ["ann", "bob"], "label": ["spam", "ham"]}
    )
    for small in (0, 1 << 20):
        with mock.patch.object(csv_unquoted, "SMALL", small):
            found = coded(csv_files.read(str(path), "labels.tsv", "\t", shaper(), BadRows()))
        assert found.frame().equals(wanted)


def test_nothing_of_a_piece_is_kept_once_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle of references would keep every piece of a long stream until it is looked for."""
    rows = b"task,worker,label\n" + b"".join(b"t%d,w%d,x\n" % (k, k % 7) for k in range(1000))
    kept: list[weakref.ref[object]] = []

    class Watched(csv_quoting._PythonRows):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type]
            kept.append(weakref.ref(self))

    monkeypatch.setattr(csv_quoting, "_PythonRows", Watched)
    gc.disable()
    try:
        source = io.BytesIO(rows)
        pieces = csv_files.read_pieces(source, "rows", ",", shaper(), BadRows("fail"), 4096)
        assert sum(table.height for _, table in pieces) == 1000
        assert [each() for each in kept] == [None] * len(kept)
        assert len(kept) > 2
    finally:
        gc.enable()
