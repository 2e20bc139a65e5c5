"""The options that several commands have, each declared once, in the groups that commands take.

A command names groups as the types of its parameters and is given objects with the values
(`command.make_command`). A group's fields are its options with their types and defaults, ``panel``
is the heading in ``--help``, and ``HELP`` says what each option is for. An entry of ``HELP`` begins
with the option and its placeholder, then two spaces; longer texts go on below, indented.
``name: PLACEHOLDER`` is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING, ClassVar, NamedTuple, dataclass_transform

from crowdstream import defaults
from crowdstream.methods import METHODS

if TYPE_CHECKING:
    from crowdstream.labels import ColumnNames
    from crowdstream.labels.meaning.kinds import LabelHints
    from crowdstream.labels.readers import BadRows, InputOptions

TABLE_FILE = ".csv, .tsv, .jsonl, .parquet or .xlsx by its name; - is standard output"


RARE = frozenset(
    {
        *("separator", "encoding", "sheet", "header_row", "columns", "max_ratio", "max_bytes"),
        *("include", "leave_out", "separator_in_cell", "repeat", "repeats", "again", "window"),
        *(
            "online",
            "memory",
            "families",
            "copies",
            "answer_rate",
            "seed",
            "level",
            "costs",
            "min_labels",
        ),
    }
)
"""Options that files and crowds need now and then: ``--help-all`` shows them, messages name them
where they help."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Group:
    """Options that belong together; a subclass is a dataclass by itself."""

    PANEL: ClassVar[str] = ""
    HELP: ClassVar[str] = ""

    def __init_subclass__(cls, panel: str = "") -> None:
        """Make it a dataclass, under the heading given or that of the group it extends.

        It is frozen for type checkers alone: to have each method made at run time takes longer than
        all else that a command does before its work.
        """
        cls.PANEL = panel or cls.PANEL
        dataclass(kw_only=True, eq=False, repr=False)(cls)


class Entry(NamedTuple):
    """Help on a field: its flags (none for an argument), placeholder and text."""

    field: str
    flags: tuple[str, ...]
    placeholder: str
    help: str


def entries(group: type[Group]) -> Iterator[Entry]:
    """The fields that a group describes itself.

    Parameters
    ----------
    group
        The group; what it inherits is left out.

    Examples
    --------
    >>> next(entries(Quiet))[:3]
    ('quiet', ('-q', '--quiet'), '')
    """
    text = dedent(vars(group).get("HELP", "")).strip()
    for entry in re.split(r"\n(?=\S)", text) if text else ():
        head, _, rest = entry.partition("  ")
        help_text = " ".join(rest.split())
        name, colon, placeholder = head.partition(": ")
        if colon:
            yield Entry(name, (), placeholder, help_text)
            continue
        *names, last = head.split(", ")
        last, _, placeholder = last.partition(" ")
        field = last.removeprefix("--").replace("-", "_")
        yield Entry(field, (*names, last), placeholder, help_text)


class Columns(Group, panel="Input"):
    """Options of the input's columns."""

    HELP = """
    --task COLUMN  Column that names the task, unless called task, item, example or the like.
    --worker COLUMN  Column that names who gave the label, unless called worker, annotator, judge
        or the like.
    --label COLUMN  Column of the label, unless called label, answer, verdict or the like. Named
        more than once, each column is a question of its own.
    --question NAME  Of several questions decide this one; or the column that names the questions,
        unless called question, criterion, metric or the like.
    """
    task: str | None = None
    worker: str | None = None
    label: list[str] | None = None
    question: str | None = None

    def names(self) -> ColumnNames:
        """The columns as readers take them."""
        from crowdstream.labels import ColumnNames

        label = tuple(self.label) if self.label else None
        return ColumnNames(self.task, self.worker, label, question=self.question)


class InputForm(Group, panel="Input"):
    """Options of the form of files, where they do not show it themselves, and of their size."""

    HELP = """
    --separator CHARACTER  What separates the cells of CSV, such as ; or tab, if it is not found
        out.
    --encoding NAME  Encoding of text, such as utf-8, latin-1 or utf-16, if it is not found out.
    --sheet SHEET  Sheet of a workbook (.xlsx) by its name or number, if not the first that has the
        columns.
    --header-row NUMBER  Row of a sheet or of CSV that names the columns, if it is not found out;
        what is above is left out.
    --columns NAMES  Names of the columns of a sheet or of CSV, in their order, if there is no
        header (with --header-row, instead of it): task,worker,label; - leaves a column out.
    --max-ratio NUMBER  Refuse a packed file that grows by more than this when it is unpacked.
    --max-bytes SIZE  Refuse a file that holds more than this, unpacked, such as 500MB or 2GB.
    --include WHAT  Count what an export holds beside votes: predictions (of models, as workers
        model:NAME) or checks (promptfoo's assertions that ask no model). Repeat it for both.
    --explain  Say on standard error as what each file is read, why, and what was in it.
    """
    separator: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None
    columns: str | None = None
    max_ratio: float = defaults.MAX_RATIO
    max_bytes: str | None = None
    include: list[str] | None = None
    explain: bool = False

    def input_options(self) -> InputOptions:
        """Return these options as readers take them, checked."""
        from crowdstream.labels.readers import make_options

        return make_options(
            self.separator,
            self.encoding,
            self.sheet,
            self.max_ratio,
            self.max_bytes,
            question=getattr(self, "question", None),
            include=self.include or (),
            header_row=self.header_row,
            columns=self.columns,
        )

    def bad_rows(self, policy: str = "fail") -> BadRows:
        """Make the collector of rows that cannot be read."""
        from crowdstream.cli.terminal import say
        from crowdstream.labels.readers import BadRows

        return BadRows(policy, say if self.explain else None)


class Cells(Group, panel="What labels mean"):
    """Options of cleaning cells before anything is counted."""

    HELP = """
    --exact  Labels that differ only by upper and lower case, blanks or Unicode form are different
        classes.
    --keep LABEL  This label is an answer, though NA, N/A, null, none, nan and - are taken for
        none. May be repeated.
    """
    exact: bool = False
    keep: list[str] | None = None


class Scores(Cells):
    """Options of labels that look like numbers or sets."""

    HELP = """
    --threshold SCORE  Labels are scores: from this one on they pass, below they fail.
    --as-classes  Labels are classes, whatever they look like.
    """
    threshold: float | None = None
    as_classes: bool = False

    def hints(self) -> LabelHints:
        """Return what the user says of the labels, checked."""
        from crowdstream.labels.meaning.kinds import LabelHints, check_hints

        found = LabelHints(
            threshold=self.threshold,
            as_classes=self.as_classes,
            exact=self.exact,
            keep=tuple(self.keep or ()),
        )
        check_hints(found)
        return found


class Kinds(Scores):
    """Options of the kind of labels, where they do not show it."""

    HELP = """
    --ordinal  Labels are numbers on a scale, such as 1 to 5 stars: the weighted median decides.
    --order CLASSES  Labels are words on a scale, in this order, with commas between: low,mid,high.
    --choices  Several classes may apply at once: cells hold sets such as cat|dog, or a row each.
    --separator-in-cell CHARACTER  What stands between the classes of a cell, if it is not found
        out.
    --bins NUMBER  Labels are scores: cut them into so many steps of a scale.
    --repeat COLUMN  Column that tells repeated answers of a worker on a task apart, unless called
        repeat, epoch, run, trial, sample or seed. The most frequent answer counts.
    --repeats WHICH  Of several labels of a worker on a task count the last, the first or the
        majority.
    """
    ordinal: bool = False
    order: str | None = None
    choices: bool = False
    separator_in_cell: str | None = None
    bins: int | None = None
    repeat: str | None = None
    repeats: str | None = None

    def hints(self) -> LabelHints:
        """Return what the user says of the labels, checked."""
        from crowdstream.labels.meaning.kinds import check_hints

        order = None
        if self.order is not None:
            order = tuple(name.strip() for name in self.order.split(",") if name.strip())
        found = (
            super()
            .hints()
            ._replace(
                choices=self.choices,
                separator=self.separator_in_cell,
                ordinal=self.ordinal,
                order=order,
                bins=self.bins,
                repeats=self.repeats,
            )
        )
        check_hints(found)
        return found


class FileMeaning(Columns, InputForm, Kinds):
    """Options of how files of labels are written and what they mean."""

    HELP = """
    --wide  The input has one row per task and one column per worker.
    --leave-out COLUMN  With --wide: this column is no worker. May be repeated.
    --format FORMAT  csv, tsv, jsonl, parquet, ipc, xlsx or zip, if the file name does not tell; or
        the tool that wrote it, if its keys do not: label-studio, argilla, prodigy, doccano, mturk,
        toloka, appen, ground-truth, inspect-ai, promptfoo, langfuse, mlflow, deepeval, phoenix,
        langsmith, lm-eval or opentelemetry.
    """
    wide: bool = False
    leave_out: list[str] | None = None
    format: str | None = None

    def names(self) -> ColumnNames:
        """The columns as readers take them."""
        found = super().names()
        return found._replace(
            wide=self.wide, repeat=self.repeat, left_out=tuple(self.leave_out or ())
        )


class LabelFiles(FileMeaning):
    """Files of labels and how to read them."""

    HELP = """
    labels: FILE  Files or quoted globs: CSV, TSV, JSON lines, a JSON array, Parquet, Arrow or
        Excel; also .gz and .zst. Exports of labelling tools are read as they are. - is standard
        input.
    """
    labels: list[str]


class BadInput(Group, panel="Input"):
    """Options for rows that cannot be read."""

    HELP = """
    --on-error POLICY  Rows that cannot be read: fail at the first, skip them, or quarantine=FILE
        to set them aside.
    """
    on_error: str = "fail"

    @property
    def quarantine(self) -> str | None:
        """The file where they are set aside, if any."""
        return self.on_error.partition("=")[2] or None


class MethodName(Group, panel="Deciding"):
    """The method by its name."""

    HELP = f"""
    --method METHOD  {" ".join(f"{name}: {method.summary}." for name, method in METHODS.items())}
    """
    method: str = defaults.METHOD


class Method(MethodName):
    """The method and its settings."""

    HELP = """
    --memory TASKS  Forget what is older than about this many tasks, because workers change.
        Without it, nothing is forgotten.
    --families FILE  Workers that are not independent (such as one model under several prompts): a
        file with columns worker and family. For --method adaptive.
    --copies HOW  Workers who copy one another, almost always: discount counts them about as one,
        report only lists them. For --method adaptive, which discounts them unless told otherwise.
    --answer-rate RATE  The probability, if it is known and the same for all, that a worker answers
        a task (the paper's alpha). For --method agreement.
    --seed NUMBER  Random seed for breaking ties.
    """
    memory: str | None = None
    families: str | None = None
    copies: str | None = None
    answer_rate: float | None = None
    seed: int = 0


class WorkerTable(Group, panel="Worker table"):
    """Options of the table of workers."""

    HELP = """
    --level SHARE  Confidence level of the intervals of error rates.
    --costs FILE  What mistakes cost, for the column quality: a file with columns class, taken_for
        and cost. Without it, every mistake costs 1.
    """
    level: float = defaults.LEVEL
    costs: str | None = None


class Quiet(Group, panel="Output"):
    """Options of messages on standard error."""

    HELP = """
    -q, --quiet  No progress bar, no alarms, no summary.
    """
    quiet: bool = False


class Report(Quiet):
    """Options of the report."""

    HELP = """
    --json  Print the summary as one JSON object to standard output.
    """
    json: bool = False

    @property
    def shown(self) -> bool:
        """True if there is a report at all."""
        return self.json or not self.quiet


class Orders(Group, panel="Repeating"):
    """The random orders that some commands repeat their work in."""

    HELP = """
    --seed NUMBER  Random seed for the orders.
    """
    seed: int = 0
