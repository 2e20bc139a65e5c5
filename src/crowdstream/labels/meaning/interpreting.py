"""Turns tables as they were read into the labels of each question, ready to be decided.

    a table   shaping:   columns and cells → task, worker, label (question, repeat)
    then      questions: rows → one table per question
    each      answers:   no answer, one spelling per class
              repeats:   one label per worker and task
              kinds:     classes, a scale, scores, choices, or refused

Everything that reads labels, from files or from Python, goes through `Interpreter`. Knows nothing
of files or estimators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from crowdstream.errors import InputError, UsageError
from crowdstream.labels.coded_labels import CodedLabels, code_frame, code_values
from crowdstream.labels.column_hints import shown_name
from crowdstream.labels.columns import ColumnNames, Roles
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.meaning.answers import AnswerCleaner, recoded
from crowdstream.labels.meaning.kinds import LabelHints, LabelKind, find_kind, fitting, suggestion
from crowdstream.labels.meaning.repeats import one_per_task
from crowdstream.labels.meaning.times import in_order_of_time, is_timed
from crowdstream.labels.meaning.words import Done, class_words, done_notes
from crowdstream.labels.spelling import normalise
from crowdstream.labels.vocabulary import Vocabulary
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    import polars as pl

NAMED = 8
"""Questions that a message names."""

SHOWN = 4
"""Columns of workers that are named where each worker has one."""

OWN = 0.5
"""Share of the tasks above which so many different questions, one per task, are the tasks' own
text: a file of 500 prompts does not ask 500 questions."""


class RawLabels(NamedTuple):
    """Labels as a reader hands them over, and the roles of the columns they were in.

    A table has the columns task, worker, label, and question and repeat if it tells them.
    ``title``: the tool that wrote the file, if any.
    """

    labels: CodedLabels | pl.DataFrame
    roles: Roles
    left_out: Mapping[str, str] = {}
    title: str = ""


@dataclass(frozen=True)
class QuestionLabels:
    """The labels of one question; ``name`` is empty where the input has one question only.

    ``picked``: its name where it was picked from several. ``flips``: how often workers contradicted
    themselves, where they were asked again. ``at``: when each label was given, in seconds since
    1970, where that is known of some.
    """

    name: str
    table: CodedLabels
    kind: LabelKind = field(default_factory=LabelKind)
    flips: pl.DataFrame | None = None
    at: pl.Series | None = None
    picked: str = ""

    @property
    def key(self) -> str:
        """The name that states know the question by."""
        return self.name or self.picked

    @property
    def in_order(self) -> bool:
        """True if every row has a time, and rows are in its order."""
        return self.at is not None and not self.at.null_count() and self.at.is_sorted()


class ReadAs(msgspec.Struct, frozen=True):
    """Reading of an input, as JSON has it; ``text`` says it in one line.

    ``columns``: the columns in each role. ``left_out``: columns that hold no labels, and why.
    ``joined``: spellings that are one class. ``no_answer``: cells that are none, and how many.
    """

    text: str
    kind: str
    columns: dict[str, list[str]]
    questions: list[str]
    left_out: dict[str, str]
    joined: list[list[str]]
    no_answer: dict[str, int]


class Meaning(NamedTuple):
    """Meaning of an input: the labels of every question, how it was read, notes."""

    questions: list[QuestionLabels]
    read_as: ReadAs
    notes: list[str]

    @property
    def several(self) -> bool:
        """True if there are several questions, each decided by itself."""
        return len(self.questions) > 1

    def only(self, where: str, how: str) -> QuestionLabels:
        """The one question; several are refused, with the words that name one."""
        if self.several:
            names = _named([(q.name, q.table.height) for q in self.questions])
            raise InputError(where, f"one question ({how})", f"{len(self.questions)}: {names}")
        return self.questions[0]


class Interpreter:
    """Tells what labels mean, all at once or a batch at a time.

    Parameters
    ----------
    names
        The columns as the user named them.
    hints
        What the user says of the labels.
    where
        What messages call the input.
    how
        How the user says so, with ``{}`` for the hint.
    clean
        Whether cells are cleaned: those of files are, tables of Python are taken as they are.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"task": ["a", "a"], "worker": ["ann", "bob"], "label": ["yes", "YES"]}
    >>> roles = Roles("task", "worker", ("label",))
    >>> found = Interpreter().whole([RawLabels(pl.DataFrame(rows), roles)])
    >>> found.read_as.text
    'read as: task=task, worker=worker, label=label (yes)'
    """

    def __init__(
        self,
        names: ColumnNames = ColumnNames(),  # noqa: B008 a tuple
        hints: LabelHints = LabelHints(),  # noqa: B008 a tuple
        *,
        where: str = "labels",
        how: str = "--{}",
        clean: bool = True,
    ) -> None:
        self.names, self.hints, self.where, self.how = names, hints, where, how
        self.clean = clean
        self._known: dict[str, list[object]] = {}
        self._cleaners: dict[str, AnswerCleaner] = {}
        self._picked = ""
        # Of batches: the first, how many rows, which labels and questions have come, their kind.
        self._first: RawLabels | None = None
        self._rows = 0
        self._met: dict[ClassLabel, None] = {}
        self._asked: dict[str, None] = {}
        self._kind: LabelKind | None = None

    def know(self, classes: Iterable[object], question: str = "") -> None:
        """Go on with the classes of earlier runs, whose spellings stay."""
        self._known[question] = list(classes)

    # All at once ----------------------------------------------------------------------------

    def whole(self, raws: Sequence[RawLabels]) -> Meaning:
        """The labels of every question; a file that means something else is refused."""
        raws = list(raws)
        notes: list[str] = []
        found = [
            self._question(name, table, at, repeated=repeated)
            for name, table, at, repeated in self._split(raws, notes)
        ]
        read_as = self._read_as(raws, found)
        notes = [*notes, *self._done_notes(found)]
        return Meaning(found, read_as, notes)

    def _split(
        self, raws: list[RawLabels], notes: list[str]
    ) -> list[tuple[str, CodedLabels, pl.Series | None, bool]]:
        """Name, labels, when they were given, and whether they may be repeated, by question."""
        import polars as pl

        if all(isinstance(raw.labels, CodedLabels) for raw in raws):
            tables = [raw.labels for raw in raws if isinstance(raw.labels, CodedLabels)]
            if self.names.question is not None:
                raise InputError(
                    self.how.format("question"),
                    "a column or a name of a question",
                    f"{self.names.question!r}; the input has one question, without a name",
                )
            return [("", CodedLabels.concat(tables), None, False)]
        frames = [
            raw.labels.frame() if isinstance(raw.labels, CodedLabels) else raw.labels
            for raw in raws
        ]
        table = pl.concat(frames, how="diagonal_relaxed")
        if not any(raw.title for raw in raws):  # tools' answers stay in the order of their tasks
            table = in_order_of_time(table)
        repeated = "repeat" in table.columns
        return [
            (
                name,
                code_frame(part.select("task", "worker", "label")),
                part["at"] if is_timed(part) else None,
                repeated,
            )
            for name, asked in self._by_question(table, raws, notes)
            for part in [_once(asked) if repeated else asked]
        ]

    def _by_question(
        self, table: pl.DataFrame, raws: list[RawLabels], notes: list[str]
    ) -> list[tuple[str, pl.DataFrame]]:
        import polars as pl

        if "question" not in table.columns:
            self._refuse_question([])
            return [("", table)]
        asked = table["question"].cast(pl.String).fill_null("").str.strip_chars()
        table = table.with_columns(asked.alias("question"))
        tool = any(raw.title for raw in raws)
        if not tool and (asked == "").any() and (asked != "").any():
            missing = int((asked == "").sum())
            row = int((asked == "").arg_max() or 0) + 1
            where = f"{self.where}, row {row}"
            raise InputError(where, "a question", f"nothing, as in {counted(missing, 'row')}")
        if not tool and self.names.question is None and self._is_of_the_task(table):
            column = next(raw.roles.question for raw in raws if raw.roles.question)
            notes.append(f"column {column!r} has a value of its own per task: not a question")
            return [("", table)]
        shown = self._question_names(asked)
        table = table.with_columns(asked.replace_strict(shown, return_dtype=pl.String))
        counts = list(table["question"].value_counts(sort=True).iter_rows())
        wanted = self.names.question
        is_column = any(wanted == raw.roles.question for raw in raws)
        if wanted is not None and not is_column:
            forms = {normalise(name): name for name, _ in counts}
            if normalise(wanted) not in forms:
                self._refuse_question(counts)
            self._picked = forms[normalise(wanted)]
            return [("", table.filter(pl.col("question") == self._picked))]
        parts = table.partition_by("question", maintain_order=True)
        if len(parts) < 2:
            self._picked = str(parts[0]["question"][0]) if parts and not tool else ""
            return [("", parts[0] if parts else table)]
        return [(str(part["question"][0]), part) for part in parts]

    def _question_names(self, asked: pl.Series) -> dict[str, str]:
        """One spelling per question, the first that came."""
        first: dict[str, str] = {}
        names = asked.unique(maintain_order=True).to_list()
        if self.hints.exact or not self.clean:
            return {name: name for name in names}
        return {name: first.setdefault(normalise(name), name) for name in names}

    def _refuse_question(self, counts: Sequence[tuple[str, int]]) -> None:
        """Refuse a question that is not there."""
        if self.names.question is not None:
            found = _named(counts) if counts else "one question, without a name"
            expected = f"a question {self.names.question!r} ({self.how.format('question')})"
            raise InputError(self.where, expected, found)

    def _is_of_the_task(self, table: pl.DataFrame) -> bool:
        """Return True if the question is a text of the task: each has its own."""
        pairs = table.select("task", "question").unique()
        tasks = pairs["task"].n_unique()
        return pairs.height == tasks and pairs["question"].n_unique() > max(OWN * tasks, 1)

    def _question(
        self, name: str, table: CodedLabels, at: pl.Series | None, *, repeated: bool
    ) -> QuestionLabels:
        """One question's labels, cleaned, each worker once per task, and what they are."""
        cleaner = self._cleaner(name)
        if self.clean:
            table = cleaner.clean(table)
        classes = list(table.classes)
        hints = fitting(self.hints, classes) if name else self.hints
        kind = find_kind(classes, table.height, hints, self.where_of(name), self.how)
        if kind.recode is not None:
            table = recoded(table, [kind.recode(label) for label in table.classes])
        flips = None
        policy = self.hints.repeats or ("majority" if repeated else None)
        if policy is not None and kind.name != "choices":
            table, flips = one_per_task(table, policy)
            # Without a column that tells repeats apart they may be corrections.
            flips, at = flips if repeated and flips.height else None, None
        picked = "" if name else self._picked
        return QuestionLabels(name, table, kind, flips, at, picked)

    def where_of(self, name: str) -> str:
        """Return the name of a question's labels in messages."""
        return f"{self.where}, question {shown_name(name)!r}" if name else self.where

    def _cleaner(self, name: str) -> AnswerCleaner:
        if name not in self._cleaners:
            cleaner = AnswerCleaner(exact=self.hints.exact, keep=self.hints.keep)
            cleaner.know(self._known.get(name or self._picked, ()))
            self._cleaners[name] = cleaner
        return self._cleaners[name]

    # A batch at a time ------------------------------------------------------------------------

    def batch(self, raw: RawLabels) -> CodedLabels:
        """Some labels of one question, as they are to be counted; what needs all is refused."""
        whole = "it keeps some tasks in memory only"
        if self.hints.choices or self.hints.ordinal or self.hints.order or self.hints.bins:
            raise UsageError(f"--window cannot be combined with a scale or choices ({whole})")
        if raw.roles.repeat is not None or self.hints.repeats is not None:
            raise UsageError(f"--window cannot be combined with repeats ({whole})")
        if self._first is None:
            self._first = raw
        table = self._cleaner("").clean(self._one_question(raw))
        self._rows += table.height
        new = [label for label in table.classes if label not in self._met]
        if new or self._kind is None:
            self._met |= dict.fromkeys(new)
            met = list(self._met)
            self._kind = find_kind(met, self._rows, self.hints, self.where, self.how)
        if self._kind.recode is not None:
            table = recoded(table, [self._kind.recode(label) for label in table.classes])
        return table

    def _one_question(self, raw: RawLabels) -> CodedLabels:
        import polars as pl

        if isinstance(raw.labels, CodedLabels):
            if self.names.question is not None:
                self._refuse_question([])
            return raw.labels
        table = raw.labels
        if "question" in table.columns:
            asked = table["question"].cast(pl.String).fill_null("")
            wanted = self.names.question
            if wanted is not None and wanted != raw.roles.question:
                forms = {name: normalise(name) for name in asked.unique()}
                table = table.filter(asked.replace_strict(forms) == normalise(wanted))
            else:
                self._asked |= dict.fromkeys(asked.unique(maintain_order=True))
                if len(self._asked) > 1:
                    found = f"{len(self._asked)}: {', '.join(map(shown_name, self._asked))}"
                    raise InputError(self.where, "one question (--question NAME picks one)", found)
        return code_frame(table.select("task", "worker", "label"))

    def restart(self) -> None:
        """Begin again: the same labels are about to come once more."""
        self._rows = 0
        for cleaner in self._cleaners.values():
            cleaner.restart()

    def read_as(self) -> ReadAs | None:
        """Return how the batches so far were read; None before any."""
        if self._first is None:
            return None
        one = QuestionLabels("", _no_labels(self._met), self._kind or LabelKind())
        return self._read_as([self._first], [one])

    def notes(self) -> list[str]:
        """Return the notes on all batches."""
        return self._done_notes([QuestionLabels("", _no_labels(self._met))])

    @property
    def no_answers(self) -> int:
        """Cells that hold none."""
        return sum(sum(cleaner.no_answer.values()) for cleaner in self._cleaners.values())

    # What to say ------------------------------------------------------------------------------

    def _done_notes(self, questions: Sequence[QuestionLabels]) -> list[str]:
        if not self.clean:
            return []
        notes: list[str] = []
        for question in questions:
            cleaner = self._cleaner(question.name)
            done = Done(cleaner.joined(), dict(cleaner.no_answer), cleaner.twins())
            said = done_notes(done, self.how)
            if found := suggestion(list(question.table.classes), question.kind, self.how):
                said.append(found)
            notes += [f"{question.name}: {note}" if question.name else note for note in said]
        for label in self.hints.keep:
            if all(label in self._cleaner(question.name).unmet() for question in questions):
                raise InputError(self.how.format("keep"), "a label of the input", repr(label))
        return list(dict.fromkeys(notes))

    def _read_as(self, raws: list[RawLabels], questions: list[QuestionLabels]) -> ReadAs:
        roles = raws[0].roles
        left_out = {name: why for raw in raws for name, why in raw.left_out.items()}
        several = [question.name for question in questions if question.name]
        columns: dict[str, list[str]] = {"task": [roles.task]}
        parts = [f"task={shown_name(roles.task)}"]
        one = questions[0]
        if roles.worker is None:
            columns["worker"] = list(roles.labels)
            more = f" and {len(roles.labels) - SHOWN:,} more" if len(roles.labels) > SHOWN else ""
            named = ", ".join(map(shown_name, roles.labels[:SHOWN]))
            parts.append(f"workers={named}{more} (a column each)")
            parts.append(f"label={_kind_words(one, several)}")
        else:
            columns |= {"worker": [roles.worker], "label": list(roles.labels)}
            parts.append(f"worker={shown_name(roles.worker)}")
            if len(roles.labels) > 1:
                named = ", ".join(map(shown_name, roles.labels))
                parts.append(f"label={named} ({len(roles.labels)} questions)")
            else:
                parts.append(f"label={shown_name(roles.labels[0])}{_kind_words(one, several, 1)}")
        if roles.question is not None:
            columns["question"] = [roles.question]
            number = len(several) or 1
            parts.append(f"question={shown_name(roles.question)} ({number})")
        if roles.repeat is not None:
            columns["repeat"] = [roles.repeat]
            parts.append(f"repeat={shown_name(roles.repeat)}")
        if roles.at is not None and any(question.at is not None for question in questions):
            columns["at"] = [roles.at]
            parts.append(f"at={shown_name(roles.at)}")
        if raws[0].title:  # a tool has its own names for what is where
            parts = [f"{len(several)} questions" if several else f"labels {_kind_words(one, [])}"]
        title = f"{raws[0].title}, " if raws[0].title else ""
        text = f"read as: {title}{', '.join(parts)}"
        if left_out:
            text += f"; left out: {', '.join(map(shown_name, left_out))}"
        joined, none = [], dict[str, int]()
        for cleaner in self._cleaners.values():
            joined += cleaner.joined()
            for label, count in cleaner.no_answer.items():
                none[label] = none.get(label, 0) + count
        kinds = list(dict.fromkeys(question.kind.name for question in questions))
        kind = kinds[0] if len(kinds) == 1 else ", ".join(kinds)
        return ReadAs(text, kind, columns, several, left_out, joined, none)


def _once(table: pl.DataFrame) -> pl.DataFrame:
    """Each verdict of a worker on a task once: the same repeat again is the same verdict."""
    return table.unique(["task", "worker", "repeat"], keep="last", maintain_order=True)


def _no_labels(classes: Iterable[ClassLabel]) -> CodedLabels:
    """No labels, of these classes."""
    return replace(code_values([]), classes=Vocabulary(classes))


def _kind_words(one: QuestionLabels, several: list[str], space: int = 0) -> str:
    """The classes of the labels, or what they were made of."""
    if several:
        return " (per question)" if space else "per question"
    words = class_words(list(one.table.classes), one.kind)
    return f" ({words})" if space else words


def _named(counts: Sequence[tuple[str, int]]) -> str:
    """Questions with their numbers of labels, those with most first."""
    names = [f"{name or '(no name)'} ({counted(number, 'label')})" for name, number in counts]
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
