"""A panel's verdicts in whatever shape they come: long, wide, or a dict of dicts.

What comes out is what estimators take. Knows nothing of how verdicts are weighed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.labels import (
    Answers,
    ClassLabel,
    CodedLabels,
    ColumnNames,
    Kind,
    Row,
    Table,
    TaskId,
    Truths,
    Vocabulary,
    WorkerId,
    clean_answers,
    code_table,
    kind_of,
    read_truths,
    shorten,
)
from crowdstream.labels.coded_labels import code_values
from crowdstream.labels.coding import interpret, row_values
from crowdstream.labels.columns import count_roles
from crowdstream.labels.meaning.interpreting import QuestionLabels
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.tables import is_table, select_columns

PanelVotes: TypeAlias = "Table | Mapping[str, Answers] | Mapping[int, Answers]"
"""Verdicts of a panel: a long or a wide table, rows, or item → {judge: verdict}."""

MOST_JUDGES = 1000
"""Judges of a panel whose pairs are looked at, at most: half a million pairs."""


class Panel(NamedTuple):
    """Verdicts that can be read again and again, and the kind of table they came in."""

    question: QuestionLabels
    kind: Kind

    @property
    def table(self) -> CodedLabels:
        """The verdicts."""
        return self.question.table


def read_panel(votes: PanelVotes, meaning: TableMeaning | None = None) -> Panel:
    """Verdicts in one shape.

    A table that has an item column and neither a judge nor a label column is wide: each of its
    other columns is a judge. ``None`` and gaps are verdicts that were not given.

    >>> read_panel({"q1": {"gpt": "yes", "claude": None}}).table.frame().rows()
    [('q1', 'gpt', 'yes'), ('q1', 'claude', None)]
    >>> import polars as pl
    >>> wide = pl.DataFrame({"item": ["q1"], "gpt": ["yes"], "claude": ["yes"]})
    >>> read_panel(wide).table.frame().rows()
    [('q1', 'gpt', 'yes'), ('q1', 'claude', 'yes')]
    """
    meaning = {} if meaning is None else meaning
    if isinstance(votes, Mapping):
        coded = code_values(row_values(row, k) for k, row in enumerate(_rows_of(votes), start=1))
        return Panel(interpret(coded, **meaning).questions[0], Kind())
    if isinstance(votes, (str, bytes)) or not (
        is_table(votes) or isinstance(votes, (Iterable, CodedLabels, QuestionLabels))
    ):
        expected = "a table, rows, or a dict of items (a file: crowdstream jury FILE)"
        raise InputError("votes", expected, shorten(votes))
    kind = kind_of(votes)
    if is_table(votes):
        votes = select_columns(votes, lambda header: list(dict.fromkeys(header)))
        if not meaning.get("wide") and _is_wide(meaning, votes.columns):
            meaning = {**meaning, "wide": True}
    found = interpret(cast("Table", votes), **meaning)
    return Panel(found.only("votes", "question= names one"), kind)


def _is_wide(meaning: TableMeaning, header: list[str]) -> bool:
    """Return True if only the item's column is there, and no other was named."""
    named = meaning.get("worker") is not None or meaning.get("label") is not None
    return not named and count_roles(ColumnNames(), header) == 1 and len(header) > 1


def _rows_of(votes: Mapping[str, Answers] | Mapping[int, Answers]) -> list[Row]:
    """Rows of a dict of dicts; an item without any verdict keeps a row of its own."""
    rows: list[Row] = []
    for item, answers in votes.items():
        if not isinstance(answers, Mapping):
            raise InputError(f"votes[{item!r}]", "a dict of judge → verdict", shorten(answers))
        given = clean_answers(answers)
        rows += [(item, judge, verdict) for judge, verdict in given]
        if not given:
            rows.append((item, None, None))
    return rows


class Scored(NamedTuple):
    """Verdicts on tasks of known truth: one row per task, one column per judge, −1 for none.

    ``names``: of the classes.
    """

    workers: list[WorkerId]
    tasks: list[TaskId]
    said: NDArray[np.int32]
    truth: NDArray[np.int32]
    names: list[ClassLabel]

    @property
    def given(self) -> NDArray[np.bool_]:
        """Mask of the verdicts that were given."""
        return self.said >= 0

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Mask of the verdicts that are wrong."""
        return np.asarray(self.given & (self.said != self.truth[:, None]))

    @property
    def classes(self) -> int:
        """Number of classes that judges or truths name."""
        return int(max(self.said.max(initial=0), self.truth.max(initial=0))) + 1


def score_panel(table: Table, gold: Truths) -> Scored:
    """The verdicts on the items whose truth is known, as a matrix."""
    if gold is None or not read_truths(gold):
        raise InputError("gold", "the true labels of some items", "none")
    judges, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(table, judges, classes, gold=gold)
    if len(judges) > MOST_JUDGES:
        found = f"{len(judges):,}"
        raise InputError("votes", f"a panel of at most {MOST_JUDGES:,} judges", found)
    known = np.flatnonzero(batch.known_truths >= 0)
    if not known.size:
        raise InputError("gold", "true labels of items that were judged", "none of them")
    held = batch.pick(known)
    said = np.full((known.size, len(judges)), -1, np.int32)
    said[np.repeat(np.arange(known.size), held.sizes), held.workers] = held.labels
    return Scored(judges.to_list(), list(held.tasks), said, held.truths, classes.to_list())
