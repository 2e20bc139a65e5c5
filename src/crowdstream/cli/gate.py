"""`crowdstream gate`: exit 0 if a panel may be trusted, 1 if not, 3 if it cannot be told yet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.json_output import SCHEMA_VERSION, print_json
from crowdstream.cli.label_input import LabelInput, read_labels
from crowdstream.cli.output import check_writable
from crowdstream.cli.terminal import add_row, console, make_table, say, say_paragraph
from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.panel import Gate

EXIT_CODES = {"passed": 0, "failed": 1, "cannot_tell": 3}
"""Exit code of each outcome; 2 is a mistake in the call or in a file."""


class Minima(options.Group, panel="Minima"):
    """Options of minima."""

    HELP = """
    --gold FILE  Correct labels of some tasks, drawn at random (columns task and label).
    --min-kappa KAPPA  Least Cohen's kappa between decisions and gold, such as 0.6.
    --min-accuracy SHARE  Least share of gold tasks decided rightly, such as 0.9.
    --min-effective NUMBER  Least number of independent judges that the panel is worth.
    --only NAME  Check this worker's verdicts instead of the panel's decisions.
    """
    gold: str
    min_kappa: float | None = None
    min_accuracy: float | None = None
    min_effective: float | None = None
    only: str | None = None


class Judging(options.Group, panel="Judging"):
    """Options of judging."""

    HELP = """
    --families FILE  Judges that are not independent (such as versions of one model): a file with
        columns worker and family.
    --level LEVEL  Confidence level of all intervals together.
    --seed NUMBER  Random seed.
    """
    families: str | None = None
    level: float = defaults.LEVEL
    seed: int = 0


class GateOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = """
    --markdown FILE  Append a summary in Markdown, such as for a pull request
        ($GITHUB_STEP_SUMMARY); - is standard output.
    """
    markdown: str | None = None


def gate(
    files: options.LabelFiles,
    minima: Minima,
    out: GateOutput,
    report: options.Report,
    judging: Judging,
) -> None:
    """Check judges against gold, for CI.

    A minimum is reached if the whole interval of what was measured is above it, and missed if the
    whole interval is below it. Exit codes: 0 every minimum is reached, 1 some is missed, 3 it
    cannot be told yet, 2 a mistake in the call. Decisions are made without the gold.

    \b
    Examples:
      crowdstream gate verdicts.jsonl --gold gold.csv --min-kappa 0.6
      crowdstream gate verdicts.csv --gold gold.csv --min-accuracy 0.9 --markdown summary.md
    """
    from crowdstream.panel.gate import check_minima

    asked = {
        "min_kappa": minima.min_kappa,
        "min_accuracy": minima.min_accuracy,
        "min_effective": minima.min_effective,
    }
    check_minima(asked, minima.only, option=True)
    check_number("--level", judging.level, *defaults.LEVEL_RANGE)
    check_number("--seed", judging.seed, 0, 2**64 - 1, whole=True)
    if out.markdown is not None and out.markdown != "-":
        check_writable(out.markdown, "--markdown")
    found = read_labels(files, {"--markdown": out.markdown})
    notes = list(found.notes)
    gates = _gates(found, minima, judging, notes)
    if report.json:
        _print_json(gates, judging.level, found, notes)
    elif not report.quiet:
        say_paragraph(found.meaning.read_as.text, indent=0)
        _show(gates)
        for note in notes:
            say_paragraph(f"note: {note}", "yellow", indent=0)
    if out.markdown is not None:
        _append(out.markdown, gates)
    raise click.exceptions.Exit(EXIT_CODES[_worst(gates)])


def _gates(
    found: LabelInput, minima: Minima, judging: Judging, notes: list[str]
) -> dict[str, Gate]:
    """Check every question that gold has truths of."""
    from crowdstream.cli.truths import check_questions_of_truths, truth_file
    from crowdstream.deciding import Prepared
    from crowdstream.labels.readers.small_tables import read_families
    from crowdstream.panel.gate import gate as check

    families = judging.families
    declared = None if families is None else read_families(families, option="--families")
    names = [question.name for question in found.meaning.questions]
    check_questions_of_truths("--gold", minima.gold, names)
    gates = {}
    for question in found.meaning.questions:
        prepared = Prepared.of(question)
        if prepared.choices is not None:
            raise InputError("gate", "one class per task", "sets of choices")
        known = truth_file("--gold", minima.gold, prepared)
        if known is None:
            notes.append(f"--gold has no correct labels of {question.name!r}: not checked")
            continue
        matched = known.match(prepared.table)
        known.check()
        notes += known.notes()
        gates[question.name] = check(
            question,
            matched,
            min_kappa=minima.min_kappa,
            min_accuracy=minima.min_accuracy,
            min_effective=minima.min_effective,
            only=minima.only,
            families=declared,
            level=judging.level,
            seed=judging.seed,
        )
    return gates


def _print_json(gates: dict[str, Gate], level: float, found: LabelInput, notes: list[str]) -> None:
    questions = [
        {"question": name, "gold_tasks": one.gold_tasks, "outcome": one.outcome,
         "checks": one.checks}
        for name, one in gates.items()
    ]  # fmt: skip
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "read_as": found.meaning.read_as,
            "outcome": _worst(gates),
            "level": level,
            "questions": questions,
            "warnings": notes,
        }
    )


def _worst(gates: dict[str, Gate]) -> str:
    from crowdstream.panel.gate import overall

    return overall([one.outcome for one in gates.values()])


def _show(gates: dict[str, Gate]) -> None:
    from crowdstream.statements.gating import HEAD, check_row, more_words, outcome_words

    styles = {"passed": "green", "failed": "red", "cannot_tell": "yellow"}
    for name, one in gates.items():
        if name:
            say(name, "bold")
        table = make_table("", HEAD[:1], HEAD[1:4], HEAD[4], line=True)
        for check in one.checks:
            add_row(table, *check_row(check))
        console().print(table)
        say_paragraph(outcome_words(one), styles[one.outcome], indent=0)
        if more := more_words(one):
            say_paragraph(more, indent=0)


def _append(path: str, gates: dict[str, Gate]) -> None:
    """Add the summary to a file: that of GitHub's steps is shared by all of them."""
    from crowdstream.statements.gating import as_markdown

    text = as_markdown(gates)
    if path == "-":
        print(text)
        return
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text + "\n")
