"""A file of labels bought again, one label at a time, in several ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.defaults import SAVINGS_ORDERS
from crowdstream.errors import InputError, NotIdentifiable
from crowdstream.estimators import Adaptive, Estimator, MajorityVote
from crowdstream.metrics import error_rate
from crowdstream.savings.result import FIXED, MAJORITY, STOP, Floats, Savings
from crowdstream.validation import check_number

if TYPE_CHECKING:
    pass


Ints = NDArray[np.int64]


SETTLES = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
"""Confidences at which buying stops: from a first hint to one doubt in a thousand."""


COLD_TASKS, COLD_LABELS = 20, 5
"""A crowd that has learnt fewer tasks knows nobody, so its confidence alone does not stop it: of
these tasks at least so many labels are bought."""


BLOCK = 256
"""Tasks bought at most between two times the crowd learns; the first blocks are 1, 2, 4 …"""


BLOCK_ROWS = 200_000
"""Rows at most of all beginnings of a block's tasks: what bounds memory if tasks have many."""


EVERY = 10
"""Up to here every fixed number of labels per task is tried; above, steps of a fifth."""


def savings(
    labels: pl.DataFrame,
    gold: pl.DataFrame | None = None,
    *,
    crowd: Estimator | None = None,
    settles: Sequence[float] = SETTLES,
    repeats: int = SAVINGS_ORDERS,
    seed: int = 0,
    tick: Callable[[float], None] | None = None,
) -> Savings:
    """Replay a table of labels, buying them one by one until the crowd is sure.

    In each repeat the tasks come in a random order, and so do the labels of a task. Before each
    label the crowd decides the task from the labels so far and from the tasks before it; once it
    is as sure as asked, no more are bought, and it learns the task from those that were. What
    counts is the decision of the crowd at the end, from the labels bought.

    Parameters
    ----------
    labels, gold
        Tables of task, worker, label and of task, label. Of a worker's labels of a task the last
        counts. Without gold, an error is another decision than the crowd's from all labels.
    crowd
        An estimator whose like, without what it learnt, is the crowd; by default `Adaptive`.
    settles
        Confidences to stop at.
    repeats, seed
        How many orders, and which.
    tick
        Is told the share of the work done since the last call.

    Examples
    --------
    >>> from crowdstream.simulation import simulate
    >>> made = simulate(20, 200, p=np.linspace(0.1, 0.4, 20), per_task=11)
    >>> found = savings(made.labels(), made.truths(), settles=(0.9, 0.99), repeats=1)
    >>> found.table["rule"].unique(maintain_order=True).to_list()
    ['stop when sure', 'fixed number, same crowd', 'fixed number, majority vote']
    >>> found.levels()["saved"][0] > 0.2  # stopping at 0.9
    True
    """
    check_number("repeats", repeats, 1, 1000, whole=True)
    check_number("seed", seed, 0, 2**64 - 1, whole=True)
    for settle in settles:
        check_number("settles", settle, 0.0, 1.0)
    rows, truths = _ready(labels, gold)
    recipe = Adaptive() if crowd is None else crowd
    fixed = redundancies(int(rows.group_by("task").len()["len"].max()))  # type: ignore[arg-type]
    step = 1 / (repeats * (len(settles) + 1 + 2 * len(fixed)))
    found: list[dict[str, object]] = []
    scored = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentifiable)  # a crowd that begins votes by majority
        for number in range(repeats):
            replay = _Replay(rows, truths, recipe, np.random.default_rng([seed, number]))
            scored = replay.gold.height
            for way in replay.ways(sorted(settles), fixed):
                found.append(way)
                if tick is not None:
                    tick(step)
    return Savings(
        _mean(found), rows["task"].n_unique(), rows.height, scored, gold is not None, repeats
    )


def redundancies(most: int) -> list[int]:
    """The fixed numbers of labels per task that are tried.

    >>> redundancies(17)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 17]
    """
    found = list(range(1, min(most, EVERY) + 1))
    while found[-1] < most:
        found.append(min(most, found[-1] * 6 // 5))
    return found


def _ready(
    labels: pl.DataFrame, gold: pl.DataFrame | None
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Both tables as text, tasks numbered, one label a worker and task."""
    for where, table, columns in (
        ("labels", labels, ("task", "worker", "label")),
        ("gold", gold, ("task", "label")),
    ):
        missing = [] if table is None else [c for c in columns if c not in table.columns]
        if missing:
            raise InputError(where, f"columns {', '.join(columns)}", f"no {', '.join(missing)}")
    rows = (
        labels.select(pl.col("task", "worker", "label").cast(pl.String))
        .drop_nulls()
        .unique(["task", "worker"], keep="last", maintain_order=True)
    )
    if not rows.height:
        raise InputError("labels", "some", "none")
    if rows.height == rows["task"].n_unique():
        raise InputError("labels", "tasks with several, of which some could be saved", "one each")
    numbers = rows.select("task").unique(maintain_order=True).with_row_index("number")
    rows = rows.join(numbers, on="task", maintain_order="left")
    rows = rows.select(pl.col("number").cast(pl.Int64).alias("task"), "worker", "label")
    if gold is None:
        return rows, None
    truths = gold.select(pl.col("task", "label").cast(pl.String)).drop_nulls()
    twice = truths.filter(truths["task"].is_duplicated())
    if twice.height:
        raise InputError("gold", "one row per task", f"more for task {twice['task'][0]!r}")
    truths = truths.join(numbers, on="task")
    if not truths.height:
        raise InputError("gold", "tasks that have labels", "none in common with the labels")
    return rows, truths.select(pl.col("number").cast(pl.Int64).alias("task"), "label")


def _mean(ways: list[dict[str, object]]) -> pl.DataFrame:
    """Over the repeats, which all have the same ways in the same order."""
    kinds = {"rule": pl.String, "settle": pl.Float64, "redundancy": pl.Int64}
    schema = {**kinds, "labels_per_task": pl.Float64, "error": pl.Float64}
    return (
        pl.DataFrame(ways, schema)
        .group_by(*kinds, maintain_order=True)
        .agg(
            pl.mean("labels_per_task"),
            pl.col("error").std().fill_null(0.0).alias("spread"),
            pl.mean("error"),
        )
        .select(*kinds, "labels_per_task", "error", "spread")
        .sort(pl.col("rule").cast(pl.Enum([STOP, FIXED, MAJORITY])), maintain_order=True)
    )


class _Replay:
    """One order of the tasks and of the labels of each."""

    def __init__(
        self,
        rows: pl.DataFrame,
        gold: pl.DataFrame | None,
        recipe: Estimator,
        rng: np.random.Generator,
    ) -> None:
        tasks = rows["task"].to_numpy()
        sizes = np.bincount(tasks)
        place = rng.permutation(sizes.size)
        self.rows = rows[np.lexsort((rng.random(tasks.size), place[tasks]))]
        sizes = sizes[np.argsort(place)]
        self.starts: Ints = np.append(0, np.cumsum(sizes))
        self.rank: Ints = np.arange(tasks.size) - np.repeat(self.starts[:-1], sizes)
        self.recipe = recipe
        self.classes = rows["label"].n_unique()
        self.all = self.new_crowd().fit_predict(self.rows, as_classes=True)
        if gold is None:
            self.gold = self.all.filter(pl.col("margin") > 0).select("task", "label")
        else:
            self.gold = gold
            self.classes = pl.concat([rows["label"], gold["label"]]).n_unique()

    def new_crowd(self) -> Estimator:
        """One that has learnt nothing."""
        return self.recipe.clone()

    def ways(self, settles: Sequence[float], fixed: Sequence[int]) -> Iterator[dict[str, object]]:
        """Yield the cost and error of each way of buying."""
        for settle in settles:
            bought, decided = self.until_sure(settle)
            yield self._way(STOP, settle, None, bought, decided)
        yield self._way(STOP, None, None, self.rows, self.all)
        for number in fixed:
            bought = self.rows.filter(self.rank < number)
            for rule, crowd in ((FIXED, self.new_crowd()), (MAJORITY, MajorityVote())):
                # Few labels of a known table: what they mean was told by all of them.
                decided = crowd.fit_predict(bought, as_classes=True)
                yield self._way(rule, None, number, bought, decided)

    def _way(
        self,
        rule: str,
        settle: float | None,
        number: int | None,
        bought: pl.DataFrame,
        decided: pl.DataFrame,
    ) -> dict[str, object]:
        votes = bought if rule == MAJORITY else None
        error = error_rate(decided, self.gold, labels=votes, classes=self.classes)
        cost = bought.height / decided.height
        ways = {"rule": rule, "settle": settle, "redundancy": number}
        return {**ways, "labels_per_task": cost, "error": error}

    def until_sure(self, settle: float) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The labels bought, and what the crowd decides from them in the end."""
        crowd = self.new_crowd()
        pieces: list[pl.DataFrame] = []
        for first, last in self._blocks():
            begin, end = int(self.starts[first]), int(self.starts[last])
            least = COLD_LABELS if first < COLD_TASKS else 1
            sure = self._confidences(crowd, first, last) >= settle
            sure &= self.rank[begin:end] + 1 >= least
            places = np.where(sure, np.arange(begin, end), end)
            stops = np.minimum.reduceat(places, self.starts[first:last] - begin)
            bought = np.arange(begin, end) <= np.repeat(
                stops, np.diff(self.starts[first : last + 1])
            )
            pieces.append(self.rows[begin:end].filter(bought))
            crowd.learn_many(pieces[-1], as_classes=True)
        bought_rows = pl.concat(pieces)
        return bought_rows, self.new_crowd().fit_predict(bought_rows, as_classes=True)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Tasks that are bought before the crowd learns again: few at first, then more."""
        sizes = np.diff(self.starts)
        beginnings = np.append(0, np.cumsum(sizes * (sizes + 1) // 2))
        first, step = 0, 1
        while first < sizes.size:
            room = int(np.searchsorted(beginnings, beginnings[first] + BLOCK_ROWS, "right")) - 1
            last = min(first + step, max(room, first + 1), sizes.size)
            yield first, last
            first, step = last, min(2 * step, BLOCK)

    def _confidences(self, crowd: Estimator, first: int, last: int) -> Floats:
        """Return the confidence of the decision after each label of some tasks.

        Each beginning of a task's labels is a task to the crowd, named after the row of its last
        label, so that one call decides them all.
        """
        begin, end = int(self.starts[first]), int(self.starts[last])
        ends = np.repeat(self.starts[first + 1 : last + 1], np.diff(self.starts[first : last + 1]))
        row = np.arange(begin, end)
        times = ends - row  # the beginnings a label is part of
        rows = np.repeat(row, times)
        named = rows + np.arange(rows.size) - np.repeat(np.cumsum(times) - times, times)
        order = np.argsort(named, kind="stable")
        table = self.rows[rows[order]].with_columns(task=pl.Series(named[order]))
        decided = crowd.predict_many(table, as_classes=True).sort("task")
        return np.asarray(decided["confidence"].to_numpy(), float)
