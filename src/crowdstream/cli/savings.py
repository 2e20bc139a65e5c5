"""`crowdstream savings`: a file of labels → how many of them would have been enough."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.charts import check_chart, save_chart
from crowdstream.cli.json_output import print_json, savings_report
from crowdstream.cli.label_input import open_sources, read_sources
from crowdstream.cli.output import check_output, write_table
from crowdstream.cli.terminal import ProgressBar, add_row, console, make_table, say_paragraph
from crowdstream.errors import InputError
from crowdstream.plain_text import percent
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.savings import Savings


class Output(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write error against labels per task: {options.TABLE_FILE}.
    --chart FILE  Draw it to a .html, .png or .svg file.
    """
    output: str | None = None
    chart: str | None = None


class Repeats(options.Group, panel="Repeating"):
    """Options of repeating the purchase."""

    HELP = """
    --orders NUMBER  Random orders of the labels to average over.
    """
    orders: int = defaults.SAVINGS_ORDERS


class Scoring(options.Group, panel="Scoring"):
    """Options of what counts as an error."""

    HELP = """
    --truth FILE  Correct labels (columns task and label). Without them, a decision counts as wrong
        if it differs from the one made with all labels.
    """
    truth: str | None = None


def savings(
    files: options.LabelFiles,
    out: Output,
    report: options.Report,
    method: options.MethodName,
    repeating: Repeats,
    orders: options.Orders,
    scoring: Scoring,
) -> None:
    """Show how many of the labels in a file would have been enough.

    Replays the purchase of the labels one by one, in random order, and stops asking about a task
    as soon as its decision is confident enough. Compares this with buying the same number of
    labels for every task. Prints labels per task and error for several confidences to stop at.

    \b
    Examples:
      crowdstream savings labels.csv
      crowdstream savings labels.csv --truth correct.csv --chart savings.png
    """
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.truths import match_truths
    from crowdstream.deciding import Prepared
    from crowdstream.savings import savings as replay

    check_output(out.output, "--output")
    check_chart(out.chart)
    check_number("--orders", repeating.orders, 1, 1000, whole=True)
    settings = options.Method(method=method.method, seed=orders.seed)
    factory = EstimatorFactory(settings)
    sources = open_sources(files, {"--output": out.output, "--chart": out.chart})
    with files.bad_rows() as bad_rows:
        read = read_sources(files, sources, bad_rows)
    question, notes = read.only("savings"), read.notes
    if question.kind.name != "classes":
        raise InputError("savings", "classes", f"{question.kind.name}, which it cannot replay")
    truths, file, table = None, None, question.table.frame()
    if scoring.truth is not None:
        truths, file = match_truths("--truth", scoring.truth, Prepared.of(question))
        notes += file.notes()
    with ProgressBar(f"replaying {table.height:,} labels", 1.0, silent=report.quiet) as bar:
        found = replay(
            table,
            truths,
            crowd=factory.make(),
            repeats=repeating.orders,
            seed=orders.seed,
            tick=lambda share: bar.update(advance=share),
        )
    if out.output is not None:
        write_table(found.table, out.output)
    if out.chart is not None:
        _draw(found, out.chart, [source.name for source in sources])
    if report.json:
        print_json(savings_report(method.method, found, notes, read.meaning.read_as))
    elif not report.quiet:
        say_paragraph(read.read_as, indent=0)
        _show(found)
        for note in ([file.line()] if file is not None else []) + notes:
            say_paragraph(note, "yellow", indent=0)


def _draw(found: Savings, path: str, files: list[str]) -> None:
    from crowdstream.savings import draw

    more_files = f" and {len(files) - 1} more" if len(files) > 1 else ""
    save_chart(draw(found, Path(files[0]).name + more_files), path, found.table)


def _show(found: Savings) -> None:
    """The answer, and the confidences to stop at with the error of a fixed number beside them."""
    say_paragraph(found.answer(), "bold", indent=0)
    if not found.has_gold:
        note = "no gold: an error is a decision that differs from the one with all labels"
        say_paragraph(note, "yellow", indent=0)
    headings = ("labels per task", "saved", "error", "fixed", "fixed, majority")
    table = make_table("", ["stop at"], headings, line=True)
    for settle, cost, saved, *errors in found.levels().iter_rows():
        level = "never" if settle is None else f"{settle:g}"
        shown = (f"{error:.3f}" for error in errors)
        add_row(table, level, f"{cost:.2f}", percent(saved), *shown)
    console().print(table)
    note = "fixed: the error of the same method with the same number of labels for every task"
    say_paragraph(note, "dim", indent=0)
