"""Any table, any rows, in any order: the same batch of labels in codes."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Unpack

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.errors import InputError, OddLabels
from crowdstream.labels import (
    Intake,
    Label,
    LabelBatch,
    Table,
    Vocabulary,
    code_rows,
    code_table,
)
from crowdstream.labels.coding import interpret
from crowdstream.labels.meaning.options import TableMeaning

FRAME = pl.DataFrame(
    {
        "task": ["t1", "t1", "t2", "t2", "t1"],
        "worker": ["ann", "bob", "ann", "cy", "cy"],
        "label": ["spam", "ham", "ham", "ham", "spam"],
    }
)


def code(
    data: Table, **meaning: Unpack[TableMeaning]
) -> tuple[LabelBatch, Intake, list[object], list[object]]:
    workers, classes = Vocabulary(), Vocabulary()
    batch, intake = code_table(data, workers, classes, **meaning)
    return batch, intake, list(workers), list(classes)


def by_task(data: Table, **meaning: Unpack[TableMeaning]) -> dict[object, dict[object, object]]:
    """The batch in the values it stands for."""
    batch, _, workers, classes = code(data, **meaning)
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
        pl.Series("label", ["é", "É", "é", "x", "x"]),
    ],
)
@pytest.mark.filterwarnings("ignore::crowdstream.errors.OddLabels")
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
        with pytest.raises(InputError, match=r"row 2: .* a task and a worker .*2 rows"):
            code(data)
        batch, intake, workers, classes = code(data, on_error="skip")
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


CHOSEN: dict[str, Callable[[list[object]], object]] = {
    "last": lambda labels: labels[-1],
    "first": lambda labels: labels[0],
    "majority": lambda labels: max(
        labels, key=lambda label: (labels.count(label), -labels.index(label))
    ),
}
"""Which of a worker's labels of a task counts."""


@settings(deadline=None)  # polars starts its threads in the first example
@pytest.mark.parametrize("policy", CHOSEN)
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 3), st.sampled_from("xy")),
            st.one_of(st.none(), st.integers(0, 3), st.sampled_from("ab")),
            st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from("pq")),
        ),
        max_size=30,
    )
)
def test_nothing_is_lost_and_nothing_counted_twice(
    policy: str,
    rows: list[tuple[object, object, object]],
) -> None:
    said: dict[object, dict[object, list[object]]] = {}
    for task, worker, label in rows:
        if task is not None and worker is not None:
            told = said.setdefault(task, {})
            if label is not None:
                told.setdefault(worker, []).append((type(label), label))
    wanted = {
        task: {worker: CHOSEN[policy](labels) for worker, labels in told.items()}
        for task, told in said.items()
    }
    data: Any = rows
    batch, intake, workers, classes = code(data, on_error="skip", repeats=policy)
    contradictions = sum(
        one != next_one
        for told in said.values()
        for labels in told.values()
        for one, next_one in pairwise(labels)
    )
    if contradictions < 10:  # a tenth of 30 rows is fewer
        plain = code(data, on_error="skip")[1]
        assert plain.replaced == contradictions
        assert (plain.rows, accounted(plain)) == (len(rows), len(rows))
        assert plain.labels == intake.labels
    else:
        with pytest.raises(InputError, match="contradict another of the same worker"):
            code(data, on_error="skip")
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
    assert intake.rows == len(rows) == accounted(intake)


def accounted(intake: Intake) -> int:
    """The rows whose fate is told."""
    counts = msgspec.structs.asdict(intake)
    return sum(counts.values()) - intake.rows - intake.tasks


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
        (FRAME.with_columns(label=pl.lit(0.5)), "threshold=0.5.*found scores: 1 number"),
        ([("t", "w", 0.5), ("u", "w", 0.75)], "threshold=0.5.*found scores: 2 numbers"),
        ([("t", "w", float("inf"))], "row 1, column 'label': .* found float inf"),
        (FRAME.with_columns(worker=pl.lit([1])), "column 'worker': expected str or int, found a"),
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
        code_table(data, workers, classes, worker="who", label="said")
        assert (list(workers), list(classes)) == (["ann", "bob", "cy"], ["spam", "ham"])


def test_a_wide_table_has_a_column_per_worker() -> None:
    wide = pl.DataFrame({"id": [1, 2], "ann": ["x", None], "bob": ["y", "x"]})
    workers, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(wide, workers, classes, wide=True)
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


# What Python's tables mean ---------------------------------------------------------------------

SOURCES: list[Callable[[pl.DataFrame], Any]] = [
    lambda frame: frame,
    pl.DataFrame.lazy,
    pl.DataFrame.to_pandas,
    pl.DataFrame.to_arrow,
    lambda frame: frame.to_arrow().to_reader(),
    lambda frame: frame.to_dicts(),
    lambda frame: iter(frame.to_dicts()),
]
"""Kinds of tables that have names of columns."""


@given(
    answers=st.dictionaries(
        st.tuples(st.integers(0, 5), st.sampled_from("abcd")),
        st.one_of(st.none(), st.sampled_from(["x", "y", "z"])),
        min_size=1,
    ),
    data=st.data(),
)
@settings(deadline=None)
def test_no_order_of_rows_or_columns_changes_a_label(
    answers: dict[tuple[int, str], str | None], data: st.DataObject
) -> None:
    rows = [(task, worker, label, "other") for (task, worker), label in answers.items()]
    wanted = by_task([row[:3] for row in rows])
    names = data.draw(st.permutations(["task", "worker", "label", "remark"]))
    mixed = pl.DataFrame(rows, ["task", "worker", "label", "remark"], orient="row")
    mixed = mixed[data.draw(st.permutations(range(len(rows))))].select(names)
    source = data.draw(st.sampled_from(SOURCES))
    assert by_task(source(mixed)) == wanted


@pytest.mark.parametrize("source", SOURCES)
def test_scores_are_cut_into_classes_or_refused(source: Callable[[pl.DataFrame], Any]) -> None:
    scores = FRAME.with_columns(label=pl.Series([0.9, 0.2, 1.0, None, 0.5]))
    wanted = {"t1": {"ann": "pass", "bob": "fail", "cy": "pass"}, "t2": {"ann": "pass"}}
    assert by_task(source(scores), threshold=0.5) == wanted
    assert set(by_task(source(scores), as_classes=True)["t2"].values()) == {"1"}
    with pytest.raises(InputError, match=r"threshold=0.5: pass or fail; bins=5: a scale"):
        code(source(scores))


def test_scores_among_words_are_refused_where_they_stand() -> None:
    rows: Any = [("t", "ann", "good"), ("t", "bob", "bad"), ("t", "cy", 0.5)]
    with pytest.raises(InputError, match=r"row 3, column 'label': .* float 0.5"):
        code(rows)
    assert by_task(rows, as_classes=True)["t"]["cy"] == "0.5"


@pytest.mark.parametrize(
    "labels",
    [[str(k) for k in range(12)], list(range(12)), [f"text {k}" for k in range(20)]],
    ids=["numbers as text", "numbers", "free text"],
)
def test_what_nobody_chose_from_a_list_is_refused_as_classes(labels: list[Any]) -> None:
    rows: list[Any] = [(k, "ann", label) for k, label in enumerate(labels)]
    with pytest.raises(InputError, match="as_classes=True: as they are"):
        code(rows)
    assert len(code(rows, as_classes=True)[3]) == len(labels)
    assert code(rows[:11])[3] == labels[:11], "few enough"
    twice = [*rows, *((k, "bob", label) for k, label in enumerate(labels))]
    if "text" in str(labels[0]):
        assert code(twice)[3] == labels, "chosen twice each"


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("missing", ["task", "worker"])
def test_rows_without_a_task_or_a_worker_are_refused_or_counted(
    source: Callable[[pl.DataFrame], Any], missing: str
) -> None:
    gaps = FRAME.with_columns(pl.when(pl.int_range(5) != 2).then(pl.col(missing)).alias(missing))
    with pytest.raises(InputError, match=r"row 3: expected a task and a worker \(on_error='skip'"):
        code(source(gaps))
    intake = code(source(gaps), on_error="skip")[1]
    assert (intake.rows, intake.labels, intake.null_task + intake.null_worker) == (5, 4, 1)


def contradicting(times: int, of: int = 100) -> pl.DataFrame:
    """Labels of which some were given a second time, otherwise."""
    rows = [(f"t{k}", "ann", "x", "a") for k in range(of)]
    more = [(f"t{k}", "ann", "y", "b") for k in range(times)]
    names = ["task", "worker", "label", "side"]
    return pl.DataFrame([*rows, *more], names, orient="row")


def test_too_many_contradictions_are_refused() -> None:
    few, many = contradicting(9).drop("side"), contradicting(20).drop("side")
    assert code(few)[1].replaced == 9
    with pytest.raises(InputError, match=r"20 of 120 contradict another.*") as error:
        code(many)
    assert "choices=True" in str(error.value)
    for policy, kept in (("last", "y"), ("first", "x"), ("majority", "x")):
        batch, intake, _, _ = code(many, repeats=policy)
        assert by_task(many, repeats=policy)["t0"] == {"ann": kept}
        assert (len(batch), intake.replaced, intake.rows) == (100, 20, 120)
    with pytest.raises(InputError, match="repeats=: expected last, first or majority"):
        code(many, repeats="latest")


@pytest.mark.parametrize("source", SOURCES)
def test_the_column_that_tells_contradictions_apart_is_named(
    source: Callable[[pl.DataFrame], Any],
) -> None:
    some = contradicting(10, of=500)  # 2 %: a slip of the hand, if nothing told them apart
    assert code(source(some.drop("side")))[1].replaced == 10
    with pytest.raises(InputError, match="column 'side' tells them apart") as error:
        code(source(some))
    assert "question='side'" in str(error.value)
    names = [question.name for question in interpret(source(some), question="side").questions]
    assert names == ["a", "b"]
    assert code(source(some), repeat="side")[1].labels == 500


@pytest.mark.parametrize("source", SOURCES)
def test_a_gap_in_a_wide_table_does_not_make_another_class(
    source: Callable[[pl.DataFrame], Any],
) -> None:
    wide = pl.DataFrame({"id": ["a", "b", "c"], "ann": [1, 2, 1], "bob": [1.0, None, 2.0]})
    wanted = {"a": {"ann": 1, "bob": 1}, "b": {"ann": 2}, "c": {"ann": 1, "bob": 2}}
    assert by_task(source(wide), wide=True) == wanted
    text = wide.with_columns(cy=pl.Series(["1", "1", "2"]))
    assert set(code(source(text), wide=True)[3]) == {"1", "2"}


def test_what_is_said_of_columns_needs_columns() -> None:
    rows: Any = [("t", "ann", "x"), ("t", "bob", "y")]
    for meaning in ({"wide": True}, {"repeat": "run"}, {"label": ["a", "b"]}):
        with pytest.raises(InputError, match="row 1: expected a table, or rows that are mappings"):
            interpret(rows, **meaning)


def test_names_that_look_alike_are_kept_apart_with_a_warning() -> None:
    rows = [("t", "ann", "yes"), ("t", "bob", "Yes"), ("t", "cy", "n/a")]
    with (
        pytest.warns(OddLabels, match="'yes' = 'Yes'"),
        pytest.warns(OddLabels, match="'n/a' looks like no answer"),
    ):
        found = by_task(rows)
    assert found == {"t": {"ann": "yes", "bob": "Yes", "cy": "n/a"}}
    assert by_task(rows, as_classes=True) == found, "and without one if that is meant"


def test_integers_of_both_kinds_in_one_column_are_refused() -> None:
    rows = [{"task": t, "worker": "a", "label": 1, "criterion": "x"} for t in (-1, 2**63)]
    with pytest.raises(InputError, match="column 'task': expected integers of 64 bits"):
        interpret(rows)
    assert len(interpret(rows[:1]).questions) == 1


def test_a_table_of_questions_may_have_no_rows() -> None:
    empty = pl.DataFrame(schema=dict.fromkeys(("task", "worker", "metric", "label"), pl.String))
    (one,) = interpret(empty).questions
    assert one.table.height == 0


def test_an_empty_label_is_a_class_of_its_own() -> None:
    with pytest.warns(OddLabels, match="'' looks like no answer"):
        assert by_task([("t", "ann", ""), ("t", "bob", "x")]) == {"t": {"ann": "", "bob": "x"}}


@pytest.mark.parametrize("source", [*SOURCES, pl.DataFrame.rows])
def test_lists_are_sets_of_choices_or_refused(source: Callable[[pl.DataFrame], Any]) -> None:
    sets = FRAME.with_columns(label=pl.Series([["x", "y"], ["x"], None, ["y"], []]))
    with pytest.raises(InputError, match=r"\(choices=True: sets of classes.*found several in one"):
        code(source(sets))
    found = by_task(source(sets), choices=True)["t1"]
    assert found == {"ann": '["x", "y"]', "bob": "x", "cy": "[]"}


@pytest.mark.parametrize("source", [*SOURCES[:4], pl.DataFrame.to_dicts])
def test_the_truth_is_no_worker_of_a_wide_table(source: Callable[[pl.DataFrame], Any]) -> None:
    wide = pl.DataFrame(
        {"item": ["a", "b", "c"], "ann": ["x", "y", "x"], "bob": ["x", "y", "y"]}
    ).with_columns(gold="ann", notes=pl.lit("blurry"))
    found = interpret(source(wide), wide=True)
    assert list(found.questions[0].table.workers) == ["ann", "bob"]
    assert list(found.read_as.left_out) == ["gold", "notes"]
