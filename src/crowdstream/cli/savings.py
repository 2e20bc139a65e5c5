"""`crowdstream savings`: a file of labels → how many of them would have been enough."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.charts import check_chart, save_chart
from crowdstream.cli.output import check_apart, check_output, talk, write_table
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.science.savings import Savings

SCHEMA = 1
"""Version of the JSON object; raised when a field changes its meaning."""


def savings(
    labels: Annotated[
        list[str],
        typer.Argument(
            help="Files or globs: CSV, TSV, JSONL, Parquet, Arrow; .gz, .zst; - is stdin."
        ),
    ],
    gold: Annotated[
        str | None,
        typer.Option("--gold", help="True labels; without, all labels together are the truth."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The curves: .csv .tsv .jsonl .parquet, or -."),
    ] = None,
    chart: Annotated[
        str | None, typer.Option("--chart", help="A picture of them: .html .png .svg.")
    ] = None,
    method: options.Method = "adaptive",
    repeats: Annotated[
        int, typer.Option("--repeats", help="Random orders; the figures are their means.")
    ] = 5,
    seed: Annotated[int, typer.Option("--seed", help="Of these orders.")] = 0,
    task: options.Task = None,
    worker: options.Worker = None,
    label: options.LabelColumn = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="One row a task, one column a rater.")
    ] = False,
    format: options.Format = None,  # noqa: A002
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Tell how many labels would have been enough.

    Buys the labels of a file again, one by one in random order, and stops at each task once the
    crowd is sure; beside it, the same number of labels for every task.

    Example: crowdstream savings labels.csv --gold gold.csv --chart savings.png
    """
    from crowdstream.cli.crowds import Recipe
    from crowdstream.labels import ColumnNames
    from crowdstream.labels.gold import read_truths, truth_table
    from crowdstream.labels.readers import BadRows, find_sources, read_all

    check_output(output, "--output")
    check_chart(chart)
    check_number("--repeats", repeats, 1, 1000, whole=True)
    recipe = Recipe(method, None, None, seed)
    sources = find_sources(labels, format)
    paths = [source.path for source in sources]
    check_apart(paths, {"--output": output, "--chart": chart})
    truths = None if gold is None else truth_table(read_truths(gold))
    names = ColumnNames(task, worker, label, wide)
    table = read_all(sources, names, BadRows("fail")).frame()
    silent = quiet or not sys.stderr.isatty()
    found = _replay(table, truths, recipe.make(), repeats, seed, silent)
    if output is not None:
        write_table(found.table, output)
    if chart is not None:
        _save(found, chart, [source.name for source in sources])
    if json:
        print(jsonlib.dumps({"schema_version": SCHEMA, "method": method, **found.report()}))
    elif not quiet:
        _tell(found)


def _replay(
    labels: pl.DataFrame,
    gold: pl.DataFrame | None,
    crowd: Estimator,
    repeats: int,
    seed: int,
    silent: bool,
) -> Savings:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from crowdstream.science.savings import savings as replay

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk(), transient=True, disable=silent) as bars:
        step = bars.add_task(f"buying {labels.height:,} labels again", total=1.0)
        return replay(
            labels,
            gold,
            crowd=crowd,
            repeats=repeats,
            seed=seed,
            tick=lambda share: bars.advance(step, share),
        )


def _save(found: Savings, path: str, files: list[str]) -> None:
    from crowdstream.science.savings import draw

    more_files = f" and {len(files) - 1} more" if len(files) > 1 else ""
    save_chart(draw(found, Path(files[0]).name + more_files), path)


def _tell(found: Savings) -> None:
    """The answer, and the levels one can stop at with what a fixed number would err."""
    from rich import box
    from rich.table import Table

    console = talk()
    console.print(found.answer(), style="bold", soft_wrap=True)
    if not found.has_gold:
        told = "no gold: an error is another decision than this crowd's from all labels"
        console.print(told, style="yellow", soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    heads = ("stop at", "labels a task", "saved", "error", "fixed: same crowd", "fixed: majority")
    for head in heads:
        table.add_column(head, justify="right")
    for settle, cost, saved, *errors in found.levels().iter_rows():
        level = "never" if settle is None else f"{settle:g}"
        table.add_row(level, f"{cost:.2f}", f"{saved:.0%}", *(f"{error:.3f}" for error in errors))
    console.print(table)
    console.print(
        "fixed: the error with as many labels, but the same number for every task",
        style="dim",
        soft_wrap=True,
    )
