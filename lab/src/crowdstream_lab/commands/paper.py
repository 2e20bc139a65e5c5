"""`crowdstream paper`: the paper's experiments again, with a verdict on every sentence."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from crowdstream import CrowdstreamError, InputError
from crowdstream.cli.extension import ProgressBar, console, make_folder, options
from crowdstream.extension import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from crowdstream_lab.experiments.page import Outcome


class Experiments(options.Group, panel="Options"):
    """What is repeated, how often, and where it goes."""

    HELP = """
    experiments: EXPERIMENT  worked, fig1 to fig6, table1, table2, lemmas, theorems; or all.
    -o, --output FOLDER  Where figures, tables, a page, index.html, and paper.md are written.
    --quick  Fewer repetitions: half a minute instead of a few.
    """
    experiments: list[str] | None = None
    output: str = "paper"
    quick: bool = False


def paper(given: Experiments) -> None:
    """Repeat the experiments of the paper and check its claims.

    Draws the paper's figures and says of each sentence whether it holds, with what was measured.
    Exits with code 1 if a promise of ours does not hold or nothing could be checked; a sentence of
    the paper may be wrong. table1 and table2 need data sets: see CROWDSTREAM_DATA in the README.

    \b
    Example:
      crowdstream paper fig1 fig4 --quick -o paper
    """
    from crowdstream_lab.experiments import NAMES
    from crowdstream_lab.experiments.document import markdown
    from crowdstream_lab.experiments.page import write_page

    wanted = list(dict.fromkeys(given.experiments or ["all"]))
    if "all" in wanted:
        wanted = list(NAMES)
    for name in wanted:
        if name not in NAMES:
            raise InputError("experiments", f"all or some of {' '.join(NAMES)}", repr(name))
    folder = make_folder(given.output)
    outcomes = _run(wanted, given.quick, folder)
    write_page(outcomes, folder / "index.html", given.quick)
    (folder / "paper.md").write_text(markdown(outcomes, given.quick), encoding="utf-8")
    _show(outcomes, folder)
    claims = [claim for outcome in outcomes for claim in outcome.claims]
    if not claims or any(claim.source == "ours" and not claim.holds for claim in claims):
        raise click.exceptions.Exit(1)


def _run(names: list[str], quick: bool, folder: Path) -> list[Outcome]:
    outcomes = []
    with ProgressBar("starting", len(names)) as bar:
        for name in names:
            bar.update(name)
            outcomes.append(_one(name, quick, folder, lambda share: bar.update(advance=share)))
    return outcomes


def _one(name: str, quick: bool, folder: Path, tick: Callable[[float], None]) -> Outcome:
    from crowdstream import NotIdentifiable
    from crowdstream_lab.experiments import find
    from crowdstream_lab.experiments.page import Outcome, save_figure

    experiment = find(name)
    outcome = Outcome(name, experiment.TITLE, experiment.PAPER)
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotIdentifiable)  # of a crowd like Temp's
            data = experiment.compute(quick, tick)
    except CrowdstreamError as error:  # data sets that are not at hand
        outcome.skipped = str(error)
        return outcome
    outcome.claims = experiment.claims(data)
    chart = experiment.draw(data)
    if chart is None:
        data.write_csv(folder / f"{name}.csv")
    else:
        save_figure(name, data, chart, folder)
        outcome.picture = (folder / f"{name}.svg").read_text(encoding="utf-8")
    outcome.seconds = time.process_time() - start
    return outcome


def _show(outcomes: list[Outcome], folder: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from crowdstream_lab.experiments.page import WHOSE, summary

    table = Table("experiment", "claim", "whose", "measured", "verdict")
    for outcome in outcomes:
        if outcome.skipped:
            reason = printable(outcome.skipped)
            table.add_row(outcome.name, reason, "", "", "not checked", style="yellow")
        for k, claim in enumerate(outcome.claims):
            colour = "green" if claim.holds else "bold red" if claim.source == "ours" else "yellow"
            text = f"{claim.text} ({claim.wanted})"
            verdict = Text(claim.verdict, colour)
            name = "" if k else outcome.name
            table.add_row(name, text, WHOSE[claim.source], claim.measured, verdict)
    console(stderr=False).print(table)
    seconds = sum(outcome.seconds for outcome in outcomes)
    missed = sum(bool(outcome.skipped) for outcome in outcomes)
    also = f"; {missed} of {len(outcomes)} experiments not checked" if missed else ""
    print(f"{summary(outcomes)}{also}; {seconds:.0f} s of processor time; {folder / 'index.html'}")
