"""Files as people bring them: what is found out of them, what is refused, and how much is kept."""

from __future__ import annotations

import gzip
import io
import json
import struct
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.cli.options import InputForm
from crowdstream.defaults import MAX_RATIO
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.labels import template_loops
from crowdstream.labels.column_hints import looks_wide, nearest_columns, shown_columns
from crowdstream.labels.columns import ColumnNames, find_column, find_columns
from crowdstream.labels.readers import (
    BadRows,
    InputOptions,
    find_sources,
    json_template,
    jsonl,
    make_options,
    read_all,
    read_batches,
)
from crowdstream.labels.readers import files as files_module
from crowdstream.labels.readers.input_options import parse_size
from crowdstream.labels.readers.json_array import ArrayLines
from crowdstream.labels.readers.jsonl import DEEPEST, decode_row, is_too_deep
from crowdstream.labels.readers.small_tables import read_costs, read_families, read_small_table
from crowdstream.labels.readers.sniffing import SNIFFED
from crowdstream.labels.text_codes import QUICK
from tests.reading import coded, rows_of, shaper
from tests.uncompiled import uncompiled

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

ROWS = [("t1", "zoé", "oui"), ("t1", "bob", "non"), ("t2", "zoé", "oui"), ("t2", "ann", None)]
HEADER = "task,worker,label\n"


def text_of(rows: list[tuple[str, str, str | None]], separator: str = ",") -> str:
    lines = [("task", "worker", "label"), *rows]
    return "".join(separator.join(cell or "" for cell in line) + "\n" for line in lines)


def read(
    path: Path,
    names: ColumnNames = ColumnNames(),  # noqa: B008 a tuple
    options: InputOptions = InputOptions(),  # noqa: B008
    kind: str | None = None,
) -> tuple[list[tuple[object, ...]], list[str]]:
    """The rows of a file and what is said of it, the same whole and in pieces of a few bytes."""
    sources = find_sources([str(path)], kind, options)
    bad = BadRows()
    whole = rows_of(read_all(sources, names, bad)).rows()
    bad_too = BadRows()
    pieces = [raw for _, raw in read_batches(sources, names, bad_too, 50)]
    assert rows_of(pieces).rows() == whole
    assert bad_too.notes == bad.notes
    return whole, bad.notes


# What is found out -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("separator", "encoding", "end", "said"),
    [
        (",", "utf-8", "\n", None),
        (",", "utf-8-sig", "\r\n", None),
        (";", "utf-8", "\n", ";-separated"),
        ("|", "utf-8", "\r\n", "|-separated"),
        ("\t", "utf-8", "\n", "tab-separated"),
        (",", "latin-1", "\n", "Latin-1"),
        (";", "latin-1", "\n", ";-separated, Latin-1"),
        (",", "utf-16", "\n", "UTF-16"),
        (",", "utf-16-le", "\n", "UTF-16"),
        (",", "utf-16-be", "\n", "UTF-16"),
        (",", "utf-32", "\n", "UTF-32"),
        (",", "utf-8", "\r", r"\r line ends"),
        (";", "utf-16", "\r", r";-separated, UTF-16, \r line ends"),
    ],
)
def test_separator_encoding_and_line_ends_are_found_out_and_said(
    tmp_path: Path, separator: str, encoding: str, end: str, said: str | None
) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(text_of(ROWS, separator).replace("\n", end).encode(encoding))
    rows, notes = read(path)
    assert rows == ROWS
    assert notes == ([] if said is None else [f"{path}: read as {said}"])


def test_windows_quotes_are_told_from_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes((HEADER + "t1,“ann”,ok\n").encode("cp1252"))
    assert read(path) == ([("t1", "“ann”", "ok")], [f"{path}: read as Windows-1252"])


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_the_first_accent_may_come_late(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "l.csv"
    plain = [(f"t{k}", "ann", "oui") for k in range(SNIFFED // 8)]
    path.write_bytes(text_of([*plain, *ROWS]).encode(encoding))
    sources = find_sources([str(path)])
    said = [f"{path}: read as Latin-1"] if encoding == "latin-1" else []
    bad = BadRows()
    assert rows_of(read_all(sources, ColumnNames(), bad)).rows()[-4:] == ROWS
    assert bad.notes == said
    bad = BadRows()
    pieces = [raw for _, raw in read_batches(sources, ColumnNames(), bad, 5000)]
    assert rows_of(pieces).rows()[-4:] == ROWS
    assert bad.notes == said


@given(st.integers(1, 40), st.sampled_from(["latin-1", "utf-8"]))
@settings(deadline=None, max_examples=40)
def test_no_character_is_cut_where_a_piece_ends(size: int, encoding: str) -> None:
    from crowdstream.labels.readers.sources import Source
    from crowdstream.labels.readers.text_stream import TextStream

    text = HEADER + "tâche,zoé,où\n" * 5
    with mock.patch("crowdstream.labels.readers.text_stream.SNIFFED", 18):
        stream = TextStream(io.BytesIO(text.encode(encoding)), Source("l.csv", "csv"), len)
        found = b"".join(iter(lambda: stream.read(size), b""))
    assert found.decode() == text


def test_a_file_with_some_bytes_wrong_is_not_taken_for_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes((HEADER + "t1,zoé,où\n").encode() + b"t2,\xff,x\n")
    with pytest.raises(InputError, match=r"line 3: expected text in UTF-8.*--encoding"):
        read(path)


def test_the_columns_decide_between_separators(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("task;worker;label;remark, if any\nt1;ann;yes;so, so\n")
    assert read(path)[0] == [("t1", "ann", "yes")]
    path.write_text("a,task;b,worker,label\n1,t1,2,ann,yes\n")
    with pytest.raises(InputError, match="a task column"):
        read(path)


def test_what_the_user_says_goes_first_and_is_not_said_back(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(text_of(ROWS, "#").encode("cp1250"))
    options = make_options(separator="#", encoding="cp1250")
    assert read(path, options=options) == (ROWS, [])
    path.write_bytes(text_of(ROWS).encode("latin-1"))
    with pytest.raises(InputError, match="text in UTF-8"):
        read(path, options=make_options(encoding="utf-8"))
    with pytest.raises(InputError, match="text in utf-16"):
        read(path, options=make_options(encoding="utf-16-le"))


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"separator": ";;"}, "--separator"),
        ({"separator": '"'}, "--separator"),
        ({"separator": "é"}, "--separator"),
        ({"encoding": "klingon"}, "--encoding"),
        ({"encoding": "rot13"}, "--encoding"),
        ({"max_ratio": 0.0}, "--max-ratio"),
        ({"max_bytes": "many"}, "--max-bytes"),
        ({"max_bytes": "0"}, "--max-bytes"),
    ],
)
def test_options_that_mean_nothing_are_refused(given: dict[str, object], word: str) -> None:
    with pytest.raises(InputError, match=word):
        make_options(**given)  # type: ignore[arg-type]


def test_sizes_are_read_as_people_write_them() -> None:
    sizes = {"7": 7, "64KB": 64_000, "2 GB": 2 * 10**9, "1.5m": 1_500_000, "1T": 10**12}
    assert {text: parse_size(text, "--max-bytes") for text in sizes} == sizes


def test_the_command_line_has_the_readers_ratio() -> None:
    assert InputForm().max_ratio == MAX_RATIO == InputOptions().max_ratio


# JSON ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_json_array_is_read_as_rows(tmp_path: Path, indent: int | None, encoding: str) -> None:
    path = tmp_path / "l.json"
    rows = [
        {"task": t, "worker": w, "label": x, "why": {"n": [1, {}], "s": '],"\\'}}
        for t, w, x in ROWS
    ]
    path.write_bytes(json.dumps(rows, indent=indent, ensure_ascii=False).encode(encoding))
    assert read(path)[0] == ROWS


VALUE = st.recursive(
    st.one_of(st.none(), st.integers(), st.text('ab"\\,[]{}\n\r é')),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text('a"\\[{,'), inner)),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), VALUE)), st.sampled_from([None, 1]), st.integers(1, 30))
@settings(deadline=None, max_examples=50)
def test_every_array_becomes_its_rows_whatever_the_pieces(
    rows: list[object], indent: int | None, size: int
) -> None:
    file = ArrayLines(io.BytesIO(json.dumps(rows, indent=indent).encode()), "rows.json")
    lines = b"".join(iter(lambda: file.read(size), b"")).split(b"\n")
    assert [json.loads(line) for line in lines if line.strip()] == rows


def test_a_row_of_an_array_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    good = '{"task": "a", "worker": "b", "label": "c"}'
    for rows, message in (
        (f"[{good},\n\n {{}}]", "row 2"),
        (f"[{good}, [1]]", "row 2: expected a JSON object, found list"),
        ("[]", "one JSON object per row, found an empty array"),
        (f"[{good}", "a JSON array, whole"),
        (f"[{good}] x", "nothing behind the JSON array"),
    ):
        path.write_text(rows)
        with pytest.raises(InputError, match=message):
            read(path)


@pytest.mark.parametrize(("before", "after"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[ ", b" ]")])
def test_json_that_is_nested_too_deep_is_refused(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    good = b'{"task":"a","worker":"b","label":"c"}\n'
    for deep in (DEEPEST, 100_000):
        row = (
            b'{"task":"a","worker":"b","label":"c","x":'
            + before * deep
            + b"1"
            + after * deep
            + b"}"
        )
        with pytest.raises(
            InputError, match=f"line 7: expected JSON nested at most {DEEPEST} deep"
        ):
            decode_row(row, "line 7")
        for name, data in (("l.jsonl", good + row), ("l.json", b"[" + good + b"," + row + b"]")):
            path = tmp_path / name
            path.write_bytes(data)
            with pytest.raises(InputError, match=r"(line|row) 2: expected JSON nested at most"):
                read_all(find_sources([str(path)]), ColumnNames(), BadRows())
            bad = BadRows("skip")
            kept = rows_of(read_all(find_sources([str(path)]), ColumnNames(), bad))
            assert (kept.height, bad.rows) == (1, 1)
    fine = b'{"task":' + before * (DEEPEST - 1) + b"1" + after * (DEEPEST - 1) + b"}"
    assert list(decode_row(fine)) == ["task"]


def test_brackets_in_strings_are_not_depth() -> None:
    assert not is_too_deep(b'{"a": "' + b"[" * 1000 + b'", "b": "\\"' + b"{" * 1000 + b'"}')
    assert decode_row(b'{"label": "' + b"[" * 1000 + b'"}') == {"label": "[" * 1000}


@pytest.mark.parametrize("raw", [b"[1]", b"7", b"", b'{"a":', b"\xff", b'"text"', b"{} {}"])
def test_a_line_that_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="line 3: expected a JSON object"):
        decode_row(raw, "line 3")


# Workbooks ------------------------------------------------------------------------------------


def workbook(path: Path, **sheets: Sequence[tuple[object, ...]]) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for k, row in enumerate(rows):
                sheet.write_row(k, 0, row)


LONG = [
    ("item", "rater", "answer"),
    (1, "ann", 3),
    (1, "bob", 3.5),
    (2, "ann", True),
    (2, "bob", ""),
]


def test_a_workbook_is_read_from_its_first_sheet_or_the_one_named(tmp_path: Path) -> None:
    path = tmp_path / "l.xlsx"
    workbook(path, Labels=LONG, More=[("task", "worker", "label"), ("t", "w", "x")])
    wanted = [("1", "ann", "3"), ("1", "bob", "3.5"), ("2", "ann", "true"), ("2", "bob", None)]
    assert read(path) == (wanted, [f"{path}: sheet 'Labels' is read, not 'More' (--sheet)"])
    for sheet in ("More", "2"):
        assert read(path, options=make_options(sheet=sheet)) == ([("t", "w", "x")], [])
    with pytest.raises(InputError, match=r"a sheet 'Most' \(--sheet\), found sheets Labels, More"):
        read(path, options=make_options(sheet="Most"))


def test_a_wide_workbook_and_one_with_a_second_header_are_read(tmp_path: Path) -> None:
    path = tmp_path / "l.xlsx"
    workbook(path, A=[("item", "ann", "bob"), (1, "x", ""), (2, "y", "x")])
    assert read(path, ColumnNames(wide=True))[0] == [
        ("1", "ann", "x"),
        ("1", "bob", None),
        ("2", "ann", "y"),
        ("2", "bob", "x"),
    ]
    workbook(path, A=[*LONG, *LONG])
    rows, notes = read(path)
    assert len(rows) == 8
    assert notes == [f"{path}: row 6 repeats the header, left out"]  # the sheet's


def test_a_workbook_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.xlsx"
    workbook(path, A=LONG)
    whole = path.read_bytes()
    for data in (b"", b"PK\x03\x04 and no more", whole[:-30], whole[: len(whole) // 2]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"a workbook \(.xlsx\)"):
            read(path)
    workbook(path, A=[])
    with pytest.raises(InputError, match="a header and rows"):
        read(path)


def test_without_fastexcel_the_line_to_type_is_said(tmp_path: Path) -> None:
    path = tmp_path / "l.xlsx"
    workbook(path, A=LONG)
    with (
        mock.patch("importlib.util.find_spec", return_value=None),
        pytest.raises(CrowdstreamError, match=r"pip install 'crowdstream\[excel\]'"),
    ):
        read(path)


@pytest.mark.parametrize("lie", [False, True])
def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path, lie: bool) -> None:
    path = tmp_path / "l.xlsx"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", bytes(20_000_000))
    data = packed.getvalue()
    if lie:  # the directory says that there is little in it
        data = data.replace(struct.pack("<I", 20_000_000), struct.pack("<I", 20))
    path.write_bytes(data)
    with pytest.raises(InputError, match="--max-ratio"):
        read(path)
    with pytest.raises(InputError, match="--max-bytes"):
        read(path, options=make_options(max_bytes="1MB"))


# Packed files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_packed_file_that_grows_too_much_is_refused(tmp_path: Path, kind: str) -> None:
    pack = gzip.compress if kind == "gz" else zstd.compress
    path = tmp_path / f"l.csv.{kind}"
    rows = 500_000
    path.write_bytes(pack((HEADER + "t,w,x\n" * rows).encode()))
    sources = find_sources([str(path)])
    for reading in (read_all, lambda *given: list(read_batches(*given))):
        with pytest.raises(InputError, match=r"at most 200 times its size.*--max-ratio"):
            reading(sources, ColumnNames(), BadRows())
    with pytest.raises(InputError, match=r"at most 2,000,000 bytes \(--max-bytes\)"):
        read_all(
            find_sources([str(path)], None, make_options(max_ratio=1e6, max_bytes="2MB")),
            ColumnNames(),
            BadRows(),
        )
    allowed = find_sources([str(path)], None, make_options(max_ratio=1e6, max_bytes="1GB"))
    assert rows_of(read_all(allowed, ColumnNames(), BadRows())).height == rows


@pytest.mark.parametrize("name", ["l.csv", "l.jsonl", "l.parquet"])
def test_a_file_that_is_too_large_as_it_is_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.DataFrame({"task": ["t"], "worker": ["w"], "label": ["x"]})
    if name == "l.csv":
        frame.write_csv(path)
    elif name == "l.jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    size = path.stat().st_size
    for most, good in ((size, True), (size - 1, False)):
        sources = find_sources([str(path)], None, make_options(max_bytes=str(most)))
        if good:
            assert rows_of(read_all(sources, ColumnNames(), BadRows())).height == 1
        else:
            with pytest.raises(InputError, match="--max-bytes"):
                read_all(sources, ColumnNames(), BadRows())


def test_small_tables_are_bounded_too(tmp_path: Path) -> None:
    path = tmp_path / "gold.csv.gz"
    path.write_bytes(gzip.compress(b"task,gold\n" + b"t,x\n" * 1_000_000))
    with pytest.raises(InputError, match=r"--gold .*gold.csv.gz.*--max-ratio"):
        read_small_table(str(path), {"task": ("task",), "gold": ("gold",)}, option="--gold")


def test_parquet_may_be_packed_once_more(tmp_path: Path) -> None:
    path = tmp_path / "l.parquet"
    pl.DataFrame(ROWS, ["task", "worker", "label"], orient="row").write_parquet(path)
    packed = tmp_path / "l.parquet.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed)[0] == ROWS


# Headers --------------------------------------------------------------------------------------


def test_a_header_without_end_is_refused_and_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    for header in (b"x" * 20_000_000, b"x," * 10_000_000, b'"' + b"x\n" * 10_000_000):
        path.write_bytes(header + b"\n1,2\n")
        for reading in (read_all, lambda *given: list(read_batches(*given))):
            with pytest.raises(InputError) as error:
                reading(find_sources([str(path)]), ColumnNames(), BadRows())
            assert "a header of at most" in str(error.value)
            assert len(str(error.value)) < 300


def test_a_long_header_is_shown_in_part() -> None:
    header = ["y" * 500, *(f"column {k}" for k in range(10_000))]
    with pytest.raises(InputError, match="and 9,989 more") as error:
        find_columns(ColumnNames(), header, "table")
    assert len(str(error.value)) < 400
    with pytest.raises(InputError) as error:
        find_column("task", "z" * 10_000, header, "table")
    assert len(str(error.value)) < 400


def test_the_nearest_columns_come_first_wherever_they_are() -> None:
    header = [*(f"q{k}" for k in range(300)), "anotator", "worker email"]
    with pytest.raises(
        InputError, match=r"found anotator, worker email, q0.*did you mean 'anotator'"
    ):
        find_column("worker", None, header, "table")
    assert nearest_columns(["label", "text"], ["worker"]) == []
    with pytest.raises(InputError, match=r"found Label_final, q0.*did you mean 'Label_final'"):
        find_column("label", "label_finale", ["q0", "Label_final"], "table")


def test_few_columns_are_all_shown() -> None:
    assert shown_columns(["a", "b"]) == "a, b"
    assert shown_columns([]) == "no columns"


WIDE = "image,ann,bob,cy\n" + "".join(f"i{k},{'xy'[k % 2]},{'xy'[k % 3 % 2]},x\n" for k in range(9))


@pytest.mark.parametrize("name", ["l.csv", "l.parquet", "l.xlsx"])
def test_a_wide_table_is_recognised(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.read_csv(WIDE.encode())
    if name == "l.csv":
        frame.write_csv(path)
    elif name == "l.parquet":
        frame.write_parquet(path)
    else:
        frame.write_excel(path)
    with pytest.raises(InputError, match="one column per worker: try --wide"):
        read(path)
    assert len(read(path, ColumnNames(task="image", wide=True))[0]) == 27


def test_a_long_table_is_not_taken_for_a_wide_one() -> None:
    rows = [(f"t{k // 3}", f"w{k % 4}", "xy"[k % 2], f"text {k}") for k in range(40)]
    assert not looks_wide(["a", "b", "c", "d"], rows)
    assert not looks_wide(["a", "b"], [])


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_wide_is_refused_for_a_long_table(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    frame = pl.DataFrame({"item": ["1"], "rater": ["a"], "answer": ["x"]})
    frame.write_csv(path) if name == "l.csv" else frame.write_parquet(path)
    with pytest.raises(
        InputError, match="found columns 'item', 'rater', 'answer': leave out --wide"
    ):
        read(path, ColumnNames(wide=True))


# Second headers -------------------------------------------------------------------------------


def test_a_header_in_the_middle_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    rows: list[tuple[str, str, str | None]] = [(f"t{k}", f"w{k % 3}", "yes") for k in range(5000)]
    path.write_text(text_of(rows) * 2)
    (raw,) = read_all(find_sources([str(path)]), ColumnNames(), bad := BadRows())
    found_here = coded(raw.labels)
    assert found_here.frame().rows() == rows * 2
    assert bad.notes == [f"{path}: row 5,001 repeats the header, left out"]
    assert "label" not in found_here.classes
    assert "worker" not in found_here.workers
    path.write_text(text_of(rows[:9]) * 4)
    found, notes = read(path)
    assert found == rows[:9] * 4
    assert notes == [f"{path}: row 10 repeats the header and so do 2 more, left out"]


def test_a_header_in_the_middle_of_a_wide_table_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id,a,b\n1,x,y\n2,y,\n" * 2)
    rows, notes = read(path, ColumnNames(wide=True))
    assert rows == [("1", "a", "x"), ("1", "b", "y"), ("2", "a", "y"), ("2", "b", None)] * 2
    assert notes == [f"{path}: row 3 repeats the header, left out"]


def test_a_worker_called_worker_is_not_a_header(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(HEADER + "t1,worker,label\ntask,worker,yes\ntask,ann,label\n")
    assert len(read(path)[0]) == 3
    assert read(path)[1] == []


# Small tables ---------------------------------------------------------------------------------

PAIR = {"task": ("task", "item"), "gold": ("gold", "label")}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("g.csv", b"task,gold\n1,x\n"),
        ("g.csv", b"item;label\n1;x\n"),
        ("g.csv", "task|gold\r1|x\r".encode("utf-16")),
        ("g.tsv", b"task\tgold\n1\tx\n"),
        ("g.jsonl", b'{"task": 1, "gold": "x"}\n'),
        ("g.json", b'[{"task": 1,\n"gold": "x"}]'),
        ("g.csv.gz", gzip.compress(b"task,gold\n1,x\n", mtime=0)),
        ("g.csv.zst", zstd.compress(b"task,gold\n1,x\n")),
    ],
)
def test_small_tables_are_found_out_alike(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_small_table(str(path), PAIR).rows() == [("1", "x")]


def test_a_small_table_may_be_a_workbook(tmp_path: Path) -> None:
    path = tmp_path / "g.xlsx"
    workbook(path, A=[("task", "gold"), (1, "x")])
    assert read_small_table(str(path), PAIR).rows() == [("1", "x")]


def test_how_a_small_table_was_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "g.csv"
    path.write_bytes("task;gold\n1;é\n".encode("latin-1"))
    notes: list[str] = []
    rows = read_small_table(str(path), PAIR, option="--gold", notes=notes).rows()
    assert rows == [("1", "é")]
    assert notes == [f"--gold {path}: read as ;-separated, Latin-1"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("task,gold\n", "--gold {}: expected at least one row, found a header alone"),
        ("task,gold\n1,x\n2,\n", "--gold {}, row 2, column 'gold': expected a value"),
        ("task,text\n1,x\n", "--gold {}: expected columns task, gold, found task, text"),
        ("", "--gold {}: "),
    ],
)
def test_mistakes_in_small_tables_name_option_file_and_row(
    tmp_path: Path, data: str, message: str
) -> None:
    path = tmp_path / "g.csv"
    path.write_text(data)
    with pytest.raises(InputError) as error:
        read_small_table(str(path), PAIR, option="--gold")
    assert str(error.value).startswith(message.format(path))


def test_families_and_costs_name_their_options_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--families: expected a file that exists"):
        read_families("no.csv", option="--families")
    path = tmp_path / "c.csv"
    path.write_text("class;taken_for;cost\nx;y;much\n")
    with pytest.raises(InputError, match=f"--costs {path}, 'x' taken for 'y'"):
        read_costs(str(path), option="--costs")


def test_small_tables_of_deep_json_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(b'{"task": 1, "gold": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
    with pytest.raises(InputError, match="JSON nested at most"):
        read_small_table(str(path), PAIR)


# Rows without end -----------------------------------------------------------------------------


def test_a_row_without_end_is_given_up(tmp_path: Path) -> None:
    for name, begin, module in (
        ("l.csv.gz", HEADER.encode() + b't,"', "csv_files.LONGEST_ROW"),
        ("l.jsonl.gz", b'{"task": "', "jsonl.LONGEST_LINE"),
    ):
        path = tmp_path / name
        path.write_bytes(gzip.compress(begin + b"x" * 100_000))
        with (
            mock.patch(f"crowdstream.labels.readers.{module}", 50_000),
            mock.patch.object(files_module, "BATCH_BYTES", 10_000),
            pytest.raises(InputError, match="at most 50,000 bytes"),
        ):
            read_all(find_sources([str(path)]), ColumnNames(), BadRows())


# JSON lines that are all alike -----------------------------------------------------------------

PLAIN = st.text(st.characters(codec="utf-8", exclude_characters='"\\', exclude_categories=["Cc"]))
KEYS = st.permutations(["task", "worker", "label"])


@given(
    st.lists(st.tuples(PLAIN, PLAIN, PLAIN), min_size=1),
    KEYS,
    st.sampled_from([(",", ":"), (", ", ": ")]),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 200),
)
@settings(deadline=None)
def test_lines_that_are_all_alike_are_read_as_others_are(
    rows: list[tuple[str, str, str]],
    keys: list[str],
    separators: tuple[str, str],
    end: str,
    piece: int,
) -> None:
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    lines = [
        json.dumps({key: record[key] for key in keys}, separators=separators, ensure_ascii=False)
        for record in records
    ]
    data = "".join(line + end for line in [lines[0].encode("ascii", "ignore").decode(), *lines])
    found = []
    for quick in (True, False):
        bad = BadRows("skip")
        with (
            mock.patch.object(json_template, "QUICK", quick and QUICK),
            mock.patch.object(json_template, "PIECE", piece),
        ):
            labels = coded(jsonl.read(data.encode(), "l.jsonl", shaper(), bad))
        found.append((labels.frame().rows(), bad.rows))
    assert found[0] == found[1]


NAMES = ("task", "worker", "label")
ALIKE = b'{"task":"a","worker":"b","label":"c"}\n'


@pytest.mark.parametrize(
    "odd",
    [
        b'{"task":"a","label":"c","worker":"b"}\n',
        b'{"task":"a","worker":"b","label":7}\n',
        b'{"task":"a","worker":"b","label":null}\n',
        b'{"task":"a","worker":"b","label":"c","at":1}\n',
        b'{"task":"a\\u0041","worker":"b","label":"c"}\n',
        b'{"task":"a","worker":"","label":"c"}\n',
        b'{"task":"a","worker":"b\xff","label":"c"}\n',
        b'{"task":"a\x1f","worker":"b","label":"c"}\n',
        b'{"task":"a\x1eb","label":"c"}\n',
        b'{"task":"a","worker":"b","worker":"b","label":"c"}\n',
        b'{"task":"a","worker":"b","label":"c"} \n',
        b'{"task":"a","worker":"b","label":"c"}{"task":"a","worker":"b","label":"c"}\n',
        b'"}\n{"task":"',
        b"\n",
        b'"',
    ],
)
def test_a_line_that_is_otherwise_is_left_to_the_reader_of_all_lines(odd: bytes) -> None:
    template = json_template.find_template(ALIKE.strip())
    assert template is not None
    if QUICK:
        alike = json_template.read_alike(ALIKE * 3, template, NAMES)
        assert alike is not None
        assert alike.frame().rows() == [("a", "b", "c")] * 3
    for data in (ALIKE + odd + ALIKE, ALIKE + odd):
        assert json_template.read_alike(data, template, NAMES) is None


def test_the_loop_does_the_same_uncompiled() -> None:
    plain = uncompiled(template_loops)
    parts = [b'{"a":"', b'","b":"', b'","c":"', b'"}\n']
    around = np.frombuffer(b"".join(parts), np.uint8)
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    good = b'{"a":"x","b":"","c":"\xc3\xa9,"}\n'
    for data in (
        good,
        good * 3,
        good[:-1],
        good[:8],
        good + b"\n",
        b"",
        good.replace(b"x", b"\x01"),
    ):
        found = []
        for loops in (plain, template_loops):
            out = np.zeros(len(data), np.uint8)
            size = loops.keep_values(np.frombuffer(data, np.uint8), around, ends, out, 0x1F)
            found.append((size, out[: max(size, 0)].tobytes()))
        assert found[0] == found[1]
    assert found[0][0] == -1
