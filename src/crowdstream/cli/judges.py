"""`crowdstream judges`: how far each judge agrees with people, and which agrees best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.json_output import judges_report, print_json, questions_of
from crowdstream.cli.label_input import read_labels
from crowdstream.cli.output import check_output, write_table
from crowdstream.cli.terminal import say_paragraph
from crowdstream.errors import UsageError
from crowdstream.plain_text import printable
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.panel.against_gold import JudgesOnGold


class PeopleFile(options.Group, panel="Gold"):
    """Options of gold."""

    HELP = """
    --gold FILE  What people say of some items (columns task and label).
    --positive CLASS  The positive class of two, for TPR and TNR, unless called pass, yes, true or
        1.
    --level LEVEL  Level of the intervals.
    """
    gold: str
    positive: str | None = None
    level: float = defaults.LEVEL


class JudgesOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write a table of the judges: {options.TABLE_FILE}.
    """
    output: str | None = None


def judges(
    files: options.LabelFiles,
    people: PeopleFile,
    out: JudgesOutput,
    report: options.Report,
) -> None:
    """Hold each judge against gold, and say which agrees with people best.

    Prints for each judge accuracy, Cohen's kappa, and of two classes the share of each that it
    finds, all with intervals. Judges are compared on the gold items of both; which is better is
    said only where the difference shows, and else how many more gold items would tell.

    \b
    Examples:
      crowdstream judges votes.csv --gold checked.csv
      crowdstream judges votes.csv --gold checked.csv --positive pass --json
    """
    from crowdstream.labels.gold import read_truths
    from crowdstream.panel.against_gold import judges_against_gold
    from crowdstream.questions import by_question

    check_output(out.output, "--output")
    check_number("--level", people.level, *defaults.LEVEL_RANGE)
    found = read_labels(files, {"--output": out.output})
    made: dict[str, JudgesOnGold] = {}
    for question in found.meaning.questions:
        name = question.name or question.picked
        truths = read_truths(
            people.gold, option="--gold", notes=found.notes, question=name,
            several=bool(question.name),
        )  # fmt: skip
        if not truths and question.name:
            found.notes.append(f"{question.name}: no gold, left out")
            continue
        made[question.name] = judges_against_gold(
            question, truths, positive=people.positive, level=people.level
        )
    if not made:
        raise UsageError("--gold has correct labels of none of the questions")
    if out.output is not None:
        tables = {name: each.table for name, each in made.items()}
        write_table(tables[""] if "" in tables else by_question(tables), out.output)
    read_as = found.meaning.read_as
    if report.json:
        reports = {name: judges_report(one, found.notes, read_as) for name, one in made.items()}
        print_json(reports[""] if "" in reports else questions_of(reports, read_as, found.notes))
        return
    if not report.quiet:
        say_paragraph(read_as.text, indent=0)
    for name, each in made.items():
        if name:
            print(printable(name))
        head, *notes = each.summary().split("\nnote: ")
        print(head)
        for note in [] if report.quiet else notes:
            say_paragraph(f"note: {note}", "yellow", indent=0)
    for note in [] if report.quiet else found.notes:
        say_paragraph(f"note: {note}", "yellow", indent=0)
