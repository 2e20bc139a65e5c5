"""Meaning of labels that are elsewhere, say on a cluster: only their counts are known.

The rules are those of `Interpreter`; the labels themselves are recoded where they are. Knows
nothing of where that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import InputError
from crowdstream.labels.columns import Roles
from crowdstream.labels.label import ClassLabel
from crowdstream.labels.meaning.interpreting import (
    Interpreter,
    QuestionLabels,
    RawLabels,
    ReadAs,
    _no_labels,
)
from crowdstream.labels.meaning.kinds import LabelKind, find_kind, fitting
from crowdstream.labels.spelling import normalise
from crowdstream.plain_text import counted

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class CountedQuestion:
    """One question: what its rows are told by, and what each of its labels counts as.

    ``name`` is empty where the input has one question only. ``spellings``: what stands in the
    question column of its rows; empty if all rows are its own. ``classes``: label as it is written
    → class, None for no answer. ``rows``, ``no_answers``: how many rows it has, and how many of
    them say that there is no answer.
    """

    name: str
    spellings: tuple[str, ...]
    classes: Mapping[ClassLabel, ClassLabel | None]
    kind: LabelKind
    rows: int
    no_answers: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be recoded label by label."""
        assert self.kind.name == "classes", self.kind.name

    @property
    def shown(self) -> list[ClassLabel]:
        """The classes."""
        return list(dict.fromkeys(c for c in self.classes.values() if c is not None))

    @property
    def changes(self) -> bool:
        """True if any label counts as another than is written."""
        return any(
            type(label) is not type(shown) or label != shown
            for label, shown in self.classes.items()
        )


class CountedMeaning(NamedTuple):
    """Meaning of counted labels: the questions, how they were read, notes."""

    questions: list[CountedQuestion]
    read_as: ReadAs
    notes: list[str]


class CountedInterpreter(Interpreter):
    """Tells what labels mean of which only the numbers are known; takes what `Interpreter` takes.

    Examples
    --------
    >>> import polars as pl
    >>> counts = pl.DataFrame({"label": ["yes", "YES", "N/A"], "count": [3, 1, 1]})
    >>> found = CountedInterpreter().counted(counts, Roles("item", "judge", ("verdict",)))
    >>> dict(found.questions[0].classes)
    {'yes': 'yes', 'YES': 'yes', 'N/A': None}
    >>> found.read_as.text
    'read as: task=item, worker=judge, label=verdict (yes)'
    """

    def counted(
        self,
        counts: pl.DataFrame,
        roles: Roles,
        left_out: Mapping[str, str] | None = None,
    ) -> CountedMeaning:
        """Tell what labels mean; those that mean something else than classes are refused.

        Parameters
        ----------
        counts
            Label, count, and question where rows tell it; in the order in which labels came.
        roles
            The columns that they were in.
        left_out
            Columns that hold no labels, and why.
        """
        raw = RawLabels(_no_labels(()), roles, left_out or {})
        found = [self._counted(*each) for each in self._counted_questions(counts, roles)]
        labels = [QuestionLabels(each.name, _no_labels(each.shown), each.kind) for each in found]
        return CountedMeaning(found, self._read_as([raw], labels), self._done_notes(labels))

    def _counted_questions(
        self, counts: pl.DataFrame, roles: Roles
    ) -> list[tuple[str, tuple[str, ...], pl.DataFrame]]:
        """Name, spellings of it, and counts of each question."""
        import polars as pl

        if "question" not in counts.columns:
            self._refuse_question([])
            return [("", (), counts)]
        asked = counts["question"]
        missing = int(counts.filter(asked == "")["count"].sum())
        if missing and (asked != "").any():
            found = f"nothing in {counted(missing, 'row')}"
            raise InputError(self.where, "a question in every row", found)
        shown = self._question_names(asked)
        spellings: dict[str, list[str]] = {}
        for text, name in shown.items():
            spellings.setdefault(name, []).append(text)
        parts = {
            name: counts.filter(asked.is_in(texts)).drop("question")
            for name, texts in spellings.items()
        }
        wanted = self.names.question
        if wanted is not None and wanted != roles.question:
            rows = {name: int(part["count"].sum()) for name, part in parts.items()}
            forms = {normalise(name): name for name in parts}
            if normalise(wanted) not in forms:
                self._refuse_question(sorted(rows.items(), key=lambda item: -item[1]))
            name = forms[normalise(wanted)]
            return [("", tuple(spellings[name]), parts[name])]
        if len(parts) <= 1:
            return [("", (), pl.concat([*parts.values()]) if parts else counts.drop("question"))]
        return [(name, tuple(spellings[name]), part) for name, part in parts.items()]

    def _counted(
        self, name: str, spellings: tuple[str, ...], counts: pl.DataFrame
    ) -> CountedQuestion:
        """Return what the labels of one question count as."""
        import polars as pl

        rows = int(counts["count"].sum())
        each = (
            counts.drop_nulls("label")
            .group_by("label", maintain_order=True)
            .agg(pl.col("count").sum())
        )
        labels: list[ClassLabel] = each["label"].to_list()
        shown: Sequence[ClassLabel | None] = labels
        if self.clean:
            shown = self._cleaner(name).answers(labels, each["count"].to_numpy())
        classes = list(dict.fromkeys(label for label in shown if label is not None))
        hints = fitting(self.hints, classes) if name else self.hints
        kind = find_kind(classes, rows, hints, self.where_of(name), self.how)
        if kind.recode is not None:
            shown = [None if label is None else kind.recode(label) for label in shown]
        of = dict(zip(labels, shown, strict=True))
        none = each.filter(pl.Series([label is None for label in shown], dtype=pl.Boolean))
        return CountedQuestion(name, spellings, of, kind, rows, int(none["count"].sum()))
