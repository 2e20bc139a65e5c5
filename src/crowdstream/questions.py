"""Several questions about the same tasks: a crowd each, decided and saved together.

A worker who knows one thing need not know another, so nothing is shared between questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from crowdstream.defaults import LEVEL, MIN_LABELS, SETTLE
from crowdstream.errors import StateError
from crowdstream.estimators import Adaptive, Estimator
from crowdstream.labels import Table, Truths, in_kind, kind_of, read_truths
from crowdstream.labels.coding import interpret
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.tables import Kind, select_columns
from crowdstream.serialization import Savable, read_state, seal, unseal

if TYPE_CHECKING:
    import polars as pl

SAVED_AS = "crowds"
"""Kind of the saved bytes."""


class Questions(Savable):
    """Estimators of several questions, as `fit_questions` makes them.

    Parameters
    ----------
    crowds
        The estimator of each question.
    decisions
        The decisions on all questions, with a column ``question``; None if they were not kept.

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = [
    ...     {"task": t, "worker": w, "question": q, "label": (t + len(q)) % 2}
    ...     for t in range(20) for w in ("ann", "bob", "cy") for q in ("tone", "toxic")
    ... ]
    >>> found = cs.fit_questions(rows)
    >>> sorted(found), found["tone"].tasks_
    (['tone', 'toxic'], 20)
    >>> found.decisions.columns[:3]
    ['question', 'task', 'label']
    """

    def __init__(self, crowds: Mapping[str, Estimator], decisions: Any = None) -> None:
        self.crowds = dict(crowds)
        self.decisions = decisions
        self._kind = Kind()

    def __getitem__(self, question: str) -> Estimator:
        return self.crowds[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self.crowds)

    def __len__(self) -> int:
        return len(self.crowds)

    def __repr__(self) -> str:
        return f"Questions({', '.join(map(repr, self.crowds))})"

    def workers(self, level: float = LEVEL) -> Any:
        """Return the workers of every question, with a column ``question``.

        Parameters
        ----------
        level
            Confidence level of the intervals.

        Examples
        --------
        >>> import crowdstream as cs
        >>> rows = [
        ...     {"task": t, "worker": w, "question": q, "label": t % 2}
        ...     for t in range(20) for w in ("ann", "bob", "cy") for q in ("tone", "toxic")
        ... ]
        >>> cs.fit_questions(rows).workers().select("question", "worker").height
        6
        """
        tables = {name: _as_polars(crowd.workers(level=level)) for name, crowd in self.items()}
        return in_kind(by_question(tables), self._kind)

    def items(self) -> Iterator[tuple[str, Estimator]]:
        """Yield every question with its crowd.

        Examples
        --------
        >>> import crowdstream as cs
        >>> list(Questions({"tone": cs.MajorityVote()}).items())
        [('tone', MajorityVote())]
        """
        return iter(self.crowds.items())

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes, versioned and with a checksum.

        Examples
        --------
        >>> import crowdstream as cs
        >>> list(cs.load(Questions({"tone": cs.MajorityVote()}).to_bytes()))
        ['tone']
        """
        saved = {name: crowd.to_bytes() for name, crowd in self.items()}
        return seal(SAVED_AS, msgspec.msgpack.encode(saved))

    @classmethod
    def load(cls, source: bytes | str | Path) -> Questions:
        """Load what `save` or `to_bytes` saved.

        Parameters
        ----------
        source
            A path, or bytes.

        Examples
        --------
        >>> import crowdstream as cs
        >>> Questions.load(Questions({"tone": cs.MajorityVote()}).to_bytes())
        Questions('tone')
        """
        payload = unseal(SAVED_AS, read_state(source))
        try:
            saved = msgspec.msgpack.decode(payload, type=dict[str, bytes])
        except msgspec.MsgspecError as error:
            raise StateError(f"not saved questions: {error}") from None
        return cls({name: Estimator.load(data) for name, data in saved.items()})


def fit_questions(
    data: Table,
    crowd: Estimator | None = None,
    *,
    gold: Truths | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    **meaning: Unpack[TableMeaning],
) -> Questions:
    """Decide every question of a table by itself: own classes, own crowd.

    Parameters
    ----------
    data
        A table or rows with a question column (question, criterion, metric, …), or with a column of
        labels per question (``label=["tone", "toxic"]``). A table of one question is decided too.
    crowd
        The estimator whose parameters are taken; `Adaptive` by default. It is not changed.
    gold
        True classes of some tasks: a table of task, question and label.
    settle, min_labels
        Confidence and number of labels from which a decision is settled.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Returns
    -------
    The crowds by question, and ``decisions``: a table of the kind that came in.

    Examples
    --------
    >>> import crowdstream as cs
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "item": [t for t in range(20) for _ in "abc"],
    ...     "judge": list("abc") * 20,
    ...     "tone": ["good" if t % 2 else "bad" for t in range(20) for _ in "abc"],
    ...     "toxic": ["yes" if t % 3 else "no" for t in range(20) for _ in "abc"],
    ... })
    >>> found = cs.fit_questions(table, label=["tone", "toxic"])
    >>> found.decisions["question"].unique().tolist()
    ['tone', 'toxic']
    """
    template = Adaptive() if crowd is None else crowd
    kind = kind_of(data)
    found = interpret(data, **meaning)
    crowds, tables = {}, {}
    for question in found.questions:
        each = template.clone()
        truths = None if gold is None else read_truths(gold, question=question.name)
        decided = each.fit_predict(
            question, gold=truths or None, settle=settle, min_labels=min_labels
        )
        crowds[question.name], tables[question.name] = each, _as_polars(decided)
    made = Questions(crowds, in_kind(by_question(tables), kind))
    made._kind = kind
    return made


def by_question(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Tables of several questions as one, the question in its first column."""
    import polars as pl

    named = [
        table.select(pl.lit(question).alias("question"), pl.all())
        for question, table in tables.items()
    ]
    return named[0] if len(named) == 1 else pl.concat(named, how="diagonal_relaxed")


def _as_polars(table: Any) -> pl.DataFrame:
    return select_columns(table, lambda header: header)
