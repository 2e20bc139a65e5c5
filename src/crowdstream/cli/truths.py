"""Files of correct labels, for --truth and --gold: read, matched with the labels, and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from crowdstream.cli.json_output import TruthMatch
from crowdstream.errors import InputError
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.deciding import Prepared
    from crowdstream.labels import ClassLabel, CodedLabels, TaskId
    from crowdstream.labels.matching import TruthMatcher
    from crowdstream.labels.meaning.interpreting import QuestionLabels
    from crowdstream.labels.readers.tally import Tally

SHOWN = 5
"""Classes that a note names."""

RESPELT = 2
"""Tasks found by their spelling that a note names."""


class TruthFile:
    """The correct labels of a file, as the tasks and classes of the labels are spelt.

    They are read from its path, or given where they were read with the labels already.

    ``teaches``: whether it is learnt from, so that a class that nobody gave is left out.
    ``prepared``: the labels of the question, whose scores and sets the correct ones are made like.
    """

    def __init__(
        self,
        option: str,
        given: str | Mapping[TaskId, ClassLabel],
        *,
        teaches: bool = False,
        prepared: Prepared | None = None,
    ) -> None:
        from crowdstream.labels.matching import TruthMatcher

        self.option, self.teaches = option, teaches
        self.read_notes: list[str] = []
        if isinstance(given, str):
            question = None if prepared is None else prepared.question
            given = read_truth_file(option, given, self.read_notes, question)
        self.given = given
        self.sets = prepared is not None and prepared.choices is not None
        if prepared is not None:
            given = prepared.truths(given) or {}
        self.matcher = TruthMatcher(given)
        self.example: object = None

    def match(self, table: CodedLabels) -> dict[TaskId, ClassLabel]:
        """The truths of the tasks of these labels."""
        import polars as pl

        tasks = pl.Series(table.batch.tasks, dtype=None if len(table.batch) else pl.String)
        if self.example is None and len(tasks):
            self.example = tasks[0]
        return self.matcher.match(tasks, table.classes, strict=self.teaches)

    def check(self) -> None:
        """Refuse a file of which nothing matched; all labels have come."""
        self.matcher.check(self.option, self.example)

    def count(self) -> TruthMatch:
        """As ``--json`` prints it."""
        found = self.matcher
        if self.sets:  # of which each is a pair per class
            matched = len({name.rpartition(": ")[0] for name in found.names_matched()})
            return TruthMatch(len(self.given), matched, 0)
        return TruthMatch(found.tasks, found.matched, len(found.respelt))

    def line(self) -> str:
        """As a terminal shows it: ``41 of 50 gold tasks matched``."""
        found, noun = self.count(), "gold task" if self.teaches else "true label"
        odd = 0 if self.sets else self.matcher.odd
        of_them = f", {odd:,} of them in classes that no worker gave" if odd else ""
        return f"{found.matched:,} of {counted(found.tasks, noun)} matched{of_them}"

    def notes(self) -> list[str]:
        """Return notes for whoever wrote the file."""
        return self.read_notes + match_notes(self.option, self.matcher, teaches=self.teaches)


def check_questions_of_truths(option: str, path: str | None, names: Sequence[str]) -> None:
    """Refuse a file of correct labels that has none of several questions."""
    from crowdstream.labels.gold import read_truths

    if path is None or len(names) < 2:
        return
    if not any(read_truths(path, option=option, question=name) for name in names):
        expected = f"correct labels of {_listed(names[:SHOWN], len(names))}"
        raise InputError(f"{option} {path}", expected, "of other questions")


def truth_file(
    option: str, path: str | None, prepared: Prepared | None, *, teaches: bool = False
) -> TruthFile | None:
    """The correct labels of a question; None without a file, or if it has other questions."""
    from crowdstream.labels.gold import read_truths

    if path is None:
        return None
    name = "" if prepared is None else prepared.question.name
    if name and not read_truths(path, option=option, question=name):
        return None
    return TruthFile(option, path, teaches=teaches, prepared=prepared)


def read_truth_file(
    option: str, path: str, notes: list[str], question: QuestionLabels | None = None
) -> dict[TaskId, ClassLabel]:
    """Task → correct label, from a file with a task and a label (or gold) column.

    ``notes`` takes what is to be said of how it was read.
    """
    from crowdstream.labels.gold import read_truths

    name, several = "", False
    if question is not None:
        name, several = question.name or question.picked, bool(question.name)
    truths = read_truths(path, option=option, notes=notes, question=name, several=several)
    if not truths:
        raise InputError(f"{option} {path}", "at least one row with a task and a label", "none")
    return truths


def match_truths(option: str, path: str, prepared: Prepared) -> tuple[pl.DataFrame, TruthFile]:
    """A table of task and label for the tasks of these labels, and the file it came from."""
    from crowdstream.labels.gold import truth_table

    file = TruthFile(option, path, prepared=prepared)
    truths = file.match(prepared.table)
    file.check()
    return truth_table(truths), file


def gold_within(
    tally: Tally | None, prepared: Prepared, given: TruthFile | None
) -> tuple[TruthFile | None, list[str]]:
    """The gold to learn from, and what is to be said of it: ``given``, else what files hold.

    ``tally``: what was read of the files of labels, where those were of a tool.
    """
    truths = gold_of(tally, prepared.question.name or prepared.question.picked)
    if tally is None or not truths:
        return given, []
    where = f"the gold in {tally.where}"
    if given is not None:
        return given, [f"{where} is left out: --gold goes before it"]
    file = TruthFile(where, truths, teaches=True, prepared=prepared)
    if not file.match(prepared.table):
        return None, [f"{where} is of tasks without labels: nothing to learn from"]
    if file.matcher.matched >= len(prepared.table.task_order()[1]):
        # A benchmark's answers: decisions would be these, and nothing would be learnt of them.
        return None, [f"{where} has every task, so nothing is learnt from it: --gold does that"]
    note = f"learnt from {where}: {counted(len(truths), 'task')}"
    return TruthFile(where, truths, teaches=True, prepared=prepared), [note]


def gold_of(tally: Tally | None, question: str) -> dict[TaskId, ClassLabel]:
    """The gold that tools' files hold, of one question."""
    if tally is None:
        return {}
    found = tally.golds.get(question, {}) if question else tally.gold
    return dict(found.items())


def match_notes(option: str, found: TruthMatcher, *, teaches: bool = False) -> list[str]:
    """Tasks without labels, tasks found by their spelling, classes that no worker has given.

    >>> import polars as pl
    >>> from crowdstream.labels.matching import TruthMatcher
    >>> found = TruthMatcher({"t1": "spam", "T2": "ham", "t9": "spma"})
    >>> _ = found.match(pl.Series(["t1", "t2"]), ["spam", "ham"])
    >>> for note in match_notes("--gold", found, teaches=True):
    ...     print(note)
    1 task of --gold without labels here: 't9'
    1 task of --gold found by its spelling: 'T2' for 't2'
    1 class of --gold that no worker has given, left out: 'spma'
    """
    notes = []
    if found.matched < found.tasks:
        rest = found.tasks - found.matched
        tasks = counted(rest, "task", f"of {option} without labels here")
        notes.append(f"{tasks}: {_listed(found.unmatched(), rest)}")
    if found.respelt:
        number = len(found.respelt)
        pairs = [f"{given!r} for {there!r}" for given, there in found.respelt.items()]
        shown = ", ".join(pairs[:RESPELT]) + (", …" if number > RESPELT else "")
        whose = "its spelling" if number == 1 else "their spelling"
        notes.append(f"{counted(number, 'task', f'of {option} found by {whose}')}: {shown}")
    if new := [str(label) for label in found.new_classes()]:
        noun = "class" if len(new) == 1 else "classe"
        then = "left out" if teaches else "counted as wrong"
        what = f"of {option} that no worker has given, {then}"
        notes.append(f"{counted(len(new), noun, what)}: {_listed(new[:SHOWN], len(new))}")
    return notes


def _listed(names: Sequence[str], number: int) -> str:
    """Some names of so many."""
    more = f" and {number - len(names):,} more" if number > len(names) else ""
    return ", ".join(map(repr, names)) + more
