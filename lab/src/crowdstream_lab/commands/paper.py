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
    """Options of the experiments."""

    HELP = """
    experiments: EXPERIMENT  ours, worked, assumption, fig1 to fig6, table1, table2, complexity,
        lemmas, theorems, corollaries; or all.
    -o, --output FOLDER  Where figures, tables, a page, index.html, and paper.md are written.
    --quick  Fewer repetitions: half a minute instead of a few.
    """
    experiments: list[str] | None = None
    output: str = "paper"
    quick: bool = False


def paper(given: Experiments) -> None:
    """Repeat the experiments of the paper and check its claims.

    Draws the paper's figures and says of each sentence whether it holds, does not hold, hangs on
    how we read it, or cannot be told, with what was measured. AgreementBased runs beside a plain
    transcription of the paper on the same labels. Exits with code 1 if the two differ, another
    promise of ours does not hold or nothing could be checked; a sentence of the paper may be wrong.
    table1 and table2 need data sets: see CROWDSTREAM_DATA in the README.

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
    if not any(o.claims for o in outcomes) or any(o.bugs for o in outcomes):
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
    from crowdstream_lab.experiments import beside, find
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
    compared = [claim for use in experiment.uses() for claim in beside.compare(use)]
    outcome.judge(experiment.claims(data), compared)
    chart = experiment.draw(data)
    if chart is None:
        data.write_csv(folder / f"{name}.csv")
    else:
        save_figure(name, data, chart, folder)
        outcome.picture = (folder / f"{name}.svg").read_text(encoding="utf-8")
    outcome.seconds = time.process_time() - start
    return outcome


SHOWN, BUGS = 14, 5
"""Lines of claims and of bugs on the terminal: with the table they fill a screen of forty."""


def _show(outcomes: list[Outcome], folder: Path) -> None:
    """A line per experiment, what does not hold or our bugs by name, and where the rest is."""
    from rich.table import Table
    from rich.text import Text

    from crowdstream_lab.experiments.page import counted, kept, summary

    screen = console(stderr=False)
    table = Table("experiment", box=None, padding=(0, 1))
    for name in ("holds", "does not", "our reading", "cannot tell", "ours"):
        table.add_column(name, justify="right")
    for outcome in outcomes:
        counts = [f"{n}" if n else "·" for n in counted([outcome]).values()]
        good, ours = kept([outcome])
        also = "not checked" if outcome.skipped else f"{good}/{ours}" if ours else "·"
        style = "bold red" if outcome.bugs else "yellow" if outcome.skipped else ""
        table.add_row(outcome.name, *counts, also, style=style)
    screen.print(table)
    for outcome in outcomes:
        if outcome.skipped:
            reason = f"{outcome.name} not checked: {printable(outcome.skipped)}"
            screen.print(Text(reason, "yellow"), no_wrap=True, overflow="ellipsis")
    bugs = [(outcome.name, bug) for outcome in outcomes for bug in outcome.bugs]
    for name, bug in bugs[:BUGS]:
        screen.print(Text(f"our bug, {name}: {bug.text} {bug.measured}", "bold red"))
    if len(bugs) > BUGS:
        screen.print(Text(f"and {len(bugs) - BUGS} more of ours, on the page", "bold red"))
    wrong = [
        f"does not hold, {outcome.name}: {claim.text}"
        for outcome in outcomes
        for claim in outcome.claims
        if claim.source == "paper" and claim.verdict == "does not hold"
    ]
    for line in wrong[: 0 if bugs else SHOWN]:
        screen.print(Text(line, "yellow"), no_wrap=True, overflow="ellipsis")
    if len(wrong) > SHOWN and not bugs:
        screen.print(Text(f"and {len(wrong) - SHOWN} more, on the page", "yellow"))
    seconds = sum(outcome.seconds for outcome in outcomes)
    missed = sum(bool(outcome.skipped) for outcome in outcomes)
    also = f"; {missed} of {len(outcomes)} experiments not checked" if missed else ""
    print(f"{summary(outcomes)}{also}; {seconds:.0f} s of processor time; {folder / 'index.html'}")
