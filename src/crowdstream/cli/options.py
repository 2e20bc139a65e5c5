"""The options of the command line, each declared once, in the groups that commands take.

A command names a group as the type of a parameter and is given an object with the values
(`command.make_command`). The heading of a group in ``--help`` is the first word of `option`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from crowdstream.labels.readers import Names

INPUT, OUTPUT, DECIDING, SCORING = "Input", "Output", "Deciding", "Scoring against known answers"
"""Headings in the help of several commands."""

TABLE_FILE = ".csv, .tsv, .jsonl or .parquet by its name; - is standard output"
LABEL_FILES = (
    "Files or quoted globs: CSV, TSV, JSON lines, Parquet or Arrow; also .gz and .zst. - is "
    "standard input."
)


def option(panel: str, *names: str, help: str, metavar: str | None = None) -> Any:  # noqa: A002
    """An option under a heading of the help."""
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel)


def argument(metavar: str, help: str) -> Any:  # noqa: A002
    """What a command is given without an option."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of the input hold what."""

    task: Annotated[
        str | None,
        option(
            INPUT,
            "--task",
            metavar="COLUMN",
            help="Column that names the task, unless called task, item, example or the like.",
        ),
    ] = None
    worker: Annotated[
        str | None,
        option(
            INPUT,
            "--worker",
            metavar="COLUMN",
            help="Column that names who gave the label, unless called worker, annotator, judge "
            "or the like.",
        ),
    ] = None
    label: Annotated[
        str | None,
        option(
            INPUT,
            "--label",
            metavar="COLUMN",
            help="Column of the label, unless called label, answer, verdict or the like.",
        ),
    ] = None

    def names(self, *, wide: bool = False) -> Names:
        """The columns as readers take them."""
        from crowdstream.labels.readers import Names

        return Names(self.task, self.worker, self.label, wide)


@dataclass(frozen=True, kw_only=True)
class LabelFiles(Columns):
    """Files of labels and how to read them."""

    labels: Annotated[list[str], argument("FILE", LABEL_FILES)]
    wide: Annotated[
        bool,
        option(INPUT, "--wide", help="The input has one row per task and one column per worker."),
    ] = False
    format: Annotated[
        str | None,
        option(
            INPUT,
            "--format",
            metavar="FORMAT",
            help="csv, tsv, jsonl, parquet or ipc, if the file name does not tell.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class BadInput:
    """What to do with rows that cannot be read."""

    on_error: Annotated[
        str,
        option(
            INPUT,
            "--on-error",
            metavar="POLICY",
            help="Rows that cannot be read: fail at the first, skip them, or quarantine=FILE to "
            "set them aside.",
        ),
    ] = "fail"


@dataclass(frozen=True, kw_only=True)
class MethodName:
    """The method by its name."""

    method: Annotated[
        str,
        option(
            DECIDING,
            "--method",
            metavar="METHOD",
            help="adaptive: the best choice in most cases. tracking: follows workers who change. "
            "agreement: the paper's. centred: counts agreement beyond what each worker's habits "
            "explain. majority: one worker, one vote.",
        ),
    ] = "adaptive"


@dataclass(frozen=True, kw_only=True)
class Method(MethodName):
    """The method and its settings."""

    memory: Annotated[
        str | None,
        option(
            DECIDING,
            "--memory",
            metavar="TASKS",
            help="Forget what is older than about this many tasks, because workers change. "
            "Without it, nothing is forgotten.",
        ),
    ] = None
    families: Annotated[
        str | None,
        option(
            DECIDING,
            "--families",
            metavar="FILE",
            help="Workers that are not independent (such as one model under several prompts): a "
            "file with columns worker and family. For --method adaptive.",
        ),
    ] = None
    answer_rate: Annotated[
        float | None,
        option(
            DECIDING,
            "--answer-rate",
            metavar="RATE",
            help="The probability, if it is known and equal, that a worker answers a task (the "
            "paper's alpha). For --method agreement.",
        ),
    ] = None
    seed: Annotated[
        int,
        option(DECIDING, "--seed", metavar="NUMBER", help="Random seed for breaking ties."),
    ] = 0


@dataclass(frozen=True, kw_only=True)
class WorkerTable:
    """How the table of workers is made."""

    level: Annotated[
        float,
        option(
            "Worker table",
            "--level",
            metavar="SHARE",
            help="Confidence level of the intervals of error rates.",
        ),
    ] = 0.95
    costs: Annotated[
        str | None,
        option(
            "Worker table",
            "--costs",
            metavar="FILE",
            help="What mistakes cost, for the column quality: a file with columns class, taken_for "
            "and cost. Without it, every mistake costs 1.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """Whether to speak on standard error."""

    quiet: Annotated[
        bool, option(OUTPUT, "--quiet", "-q", help="No progress bar, no alarms, no summary.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Report(Quiet):
    """How the outcome is reported."""

    json: Annotated[
        bool,
        option(
            OUTPUT,
            "--json",
            help="Print the summary as one JSON object to standard output.",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Orders:
    """The random orders that some commands repeat their work in."""

    seed: Annotated[
        int,
        option("Repeating", "--seed", metavar="NUMBER", help="Random seed for the orders."),
    ] = 0
