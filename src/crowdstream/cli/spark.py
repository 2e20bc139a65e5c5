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
from typing import TYPE_CHECKING, Any, NamedTuple

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.json_output import (
    SparkQuestionsReport,
    SparkReport,
    flip_rates_of,
    print_json,
)
from crowdstream.cli.output import check_apart, check_output, check_writable, write_table
from crowdstream.cli.terminal import (
    add_row,
    console,
    make_table,
    say,
    say_paragraph,
    shorten_name,
)
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.plain_text import counted, percent
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import DataFrame, SparkSession

    from crowdstream.estimators import Estimator
    from crowdstream.labels import ColumnNames
    from crowdstream.labels.meaning.options import TableReading
    from crowdstream.spark.meaning import SparkMeaning, SparkQuestion

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

NAME = 24
"""Characters of a question's name that a line shows."""


class Input(options.Columns, options.Scores):
    """Where the labels are, and what they mean."""

    HELP = """
    labels: PATH  Files, folders or globs that the cluster can read: Parquet, CSV, TSV, JSON lines
        or ORC.
    --format FORMAT  parquet, csv, tsv, jsonl or orc, if the name does not tell.
    --at COLUMN  Column of times or numbers: of a worker's several labels on a task the latest
        stands.
    --wide  The input has one row per task and one column per worker.
    --leave-out COLUMN  This column is no worker, no question and no repeat. May be repeated.
    --repeat COLUMN  Column that tells repeated answers of a worker on a task apart, unless called
        repeat, epoch, run, trial or seed. The most frequent answer counts.
    --repeats WHICH  Of several labels of a worker on a task count the majority; or the last or the
        first by --at.
    --on-error POLICY  Rows without a task or a worker: fail, or skip them.
    """
    labels: list[str]
    format: str | None = None
    at: str | None = None
    wide: bool = False
    leave_out: list[str] | None = None
    repeat: str | None = None
    repeats: str | None = None
    on_error: str = "fail"

    def names(self) -> ColumnNames:
        """The columns as the user named them."""
        found = super().names()
        return found._replace(
            wide=self.wide, repeat=self.repeat, left_out=tuple(self.leave_out or ())
        )

    def reading(self) -> TableReading:
        """What the user says of the table, checked."""
        from crowdstream.labels.meaning.kinds import check_hints
        from crowdstream.labels.meaning.options import TableReading

        if self.on_error not in ("fail", "skip"):
            expected = "fail or skip (rows are set aside without Spark, by crowdstream run)"
            raise InputError("--on-error", expected, repr(self.on_error))
        hints = self.hints()._replace(repeats=self.repeats)
        check_hints(hints)
        return TableReading(self.names(), hints, self.on_error)


class Output(options.Group, panel="Output"):
    """Where the outcome goes."""

    HELP = f"""
    -o, --output FOLDER  Write the decisions, one row per task, to this folder that the cluster can
        write.
    --output-format FORMAT  parquet, csv, json or orc.
    --overwrite  Replace what is in the folder.
    --workers FILE  Write the workers, one row per worker, on this machine: {options.TABLE_FILE}.
    --state FILE  Save what was learnt, a crowd per question, on this machine, for the other
        commands.
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
    settle: float = defaults.SETTLE
    min_labels: int = defaults.MIN_LABELS
    gold: str | None = None


class Decided(NamedTuple):
    """What became of one question; ``notes``: what is to be said of it."""

    question: str
    crowd: Estimator
    decisions: DataFrame
    settled: int
    workers: pl.DataFrame
    notes: list[str]
    no_answers: int
    """Cells that hold none, of which a note tells already."""
    flips: pl.DataFrame | None = None
    """Who was asked again (worker, repeated, flips)."""


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
    machine or are on a cluster already. On one machine crowdstream run is many times faster. Cells
    are cleaned as crowdstream run cleans them, and a table of several questions is decided question
    by question. Needs pip install 'crowdstream[spark]' here and on the executors, and Java 17 or
    later.

    \b
    Examples:
      crowdstream spark run labels.parquet -o decisions --workers workers.csv
      crowdstream spark run hdfs:///labels -o hdfs:///decisions --master yarn --state crowd.state
    """
    started = time.perf_counter()
    crowd, reading = _check(given, out, cluster, deciding, method)
    shown = report.shown and not report.json
    with _session(cluster, shown=shown) as session:
        from crowdstream.spark.batch import by_question
        from crowdstream.spark.meaning import Wording, interpret

        _refuse_existing(session, out)
        labels = _read(session, given.labels, given.format, "labels")
        gold = None if deciding.gold is None else _read(session, [deciding.gold], None, "--gold")
        where = given.labels[0] if len(given.labels) == 1 else "labels"
        wording = Wording(where, "--{}", clean=True)
        meaning = interpret(labels, reading, given.at, wording)
        found = [
            _decide(each, crowd.clone(), gold, deciding, cluster) for each in meaning.questions
        ]
        frames = {each.question: each.decisions for each in found}
        _write(by_question(frames) if len(frames) > 1 else found[0].decisions, out)
    if out.workers is not None:
        from crowdstream.questions import by_question as in_one_table

        tables = {each.question: each.workers for each in found}
        write_table(in_one_table(tables) if len(tables) > 1 else found[0].workers, out.workers)
    if out.state is not None:
        _save(found, out.state)
    if report.shown:
        _tell(found, meaning, out, report, time.perf_counter() - started)


def _decide(
    labels: SparkQuestion,
    crowd: Estimator,
    gold: DataFrame | None,
    deciding: Deciding,
    cluster: Cluster,
) -> Decided:
    """Decide one question."""

    from crowdstream.decisions.decision import SettleRule
    from crowdstream.labels.meaning.words import Done, done_notes
    from crowdstream.labels.spelling import find_twins
    from crowdstream.monitoring.agreement import watch_agreement
    from crowdstream.monitoring.missing import with_answering
    from crowdstream.spark.batch import fit_decide_labels

    watch_agreement(crowd)
    rule = SettleRule.checked(deciding.settle, deciding.min_labels)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = fit_decide_labels(labels, crowd, gold, rule, cluster.partitions)
    notes = [str(one.message) for one in caught if one.category is not FutureWarning]
    twins = find_twins([name for name in crowd.workers_ if isinstance(name, str)])
    notes += done_notes(Done([], {}, {"worker": twins} if twins else {}))
    workers: pl.DataFrame = crowd.workers()
    if found.flips is not None and found.flips.height:
        workers = with_answering(workers, found.flips, None)
    settled = found.decisions.where("settled").count()
    none = labels.question.no_answers
    return Decided(labels.name, crowd, found.decisions, settled, workers, notes, none, found.flips)


def _save(found: list[Decided], path: str) -> None:
    """Save what was learnt: of several questions a crowd each."""
    from crowdstream.questions import Questions

    crowds = {each.question: each.crowd for each in found}
    if list(crowds) == [""]:
        crowds[""].save(path)
    else:
        Questions(crowds).save(path)


def _check(
    given: Input, out: Output, cluster: Cluster, deciding: Deciding, method: options.Method
) -> tuple[Estimator, TableReading]:
    """Refuse wrong values before a session is started; the estimator and the reading asked for."""
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
    check_number("--settle", deciding.settle, *defaults.SETTLE_RANGE)
    check_number("--min-labels", deciding.min_labels, 1, 2**31, whole=True)
    if cluster.partitions is not None:
        check_number("--partitions", cluster.partitions, 1, 10**6, whole=True)
    _settings(cluster)
    reading = given.reading()
    _check_local(cluster, [*given.labels, *([deciding.gold] if deciding.gold else [])])
    crowd = EstimatorFactory(method).make()
    refuse_order(crowd)
    return crowd, reading


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
    from crowdstream.spark.session import plain_words, quietly

    watched = shown and sys.stderr.isatty()
    settings = {"spark.ui.showConsoleProgress": str(watched).lower()} | _settings(cluster)
    session = spark.start(cluster.master, settings=settings)
    try:
        with _spark_mistakes(), quietly(), plain_words():
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
    found: list[Decided],
    meaning: SparkMeaning,
    out: Output,
    report: options.Report,
    seconds: float,
) -> None:
    """Say what became of the labels, in JSON or on standard error."""
    from crowdstream.statements.agreement import agreement_words

    notes = list(meaning.notes)
    if lost := meaning.null_task + meaning.null_worker:
        notes.append(counted(lost, "bad row", "left out"))
    several = len(found) > 1
    reports = [_report(each, meaning, [] if several else notes, seconds) for each in found]
    if report.json:
        whole = SparkQuestionsReport(
            read_as=meaning.read_as, questions=reports, warnings=notes, seconds=round(seconds, 3)
        )
        print_json(whole if several else reports[0])
        return
    say_paragraph(meaning.read_as.text, indent=0)
    if several:
        number = counted(len(found), "question")
        say(f"{number}, each decided by itself → {out.output}; {seconds:,.0f} s")
        for note in notes:
            say_paragraph(f"note: {note}", "yellow", indent=0)
        _show_questions(reports)
        return
    (one,) = reports
    parts = (counted(one.labels, "label"), counted(one.tasks, "task"))
    say(f"{parts[0]} on {parts[1]} by {counted(one.workers, 'worker')} → {out.output}")
    say(f"settled: {percent(one.settled / max(one.tasks, 1))}, in {seconds:,.0f} s")
    if words := agreement_words(one.agreement):
        say(words)
    for note in one.warnings:
        say_paragraph(f"note: {note}", "yellow", indent=0)


def _show_questions(reports: list[SparkReport]) -> None:
    """A line per question, then what is to be said of each."""
    table = make_table("", ["question"], ("labels", "tasks", "workers", "classes", "settled"))
    for one in reports:
        numbers = (one.labels, one.tasks, one.workers, one.classes)
        settled = percent(one.settled / max(one.tasks, 1))
        name = shorten_name(str(one.question), NAME)
        add_row(table, name, *(f"{number:,}" for number in numbers), settled)
    console().print(table)
    for one in reports:
        for note in one.warnings:
            say_paragraph(f"note: {one.question}: {note}", "yellow", indent=0)


def _report(found: Decided, meaning: SparkMeaning, notes: list[str], seconds: float) -> SparkReport:
    from crowdstream.monitoring.agreement import crowd_coefficients

    crowd, intake = found.crowd, found.crowd.intake_
    warned = [*notes, *found.notes]
    for count, noun, rest in (
        (intake.null_label - found.no_answers, "empty label", "skipped"),
        (intake.repeated, "repeated row", "ignored: same task, worker and label"),
        (intake.replaced, "label", "replaced by another from the same worker"),
    ):
        if count > 0:
            warned.append(counted(count, noun, rest))
    report = SparkReport(
        read_as=meaning.read_as,
        method=type(crowd).__name__,
        rows=intake.rows,
        labels=intake.labels,
        tasks=intake.tasks,
        workers=len(crowd._workers),
        classes=len(crowd.classes_),
        null_task=meaning.null_task,
        null_worker=meaning.null_worker,
        null_label=intake.null_label,
        repeated=intake.repeated,
        replaced=intake.replaced,
        settled=found.settled,
        identifiable=bool(crowd.identifiable_),
        agreement=crowd_coefficients(crowd),
        warnings=warned,
        seconds=round(seconds, 3),
    )
    if found.question:
        report.question = found.question
    if found.flips is not None and found.flips.height:
        report.flip_rates = flip_rates_of(found.flips)
    return report
