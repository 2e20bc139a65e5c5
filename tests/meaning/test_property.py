"""Any rendering of a known truth is read as what it is, or refused; never as anything else."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.labels.spelling import normalise
from tests.cli.tool import call
from tests.meaning.rendering import Rendered, Row, make_rows, render, save

DRAWS = int(os.environ.get("CROWDSTREAM_MEANING_DRAWS", "300"))
"""How many files are drawn; `make soak` draws 10,000."""


def read(rendered: Rendered) -> set[Row] | None:
    """The rows that are found in a file; None if it is refused."""
    with TemporaryDirectory() as folder:
        path = save(rendered, Path(folder))
        try:
            table = cs.read_labels(path, **rendered.options)
        except InputError:
            return None
    if "question" not in table.columns:
        table = table.with_columns(pl.lit("").alias("question"))
    found = table.drop_nulls("label").select("question", "task", "worker", "label").rows()
    return {(q, task, who, normalise(label)) for q, task, who, label in found}


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=DRAWS, derandomize=True)
def test_a_file_is_read_as_what_it_is_or_refused(seed: int) -> None:
    draw = Random(seed)
    rendered = render(make_rows(draw), draw)
    found = read(rendered)
    if found is not None:
        wanted = {(q, t, w, normalise(label)) for q, t, w, label in rendered.rows}
        assert found == wanted, (rendered.how, sorted(found ^ wanted)[:6])


def test_most_files_are_read_not_refused() -> None:
    """Refusing everything would be easy: of any shape, nine files of ten are read."""
    read_of, drawn = Counter[str](), Counter[str]()
    for seed in range(200):
        draw = Random(seed)
        rendered = render(make_rows(draw), draw)
        shape = rendered.how[0].split()[0]
        drawn[shape] += 1
        read_of[shape] += read(rendered) is not None
    for shape, number in drawn.items():
        assert read_of[shape] >= 0.9 * number, (shape, read_of[shape], number)


@pytest.mark.parametrize("seed", range(12))
def test_the_decisions_are_those_of_the_plain_table(seed: int, tmp_path: Path) -> None:
    draw = Random(1000 + seed)
    rows = make_rows(draw)
    rendered = render(rows, draw)
    result = call(
        "run", save(rendered, tmp_path), *rendered.flags, "-o", tmp_path / "found.csv",
        "--method", "majority", "-q",
    )  # fmt: skip
    if result.code == 2:
        pytest.skip(f"this file is refused: {result.err}")
    assert result.code == 0, result.err
    found = pl.read_csv(tmp_path / "found.csv", infer_schema=False)
    wanted = {}
    for question in dict.fromkeys(row[0] for row in rows):
        plain = [(task, who, label) for q, task, who, label in rows if q == question]
        decided = cs.MajorityVote().fit_predict(plain)
        for task, label in decided.select("task", "label").iter_rows():
            wanted[question, task] = normalise(str(label))
    if "question" not in found.columns:
        found = found.with_columns(pl.lit("").alias("question"))
    got = {
        (q, task): normalise(label)
        for q, task, label in found.select("question", "task", "label").iter_rows()
    }
    assert got == wanted
