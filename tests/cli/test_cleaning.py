"""Names that are spelt in several ways, answers that are none, and columns that are no workers."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
from crowdstream.labels import CodedLabels, code_rows
from crowdstream.labels.cleaning import Cleaner
from tests.cli.tool import call, csv_of, gold_of, labels, refused

ROWS = labels(200)
CLASSES = {"x": "schön", "y": "3", "z": "no idea"}
WAYS = {
    "schön": ["schön", "Schön", "SCHÖN", " schön", unicodedata.normalize("NFD", "schön")],
    "3": ["3", "3.0", " 3", "3.00", "3 "],
    "no idea": ["no idea", "No idea", "NO IDEA", "no  idea", "no idea "],
}
"""Three classes, spelt in fifteen ways."""

Rows = list[tuple[str, str, str]]


def named() -> Rows:
    """The labels under the names of CLASSES."""
    return [(task, worker, CLASSES[label]) for task, worker, label in ROWS]


def misspelt(seed: int = 0) -> Rows:
    """The same, each label in one of five ways; the usual one half of the time."""
    draw = random.Random(seed)
    pick = [5, 1, 1, 1, 1]
    return [(task, worker, draw.choices(WAYS[said], pick)[0]) for task, worker, said in named()]


def write(path: Path, rows: Rows, header: str = "task,worker,label") -> Path:
    path.write_bytes(csv_of(rows, header))
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    rows = [line.split(",") for line in gold_of(ROWS).decode().splitlines()[1:]]
    path = tmp_path / "truth.csv"
    path.write_bytes(csv_of([(task, CLASSES[label]) for task, label in rows], "task,label"))
    return path


# Fifteen spellings of three classes -------------------------------------------------------------


def test_spellings_are_counted_as_one_and_err_as_little_as_the_clean_file(
    tmp_path: Path, truth: Path
) -> None:
    clean = write(tmp_path / "clean.csv", named())
    dirty = write(tmp_path / "dirty.csv", misspelt())
    wanted = call("run", clean, "--truth", truth, "--json").report
    wrong = call("run", dirty, "--truth", truth, "--json").report
    mended = call("run", dirty, "--truth", truth, "--json", "--normalise").report
    assert (wanted["classes"], wrong["classes"], mended["classes"]) == (3, 15, 3)
    assert mended["error_rate"] == wanted["error_rate"]
    assert wrong["error_rate"] > 3 * wanted["error_rate"] + 0.05  # what the spellings cost
    assert call("run", dirty, "-q", "--normalise").out == call("run", clean, "-q").out


def test_twins_are_named_loudly_with_the_option(tmp_path: Path) -> None:
    result = call("run", write(tmp_path / "dirty.csv", misspelt()))
    note = " ".join(result.err[result.err.index("note: 15 labels") :].split())
    assert note.startswith("note: 15 labels look like 3 (--normalise counts them so): ")
    assert "' 3' = '3' = '3 '" in note
    assert "'scho\\u0308n'" in note  # which looks like another
    assert "look like" not in call("run", write(tmp_path / "clean.csv", named())).err


@pytest.mark.parametrize("options", [(), ("--window", "30"), ("--online",)])
def test_the_warning_is_in_the_json_once_and_goes_with_the_option(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    dirty = write(tmp_path / "dirty.csv", misspelt())
    warnings = call("run", dirty, "--json", *options).report["warnings"]
    assert sum("15 labels look like 3" in each for each in warnings) == 1
    warnings = call("run", dirty, "--json", "--normalise", *options).report["warnings"]
    assert warnings == ["--normalise: 15 spellings of 3 labels"]


@pytest.mark.parametrize("options", [("--window", "30"), ("--window", "30", "--online")])
def test_a_window_sees_the_same_classes_as_the_clean_file(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    clean = write(tmp_path / "clean.csv", named())
    dirty = write(tmp_path / "dirty.csv", misspelt())
    wanted = call("run", clean, "-q", *options)
    assert call("run", dirty, "-q", "--normalise", *options) == wanted


def test_workers_and_tasks_are_normalised_too(tmp_path: Path) -> None:
    rows = [
        (f" {task.upper()}" if k % 3 == 0 else task, f"{who.upper()} " if k % 4 == 0 else who, said)
        for k, (task, who, said) in enumerate(ROWS)
    ]
    clean, dirty = write(tmp_path / "a.csv", ROWS), write(tmp_path / "b.csv", rows)
    warnings = call("run", dirty, "--json").report["warnings"]
    assert any(
        "16 workers look like 8 (--normalise counts them so): 'W" in each for each in warnings
    )
    assert any("tasks look like 200 (--normalise counts them so): ' T" in each for each in warnings)
    mended = call("run", dirty, "-q", "--normalise")
    assert mended == call("run", clean, "-q")
    assert call("run", dirty, "--json", "--normalise").report["workers"] == 8
    for window in (("--window", "500"), ("--window", "500", "--online")):
        assert call("run", dirty, "-q", "--normalise", *window).out == (
            call("run", clean, "-q", *window).out
        )


def test_the_commonest_spelling_is_shown_tidied(tmp_path: Path) -> None:
    said = ["YES", "Yes ", "Yes", "yes", "YES", "Yes"]
    rows = [("Task  1", f"w{k}", label) for k, label in enumerate(said)]
    result = call("run", write(tmp_path / "a.csv", rows), "-q", "--normalise")
    assert result.out.splitlines()[1].startswith("Task 1,Yes,")


def test_a_worker_whose_labels_become_one_is_counted_as_repeated_and_replaced(
    tmp_path: Path,
) -> None:
    rows = [*ROWS, (ROWS[0][0].upper(), ROWS[0][1], ROWS[0][2]), (ROWS[1][0], ROWS[1][1], "Q")]
    warnings = call("run", write(tmp_path / "a.csv", rows), "--json", "--normalise").report[
        "warnings"
    ]
    assert "1 repeated row ignored: same task, worker and label" in warnings
    assert "1 label replaced by a later one from the same worker" in warnings


# No answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["N/A", "n/a", "-", "skip", "none", "don't know"])
def test_a_rare_label_that_means_none_is_warned_of(tmp_path: Path, word: str) -> None:
    rows = [(task, who, word if k % 40 == 0 else said) for k, (task, who, said) in enumerate(ROWS)]
    path = write(tmp_path / "a.csv", rows)
    report = call("run", path, "--json").report
    (note,) = report["warnings"]
    assert f"{word!r} (25) looks like no answer but counts as a class: --skip-label" in note
    assert report["classes"] == 4


def test_a_common_one_is_a_class(tmp_path: Path) -> None:
    rows = [(task, who, "none" if said == "x" else said) for task, who, said in ROWS]
    assert call("run", write(tmp_path / "a.csv", rows), "--json").report["warnings"] == []


@pytest.mark.parametrize("options", [(), ("--window", "30"), ("--online",)])
def test_skip_labels_are_no_answer_and_counted(tmp_path: Path, options: tuple[str, ...]) -> None:
    with_gaps = [(t, w, "" if k % 40 == 0 else x) for k, (t, w, x) in enumerate(ROWS)]
    with_words = [
        (t, w, ("N/A" if k % 80 else "n/a ") if k % 40 == 0 else x)
        for k, (t, w, x) in enumerate(ROWS)
    ]
    gaps, words = write(tmp_path / "a.csv", with_gaps), write(tmp_path / "b.csv", with_words)
    skip = ("--skip-label", "N/A")
    assert call("run", words, "-q", *skip, *options) == call("run", gaps, "-q", *options)
    report = call("run", words, "--json", *skip, *options).report
    assert report["warnings"] == ["25 labels taken for no answer (--skip-label)"]
    assert report["classes"] == 3


def test_several_skip_labels_and_one_that_nobody_gave(tmp_path: Path) -> None:
    rows = [(t, w, {0: "-", 1: "skip"}.get(k % 40, x)) for k, (t, w, x) in enumerate(ROWS)]
    path = write(tmp_path / "a.csv", rows)
    options = ("--skip-label", "-", "--skip-label", "Skip", "--skip-label", "pass")
    assert call("run", path, "--json", *options).report["warnings"] == [
        "50 labels taken for no answer (--skip-label)",
        "no label is spelt 'pass' (--skip-label)",
    ]


# Wide tables, free text, lists ------------------------------------------------------------------


def wide(tmp_path: Path, *, comment: bool = True) -> Path:
    by_task: dict[str, dict[str, str]] = {}
    for task, who, said in ROWS:
        by_task.setdefault(task, {})[who] = said
    workers = sorted({who for _, who, _ in ROWS})
    rows = [
        [task, *(said.get(who, "") for who in workers), *([f"I saw {task} k"] if comment else [])]
        for task, said in by_task.items()
    ]
    header = ",".join(["task", *workers, *(["comment"] if comment else [])])
    path = tmp_path / f"wide{comment}.csv"
    path.write_bytes(csv_of(rows, header))
    return path


def test_a_text_column_is_named_and_can_be_left_out(tmp_path: Path) -> None:
    path, clean = wide(tmp_path), wide(tmp_path, comment=False)
    note = call("run", path, "--wide", "--json").report["warnings"][0]
    wanted = "column 'comment' has 200 distinct values: leave it out with --leave-out comment"
    assert note == wanted
    for window in ((), ("--window", "30")):
        left = call("run", path, "--wide", "-q", "--leave-out", "comment", *window)
        assert left == call("run", clean, "--wide", "-q", *window)
    report = call("run", path, "--wide", "--json", "--leave-out", "comment").report
    assert (report["warnings"], report["classes"], report["workers"]) == ([], 3, 8)


def test_leaving_out_needs_a_wide_table_and_a_column_of_it(
    tmp_path: Path, label_file: Path
) -> None:
    refused(call("run", label_file, "--leave-out", "w1"), "--leave-out", "--wide too")
    for window in ((), ("--window", "30")):
        refused(
            call("run", wide(tmp_path), "--wide", "--leave-out", "comments", *window),
            "--leave-out: expected a column with labels, such as w",
            "'comments'",
        )


def test_free_text_as_label_is_warned_of(tmp_path: Path) -> None:
    rows = [(task, who, f"it is {said} to me {k}") for k, (task, who, said) in enumerate(ROWS)]
    (note, *_) = call("run", write(tmp_path / "a.csv", rows[:100]), "--json").report["warnings"]
    assert note.startswith("100 different labels in 100 rows look like free text, such as 'it is ")


@pytest.mark.parametrize("cell", ["x|y", "x;y", "[x y]"])
def test_several_choices_in_a_cell_are_warned_of(tmp_path: Path, cell: str) -> None:
    cell = '"[""x"",""y""]"' if "[" in cell else cell
    rows = [(task, who, cell if k % 30 == 0 else said) for k, (task, who, said) in enumerate(ROWS)]
    (note,) = call("run", write(tmp_path / "a.csv", rows), "--json").report["warnings"]
    assert note.startswith("1 label holds several choices, such as ")
    assert note.endswith("each counts as a class of its own; give one choice per row")


# The other commands -----------------------------------------------------------------------------


def test_gold_savings_and_compare_clean_and_warn_too(tmp_path: Path, truth: Path) -> None:
    clean = write(tmp_path / "clean.csv", named())
    dirty = write(tmp_path / "dirty.csv", misspelt())
    wanted = call("gold", "plan", clean, "-q").out
    assert call("gold", "plan", dirty, "-q", "--normalise").out == wanted
    assert call("gold", "check", dirty, truth, "--normalise").out == (
        call("gold", "check", clean, truth).out
    )
    commands: list[tuple[str | Path, ...]] = [
        ("gold", "plan", dirty),
        ("gold", "check", dirty, truth),
        ("savings", dirty, "--orders", "1", "--method", "majority"),
        ("compare", dirty, "--truth", truth, "--quick", "--methods", "majority"),
    ]
    for command in commands:
        warned = call(*command, "--json").report["warnings"]
        assert any("15 labels look like 3" in each for each in warned), command
        assert "15 labels look like 3" in call(*command).err, command
        mended = call(*command, "--json", "--normalise").report["warnings"]
        assert "--normalise: 15 spellings of 3 labels" in mended, command
        assert not any("look like" in each for each in mended), command
    refused(call("compare", "rte", "--normalise"), "--truth and files of labels")


def lines(rows: Rows) -> bytes:
    names = ("task", "worker", "label")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def test_a_stream_is_cleaned_line_by_line() -> None:
    first = [*named()[:5], *misspelt()]  # so that the usual spellings come first
    wanted = call("stream", "-q", stdin=lines([*named()[:5], *named()]))
    assert call("stream", "-q", "--normalise", stdin=lines(first)).out == wanted.out
    told = call("stream", stdin=lines(first)).err
    assert told.count("2 labels look like 1 (") == 1
    assert "look like" not in call("stream", "--normalise", stdin=lines(first)).err


def test_a_stream_warns_of_workers_and_tasks_and_skips() -> None:
    rows = [("t1", "ann", "yes"), ("T1", "Ann ", "no"), *named()]
    told = call("stream", stdin=lines(rows)).err
    assert "2 workers look like 1 (--normalise counts them so): 'ann' = 'Ann '" in told
    assert "2 tasks look like 1 (--normalise counts them so): 't1' = 'T1'" in told
    rows = [(t, w, "N/A" if k % 40 == 0 else x) for k, (t, w, x) in enumerate(ROWS)]
    assert "'N/A' (25) looks like no answer" in call("stream", stdin=lines(rows)).err
    skipped = call("stream", "--skip-label", "n/a", stdin=lines(rows))
    assert "25 taken for no answer" in skipped.err
    assert "looks like no answer" not in skipped.err
    assert "N/A" not in skipped.out


def test_a_stream_goes_on_with_the_spellings_of_its_state(tmp_path: Path) -> None:
    state = tmp_path / "crowd.state"
    rows = [(f"T{k}", who, "Yes") for k in range(5) for who in ("Ann", "Bob", "Cy")]
    call("stream", "-q", "--normalise", "--state", state, stdin=lines(rows[:-1]))
    again = [
        ("t4", "CY", "YES"),
        *((f"t{k}", who, "yes") for k in (7, 8) for who in ("ann", "bob")),
    ]
    call("stream", "-q", "--normalise", "--state", state, stdin=lines(again))
    workers = call("workers", state, "-q").out.splitlines()[1:]
    assert [line.split(",")[0] for line in workers] == ["Ann", "Bob", "Cy"]
    assert len(cs.Stream.load(state).crowd.classes_) == 1


def test_a_closed_task_is_known_in_any_spelling_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "crowd.state"
    rows = [("Task 1", "ann", "yes"), ("Task 1", "bob", "yes"), ("task 1 ", "cy", "no")]
    args = ("stream", "--normalise", "--max-labels", "2")
    assert "1 late" in call(*args, stdin=lines(rows)).err
    call(*args, "--state", state, stdin=lines(rows[:2]))
    assert "1 late" in call(*args, "--state", state, stdin=lines(rows[2:])).err
    assert cs.Stream.load(state).open_tasks == []


def test_gold_in_a_stream_may_be_spelt_otherwise() -> None:
    rows = [f"t{k},{who},{'xy'[k % 2]},{'XY'[k % 2]} " for k in range(40) for who in "abc"]
    data = "\n".join(["task,worker,label,gold", *rows]).encode()
    found = call("stream", "-q", stdin=data).lines
    assert {line["label"] for line in found} == {"x", "y"}


# The library ------------------------------------------------------------------------------------


def test_a_table_is_normalised_in_python() -> None:
    columns = ["task", "worker", "label"]
    dirty = pl.DataFrame(misspelt(), columns, orient="row")
    wanted = pl.DataFrame(named(), columns, orient="row")
    assert cs.normalise_labels(dirty).equals(wanted)
    assert cs.normalise_labels(dirty.to_pandas()).equals(wanted.to_pandas())
    assert cs.normalise_labels(wanted).equals(wanted)


def test_numbers_are_left_as_they_are() -> None:
    rows = [(1, 2, 3), (1, 4, 3), (2, 2, 1)]
    assert cs.normalise_labels(rows).rows() == rows


def test_cleaning_leaves_what_it_was_given() -> None:
    table = code_rows([("t1", "ann", "yes"), ("T1", "Ann", "YES"), ("t2", "bob", "-")])
    before = table.frame()
    cleaned = Cleaner(normalise=True, skip=["-"], left_out=["bob"]).clean(table)
    assert table.frame().equals(before)
    assert cleaned.frame().rows() == [("t1", "ann", "yes"), ("t1", "ann", "yes")]


def test_batches_are_cleaned_alike_wherever_they_are_cut() -> None:
    rows = [(t.upper() if k % 2 else t, w, x) for k, (t, w, x) in enumerate(misspelt())]
    for size in (1, 7, 400):
        cleaner = Cleaner(normalise=True, in_batches=True)
        parts = [cleaner.clean(code_rows(rows[k : k + size])) for k in range(0, len(rows), size)]
        found = CodedLabels.concat(parts).frame()
        assert found["label"].n_unique() == 3
        assert found["task"].n_unique() == 200
