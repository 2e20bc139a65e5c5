"""`fit`, `decide` and `fit_decide` for DataFrames: the library's own estimators, on a cluster."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from crowdstream.decisions import MIN_LABELS, SETTLE, SettleRule
from crowdstream.errors import InputError
from crowdstream.estimators import Estimator
from crowdstream.estimators.state import load_crowd
from crowdstream.labels import Truths, Vocabulary
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.columns import ColumnNames
from crowdstream.spark.blocks import TYPES, read_blocks
from crowdstream.spark.coding import CodedTasks, code_tasks
from crowdstream.spark.session import on_spark
from crowdstream.spark.task_table import SparkTasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Crowd = TypeVar("Crowd", bound=Estimator)


@on_spark
def fit(
    df: DataFrame,
    estimator: Crowd,
    *,
    gold: Truths | DataFrame | None = None,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    at: str | None = None,
    partitions: int | None = None,
) -> Crowd:
    """Begin afresh and learn a DataFrame as a whole, in passes over it: `Estimator.fit`.

    Parameters
    ----------
    df
        One row per label. Every label moves once, to the others of its task.
    estimator
        One that adds up tasks in any order: `Adaptive`, `AgreementBased`, `CentredAgreement`,
        `MajorityVote`, without ``memory`` and without monitors of the order of tasks.
    gold
        True classes of some tasks: a mapping, a table, a file, or a DataFrame of task and label.
    task, worker, label
        Names of the columns, where they are not the usual ones.
    at
        A column of times or numbers: of a worker's several labels on one task the latest stands.
        Without it, and of several at one time, that which is last in the order of labels.
    partitions
        How many parts the tasks are in; by default as many as the labels ask for.

    Returns
    -------
    The estimator itself.
    """
    coded = _fit(df, estimator, ColumnNames(task, worker, label), gold, at, partitions)
    coded.free()
    return estimator


@on_spark
def fit_decide(
    df: DataFrame,
    estimator: Estimator,
    *,
    gold: Truths | DataFrame | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    at: str | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """`fit`, then decide every task with all that it taught: `Estimator.fit_predict`.

    Parameters
    ----------
    df, estimator, gold, task, worker, label, at, partitions
        As for `fit`.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.

    Returns
    -------
    One row per task: task, label, confidence, margin, votes, settled; kept on the cluster until
    its ``unpersist()``.
    """
    rule = SettleRule.checked(settle, min_labels)
    coded = _fit(df, estimator, ColumnNames(task, worker, label), gold, at, partitions)
    _warn(estimator, coded)
    return _decisions(coded, estimator, rule, estimator._workers, estimator._classes, fitted=True)


@on_spark
def decide(
    df: DataFrame,
    estimator: Estimator,
    *,
    gold: Truths | DataFrame | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    at: str | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """Decide every task from what was learnt so far, and learn nothing: `Estimator.predict_many`.

    Parameters
    ----------
    df, task, worker, label, at, partitions
        As for `fit`.
    estimator
        Any estimator, however it was fitted.
    gold
        True classes of some tasks, which override the votes on them.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.

    Returns
    -------
    As of `fit_decide`.
    """
    rule = SettleRule.checked(settle, min_labels)
    _check(estimator)
    workers, classes = estimator._workers.copy(), estimator._classes.copy()
    columns = ColumnNames(task, worker, label)
    coded = code_tasks(df, workers, classes, columns, gold=gold, at=at, partitions=partitions)
    _warn(estimator, coded)
    return _decisions(coded, estimator, rule, workers, classes, fitted=False)


def _check(estimator: object) -> None:
    if not isinstance(estimator, Estimator):
        raise InputError("estimator", "an estimator, such as Adaptive()", repr(estimator))


def _fit(
    df: DataFrame,
    estimator: Estimator,
    columns: ColumnNames,
    gold: Truths | DataFrame | None,
    at: str | None,
    partitions: int | None,
) -> CodedTasks:
    """Fit an estimator; one that cannot be changes nothing."""
    refuse_order(estimator)
    afresh = estimator.clone()
    names = afresh._workers, afresh._classes
    coded = code_tasks(df, *names, columns, gold=gold, at=at, partitions=partitions)
    try:
        afresh._make_room()
        folding = afresh._folding
        homes = None if folding is None else folding.homes(len(afresh._classes))
        table = SparkTasks(coded.table.blocks, coded.table.partitions, homes)
        afresh._fit(table)
        afresh._notify_all(table)
    except BaseException:
        coded.free()
        raise
    afresh.intake_.count(coded.intake)
    estimator.__dict__.clear()
    estimator.__dict__.update(afresh.__dict__)
    return coded


def refuse_order(estimator: Estimator) -> None:
    """Refuse an estimator or a monitor that goes through tasks in order, before anything is read.

    Parameters
    ----------
    estimator
        What is to be fitted.
    """
    _check(estimator)
    what = ""
    if estimator.memory is not None or not estimator.adds_up:
        what = repr(estimator)
    for observer in estimator.observers:
        if not observer.adds_up:
            what = what or f"one with {type(observer).__name__}"
    if what:
        raise InputError(
            "estimator",
            "one that adds up tasks in any order, such as Adaptive() without memory or monitors",
            f"{what}, which goes through them in order: a cluster's table has none",
        )


def _warn(estimator: Estimator, coded: CodedTasks) -> None:
    """Say what is in doubt about decisions, as the library does."""
    some = np.zeros(min(coded.intake.labels, 1), np.int32)
    batch = LabelBatch(np.array([0, some.size]), some, some)
    identified = estimator._scorer_for(estimator._workers, estimator._classes).identified
    for doubt in estimator._doubts(batch, identified):
        warnings.warn(doubt, stacklevel=4)


def _decisions(
    coded: CodedTasks,
    estimator: Estimator,
    rule: SettleRule,
    workers: Vocabulary,
    classes: Vocabulary,
    *,
    fitted: bool,
) -> DataFrame:
    """Decisions on all tasks, kept on the cluster; the blocks they are made of are given back."""
    more = workers.to_list()[estimator.n_workers_ :], classes.to_list()[len(estimator.classes_) :]
    types = TYPES[coded.kinds["task"]], TYPES[coded.kinds["label"]]
    work = DecideBlocks(estimator.to_bytes(), *more, rule, fitted, *types)
    schema = (
        f"task {coded.kinds['task']}, label {coded.kinds['label']}, "
        "confidence double, margin double, votes bigint, settled boolean"
    )
    try:
        found = coded.table.blocks.mapInArrow(work, schema).persist()
        found.count()
    finally:
        coded.free()
    return found


@dataclass(frozen=True)
class DecideBlocks:
    """What a partition does to decide its tasks."""

    crowd: bytes
    workers: list[Any]
    classes: list[Any]
    rule: SettleRule
    fitted: bool
    task_type: Any
    label_type: Any

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Decisions as batches of Arrow."""
        crowd = _loaded(self.crowd)
        workers, classes = crowd._workers.copy(), crowd._classes.copy()
        for target, names in ((workers, self.workers), (classes, self.classes)):
            for name in names:
                target.add(name)
        for block in read_blocks(batches):
            votes = crowd._decide(block, workers, classes)
            if self.fitted:
                frame = crowd._fitted(block, votes, self.rule)
            else:
                frame = crowd._predicted(block, votes, self.rule, workers, classes)
            table = frame.to_arrow()
            for name, kind in (("task", self.task_type), ("label", self.label_type)):
                place = table.schema.get_field_index(name)
                table = table.set_column(place, name, table[name].cast(kind))
            yield from table.to_batches()


@functools.lru_cache(maxsize=2)
def _loaded(state: bytes) -> Estimator:
    """An estimator that was sent, once per process and state."""
    crowd = load_crowd(state)
    assert isinstance(crowd, Estimator)
    return crowd
