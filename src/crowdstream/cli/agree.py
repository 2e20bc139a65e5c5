"""`crowdstream agree`: how far labels agree, by the coefficients that papers report."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.json_output import agree_report, print_json, questions_of
from crowdstream.cli.label_input import LabelInput, read_labels
from crowdstream.cli.output import check_output, write_table
from crowdstream.cli.terminal import (
    add_row,
    console,
    make_table,
    say,
    say_paragraph,
    shorten_name,
)
from crowdstream.plain_text import counted
from crowdstream.validation import check_number, one_of

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.panel.agreement import AgreementReport

NAME = 18
"""Characters of a question's name in a table."""

MIN_TASKS = 20
"""Tasks that two workers must share for their kappa, unless told otherwise."""


class Measuring(options.Group, panel="Measuring"):
    """Options of how agreement is measured."""

    HELP = """
    --scale SCALE  nominal: labels are the same or not. ordinal: their order counts (linear
        weights). interval: labels are numbers whose distance counts (quadratic weights). Without
        it, ordinal with --ordinal, --order or --bins, else nominal.
    --level SHARE  Confidence level of the intervals.
    --min-tasks NUMBER  Fewest tasks that two workers must share for their Cohen's kappa.
    """
    scale: str | None = None
    level: float = defaults.LEVEL
    min_tasks: int = MIN_TASKS


class AgreeOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write the coefficients: {options.TABLE_FILE}.
    --pairs FILE  Write Cohen's kappa of every pair of workers, the lowest first.
    """
    output: str | None = None
    pairs: str | None = None


def agree(
    files: options.LabelFiles,
    out: AgreeOutput,
    report: options.Report,
    measuring: Measuring,
) -> None:
    """Measure how far labels agree: alpha, kappas, AC1, with intervals.

    Prints one row per coefficient: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 (AC2 on a
    scale) and raw agreement. Workers need not label every task. Intervals say how far a value would
    move with other tasks of the same kind, labelled by the same workers.

    \b
    Examples:
      crowdstream agree labels.csv
      crowdstream agree ratings.csv --ordinal --pairs pairs.csv
      crowdstream agree votes.csv --wide --json
    """
    from crowdstream.panel.agreement import question_agreement

    check_output(out.output, "--output")
    check_output(out.pairs, "--pairs")
    if measuring.scale is not None:
        one_of("nominal", "ordinal", "interval")("--scale", measuring.scale)
    check_number("--level", measuring.level, *defaults.LEVEL_RANGE)
    check_number("--min-tasks", measuring.min_tasks, 1, 10**12, whole=True)
    if measuring.scale in ("ordinal", "interval") and files.order is None and files.bins is None:
        files = replace(files, ordinal=True)
    read = read_labels(files, {"--output": out.output, "--pairs": out.pairs})
    found = {
        question.name: question_agreement(
            question,
            scale=measuring.scale,
            level=measuring.level,
            least=measuring.min_tasks,
            spelled="--{}",
        )
        for question in read.meaning.questions
    }
    if out.output is not None or (not report.json and not sys.stdout.isatty()):
        write_table(_joined({name: one.table for name, one in found.items()}), out.output)
    if out.pairs is not None:
        write_table(_joined({name: _pairs(one) for name, one in found.items()}), out.pairs)
    if report.json:
        read_as, notes = read.meaning.read_as, list(read.notes)
        made = {
            name: agree_report(one, _pairs(one), [] if name else notes, read_as)
            for name, one in found.items()
        }
        print_json(made[""] if "" in made else questions_of(made, read_as, notes))
    elif not report.quiet:
        _show(read, found, measuring.min_tasks)


def _pairs(found: AgreementReport) -> pl.DataFrame:
    table: pl.DataFrame = found.pairs  # type: ignore[assignment]  # of labels there always is one
    return table


def _joined(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """One table; where there are several questions, with a column of them."""
    from crowdstream.questions import by_question

    return tables[""] if "" in tables else by_question(tables)


def _show(read: LabelInput, found: dict[str, AgreementReport], least: int) -> None:
    """All of it on standard error: a table of one question, or a line for each of several."""
    from crowdstream.statements.agreement import WHY_WEIGHED, pairs_words

    say_paragraph(read.read_as, indent=0)
    for note in read.notes:
        say_paragraph(f"note: {note}", "yellow", indent=0)
    if "" in found:
        one = found[""]
        c = one.coefficients
        size = f"{counted(c.labels, 'label')} on {counted(c.tasks, 'task')} with two or more, "
        noun = "class" if one.classes == 1 else "classes"
        say(f"{size if c.tasks else ''}{counted(one.workers, 'worker')}, {one.classes:,} {noun}")
        say(
            f"How far do the labels agree? ({c.scale} scale, {100 * c.level:g} % intervals)", "bold"
        )
        _show_one(one)
        say_paragraph(pairs_words(_pairs(one), least, one.compared))
    else:
        _show_questions(found)
    for name, one in found.items():
        for note in one.notes:
            say_paragraph(f"note: {f'{name}: ' if name else ''}{note}", "yellow", indent=0)
    say("What does that say?", "bold")
    say_paragraph(WHY_WEIGHED)


def _show_one(found: AgreementReport) -> None:
    from crowdstream.monitoring.coefficients import Coefficient
    from crowdstream.statements.agreement import interval_words

    table = make_table("", ["  coefficient"], ["value"], "what it is for")
    for row in found.table.iter_rows(named=True):
        one = Coefficient(row["value"], row["low"], row["high"])
        add_row(table, f"  {row['coefficient']}", interval_words(one), row["purpose"])
    console().print(table)


def _show_questions(found: dict[str, AgreementReport]) -> None:
    from crowdstream.statements.agreement import interval_words

    say(f"How far do the labels agree? ({counted(len(found), 'question')})", "bold")
    table = make_table("", ["  question"], ["tasks", "alpha", "Gwet", "raw"], "scale")
    for name, one in found.items():
        values = (one.alpha, one.gwet, one.raw)
        cells = [interval_words(values[0]), *(_value(each.value) for each in values[1:])]
        c = one.coefficients
        add_row(table, f"  {shorten_name(name, NAME)}", f"{c.tasks:,}", *cells, c.scale)
    console().print(table)
    say_paragraph("--question NAME shows one of them in full")


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
