"""`crowdstream report`: labels, or a state file → one page to send around."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from crowdstream import defaults
from crowdstream.cli import options
from crowdstream.cli.label_input import open_sources, read_sources
from crowdstream.cli.output import check_apart, check_writable
from crowdstream.cli.run import Costing
from crowdstream.cli.terminal import (
    ProgressBar,
    add_row,
    console,
    make_table,
    say,
    say_paragraph,
    shorten_name,
)
from crowdstream.errors import InputError, UsageError
from crowdstream.extras import need
from crowdstream.plain_text import counted, percent
from crowdstream.validation import check_number

if TYPE_CHECKING:
    from crowdstream.cli.estimator import EstimatorFactory
    from crowdstream.cli.label_input import LabelInput
    from crowdstream.cli.truths import TruthFile
    from crowdstream.estimators import Estimator
    from crowdstream.labels import CodedLabels
    from crowdstream.labels.meaning.interpreting import QuestionLabels
    from crowdstream.labels.readers import Source
    from crowdstream.report.findings import Findings, Settings
    from crowdstream.report.making import Report

QUESTION = 18
"""Characters of a question in a table with other columns."""


class Files(options.LabelFiles):
    """Files of labels, or one state file."""

    HELP = """
    labels: FILE  Files of labels or quoted globs, as run reads them; or one state file of run or
        stream, whose report has the workers only.
    """


class Output(options.Group, panel="Output"):
    """Options of the report's file and look."""

    HELP = """
    -o, --output FILE  The page, a .html file.
    --png FILE  Write a picture for slides too: the answer, the workers, how sure decisions are.
    --pdf FILE  Write the printed page too; needs a Chromium or Chrome.
    --title TEXT  What stands above the report; by default the name of the file.
    --open  Open the page in the browser.
    """
    output: str = "report.html"
    png: str | None = None
    pdf: str | None = None
    title: str | None = None
    open: bool = False


class Deciding(options.Group, panel="Deciding"):
    """Options of deciding tasks."""

    HELP = """
    --settle CONFIDENCE  A decision at least this confident is settled ...
    --min-labels NUMBER  ... if it has at least this many labels.
    --gold FILE  Learn from the correct labels of some tasks: a file with columns task and label.
    --in-order  The rows are in the order of time: look for workers who got better or worse. (Files
        with a column at are always looked at in the order of its times.)
    --state FILE  Decide by what this state of run --state knows too. It is not changed.
    """
    settle: float = defaults.SETTLE
    min_labels: int = defaults.MIN_LABELS
    gold: str | None = None
    in_order: bool = False
    state: str | None = None


class Scoring(options.Group, panel="Scoring"):
    """Options of truths to score decisions against."""

    HELP = """
    --truth FILE  Hold the decisions against correct labels: a file with columns task and label.
    """
    truth: str | None = None


def report(
    files: Files,
    bad_input: options.BadInput,
    out: Output,
    quiet: options.Quiet,
    deciding: Deciding,
    method: options.Method,
    table: options.WorkerTable,
    scoring: Scoring,
    costing: Costing,
) -> None:
    """Tell what a crowd came to on one page.

    Decides every task and writes one page that needs nothing else: no network, no script. Its
    first screen is enough for somebody who reads no further; then come workers with intervals,
    whom to coach, drop or pay and why, who changed, who agrees with whom, the hardest tasks, how
    sure decisions are, money, and what could not be told.

    \b
    Examples:
      crowdstream report labels.csv
      crowdstream report labels.csv --truth correct.csv --price 0.05 -o june.html --pdf june.pdf
      crowdstream report crowd.state --png workers.png
    """
    from crowdstream.labels.readers.small_tables import read_costs
    from crowdstream.report.findings import Settings
    from crowdstream.report.making import Report
    from crowdstream.report.printing import need_browser

    need("altair", "vl_convert", extra="report")
    _check(out, deciding, table, costing)
    if out.pdf is not None:
        need_browser()
    settings = Settings(
        settle=deciding.settle,
        min_labels=deciding.min_labels,
        level=table.level,
        costs=None if table.costs is None else read_costs(table.costs, option="--costs"),
        price=costing.price,
        seed=method.seed,
    )
    threading.Thread(target=_load_charts, daemon=True).start()
    with ProgressBar("reading", None, silent=quiet.quiet) as bar:
        if is_state(files.labels):
            found, notes = _of_state(files, deciding, scoring, settings), list[str]()
            check_apart(files.labels, _outputs(out))
        else:
            asked = Asked(files, bad_input, out, deciding, method, scoring, settings)
            found, notes = asked.find(bar)
        bar.update("drawing")
        title = out.title or f"Report on {Path(files.labels[0]).name}"
        made = Report(found, title, notes=notes)
        for path in filter(None, (out.output, out.png, out.pdf)):
            made.save(path)
    if not quiet.quiet:
        _tell(made, out)
    if out.open:
        import webbrowser

        webbrowser.open(Path(out.output).resolve().as_uri())


def _check(out: Output, deciding: Deciding, table: options.WorkerTable, costing: Costing) -> None:
    """Refuse wrong values before any work."""
    kinds = {"--output": (".html", ".htm"), "--png": (".png",), "--pdf": (".pdf",)}
    for option, path in _outputs(out).items():
        if path is not None:
            if Path(path).suffix.lower() not in kinds[option]:
                expected = f"a name that ends in {' '.join(kinds[option])}"
                raise InputError(option, expected, repr(path))
            check_writable(path, option)
    check_number("--min-labels", deciding.min_labels, 1, 2**31, whole=True)
    check_number("--settle", deciding.settle, *defaults.SETTLE_RANGE)
    check_number("--level", table.level, *defaults.LEVEL_RANGE)
    if costing.price is not None:
        check_number("--price", costing.price, 0.0, 1e9)


def _outputs(out: Output) -> dict[str, str | None]:
    return {"--output": out.output, "--png": out.png, "--pdf": out.pdf}


def _load_charts() -> None:
    """Import the chart libraries, which takes a second or two, while the files are read."""
    import altair  # noqa: F401
    import vl_convert

    empty = {"data": {"values": [{}]}, "mark": "point"}
    vl_convert.vegalite_to_svg(empty)


def is_state(paths: list[str]) -> bool:
    """Return True if the path is a state file, not labels."""
    from crowdstream.serialization import MAGIC

    if len(paths) != 1 or not Path(paths[0]).is_file():
        return False
    with open(paths[0], "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _of_state(
    files: Files, deciding: Deciding, scoring: Scoring, settings: Settings
) -> dict[str, Findings]:
    """Collect findings from a state, question by question, or of the one that is named."""
    from crowdstream.cli.states import load_crowds, load_estimator
    from crowdstream.report.findings import find_in_state

    path = files.labels[0]
    given = {"--gold": deciding.gold, "--state": deciding.state, "--truth": scoring.truth}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} needs files of labels; {path} is a state")
    if files.question is not None:
        return {"": find_in_state(load_estimator(path, files.question), settings)}
    crowds = load_crowds(path)
    return {name: find_in_state(crowd, settings) for name, crowd in crowds.items()}


class Asked(NamedTuple):
    """Options of a report on labels."""

    files: Files
    bad_input: options.BadInput
    out: Output
    deciding: Deciding
    method: options.Method
    scoring: Scoring
    settings: Settings

    def find(self, bar: ProgressBar) -> tuple[dict[str, Findings], list[str]]:
        """Read the labels and find out what they tell, question by question.

        Then what is to be said of the input as a whole.
        """
        from crowdstream.cli.estimator import EstimatorFactory
        from crowdstream.cli.states import check_questions
        from crowdstream.cli.truths import check_questions_of_truths

        factory = EstimatorFactory(self.method, monitored=True)
        outputs = _outputs(self.out) | {"--on-error": self.bad_input.quarantine}
        sources = open_sources(self.files, outputs)
        crowds, learnt = _crowds(factory, self.deciding.state, sources)
        known = {name: list(crowd.classes_) for name, crowd in crowds.items()}
        with self.files.bad_rows(self.bad_input.on_error) as bad_rows:
            read = read_sources(self.files, sources, bad_rows, known)
        names = [question.name for question in read.meaning.questions]
        check_questions(crowds, [question.key for question in read.meaning.questions])
        given = {"--gold": self.deciding.gold, "--truth": self.scoring.truth}
        for option, path in given.items():
            check_questions_of_truths(option, path, names)
        made = {}
        for question in read.meaning.questions:
            crowd = crowds.get(question.key)
            if crowd is None:
                crowd = factory.make(over_time=self.deciding.in_order or question.in_order)
            found = self._question(question, crowd, given, read, bar, learnt=learnt)
            found.notes = [_without_folders(note, sources) for note in found.notes]
            found.read_as = _without_folders(read.read_as, sources)
            made[question.name] = found
        notes = [*read.notes]
        if read.bad_rows:
            notes.append(counted(read.bad_rows, "bad row", "left out"))
        return made, [_without_folders(note, sources) for note in notes]

    def _question(
        self,
        question: QuestionLabels,
        crowd: Estimator,
        given: Mapping[str, str | None],
        read: LabelInput,
        bar: ProgressBar,
        *,
        learnt: bool,
    ) -> Findings:
        """Decide one question."""
        from crowdstream.cli.truths import gold_within, truth_file
        from crowdstream.deciding import Prepared
        from crowdstream.report.findings import find_in_labels

        prepared = Prepared.of(question)
        if not prepared.table.height:
            about = f", question {shorten_name(question.name)!r}" if question.name else ""
            raise InputError(f"labels{about}", "at least one label", "none")
        files = [
            truth_file(option, path, prepared, teaches=option == "--gold")
            for option, path in given.items()
        ]
        files[0], notes = gold_within(read.tally, prepared, files[0])
        gold, truth = (_match(file, prepared.table) for file in files)
        about = f"{shorten_name(question.name)}: " if question.name else ""
        found = find_in_labels(
            prepared,
            crowd,
            self.settings,
            gold=gold,
            truth=truth,
            true_sets=None if files[1] is None else files[1].given,
            plan=None if question.name else given.get("--gold"),
            learnt=learnt,
            tick=lambda what: bar.update(about + what),
        )
        for file in filter(None, files):
            if prepared.choices is None:  # it counts pairs of task and choice
                notes.append(file.line())
            notes += file.notes()
        found.notes += notes
        return found


def _without_folders(note: str, sources: list[Source]) -> str:
    """The page goes to others, whom the folders of this machine do not concern."""
    for source in sources:
        if source.path != "-":
            note = note.replace(source.path, Path(source.path).name)
    return note


def _match(file: TruthFile | None, table: CodedLabels) -> dict[str | int, str | int | bool]:
    if file is None:
        return {}
    found = file.match(table)
    file.check()
    return found


def _crowds(
    factory: EstimatorFactory, state: str | None, sources: list[Source]
) -> tuple[dict[str, Estimator], bool]:
    """The estimators of a state, and whether they have learnt these labels already."""
    from crowdstream.cli.states import check_method, load_run
    from crowdstream.labels.fingerprints import fingerprint

    if state is None:
        return {}, False
    crowds = load_run(state)
    for crowd in crowds.values():
        check_method(state, crowd, factory.make())
    crowd = next(iter(crowds.values()))
    files = [source for source in sources if not source.piped and source.path != "-"]
    known = [fingerprint(source.path, crowd.learnt_).known_as is not None for source in files]
    if any(known) and not (all(known) and len(known) == len(sources)):
        raise UsageError("--state has learnt some of these files and not others")
    return crowds, any(known)


def _tell(made: Report, out: Output) -> None:
    """Say on the terminal what the first screen says."""
    read_as = made.findings.read_as
    for line in filter(None, [read_as]):
        say_paragraph(line, indent=0)
    for note in made.notes:
        say_paragraph(f"note: {note}", "yellow", indent=0)
    if len(made.questions) == 1:
        _tell_question(made.findings)
    else:
        _tell_questions(made.questions)
    for path in filter(None, _outputs(out).values()):
        say(f"{path}: {Path(path).stat().st_size / 1e6:.2f} MB")


def _tell_question(found: Findings) -> None:
    from crowdstream.report.told import answer, how_known, missing_words

    how = how_known(found)
    say_paragraph(f"{answer(found)} {how[:1].upper()}{how[1:]}".rstrip(), "bold", indent=0)
    for note in [*missing_words(found), *found.notes]:
        say_paragraph(f"note: {note}", "yellow", indent=0)


def _tell_questions(questions: Mapping[str, Findings]) -> None:
    """Show a line per question, as `run` does."""
    from crowdstream.report.advised import count_advice
    from crowdstream.report.told import missing_words
    from crowdstream.statements.expected import share_words

    columns = ["tasks", "workers", "classes"]
    if any(not found.from_state for found in questions.values()):
        columns += ["settled", "expected wrong"]
    if any(found.measured is not None for found in questions.values()):
        columns.append("error rate")
    table = make_table("", ["question"], [*columns, "to drop"])
    for name, found in questions.items():
        tasks = max(found.tasks, 1)
        cells = {
            "tasks": f"{found.tasks:,}",
            "workers": f"{len(found.crowd._workers):,}",
            "classes": f"{len(found.classes):,}",
            "settled": percent(found.settled / tasks),
            "expected wrong": "" if found.errors is None else share_words(found.errors, tasks),
            "error rate": "" if found.measured is None else percent(found.measured.error),
        }
        drop = f"{count_advice(found.workers).get('drop', 0):,}"
        add_row(table, shorten_name(name, QUESTION), *(cells[one] for one in columns), drop)
    console().print(table)
    for name, found in questions.items():
        for note in [*missing_words(found), *found.notes]:
            say_paragraph(f"note: {shorten_name(name)}: {note}", "yellow", indent=0)
