"""`crowdstream gold`: Choose tasks for an expert to check, and see what the answers change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.gold_wording import say_fooled, show_check, show_plan, warn_of_formulas
from crowdstream.cli.json_output import PlanReport, StratumReport, check_report, print_json
from crowdstream.cli.label_input import read_labels
from crowdstream.cli.output import check_output, write_table
from crowdstream.cli.terminal import say, say_paragraph
from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

SHOWN_TO_NOBODY = ("label", "confidence", "votes")
"""Columns that ``--blind`` leaves out: who sees the crowd's answer tends to agree with it."""


class Choosing(options.Group, panel="Choosing"):
    """Options of choosing tasks."""

    HELP = """
    -n, --number TASKS  How many tasks to have checked.
    --gold FILE  Correct labels that are known already (columns task and label): these tasks are
        not chosen again.
    """
    number: int = defaults.GOLD_TASKS
    gold: str | None = None


class PlanOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write the tasks, with an empty column gold to fill in: {options.TABLE_FILE}.
    --blind  Leave out the decided label, its confidence and the votes, so that whoever checks is
        not led by them.
    """
    output: str | None = None
    blind: bool = False


class Deciding(options.Group, panel="Deciding"):
    """Options of settling decisions."""

    HELP = """
    --settle CONFIDENCE  A decision at least this confident is settled.
    """
    settle: float = defaults.SETTLE


class FilledFile(options.Group, panel="Input"):
    """The answers."""

    HELP = """
    filled: FILLED  File of gold plan, its column gold filled in as far as you like; or any file
        with columns task and label.
    --also CLASSES  Classes that an answer may name though no worker has, separated by commas.
    """
    filled: str
    also: str = ""


def plan(
    files: options.LabelFiles,
    choosing: Choosing,
    out: PlanOutput,
    report: options.Report,
    deciding: Deciding,
    method: options.Method,
) -> None:
    """Choose the tasks to have checked by an expert first.

    Draws tasks at random from every decided class and level of confidence, more where decisions
    are in doubt, and writes them with an empty column gold. Fill in as many as you like, from the
    top; gold check says what the answers change, run --gold uses them. Another --seed draws other
    tasks.

    \b
    Examples:
      crowdstream gold plan labels.csv -n 30 -o to_check.csv
      crowdstream gold plan labels.csv --gold known.csv --blind -o to_check.csv
    """
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.truths import TruthFile
    from crowdstream.deciding import Prepared
    from crowdstream.gold_plan import gold_needed

    check_output(out.output, "--output")
    check_number("--number", choosing.number, 1, 10**9, whole=True)
    check_number("--settle", deciding.settle, *defaults.SETTLE_RANGE)
    factory = EstimatorFactory(method)
    found_labels = read_labels(files, {"--output": out.output})
    question, notes = found_labels.only("gold plan"), found_labels.notes
    prepared = Prepared.of(question)
    _check_unfilled(out.output)
    known = gold = None
    if choosing.gold is not None:
        known = TruthFile("--gold", choosing.gold, teaches=True, prepared=prepared)
        gold = known.match(prepared.table)
    if known is not None:
        known.check()
        notes += known.notes()
    found: pl.DataFrame = gold_needed(
        question,
        choosing.number,
        crowd=factory.make(),
        gold=gold,
        settle=deciding.settle,
        seed=method.seed,
    )
    shown = found.drop(SHOWN_TO_NOBODY) if out.blind else found
    to_stdout = out.output is None and not report.json and not sys.stdout.isatty()
    if out.output is not None or to_stdout:
        write_table(shown, out.output)
        if not report.quiet:
            warn_of_formulas(shown["task"])
    summary = PlanReport(
        read_as=found_labels.meaning.read_as,
        method=method.method,
        tasks=sum(dict(found.select("stratum", "stratum_tasks").iter_rows()).values()),
        to_check=found.height,
        strata=_strata(found),
        warnings=notes,
    )
    if known is not None:
        summary.gold_matched = known.count()
    if report.json:
        print_json(summary)
    elif not report.quiet:
        say_paragraph(found_labels.read_as, indent=0)
        show_plan(summary, shown, out.output, files.labels)
        say_fooled(found.filter(found["confidence"] >= deciding.settle)["confidence"])
        if known is not None:
            say(known.line())
        for note in notes:
            say(f"note: {note}", "yellow")


def check(
    files: options.LabelFiles,
    answers: FilledFile,
    report: options.Report,
    deciding: Deciding,
    method: options.Method,
) -> None:
    """Say what the answers of an expert change.

    Decides the labels without the answers and with them. Prints how many of the decisions checked
    were right, how many of all are expected to be wrong, what changes when the answers are given
    (--gold of run), whether settled decisions keep their promise, and whether more answers are
    worth having. Rows left blank do not matter; rows that cannot be used are named.

    \b
    Examples:
      crowdstream gold check labels.csv to_check.csv
      crowdstream gold check labels.csv to_check.csv --json
    """
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.gold_plan import gold_check

    check_number("--settle", deciding.settle, *defaults.SETTLE_RANGE)
    factory = EstimatorFactory(method)
    if not Path(answers.filled).exists():
        raise InputError("FILLED", "a file that exists", repr(answers.filled))
    found_labels = read_labels(files, {})
    question, notes = found_labels.only("gold check"), found_labels.notes
    also = [name.strip() for name in answers.also.split(",") if name.strip()]
    found = gold_check(
        question, answers.filled, crowd=factory.make(), settle=deciding.settle, also=also
    )
    found.warnings[:0] = notes
    if report.json:
        print_json(check_report(method.method, found, found_labels.meaning.read_as))
    else:
        if not report.quiet:
            say_paragraph(found_labels.read_as, indent=0)
        show_check(found, deciding.settle, notes=not report.quiet)


def _check_unfilled(path: str | None) -> None:
    """Refuse to write a new plan over somebody's answers."""
    if path is None or path == "-" or not Path(path).exists():
        return
    from crowdstream.labels.readers.small_tables import read_text_table

    try:
        table = read_text_table(path)
    except CrowdstreamError:
        return  # nothing that anybody has filled in
    filled = 0
    if "gold" in table.columns:
        filled = int((table["gold"].fill_null("").str.strip_chars() != "").sum())
    if filled:
        raise InputError("--output", "a file without answers", f"{path!r} with {filled:,}")


def _strata(found: pl.DataFrame) -> list[StratumReport]:
    import polars as pl

    groups = found.group_by("stratum", "stratum_tasks").agg(
        pl.len().alias("to_check"),
        pl.col("label").unique(maintain_order=True),
        pl.col("confidence").mean(),
    )
    return [StratumReport(*row) for row in groups.sort("stratum").iter_rows()]
