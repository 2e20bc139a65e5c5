"""`crowdstream drift`: which judge changed between two runs, by how much, with an interval."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from crowdstream.cli import options
from crowdstream.cli.json_output import comparison_report, print_json
from crowdstream.cli.label_input import LabelInput, read_sources
from crowdstream.cli.output import check_apart, check_output, write_table
from crowdstream.cli.terminal import say, say_paragraph
from crowdstream.errors import InputError
from crowdstream.validation import SEED

if TYPE_CHECKING:
    from crowdstream.labels.readers import Source

FOUND = 1
"""Exit code with ``--fail-on-change`` if a judge changed."""


class Runs(options.FileMeaning):
    """Two files of labels."""

    HELP = """
    before: BEFORE  Labels of the first run: CSV, TSV, JSON lines, Parquet or a tool's export.
    after: AFTER  Labels of the second run, on the same tasks.
    """
    before: str
    after: str


class Comparing(options.Group, panel="Comparing"):
    """Options of how runs are compared."""

    HELP = """
    --gold FILE  Correct labels of some tasks (columns task and label): they tell who is right,
        instead of what the others say.
    --fail-on-change  Exit with code 1 if a judge is shown to have changed; 0 otherwise.
    --seed NUMBER  Random seed.
    """
    gold: str | None = None
    fail_on_change: bool = False
    seed: int = 0


class DriftOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write one row per judge: {options.TABLE_FILE}.
    """
    output: str | None = None


def drift(runs: Runs, out: DriftOutput, report: options.Report, comparing: Comparing) -> None:
    """Find which judges changed between two runs over the same tasks.

    A judge that is asked again may answer otherwise without having changed. It has changed if it
    went from right to wrong, or from one class to others, more often than back: by gold, or by what
    the other judges say. Prints one row per judge and by how much it changed, with 95 % intervals.
    Of panels in which nobody changed, at most 5 % have a judge of whom it is said.

    \b
    Examples:
      crowdstream drift before.jsonl after.jsonl
      crowdstream drift monday.csv tuesday.csv --gold checked.csv --fail-on-change
    """
    from crowdstream.labels.gold import read_truths
    from crowdstream.labels.readers import find_sources
    from crowdstream.panel import compare_runs

    check_output(out.output, "--output")
    SEED("--seed", comparing.seed)
    if "-" in (runs.before, runs.after):
        raise InputError("FILE", "two files", "standard input")
    sources: list[list[Source]] = [
        find_sources([path], runs.format, runs.input_options())
        for path in (runs.before, runs.after)
    ]
    check_apart([one.path for each in sources for one in each], {"--output": out.output})
    found: list[LabelInput] = []
    with runs.bad_rows() as bad_rows:
        known: dict[str, list[object]] = {}
        for each in sources:
            read = read_sources(runs, each, bad_rows, known)
            question = read.only(each[0].name)
            known = {question.name: list(question.table.classes)}
            found.append(read)
    before, after = (read.meaning.questions[0] for read in found)
    notes = list(dict.fromkeys(note for read in found for note in read.notes))
    gold = None
    if comparing.gold is not None:
        gold = read_truths(comparing.gold, option="--gold", notes=notes)
    compared = compare_runs(before, after, gold=gold, seed=comparing.seed)
    if out.output is not None or (not report.json and not sys.stdout.isatty()):
        write_table(compared.workers, out.output)
    if report.json:
        print_json(comparison_report(compared, notes, found[1].meaning.read_as))
    elif not report.quiet:
        say_paragraph(found[1].read_as, indent=0)
        first, *rest = compared.summary().splitlines()
        say(first, "bold")
        for line in rest:
            say_paragraph(line, "yellow" if line.startswith("note: ") else None, indent=0)
        for note in notes:
            say_paragraph(f"note: {note}", "yellow", indent=0)
    if comparing.fail_on_change and compared.changed:
        sys.exit(FOUND)
