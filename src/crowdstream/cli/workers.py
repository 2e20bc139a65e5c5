"""`crowdstream workers`: what a state file knows of each worker."""

from __future__ import annotations

import dataclasses
import sys
import textwrap
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.charts import check_chart, save_chart
from crowdstream.cli.output import check_apart, check_output, write_table
from crowdstream.cli.summary import NAME, ranked, workers_table
from crowdstream.cli.terminal import add_row, console, make_table, say, shorten_name
from crowdstream.errors import InputError, UsageError
from crowdstream.methods import METHODS, listed
from crowdstream.plain_text import counted, printable
from crowdstream.report.advised import advised_table
from crowdstream.report.monitors import alarms_of, is_monitored, watches_time
from crowdstream.validation import check_number
from crowdstream.wording import UNSEEN, evidence_words

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator

ROWS = 50
"""Rows that a terminal shows."""


class Table(options.Group, panel="Another table instead"):
    """Options of another table."""

    HELP = """
    --pairs  Which workers agree more than the truth explains.
    --alarms  Whose error rate changed, when and how.
    --trends  Every worker's error rate over time.
    --identifiability  Whether the labels suffice to estimate error rates.
    """
    pairs: bool = False
    alarms: bool = False
    trends: bool = False
    identifiability: bool = False

    @property
    def name(self) -> str:
        """The one that is asked for; empty for the workers' own."""
        asked = [name for name, wanted in dataclasses.asdict(self).items() if wanted]
        if len(asked) > 1:
            found = " ".join(f"--{name}" for name in asked)
            raise InputError("workers", "one table at a time", found)
        return asked[0] if asked else ""


class State(options.Group):
    """Options of the state."""

    HELP = """
    state: STATE  State file of run --state or stream --state.
    --question NAME  Of a state of several questions, the one to show.
    """
    state: str
    question: str | None = None


class Output(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write the table: {options.TABLE_FILE}.
    --chart FILE  Draw the error rates, or --trends, to a .html, .png or .svg file.
    """
    output: str | None = None
    chart: str | None = None


def workers(
    saved: State,
    out: Output,
    quiet: options.Quiet,
    table: Table,
    making: options.WorkerTable,
) -> None:
    """Show what a state file knows about each worker.

    Prints one row per worker: answers, error rate with its interval (error_low, error_high),
    evidence, weight of a vote, agreement with others, quality (1 knows, 0 guesses), flags, and
    whether to drop, coach or pay the worker, with the reason. A terminal shows the best workers
    first; a pipe gets CSV. States of --method majority have no intervals and no other tables.

    \b
    Examples:
      crowdstream workers crowd.state -o workers.csv
      crowdstream workers crowd.state --trends --chart trends.html
    """
    from crowdstream.cli.states import load_estimator

    state, name = saved.state, table.name
    check_output(out.output, "--output")
    check_chart(out.chart)
    check_number("--level", making.level, *defaults.LEVEL_RANGE)
    check_apart([state], {"--output": out.output, "--chart": out.chart})
    if out.chart is not None and name not in ("", "trends"):
        raise UsageError(f"--chart cannot be combined with --{name}")
    estimator = load_estimator(state, saved.question)
    if name and not is_monitored(estimator):
        methods = listed([name for name, method in METHODS.items() if method.monitored])
        expected = f"a state saved with monitors, of --method {methods}"
        raise InputError(state, expected, f"{type(estimator).__name__} without")
    if name in ("alarms", "trends") and not watches_time(estimator):
        expected = "a state of labels in the order of time (a column at, or run --in-order)"
        raise InputError(state, expected, "one that does not know who changed")
    found = _other_table(estimator, name) if name else _own_table(estimator, making)
    if out.chart is not None:
        _draw(estimator, found, name, making.level, out.chart)
    if out.output is not None or (out.chart is None and not sys.stdout.isatty()):
        write_table(found, out.output)
    elif out.chart is None:
        _show(found, name)
        if name == "trends" and found.height:
            print(
                textwrap.fill(f"Intervals rest on agreement between workers alone: {UNSEEN}.", 80)
            )
    if not quiet.quiet:
        reason = "" if estimator.identifiable_ else estimator.identifiable_.reason
        note = f"; not identifiable: {reason}; fell back to majority vote" if reason else ""
        tasks, number = (
            counted(estimator.tasks_, "task"),
            counted(len(estimator._workers), "worker"),
        )
        say(f"{tasks}, {number}{note}")


def _own_table(estimator: Estimator, making: options.WorkerTable) -> pl.DataFrame:
    from crowdstream.labels.readers.small_tables import read_costs

    costs = None if making.costs is None else read_costs(making.costs, option="--costs")
    return advised_table(estimator, making.level, costs)


def _other_table(estimator: Estimator, name: str) -> pl.DataFrame:
    from crowdstream import monitoring

    if name == "pairs":
        return monitoring.pairs(estimator)
    if name == "trends":
        return monitoring.trends(estimator)
    return _alarms(estimator) if name == "alarms" else _identifiability(estimator)


def _alarms(estimator: Estimator) -> pl.DataFrame:
    """Changes that were confirmed, then those that are pending."""
    import msgspec
    import polars as pl

    kinds = {"tasks_seen": pl.Int64, "worker": pl.String, "direction": pl.String}
    kinds |= {"before": pl.Float64, "after": pl.Float64, "evidence": pl.Float64}
    kinds |= {"answers": pl.Int64, "everyone": pl.Boolean, "pending": pl.Boolean}
    rows = [
        msgspec.structs.asdict(alarm) | {"worker": str(alarm.worker), "pending": pending}
        for pending in (False, True)
        for alarm in alarms_of(estimator, pending=pending)
    ]
    return pl.DataFrame(rows, schema=kinds)


def _identifiability(estimator: Estimator) -> pl.DataFrame:
    """The report as one row; of the groups that share no tasks, how many and how large."""
    import msgspec
    import polars as pl

    from crowdstream import monitoring

    report = monitoring.identifiability(estimator)
    row = msgspec.structs.asdict(report)
    sizes = [group.workers for group in report.groups]
    row |= {"groups": len(sizes), "in_largest": max(sizes, default=0)}
    found = row.pop("dependence")
    row |= {"dependence": found.verdict, "excess": found.excess, "excess_error": found.error}
    return pl.DataFrame([row])


def _draw(estimator: Estimator, table: pl.DataFrame, name: str, level: float, path: str) -> None:
    from crowdstream.report.charts.trends import draw_trends, watched
    from crowdstream.report.charts.workers import draw_workers

    if not name:
        if not table["error_rate"].count():
            reason = estimator.identifiable_.reason
            raise UsageError(f"--chart needs error rates, and none is known: {reason}")
        save_chart(draw_workers(table, level, len(estimator.classes_)), path, table)
        return
    names, changed = watched(estimator)
    save_chart(draw_trends(table, names, changed, len(estimator._workers)), path, table)


def _show(table: pl.DataFrame, name: str) -> None:
    """The first rows, on a terminal."""
    import polars as pl

    if name == "identifiability":
        row = {field.replace("_", " "): value for field, value in table.row(0, named=True).items()}
        width = max(map(len, row))
        for field, value in row.items():
            print(f"{field:>{width}}  {printable(value)}")
        return
    if not name:
        shown = workers_table(ranked(table).head(ROWS))
    else:
        texts = [column for column, kind in table.schema.items() if kind == pl.String]
        others = [column for column in table.columns if column not in texts]
        shown = make_table("", texts, others)
        for values in table.select(*texts, *others).head(ROWS).iter_rows():
            add_row(shown, *map(_cell, values))
    console(stderr=False).print(shown)
    if not name and (words := evidence_words(table)):
        print(textwrap.fill(words, 80))
    if name == "trends":
        print(textwrap.fill(f"intervals: from agreement between workers; {UNSEEN}", 80))
    if table.height > ROWS:
        print(f"… and {table.height - ROWS:,} more: -o FILE writes all")


def _cell(value: object) -> object:
    """A value as a table shows it: names are shortened."""
    if isinstance(value, float):
        return f"{value:.3f}"
    return shorten_name(value, NAME) if isinstance(value, str) else value
