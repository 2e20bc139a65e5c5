"""`crowdstream compare`: every method on every data set, in one table."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli import options
from crowdstream.cli.extras import need
from crowdstream.cli.output import talk
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.labels import ColumnNames
    from crowdstream.science.compare import Method, Study
    from crowdstream.science.datasets import Dataset

SHUFFLES = 3
"""Orders beside the file's: enough to see whether a method minds the order at all."""

LIMIT = 60.0
"""Seconds: what is slower is of no use beside methods that take a fraction of one."""

WIDE = 120
"""Characters a line needs for the whole table."""

LEFT_OUT = ("− majority", "Brier", "MB")
"""Its columns that a narrower terminal does not show."""


def compare(
    sets: Annotated[
        list[str],
        typer.Argument(help="Names of data sets, all (that are at hand), or files with --gold."),
    ],
    gold: Annotated[
        str | None, typer.Option("--gold", help="True labels of the tasks in the files given.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Some only: a,b,c; majority is always among them."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="A folder for CSV, JSON, charts, page and Markdown."),
    ] = None,
    shuffles: Annotated[
        int, typer.Option("--shuffles", help="Random orders of the tasks, for online methods.")
    ] = SHUFFLES,
    seed: Annotated[int, typer.Option("--seed", help="Of these orders.")] = 0,
    limit: Annotated[
        float,
        typer.Option("--limit", help="Seconds a method has for one order of a set."),
    ] = LIMIT,
    task: options.Task = None,
    worker: options.Worker = None,
    label: options.LabelColumn = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare methods on crowds whose truth is known.

    Errors online and final, calibration, time and memory. Rivals of crowd-kit take part where it
    is installed. Data sets by name: see CROWDSTREAM_DATA in the README.

    Example: crowdstream compare rte web --methods agreement,dawid-skene -o comparison
    """
    need("scipy", *(("altair", "vl_convert") if output else ()))
    from crowdstream.labels import ColumnNames
    from crowdstream.science.compare import Study, choose, ready, write

    check_number("--shuffles", shuffles, 0, 1000, whole=True)
    check_number("--seed", seed, 0, 2**32, whole=True)
    check_number("--limit", limit, 0.0, 1e6, open_low=True)
    wanted = choose(None if methods is None else [name.strip() for name in methods.split(",")])
    if gold is None:
        found = [ready(data) for data in _named(sets)]
    else:
        found = [ready(_read(sets, gold, ColumnNames(task, worker, label)))]
    folder = None if output is None else _folder(output)
    rows = _run(found, wanted, shuffles, seed, limit, quiet or not sys.stderr.isatty())
    study = Study(found, wanted, rows, shlex.join(["crowdstream", *sys.argv[1:]]))
    if folder is not None:
        write(study, folder)
    if json:
        print(jsonlib.dumps(study.report()))
    elif not quiet:
        _tell(study)
        if folder is not None:
            talk().print(f"{folder / 'index.html'}", soft_wrap=True)


def _named(names: list[str]) -> list[Dataset]:
    """Sets by name."""
    from crowdstream.science import datasets

    wanted = list(dict.fromkeys(names))
    if "all" in wanted:
        wanted = datasets.available()
        if not wanted:
            expected = f"folders with labels.csv and gold.csv in ${datasets.VARIABLE}"
            raise InputError("data sets", expected, "none")
    for name in wanted:
        if name not in datasets.names() and Path(name).is_file():
            raise InputError("--gold", f"a file of true labels for {name}", "none")
    return [datasets.load(name) for name in wanted]


def _read(files: list[str], gold: str, names: ColumnNames) -> Dataset:
    """A set of the user's own."""
    from crowdstream.labels.gold import read_truths, truth_table
    from crowdstream.labels.readers import BadRows, find_sources, read_all
    from crowdstream.science.datasets import Dataset, Meta

    labels = read_all(find_sources(files), names, BadRows("fail")).frame()
    name = Path(files[0]).name.split(".")[0]
    return Dataset(name, labels, truth_table(read_truths(gold)), Meta(" ".join(files)))


def _folder(path: str) -> Path:
    """Made before the work, which would otherwise be lost."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--output", "a folder that can be made", str(error)) from None
    return Path(path)


def _run(
    sets: list[Dataset],
    methods: list[Method],
    shuffles: int,
    seed: int,
    limit: float,
    silent: bool,
) -> pl.DataFrame:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from crowdstream.science.compare import compare as measure

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bars = Progress(*columns, TimeElapsedColumn(), console=talk(), transient=True, disable=silent)
    with bars:
        step = bars.add_task("starting", total=len(sets) * len(methods), completed=-1)

        def tick(method: str, name: str) -> None:
            bars.update(step, advance=1, description=f"{method} on {name}")

        return measure(sets, methods, shuffles=shuffles, seed=seed, limit=limit, tick=tick)


def _tell(study: Study) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from crowdstream.science.compare import SUMMARY_HEAD, summary_lines

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=WIDE)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    lines = zip(*summary_lines(study), strict=True)
    columns = dict(zip(SUMMARY_HEAD, lines, strict=True))
    shown = [name for name in columns if console.width >= WIDE or name not in LEFT_OUT]
    for name in shown:
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for cells in zip(*(columns[name] for name in shown), strict=True):
        table.add_row(*cells)
    console.print(table)
    for line in study.unfinished():
        talk().print(f"not run: {line}", style="yellow", soft_wrap=True)
