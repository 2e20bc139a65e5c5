"""Where outputs go: files are replaced whole, links followed, pipes and devices written to."""

from __future__ import annotations

import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.cli import workbooks
from crowdstream.cli.output import TableWriter, check_output, write_table
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.labels.readers.small_tables import read_text_table
from crowdstream.serialization import replacing
from tests.cli.tool import call, csv_of, labels, left_in, refused

ROWS = labels()

Args = tuple[str | Path, ...]


def run_to(labels: Path, target: Path) -> Args:
    return ("run", labels, "-q", "-o", target)


def chart_to(labels: Path, target: Path) -> Args:
    state = labels.with_name("state")
    cs.Adaptive().fit(pl.read_csv(labels)).save(state)
    return ("workers", state, "-q", "--chart", target)


def state_to(labels: Path, target: Path) -> Args:
    one = labels.with_name("one.state")
    cs.Adaptive().fit(pl.read_csv(labels)).save(one)
    return ("merge", one, "-o", target, "-q")


OUTPUTS = {
    "o.csv": run_to,
    "o.tsv": run_to,
    "o.jsonl": run_to,
    "o.parquet": run_to,
    "o.xlsx": run_to,
    "o.html": chart_to,
    "o.svg": chart_to,
    "o.png": chart_to,
    "o.state": state_to,
}
every_output = pytest.mark.parametrize("name", OUTPUTS)


def content(path: Path) -> object:
    """What a file says; of a state the bytes, of a table the table."""
    if path.suffix == ".xlsx":  # which says when it was made
        return read_text_table(str(path)).to_dicts()
    return pl.read_parquet(path).to_dicts() if path.suffix == ".parquet" else path.read_bytes()


@contextmanager
def drained(path: Path) -> Iterator[list[bytes]]:
    """All that is written to a pipe."""
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()
    yield found
    reader.join(30)
    assert not reader.is_alive(), "the pipe was never written to"


@every_output
def test_a_pipe_is_written_to(label_file: Path, name: str) -> None:
    if OUTPUTS[name] is chart_to:
        pytest.importorskip("vl_convert")
    folder = label_file.parent
    plain, pipe = folder / f"plain{Path(name).suffix}", folder / name
    assert call(*OUTPUTS[name](label_file, plain)).code == 0
    os.mkfifo(pipe)
    with drained(pipe) as found:
        assert call(*OUTPUTS[name](label_file, pipe)) == (0, "", "")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    copy = folder / f"copy{Path(name).suffix}"
    copy.write_bytes(found[0])
    assert content(copy) == content(plain)


def test_a_pipe_of_any_name_gets_csv(label_file: Path) -> None:
    """As a shell makes them: ``-o >(gzip > decisions.csv.gz)``."""
    pipe, plain = label_file.with_name("63"), label_file.with_name("plain.csv")
    assert call(*run_to(label_file, plain)).code == 0
    os.mkfifo(pipe)
    with drained(pipe) as found:
        assert call(*run_to(label_file, pipe)) == (0, "", "")
    assert found[0] == plain.read_bytes()


def test_a_full_disk_is_named_by_the_file_that_it_lacks_room_for(label_file: Path) -> None:
    """A limit to the size of files stands for the disk."""
    target = label_file.with_name("decisions.csv")
    label_file.write_bytes(csv_of(labels(2000)))
    line = f"ulimit -f 1; crowdstream run {label_file.name} -o {target.name} -q"
    done = shell(line, label_file.parent)
    assert done.returncode == 2
    one_line(done.stderr, target.name, "a file that can be written")
    assert not target.exists()


@every_output
def test_a_device_is_written_to(label_file: Path, name: str) -> None:
    """A node of our own with the numbers of the null device."""
    if OUTPUTS[name] is chart_to:
        pytest.importorskip("vl_convert")
    node = label_file.with_name(name)
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        node.open("wb").close()
    except OSError as error:
        pytest.skip(f"no device can be made here: {error}")
    before = node.lstat()
    assert call(*OUTPUTS[name](label_file, node)) == (0, "", "")
    after = node.lstat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)


@every_output
def test_a_socket_is_refused_and_stays(label_file: Path, name: str) -> None:
    target = label_file.with_name(name)
    with socket.socket(socket.AF_UNIX) as one, pytest.MonkeyPatch.context() as patch:
        patch.chdir(target.parent)  # names of sockets are short
        one.bind(name)
        refused(call(*OUTPUTS[name](label_file, target)), "it is a socket")
        assert stat.S_ISSOCK(target.lstat().st_mode)


@every_output
def test_a_link_stays_a_link_and_its_file_is_replaced(label_file: Path, name: str) -> None:
    folder = label_file.parent
    (folder / "kept").mkdir()
    target, link, middle = folder / "kept" / name, folder / name, folder / f"middle-{name}"
    middle.symlink_to(target)
    link.symlink_to(middle.name)
    for there in (False, True):  # the link dangles at first
        assert target.exists() == there
        number = target.stat().st_ino if there else None
        holder = target.open("rb") if there else None  # or its number might be given again
        assert call(*OUTPUTS[name](label_file, link)).code == 0
        assert link.is_symlink()
        assert middle.is_symlink()
        assert target.is_file()
        assert target.stat().st_ino != number
        if holder:
            holder.close()
    assert left_in(folder / "kept") == [name]


@every_output
def test_links_in_a_circle_are_refused(label_file: Path, name: str) -> None:
    one, other = label_file.with_name(name), label_file.with_name(f"other-{name}")
    one.symlink_to(other)
    other.symlink_to(one)
    refused(call(*OUTPUTS[name](label_file, one)), "lead in a circle")
    assert one.is_symlink()


@every_output
def test_a_folder_is_refused(label_file: Path, name: str) -> None:
    target = label_file.with_name(name)
    target.mkdir()
    refused(call(*OUTPUTS[name](label_file, target)), "it is a folder")


@every_output
def test_a_file_keeps_its_mode_and_a_new_one_follows_the_umask(label_file: Path, name: str) -> None:
    target = label_file.with_name(name)
    before = os.umask(0o027)
    try:
        assert call(*OUTPUTS[name](label_file, target)).code == 0
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        target.chmod(0o600)
        assert call(*OUTPUTS[name](label_file, target)).code == 0
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(label_file: Path) -> None:
    target = label_file.with_name("o.csv")
    target.touch()
    os.chown(target, 12345, 54321)
    assert call(*run_to(label_file, target)).code == 0
    assert (target.stat().st_uid, target.stat().st_gid) == (12345, 54321)


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everything")
def test_a_write_protected_file_is_left_alone(label_file: Path) -> None:
    target = label_file.with_name("o.csv")
    target.write_text("mine")
    target.chmod(0o400)
    refused(call(*run_to(label_file, target)), "write-protected")
    assert target.read_text() == "mine"


def test_what_fails_on_the_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "o.csv"
    target.write_text("before")

    def fail() -> None:
        with replacing(target) as name:
            Path(name).write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_text() == "before"
    assert left_in(tmp_path) == ["o.csv"]


def test_a_long_name_can_be_written(label_file: Path) -> None:
    target = label_file.with_name("ö" * 120 + ".csv")
    assert call(*run_to(label_file, target)).code == 0
    assert target.exists()


# Standard input and output that are closed --------------------------------------------------


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command line as a shell runs it; ``crowdstream`` is ours."""
    command = f"'{sys.executable}' -c 'from crowdstream.cli import entry; entry()'"
    return subprocess.run(
        ["sh", "-c", line.replace("crowdstream", command)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def one_line(err: str, *words: str) -> None:
    assert err.count("\n") == 1, err
    assert err.startswith("crowdstream: "), err
    for word in words:
        assert word in err, err


@pytest.mark.parametrize(
    "line",
    [
        "run -",
        "run - --window 10",
        "run - --format parquet",
        "run labels.csv --gold -",
        "run labels.csv --truth -",
        "savings -",
        "compare - --truth labels.csv --quick",
        "gold plan -",
    ],
)
def test_a_closed_standard_input_is_a_mistake_in_one_line(label_file: Path, line: str) -> None:
    result = shell(f"crowdstream {line} <&-", label_file.parent)
    assert result.returncode == 2, result
    one_line(result.stderr, "standard input", "found it closed")
    assert result.stdout == ""


def test_a_closed_standard_input_that_is_not_read_does_not_matter(label_file: Path) -> None:
    result = shell("crowdstream run labels.csv -q -o o.csv <&-", label_file.parent)
    assert (result.returncode, result.stderr) == (0, "")
    assert pl.read_csv(label_file.with_name("o.csv")).height == 60


@pytest.mark.parametrize(
    "line",
    ["run labels.csv -q", "run labels.csv --json", "simulate -t 5 --quiet", "version", "--help"],
)
def test_a_closed_standard_output_is_a_mistake_in_one_line(label_file: Path, line: str) -> None:
    result = shell(f"crowdstream {line} >&-", label_file.parent)
    assert result.returncode == 2, result
    one_line(result.stderr, "standard output", "found it closed")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_output_that_is_not_needed_does_not_matter(label_file: Path, closed: str) -> None:
    """Nor does what is opened next take its place: nothing is said into a file."""
    written = label_file.read_bytes()
    result = shell(f"crowdstream run labels.csv -o o.csv {closed}", label_file.parent)
    assert result.returncode == 0, result
    assert pl.read_csv(label_file.with_name("o.csv")).height == 60
    assert label_file.read_bytes() == written


# Merging with nothing -------------------------------------------------------------------------


MADE: dict[str, Callable[[], cs.Adaptive]] = {
    "plain": cs.Adaptive,
    "memory": lambda: cs.Adaptive(memory=40),
    "families": lambda: cs.Adaptive(families={"w0": "a", "w1": "a"}),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("first", [True, False])
def test_an_empty_state_changes_nothing(tmp_path: Path, made: str, first: bool) -> None:
    full, empty, merged = (tmp_path / name for name in ("full", "empty", "merged"))
    MADE[made]().fit(ROWS).save(full)
    MADE[made]().save(empty)
    states = (empty, full) if first else (full, empty)
    assert call("merge", *states, "-o", merged, "-q") == (0, "", "")
    assert call("workers", merged, "-q") == call("workers", full, "-q")


@pytest.mark.parametrize("method", ["adaptive", "agreement", "centred", "majority"])
@pytest.mark.parametrize("first", [True, False])
def test_a_run_and_a_stream_without_labels_merge(tmp_path: Path, method: str, first: bool) -> None:
    full, none, stream, merged = (tmp_path / name for name in ("full", "none", "stream", "merged"))
    how = ("-q", "--method", method, "--state")
    assert call("run", "-", *how, full, stdin=csv_of(ROWS)).code == 0
    assert call("run", "-", *how, none, stdin=csv_of([])).code == 0
    assert call("stream", *how, stream).code == 0
    states = (none, stream, full) if first else (full, stream, none)
    assert call("merge", *states, "-o", merged, "-q") == (0, "", "")
    wanted, found = call("workers", full, "-q"), call("workers", merged, "-q")
    assert (found.code, found.out) == (0, wanted.out)
    assert call("merge", none, stream, "-o", merged, "-q").code == 0


# Workbooks ------------------------------------------------------------------------------------


def formulas(path: Path) -> int:
    """How many formulas and links are in a workbook's sheets."""
    with zipfile.ZipFile(path) as book:
        sheets = [book.read(name) for name in book.namelist() if "worksheets/" in name]
    return sum(len(re.findall(rb"<f[ >]|<hyperlink", sheet)) for sheet in sheets)


def test_a_workbook_says_what_the_csv_says(label_file: Path) -> None:
    folder = label_file.parent
    outputs = [(folder / f"d.{kind}", folder / f"w.{kind}") for kind in ("csv", "xlsx")]
    for decisions, workers in outputs:
        assert call("run", label_file, "-q", "-o", decisions, "--workers", workers).code == 0
    for plain, book in zip(*outputs, strict=True):
        frame = pl.read_csv(plain, infer_schema=False)
        found = read_text_table(str(book)).with_columns(pl.all().fill_null(""))
        assert found.columns == frame.columns
        for name in frame.columns:
            text, read = frame[name].fill_null(""), found[name]
            numbers = text.cast(pl.Float64, strict=False)
            if numbers.null_count():
                assert read.to_list() == text.to_list(), name
            else:
                assert read.cast(pl.Float64).to_list() == numbers.to_list(), name


def test_labels_in_a_workbook_of_ours_are_read_as_they_were(tmp_path: Path) -> None:
    plain, book = tmp_path / "l.csv", tmp_path / "l.xlsx"
    for path in (plain, book):
        assert call("simulate", "--tasks", "50", "--seed", "1", "--quiet", "-o", path).code == 0
    assert cs.read_labels(book).rows() == cs.read_labels(plain).rows()


INJECTED = '<r><t>a</t></r></is></c><c r="C2"><f>1+1</f></c><c r="D2"><is><r><t>a</t></r>'
"""What a writer that takes it for XML would make a formula of."""

HOSTILE = [
    "=1+1",
    '=HYPERLINK("http://x")',
    "+1",
    "-1",
    "@x",
    "<r><t>a</t></r>",
    INJECTED,
    "<r></r>",
    "http://a.b",
    "mailto:a@b",
    "\t=1",
]


@settings(deadline=None, max_examples=50)  # each writes and reads a file
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cn"]), min_size=1), min_size=1))
@example(HOSTILE)
@example(
    [
        "_x0041_",
        "_x0041__x0041_",
        "__x0041_",
        "a\x00b",
        "c\r\nd",
        "007",
        "1e5",
        "TRUE",
        " e ",
        "]]>",
        "&lt;",
    ]
)
def test_any_name_is_written_as_text_and_read_back(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.xlsx")
        table = pl.DataFrame({"task": [f"t{name}" for name in names], "label": names})
        write_table(table, str(path))
        assert formulas(path) == 0
        assert read_text_table(str(path)).rows() == table.rows()


def test_a_name_that_would_be_read_back_as_another_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    with pytest.raises(InputError, match="'_x005F_x0041_'"):
        write_table(pl.DataFrame({"task": ["_x005F_x0041_"]}), str(path))
    assert not path.exists()


def test_pieces_are_appended_and_numbers_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    columns = {"task": ["a"], "share": [0.12345678], "flags": [["x", "y"]], "good": [True]}
    columns |= {"big": [2**62], "none": [None], "odd": [float("inf")]}
    piece = pl.DataFrame(columns)
    with TableWriter(str(path)).open() as write:
        write(piece)
        write(piece)
    row = ("a", "0.123457", "x;y", "true", str(2**62), None, "inf")
    assert read_text_table(str(path)).rows() == [row, row]
    kinds = pl.read_excel(path).schema
    assert kinds["share"] == pl.Float64
    assert kinds["good"] == pl.Boolean


@pytest.mark.parametrize(
    ("limit", "most", "expected"),
    [
        ("MOST_ROWS", 60, "at most 59 rows"),
        ("MOST_COLUMNS", 3, "at most 3 columns"),
        ("MOST_CHARACTERS", 4, "at most 4 characters"),
    ],
)
def test_what_a_sheet_cannot_hold_is_refused_and_the_old_file_stays(
    label_file: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int, expected: str
) -> None:
    monkeypatch.setattr(workbooks, limit, most)
    target = label_file.with_name("d.xlsx")
    target.write_bytes(b"what was there")
    refused(call("run", label_file, "-q", "-o", target), target.name, expected, ".parquet instead")
    assert target.read_bytes() == b"what was there"
    assert left_in(label_file.parent) == [target.name, label_file.name]


def test_a_cell_holds_as_much_as_excel_counts(tmp_path: Path) -> None:
    """A character beyond the first 65,536 counts twice."""
    path = tmp_path / "t.xlsx"
    longest = "x" * workbooks.MOST_CHARACTERS
    write_table(pl.DataFrame({"task": [longest]}), str(path))
    assert read_text_table(str(path)).item() == longest
    with pytest.raises(InputError, match="found 32,768"):
        write_table(pl.DataFrame({"task": ["\U0001f600" * 16_384]}), str(path))
    assert read_text_table(str(path)).item() == longest


def test_without_xlsxwriter_the_line_to_type_is_said_before_any_work(tmp_path: Path) -> None:
    with (
        mock.patch("importlib.util.find_spec", return_value=None),
        pytest.raises(CrowdstreamError, match=r"pip install 'crowdstream\[excel\]'"),
    ):
        check_output(str(tmp_path / "d.xlsx"), "--output")


def test_a_full_disk_is_named_by_the_workbook_that_it_lacks_room_for(label_file: Path) -> None:
    target = label_file.with_name("decisions.xlsx")
    label_file.write_bytes(csv_of(labels(2000)))
    line = f"ulimit -f 1; crowdstream run {label_file.name} -o {target.name} -q"
    done = shell(line, label_file.parent)
    assert done.returncode == 2
    one_line(done.stderr, target.name, "a file that can be written")
    assert left_in(label_file.parent) == [label_file.name]
