"""Choices (multi-select): sets of classes as yes or no per task and class, and back to sets.

    table of sets  →  `Choices.of`     →  pairs (task, class) with votes yes and no
    pairs          →  any estimator    →  decisions of pairs
    decisions      →  `Choices.join`   →  one set per task

A worker who answered a task and did not choose a class said no to it. Every class is a pair of
every task: with those alone that somebody chose, workers seem to choose wrongly far more often
than they do, and sets are worse than by majority vote (benchmarks/choices.py). Skills are learnt
over all pairs, so they are shared by the classes. Knows no estimators.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import SETTLE
from crowdstream.errors import InputError
from crowdstream.labels import CodedLabels, LabelBatch, TaskId, Vocabulary, shorten
from crowdstream.labels.choice_cells import find_separator, read_list, several_choices, split_cell
from crowdstream.labels.meaning.answers import is_no_answer
from crowdstream.labels.spelling import normalise
from crowdstream.labels.text_codes import code_series

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NO, YES = "no", "yes"
"""The two classes of a pair."""

JOINER = "|"
"""Stands between the classes of a set where the cells have no separator of their own."""

SURE = ("|", ";")
"""Separators that are no part of a name."""

MOST_VOTES = 200_000_000
"""Votes on pairs at most, workers' answers times classes: they take 1.6 GB."""

TINY = 1e-12
"""Probabilities nearer to 0 or 1 are moved from here."""

DIGITS = 4
"""Decimals of the confidences that are written as text."""

Cell: TypeAlias = str | Collection[str]
"""A set of classes: the text of a cell, or the classes themselves."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Sets of classes as votes of yes and no on pairs of task and class; made by `Choices.of`.

    Attributes
    ----------
    tasks, classes
        In order of first appearance.
    separator
        What stands between the classes of a cell; None where cells hold one class or JSON lists.
    pairs
        Votes on pairs, for an estimator to learn from. A pair is named after its task and class.

    Examples
    --------
    >>> import crowdstream as cs
    >>> import polars as pl
    >>> rows = [("t1", "ann", "cat|dog"), ("t1", "bob", "dog|cat"), ("t2", "ann", "cat")]
    >>> choices = Choices.of(pl.DataFrame(rows, ["task", "worker", "label"], orient="row"))
    >>> choices.pairs.frame().rows()[:3]
    [('t1: cat', 'ann', 'yes'), ('t1: cat', 'bob', 'yes'), ('t1: dog', 'ann', 'yes')]
    >>> decisions = cs.MajorityVote().fit_predict(choices.pairs)
    >>> choices.join(decisions).select("task", "label", "votes").rows()
    [('t1', 'cat|dog', 2), ('t2', 'cat', 1)]
    """

    tasks: pl.Series = field(repr=False)
    classes: tuple[str, ...]
    separator: str | None
    pairs: CodedLabels = field(repr=False)
    _votes: _Votes = field(repr=False)
    exact: bool = True

    @classmethod
    def of(
        cls, table: pl.DataFrame, *, separator: str | None = None, exact: bool = True
    ) -> Choices:
        """Read a table of task, worker and label whose labels are sets.

        Several rows of one worker on one task are the union of their sets. An empty cell is no
        answer; an empty JSON list says no to every class.

        Parameters
        ----------
        table
            The table; its cells are text.
        separator
            What stands between the classes of a cell; by default what `find_separator` finds.
        exact
            If False, classes that differ in case, blanks or Unicode form only are one.

        Examples
        --------
        >>> import polars as pl
        >>> columns = {"task": [7, 7], "worker": ["ann", "ann"], "label": ["cat", "dog"]}
        >>> Choices.of(pl.DataFrame(columns)).pairs.frame().rows()
        [('7: cat', 'ann', 'yes'), ('7: dog', 'ann', 'yes')]
        """
        import polars as pl

        tasks, task_names = code_series(table["task"])
        workers, worker_names = code_series(table["worker"])
        cells, texts = code_series(table["label"].cast(pl.String))
        separator = _separator_of(texts.to_list()) if separator is None else separator
        sets = _Sets.of(texts.to_list(), separator, exact=exact)
        votes = _Votes.of(tasks, workers, cells, sets, len(task_names), len(worker_names))
        size = int(votes.who.size) * max(len(sets.classes), 1)
        if size > MOST_VOTES:
            found = f"{votes.who.size:,} answers × {len(sets.classes):,} classes"
            raise InputError("choices", f"at most {MOST_VOTES:,} answers × classes", found)
        named = _pair_names(task_names, sets.classes, votes)
        pairs = votes.on_pairs(named, Vocabulary.of_column(worker_names))
        return cls(task_names, tuple(sets.classes), separator, pairs, votes, exact)

    def truths(self, truth: Mapping[TaskId, Cell]) -> dict[TaskId, str]:
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
        k = len(self.classes)
        places = {str(name): place for place, name in enumerate(self._votes.answered(self.tasks))}
        found: dict[TaskId, str] = {}
        for task, cell in truth.items():
            place = places.get(str(task))
            if place is not None:
                names = self.pairs.batch.tasks[place * k : (place + 1) * k]
                known = self._known(cell)
                for name, label in zip(names, self.classes, strict=True):
                    found[name] = YES if label in known else NO
        return found

    def _known(self, cell: Cell) -> frozenset[str]:
        """A true set, in the spelling of the classes."""
        parts = split_cell(cell, self.separator) if isinstance(cell, str) else map(str, cell)
        if self.exact:
            return frozenset(parts)
        shown = {normalise(name): name for name in self.classes}
        return frozenset(shown.get(normalise(part), part) for part in parts)

    def text_of(self, cell: Cell) -> str:
        """Write a set as decisions have it.

        Parameters
        ----------
        cell
            The set, as text or as classes.

        Examples
        --------
        >>> import polars as pl
        >>> columns = {"task": [1], "worker": ["ann"], "label": ["cat|dog"]}
        >>> Choices.of(pl.DataFrame(columns), separator="|").text_of("dog | cat")
        'cat|dog'
        """
        order = {name: place for place, name in enumerate(self.classes)}
        names = sorted(self._known(cell), key=lambda name: (order.get(name, len(order)), name))
        return self._joined(names)

    def join(
        self,
        decisions: pl.DataFrame,
        gold: Mapping[TaskId, object] | None = None,
        *,
        weighted: bool = False,
        settle: float | None = SETTLE,
    ) -> pl.DataFrame:
        """Join the decisions of pairs to one set per task.

        A class that nobody chose on a task is in its set only if gold says so.

        Parameters
        ----------
        decisions
            Decisions of ``pairs``, by any estimator, in their order.
        gold
            Pairs whose truth is known.
        weighted
            Whether votes were weighted; then each class has a base rate of its own (`base_rates`).
        settle
            Confidence from which a class is settled.

        Returns
        -------
        One row per task in order of first appearance: ``task``; ``label``, the set as text, its
        classes in order of first appearance, ``[]`` if it is empty, null if nobody answered;
        ``confidence``, the probability that the whole set is right (the product over all classes);
        ``margin``, by how much it is above one half, doubled; ``votes``, the workers who answered;
        ``settled``, whether all classes are; ``confidences``, that of each class in the set;
        ``least``, the class that is least sure, in the set or not.

        Examples
        --------
        >>> import crowdstream as cs
        >>> import polars as pl
        >>> columns = {"task": ["t1"] * 2, "worker": ["ann", "bob"], "label": ["cat|dog", "cat"]}
        >>> choices = Choices.of(pl.DataFrame(columns), separator="|")
        >>> choices.join(cs.MajorityVote().fit_predict(choices.pairs)).row(0, named=True)["least"]
        'dog'
        """
        import polars as pl

        answered = self._votes.sizes > 0
        chance = self._chances(decisions)
        if weighted:
            chance = base_rates(chance)
        chosen = self._votes.chosen
        if gold:
            known = decisions["task"].is_in(list(gold)).to_numpy().reshape(chance.shape)
            chosen = chosen | known
        yes = (chance > 0.5) & chosen
        tied = chance == 0.5
        if tied.any():  # a coin has decided
            said = (decisions["label"].cast(pl.String) == YES).to_numpy().reshape(chance.shape)
            yes |= tied & said & chosen
        right = np.where(yes, chance, 1.0 - chance)
        with np.errstate(divide="ignore"):
            whole = np.exp(np.log(right).sum(axis=1))
        sure = decisions["settled"].to_numpy().reshape(chance.shape)
        settled = (sure & (right >= (2.0 if settle is None else settle))).all(axis=1)
        names = pl.Series([*self.classes, None], dtype=pl.String)
        least = names.gather(right.argmin(axis=1) if right.size else [-1] * len(right))
        texts = [self._joined([self.classes[c] for c in np.flatnonzero(row)]) for row in yes]
        each = [
            (self.joiner or ", ").join(f"{value:.{DIGITS}g}" for value in right[place][row])
            for place, row in enumerate(yes)
        ]
        found = pl.DataFrame(
            {
                "task": self._votes.answered(self.tasks),
                "label": pl.Series(texts, dtype=pl.String),
                "confidence": whole,
                "margin": 2.0 * whole - 1.0,
                "votes": self._votes.sizes[answered],
                "settled": settled,
                "confidences": pl.Series(each, dtype=pl.String),
                "least": least,
            }
        )
        every = pl.DataFrame({"task": self.tasks})
        joined = every.join(found, on="task", how="left", maintain_order="left")
        return joined.with_columns(
            pl.col("confidence", "margin").fill_null(0.0),
            pl.col("votes").fill_null(0).cast(pl.Int64),
            pl.col("settled").fill_null(False),
        )

    def _chances(self, decisions: pl.DataFrame) -> Floats:
        """The probability that each class belongs to the set, one row per answered task."""
        import polars as pl

        names = pl.Series(self.pairs.batch.tasks, dtype=pl.String)
        if not decisions["task"].cast(pl.String).equals(names, check_names=False):
            raise InputError("decisions", "those of the pairs, in order", "others")
        said = (decisions["label"].cast(pl.String) == YES).fill_null(False).to_numpy()
        sure = decisions["confidence"].to_numpy()
        flat = np.where(said, sure, 1.0 - sure)
        tasks = int((self._votes.sizes > 0).sum())
        return np.asarray(flat.reshape(tasks, len(self.classes)), np.float64)

    def chances(self, chances: pl.DataFrame, *, weighted: bool = False) -> pl.DataFrame:
        """Return the probability that each class belongs to the set: a row per task.

        Parameters
        ----------
        chances
            The probability of yes and no of every pair: the table of `predict_proba_many`.
        weighted
            As for `join`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> import polars as pl
        >>> columns = {"task": ["t1"] * 2, "worker": ["ann", "bob"], "label": ["cat|dog", "cat"]}
        >>> choices = Choices.of(pl.DataFrame(columns), separator="|")
        >>> choices.chances(cs.MajorityVote().fit(choices.pairs).predict_proba_many(choices.pairs))
        shape: (1, 3)
        ...
        """
        import polars as pl

        tasks = self._votes.answered(self.tasks)
        found = chances[YES].to_numpy().reshape(len(tasks), len(self.classes))
        if weighted:
            found = base_rates(found)
        columns: dict[str, object] = {"task": tasks}
        for place, name in enumerate(self.classes):
            while name in columns:
                name = f"class_{name}"
            columns[name] = found[:, place]
        return pl.DataFrame(columns)

    @property
    def joiner(self) -> str | None:
        """Separator that joins a set's classes to text; None: sets are written as JSON lists.

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

    def _joined(self, names: list[str]) -> str:
        joiner = self.joiner
        if not names or joiner is None or any(joiner in name for name in names):
            return json.dumps(names, ensure_ascii=False)
        return joiner.join(names)


def base_rates(chances: Floats) -> Floats:
    """Correct probabilities by how common each class is: one step of Bayes' rule.

    An estimator takes every pair for as likely as all pairs are on average, p. A class whose pairs
    are on average as likely as p_c has the odds p_c / (1 − p_c) instead of p / (1 − p) before any
    vote. One step, since more of them amplify what a class that is hard to tell gets wrong
    (benchmarks/choices.py: uneven classes). What is certain stays so.

    >>> base_rates(np.array([[0.9, 0.4], [0.8, 0.1]])).round(2).tolist()
    [[0.96, 0.23], [0.91, 0.05]]
    """
    if not chances.size:
        return chances
    open_ones = np.clip(chances, TINY, 1.0 - TINY)
    tasks, mean = len(chances), float(open_ones.mean())
    rates = (open_ones.sum(axis=0) + mean) / (tasks + 1)
    moved = np.log(rates / (1.0 - rates)) - np.log(mean / (1.0 - mean))
    found = 1.0 / (1.0 + (1.0 - open_ones) / open_ones * np.exp(-moved))
    return np.asarray(np.where((chances == 0.0) | (chances == 1.0), chances, found), np.float64)


def _separator_of(texts: list[str]) -> str | None:
    """The separator of the cells; cells that use another one are refused."""
    separator = find_separator(texts)
    if separator is None:  # whoever says that cells are sets means what looks like a separator
        return next((mark for mark in SURE if any(mark in text for text in texts)), None)
    for text in several_choices(texts):
        if separator not in text and read_list(text) is None:
            expected = f"one separator between choices, {separator!r} (--separator-in-cell)"
            raise InputError("labels", expected, f"{shorten(text)} as well")
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
    def of(cls, texts: list[str], separator: str | None, *, exact: bool) -> _Sets:
        """Split the distinct cells, in order of first appearance."""
        names = Vocabulary()
        first: dict[str, str] = {}
        codes: list[int] = []
        starts = [0]
        answers = np.zeros(len(texts), np.bool_)
        for place, text in enumerate(texts):
            parts = split_cell(text, separator)
            if not exact:
                parts = tuple(first.setdefault(normalise(part), part) for part in parts)
            if len(parts) == 1 and not exact and is_no_answer(parts[0]):
                parts = ()
            found = dict.fromkeys(names.add(part) for part in parts)
            answers[place] = bool(found) or read_list(text) is not None
            codes += found
            starts.append(len(codes))
        classes = [str(name) for name in names]
        return cls(classes, np.array(starts, np.int64), np.array(codes, np.int64), answers)


@dataclass(frozen=True, eq=False)
class _Votes:
    """Answers per task, and which worker chose which class.

    The answers of task t are ``starts[t]:starts[t + 1]``; ``who`` gave them. A pair of task t and
    class k has the code ``t K + k``; of the votes for yes, ``yes_pair`` are the pairs and
    ``yes_answer`` the answers.
    """

    classes: int
    starts: Ints
    who: NDArray[np.int32]
    yes_pair: Ints
    yes_answer: Ints

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
        voted = np.unique(np.repeat(answer, sizes) * k + code)
        yes_answer = voted // max(k, 1)
        yes_pair = task[yes_answer] * k + voted % max(k, 1)
        starts = np.append(0, np.cumsum(np.bincount(task, minlength=n_tasks))).astype(np.int64)
        who = (answers % max(n_workers, 1)).astype(np.int32)
        return cls(k, starts, who, yes_pair, yes_answer)

    @property
    def sizes(self) -> Ints:
        """Number of workers who answered each task."""
        return np.diff(self.starts)

    def answered(self, tasks: pl.Series) -> pl.Series:
        """The tasks that somebody answered."""
        import polars as pl

        return tasks.filter(pl.Series(self.sizes > 0))

    @property
    def chosen(self) -> NDArray[np.bool_]:
        """Matrix of the classes that anybody chose, one row per answered task."""
        found = np.zeros((self.sizes.size, self.classes), np.bool_)
        found.reshape(-1)[self.yes_pair] = True
        return np.asarray(found[self.sizes > 0], np.bool_)

    def on_pairs(self, names: pl.Series, workers: Vocabulary) -> CodedLabels:
        """The votes on all pairs of answered tasks, in the order of their names."""
        k, here = self.classes, np.flatnonzero(self.sizes)
        task = np.repeat(here, k)
        sizes = self.sizes[task]
        bounds = np.append(0, np.cumsum(sizes)).astype(np.int64)
        rows = np.repeat(self.starts[task] - bounds[:-1], sizes) + np.arange(bounds[-1])
        labels = np.zeros(rows.size, np.int32)
        rank = np.zeros(self.sizes.size, np.int64)
        rank[here] = np.arange(here.size)
        of, place = np.divmod(self.yes_pair, max(k, 1))
        labels[bounds[rank[of] * k + place] + self.yes_answer - self.starts[of]] = 1
        batch = LabelBatch(bounds, self.who[rows], labels, tasks=names)
        return CodedLabels(batch, workers, Vocabulary([NO, YES]))


def _pair_names(tasks: pl.Series, classes: list[str], votes: _Votes) -> pl.Series:
    """Names of the pairs of answered tasks: no two pairs have the same.

    `task: class` can be told apart at its last colon with a blank, if no class has one; otherwise
    classes are in quotes, as JSON has them, and it is the last colon, blank and quote.
    """
    import polars as pl

    if any(": " in name for name in classes):
        classes = [json.dumps(name, ensure_ascii=False) for name in classes]
    here = votes.answered(tasks).cast(pl.String)
    task, place = np.divmod(np.arange(len(here) * len(classes)), max(len(classes), 1))
    columns = {"t": here.gather(task), "c": pl.Series(classes, dtype=pl.String).gather(place)}
    return pl.DataFrame(columns).select(pl.format("{}: {}", "t", "c").alias("task"))["task"]
