"""Title rows, sheets and missing headers: read as what they are, or refused with what to type."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.labels import ColumnNames
from crowdstream.labels.gold import read_truths
from crowdstream.labels.readers import BadRows, csv_files, find_sources, make_options, read_all
from crowdstream.labels.readers.files import read_batches
from crowdstream.labels.readers.header_rows import WINDOW, label_header
from crowdstream.labels.readers.small_tables import read_families
from tests.cli.tool import call, refused
from tests.reading import coded, rows_of, shaper

Row = tuple[object, ...]

DATA: list[Row] = [
    ("t1", "ann", "yes"),
    ("t1", "bob", "no"),
    ("t2", "ann", "yes"),
    ("t2", "bob", "yes"),
]
HEADER: Row = ("task", "worker", "label")
TITLES: list[Row] = [("Labels of March, all of them",), (), ("by", "Ann"), ("task, worker, label",)]
ROWS: list[Row] = list(DATA)


def workbook(path: Path, **sheets: Sequence[Row]) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for k, row in enumerate(rows):
                sheet.write_row(k, 0, row)
    return path


def text(path: Path, rows: Sequence[Row], separator: str = ",") -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=separator, lineterminator="\n").writerows(rows)
    return path


def table(folder: Path, kind: str, rows: Sequence[Row]) -> Path:
    path = folder / f"labels.{kind}"
    if kind == "xlsx":
        return workbook(path, Labels=rows)
    return text(path, rows, "\t" if kind == "tsv" else ",")


def read(path: Path, wide: bool = False, **options: object) -> tuple[list[Row], list[str]]:
    bad = BadRows()
    made = make_options(**options)  # type: ignore[arg-type]
    found = read_all(find_sources([str(path)], options=made), ColumnNames(wide=wide), bad)
    return list(rows_of(found).rows()), [note.removeprefix(f"{path}") for note in bad.notes]


every_kind = pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx"])


# Title rows -----------------------------------------------------------------------------------


@every_kind
def test_the_header_is_found_below_titles_and_that_is_said(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind, [*TITLES, HEADER, *DATA])
    assert read(path) == (ROWS, [": header found in row 5"])
    assert read(path, header_row=5) == (ROWS, [])
    assert cs.read_labels(path).rows() == ROWS
    found = call("run", path, "-q")
    plain = call("run", table(tmp_path, "csv", [HEADER, *DATA]), "-q")
    assert found.out == plain.out != ""
    assert (
        "header found in row 5" in call("run", table(tmp_path, kind, [*TITLES, HEADER, *DATA])).err
    )


@every_kind
def test_a_first_row_that_is_the_header_is_not_talked_about(tmp_path: Path, kind: str) -> None:
    assert read(table(tmp_path, kind, [HEADER, *DATA])) == (ROWS, [])
    assert read(table(tmp_path, kind, [(), (), HEADER, *DATA])) == (ROWS, [])  # blank rows above


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "title", ["a, b, c, d; e; f", 'wide 12" screens', "Task", 'one\nand "two"']
)
def test_no_title_misleads_about_the_separator(tmp_path: Path, title: str, separator: str) -> None:
    path = tmp_path / "l.csv"
    rows = [(title, "", ""), HEADER, *DATA] if separator == "," else [(title,), HEADER, *DATA]
    assert read(text(path, rows, separator))[0] == ROWS
    if '"' not in title and "\n" not in title:
        path.write_text(path.read_text().replace(f'"{title}"', title))  # as people type it
        assert read(path)[0] == ROWS


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
def test_a_stream_is_read_alike_whatever_its_pieces(tmp_path: Path, size: int) -> None:
    path = text(tmp_path / "l.csv", [*TITLES, HEADER, *DATA])
    bad = BadRows()
    pieces = read_batches(find_sources([str(path)]), ColumnNames(), bad, size)
    assert [row for _, raw in pieces for row in rows_of([raw]).rows()] == ROWS
    assert bad.notes == [f"{path}: header found in row 5"]


def test_lines_are_counted_from_the_beginning_of_the_file(tmp_path: Path) -> None:
    rows = [("A title\nof two lines",), (), HEADER, *DATA, ("t3", "ann")]
    with pytest.raises(InputError, match=r"line 9: expected 3 fields, found 2"):
        read(text(tmp_path / "l.csv", rows))
    rows = [*TITLES, HEADER, ("t1", "ann", "x"), (), ("t3", "", "x")]
    with pytest.raises(InputError, match=r"row 8, column 'worker': expected a value"):
        read(workbook(tmp_path / "l.xlsx", A=rows))


@every_kind
def test_a_header_beyond_the_window_must_be_named(tmp_path: Path, kind: str) -> None:
    titles: list[Row] = [(f"remark {chr(97 + k % 26)}",) for k in range(WINDOW)]
    path = table(tmp_path, kind, [*titles, HEADER, *DATA])
    with pytest.raises(InputError, match="found remark a"):
        read(path)
    assert read(path, header_row=WINDOW + 1)[0] == ROWS
    path = table(tmp_path, kind, [*titles[1:], HEADER, *DATA])
    assert read(path)[0] == ROWS
    with pytest.raises(InputError, match=r"a header in row 400 \(--header-row\), found \d+ rows"):
        read(path, header_row=400)


def test_the_header_is_looked_for_in_thirty_rows() -> None:
    header = ["task", "worker", "label"]
    for titles, found in ((29, True), (30, False)):
        rows = [["a remark"]] * titles
        assert label_header(ColumnNames()).place([*rows, header]).found == found


@every_kind
def test_rows_above_the_header_that_are_labels_are_not_dropped(tmp_path: Path, kind: str) -> None:
    """As where a file without a header was put before one with it."""
    path = table(tmp_path, kind, [*DATA[:2], HEADER, *DATA[2:]])
    with pytest.raises(InputError, match=r"found t1, ann, yes in row 1, which look like data"):
        read(path)
    assert read(path, header_row=3)[0] == ROWS[2:]


@pytest.mark.parametrize("size", [10, 1000])
def test_a_header_may_come_only_in_a_later_piece(size: int) -> None:
    """A stream of its own: files are read 64 KB at least at first."""
    data = b"a long title\n" * 20 + b"task,worker,label\n1,ann,x\n"
    pieces = csv_files.read_pieces(io.BytesIO(data), "l", ",", shaper(), BadRows(), size)
    assert [row for _, piece in pieces for row in coded(piece).frame().rows()] == [
        ("1", "ann", "x")
    ]
    pieces = csv_files.read_pieces(
        io.BytesIO(data), "l", ",", shaper(), BadRows(), size, make_options(header_row=21)
    )
    assert [row for _, piece in pieces for row in coded(piece).frame().rows()] == [
        ("1", "ann", "x")
    ]


@every_kind
def test_a_wide_table_may_have_titles(tmp_path: Path, kind: str) -> None:
    rows: list[Row] = [("Item",), ("item", "ann", "bob"), ("t1", "yes", "no"), ("t2", "yes", "yes")]
    found, notes = read(table(tmp_path, kind, rows), wide=True)
    assert set(found) == set(ROWS)
    assert notes == [": header found in row 2"]
    with pytest.raises(InputError, match="try --wide"):
        read(table(tmp_path, kind, [("Labels",), *rows[1:], ("t3", "no", "no")]))


@every_kind
def test_of_titles_and_unknown_columns_the_columns_are_named(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind, [("March",), ("task", "who", "said"), *DATA])
    with pytest.raises(InputError, match="found task, who, said"):
        read(path)
    assert cs.read_labels(path, worker="who", label="said").rows() == ROWS


@given(
    st.lists(st.lists(st.text(max_size=8), max_size=5), max_size=WINDOW - 1),
    st.permutations(["item", "rater", "answer"]),
)
def test_the_rule_finds_the_first_header_whatever_is_above(
    above: list[list[str]], header: list[str]
) -> None:
    """Text drawn at random names no column; if it ever does, it is a header."""
    rule = label_header(ColumnNames())
    at, found = rule.place([*above, header, ["1", "2", "3"]])
    assert found
    assert at == next((k for k, row in enumerate(above) if rule.is_header(row)), len(above))


# Sheets ---------------------------------------------------------------------------------------


def test_the_first_sheet_with_the_columns_is_read_and_said(tmp_path: Path) -> None:
    notes: list[Row] = [("Read me",), ("task, worker, label are in the next sheet",)]
    path = workbook(
        tmp_path / "l.xlsx", Notes=notes, Empty=[], March=[*TITLES, HEADER, *DATA], B=[]
    )
    said = [
        ": sheet 'March' is read, not 'Notes', 'Empty', 'B' (--sheet)",
        ", sheet 'March': header found in row 5",
    ]
    assert read(path) == (ROWS, said)
    assert read(path, sheet="March") == (ROWS, said[1:])
    assert cs.read_labels(path, sheet=3).rows() == ROWS
    assert "sheet 'March' is read, not 'Notes'" in call("run", path).err.replace("\n", " ")


def test_if_no_sheet_has_the_columns_all_are_named(tmp_path: Path) -> None:
    data: list[Row] = [("March",), ("a", "b", "c"), (1, 2, 3)]
    path = workbook(tmp_path / "l.xlsx", Notes=[("Read me",)], Data=data, Empty=[])
    expected = "expected a sheet with task, worker and label, found sheets 'Notes' (Read me), "
    expected += "'Data' (a, b, c), 'Empty' (empty)"
    with pytest.raises(InputError) as error:
        read(path)
    assert expected in str(error.value)
    refused(call("run", path), "'Notes' (Read me)", "'Data' (a, b, c)", "--sheet")
    assert cs.read_labels(path, sheet="Data", task="a", worker="b", label="c").rows() == [
        ("1", "2", "3")
    ]
    with pytest.raises(InputError) as error:
        read(path, sheet="Notes")
    assert "sheet 'Notes': expected a task column, found Read me" in str(error.value)


def test_cells_are_read_as_the_sheet_shows_them(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "l.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.merge_range(1, 1, 1, 4, "A title over four columns")
        sheet.write_row(3, 1, ["task", "worker", "label", "note", "note"])
        percent = book.add_format({"num_format": "0.00%"})
        cells = [(3.0, "ann", True), (3.5, "ann", False), (10**9, 7.0, 0.25)]
        for k, cell in enumerate(cells):
            sheet.write_row(4 + 2 * k, 1, cell, percent)  # a blank row after each
    wanted = [("3", "ann", "true"), ("3.5", "ann", "false"), ("1000000000", "7", "0.25")]
    assert read(path)[0] == wanted


def test_columns_of_one_name_are_refused_where_it_matters(tmp_path: Path) -> None:
    path = tmp_path / "l.xlsx"
    workbook(path, A=[(*HEADER, "x", "x"), *((*row, 1, 2) for row in DATA)])
    assert read(path)[0] == ROWS
    workbook(path, A=[(*HEADER, "label"), *((*row, 1) for row in DATA)])
    with pytest.raises(InputError, match="some twice: label"):
        read(path)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_column_without_a_name_is_no_worker(tmp_path: Path, kind: str) -> None:
    """The index that pandas writes, most of all."""
    rows: list[Row] = [("", "item", "ann", "bob"), (0, "t1", "yes", "no"), (1, "t2", "yes", "yes")]
    found, notes = read(table(tmp_path, kind, rows), wide=True)
    assert set(found) == set(ROWS)
    assert notes == [": column 1 has no name, left out"]


def test_a_chart_among_the_sheets_is_passed_over(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "l.xlsx"
    with xlsxwriter.Workbook(path) as book:
        chart = book.add_chart({"type": "bar"})
        chart.add_series({"values": "=Data!$A$2:$A$3"})
        book.add_chartsheet("Chart").set_chart(chart)
        sheet = book.add_worksheet("Data")
        for k, row in enumerate([HEADER, *DATA]):
            sheet.write_row(k, 0, row)
    assert read(path)[0] == ROWS


# Files made to fill a memory ------------------------------------------------------------------


def far_apart(path: Path, row: int, column: int) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for k, cells in enumerate([HEADER, *DATA]):
            sheet.write_row(k, 0, cells)
        sheet.write(row, column, "x")
    return path


def test_a_sheet_that_spans_a_table_of_nothing_is_refused(tmp_path: Path) -> None:
    """Laid out in memory it would take 550 GB, and the reader aborts the process."""
    path = far_apart(tmp_path / "l.xlsx", 1_048_575, 16_383)
    assert path.stat().st_size < 10_000
    refused(call("run", path), "1,048,576 rows and 16,384 columns")


CELLS = ["<c r='XFD9'>", '<c s="1" r = "XFD9" t="n">', '<x:c r="xfd9">']
CELLS += ['<c r="A99999999">', '<c r="A4000000000">', '<c r="ZZZZ5">']


@pytest.mark.parametrize("cell", CELLS)
def test_it_is_refused_however_its_cells_are_written(tmp_path: Path, cell: str) -> None:
    path = workbook(tmp_path / "l.xlsx", A=[HEADER, *DATA])
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w") as new:
        for entry in old.namelist():
            data = old.read(entry)
            if entry == "xl/worksheets/sheet1.xml":
                far = f'<row r="1048576">{cell}<v>1</v></c></row></sheetData>'
                data = data.replace(b"</sheetData>", far.encode())
            new.writestr(entry, data)
    path.write_bytes(packed.getvalue())
    with pytest.raises(InputError, match="nearly all empty"):
        read(path)


@pytest.mark.parametrize(("rows", "columns"), [(1_000_000, 1), (300, 10_000)])
def test_empty_cells_that_are_only_formatted_are_nothing(
    tmp_path: Path, rows: int, columns: int
) -> None:
    import xlsxwriter

    path = tmp_path / "l.xlsx"
    with xlsxwriter.Workbook(path, {"constant_memory": True}) as book:
        sheet, bold = book.add_worksheet(), book.add_format({"bold": True})
        for k, cells in enumerate([HEADER, *DATA]):
            sheet.write_row(k, 0, cells)
        step = max(rows // 20_000, 1)  # a formatted cell here and there is enough
        for row in range(len(DATA) + 1, rows, step):
            for column in range(0, columns, 1 if row < 20 else columns):
                sheet.write_blank(row, column, None, bold)
    assert read(path) == (ROWS, [])


# No header ------------------------------------------------------------------------------------


@every_kind
def test_a_file_without_a_header_says_what_to_type_and_typing_it_works(
    tmp_path: Path, kind: str
) -> None:
    path = table(tmp_path, kind, DATA)
    outcome = call("run", path)
    hint = "name the columns in their order with --columns task,worker,label"
    refused(outcome, "expected a header, found t1, ann, yes", hint)
    assert call("run", path, "--columns", "task,worker,label", "-q").code == 0
    assert read(path, columns="task,worker,label") == (ROWS, [])
    assert cs.read_labels(path, columns=["task", "worker", "label"]).rows() == ROWS


@every_kind
def test_columns_may_be_left_out_and_be_in_any_order(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind, [("x", label, task, worker, 1) for task, worker, label in DATA])
    with pytest.raises(InputError, match=r"--columns task,worker,label,-,-"):
        read(path)
    assert read(path, columns="-,label,task,worker,") == (ROWS, [])
    with pytest.raises(InputError, match="5"):
        read(path, columns="-,label,task,worker")
    rows: list[Row] = [("t1", "note", "yes", "no"), ("t2", "", "yes", "yes")]
    found, _ = read(table(tmp_path, kind, rows), wide=True, columns="task,-,ann,bob")
    assert set(found) == set(ROWS)


@every_kind
def test_columns_with_a_header_row_replace_its_names(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind, [*TITLES, ("item", "rater", "answer"), *DATA])
    columns = "task,worker,label"
    assert read(path, columns=columns, header_row=5) == (ROWS, [])
    with pytest.raises(InputError, match=r"found the header item, rater, answer in row 5") as error:
        read(path, columns=columns)
    assert "--header-row 5" in str(error.value)
    assert read(table(tmp_path, kind, [HEADER, *DATA]), columns=columns) == (ROWS, [])


def test_columns_find_the_separator_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("t1;ann;yes, sure\nt1;bob;no, never\n")
    assert read(path, columns="task,worker,label")[0][0] == ("t1", "ann", "yes, sure")


@pytest.mark.parametrize("name", ["l.jsonl", "l.json", "l.parquet", "l.arrow"])
@pytest.mark.parametrize("option", [("--columns", "task,worker,label"), ("--header-row", "2")])
def test_files_that_name_their_columns_refuse_it(
    tmp_path: Path, name: str, option: tuple[str, str]
) -> None:
    path = tmp_path / name
    frame = pl.DataFrame(ROWS, list(map(str, HEADER)), orient="row")
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".arrow":
        frame.write_ipc(path)
    else:
        path.write_text(frame.write_json() if path.suffix == ".json" else frame.write_ndjson())
    refused(call("run", path, *option), path.name, option[0], "names its columns itself")


@pytest.mark.parametrize("columns", ["", ",", "task", "-,-,-", "task,task,label"])
def test_columns_that_are_no_names_are_refused(columns: str) -> None:
    with pytest.raises(InputError, match="--columns: expected names"):
        make_options(columns=columns)


@pytest.mark.parametrize("row", [0, -1, 2**40])
def test_a_header_row_that_cannot_be_is_refused(row: int) -> None:
    with pytest.raises(InputError, match="--header-row: expected a whole number from 1"):
        make_options(header_row=row)


def test_a_table_with_unknown_columns_is_not_taken_for_one_without_a_header(tmp_path: Path) -> None:
    path = text(tmp_path / "l.csv", [("picture", "who", "said"), *DATA])
    with pytest.raises(InputError, match="expected a task column, found picture, who, said"):
        read(path)


def test_explain_names_the_columns_below_titles(tmp_path: Path) -> None:
    path = text(tmp_path / "l.csv", [*TITLES, HEADER, *DATA])
    assert "read as: task=task, worker=worker, label=label" in call("run", path, "--explain").err
    text(path, DATA)
    given = ("--columns", "item,rater,answer")
    assert "task=item" in call("run", path, "--explain", *given).err.replace("\n", " ")


# Small tables ---------------------------------------------------------------------------------


@every_kind
def test_true_labels_and_families_may_have_titles_too(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind, [("Truth, by us",), (), ("item", "gold"), ("t1", "yes")])
    notes: list[str] = []
    assert read_truths(str(path), notes=notes) == {"t1": "yes"}
    assert notes == [f"{path}: header found in row 3"]
    path = table(tmp_path, kind, [("Families",), ("model", "family"), ("a", "x"), ("b", "x")])
    assert read_families(str(path)) == {"a": "x", "b": "x"}


def test_true_labels_are_read_from_the_sheet_that_has_them(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "g.xlsx", Notes=[("Read me",)], Truth=[("task", "gold"), ("t1", "x")]
    )
    assert read_truths(str(path)) == {"t1": "x"}
    workbook(path, Notes=[("Read me",)], Truth=[("a", "b"), ("t1", "x")])
    with pytest.raises(InputError, match=r"'Notes' \(Read me\), 'Truth' \(a, b\)"):
        read_truths(str(path))
