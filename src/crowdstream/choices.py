"""Choices (multi-select): sets of classes as yes or no per task and class, and back to sets.

    table of sets  →  `Choices.of`     →  pairs (task, class) with votes yes and no
    pairs          →  any estimator    →  decisions of pairs
    decisions      →  `Choices.join`   →  one set per task

A worker who answered a task and did not choose a class said no to it. Skills are learnt over all
pairs, so they are shared by the classes. Reads tables of labels and decisions; an estimator is
handed in, none is known by name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.class_effects import PairVotes, class_posteriors
from crowdstream.decisions import MIN_LABELS, SETTLE, SettleRule
from crowdstream.errors import InputError
from crowdstream.labels import ArrowTable, CodedLabels, LabelBatch, TaskId, Vocabulary, shorten
from crowdstream.labels.choice_cells import (
    MAY_BE_LIST,
    SEPARATORS,
    find_separator,
    read_list,
    several_choices,
    split_cell,
)
from crowdstream.labels.coded_labels import SCHEMA, code_series
from crowdstream.labels.coding import ANY_NAMES
from crowdstream.labels.spelling import normalise, tidy_series
from crowdstream.labels.tables import ColumnNames, find_columns, select_columns

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO, YES = "no", "yes"
"""The two classes of a pair."""

JOINER = "|"
"""Stands between the classes of a set where the cells have no separator of their own."""

MOST_ROWS = 20_000_000
"""Votes on pairs up to which all pairs are made: they take 160 MB, an estimator some seconds."""

QUIET = 10
"""Pairs that nobody chose, per pair that somebody chose, which are learnt at least where not all
can be. Without them workers seem to choose wrongly far more often than they do, and sets are worse
than by majority vote. With 2 they still are if tasks have 3 labels, with 5 they are on a par, with
10 nearly as good as with all: `benchmarks/choices.py --pairs`, 20 to 1,000 classes."""

LOOKED_AT = 10_000
"""Distinct cells that are looked at for a separator: they take 0.03 seconds."""

MOST_CELLS = 100_000_000
"""Tasks × classes of a table of probabilities, as for other tables of one column per class."""

DIGITS = 4
"""Decimals of the confidences that are written as text."""

Cell: TypeAlias = str | Collection[str]
"""A set of classes: the text of a cell, or the classes themselves."""

SetsByTask: TypeAlias = Mapping[str, Cell] | Mapping[int, Cell] | Mapping[TaskId, Cell]
"""Sets by the name of their task."""


class PairCrowd(Protocol):
    """The verbs of an estimator that pairs are decided with."""

    @property
    def identifiable_(self) -> object:
        """True by itself if votes are weighed, not counted."""

    def fit(self, data: Any, *, gold: Any = None) -> Any:
        """Learn a table."""

    def fit_predict(
        self, data: Any, *, gold: Any = None, settle: float | None = SETTLE, min_labels: int = 2
    ) -> Any:
        """Learn a table and decide its tasks."""

    def predict_many(
        self, data: Any, *, gold: Any = None, settle: float | None = SETTLE, min_labels: int = 2
    ) -> Any:
        """Decide the tasks of a table."""


class SetScores(NamedTuple):
    """How well sets match the truth.

    Attributes
    ----------
    micro
        F1 over all choices of all tasks.
    macro
        Mean F1 of the classes that were decided or are true somewhere.
    sample
        Mean F1 of the tasks; 1 where both sets are empty.
    exact
        Share of the tasks whose set is exactly right.
    tasks
        Tasks that were compared.
    """

    micro: float
    macro: float
    sample: float
    exact: float
    tasks: int


@dataclass(frozen=True, eq=False)
class Choices:
    """Sets of classes as votes of yes and no on pairs of task and class.

    Made by `Choices.of`.

    Attributes
    ----------
    tasks
        The tasks in order of first appearance.
    classes
        The classes in order of first appearance.
    separator
        What stands between the classes of a cell; None where cells hold one class or JSON lists.
    pairs
        Votes on pairs, for an estimator to learn from: all pairs, or where these would be more than
        `MOST_ROWS` votes a sample of them. A pair is named after its task and class.
    asked
        Votes on the pairs that must be decided where ``pairs`` is a sample; None where it is not.

    Examples
    --------
    >>> import crowdstream as cs
    >>> import polars as pl
    >>> rows = [("t1", "ann", "cat|dog"), ("t1", "bob", "dog|cat"), ("t2", "ann", "cat")]
    >>> choices = Choices.of(pl.DataFrame(rows, ["task", "worker", "label"], orient="row"))
    >>> choices.pairs.frame().rows()[:3]
    [('t1: cat', 'ann', 'yes'), ('t1: cat', 'bob', 'yes'), ('t1: dog', 'ann', 'yes')]
    >>> decisions = choices.decide_pairs(cs.MajorityVote())
    >>> choices.join(decisions).select("task", "label", "votes").rows()
    [('t1', 'cat|dog', 2), ('t2', 'cat', 1)]
    """

    tasks: pl.Series = field(repr=False)
    classes: tuple[str, ...]
    separator: str | None
    pairs: CodedLabels = field(repr=False)
    asked: CodedLabels | None = field(repr=False)
    _votes: _Votes = field(repr=False)
    _learnt: Ints = field(repr=False)
    _asked: Ints = field(repr=False)

    @classmethod
    def of(
        cls,
        table: ArrowTable,
        *,
        separator: str | None = None,
        exact: bool = True,
        columns: ColumnNames = ANY_NAMES,
        most_rows: int = MOST_ROWS,
    ) -> Choices:
        """Read a table of tasks, workers and labels whose cells are sets.

        Several rows of one worker on one task are the union of their sets. An empty cell is no
        answer; an empty JSON list says no to every class.

        Parameters
        ----------
        table
            The table. Cells are text, numbers, booleans, or lists of these.
        separator
            What stands between the classes of a cell; by default what `find_separator` finds.
        exact
            If False, classes that differ in case, blanks or Unicode form only are one.
        columns
            The table's columns, where they are not called by one of their aliases.
        most_rows
            Votes on pairs up to which all pairs are made.

        Raises
        ------
        InputError
            If a row has no task or no worker, if a cell begins like a list and is none, or if cells
            use several separators.

        Examples
        --------
        >>> import polars as pl
        >>> columns = {"task": [7, 7], "worker": ["ann", "ann"], "label": ["cat", "dog"]}
        >>> Choices.of(pl.DataFrame(columns)).pairs.frame().rows()
        [('7: cat', 'ann', 'yes'), ('7: dog', 'ann', 'yes')]
        """
        frame = select_columns(table, lambda found: find_columns(columns, found, "table", "{}="))
        frame.columns = list(SCHEMA)
        for role in SCHEMA[:2]:
            if frame[role].null_count():
                row = int(frame[role].is_null().arg_max() or 0) + 1
                raise InputError(f"row {row}", f"a {role}", "none")
        tasks, task_names = code_series(frame["task"])
        workers, worker_names = code_series(frame["worker"])
        cells, texts = code_series(_as_text(frame["label"]))
        separator = _separator_of(texts) if separator is None else separator
        sets = _Sets.of(texts, separator, exact=exact)
        votes = _Votes.of(tasks, workers, cells, sets, len(task_names), len(worker_names))
        learnt, asked = _choose_pairs(votes, most_rows)
        names = _PairNames(task_names, sets.classes)
        people = Vocabulary(worker_names.to_list())
        return cls(
            task_names,
            tuple(sets.classes),
            separator,
            votes.on(learnt, names, people),
            votes.on(asked, names, people) if asked.size else None,
            votes,
            learnt,
            asked,
        )

    def truths(self, truth: SetsByTask) -> dict[TaskId, str]:
        """Return the true label of every pair of some tasks: gold for an estimator.

        Classes that nobody chose on any task have no pairs.

        Parameters
        ----------
        truth
            The true set of some tasks, as text or as classes.

        Examples
        --------
        >>> import polars as pl
        >>> columns = {"task": ["t1"] * 2, "worker": ["ann", "bob"], "label": ["cat", "dog"]}
        >>> Choices.of(pl.DataFrame(columns)).truths({"t1": "dog"})
        {'t1: cat': 'no', 't1: dog': 'yes'}
        """
        import polars as pl

        known = self._known(truth)
        found: dict[TaskId, str] = {}
        for table, codes in ((self.pairs, self._learnt), (self.asked, self._asked)):
            if table is not None and known:
                inside = np.isin(codes // self._k, np.fromiter(known, np.int64))
                names = pl.Series(table.batch.tasks).filter(pl.Series(inside))
                for name, pair in zip(names, codes[inside].tolist(), strict=True):
                    task, place = divmod(pair, self._k)
                    found[name] = YES if self.classes[place] in known[task] else NO
        return found

    def decide_pairs(
        self,
        crowd: PairCrowd,
        *,
        gold: SetsByTask | None = None,
        settle: float | None = SETTLE,
        min_labels: int = MIN_LABELS,
        by_class: bool = True,
    ) -> pl.DataFrame:
        """Let an estimator learn the pairs and decide them: what `join` takes.

        The estimator takes all classes for alike. If it could weigh the votes, its posteriors are
        corrected by how common and how hard each class is (see `crowdstream.class_effects`), unless
        there are too many pairs to decide them all.

        Parameters
        ----------
        crowd
            The estimator; it begins afresh.
        gold
            The true set of some tasks.
        settle, min_labels
            As for `fit_predict`.
        by_class
            If False, posteriors stay those of the estimator.

        Returns
        -------
        One row per pair, as of `fit_predict`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> import polars as pl
        >>> columns = {"task": ["t1"] * 2, "worker": ["ann", "bob"], "label": ["cat"] * 2}
        >>> Choices.of(pl.DataFrame(columns)).decide_pairs(cs.MajorityVote())["label"].to_list()
        ['yes']
        """
        rule = SettleRule.checked(settle, min_labels)
        truths = self.truths(gold) if gold else {}
        if self.asked is None:
            found = crowd.fit_predict(
                self.pairs, gold=truths or None, settle=settle, min_labels=min_labels
            )
            decisions = select_columns(found, lambda header: header)
            if by_class and crowd.identifiable_:
                decisions = self._by_class(decisions, truths, rule)
            return decisions
        learnt = set(self.pairs.batch.tasks) if truths else set()
        crowd.fit(self.pairs, gold={p: x for p, x in truths.items() if p in learnt} or None)
        found = crowd.predict_many(
            self.asked, gold=truths or None, settle=settle, min_labels=min_labels
        )
        return select_columns(found, lambda header: header)

    def _by_class(
        self, decisions: pl.DataFrame, truths: Mapping[TaskId, str], rule: SettleRule
    ) -> pl.DataFrame:
        """Decisions of all pairs, corrected by how common and how hard each class is."""
        import polars as pl

        batch, known = self.pairs.batch, np.full(decisions.height, -1, np.int8)
        if truths:
            code = {name: int(label == YES) for name, label in truths.items()}
            known = (
                decisions["task"].replace_strict(code, default=-1, return_dtype=pl.Int8).to_numpy()
            )
        votes = PairVotes(
            batch.starts,
            batch.workers,
            batch.labels,
            self._learnt % max(self._k, 1),
            known,
            len(self.pairs.workers),
            self._k,
        )
        said = (decisions["label"] == YES).fill_null(False).to_numpy()
        sure = decisions["confidence"].to_numpy()
        chances = class_posteriors(np.where(said, sure, 1.0 - sure), votes)
        said = (chances > 0.5) | (said & (chances == 0.5))
        right = np.maximum(chances, 1.0 - chances)
        settled = np.zeros(right.size, np.bool_)
        if rule.confidence is not None:
            # Where it was sure enough and not settled, that rests on newcomers: it still does.
            on_newcomers = (sure >= rule.confidence) & ~decisions["settled"].to_numpy()
            settled = (right >= rule.confidence) & (batch.sizes >= rule.min_labels)
            settled = (settled & ~on_newcomers) | (known >= 0)
        return decisions.with_columns(
            pl.Series("label", np.where(said, YES, NO)),
            pl.Series("confidence", right),
            pl.Series("margin", 2.0 * right - 1.0),
            pl.Series("settled", settled),
        )

    def join(self, decisions: ArrowTable, *, gold: SetsByTask | None = None) -> pl.DataFrame:
        """Join the decisions of pairs to one set per task.

        A class that nobody chose on a task is not in its set.

        Parameters
        ----------
        decisions
            Decisions of pairs: of `decide_pairs`, or of any estimator on ``pairs``.
        gold
            The true set of some tasks, which is their decision.

        Returns
        -------
        One row per task in order of first appearance: ``task``; ``label``, the set as text, its
        classes in order of first appearance, ``[]`` if it is empty, null if nobody answered;
        ``confidence``, the probability that the whole set is right (the product over all classes);
        ``confidences``, that of each class in the set, as text; ``least``, the class that is least
        sure, in the set or not, and ``least_confidence``, how sure; ``votes``, the workers who
        answered; ``settled``, whether all classes are.

        Examples
        --------
        >>> import crowdstream as cs
        >>> import polars as pl
        >>> columns = {"task": ["t1"] * 2, "worker": ["ann", "bob"], "label": ["cat|dog", "cat"]}
        >>> choices = Choices.of(pl.DataFrame(columns), separator="|")
        >>> choices.join(choices.decide_pairs(cs.MajorityVote())).row(0, named=True)["least"]
        'dog'
        """
        import polars as pl

        found = self._read(decisions)
        rest = self._rest(found)
        with np.errstate(divide="ignore"):
            logs = np.bincount(found.task, np.log(found.right), self._t).astype(np.float64)
            logs += rest.missing * np.log(np.where(rest.missing > 0, rest.right, 1.0))
        answered = self._votes.sizes > 0
        least, least_sure = self._least(found, rest)
        unsettled = np.bincount(found.task, ~found.settled, self._t) > 0
        unsettled |= (rest.missing > 0) & ~rest.settled
        chosen = found.yes
        cells = self._cells(found.task[chosen], found.place[chosen], found.right[chosen])
        joined = pl.DataFrame(
            {
                "task": self.tasks,
                "label": cells["label"],
                "confidence": np.where(answered, np.exp(logs), 0.0),
                "confidences": cells["confidences"],
                "least": least,
                "least_confidence": np.where(answered, least_sure, 0.0),
                "votes": self._votes.sizes,
                "settled": answered & ~unsettled,
            }
        )
        none = pl.lit(None, pl.String)
        texts = ("label", "confidences", "least")
        joined = joined.with_columns(
            pl.when(pl.Series(answered)).then(pl.col(name)).otherwise(none).alias(name)
            for name in texts
        )
        return self._with_gold(joined, gold) if gold else joined

    def probabilities(self, decisions: ArrowTable) -> pl.DataFrame:
        """Return the probability that each class belongs to the set: a row per task.

        Parameters
        ----------
        decisions
            Decisions of pairs: of `decide_pairs`, or of any estimator on ``pairs``.

        Returns
        -------
        A column ``task`` and one per class; a class whose name is taken goes by ``class_`` and it.

        Examples
        --------
        >>> import crowdstream as cs
        >>> import polars as pl
        >>> columns = {"task": ["t1"] * 2, "worker": ["ann", "bob"], "label": ["cat|dog", "cat"]}
        >>> choices = Choices.of(pl.DataFrame(columns), separator="|")
        >>> choices.probabilities(choices.decide_pairs(cs.MajorityVote())).rows()
        [('t1', 0.75, 0.5)]
        """
        import polars as pl

        if self._t * self._k > MOST_CELLS:
            size = f"{self._t:,} tasks × {self._k:,} classes"
            expected = f"at most {MOST_CELLS:,} tasks × classes at a time"
            raise InputError("probabilities", expected, size)
        found = self._read(decisions)
        rest = self._rest(found)
        chances = np.repeat(1.0 - rest.right, self._k).reshape(self._t, self._k)
        chances[self._votes.sizes == 0] = 0.0
        chances[found.task, found.place] = found.chance
        columns: dict[str, object] = {"task": self.tasks}
        for place, name in enumerate(self.classes):
            while name in columns:
                name = f"class_{name}"
            columns[name] = chances[:, place]
        return pl.DataFrame(columns)

    # Shapes ----------------------------------------------------------------------------------

    @property
    def _t(self) -> int:
        return len(self.tasks)

    @property
    def _k(self) -> int:
        return len(self.classes)

    @property
    def joiner(self) -> str | None:
        """What joins the classes of a set to text; None: sets are written as JSON lists.

        Examples
        --------
        >>> import polars as pl
        >>> columns = {"task": [1], "worker": ["ann"], "label": ['["cat|dog", "bird"]']}
        >>> Choices.of(pl.DataFrame(columns)).joiner is None
        True
        """
        joiner = self.separator or JOINER
        taken = any(joiner in name or name.startswith("[") for name in self.classes)
        return None if taken else joiner

    def _known(self, truth: SetsByTask) -> dict[int, frozenset[str]]:
        """The true sets by the place of their task; tasks that are not here are left out."""
        places = {str(name): place for place, name in enumerate(self.tasks)}
        return {
            places[str(task)]: as_set(cell, self.separator)
            for task, cell in truth.items()
            if str(task) in places
        }

    # Back to sets ----------------------------------------------------------------------------

    def _read(self, decisions: ArrowTable) -> _Decided:
        """Decisions of pairs in codes, in order of task and class."""
        import polars as pl

        columns = ("task", "label", "confidence", "settled")
        table = select_columns(decisions, lambda _: columns)
        codes = self._codes_of(table["task"])
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        task, place = np.divmod(codes, max(self._k, 1))
        said = (table["label"].cast(pl.String) == YES).fill_null(False).to_numpy()[order]
        sure = table["confidence"].to_numpy()[order]
        chance = np.where(said, sure, 1.0 - sure)
        chosen = np.isin(codes, self._votes.chosen, assume_unique=True)
        return _Decided(
            task,
            place,
            chance,
            said & chosen,
            np.where(said & chosen, chance, 1.0 - chance),
            table["settled"].to_numpy()[order] & (chosen | ~said),
            chosen,
        )

    def _codes_of(self, names: pl.Series) -> Ints:
        import polars as pl

        for table, codes in ((self.pairs, self._learnt), (self.asked, self._asked)):
            if table is not None and names.equals(pl.Series(table.batch.tasks), check_names=False):
                return codes
        known = pl.concat(
            pl.DataFrame({"pair": pl.Series(table.batch.tasks), "code": codes})
            for table, codes in ((self.pairs, self._learnt), (self.asked, self._asked))
            if table is not None
        ).unique("pair")
        asked = pl.DataFrame({"pair": names.cast(pl.String)})
        found = asked.join(known, on="pair", how="left", maintain_order="left")["code"]
        if found.null_count():
            strange = names.filter(found.is_null())[0]
            raise InputError("decisions", "pairs of `pairs`, each once", shorten(strange))
        if found.n_unique() < len(found):
            twice = names.filter(found.is_duplicated())[0]
            raise InputError("decisions", "pairs of `pairs`, each once", f"{shorten(twice)} twice")
        return found.to_numpy()

    def _rest(self, found: _Decided) -> _Rest:
        """How many pairs of each task are not among the decisions, and how sure their no is.

        Nobody chose them, so they have the same votes as the pairs that nobody chose and that are
        among the decisions: one of these stands for all.
        """
        counts = np.bincount(found.task, minlength=self._t)
        missing = np.where(self._votes.sizes > 0, self._k - counts, 0)
        right, settled = np.ones(self._t), np.ones(self._t, np.bool_)
        quiet = ~found.chosen
        right[found.task[quiet]] = found.right[quiet]
        settled[found.task[quiet]] = found.settled[quiet]
        has_one = np.zeros(self._t, np.bool_)
        has_one[found.task[quiet]] = True
        chosen = np.bincount(found.task[found.chosen], minlength=self._t)
        wanted = np.bincount(self._votes.chosen // max(self._k, 1), minlength=self._t)
        if ((missing > 0) & ~has_one).any() or (chosen != wanted).any():
            expected = "all pairs of `pairs`, or of `asked` where it is not None"
            raise InputError("decisions", expected, f"{found.task.size:,} pairs")
        return _Rest(missing, right, settled)

    def _least(self, found: _Decided, rest: _Rest) -> tuple[pl.Series, Floats]:
        """The class of every task that is least sure, and how sure it is."""
        import polars as pl

        if not self.classes:
            return pl.Series([None] * self._t, dtype=pl.String), np.ones(self._t)
        least, sure = np.zeros(self._t, np.int64), np.ones(self._t)
        # The last one written stays: the least sure, of equals the first class.
        order = np.lexsort((-found.place, -found.right))
        least[found.task[order]] = found.place[order]
        sure[found.task[order]] = found.right[order]
        # Pairs that are missing are as sure as one of those found, so they are never the least.
        assert not ((rest.missing > 0) & (rest.right < sure)).any()
        return pl.Series(self.classes, dtype=pl.String).gather(least), sure

    def _cells(self, task: Ints, place: Ints, right: Floats) -> pl.DataFrame:
        """Sets and the confidences of their classes as text; ``task`` is in order."""
        import polars as pl

        names = pl.Series(self.classes, dtype=pl.String)
        numbers = pl.Series(right).round(DIGITS).cast(pl.String)
        joiner = self.joiner
        if joiner is None:
            names = pl.Series([json.dumps(name, ensure_ascii=False) for name in self.classes])
        columns = {
            "place": task,
            "label": names.gather(place),
            "confidences": numbers,
        }
        join = pl.col("label", "confidences").str.join(", " if joiner is None else joiner)
        cells = pl.DataFrame(columns).group_by("place", maintain_order=True).agg(join)
        if joiner is None:
            cells = cells.with_columns(pl.format("[{}]", name) for name in cells.columns[1:])
        every = pl.DataFrame({"place": np.arange(self._t)})
        cells = every.join(cells, on="place", how="left", maintain_order="left")
        return cells.with_columns(pl.col("label", "confidences").fill_null("[]"))

    def _with_gold(self, joined: pl.DataFrame, gold: SetsByTask) -> pl.DataFrame:
        """The decisions, those of known tasks replaced by the truth."""
        import polars as pl

        known = self._known(gold)
        order = {name: place for place, name in enumerate(self.classes)}
        rows = []
        for place, classes in known.items():
            names = sorted(classes, key=lambda name: (order.get(name, len(order)), name))
            sure = self._text_of(["1.0"] * len(names), quoted=False)
            rows.append((place, self._text_of(names), sure))
        schema = {"place": pl.Int64, "truth": pl.String, "sure": pl.String}
        table = pl.DataFrame(rows, schema, orient="row")
        joined = joined.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("place"))
        joined = joined.join(table, on="place", how="left", maintain_order="left")
        is_known = pl.col("truth").is_not_null()
        new = {
            "label": pl.col("truth"),
            "confidence": pl.lit(1.0),
            "confidences": pl.col("sure"),
            "least_confidence": pl.lit(1.0),
            "settled": pl.lit(True),
        }
        return joined.with_columns(
            pl.when(is_known).then(value).otherwise(pl.col(name)).alias(name)
            for name, value in new.items()
        ).drop("place", "truth", "sure")

    def _text_of(self, parts: list[str], *, quoted: bool = True) -> str:
        joiner = self.joiner
        if not parts:
            return "[]"
        if joiner is not None and not (quoted and any(joiner in part for part in parts)):
            return joiner.join(parts)
        return json.dumps(parts, ensure_ascii=False) if quoted else f"[{', '.join(parts)}]"


class _Decided(NamedTuple):
    """Decisions of pairs in order of task and class.

    ``chance``: that the class belongs to the set; ``yes``: whether it was decided so, ``right``:
    the probability of that; ``chosen``: whether anybody chose it.
    """

    task: Ints
    place: Ints
    chance: Floats
    yes: NDArray[np.bool_]
    right: Floats
    settled: NDArray[np.bool_]
    chosen: NDArray[np.bool_]


class _Rest(NamedTuple):
    """Pairs of each task without a decision of their own, and what holds for each of them."""

    missing: Ints
    right: Floats
    settled: NDArray[np.bool_]


# Cells to sets -----------------------------------------------------------------------------------


def as_set(cell: Cell, separator: str | None = None) -> frozenset[str]:
    """Return the classes of a cell, or of a collection of classes.

    >>> sorted(as_set("cat|dog", "|")), sorted(as_set(["cat", "dog"]))
    (['cat', 'dog'], ['cat', 'dog'])
    """
    return frozenset(split_cell(cell, separator) if isinstance(cell, str) else map(str, cell))


def truth_sets(
    rows: Iterable[tuple[TaskId, str | None]], separator: str | None = None
) -> dict[TaskId, frozenset[str]]:
    """Gather the true sets of tasks from rows of task and cell; several rows are their union.

    >>> sorted(truth_sets([("t1", "cat"), ("t1", "dog"), ("t2", None)])["t1"])
    ['cat', 'dog']
    """
    found: dict[TaskId, frozenset[str]] = {}
    for task, cell in rows:
        if cell is not None and cell.strip():
            found[task] = found.get(task, frozenset()) | as_set(cell, separator)
    return found


def _as_text(cells: pl.Series) -> pl.Series:
    """Cells as text: lists become JSON lists, blanks alone become null."""
    import polars as pl

    if isinstance(cells.dtype, (pl.List, pl.Array)):
        inner = cells.dtype.inner
        if isinstance(inner, (pl.List, pl.Array, pl.Struct)):
            raise InputError("column 'label'", "texts or lists of texts", f"{cells.dtype}")
        lists = cells.cast(pl.List(pl.String)).to_list()
        made = [None if each is None else json.dumps([x for x in each if x]) for each in lists]
        return pl.Series(cells.name, made, pl.String)
    if isinstance(cells.dtype, (pl.Struct, pl.Object, pl.Binary)):
        raise InputError("column 'label'", "texts or lists of texts", f"{cells.dtype}")
    texts = cells.cast(pl.String)
    return texts.set(texts.str.strip_chars() == "", None)


def _separator_of(texts: pl.Series) -> str | None:
    """The separator of the cells; refuse cells that use another one."""
    import polars as pl

    some = texts.head(LOOKED_AT).to_list()
    separator = find_separator(some)
    if separator is None:
        return None
    others = [each for each in SEPARATORS if each != separator]
    is_other = texts.str.contains_any(others) & ~texts.str.contains(separator, literal=True)
    odd = texts.filter(is_other & ~texts.str.contains(MAY_BE_LIST)).head(LOOKED_AT)
    if len(odd):
        lists = set(several_choices(dict.fromkeys([*some, *odd])))
        for text in odd.filter(odd.is_in(pl.Series(list(lists), dtype=pl.String).implode())):
            expected = f"one separator between choices (separator={separator!r})"
            raise InputError("cells", expected, f"{shorten(text)} as well")
    return separator


class _Sets(NamedTuple):
    """Distinct cells as sets of classes in codes: those of cell c are at ``starts[c]:starts[c+1]``.

    ``answers``: whether a cell is an answer at all.
    """

    classes: list[str]
    starts: Ints
    codes: Ints
    answers: NDArray[np.bool_]

    @classmethod
    def of(cls, texts: pl.Series, separator: str | None, *, exact: bool) -> _Sets:
        """Split the distinct cells, in order of first appearance."""
        import polars as pl

        texts = texts.cast(pl.String)
        places = pl.int_range(len(texts), eager=True, dtype=pl.Int64)
        # Few cells are JSON lists or most are; these take Python, the others do not.
        listed = texts.str.contains(MAY_BE_LIST)
        plain = pl.DataFrame({"cell": places, "part": texts}).filter(~listed)
        if separator is not None:
            plain = plain.with_columns(pl.col("part").str.split(separator)).explode("part")
        plain = plain.with_columns(tidy_series(plain["part"]))
        rows: list[tuple[int, str]] = []
        empty: list[int] = []
        for place in listed.arg_true().to_list():
            found = split_cell(texts[place], separator)
            rows.extend((place, part) for part in found)
            if not found and read_list(texts[place]) is not None:
                empty.append(place)
        made = pl.DataFrame(rows, {"cell": pl.Int64, "part": pl.String}, orient="row")
        parts = pl.concat([plain.filter(pl.col("part") != ""), made]).sort(
            "cell", maintain_order=True
        )
        codes, names = code_series(parts["part"])
        if not exact:
            codes, names = _one_spelling(codes, names)
        pairs = parts.select("cell", pl.Series("code", codes)).unique(maintain_order=True)
        sizes = np.bincount(pairs["cell"].to_numpy(), minlength=len(texts))
        answers = sizes > 0
        answers[empty] = True
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        return cls(names.to_list(), starts, pairs["code"].to_numpy().astype(np.int64), answers)


def _one_spelling(
    codes: NDArray[np.int32], names: pl.Series
) -> tuple[NDArray[np.int32], pl.Series]:
    """The codes of classes by normal form; the first spelling stays."""
    import polars as pl

    normal, firsts = code_series(pl.Series([normalise(name) for name in names], dtype=pl.String))
    first = np.unique(normal, return_index=True)[1]
    assert first.size == len(firsts)
    return normal[codes], names.gather(first)


# Sets to votes -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Votes:
    """Who answered which task, and who chose which class of it.

    The answers of task t are ``starts[t]:starts[t + 1]``; ``who`` gave them. A pair of task t and
    class k has the code ``t K + k``; of the votes for yes, ``yes_pair`` are the pairs and
    ``yes_answer`` the answers. ``chosen``: pairs that anybody chose, in order.
    """

    classes: int
    starts: Ints
    who: NDArray[np.int32]
    yes_pair: Ints
    yes_answer: Ints
    chosen: Ints

    @classmethod
    def of(
        cls,
        tasks: NDArray[np.int32],
        workers: NDArray[np.int32],
        cells: NDArray[np.int32],
        sets: _Sets,
        n_tasks: int,
        n_workers: int,
    ) -> _Votes:
        """Count votes from rows in codes; several of one worker on one task are their union."""
        k = len(sets.classes)
        given = cells >= 0
        given[given] = sets.answers[cells[given]]
        cells = cells[given]
        key = tasks[given].astype(np.int64) * n_workers + workers[given]
        answers, answer = np.unique(key, return_inverse=True)
        task = answers // max(n_workers, 1)
        sizes = np.diff(sets.starts)[cells]
        first = np.repeat(sets.starts[cells] - np.append(0, np.cumsum(sizes))[:-1], sizes)
        code = sets.codes[first + np.arange(first.size)]
        voted = _distinct(np.repeat(answer, sizes) * k + code)
        yes_answer = voted // max(k, 1)
        yes_pair = task[yes_answer] * k + voted % max(k, 1)
        starts = np.append(0, np.cumsum(np.bincount(task, minlength=n_tasks))).astype(np.int64)
        who = (answers % max(n_workers, 1)).astype(np.int32)
        return cls(k, starts, who, yes_pair, yes_answer, _distinct(yes_pair))

    @property
    def sizes(self) -> Ints:
        """How many workers answered each task."""
        return np.diff(self.starts)

    def on(self, pairs: Ints, names: _PairNames, workers: Vocabulary) -> CodedLabels:
        """The votes on some pairs, which are in order."""
        task = pairs // max(self.classes, 1)
        sizes = self.sizes[task]
        bounds = np.append(0, np.cumsum(sizes)).astype(np.int64)
        rows = np.repeat(self.starts[task] - bounds[:-1], sizes)
        rows += np.arange(rows.size)
        labels = np.zeros(rows.size, np.int32)
        place = np.searchsorted(pairs, self.yes_pair)
        place[place == pairs.size] = 0
        if pairs.size:
            here = pairs[place] == self.yes_pair
            place, answer = place[here], self.yes_answer[here]
            labels[bounds[place] + answer - self.starts[task[place]]] = 1
        batch = LabelBatch(bounds, self.who[rows], labels, tasks=names.of(pairs))
        return CodedLabels(batch, workers, Vocabulary([NO, YES]))


def _distinct(codes: Ints) -> Ints:
    """The distinct codes in order; numpy's own `unique` takes five times as long."""
    codes = np.sort(codes)
    new: Ints = codes[np.append(True, codes[1:] != codes[:-1])[: codes.size]]
    return new


def _choose_pairs(votes: _Votes, most_rows: int) -> tuple[Ints, Ints]:
    """Pairs to learn from and, if these are not all, pairs to decide; both in order.

    All pairs, if their votes are at most ``most_rows``. Otherwise what somebody chose and a random
    part of what nobody did, on so many tasks as there is room for.
    """
    k, sizes = votes.classes, votes.sizes
    answered = np.flatnonzero(sizes)
    if sizes.sum() * k <= most_rows or not k:
        return (answered[:, None] * k + np.arange(k)).ravel(), np.empty(0, np.int64)
    rng = np.random.default_rng(0)
    chosen = votes.chosen
    counts = np.bincount(chosen // k, minlength=sizes.size)
    loud = int((counts * sizes).sum())
    quiet = int(((k - counts) * sizes).sum())
    share = min(1.0, max(QUIET * loud, most_rows - loud) / max(quiet, 1))
    room = most_rows / max(loud + share * quiet, 1.0)
    learnt = answered if room >= 1.0 else answered[rng.random(answered.size) < room]
    if share < 1.0:
        # As many draws of classes that each is among them with this probability, by itself.
        draws = rng.poisson(-np.log1p(-share) * k, learnt.size)
        drawn = np.repeat(learnt, draws) * k + rng.integers(k, size=int(draws.sum()))
    else:
        drawn = (learnt[:, None] * k + np.arange(k)).ravel()
    is_learnt = np.zeros(sizes.size, np.bool_)
    is_learnt[learnt] = True
    pairs = _distinct(np.append(drawn, chosen[is_learnt[chosen // k]]))
    # One pair that nobody chose stands for all of its task: they have the same votes.
    return pairs, _distinct(np.append(chosen, _first_quiet(chosen, counts, answered, k)))


def _first_quiet(chosen: Ints, counts: Ints, answered: Ints, k: int) -> Ints:
    """The first pair of every answered task that nobody chose, if there is one."""
    starts = np.append(0, np.cumsum(counts))
    rank = np.arange(chosen.size) - np.repeat(starts[:-1], counts)
    task, place = np.divmod(chosen, k)
    first = counts.copy()
    gap = np.flatnonzero(place != rank)[::-1]  # backwards, so that the first of a task stays
    first[task[gap]] = rank[gap]
    found = answered[first[answered] < k]
    return np.asarray(found * k + first[found], np.int64)


class _PairNames(NamedTuple):
    """Names of pairs: no two pairs have the same.

    `task: class` can be told apart at its last colon with a blank, if no class has one; otherwise
    classes are in quotes, as JSON has them, and it is the last colon, blank and quote.
    """

    tasks: pl.Series
    classes: list[str]

    def of(self, pairs: Ints) -> pl.Series:
        """The names of these pairs."""
        import polars as pl

        task, place = np.divmod(pairs, max(len(self.classes), 1))
        classes = self.classes
        if any(": " in name for name in classes):
            classes = [json.dumps(name, ensure_ascii=False) for name in classes]
        columns = {
            "t": self.tasks.gather(task),
            "c": pl.Series(classes, dtype=pl.String).gather(place),
        }
        return pl.DataFrame(columns).select(pl.format("{}: {}", "t", "c").alias("task"))["task"]


# Scores ------------------------------------------------------------------------------------------


def set_f1(
    decisions: ArrowTable | SetsByTask,
    truth: ArrowTable | SetsByTask,
    *,
    separator: str | None = JOINER,
) -> SetScores:
    """Score decided sets against true ones, on the tasks that both have.

    Parameters
    ----------
    decisions, truth
        Tables with the columns task and label, or sets by task. A set is the text of a cell or a
        collection of classes; a task without one (null) counts as decided to be empty.
    separator
        What stands between the classes of a cell.

    Examples
    --------
    >>> scores = set_f1({"t1": "cat|dog", "t2": "cat"}, {"t1": "cat|dog", "t2": "cat|bird"})
    >>> round(scores.micro, 3), scores.exact, scores.tasks
    (0.857, 0.5, 2)
    """
    decided, true = _sets_of(decisions, separator), _sets_of(truth, separator)
    both = [task for task in decided if task in true]
    if not both:
        raise InputError("truth", "tasks that were decided", "none in common")
    hits, found, real = (np.zeros(len(both)) for _ in range(3))
    by_class: dict[str, list[int]] = {}
    for place, task in enumerate(both):
        ours, theirs = decided[task], true[task]
        hits[place], found[place], real[place] = len(ours & theirs), len(ours), len(theirs)
        for name in ours | theirs:
            counts = by_class.setdefault(name, [0, 0])
            counts[0] += name in ours and name in theirs
            counts[1] += (name in ours) + (name in theirs)
    sample = np.where(found + real > 0, 2 * hits / np.maximum(found + real, 1), 1.0)
    total = float((found + real).sum())
    return SetScores(
        2 * float(hits.sum()) / total if total else 1.0,
        float(np.mean([2 * right / of for right, of in by_class.values()])) if by_class else 1.0,
        float(sample.mean()),
        float(np.mean((hits == found) & (hits == real))),
        len(both),
    )


def _sets_of(table: ArrowTable | SetsByTask, separator: str | None) -> dict[str, frozenset[str]]:
    """Sets by the text of their task."""
    pairs: Iterable[tuple[object, Cell | None]]
    if isinstance(table, Mapping):
        pairs = table.items()
    else:
        pairs = select_columns(table, lambda _: ("task", "label")).iter_rows()
    return {
        str(task): frozenset() if cell is None else as_set(cell, separator) for task, cell in pairs
    }


__all__ = ["Choices", "PairCrowd", "SetScores", "as_set", "set_f1", "truth_sets"]
