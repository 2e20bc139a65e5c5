"""`stream` and `end_stream`: labels that keep coming, in micro-batches of Structured Streaming."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING, Any

from crowdstream.decisions.decision import SettleRule
from crowdstream.defaults import MIN_LABELS, SETTLE
from crowdstream.errors import CrowdstreamError, InputError, StateError, UsageError
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.labels.columns import ColumnNames
from crowdstream.labels.label import shorten
from crowdstream.labels.spelling import normalise
from crowdstream.spark.batch import refuse_order
from crowdstream.spark.micro_batch import Asked, MicroBatches, Output, StreamRules
from crowdstream.spark.session import on_spark
from crowdstream.spark.stream_blocks import ClosingRule
from crowdstream.spark.stream_columns import label_rows, micros_of, stream_roles
from crowdstream.spark.stream_folder import Commit, StreamFolder
from crowdstream.stream.stream import CHECKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Interval = float | str | datetime.timedelta
"""Seconds, a timedelta, or words such as "10 minutes"."""

NOW = "available now"
"""The trigger that takes what there is and ends."""


@on_spark
def stream(
    source: DataFrame,
    state_dir: str | os.PathLike[str],
    estimator: Estimator | None = None,
    *,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    max_labels: int | None = None,
    idle: Interval | None = None,
    watermark: Interval | None = None,
    output: Output | None = None,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
    question: str | None = None,
    as_classes: bool = False,
    at: str | None = None,
    trigger: str | None = None,
    partitions: int | None = None,
) -> StreamingQuery:
    """Decide and learn labels as they come, in micro-batches: `crowdstream.Stream` on a cluster.

    Every micro-batch is decided by what was known before it, then learnt. A task closes when it is
    settled, full or idle; its decision is written, and later labels for it are late. Killed at any
    moment and started again with the same call, it goes on as if nothing had happened: each
    micro-batch counts once.

    Parameters
    ----------
    source
        A streaming DataFrame, one row per label: ``session.readStream…``.
    state_dir
        A folder of this stream's own, on a file system that this machine and all executors mount:
        what was learnt, labels of open tasks, Spark's checkpoint, decisions.
    estimator
        One that adds up tasks in any order, as for `fit`; `Adaptive` if none is given. What it has
        learnt before is where a new stream begins; a stream that goes on has its own.
    settle, min_labels
        Close a task once its decision is at least this sure and has so many labels; a ``settle``
        of ``None``: never for that.
    max_labels
        Close a task once it has this many labels; what comes beyond is late.
    idle
        Close a task that had no label for so long: seconds, a timedelta, or words such as
        "10 minutes". Needs ``at`` and ``watermark``: the time is that of the labels, so that it
        does not matter when they are read.
    watermark
        How late labels may come, after the latest of all: older ones are late, and names of closed
        tasks are forgotten after as long. ``None``: any label may come, and all names are kept.
    output
        Called with the decisions of a micro-batch (a DataFrame) and its id, instead of writing them
        to ``decisions/batch=<id>`` in ``state_dir``. Called again with the same of both if the
        micro-batch has to be done again.
    task, worker, label
        Names of the columns, where they are not the usual ones.
    question
        A stream holds one question. Of a source whose rows name several: the one that is taken;
        rows of others are counted as ``other``. The name of that column itself: its only question;
        a second one stops the stream.
    as_classes
        Labels are classes, whatever they look like. Otherwise scores, sets of classes and free text
        stop the stream before they are learnt.
    at
        A column of times, or of seconds: when labels were given. Of a worker's several labels on
        one task the latest stands; without times, that which came last.
    trigger
        How often: words such as "10 seconds"; "available now" takes what there is and ends; by
        default a micro-batch follows the other.
    partitions
        How many parts the tasks of a micro-batch are in; by default as many as it asks for.

    Returns
    -------
    Spark's query: ``awaitTermination()``, ``stop()``.

    Examples
    --------
    >>> from crowdstream import spark
    >>> session = spark.start("local[2]")  # doctest: +SKIP
    >>> schema = "task string, worker string, label string, at timestamp"
    >>> labels = session.readStream.schema(schema).json("/data/labels")  # doctest: +SKIP
    >>> query = spark.stream(
    ...     labels, "/data/consensus", max_labels=7, at="at", watermark="1 day"
    ... )  # doctest: +SKIP
    """
    if not getattr(source, "isStreaming", False):
        expected = "a streaming DataFrame, from session.readStream"
        raise InputError("source", expected, shorten(source))
    _refuse_connect(source.sparkSession)
    rules = _rules(settle, min_labels, max_labels, idle, watermark, at)
    CHECKS["max_labels"]("partitions", partitions)
    if output is not None and not callable(output):
        raise InputError("output", "a function of decisions and the id", shorten(output))
    if estimator is not None and not isinstance(estimator, Estimator):
        raise InputError("estimator", "an estimator, such as Adaptive()", shorten(estimator))
    columns = ColumnNames(task, worker, label, question=question)
    rows = label_rows(source, columns, at)
    asked = _asked(source, columns, as_classes=as_classes)
    refuse_order(estimator or Adaptive())
    folder = StreamFolder(state_dir)
    kinds = {name: kind for name, kind in rows.dtypes if name in ("task", "worker", "label")}
    _begin(folder, estimator, kinds, asked, timed=at is not None)
    batches = MicroBatches(folder, rules, output, partitions, asked)
    writer = rows.writeStream.foreachBatch(batches)
    writer = writer.option("checkpointLocation", str(folder.path / "checkpoint"))
    if trigger is not None:
        writer = writer.trigger(**_trigger(trigger))
    return writer.start()


@on_spark
def end_stream(
    session: SparkSession,
    state_dir: str | os.PathLike[str],
    *,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    output: Output | None = None,
) -> None:
    """Close all open tasks of a stream whose query has stopped: no more labels will come.

    Their decisions are written to ``decisions/batch=<id>-end``. The stream may go on afterwards:
    labels of these tasks are late then.

    Parameters
    ----------
    session
        Spark's session.
    state_dir
        The folder that `stream` was given.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.
    output
        As for `stream`.

    Examples
    --------
    >>> from crowdstream import spark
    >>> query.stop()  # doctest: +SKIP
    >>> spark.end_stream(session, "/data/consensus")  # doctest: +SKIP
    """
    folder = StreamFolder(state_dir)
    if folder.latest() is None:
        raise StateError(f"{folder.path}: no stream has been here")
    rules = StreamRules(ClosingRule(SettleRule.checked(settle, min_labels), None))
    MicroBatches(folder, rules, output).end(session)


def _refuse_connect(session: SparkSession) -> None:
    """Refuse a session of Spark Connect: what a micro-batch does would run elsewhere."""
    try:
        session.sparkContext  # noqa: B018
    except Exception as error:
        raise CrowdstreamError(
            "a stream needs Spark's driver in this process, which Spark Connect has not: run it by "
            "spark-submit, or start it with another master"
        ) from error


def _asked(source: DataFrame, columns: ColumnNames, *, as_classes: bool) -> Asked:
    """What the user says of the labels: the question that is taken, and what labels are."""
    roles = stream_roles(source, columns)
    name = columns.question
    chosen = "" if name is None or name == roles.question else name
    return Asked(chosen, roles.question is not None, as_classes)


def _rules(
    settle: float | None,
    min_labels: int,
    max_labels: int | None,
    idle: Interval | None,
    watermark: Interval | None,
    at: str | None,
) -> StreamRules:
    CHECKS["max_labels"]("max_labels", max_labels)
    quiet, delay = micros_of("idle", idle), micros_of("watermark", watermark)
    if at is None and (quiet is not None or delay is not None):
        name = "idle" if quiet is not None else "watermark"
        raise UsageError(f"{name}= needs at=, the column of times")
    if quiet is not None and delay is None:
        raise UsageError("idle= needs watermark=, the longest delay of labels")
    return StreamRules(
        ClosingRule(SettleRule.checked(settle, min_labels), max_labels), quiet, delay
    )


def _trigger(words: str) -> dict[str, Any]:
    """A trigger as Spark takes it."""
    if words == NOW:
        return {"availableNow": True}
    micros_of("trigger", words)
    return {"processingTime": words}


def _begin(
    folder: StreamFolder,
    estimator: Estimator | None,
    kinds: dict[str, str],
    asked: Asked,
    *,
    timed: bool,
) -> None:
    """Commit what a new stream begins with, or see that an old one can go on."""
    folder.make()
    commit, checkpoint = folder.latest(), (folder.path / "checkpoint").exists()
    if commit is None:
        if checkpoint:
            raise StateError(f"{folder.path}: has Spark's checkpoint, but its commits are gone")
        crowd = (estimator or Adaptive()).to_bytes()
        folder.commit(Commit(0, -1, crowd, kinds | {"step": "bigint", "at": "bigint"}, timed))
        return
    if commit.batch >= 0 and not checkpoint:
        raise StateError(
            f"{folder.path}: has taken micro-batches, but Spark's checkpoint is gone: which labels "
            "were read is not known any more, begin again in a new folder"
        )
    before = {name: kind for name, kind in commit.kinds.items() if name in kinds}
    if before != kinds or commit.timed != timed:
        expected = ", ".join(f"{name} {kind}" for name, kind in before.items())
        found = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        with_time = "with at=" if commit.timed else "without at="
        raise InputError(
            "source", f"{expected}, {with_time}, as the stream in {folder.path}", found
        )
    if commit.counts.rows and (
        bool(commit.question) != asked.named
        or (asked.question and normalise(asked.question) != normalise(commit.question))
    ):
        expected = repr(commit.question) if commit.question else "none"
        found = repr(asked.question) if asked.question else "a column" if asked.named else "none"
        raise InputError("question", f"{expected}, as the stream in {folder.path}", found)
    known = Estimator.load(commit.crowd)
    if estimator is not None and (
        type(estimator) is not type(known) or estimator.get_params() != known.get_params()
    ):
        raise InputError("estimator", f"{known!r}, as the stream in {folder.path}", repr(estimator))
