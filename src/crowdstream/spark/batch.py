"""`fit`, `decide`, `fit_decide`, `fit_questions`: the library's own estimators on a cluster."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Unpack

import numpy as np
import polars as pl

from crowdstream.decisions.decision import SettleRule
from crowdstream.defaults import MIN_LABELS, SETTLE
from crowdstream.errors import InputError
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.estimators.settling import fitted, predicted
from crowdstream.estimators.state import load_crowd
from crowdstream.labels import Intake, Truths, Vocabulary
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.coded_labels import code_values
from crowdstream.labels.coding import _warn_of_twins as warn_of_twins
from crowdstream.labels.meaning.interpreting import QuestionLabels
from crowdstream.labels.meaning.kinds import LabelHints
from crowdstream.labels.meaning.options import TableMeaning, read_meaning
from crowdstream.questions import Questions
from crowdstream.spark.blocks import TYPES, read_blocks
from crowdstream.spark.coding import CodedTasks, code_tasks
from crowdstream.spark.meaning import SparkQuestion, Wording, interpret
from crowdstream.spark.session import on_spark
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Crowd = TypeVar("Crowd", bound=Estimator)


@on_spark
def fit(
    df: DataFrame,
    estimator: Crowd,
    *,
    gold: Truths | DataFrame | None = None,
    at: str | None = None,
    partitions: int | None = None,
    **meaning: Unpack[TableMeaning],
) -> Crowd:
    """Begin afresh and learn a DataFrame as a whole, in passes over it: `Estimator.fit`.

    Parameters
    ----------
    df
        One row per label; with ``wide`` one row per task. Every label moves once, to the others of
        its task. A table of several questions is refused: ``question=`` reads one of them, and
        `fit_questions` decides all.
    estimator
        One that adds up tasks in any order: `Adaptive`, `AgreementBased`, `CentredAgreement`,
        `MajorityVote`, without ``memory`` and without monitors of the order of tasks.
    gold
        True classes of some tasks: a mapping, a table, a file, or a DataFrame of task and label.
    at
        A column of times or numbers: of a worker's several labels on one task the latest stands.
        Without it, and of several at one time, that which is last in the order of labels; very many
        such labels are refused.
    partitions
        How many parts the tasks are in; by default as many as the labels ask for.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`. Cells are
        taken as they are. Scales (``ordinal``, ``order``, ``bins``) and ``choices`` are refused.

    Returns
    -------
    The estimator itself.

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream import spark
    >>> labels = spark.start().read.parquet("labels")  # doctest: +SKIP
    >>> crowd = spark.fit(labels, cs.Adaptive(), question="tone")  # doctest: +SKIP
    """
    _check_fit(estimator, partitions)
    labels = interpret(df, read_meaning(meaning), at).only(Wording())
    _warn_of_cells(labels)
    _fit(labels, estimator, gold, partitions).free()
    return estimator


@on_spark
def fit_decide(
    df: DataFrame,
    estimator: Estimator,
    *,
    gold: Truths | DataFrame | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    at: str | None = None,
    partitions: int | None = None,
    **meaning: Unpack[TableMeaning],
) -> DataFrame:
    """`fit`, then decide every task with all that it taught: `Estimator.fit_predict`.

    Parameters
    ----------
    df, estimator, gold, at, partitions, **meaning
        As for `fit`.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.

    Returns
    -------
    One row per task: task, label, confidence, margin, votes, settled; kept on the cluster until
    its ``unpersist()``.

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream import spark
    >>> labels = spark.start().read.parquet("labels")  # doctest: +SKIP
    >>> decisions = spark.fit_decide(labels, cs.Adaptive(), threshold=0.7)  # doctest: +SKIP
    """
    rule = SettleRule.checked(settle, min_labels)
    _check_fit(estimator, partitions)
    labels = interpret(df, read_meaning(meaning), at).only(Wording())
    _warn_of_cells(labels)
    return fit_decide_labels(labels, estimator, gold, rule, partitions).decisions


@on_spark
def fit_questions(
    df: DataFrame,
    crowd: Estimator | None = None,
    *,
    gold: Truths | DataFrame | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    at: str | None = None,
    partitions: int | None = None,
    **meaning: Unpack[TableMeaning],
) -> Questions:
    """Decide every question of a DataFrame by itself, one after another: `fit_questions`.

    Parameters
    ----------
    df, at, partitions, **meaning
        As for `fit`. The table has a question column (question, criterion, metric, …), or a column
        of labels per question (``label=["tone", "toxic"]``); one of a single question is decided
        too.
    crowd
        The estimator whose parameters are taken; `Adaptive` by default. It is not changed.
    gold
        True classes of some tasks: a table or DataFrame of task, question and label.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.

    Returns
    -------
    The crowds by question, and ``decisions``: a DataFrame with a column ``question``, kept on the
    cluster until its ``unpersist()``.

    Examples
    --------
    >>> from crowdstream import spark
    >>> labels = spark.start().read.parquet("labels")  # doctest: +SKIP
    >>> found = spark.fit_questions(labels)  # doctest: +SKIP
    >>> found["tone"].workers()  # doctest: +SKIP
    """
    rule = SettleRule.checked(settle, min_labels)
    template = Adaptive() if crowd is None else crowd
    _check_fit(template, partitions)
    crowds, frames = {}, {}
    for labels in interpret(df, read_meaning(meaning), at).questions:
        _warn_of_cells(labels)
        each = template.clone()
        frames[labels.name] = fit_decide_labels(labels, each, gold, rule, partitions).decisions
        crowds[labels.name] = each
    return Questions(crowds, by_question(frames))


@on_spark
def decide(
    df: DataFrame,
    estimator: Estimator,
    *,
    gold: Truths | DataFrame | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    at: str | None = None,
    partitions: int | None = None,
    **meaning: Unpack[TableMeaning],
) -> DataFrame:
    """Decide every task from what was learnt so far, and learn nothing: `Estimator.predict_many`.

    Parameters
    ----------
    df, at, partitions, **meaning
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

    Examples
    --------
    >>> import crowdstream as cs
    >>> from crowdstream import spark
    >>> labels = spark.start().read.parquet("labels")  # doctest: +SKIP
    >>> decisions = spark.decide(labels, cs.load("crowd.state"))  # doctest: +SKIP
    """
    rule = SettleRule.checked(settle, min_labels)
    _check(estimator)
    _check_partitions(partitions)
    labels = interpret(df, read_meaning(meaning), at).only(Wording())
    _warn_of_cells(labels)
    workers, classes = estimator._workers.copy(), estimator._classes.copy()
    coded = code_tasks(labels, workers, classes, gold=gold, partitions=partitions)
    _warn(estimator, coded)
    return _decisions(coded, estimator, rule, workers, classes, fitted=False)


class Decided(NamedTuple):
    """Decisions on the tasks of a question, kept on the cluster, and how often workers flipped."""

    decisions: DataFrame
    flips: pl.DataFrame | None


def fit_decide_labels(
    labels: SparkQuestion,
    estimator: Estimator,
    gold: Truths | DataFrame | None,
    rule: SettleRule,
    partitions: int | None,
) -> Decided:
    """Fit an estimator to the labels of one question and decide its tasks."""
    coded = _fit(labels, estimator, gold, partitions)
    _warn(estimator, coded)
    found = _decisions(
        coded, estimator, rule, estimator._workers, estimator._classes, fitted=True
    )  # fmt: skip
    return Decided(found, coded.flips)


def by_question(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Decisions on several questions as one table, the question in its first column.

    It is kept on the cluster in place of those that it is made of.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

    kinds = {dict(frame.dtypes)["label"] for frame in frames.values()}
    parts = []
    for name, frame in frames.items():
        if len(kinds) > 1:  # scores that pass or fail beside numbers that do not
            frame = frame.withColumn("label", F.col("label").cast("string"))
        parts.append(frame.select(F.lit(name).alias("question"), "*"))
    joined = functools.reduce(DataFrame.unionByName, parts).persist()
    joined.count()
    for frame in frames.values():
        frame.unpersist()
    return joined


def _check_fit(estimator: Estimator, partitions: int | None) -> None:
    refuse_order(estimator)
    _check_partitions(partitions)


def _check_partitions(partitions: int | None) -> None:
    if partitions is not None:
        check_number("partitions", partitions, 1, 10**6, whole=True)


def _check(estimator: object) -> None:
    if not isinstance(estimator, Estimator):
        raise InputError("estimator", "an estimator, such as Adaptive()", repr(estimator))


def _warn_of_cells(labels: SparkQuestion) -> None:
    """Warn of labels that look like one class in several spellings, or like no answer."""
    question = labels.question
    classes = replace(code_values([]), classes=Vocabulary(question.shown))
    hints = LabelHints(as_classes=labels.as_classes)
    warn_of_twins(QuestionLabels(question.name, classes, question.kind), hints)


def _fit(
    labels: SparkQuestion,
    estimator: Estimator,
    gold: Truths | DataFrame | None,
    partitions: int | None,
) -> CodedTasks:
    """Fit an estimator; one that cannot be changes nothing."""
    afresh = estimator.clone()
    names = afresh._workers, afresh._classes
    coded = code_tasks(labels, *names, gold=gold, partitions=partitions)
    try:
        afresh._make_room()
        homes = afresh._places.homes(len(afresh._classes))
        afresh._fit(coded.table.with_homes(homes), coded.intake)
    except BaseException:
        coded.free()
        raise
    tasks, workers = labels.nameless
    afresh.intake_.count(Intake(rows=tasks + workers, null_task=tasks, null_worker=workers))
    estimator._become(afresh)
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
    if estimator._model.forgets or not estimator._model.adds_up:
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
    identified = estimator._scorer_for(estimator._classes).identified
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
    more = (
        workers.to_list()[len(estimator._workers) :],
        classes.to_list()[len(estimator.classes_) :],
    )
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
            votes = crowd._decide(block, classes, workers)
            if self.fitted:
                frame = fitted(crowd, block, votes, self.rule)
            else:
                frame = predicted(crowd, block, votes, self.rule, classes)
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
