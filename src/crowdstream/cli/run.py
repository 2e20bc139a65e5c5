"""`crowdstream run`: files of labels → decisions and a table of workers."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from crowdstream.cli import options
from crowdstream.cli.cleaning import WideCleaning
from crowdstream.cli.json_output import Cost, print_json
from crowdstream.cli.ordinal import DecidedScale
from crowdstream.cli.output import TableWriter, check_apart, check_output, write_table
from crowdstream.cli.run_state import RunState
from crowdstream.cli.states import locked
from crowdstream.cli.summary import show_summary
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.cleaning import InputCleaner
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.ordinal import Ordinal
    from crowdstream.cli.run_job import Job
    from crowdstream.estimators import Estimator
    from crowdstream.report.spending import Replay


class Output(options.Group, panel="Output"):
    """Where the outcome goes."""

    HELP = f"""
    -o, --output FILE  Write the decisions, one row per task: {options.TABLE_FILE}.
    --workers FILE  Write the workers, one row per worker, to such a file too.
    --resend FILE  Write the tasks that are not settled, the most doubtful first, with how many more
        labels each needs (or an expert).
    """
    output: str | None = None
    workers: str | None = None
    resend: str | None = None


class State(options.Group, panel="State"):
    """What is known from one run to the next."""

    HELP = """
    --state FILE  Save what was learnt to this file. If it exists, go on from it: decide by what it
        knows of the workers and by these labels together.
    --again  Learn labels once more that the state has learnt already.
    """
    state: str | None = None
    again: bool = False


class Deciding(options.Group, panel="Deciding"):
    """How tasks are gone through."""

    HELP = """
    --settle CONFIDENCE  A decision at least this confident is marked as settled ...
    --min-labels NUMBER  ... if it has at least this many labels.
    --online  Decide each task from the tasks before it only, as a stream would.
    --window TASKS  Keep at most this many tasks in memory, for files of any length whose rows are
        roughly ordered by task.
    --gold FILE  Learn from the correct labels of some tasks: a file with columns task and
        label.
    """
    settle: float = 0.95
    min_labels: int = 2
    online: bool = False
    window: int | None = None
    gold: str | None = None


class Costing(options.Group, panel="Cost"):
    """What labels cost."""

    HELP = """
    --price AMOUNT  What one label cost, 0.05 say: adds what all labels cost, and what would have
        been enough had each task been stopped once it was settled.
    """
    price: float | None = None


class Scoring(options.Group, panel="Scoring"):
    """What the decisions are held against."""

    HELP = """
    --truth FILE  Score the decisions against correct labels: a file with columns task and label.
    --max-error RATE  Exit with code 1 if the error rate on --truth is higher than this.
    """
    truth: str | None = None
    max_error: float | None = None


def run(
    files: options.LabelFiles,
    bad_input: options.BadInput,
    out: Output,
    state: State,
    report: options.Report,
    deciding: Deciding,
    method: options.Method,
    table: options.WorkerTable,
    scoring: Scoring,
    cleaning: WideCleaning,
    scale: DecidedScale,
    costing: Costing,
) -> None:
    """Decide every task in files of labels.

    Reads rows with a task, a worker and a label. Writes one row per task (task, label,
    confidence, margin, votes, settled) and, with --workers, one row per worker (answers, error
    rate with its interval, weight, quality, flags; whether to drop, coach or pay, and why). Without
    -o the decisions go to standard output if that is a pipe or a file; a terminal shows a summary.

    \b
    Examples:
      crowdstream run labels.csv -o decisions.csv --workers workers.csv
      crowdstream run june.csv --state crowd.state -o june-decisions.csv
      crowdstream run labels.csv --resend again.csv --price 0.05
      crowdstream run 'day-*.parquet' --truth correct.csv --max-error 0.05 --json
    """
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.labels.readers import find_sources
    from crowdstream.labels.readers.small_tables import read_costs
    from crowdstream.report.advised import advised_table

    started = time.perf_counter()
    _check(out, deciding, table, scoring, costing)
    ordinal = scale.start(deciding.online, method.method)
    cleaner = cleaning.start(wide=files.wide, in_batches=deciding.window is not None)
    kept = report.shown or out.workers is not None or state.state is not None
    factory = EstimatorFactory(method, monitored=kept)
    costs = None if table.costs is None else read_costs(table.costs, option="--costs")
    sources = find_sources(files.labels, files.format, files.input_options())
    outputs = {"--output": out.output, "--workers": out.workers, "--resend": out.resend}
    outputs |= {"--state": state.state, "--on-error": bad_input.quarantine}
    check_apart([source.path for source in sources], outputs)
    history = None if state.state is None else RunState(state.state, again=state.again)
    with contextlib.nullcontext() if state.state is None else locked(state.state):
        prior = None if history is None else history.load(factory)
        # The estimators load while the files are being read.
        threading.Thread(target=factory.make, daemon=True).start()
        job = _make_job(factory, cleaner, ordinal, deciding, scoring, out, report)
        if prior is not None:
            job.go_on_from(prior)
        if history is not None:
            history.check(sources)
            job.notes += history.notes
        if costing.price is not None and report.shown:
            job.replay = _replay(job, prior, method.seed)
        workers = functools.cache(lambda: advised_table(job.estimator, table.level, costs))
        # Whatever fails before the end takes the file of decisions with it.
        with files.bad_rows(bad_input.on_error) as bad_rows, _decisions(out, report) as write:
            job.decide(sources, files.names(wide=files.wide), bad_rows, write, deciding.window)
            if out.workers is not None:
                write_table(workers(), out.workers)
            elif costs is not None:
                workers()  # refuses costs of classes that no worker has named
            if out.resend is not None:
                write_table(job.resend_table(), out.resend)
            if history is not None:
                history.check_piped()
        if history is not None:  # last: a run that did not get so far can be repeated
            history.save(job.estimator)
        if report.shown:
            _report(job, report.json, started, workers(), costing.price)
        if job.score is not None:
            _gate(job.score.error, scoring.max_error, report.quiet)


def _check(
    out: Output,
    deciding: Deciding,
    table: options.WorkerTable,
    scoring: Scoring,
    costing: Costing,
) -> None:
    """Refuse wrong values before any work."""
    check_output(out.output, "--output")
    check_output(out.workers, "--workers")
    check_output(out.resend, "--resend")
    check_number("--min-labels", deciding.min_labels, 1, 2**31, whole=True)
    check_number("--settle", deciding.settle, 0.5, 1.0)
    if deciding.window is not None:
        check_number("--window", deciding.window, 1, 2**40, whole=True)
    check_number("--level", table.level, 0.5, 0.9999)
    if scoring.max_error is not None:
        check_number("--max-error", scoring.max_error, 0.0, 1.0)
        if scoring.truth is None:
            raise InputError("--max-error", "--truth too", "none")
    if costing.price is not None:
        check_number("--price", costing.price, 0.0, 1e9)


def _make_job(
    factory: EstimatorFactory,
    cleaner: InputCleaner,
    ordinal: Ordinal | None,
    deciding: Deciding,
    scoring: Scoring,
    out: Output,
    report: options.Report,
) -> Job:
    from crowdstream.cli.run_job import Job
    from crowdstream.cli.score import Score
    from crowdstream.cli.truths import TruthFile

    truths = None if scoring.truth is None else TruthFile("--truth", scoring.truth)
    gold = None if deciding.gold is None else TruthFile("--gold", deciding.gold, teaches=True)
    return Job(
        factory=factory,
        cleaner=cleaner,
        settle=deciding.settle,
        min_labels=deciding.min_labels,
        online=deciding.online,
        silent=report.quiet,
        reported=report.shown,
        hard=report.json,  # a screen does not show them
        resend=out.resend is not None,
        gold=gold,
        score=None if truths is None else Score(truths, ordinal),
        ordinal=ordinal,
    )


def _replay(job: Job, prior: Estimator | None, seed: int) -> Replay:
    """The purchase of the labels by a crowd that knows what it knew before this run."""
    from crowdstream.report.spending import Replay

    before = job.factory.make() if prior is None else prior.copy()
    return Replay(before, job.settle, job.min_labels, seed, compared=job.ordinal is None)


def _decisions(
    out: Output, report: options.Report
) -> contextlib.AbstractContextManager[Callable[[pl.DataFrame], None] | None]:
    """A function that writes decisions: to the file named, else to a pipe, not to a terminal."""
    if out.output is not None:
        return TableWriter(out.output).open()
    if report.json or sys.stdout.isatty():
        return contextlib.nullcontext()
    return TableWriter("-").open()


def _report(
    job: Job, json: bool, started: float, workers: pl.DataFrame, price: float | None
) -> None:
    from crowdstream.cli.run_report import run_report
    from crowdstream.report.monitors import monitor_report

    found = monitor_report(job.estimator, job.decided + job.before.tasks)
    report = run_report(job, found, workers, time.perf_counter() - started)
    if price is not None and job.replay is not None:
        report.cost = Cost(*job.replay.cost(price, report.labels, report.tasks))
    if json:
        print_json(report)
    else:
        show_summary(report, job, found, workers)


def _gate(error: float, most: float | None, quiet: bool) -> None:
    if most is not None and error > most:
        if not quiet:
            message = f"crowdstream: the error rate {error:.4f} is above --max-error {most:g}"
            print(message, file=sys.stderr)
        raise click.exceptions.Exit(1)
