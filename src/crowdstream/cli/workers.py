"""`crowdstream workers`: what a state file knows of everybody."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.charts import (
    MOST_TRENDS,
    check_chart,
    draw_trends,
    draw_workers,
    save_chart,
)
from crowdstream.cli.output import check_apart, check_output, talk, write_table
from crowdstream.cli.summary import alarms_of, is_watched, ranked, workers_table
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator

ROWS = 50
"""Rows that a terminal shows."""


def workers(
    state: Annotated[str, typer.Argument(help="A state file of run --save or stream --state.")],
    pairs: Annotated[
        bool, typer.Option("--pairs", help="Who agrees with whom beyond the truth, instead.")
    ] = False,
    alarms: Annotated[
        bool, typer.Option("--alarms", help="Whose error rate changed and when, instead.")
    ] = False,
    trends: Annotated[
        bool, typer.Option("--trends", help="Error rates over the tasks, instead.")
    ] = False,
    identifiability: Annotated[
        bool, typer.Option("--identifiability", help="What the labels can tell at all, instead.")
    ] = False,
    level: options.Level = 0.95,
    costs: options.Costs = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="To .csv .tsv .jsonl .parquet, or -."),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option("--chart", help="Error rates, or --trends, as a picture: .html .png .svg."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Show the workers in a state file.

    Pairs, alarms, trends and intervals are known of states saved with their monitors: by run
    --save or stream --state, with any method but majority.

    Example: crowdstream workers crowd.state -o people.csv
    """
    from crowdstream.cli.crowds import load_crowd
    from crowdstream.labels.readers.small_tables import read_costs

    asked = {"pairs": pairs, "alarms": alarms, "trends": trends, "identifiability": identifiability}
    what = _one_of([name for name, wanted in asked.items() if wanted])
    check_output(output, "--output")
    check_chart(chart)
    check_number("--level", level, 0.5, 0.9999)
    check_apart([state], {"--output": output, "--chart": chart})
    if chart is not None and what not in ("", "trends"):
        raise InputError("--chart", "no other table, or --trends", f"--{what}")
    prices = None if costs is None else read_costs(costs)
    crowd = load_crowd(state)
    if what and not is_watched(crowd):
        wanted = "a state saved with its monitors (any method but majority)"
        raise InputError(state, wanted, f"{type(crowd).__name__} without")
    table = _table(crowd, what) if what else crowd.workers(level=level, costs=prices)
    if chart is not None:
        _draw(crowd, table, what, level, chart)
    if output is not None or (chart is None and not sys.stdout.isatty()):
        write_table(table, output)
    elif chart is None and what == "identifiability":
        for name, value in table.row(0, named=True).items():
            print(f"{name.replace('_', ' '):>12}  {value}")
    elif chart is None:
        _show(table, what)
    if not quiet:
        told = crowd.identifiable_
        note = "" if told else f"; not identifiable: {told.reason}"
        talk().print(f"{crowd.tasks_:,} tasks, {crowd.n_workers_:,} workers{note}")


def _one_of(asked: list[str]) -> str:
    """The table that is asked for; none is the workers' own."""
    if len(asked) > 1:
        raise InputError("workers", "one table at a time", " ".join(f"--{name}" for name in asked))
    return asked[0] if asked else ""


def _table(crowd: Estimator, what: str) -> pl.DataFrame:
    from crowdstream import monitoring

    if what == "pairs":
        return monitoring.pairs(crowd)
    if what == "trends":
        return monitoring.trends(crowd)
    return _alarms(crowd) if what == "alarms" else _identifiability(crowd)


def _alarms(crowd: Estimator) -> pl.DataFrame:
    import msgspec
    import polars as pl

    kinds = {"tasks_seen": pl.Int64, "worker": pl.String, "direction": pl.String}
    kinds |= {"before": pl.Float64, "after": pl.Float64, "evidence": pl.Float64}
    kinds |= {"answers": pl.Int64, "everyone": pl.Boolean}
    rows = [msgspec.structs.asdict(alarm) for alarm in alarms_of(crowd)]
    for row in rows:
        row["worker"] = str(row["worker"])
    return pl.DataFrame(rows, schema=kinds)


def _identifiability(crowd: Estimator) -> pl.DataFrame:
    """The report in a row; of the groups that share no tasks, how many and how large."""
    import msgspec
    import polars as pl

    from crowdstream import monitoring

    report = monitoring.identifiability(crowd)
    row = msgspec.structs.asdict(report)
    sizes = [group.workers for group in report.groups]
    row |= {"groups": len(sizes), "in_largest": max(sizes, default=0)}
    return pl.DataFrame([row])


def _draw(crowd: Estimator, table: pl.DataFrame, what: str, level: float, path: str) -> None:
    import polars as pl

    if not what:
        if not table["error_rate"].count():
            raise InputError("--chart", "error rates that are known", crowd.identifiable_.reason)
        save_chart(draw_workers(table, level, len(crowd.classes_)), path)
        return
    alarms = sorted(alarms_of(crowd), key=lambda alarm: -alarm.evidence)
    changed = list(dict.fromkeys(str(alarm.worker) for alarm in alarms))
    active = crowd.workers().sort("answers", descending=True)["worker"].cast(pl.String)
    names = list(dict.fromkeys([*changed, *active]))[:MOST_TRENDS]
    lines = table.cast({"worker": pl.String})
    save_chart(draw_trends(lines, names, changed, crowd.n_workers_), path)


def _show(table: pl.DataFrame, what: str) -> None:
    """The first rows, on a terminal."""
    import polars as pl
    from rich.console import Console

    if not what:
        shown = workers_table(ranked(table).head(ROWS))
        Console(highlight=False, markup=False).print(shown)
        hidden = table.height - ROWS
        if hidden > 0:
            print(f"… and {hidden:,} more: -o FILE writes all")
        return
    with pl.Config(
        tbl_rows=ROWS,
        tbl_cols=-1,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        float_precision=3,
    ):
        print(table)
