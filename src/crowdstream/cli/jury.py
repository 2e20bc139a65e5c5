"""`crowdstream jury`: what a panel of judges says of every task, and what that is worth."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.json_output import jury_report, print_json, questions_of
from crowdstream.cli.label_input import read_labels
from crowdstream.cli.output import check_output, write_table
from crowdstream.cli.terminal import say, say_paragraph
from crowdstream.plain_text import printable
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.panel import Jury


class Judging(options.Group, panel="Judging"):
    """Options of judging the panel."""

    HELP = """
    --gold FILE  Correct labels of some tasks (columns task and label): they show which judges err
        together and, from 20 on, weigh the votes.
    --families FILE  Judges that are not independent (such as versions of one model): a file with
        columns worker and family.
    --sure CONFIDENCE  A decision less confident than this needs a human.
    --seed NUMBER  Random seed.
    """
    gold: str | None = None
    families: str | None = None
    sure: float = defaults.JURY_SURE
    seed: int = 0


class JuryOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write the decisions: {options.TABLE_FILE}.
    --workers FILE  Write a table of the judges.
    """
    output: str | None = None
    workers: str | None = None


def jury(
    files: options.LabelFiles,
    out: JuryOutput,
    report: options.Report,
    judging: Judging,
) -> None:
    """Decide what a panel of judges says of every task.

    Decides as `run` does by default, and prints the same columns, one row per task. Added are
    whether a task needs a human and the reason, and in dense panels (every judge on most tasks) the
    two votes among which it chooses, weighted and common factor, and whether they agree. The
    summary says what each judge and the whole panel are worth, and what to have checked first.

    \b
    Examples:
      crowdstream jury votes.csv -o decisions.csv --workers judges.csv
      crowdstream jury votes.csv --wide --gold checked.csv --json
    """
    from crowdstream.cli.truths import check_questions_of_truths, truth_file
    from crowdstream.deciding import Prepared
    from crowdstream.gold_plan.filled import is_plan
    from crowdstream.labels.readers.small_tables import read_families
    from crowdstream.panel import jury as decide
    from crowdstream.rates import rate

    check_output(out.output, "--output")
    check_output(out.workers, "--workers")
    check_number("--sure", judging.sure, 0.0, 1.0)
    check_number("--seed", judging.seed, 0, 2**64 - 1, whole=True)
    families = judging.families
    found = read_labels(files, {"--output": out.output, "--workers": out.workers})
    names = [question.name for question in found.meaning.questions]
    check_questions_of_truths("--gold", judging.gold, names)
    panels: dict[str, Jury] = {}
    notes = list(found.notes)
    for question in found.meaning.questions:
        prepared, gold = Prepared.of(question), None
        known = truth_file("--gold", judging.gold, prepared, teaches=True)
        if known is not None:
            matched = known.match(prepared.table)
            gold = known.given if prepared.choices is not None else matched
            known.check()
            notes += known.notes()
        panels[question.name] = decide(
            question,
            gold=gold,
            families=None if families is None else read_families(families, option="--families"),
            sure=judging.sure,
            seed=judging.seed,
        )
        if gold and not question.name and is_plan(judging.gold):
            rates = rate(question, judging.gold)  # type: ignore[arg-type]
            panels[""] = msgspec.structs.replace(panels[""], rates=rates)
    if out.output is not None or (not report.json and not sys.stdout.isatty()):
        write_table(_joined({name: one.decisions for name, one in panels.items()}), out.output)
    if out.workers is not None:
        write_table(_joined({name: one.workers for name, one in panels.items()}), out.workers)
    read_as = found.meaning.read_as
    if report.json:
        made = {name: jury_report(one, notes, read_as) for name, one in panels.items()}
        print_json(made[""] if "" in made else questions_of(made, read_as, notes))
    elif not report.quiet:
        say_paragraph(read_as.text, indent=0)
        for name, one in panels.items():
            if name:
                say(name, "bold")
            for line in one.summary().splitlines():
                if sys.stderr.isatty():
                    say_paragraph(line, indent=0)
                else:
                    print(printable(line), file=sys.stderr)
        for note in notes:
            say_paragraph(f"note: {note}", "yellow", indent=0)


def _joined(tables: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """One table; where there are several questions, with a column of them."""
    from crowdstream.questions import by_question

    return tables[""] if "" in tables else by_question(tables)
