"""Files of labels that a command reads as a whole, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crowdstream.cli.output import check_apart
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    from crowdstream.cli.options import FileMeaning, LabelFiles
    from crowdstream.labels.meaning.interpreting import Meaning, QuestionLabels
    from crowdstream.labels.readers import BadRows, Source
    from crowdstream.labels.readers.tally import Tally

PICK = "--question NAME picks one"
"""Advice for a file with several questions."""


@dataclass(frozen=True)
class LabelInput:
    """Meaning of files, with notes on how they were read.

    ``tally``: what tools' files came to, if there were any.
    """

    meaning: Meaning
    notes: list[str]
    bad_rows: int
    tally: Tally | None

    @property
    def read_as(self) -> str:
        """One line that says how the files were read."""
        return self.meaning.read_as.text

    def only(self, where: str) -> QuestionLabels:
        """The one question; several are refused by name."""
        return self.meaning.only(where, PICK)


def open_sources(files: LabelFiles, outputs: Mapping[str, str | None]) -> list[Source]:
    """The files that are read; ``outputs`` must be other files."""
    from crowdstream.labels.readers import find_sources

    # What is decided depends on the order of tasks, and of rows within a task, alone.
    options = files.input_options()._replace(any_order=True)
    sources = find_sources(files.labels, files.format, options)
    check_apart([source.path for source in sources], dict(outputs))
    return sources


def read_sources(
    files: FileMeaning,
    sources: list[Source],
    bad_rows: BadRows,
    known: Mapping[str, Sequence[object]] | None = None,
) -> LabelInput:
    """Read files and tell what they mean.

    ``known``: classes of earlier runs, question by question, whose spellings stay.
    """
    from crowdstream.labels.meaning.interpreting import Interpreter
    from crowdstream.labels.readers import read_all
    from crowdstream.labels.readers.files import FileOrigin

    names, hints = files.names(), files.hints()
    where = sources[0].name if len(sources) == 1 else "labels"
    interpreter = Interpreter(names, hints, where=where)
    for name, classes in (known or {}).items():
        interpreter.know(classes, name)
    meaning = interpreter.whole(read_all(sources, names, bad_rows))
    origin = None if hints.choices else FileOrigin(sources, names)
    questions = [
        replace(question, table=replace(question.table, origin=origin))
        for question in meaning.questions
    ]
    meaning = meaning._replace(questions=questions)
    if bad_rows.explain is not None:
        bad_rows.explain(f"{where}: {meaning.read_as.text}")
        for question in questions:
            about = f"{question.name}: " if question.name else ""
            bad_rows.explain(f"{about}{_size(question)}")
    notes = [*bad_rows.notes, *meaning.notes]
    return LabelInput(meaning, notes, bad_rows.rows, bad_rows.tally)


def _size(question: QuestionLabels) -> str:
    table = question.table
    tasks, _ = table.task_order()
    shown = counted(int(tasks.max(initial=-1)) + 1, "task")
    return f"{shown}, {counted(len(table.workers), 'worker')}, {counted(table.height, 'label')}"


def read_labels(files: LabelFiles, outputs: Mapping[str, str | None]) -> LabelInput:
    """Read the files that a command names, and tell what they mean."""
    sources = open_sources(files, outputs)
    with files.bad_rows() as bad_rows:
        return read_sources(files, sources, bad_rows)
