"""Any table, any rows, in any order: the same batch of labels in codes."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdstream.errors import InputError
from crowdstream.labels import (
    ColumnNames,
    Intake,
    Label,
    LabelBatch,
    Table,
    Vocabulary,
    code_rows,
    code_table,
)

FRAME = pl.DataFrame(
    {
        "task": ["t1", "t1", "t2", "t2", "t1"],
        "worker": ["ann", "bob", "ann", "cy", "cy"],
        "label": ["spam", "ham", "ham", "ham", "spam"],
    }
)


def code(data: Table) -> tuple[LabelBatch, Intake, list[object], list[object]]:
    workers, classes = Vocabulary(), Vocabulary()
    batch, intake = code_table(data, workers, classes)
    return batch, intake, list(workers), list(classes)


def by_task(data: Table) -> dict[object, dict[object, object]]:
    """The batch in the values it stands for."""
    batch, _, workers, classes = code(data)
    return {
        task: {
            workers[batch.workers[k]]: classes[batch.labels[k]]
            for k in range(batch.starts[t], batch.starts[t + 1])
        }
        for t, task in enumerate(batch.tasks)
    }


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        pl.DataFrame.lazy,
        pl.DataFrame.to_pandas,
        pl.DataFrame.to_arrow,
        lambda frame: frame.to_arrow().to_reader(),
        lambda frame: pl.concat([frame[:2], frame[2:]], rechunk=False),
        lambda frame: frame.with_columns(pl.all().cast(pl.Categorical)),
        lambda frame: frame.with_columns(label=pl.col("label").cast(pl.Enum(["ham", "spam"]))),
        lambda frame: frame.rows(),
        lambda frame: frame.to_dicts(),
        lambda frame: iter(frame.rows()),
        lambda frame: [Label(*row) for row in frame.rows()],
        lambda frame: [list(row) for row in frame.rows()],
    ],
)
def test_every_source_gives_the_same_batch(convert: Callable[[pl.DataFrame], Table]) -> None:
    batch, intake, workers, classes = code(convert(FRAME))
    assert list(batch.tasks) == ["t1", "t2"]
    assert workers == ["ann", "bob", "cy"]
    assert classes == ["spam", "ham"]
    assert batch.starts.tolist() == [0, 3, 5]
    assert batch.workers.tolist() == [0, 1, 2, 0, 2]
    assert batch.labels.tolist() == [0, 1, 0, 1, 1]
    assert intake == Intake(rows=5, labels=5, tasks=2)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("label", [True, False, True, True, False]),
        pl.Series("label", [3, -1, 3, 2, 2]),
        pl.Series("label", [3, 1, 3, 2, 2], pl.UInt8),
        pl.Series("label", ["é", "", "é", "x", "x"]),
    ],
)
def test_kinds_of_labels_survive(column: pl.Series) -> None:
    frame = FRAME.with_columns(column)
    told = by_task(frame)
    assert told == by_task(frame.rows())
    assert {type(x) for labels in told.values() for x in labels.values()} == {type(column[0])}


def test_gaps_are_counted_and_a_skip_makes_a_worker_known() -> None:
    rows = [
        ("t1", "ann", 1.0),
        (None, "bob", 1.0),
        ("t1", None, 1.0),
        ("t1", "cy", None),
        ("t2", "cy", float("nan")),
        ("t3", "ann", 2.0),
    ]
    frame = pl.DataFrame(rows, ["task", "worker", "label"], orient="row")
    sources: list[Any] = [rows, frame, frame.to_pandas()]
    for data in sources:
        batch, intake, workers, classes = code(data)
        assert workers == ["ann", "cy"]
        assert classes == [1, 2]
        assert list(batch.tasks) == ["t1", "t2", "t3"]
        assert batch.starts.tolist() == [0, 1, 1, 2]
        assert intake == Intake(rows=6, labels=2, tasks=3, null_task=1, null_worker=1, null_label=2)


def test_the_last_of_several_labels_stands() -> None:
    rows = [("t", "ann", "a"), ("t", "bob", "b"), ("t", "ann", "a"), ("t", "ann", "b")]
    assert by_task(rows) == {"t": {"ann": "b", "bob": "b"}}
    _, intake, _, classes = code(rows)
    assert classes == ["b"], "a label that was replaced is not a class"
    assert (intake.repeated, intake.replaced) == (1, 1)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 3), st.sampled_from("xy")),
            st.one_of(st.none(), st.integers(0, 3), st.sampled_from("ab")),
            st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from("pq")),
        ),
        max_size=30,
    )
)
def test_nothing_is_lost_and_nothing_counted_twice(
    rows: list[tuple[object, object, object]],
) -> None:
    wanted: dict[object, dict[object, object]] = {}
    for task, worker, label in rows:
        if task is not None and worker is not None:
            told = wanted.setdefault(task, {})
            if label is not None:
                told[worker] = (type(label), label)
    batch, intake, workers, classes = code(rows)  # type: ignore[arg-type]
    found = {
        task: {
            workers[w]: (type(classes[x]), classes[x])
            for w, x in zip(
                batch.workers[batch.starts[t] : batch.starts[t + 1]],
                batch.labels[batch.starts[t] : batch.starts[t + 1]],
                strict=True,
            )
        }
        for t, task in enumerate(batch.tasks)
    }
    # Tasks whose rows all lack a worker are met too.
    assert {t: told for t, told in found.items() if told} == {t: d for t, d in wanted.items() if d}
    assert (
        intake.rows
        == len(rows)
        == (
            intake.labels
            + intake.null_task
            + intake.null_worker
            + intake.null_label
            + intake.repeated
            + intake.replaced
        )
    )


def test_interleaved_tasks_are_grouped_in_order_of_first_appearance() -> None:
    shuffled = FRAME[[4, 3, 0, 2, 1]]
    assert list(code(shuffled)[0].tasks) == ["t1", "t2"]
    assert by_task(shuffled) == by_task(FRAME)


def test_an_empty_table_is_an_empty_batch() -> None:
    sources: list[Table] = [FRAME[:0], [], pl.DataFrame({"task": [], "worker": [], "label": []})]
    for data in sources:
        batch, _, workers, classes = code(data)
        assert (len(batch.tasks), workers, classes) == (0, [], [])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, r"labels: expected a table \(polars, pandas, pyarrow, duckdb\) or rows"),
        ("labels.csv", r"found str 'labels.csv' \(read the file first\)"),
        ({"task": [1]}, "found dict"),
        ([("t", "w")], "row 1: expected .task, worker, label., found tuple"),
        ([("t", "w", "x"), ("t", "w", 0.5)], "row 2, column 'label': .* found float 0.5"),
        ([("t", False, "x")], "row 1, column 'worker': expected str or int, found bool False"),
        (
            [{"task": 1, "wroker": 2, "label": 3}],
            "row 1: .* a worker column, found wroker, task",
        ),
        (
            FRAME.rename({"worker": "wroker"}),
            "table: .*did you mean 'wroker'. name it with worker=",
        ),
        (FRAME.select("task"), "table: expected a worker column, found task"),
        (
            pd.DataFrame({"task": [1, "1"], "worker": 1, "label": 1}),
            "table: expected one that can be read as Arrow",
        ),
        (FRAME.with_columns(label=pl.lit(0.5)), "row 1, column 'label': .*found float 0.5"),
        (
            FRAME.with_columns(task=pl.lit(True)),
            "column 'task': expected str or int, found a column",
        ),
        (FRAME.with_columns(label=pl.lit(b"x")), "column 'label': .* a column of Binary"),
        (FRAME.with_columns(label=pl.Series([1.0, None, 2.0, 1e30, 1.0])), "row 4.*float 1e.30"),
    ],
)
def test_bad_input_says_where_what_was_expected_and_what_found(data: Table, message: str) -> None:
    workers, classes = Vocabulary(["old"]), Vocabulary(["x"])
    with pytest.raises(InputError, match=message):
        code_table(data, workers, classes)
    assert (list(workers), list(classes)) == (["old"], ["x"]), "a failed call added names"


def test_a_csv_read_by_polars_or_pandas_is_the_same() -> None:
    text = "task,worker,label\n1,7,0\n1,8,\n2,7,1\n"
    told = by_task(pl.read_csv(io.StringIO(text)))
    assert told == {1: {7: 0}, 2: {7: 1}}
    assert by_task(pd.read_csv(io.StringIO(text))) == told


def test_big_tables_of_every_kind_agree() -> None:
    rng = np.random.default_rng(0)
    tasks, workers = rng.integers(0, 400, 5000), rng.integers(0, 50, 5000)
    labels = rng.integers(0, 4, 5000)
    ints = pl.DataFrame({"task": tasks, "worker": workers, "label": labels})
    told = by_task(ints)
    assert told == by_task(ints.rows())
    strings = by_task(ints.select(pl.all().cast(pl.String)))
    assert strings == {
        str(t): {str(w): str(x) for w, x in labelled.items()} for t, labelled in told.items()
    }
    assert by_task(pa.table(ints.to_arrow())) == told


def test_a_duckdb_relation_is_a_table() -> None:
    # In a process of its own: duckdb prints what it did not clean up when its process ends.
    code = """
import duckdb, polars as pl
from crowdstream.labels import Vocabulary, code_table
frame = pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [True, False, True]})
workers, classes = Vocabulary(), Vocabulary()
batch, _ = code_table(duckdb.sql("select * from frame"), workers, classes)
print(list(batch.tasks), list(workers), list(classes), batch.starts.tolist())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[1, 2] ['a', 'b'] [True, False] [0, 2, 3]"


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
def test_a_table_without_rows_is_a_table_of_any_type(kind: type[pl.DataType]) -> None:
    empty = pl.DataFrame(schema=dict.fromkeys(("task", "worker", "label"), kind))
    assert code(empty)[1].rows == 0


def test_columns_go_by_many_names_or_by_those_given() -> None:
    renamed = FRAME.rename({"task": "Item ID", "worker": "performer", "label": "verdict"})
    assert by_task(renamed) == by_task(renamed.to_dicts()) == by_task(FRAME)
    odd = FRAME.rename({"worker": "who", "label": "said"}).with_columns(label=pl.lit("no"))
    workers, classes = Vocabulary(), Vocabulary()
    for data in (odd, odd.to_dicts()):
        code_table(data, workers, classes, columns=ColumnNames(worker="who", label="said"))
        assert (list(workers), list(classes)) == (["ann", "bob", "cy"], ["spam", "ham"])


def test_a_wide_table_has_a_column_per_worker() -> None:
    wide = pl.DataFrame({"id": [1, 2], "ann": ["x", None], "bob": ["y", "x"]})
    workers, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(wide, workers, classes, columns=ColumnNames(wide=True))
    assert list(workers) == ["ann", "bob"]
    assert (list(batch.tasks), batch.sizes.tolist(), batch.labels.tolist()) == (
        [1, 2],
        [2, 1],
        [0, 1, 0],
    )


def test_truths_are_coded_after_the_labels() -> None:
    workers, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(FRAME, workers, classes, gold={"t2": "eggs", "elsewhere": "toast"})
    assert batch.truths.tolist() == [-1, 2]
    assert list(classes) == ["spam", "ham", "eggs"]


def test_codes_that_are_right_already_are_not_copied() -> None:
    coded = code_rows(FRAME[[0, 1, 4, 2, 3]])
    batch, _ = code_table(coded, Vocabulary(), Vocabulary())
    assert batch.workers is coded.batch.workers
    assert batch.labels is coded.batch.labels
    other, _ = code_table(coded, Vocabulary(["cy"]), Vocabulary())
    assert other.workers.tolist() == [1, 2, 0, 1, 0]
    assert coded.batch.workers.tolist() == [0, 1, 2, 0, 2]
