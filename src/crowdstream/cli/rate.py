"""`crowdstream rate`: shares of classes, or a system's accuracy, corrected by a few gold labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.json_output import print_json, questions_of, rates_report
from crowdstream.cli.label_input import LabelInput, read_labels
from crowdstream.cli.output import check_output, write_table
from crowdstream.cli.terminal import say_paragraph
from crowdstream.errors import CrowdstreamError, InputError, UsageError
from crowdstream.plain_text import counted, printable
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.labels import Truths
    from crowdstream.labels.meaning.interpreting import QuestionLabels
    from crowdstream.rates import Rates


class GoldFile(options.Group, panel="Gold"):
    """Options of gold."""

    HELP = """
    --gold FILE  Correct labels of some tasks, drawn at random or by gold plan (columns task and
        label, or the filled-in file of gold plan).
    """
    gold: str


class Asked(options.Group, panel="What is asked"):
    """Options of the rate that is asked for."""

    HELP = """
    --positive CLASS  The class whose share is asked for, such as pass; all unless given.
    --system FILE  Outputs of a system under test (columns task and label), or the name of a worker:
        its accuracy is asked for.
    --versus-system FILE  Outputs of another system: its accuracy too, and the difference, paired.
    --versus FILE  Labels of another system on the same tasks: its shares too, and the differences.
    --versus-gold FILE  Correct labels for --versus.
    --level LEVEL  Level of the intervals.
    --width WIDTH  Say how many gold labels make the interval so narrow, such as 0.1 for ± 0.05.
    """
    positive: str | None = None
    system: str | None = None
    versus_system: str | None = None
    versus: str | None = None
    versus_gold: str | None = None
    level: float = defaults.LEVEL
    width: float | None = None


class RateOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write a table of the rates: {options.TABLE_FILE}.
    """
    output: str | None = None


def rate(
    files: options.LabelFiles,
    gold: GoldFile,
    asked: Asked,
    out: RateOutput,
    report: options.Report,
) -> None:
    """Estimate the share of each class from many labels and few gold ones.

    Decides the labels without the gold, then corrects the rates by what gold shows of the errors
    (prediction-powered inference). The intervals hold however wrong the labels are, also jointly,
    if the gold tasks are a random sample or were chosen by gold plan. With --system, the accuracy
    of a system; with --versus or --versus-system, the difference of two on the same tasks.

    \b
    Examples:
      crowdstream rate judges.jsonl --gold checked.csv
      crowdstream rate judges.jsonl --gold checked.csv --positive pass --width 0.05
      crowdstream rate judges.jsonl --gold checked.csv --system model.csv --versus-system other.csv
      crowdstream rate a.jsonl --gold a_gold.csv --versus b.jsonl --versus-gold b_gold.csv
    """
    from crowdstream.rates import rate as estimate

    check_output(out.output, "--output")
    check_number("--level", asked.level, *defaults.LEVEL_RANGE)
    if asked.width is not None:
        check_number("--width", asked.width, 0.0, 1.0, open_low=True)
    _check_asked(asked)
    for option, path in (("--gold", gold.gold), ("--versus-gold", asked.versus_gold)):
        if path is not None and not Path(path).exists():
            raise InputError(option, "a file that exists", repr(path))
    found = read_labels(files, {"--output": out.output})
    other = _other(files, asked, found)
    made: dict[str, Rates] = {}
    for question in found.meaning.questions:
        truths = _gold_of(gold.gold, "--gold", question)
        versus = None if other is None else _named(other, question.name)
        more = None if versus is None else _gold_of(asked.versus_gold, "--versus-gold", question)
        if truths is None or (other is not None and (versus is None or more is None)):
            found.notes.append(f"{question.name}: no gold, left out")
            continue
        made[question.name] = estimate(
            question,
            truths,
            positive=asked.positive,
            system=asked.system,
            versus_system=asked.versus_system,
            versus=versus,
            versus_gold=more,
            level=asked.level,
        )
    if not made:
        raise UsageError("--gold has correct labels of none of the questions")
    _show(made, found, asked, out, report)


def _check_asked(asked: Asked) -> None:
    """Refuse options that do not go together."""
    if asked.system is not None and asked.versus is not None:
        raise CrowdstreamError("--system cannot be combined with --versus; use --versus-system")
    if asked.versus_system is not None and asked.system is None:
        raise CrowdstreamError("--versus-system needs --system")
    if asked.versus is not None and asked.versus_gold is None:
        raise CrowdstreamError("--versus needs --versus-gold")
    if asked.versus_gold is not None and asked.versus is None:
        raise CrowdstreamError("--versus-gold needs --versus")
    if asked.system is not None and asked.positive is not None:
        raise CrowdstreamError("--positive is of shares, not of the accuracy of --system")


def _other(files: options.LabelFiles, asked: Asked, found: LabelInput) -> LabelInput | None:
    """The labels of the other system, read as the first are."""
    import dataclasses

    if asked.versus is None:
        return None
    other = read_labels(dataclasses.replace(files, labels=[asked.versus]), {})
    found.notes.extend(f"--versus: {note}" for note in other.notes)
    return other


def _named(found: LabelInput, name: str) -> QuestionLabels | None:
    return next((each for each in found.meaning.questions if each.name == name), None)


def _gold_of(path: str | None, option: str, question: QuestionLabels) -> Truths | None:
    """The gold of a question: the file itself, with its strata, where there is one question."""
    if path is None or not question.name:
        return path
    from crowdstream.labels.gold import read_truths

    return read_truths(path, option=option, question=question.name, several=True) or None


def _show(
    made: dict[str, Rates],
    found: LabelInput,
    asked: Asked,
    out: RateOutput,
    report: options.Report,
) -> None:
    """Write the table, and print the summary or JSON."""
    from crowdstream.questions import by_question

    tables = {name: each.table for name, each in made.items()}
    if out.output is not None:
        write_table(tables[""] if "" in tables else by_question(tables), out.output)
    read_as = found.meaning.read_as
    if report.json:
        needed = {
            name: None if asked.width is None else each.gold_for_width(asked.width)
            for name, each in made.items()
        }
        reports = {
            name: rates_report(each, needed[name], found.notes, read_as)
            for name, each in made.items()
        }
        print_json(reports[""] if "" in reports else questions_of(reports, read_as, found.notes))
        return
    if not report.quiet:
        say_paragraph(read_as.text, indent=0)
    for name, each in made.items():
        if name:
            print(printable(name))
        head, *notes = each.summary().split("\nnote: ")
        print(head)
        if asked.width is not None:
            for line in _width_lines(each, asked.width):
                print(line)
        for note in [] if report.quiet else notes:
            say_paragraph(f"note: {note}", "yellow", indent=0)
    for note in [] if report.quiet else found.notes:
        say_paragraph(f"note: {note}", "yellow", indent=0)


def _width_lines(found: Rates, width: float) -> list[str]:
    """Say how many gold labels an interval of this width needs, class by class."""
    lines = []
    for name, needed in found.gold_for_width(width).items():
        shown = printable(name)
        if needed is None:
            lines.append(
                f"{shown}: not to {100 * width:.4g} points: more tasks are needed, not gold"
            )
        elif needed <= found.gold_tasks:
            lines.append(f"{shown}: enough gold for an interval of {100 * width:.4g} points")
        else:
            more = counted(needed - found.gold_tasks, "more gold label")
            lines.append(f"{shown}: about {more} for an interval of {100 * width:.4g} points")
    return lines
