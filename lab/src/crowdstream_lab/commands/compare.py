"""`crowdstream compare`: every method on every data set, in one table."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from crowdstream import InputError, UsageError
from crowdstream.cli.extension import (
    ProgressBar,
    add_row,
    check_no_hints,
    console,
    make_folder,
    make_table,
    options,
    print_json,
    read_labelled,
    say,
    say_paragraph,
)
from crowdstream.extension import check_number

if TYPE_CHECKING:
    from crowdstream.cli.extension import ReadAs
    from crowdstream_lab.compare import Journal, Method, Study
    from crowdstream_lab.datasets import Dataset

SHUFFLES = 3
"""Orders beside the file's: enough to see whether a method depends on the order at all."""

LIMIT = 60.0
"""Seconds: what is slower is of no use beside methods that take a fraction of one."""

QUICK_LIMIT = 3.0
"""Seconds for a quick look: two sets and fifteen methods are to end in half a minute."""

WIDE = 150
"""Characters a line needs for the whole table."""

LEFT_OUT = ("sets", "− majority", "− adaptive", "ECE", "MB")
"""Its columns that a narrower terminal does not show."""


class Plan(TypedDict):
    """Plan of repetitions, orders and time limits."""

    shuffles: int
    seed: int
    limit: float
    runs: int


class Input(options.FileMeaning):
    """Options of the input."""

    HELP = """
    sets: SET  Names of data sets (all: every one that is installed) or, with --truth, files of
        labels, which are taken together as one set.
    --truth FILE  The arguments are files of labels, and this is the file of their correct labels
        (columns task and label).
    """
    sets: list[str]
    truth: str | None = None


class Methods(options.Group, panel="Methods"):
    """Options of methods."""

    HELP = """
    --methods NAMES  Only these, with commas between: adaptive,dawid-skene. majority always takes
        part.
    --quick  A quick look: a selection of methods, the file's order only, each timed once.
    """
    methods: str | None = None
    quick: bool = False


class Repeats(options.Group, panel="Repeating"):
    """Options of repetitions."""

    HELP = """
    --shuffles NUMBER  Random orders of the tasks for online methods, besides that of the file
        (3 unless said, none with --quick).
    --limit SECONDS  Time after which a method is stopped on an order of a data set (60 unless
        said, 3 with --quick).
    """
    shuffles: int | None = None
    limit: float | None = None


class Output(options.Group, panel="Output"):
    """Options of output."""

    HELP = """
    -o, --output FOLDER  Write tables (CSV, JSON, Markdown), charts and a page, index.html.
        compare.json grows while methods run.
    --resume  Go on with a run that was ended: take over from the folder what ran to its end on the
        same sets with the same seed, and what was over at least the same limit.
    """
    output: str | None = None
    resume: bool = False


def compare(
    given: Input,
    methods: Methods,
    repeating: Repeats,
    orders: options.Orders,
    out: Output,
    report: options.Report,
) -> None:
    """Compare methods on data whose correct labels are known.

    Prints one row per method: the error when each task is decided as it comes (online) and when
    all labels are in (final), calibration, time per label and memory. Methods of crowd-kit take
    part where it is installed. Data sets are looked up by name: see CROWDSTREAM_DATA in the README.

    \b
    Examples:
      crowdstream compare labels.csv --truth correct.csv
      crowdstream compare rte web --methods agreement,dawid-skene -o comparison
    """
    from crowdstream_lab.compare import METHODS, Journal, choose, ready, write

    if out.resume and out.output is None:
        raise UsageError("--resume needs -o FOLDER")
    plan = _plan(repeating, methods.quick, orders.seed)
    names = methods.methods
    wanted = None if names is None else [name.strip() for name in names.split(",")]
    chosen = choose(wanted, quick=methods.quick)
    notes: list[str] = []
    read_as: ReadAs | None = None
    if given.truth is None:
        check_no_hints(given, "--truth")
        sets = [ready(data) for data in _named(given.sets)]
    else:
        data, notes, read_as = _read(given, given.truth)
        sets = [ready(data)]
        if len(given.sets) > 1 and not report.quiet:
            say(f"{len(given.sets)} files taken together as one set", "yellow")
    folder = None if out.output is None else make_folder(out.output)
    journal = Journal(sets, {**plan}, folder, resume=out.resume)
    study = _measure(sets, chosen, plan, journal, report.quiet)
    if folder is not None:
        write(study, folder)
    if report.json:
        # What -o writes too, and what was read: null for data sets by name.
        print_json({**study.report(), "read_as": read_as, "warnings": notes})
    elif not report.quiet:
        if read_as is not None:
            say_paragraph(read_as.text, indent=0)
        _show(study)
        for note in notes:
            say(f"note: {note}", "yellow")
        if methods.quick and wanted is None:
            left = [method.name for method in METHODS if method not in chosen]
            say_paragraph(f"left out by --quick: {', '.join(left)}", indent=0)
        if folder is not None:
            say(f"{folder / 'index.html'}")


def _plan(repeating: Repeats, quick: bool, seed: int) -> Plan:
    """Check the options of repetitions."""
    from crowdstream_lab.compare import RUNS

    given, limit = repeating.shuffles, repeating.limit
    shuffles = given if given is not None else 0 if quick else SHUFFLES
    limit = limit if limit is not None else QUICK_LIMIT if quick else LIMIT
    check_number("--shuffles", shuffles, 0, 1000, whole=True)
    check_number("--seed", seed, 0, 2**32, whole=True)
    check_number("--limit", limit, 0.0, 1e6, open_low=True)
    return {"shuffles": shuffles, "seed": seed, "limit": limit, "runs": 1 if quick else RUNS}


def _named(names: list[str]) -> list[Dataset]:
    """Data sets by name."""
    from crowdstream_lab import datasets

    wanted = list(dict.fromkeys(names))
    if "all" in wanted:
        wanted = datasets.available()
        if not wanted:
            expected = f"folders with labels.csv and gold.csv in ${datasets.VARIABLE}"
            raise InputError("data sets", expected, "none")
    for name in wanted:
        if name not in datasets.names() and Path(name).is_file():
            raise InputError("--truth", f"a file of correct labels for {name}", "none")
    return [datasets.load(name) for name in wanted]


def _read(given: Input, truth: str) -> tuple[Dataset, list[str], ReadAs]:
    """A data set of the user's own, and what is to be said of it."""
    from crowdstream_lab.datasets import Dataset, Meta

    files = given.sets
    read = read_labelled("compare", files, given, "--truth", truth)
    name = Path(files[0]).name.split(".")[0]
    made = Dataset(name, read.labels, read.truths, Meta(" ".join(files)), read.scale)
    return made, read.notes, read.read_as


def _measure(
    sets: list[Dataset], methods: list[Method], plan: Plan, journal: Journal, quiet: bool
) -> Study:
    from crowdstream_lab.compare import Study
    from crowdstream_lab.compare import compare as measure

    with ProgressBar("starting", len(sets) * len(methods), silent=quiet) as bar:
        bar.update(advance=-1)  # a step is announced when it begins

        def tick(method: str, name: str) -> None:
            bar.update(f"{method} on {name}", advance=1)

        rows = measure(sets, methods, **plan, tick=tick, journal=journal)
    command = shlex.join(["crowdstream", *sys.argv[1:]])
    return Study(sets, methods, rows, command, journal.plan, journal.outcomes())


def _show(study: Study) -> None:
    from crowdstream_lab.compare import SUMMARY_HEAD, summary_lines

    terminal = console(stderr=False, width=None if sys.stdout.isatty() else WIDE)
    columns = dict(zip(SUMMARY_HEAD, zip(*summary_lines(study), strict=True), strict=True))
    if study.sets[0].scale is not None:
        found = study.summary()["distance"]
        columns["distance"] = tuple("" if each is None else f"{each:.4f}" for each in found)
    shown = [name for name in columns if terminal.width >= WIDE or name not in LEFT_OUT]
    table = make_table("", shown[:1], shown[1:], line=True)
    for cells in zip(*(columns[name] for name in shown), strict=True):
        add_row(table, *cells)
    terminal.print(table)
    for line in study.unfinished():
        say_paragraph(f"not run: {line}", "yellow", indent=0)
