"""Files in random order: the rows of a task are brought together while they are read."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.labels import ColumnNames
from crowdstream.labels.coded_labels import CodedLabels
from crowdstream.labels.readers import BadRows, InputOptions, csv_unquoted, find_sources, read_all
from crowdstream.labels.text_codes import QUICK

pytestmark = pytest.mark.skipif(not QUICK, reason="the loops that read so need a compiler")


@pytest.fixture(autouse=True)
def small_files_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_unquoted, "SMALL", 1)
    monkeypatch.setattr(csv_unquoted, "PIECE", 4096)
    monkeypatch.setattr(csv_unquoted, "threads", lambda: 3)


def read(path: Path, *, any_order: bool) -> tuple[CodedLabels, list[str]]:
    bad = BadRows()
    sources = find_sources([str(path)], None, InputOptions(any_order=any_order))
    (raw,) = read_all(sources, ColumnNames(), bad)
    assert isinstance(raw.labels, CodedLabels)
    return raw.labels, bad.notes


def write(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    path.write_text("task,worker,label\n" + "".join(",".join(row) + "\n" for row in rows), "utf-8")
    return path


def rows_of(tasks: int, seed: int = 0) -> list[tuple[str, str, str]]:
    draw = random.Random(seed)
    rows = [
        (f"tâche-{t}" + "x" * (t % 25), f"w{w}", draw.choice(["yes", "no", "ouí"]))
        for t in range(tasks)
        for w in draw.sample(range(40), 4)
    ]
    draw.shuffle(rows)
    return rows


@pytest.mark.parametrize("tasks", [200, 3000, 12_000])
def test_the_rows_of_a_task_are_together_in_their_order(tmp_path: Path, tasks: int) -> None:
    rows = rows_of(tasks)
    path = write(tmp_path / "l.csv", rows)
    plain, _ = read(path, any_order=False)
    assert plain.frame().rows() == rows
    found, _ = read(path, any_order=True)
    wanted: dict[str, list[tuple[str, str, str]]] = {}
    for row in rows:
        wanted.setdefault(row[0], []).append(row)
    assert found.frame().rows() == [row for each in wanted.values() for row in each]
    assert len(found.batch) == len(wanted)
    assert list(found.workers) == list(plain.workers)
    assert list(found.classes) == list(plain.classes)


def test_decisions_and_states_are_the_same(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", rows_of(3000))
    crowds = [cs.Adaptive().fit(read(path, any_order=way)[0]) for way in (False, True)]
    assert crowds[0].to_bytes() == crowds[1].to_bytes()


def test_rows_that_stand_together_are_read_run_by_run(tmp_path: Path) -> None:
    rows = sorted(rows_of(2000))
    path = write(tmp_path / "l.csv", rows)
    found, _ = read(path, any_order=True)
    assert found.frame().rows() == rows


def test_a_header_that_comes_again_is_named_by_its_row(tmp_path: Path) -> None:
    rows = rows_of(2000)
    rows.insert(4321, ("task", "worker", "label"))
    path = write(tmp_path / "l.csv", rows)
    found, notes = read(path, any_order=True)
    assert notes == [f"{path}: row 4,322 repeats the header, left out"]
    assert found.frame().height == len(rows) - 1


@pytest.mark.parametrize("odd", ['"quoted, name"', "two,fields", "\udc80"])
def test_what_is_not_simple_is_read_the_other_way(tmp_path: Path, odd: str) -> None:
    path = write(tmp_path / "l.csv", rows_of(2000))
    text = path.read_bytes()
    middle = text.index(b"\n", len(text) // 2) + 1
    row = f"{odd},w1,yes\n".encode("utf-8", "surrogateescape")
    path.write_bytes(text[:middle] + row + text[middle:])
    bad = BadRows("skip")
    sources = find_sources([str(path)], None, InputOptions(any_order=True))
    (raw,) = read_all(sources, ColumnNames(), bad)
    assert isinstance(raw.labels, CodedLabels)
    wanted = 8000 + (odd[0] == '"')
    assert (raw.labels.height, bad.rows) == (wanted, 8001 - wanted)


def test_long_and_many_names_find_their_place(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = ["n" * int(size) + str(k) for k, size in enumerate(rng.integers(0, 300, 5000))]
    rows = [(names[t], f"worker-{t % 3000}", "a") for t in rng.permutation(5000).tolist() * 2]
    path = write(tmp_path / "l.csv", rows)
    found, _ = read(path, any_order=True)
    assert found.frame().sort(pl.all()).rows() == sorted(rows)
    assert len(found.batch) == 5000
