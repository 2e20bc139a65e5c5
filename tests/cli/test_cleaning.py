"""Names that are spelt in several ways, answers that are none, and columns that are no workers."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path

import polars as pl
import pytest

import crowdstream as cs
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


def test_spellings_are_one_class_and_err_as_little_as_the_clean_file(
    tmp_path: Path, truth: Path
) -> None:
    clean = write(tmp_path / "clean.csv", named())
    dirty = write(tmp_path / "dirty.csv", misspelt())
    wanted = call("run", clean, "--truth", truth, "--json").report
    mended = call("run", dirty, "--truth", truth, "--json").report
    wrong = call("run", dirty, "--truth", truth, "--json", "--exact").report
    assert (wanted["classes"], wrong["classes"], mended["classes"]) == (3, 15, 3)
    assert mended["error_rate"] == wanted["error_rate"]
    assert wrong["error_rate"] > 3 * wanted["error_rate"] + 0.05  # what the spellings cost
    assert call("run", dirty, "-q").out == call("run", clean, "-q").out


def test_what_was_joined_is_said_first(tmp_path: Path) -> None:
    result = call("run", write(tmp_path / "dirty.csv", misspelt()))
    note = " ".join(result.err[result.err.index("note: ") :].split())
    assert note.startswith("note: 15 spellings are 3 classes: ")
    assert "(--exact keeps them apart)" in note
    assert "spellings" not in call("run", write(tmp_path / "clean.csv", named())).err


@pytest.mark.parametrize("options", [("--window", "30"), ("--window", "30", "--online")])
def test_a_window_sees_the_same_classes_as_the_clean_file(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    clean = write(tmp_path / "clean.csv", named())
    dirty = write(tmp_path / "dirty.csv", misspelt())
    assert call("run", dirty, "-q", *options).out == call("run", clean, "-q", *options).out


def test_blanks_around_workers_and_tasks_are_none_of_them(tmp_path: Path) -> None:
    rows = [
        (f" {task}" if k % 2 else task, f"{who} ", said) for k, (task, who, said) in enumerate(ROWS)
    ]
    padded = write(tmp_path / "padded.csv", rows)
    assert call("run", padded, "-q").out == call("run", write(tmp_path / "l.csv", ROWS), "-q").out


def test_workers_and_tasks_that_differ_by_case_are_kept_apart_and_said(tmp_path: Path) -> None:
    rows = [(task, who.upper() if k % 2 else who, said) for k, (task, who, said) in enumerate(ROWS)]
    report = call("run", write(tmp_path / "l.csv", rows), "--json").report
    assert report["workers"] == 16
    assert any("16 workers differ only in spelling" in note for note in report["warnings"])


def test_the_commonest_spelling_is_shown_tidied(tmp_path: Path) -> None:
    rows = [("t1", "a", "YES"), ("t1", "b", " Yes"), ("t1", "c", "Yes "), ("t2", "a", "no")]
    result = call("run", write(tmp_path / "l.csv", rows), "-q")
    assert [line.split(",")[1] for line in result.out.splitlines()[1:]] == ["Yes", "no"]


# No answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--window", "30"), ("--online",)])
@pytest.mark.parametrize("word", ["N/A", "n/a", "-", "None", "null", "NA", "nan", " "])
def test_what_means_none_is_no_answer_and_counted(
    tmp_path: Path, word: str, options: tuple[str, ...]
) -> None:
    rows = [*ROWS[:-10], *((task, who, word) for task, who, _ in ROWS[-10:])]
    report = call("run", write(tmp_path / "l.csv", rows), "--json", *options).report
    assert (report["classes"], report["labels"]) == (3, len(ROWS) - 10)
    assert sum(report["read_as"]["no_answer"].values()) == 10
    if word.strip():
        assert any("(10) is no answer" in note for note in report["warnings"])
        kept = call("run", tmp_path / "l.csv", "--json", "--keep", word, *options).report
        assert (kept["classes"], kept["labels"]) == (4, len(ROWS))


@pytest.mark.parametrize("word", ["?", "skip", "unsure", "don't know", "missing"])
def test_what_may_be_an_answer_is_not_guessed(tmp_path: Path, word: str) -> None:
    rows = [*ROWS[:-10], *((task, who, word) for task, who, _ in ROWS[-10:])]
    report = call("run", write(tmp_path / "l.csv", rows), "--json").report
    assert (report["classes"], report["labels"]) == (4, len(ROWS))


def test_a_label_to_keep_must_be_there(tmp_path: Path) -> None:
    refused(call("run", write(tmp_path / "l.csv", ROWS), "--keep", "none"), "--keep", "'none'")


# Columns that are no workers ---------------------------------------------------------------------


def wide(tmp_path: Path, column: str, cells: list[str]) -> Path:
    """A column per worker, and one more."""
    by_task: dict[str, dict[str, str]] = {}
    for task, who, said in ROWS:
        by_task.setdefault(task, {})[who] = said
    workers = sorted({who for _, who, _ in ROWS})
    lines = [
        [task, *(votes.get(who, "") for who in workers), cells[k % len(cells)]]
        for k, (task, votes) in enumerate(by_task.items())
    ]
    path = tmp_path / "wide.csv"
    path.write_bytes(csv_of(lines, ",".join(["task", *workers, column])))
    return path


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("notes", ["", "blurry", "too dark"]),
        ("said later", ["blurry", "dark", "ok", ""]),
        ("seconds", [str(k) for k in range(3, 200, 7)]),
        ("link", [f"http://x/{k}" for k in range(200)]),
    ],
)
def test_a_column_that_is_no_worker_is_left_out_and_named(
    tmp_path: Path, column: str, cells: list[str]
) -> None:
    report = call("run", wide(tmp_path, column, cells), "--wide", "--json").report
    assert (report["workers"], report["labels"]) == (8, len(ROWS))
    assert list(report["read_as"]["left_out"]) == [column]
    assert f"left out: {column}" in report["read_as"]["text"]


def test_a_column_that_may_be_a_worker_is_refused_until_it_is_said(tmp_path: Path) -> None:
    path = wide(tmp_path, "di", ["", "", "", "maybe", "", "", ""][:7])
    rows = path.read_text().splitlines()
    path.write_text("\n".join([rows[0], *(row for row in rows[1:5]), ""]))  # one cell of it
    words = "--leave-out di"
    refused(call("run", path, "--wide"), "column 'di'", words)
    assert call("run", path, "--wide", *words.split(), "--json").report["workers"] == 8
    names = [f"--label={who}" for who in ("w0", "w1", "w2", "di")]
    assert call("run", path, "--wide", *names, "--json").report["workers"] == 4
    refused(call("run", path, "--wide", "--leave-out", "nobody"), "--leave-out", "nobody")


def test_free_text_as_label_is_refused(tmp_path: Path) -> None:
    rows = [(task, who, f"I think {k}") for k, (task, who, _) in enumerate(ROWS)]
    path = write(tmp_path / "l.csv", rows)
    refused(call("run", path), "free text", "--label COLUMN", "--as-classes")
    assert call("run", path, "--as-classes", "-q").code == 0


# Streams -----------------------------------------------------------------------------------------


def lines(rows: Rows) -> bytes:
    names = ("task", "worker", "label")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def test_a_stream_is_cleaned_line_by_line() -> None:
    clean = call("stream", "-q", stdin=lines(named()))
    dirty = call("stream", stdin=lines(misspelt()))
    assert dirty.out == clean.out
    assert "is counted as" in dirty.err
    exact = call("stream", "-q", "--exact", stdin=lines(misspelt()))
    assert len({line["label"] for line in exact.lines}) > 3


def test_a_stream_takes_no_answer_for_none() -> None:
    rows = [*named()[:-10], *((task, who, "N/A") for task, who, _ in named()[-10:])]
    result = call("stream", stdin=lines(rows))
    assert "10 taken for no answer" in result.err
    assert "'N/A' is no answer" in result.err
    kept = call("stream", "--keep", "n/a", stdin=lines(rows))
    assert "taken for no answer" not in kept.err


def test_a_stream_refuses_scores_and_sets_when_the_first_comes() -> None:
    scores = [(task, who, f"0.{k % 97:02}") for k, (task, who, _) in enumerate(ROWS)]
    refused(call("stream", "-q", stdin=lines(scores)), "--threshold", "--as-classes")
    passed = call("stream", "-q", "--threshold", "0.5", stdin=lines(scores))
    assert {line["label"] for line in passed.lines} <= {"pass", "fail"}
    sets = [(task, who, "x|y" if k % 3 else "x") for k, (task, who, _) in enumerate(ROWS)]
    sets[1] = (*sets[1][:2], "y")
    refused(call("stream", "-q", stdin=lines(sets)), "crowdstream run --choices")


def test_a_stream_holds_one_question() -> None:
    rows = [
        {"task": task, "worker": who, "question": q, "label": said}
        for task, who, said in ROWS
        for q in ("tone", "style")
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    refused(call("stream", stdin=data), "line 2", "'tone'", "'style'", "--question")
    one = call("stream", "-q", "--question", "tone", stdin=data)
    assert one.out == call("stream", "-q", stdin=lines(ROWS)).out


def test_a_stream_goes_on_with_the_spellings_and_the_question_of_its_state(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    rows = [{"task": t, "worker": w, "question": "tone", "label": said} for t, w, said in ROWS]
    first.write_text("".join(json.dumps(row) + "\n" for row in rows))
    args = ("--state", tmp_path / "s", "-o", tmp_path / "o.jsonl", "-q")
    assert call("stream", first, *args).code == 0
    again = [row | {"task": f"new {row['task']}", "label": row["label"].upper()} for row in rows]
    second.write_text("".join(json.dumps(row) + "\n" for row in again))
    assert call("stream", second, *args).code == 0
    said = {json.loads(line)["label"] for line in (tmp_path / "o.jsonl").read_text().splitlines()}
    assert said == {"x", "y", "z"}
    third = tmp_path / "c.jsonl"
    third.write_text(json.dumps(rows[0] | {"task": "later", "question": "style"}) + "\n")
    refused(call("stream", third, *args), "'tone'", "'style'")


# In Python ---------------------------------------------------------------------------------------


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


def test_tables_of_python_are_taken_as_they_are_and_twins_are_named() -> None:
    rows = [("t1", "a", "yes"), ("t1", "b", "Yes"), ("t2", "a", "N/A")]
    with pytest.warns(cs.OddLabels) as caught:
        found = cs.MajorityVote().fit(rows)
    assert found.classes_ == ["yes", "Yes", "N/A"]
    said = " ".join(str(one.message) for one in caught)
    assert "'yes' = 'Yes'" in said
    assert "'N/A' looks like no answer" in said
