"""`crowdstream paper`: the paper's experiments again, with a verdict on every claim."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from crowdstream.cli import options
from crowdstream.cli.extras import need
from crowdstream.cli.output import make_folder
from crowdstream.cli.terminal import ProgressBar, console, printable
from crowdstream.errors import CrowdstreamError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdstream.science.experiments.page import Outcome


class Experiments(options.Group, panel="Options"):
    """What is repeated, how often, and where it goes."""

    HELP = """
    experiments: EXPERIMENT  worked, fig1 to fig6, table1, table2, theorems; all if not given.
    -o, --output FOLDER  Where figures, tables and a page, index.html, are written.
    --quick  Fewer repetitions: a minute instead of several.
    """
    experiments: list[str] | None = None
    output: str = "paper"
    quick: bool = False


def paper(given: Experiments) -> None:
    """Repeat the experiments of the paper and check its claims.

    Draws the paper's figures, prints every claim with what was measured, and exits with code 1 if
    a claim does not hold or none could be checked. table1 and table2 need data sets: see
    CROWDSTREAM_DATA in the README.

    \b
    Example:
      crowdstream paper fig1 fig4 --quick -o paper
    """
    need("altair", "vl_convert")
    from crowdstream.science.experiments import NAMES
    from crowdstream.science.experiments.page import write_page

    wanted = list(dict.fromkeys(given.experiments or ["all"]))
    if "all" in wanted:
        wanted = list(NAMES)
    for name in wanted:
        if name not in NAMES:
            raise InputError("experiments", f"all or some of {' '.join(NAMES)}", repr(name))
    folder = make_folder(given.output)
    outcomes = _run(wanted, given.quick, folder)
    write_page(outcomes, folder / "index.html", given.quick)
    _show(outcomes, folder)
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    if not claims or not all(claim.holds for claim in claims):
        raise typer.Exit(1)


def _run(names: list[str], quick: bool, folder: Path) -> list[Outcome]:
    outcomes = []
    with ProgressBar("starting", len(names)) as bar:
        for name in names:
            bar.update(name)
            outcomes.append(_one(name, quick, folder, lambda share: bar.update(advance=share)))
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


def _show(outcomes: list[Outcome], folder: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("experiment", "claim", "measured", "verdict")
    for outcome in outcomes:
        if outcome.skipped:
            reason = printable(outcome.skipped)
            table.add_row(outcome.name, reason, "", "not checked", style="yellow")
        for k, claim in enumerate(outcome.claims):
            verdict = Text("holds", "green") if claim.holds else Text("fails", "bold red")
            text = f"{claim.text} ({claim.wanted})"
            table.add_row("" if k else outcome.name, text, claim.measured, verdict)
    console(stderr=False).print(table)
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    held, seconds = sum(c.holds for c in claims), sum(o.seconds for o in outcomes)
    missed = sum(bool(outcome.skipped) for outcome in outcomes)
    also = f"; {missed} of {len(outcomes)} experiments not checked" if missed else ""
    print(f"{held} of {len(claims)} claims hold{also}; {seconds:.0f} s; {folder / 'index.html'}")
