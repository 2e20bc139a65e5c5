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

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.label_input import open_sources
from crowdstream.cli.output import TableWriter, check_output, write_table
from crowdstream.cli.run_asked import Asked, Done, worker_table
from crowdstream.cli.states import locked
from crowdstream.errors import InputError, UsageError
from crowdstream.plain_text import printable
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.run_job import Job
    from crowdstream.cli.run_state import RunState


class Output(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write the decisions, one row per task: {options.TABLE_FILE}.
    --workers FILE  Write the workers, one row per worker, to such a file too.
    --resend FILE  Write the tasks that are not settled, the most doubtful first, with how many more
        labels each needs (or an expert).
    --probabilities FILE  Write the probability of each class, one row per task, one column per
        class.
    """
    output: str | None = None
    workers: str | None = None
    resend: str | None = None
    probabilities: str | None = None


class State(options.Group, panel="State"):
    """Options of the state kept between runs."""

    HELP = """
    --state FILE  Save what was learnt to this file. If it exists, go on from it: decide by what it
        knows of the workers and by these labels together.
    --again  Learn labels once more that the state has learnt already.
    """
    state: str | None = None
    again: bool = False


class Deciding(options.Group, panel="Deciding"):
    """Options of deciding tasks."""

    HELP = """
    --settle CONFIDENCE  A decision at least this confident is marked as settled ...
    --min-labels NUMBER  ... if it has at least this many labels.
    --online  Decide each task from the tasks before it only, as a stream would.
    --in-order  The rows are in the order of time: look for workers who got better or worse. (Files
        with a column at are always looked at in the order of its times.)
    --window TASKS  Keep at most this many tasks in memory, for files of any length whose rows are
        roughly ordered by task.
    --gold FILE  Learn from the correct labels of some tasks: a file with columns task and
        label.
    """
    settle: float = defaults.SETTLE
    min_labels: int = defaults.MIN_LABELS
    online: bool = False
    in_order: bool = False
    window: int | None = None
    gold: str | None = None


class Costing(options.Group, panel="Cost"):
    """Options of cost."""

    HELP = """
    --price AMOUNT  What one label cost, 0.05 say: adds what all labels cost, and what would have
        been enough had each task been stopped once it was settled.
    """
    price: float | None = None


class Scoring(options.Group, panel="Scoring"):
    """Options of truths to score decisions against."""

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
    costing: Costing,
) -> None:
    """Decide every task in files of labels.

    Reads rows with a task, a worker and a label. Writes one row per task (task, label,
    confidence, margin, votes, settled) and, with --workers, one row per worker (answers, error
    rate with its interval, weight, quality, flags; whether to drop, coach or pay, and why). Without
    -o the decisions go to standard output if that is a pipe or a file; a terminal shows a summary.
    A file with several questions is decided question by question.

    \b
    Examples:
      crowdstream run labels.csv -o decisions.csv --workers workers.csv
      crowdstream run june.csv --state crowd.state -o june-decisions.csv
      crowdstream run labels.csv --resend again.csv --price 0.05
      crowdstream run 'day-*.parquet' --truth correct.csv --max-error 0.05 --json
    """
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.labels.readers.small_tables import read_costs

    started = time.perf_counter()
    _check(out, deciding, table, scoring, costing)
    _check_kind(files, deciding)
    kept = report.shown or out.workers is not None or state.state is not None
    factory = EstimatorFactory(method, monitored=kept)
    costs = None if table.costs is None else read_costs(table.costs, option="--costs")
    outputs = {"--output": out.output, "--workers": out.workers, "--resend": out.resend}
    outputs |= {"--state": state.state, "--on-error": bad_input.quarantine}
    outputs |= {"--probabilities": out.probabilities}
    sources = open_sources(files, outputs)
    history: RunState | None = None
    if state.state is not None:
        from crowdstream.cli.run_state import RunState

        history = RunState(state.state, again=state.again)
    with contextlib.nullcontext() if state.state is None else locked(state.state):
        prior = {} if history is None else history.load(factory)
        threading.Thread(target=_load, args=(factory,), daemon=True).start()
        asked = Asked(files, deciding, scoring, out, report, costing, method.seed, factory, prior)
        if history is not None:
            history.check(sources)
        # Whatever fails before the end takes the file of decisions with it.
        with files.bad_rows(bad_input.on_error) as bad_rows, _decisions(out, report) as write:
            done = asked.decide(sources, bad_rows, write)
            workers = functools.cache(
                lambda: [worker_table(job, table.level, costs) for job in done.jobs]
            )
            if out.workers is not None:
                write_table(_by_question(done.jobs, workers()), out.workers)
            elif costs is not None:
                workers()  # refuses costs of classes that no worker has named
            if out.resend is not None:
                write_table(_concat([job.resend_table() for job in done.jobs]), out.resend)
            if out.probabilities is not None:
                chances = [job.chances() for job in done.jobs]
                write_table(_by_question(done.jobs, chances), out.probabilities)
            if history is not None:
                history.check_piped()
        if history is not None:  # last: a run that did not get so far can be repeated
            done.notes += history.notes
            history.save({**prior, **{job.key: job.estimator for job in done.jobs}})
        if report.shown:
            _report(done, report.json, started, workers(), costing.price)
        _gate(done.jobs, scoring.max_error, report.quiet)


def _load(factory: EstimatorFactory) -> None:
    """Load what is needed once the files are read, while they are being read."""
    factory.make()
    from crowdstream.cli import run_report, score, summary, truths  # noqa: F401


def _by_question(jobs: list[Job], tables: list[pl.DataFrame]) -> pl.DataFrame:
    from crowdstream.cli.run_job import named_question

    return _concat(
        [named_question(table, job.question) for job, table in zip(jobs, tables, strict=True)]
    )


def _concat(tables: list[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    return tables[0] if len(tables) == 1 else pl.concat(tables, how="diagonal_relaxed")


def _check_kind(files: options.LabelFiles, deciding: Deciding) -> None:
    """Refuse a scale or choices where each task is decided as it comes."""
    hints = files.hints()
    scale = hints.ordinal or hints.order is not None or hints.bins is not None
    named = "--ordinal" if scale else "--choices" if hints.choices else ""
    found = "--online" if deciding.online else ""
    if deciding.window is not None:
        found = found or "--window"
    if named and found:
        raise InputError(named, "tasks that are decided when all labels are in", found)


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
    check_output(out.probabilities, "--probabilities")
    check_number("--min-labels", deciding.min_labels, 1, 2**31, whole=True)
    check_number("--settle", deciding.settle, *defaults.SETTLE_RANGE)
    if deciding.window is not None:
        check_number("--window", deciding.window, 1, 2**40, whole=True)
    check_number("--level", table.level, *defaults.LEVEL_RANGE)
    if scoring.max_error is not None:
        check_number("--max-error", scoring.max_error, 0.0, 1.0)
        if scoring.truth is None:
            raise UsageError("--max-error needs --truth")
    if costing.price is not None:
        check_number("--price", costing.price, 0.0, 1e9)


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
    done: Done, json: bool, started: float, workers: list[pl.DataFrame], price: float | None
) -> None:
    from crowdstream.cli.json_output import Cost, print_json
    from crowdstream.cli.run_report import questions_report, run_report
    from crowdstream.cli.summary import show_questions, show_summary
    from crowdstream.report.monitors import monitor_report

    seconds = time.perf_counter() - started
    found = [monitor_report(job.estimator, job.decided + job.before.tasks) for job in done.jobs]
    reports = []
    for job, monitors, table in zip(done.jobs, found, workers, strict=True):
        report = run_report(job, monitors, table, seconds, done)
        if price is not None and job.replay is not None:
            report.cost = Cost(*job.replay.cost(price, report.labels, report.tasks))
        reports.append(report)
    if json:
        print_json(reports[0] if len(reports) == 1 else questions_report(reports, done, seconds))
    elif len(reports) == 1:
        show_summary(reports[0], done.jobs[0], found[0], workers[0])
    else:
        show_questions(reports, done, seconds)


def _gate(jobs: list[Job], most: float | None, quiet: bool) -> None:
    """End with code 1 if the decisions on any question err more than is allowed."""
    for job in jobs:
        if most is None or job.score is None or job.score.error <= most:
            continue
        if not quiet:
            about = f" on {printable(job.question)}" if job.question else ""
            error = f"the error rate{about} {job.score.error:.4f} is above --max-error {most:g}"
            print(f"crowdstream: {error}", file=sys.stderr)
        raise click.exceptions.Exit(1)
