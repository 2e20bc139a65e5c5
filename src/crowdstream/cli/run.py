"""`crowdstream run`: files of labels → decisions and a table of workers."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.json_output import print_json
from crowdstream.cli.options import DECIDING, OUTPUT, SCORING, TABLE_FILE, option
from crowdstream.cli.output import TableWriter, check_apart, check_output, write_table
from crowdstream.cli.summary import show_summary
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.run_job import Job


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where the outcome goes."""

    output: Annotated[
        str | None,
        option(
            OUTPUT,
            "-o",
            "--output",
            metavar="FILE",
            help=f"Write the decisions, one row per task: {TABLE_FILE}.",
        ),
    ] = None
    workers: Annotated[
        str | None,
        option(
            OUTPUT,
            "--workers",
            metavar="FILE",
            help="Write the workers, one row per worker, to such a file too.",
        ),
    ] = None
    save: Annotated[
        str | None,
        option(
            OUTPUT,
            "--save",
            metavar="FILE",
            help="Save what was learnt to a state file, for crowdstream workers and merge.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Deciding:
    """How tasks are gone through."""

    settle: Annotated[
        float,
        option(
            DECIDING,
            "--settle",
            metavar="CONFIDENCE",
            help="A decision at least this confident is marked as settled.",
        ),
    ] = 0.95
    online: Annotated[
        bool,
        option(
            DECIDING,
            "--online",
            help="Decide each task from the tasks before it only, as a stream would.",
        ),
    ] = False
    window: Annotated[
        int | None,
        option(
            DECIDING,
            "--window",
            metavar="TASKS",
            help="Keep at most this many tasks in memory, for files of any length whose rows are "
            "roughly ordered by task.",
        ),
    ] = None
    gold_train: Annotated[
        str | None,
        option(
            DECIDING,
            "--gold-train",
            metavar="FILE",
            help="Learn from the correct labels of some tasks: a file with columns task and label.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What the decisions are held against."""

    gold: Annotated[
        str | None,
        option(
            SCORING,
            "--gold",
            metavar="FILE",
            help="Score the decisions against correct labels: a file with columns task and label.",
        ),
    ] = None
    max_error: Annotated[
        float | None,
        option(
            SCORING,
            "--max-error",
            metavar="RATE",
            help="Exit with code 1 if the error rate on --gold is higher than this.",
        ),
    ] = None


def run(
    files: options.LabelFiles,
    bad_input: options.BadInput,
    out: Output,
    report: options.Report,
    deciding: Deciding,
    method: options.Method,
    table: options.WorkerTable,
    scoring: Scoring,
) -> None:
    """Decide every task in files of labels.

    Reads rows with a task, a worker and a label. Writes one row per task (task, label,
    confidence, margin, votes, settled) and, with --workers, one row per worker (answers, error
    rate with its interval, weight, quality, flags). Without -o the decisions go to standard output
    if that is a pipe or a file; a terminal shows a summary.

    \b
    Examples:
      crowdstream run labels.csv -o decisions.csv --workers workers.csv
      crowdstream run 'day-*.parquet' --gold correct.csv --max-error 0.05 --json
    """
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.run_job import Job, read_gold_file
    from crowdstream.cli.tables import read_costs
    from crowdstream.labels.readers import Trouble, find_sources

    started = time.perf_counter()
    _check(out, deciding, table, scoring)
    reported = report.json or not report.quiet
    monitored = reported or out.workers is not None or out.save is not None
    factory = EstimatorFactory(method, monitored=monitored)
    costs = None if table.costs is None else read_costs(table.costs)
    sources = find_sources(files.labels, files.format)
    outputs = {"--output": out.output, "--workers": out.workers, "--save": out.save}
    check_apart([source.path for source in sources], outputs)
    # The estimators load while the files are being read.
    threading.Thread(target=factory.make, daemon=True).start()
    truths = None if scoring.gold is None else read_gold_file("--gold", scoring.gold)
    gold = None
    if deciding.gold_train is not None:
        gold = dict(read_gold_file("--gold-train", deciding.gold_train).iter_rows())
    job = Job(factory, deciding.settle, deciding.online, report.quiet, truths, gold)
    workers = functools.cache(lambda: job.estimator.workers(level=table.level, costs=costs))
    to_stdout = out.output is None and not report.json and not sys.stdout.isatty()
    target = "-" if to_stdout else out.output
    writer = contextlib.nullcontext() if target is None else TableWriter(target).open()
    # Whatever fails before the end takes the file of decisions with it.
    with Trouble(bad_input.on_error) as bad_rows, writer as write:
        job.decide(sources, files.names(wide=files.wide), bad_rows, write, deciding.window)
        if out.workers is not None:
            write_table(workers(), out.workers)
        elif costs is not None:
            workers()  # refuses costs of classes that no worker has named
        if out.save is not None:
            job.save(out.save)
    if reported:
        _report(job, report.json, started, workers)
    _gate(job.error, scoring.max_error, report.quiet)


def _check(out: Output, deciding: Deciding, table: options.WorkerTable, scoring: Scoring) -> None:
    """Refuse wrong values before any work."""
    check_output(out.output, "--output")
    check_output(out.workers, "--workers")
    check_number("--settle", deciding.settle, 0.0, 1.0)
    check_number("--level", table.level, 0.5, 0.9999)
    if scoring.max_error is not None:
        check_number("--max-error", scoring.max_error, 0.0, 1.0)
        if scoring.gold is None:
            raise InputError("--max-error", "--gold too", "none")


def _report(job: Job, json: bool, started: float, workers: Callable[[], pl.DataFrame]) -> None:
    from crowdstream.cli.monitor_report import monitor_report

    found = monitor_report(job.estimator, job.decided)
    report = job.report(found, time.perf_counter() - started)
    if json:
        print_json(report)
    else:
        show_summary(report, job, found, workers())


def _gate(error: float | None, most: float | None, quiet: bool) -> None:
    if most is not None and error is not None and error > most:
        if not quiet:
            message = f"crowdstream: the error rate {error:.4f} is above --max-error {most:g}"
            print(message, file=sys.stderr)
        raise typer.Exit(1)
