"""`fit`, `decide`, `fit_decide` on a cluster of two executors: the library's own numbers."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.errors import CrowdstreamError, InputError

pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")

from crowdstream import spark

CROWDS = [
    cs.Adaptive(),
    cs.Adaptive(families={"w3": "f", "w4": "f"}, ties="lowest"),
    cs.AgreementBased(),
    cs.AgreementBased(answer_rate=0.5, shrinkage=0, clip=0),
    cs.CentredAgreement(),
    cs.MajorityVote(),
]


def in_order_of_names(table: pl.DataFrame) -> pl.DataFrame:
    """The same labels as a cluster numbers and sorts them; a first task has everybody in order.

    The library numbers workers and classes as they come, and float sums over *workers* depend on
    that order in their last digits. Where both number alike, states are equal to the byte.
    """
    workers = table["worker"].unique().sort()
    classes = table["label"].unique().sort()
    said = classes.gather(np.arange(len(workers)) * len(classes) // len(workers))
    first = pl.DataFrame(
        {"task": pl.repeat("a first", len(workers), eager=True), "worker": workers, "label": said},
        schema=table.schema,
    )
    return pl.concat([first, table.sort("task", "worker")])


def crowd_labels(workers: int, tasks: int = 400, classes: int = 2) -> pl.DataFrame:
    made = cs.simulate(workers, tasks, p=0.3, per_task=5, classes=classes, seed=workers)
    return in_order_of_names(made.labels())


@pytest.fixture(scope="module")
def small(cluster: Any) -> tuple[pl.DataFrame, Any]:
    """Labels of ten workers (few enough for slopes of the likelihood), three classes."""
    table = crowd_labels(10, classes=3)
    return table, cluster.createDataFrame(table.sample(fraction=1, shuffle=True, seed=3).to_arrow())


def decided(frame: Any) -> pl.DataFrame:
    found = pl.DataFrame(frame.toArrow()).sort("task")
    frame.unpersist()
    return found


@pytest.mark.parametrize("crowd", CROWDS, ids=repr)
def test_a_cluster_learns_and_decides_what_the_library_does_to_the_byte(
    small: tuple[pl.DataFrame, Any], crowd: cs.Estimator
) -> None:
    table, df = small
    ours, theirs = crowd.clone(), crowd.clone()
    expected = ours.fit_predict(table).sort("task")
    assert decided(spark.fit_decide(df, theirs, partitions=5)).equals(expected)
    assert theirs.to_bytes() == ours.to_bytes()


def test_a_cluster_finds_the_same_copies(cluster: Any) -> None:
    copied = dict.fromkeys(range(1, 4), (0, 0.98))
    made = cs.simulate(10, 800, p=0.3, copying=copied, seed=2)
    table = in_order_of_names(made.labels())
    df = cluster.createDataFrame(table.sample(fraction=1, shuffle=True, seed=3).to_arrow())
    ours, theirs = cs.Adaptive(), cs.Adaptive()
    expected = ours.fit_predict(table).sort("task")
    assert decided(spark.fit_decide(df, theirs, partitions=5)).equals(expected)
    assert cs.families(ours).height == 4
    assert theirs.to_bytes() == ours.to_bytes()


@pytest.mark.parametrize("crowd", [cs.Adaptive(), cs.AgreementBased()], ids=repr)
def test_gold_teaches_a_cluster_what_it_teaches_the_library(
    small: tuple[pl.DataFrame, Any], crowd: cs.Estimator
) -> None:
    table, df = small
    tasks = table["task"].unique(maintain_order=True)[1:41]
    truths = dict.fromkeys(tasks, "1")
    known = df.sparkSession.createDataFrame([*truths.items()], "task string, label string")
    ours, theirs = crowd.clone(), crowd.clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of gold that is made up
        expected = ours.fit_predict(table, gold=truths).sort("task")
        found = spark.fit_decide(df, theirs, gold=known, partitions=1)
    assert decided(found).equals(expected)
    assert theirs.to_bytes() == ours.to_bytes()


def test_more_partitions_than_go_to_the_driver_at_once_are_joined_by_tree(cluster: Any) -> None:
    table = crowd_labels(60)
    df = cluster.createDataFrame(table.to_arrow())
    ours = cs.Adaptive().fit(table)
    theirs = spark.fit(df, cs.Adaptive(), partitions=40)
    assert theirs.to_bytes() == ours.to_bytes()
    # What was learnt here decides there, and the other way round; unknown workers may come.
    new = crowd_labels(70, 50)
    expected = ours.predict_many(new).sort("task")
    found = spark.decide(cluster.createDataFrame(new.to_arrow()), theirs)
    assert decided(found).equals(expected)
    assert theirs.to_bytes() == ours.to_bytes()


def test_in_whatever_order_the_library_comes_upon_names_the_sums_are_the_same(
    cluster: Any,
) -> None:
    table = crowd_labels(40).sample(fraction=1, shuffle=True, seed=5)
    ours = cs.Adaptive()
    expected = ours.fit_predict(table).sort("task")
    theirs = cs.Adaptive()
    found = decided(spark.fit_decide(cluster.createDataFrame(table.to_arrow()), theirs))
    assert found["label"].equals(expected["label"])
    assert found["settled"].equals(expected["settled"])
    # Floats are added up over a task's labels and over workers in another order: last digits.
    assert (found["confidence"] - expected["confidence"]).abs().max() < 1e-12
    one, other = (
        crowd.workers().select("worker", "answers", "error_rate").sort("worker")
        for crowd in (ours, theirs)
    )
    assert one.equals(other)


def test_every_row_is_accounted_for_as_in_the_library(cluster: Any) -> None:
    table = crowd_labels(10, 60)
    strange = pl.DataFrame(
        [
            (None, "w1", "1"),
            ("0", None, "1"),
            ("0", "w1", None),
            (None, None, None),
            ("nobody answered", "w2", None),
        ],
        schema=table.schema,
        orient="row",
    )
    whole = pl.concat([table, strange, table.tail(20)])
    whole = whole.with_columns(pl.lit("x").alias("note"))
    ours, theirs = cs.AgreementBased(), cs.AgreementBased()
    expected = ours.fit_predict(whole, on_error="skip").sort("task")
    task, worker, label = "Item Id", "who`s", "the.answer"
    renamed = whole.rename({"task": task, "worker": worker, "label": label})
    df = cluster.createDataFrame(renamed.to_arrow())
    names: Any = {"task": task, "worker": worker, "label": label}
    found = spark.fit_decide(df, theirs, partitions=30, on_error="skip", **names)
    assert decided(found).equals(expected)
    assert theirs.intake_ == ours.intake_
    assert theirs.intake_.repeated == 20
    assert theirs.intake_.null_label == 2


def test_the_last_label_of_a_worker_stands_by_its_time(cluster: Any) -> None:
    rows = [
        ("t", "ann", "x", 2),
        ("t", "ann", "y", 1),
        ("t", "bob", "y", None),
        ("t", "bob", "x", 0),
    ]
    df = cluster.createDataFrame(rows, "task string, worker string, label string, when int")
    crowd = cs.MajorityVote()
    assert decided(spark.fit_decide(df, crowd, at="when"))["label"].to_list() == ["x"]
    assert crowd.intake_.replaced == 2


@pytest.mark.parametrize(
    ("kind", "value"), [("int", 3), ("boolean", True), ("double", 3.0), ("smallint", 3)]
)
def test_labels_of_any_type_come_back_in_it(cluster: Any, kind: str, value: object) -> None:
    rows = [(7, who, value) for who in (1, 2, 3)]
    df = cluster.createDataFrame(rows, f"task bigint, worker int, label {kind}")
    found = decided(spark.fit_decide(df, cs.MajorityVote()))
    assert found["task"].to_list() == [7]
    assert found["label"].to_list() == [value]
    assert type(found["label"][0]) is (bool if kind == "boolean" else int)


def test_an_empty_table_and_one_without_labels_give_no_decisions(cluster: Any) -> None:
    kinds = "task string, worker string, label string"
    empty = decided(spark.fit_decide(cluster.createDataFrame([], kinds), cs.Adaptive()))
    assert empty.height == 0
    nulls = cluster.createDataFrame([("t", "ann", None)], kinds)
    crowd = cs.Adaptive()
    found = decided(spark.fit_decide(nulls, crowd))
    expected = cs.Adaptive().fit_predict(
        pl.DataFrame([("t", "ann", None)], schema=["task", "worker", "label"], orient="row").cast(
            {"label": pl.String}
        )
    )
    assert found.rows() == expected.rows()
    assert crowd.intake_.null_label == 1


def test_one_task_of_a_million_labels_and_a_worker_on_every_task(cluster: Any) -> None:
    size = 1_000_000
    many = cluster.range(size).selectExpr(
        "'large' task", "id worker", "cast(id % 3 > 0 as string) label"
    )
    rest = cluster.range(3000).selectExpr(
        "concat('t', id div 3) task", "if(id % 3 = 0, 0, id % 7 + 1) worker", "'true' label"
    )
    crowd = cs.MajorityVote()
    found = decided(spark.fit_decide(many.union(rest), crowd))
    large = found.filter(task="large")
    assert large["label"].item() == "true"
    assert large["votes"].item() == size
    assert found.height == 1001
    assert len(crowd.workers_) == size
    assert crowd.intake_.labels == size + 3000


def test_an_executor_killed_in_the_middle_changes_nothing(cluster: Any) -> None:
    table = crowd_labels(60, 3000)
    df = cluster.createDataFrame(table.to_arrow()).repartition(4)
    ours, theirs = cs.Adaptive().fit(table), cs.Adaptive()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            spark.fit(df, theirs, partitions=8)
        except BaseException as error:
            failed.append(error)

    before = executors()
    assert len(before) == 2
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(2.0)  # while passes are running: the whole takes several seconds
    still_running = thread.is_alive()
    os.kill(before[0], signal.SIGKILL)
    thread.join()
    assert still_running
    assert not failed
    assert theirs.to_bytes() == ours.to_bytes()


def executors() -> list[int]:
    """The executors of this process's cluster."""
    told = subprocess.run(
        ["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in told.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def is_mine(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    name = "CoarseGrainedExecutorBackend"
    return [int(pid) for pid, _, args in rows if name in args and is_mine(int(pid))]


# Mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("crowd", "expected"),
    [
        (cs.Adaptive(memory=100), "memory=100"),
        (cs.monitor(cs.Adaptive()), "Drift"),
        ("adaptive", "an estimator"),
    ],
)
def test_what_needs_an_order_of_tasks_is_refused(
    small: tuple[pl.DataFrame, Any], crowd: Any, expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        spark.fit(small[1], crowd)


def test_a_table_that_cannot_be_read_says_why_and_leaves_the_estimator_as_it_was(
    cluster: Any, small: tuple[pl.DataFrame, Any]
) -> None:
    crowd = cs.MajorityVote().fit([("t", "ann", "x")])
    before = crowd.to_bytes()
    halves = cluster.createDataFrame(
        [("t", "ann", 0.5)], "task string, worker string, label double"
    )
    with pytest.raises(InputError, match=r"found scores: 1 numbers from 0\.5 to 0\.5"):
        spark.fit(halves, crowd)
    half_tasks = cluster.createDataFrame(
        [(0.5, "ann", "x")], "task double, worker string, label string"
    )
    with pytest.raises(
        CrowdstreamError, match=r"column 'task': expected whole numbers, found 0\.5"
    ):
        spark.fit(half_tasks, crowd)
    lists = cluster.createDataFrame(
        [("t", "ann", [1])], "task string, worker string, label array<int>"
    )
    with pytest.raises(InputError, match="a column of array<int>"):
        spark.fit(lists, crowd)
    with pytest.raises(InputError, match="expected a worker column"):
        spark.fit(lists.drop("worker"), crowd)
    with pytest.raises(InputError, match="none in common"):
        spark.fit(small[1], crowd, gold={"no such task": "1"})
    with pytest.raises(InputError, match="'when'"):
        spark.fit(small[1], crowd, at="when")
    assert crowd.to_bytes() == before
