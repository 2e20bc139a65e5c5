"""`crowdstream paper`: the paper's experiments again, with a verdict on every claim."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crowdstream.cli.extras import need
from crowdstream.cli.output import talk
from crowdstream.errors import CrowdstreamError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdstream.science.experiments.page import Outcome


def paper(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="all, worked, fig1 … fig6, table1, table2, theorems."),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", help="The folder for figures, tables and the page.")
    ] = "paper",
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions: a minute instead of several.")
    ] = False,
) -> None:
    """Run the paper's experiments, draw its figures and check its claims.

    Exits with 1 if a claim fails or none was checked. Tables need the data sets: see
    CROWDSTREAM_DATA in the README.

    Example: crowdstream paper fig1 fig4 --quick -o paper
    """
    need("altair", "vl_convert")
    from crowdstream.science.experiments import NAMES
    from crowdstream.science.experiments.page import write_page

    wanted = list(dict.fromkeys(experiments or ["all"]))
    if "all" in wanted:
        wanted = list(NAMES)
    for name in wanted:
        if name not in NAMES:
            raise InputError("experiments", f"all or some of {' '.join(NAMES)}", repr(name))
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--output", "a folder that can be made", str(error)) from None
    outcomes = _run(wanted, quick, folder)
    write_page(outcomes, folder / "index.html", quick)
    _tell(outcomes, folder)
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    if not claims or not all(claim.holds for claim in claims):
        raise typer.Exit(1)


def _run(names: list[str], quick: bool, folder: Path) -> list[Outcome]:
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description:8}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=talk(), transient=True) as bars:
        steps = {name: bars.add_task(name, total=1.0, start=False) for name in names}
        outcomes = []
        for name, step in steps.items():
            bars.start_task(step)
            outcomes.append(
                _one(name, quick, folder, lambda share, step=step: bars.advance(step, share))  # type: ignore[misc]
            )
            bars.update(step, completed=1.0)
    return outcomes


def _one(name: str, quick: bool, folder: Path, tick: Callable[[float], None]) -> Outcome:
    from crowdstream.errors import NotIdentifiable
    from crowdstream.science.experiments import find
    from crowdstream.science.experiments.page import Outcome, save_figure

    experiment = find(name)
    outcome = Outcome(name, experiment.TITLE, experiment.PAPER)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)  # early on there is no fixed point
            data = experiment.compute(quick, tick)
    except CrowdstreamError as error:  # data sets that are not at hand
        outcome.skipped = str(error)
        return outcome
    outcome.claims = experiment.claims(data)
    outcome.picture = save_figure(name, data, experiment.draw(data), folder)
    outcome.seconds = time.perf_counter() - start
    return outcome


def _tell(outcomes: list[Outcome], folder: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_lines=False)
    for column in ("experiment", "claim", "measured", "verdict"):
        table.add_column(column)
    for outcome in outcomes:
        if outcome.skipped:
            table.add_row(outcome.name, outcome.skipped, "", "not checked", style="yellow")
        for k, claim in enumerate(outcome.claims):
            verdict = "[green]holds[/]" if claim.holds else "[bold red]fails[/]"
            shown = "" if k else outcome.name
            table.add_row(shown, f"{claim.text} ({claim.wanted})", claim.measured, verdict)
    console = Console()
    console.print(table)
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    held, seconds = sum(c.holds for c in claims), sum(o.seconds for o in outcomes)
    missed = sum(bool(outcome.skipped) for outcome in outcomes)
    also = f"; {missed} of {len(outcomes)} experiments not checked" if missed else ""
    told = f"{held} of {len(claims)} claims hold{also}; {seconds:.0f} s; {folder / 'index.html'}"
    console.print(told, soft_wrap=True)
