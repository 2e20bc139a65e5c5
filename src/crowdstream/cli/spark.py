"""`crowdstream spark`: labels that live on a cluster → decisions there."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from crowdstream.cli import options
from crowdstream.cli.json_output import SparkReport, print_json
from crowdstream.cli.output import check_apart, check_output, check_writable, write_table
from crowdstream.cli.terminal import say
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.plain_text import counted, percent
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from crowdstream.estimators import Estimator

READERS = {
    "parquet": "parquet",
    "csv": "csv",
    "tsv": "csv",
    "jsonl": "json",
    "ndjson": "json",
    "json": "json",
    "orc": "orc",
}
"""Endings of names, and the reader of Spark's that they ask for."""

PACKED = (".gz", ".zst", ".bz2", ".snappy")

WRITERS = ("parquet", "csv", "json", "orc")


class Input(options.Columns):
    """Where the labels are."""

    HELP = """
    labels: PATH  Files, folders or globs that the cluster can read: Parquet, CSV, TSV, JSON lines
        or ORC.
    --format FORMAT  parquet, csv, tsv, jsonl or orc, if the name does not tell.
    --at COLUMN  Column of times or numbers: of a worker's several labels on a task the latest
        stands.
    """
    labels: list[str]
    format: str | None = None
    at: str | None = None


class Output(options.Group, panel="Output"):
    """Where the outcome goes."""

    HELP = f"""
    -o, --output FOLDER  Write the decisions, one row per task, to this folder that the cluster can
        write.
    --output-format FORMAT  parquet, csv, json or orc.
    --overwrite  Replace what is in the folder.
    --workers FILE  Write the workers, one row per worker, on this machine: {options.TABLE_FILE}.
    --state FILE  Save what was learnt, on this machine, for the other commands.
    """
    output: str
    output_format: str = "parquet"
    overwrite: bool = False
    workers: str | None = None
    state: str | None = None


class Cluster(options.Group, panel="Cluster"):
    """Where it runs."""

    HELP = """
    --master URL  The cluster: spark://host:7077, yarn, k8s://..., local[4]. By default that of
        spark-submit, or this machine.
    --conf NAME=VALUE  A setting of Spark's; may be given several times.
    --partitions NUMBER  Parts that the tasks are divided into, if not by their number.
    """
    master: str | None = None
    conf: list[str] | None = None
    partitions: int | None = None


class Deciding(options.Group, panel="Deciding"):
    """When a decision is settled, and what is known."""

    HELP = """
    --settle CONFIDENCE  A decision at least this confident is marked as settled ...
    --min-labels NUMBER  ... if it has at least this many labels.
    --gold PATH  Learn from the correct labels of some tasks: columns task and label, of files that
        the cluster can read.
    """
    settle: float = 0.95
    min_labels: int = 2
    gold: str | None = None


def run(
    given: Input,
    out: Output,
    cluster: Cluster,
    deciding: Deciding,
    method: options.Method,
    report: options.Report,
) -> None:
    """Decide every task in labels that live on a cluster, with Apache Spark.

    The same methods with the same results as crowdstream run, for labels that do not fit one
    machine or are on a cluster already. On one machine crowdstream run is many times faster. Needs
    pip install 'crowdstream[spark]' here and on the executors, and Java 17 or later.

    \b
    Examples:
      crowdstream spark run labels.parquet -o decisions --workers workers.csv
      crowdstream spark run hdfs:///labels -o hdfs:///decisions --master yarn --state crowd.state
    """
    started = time.perf_counter()
    crowd = _check(given, out, cluster, deciding, method)
    with _session(cluster, shown=report.shown and not report.json) as session:
        from crowdstream import spark

        _refuse_existing(session, out)
        labels = _read(session, given.labels, given.format, "labels")
        gold = None if deciding.gold is None else _read(session, [deciding.gold], None, "--gold")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = spark.fit_decide(
                labels,
                crowd,
                gold=gold,
                settle=deciding.settle,
                min_labels=deciding.min_labels,
                task=given.task,
                worker=given.worker,
                label=given.label,
                at=given.at,
                partitions=cluster.partitions,
            )
            doubts = [str(one.message) for one in caught if one.category is not FutureWarning]
        settled = found.where("settled").count()
        _write(found, out)
    if out.workers is not None:
        write_table(crowd.workers(), out.workers)
    if out.state is not None:
        crowd.save(out.state)
    if report.shown:
        _tell(crowd, settled, doubts, out, report, time.perf_counter() - started)


def _check(
    given: Input, out: Output, cluster: Cluster, deciding: Deciding, method: options.Method
) -> Estimator:
    """Refuse wrong values before a session is started; the estimator they ask for."""
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.spark.batch import refuse_order

    if not given.labels:
        raise InputError("labels", "files or folders", "none")
    if out.output_format not in WRITERS:
        raise InputError("--output-format", " or ".join(WRITERS), repr(out.output_format))
    check_output(out.workers, "--workers")
    if out.state is not None:
        check_writable(out.state, "--state")
    check_apart([], {"--output": out.output, "--workers": out.workers, "--state": out.state})
    check_number("--settle", deciding.settle, 0.5, 1.0)
    check_number("--min-labels", deciding.min_labels, 1, 2**31, whole=True)
    if cluster.partitions is not None:
        check_number("--partitions", cluster.partitions, 1, 10**6, whole=True)
    _settings(cluster)
    _check_local(cluster, [*given.labels, *([deciding.gold] if deciding.gold else [])])
    crowd = EstimatorFactory(method).make()
    refuse_order(crowd)
    return crowd


def _check_local(cluster: Cluster, paths: list[str]) -> None:
    """Refuse files of this machine that are not there; a session takes a while to start."""
    from crowdstream.spark.session import is_submitted

    master = cluster.master or "local"
    if not master.startswith("local") or is_submitted():
        return
    for path in paths:
        if "://" not in path and not glob.glob(path):
            raise InputError(path, "a file or folder", "none")


def _settings(cluster: Cluster) -> dict[str, str]:
    """The settings of ``--conf``."""
    found = {}
    for one in cluster.conf or ():
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise InputError("--conf", "NAME=VALUE", repr(one))
        found[name.strip()] = value
    return found


@contextlib.contextmanager
def _session(cluster: Cluster, *, shown: bool) -> Iterator[SparkSession]:
    """A session for one run; Spark's own progress bar where somebody looks."""
    from crowdstream import spark

    watched = shown and sys.stderr.isatty()
    settings = {"spark.ui.showConsoleProgress": str(watched).lower()} | _settings(cluster)
    session = spark.start(cluster.master, settings=settings)
    try:
        with _spark_mistakes():
            yield session
    finally:
        session.stop()


@contextlib.contextmanager
def _spark_mistakes() -> Iterator[None]:
    """What Spark says of a user's mistake, without the JVM's pages."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise CrowdstreamError(str(error).split("\nJVM stacktrace")[0].split("\n;")[0]) from None


def _read(session: SparkSession, paths: list[str], kind: str | None, where: str) -> DataFrame:
    """A table of text columns; of Parquet and ORC, of whatever types they have."""
    kinds = {kind or _kind_of(path, where) for path in paths}
    if len(kinds) > 1:
        raise InputError(where, "files of one format", " and ".join(sorted(kinds)))
    (name,) = kinds
    if name not in READERS:
        raise InputError("--format", " or ".join(READERS), repr(name))
    reader: Any = session.read.format(READERS[name])
    if READERS[name] == "csv":
        separator = "\t" if name == "tsv" else ","
        reader = reader.options(header=True, escape='"', sep=separator, mode="PERMISSIVE")
    if READERS[name] == "json":
        reader = reader.options(primitivesAsString=True)
    found: DataFrame = reader.load(paths)
    return found


def _kind_of(path: str, where: str) -> str:
    """The format by the ending of a name, or of the files in a local folder."""
    names = [path]
    if os.path.isdir(path):
        names = [one.name for one in os.scandir(path) if one.name[0] not in "._"] or names
    for name in names:
        for packed in PACKED:
            name = name.removesuffix(packed)
        ending = PurePosixPath(name).suffix.lstrip(".").lower()
        if ending in READERS:
            return ending
    raise InputError(where, f"a name that ends in .{' .'.join(READERS)}, or --format", repr(path))


def _refuse_existing(session: SparkSession, out: Output) -> None:
    """Refuse a folder that is there before the work, not after it."""
    jvm: Any = session.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(out.output)
    system = path.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    if not out.overwrite and system.exists(path):
        expected = "a folder that is not there yet, or --overwrite"
        raise InputError("--output", expected, repr(out.output))


def _write(found: DataFrame, out: Output) -> None:
    writer = found.write.mode("overwrite" if out.overwrite else "error").format(out.output_format)
    if out.output_format == "csv":
        writer = writer.options(header=True, escape='"')
    writer.save(out.output)


def _tell(
    crowd: Estimator,
    settled: int,
    doubts: list[str],
    out: Output,
    report: options.Report,
    seconds: float,
) -> None:
    """What became of the labels."""
    intake = crowd.intake_
    if report.json:
        print_json(
            SparkReport(
                method=type(crowd).__name__,
                rows=intake.rows,
                labels=intake.labels,
                tasks=intake.tasks,
                workers=crowd.n_workers_,
                classes=len(crowd.classes_),
                null_task=intake.null_task,
                null_worker=intake.null_worker,
                null_label=intake.null_label,
                repeated=intake.repeated,
                replaced=intake.replaced,
                settled=settled,
                identifiable=bool(crowd.identifiable_),
                warnings=doubts,
                seconds=round(seconds, 3),
            )
        )
        return
    parts = (counted(intake.labels, "label"), counted(intake.tasks, "task"))
    say(f"{parts[0]} on {parts[1]} by {counted(crowd.n_workers_, 'worker')} → {out.output}")
    say(f"settled: {percent(settled / max(intake.tasks, 1))}, in {seconds:,.0f} s")
    lost = {
        "without a task": intake.null_task,
        "without a worker": intake.null_worker,
        "without a label": intake.null_label,
        "that repeat another": intake.repeated,
        "replaced by a later one": intake.replaced,
    }
    if any(lost.values()):
        told = ", ".join(f"{number:,} {what}" for what, number in lost.items() if number)
        say(f"rows that are no labels of their own: {told}")
    for doubt in doubts:
        say(f"note: {doubt}")
