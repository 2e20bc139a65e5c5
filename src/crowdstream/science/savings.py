"""How many labels would have been enough: a file of labels bought again, a label at a time.

The labels of a file are taken for those that could have been bought. Three ways of buying are
replayed on the same random orders of them: until the crowd is sure of a task, or a fixed number a
task, decided by the same crowd or by majority vote. Knows nothing of the command line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.errors import InputError, NotIdentifiable
from crowdstream.estimators import Adaptive, Estimator, MajorityVote
from crowdstream.science.scoring import expected_error
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import altair as alt

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SETTLES = (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
"""Confidences at which buying stops: from a first hint to one doubt in a thousand."""

REPEATS = 5
"""Random orders that figures are the mean of."""

COLD_TASKS, COLD_LABELS = 20, 5
"""A crowd that has learnt fewer tasks knows nobody, so its confidence alone does not stop it: of
these tasks at least so many labels are bought."""

BLOCK = 256
"""Tasks bought at most between two times the crowd learns; the first blocks are 1, 2, 4 …"""

BLOCK_ROWS = 200_000
"""Rows at most of all beginnings of a block's tasks: what bounds memory if tasks have many."""

EVERY = 10
"""Up to here every fixed number of labels a task is tried; above, steps of a fifth."""

SAME = 0.05
"""Without gold: the share of tasks that may be decided otherwise than from all labels."""

STOP, FIXED, MAJORITY = (
    "stop when sure",
    "fixed number, same crowd",
    "fixed number, majority vote",
)
"""The three ways to buy, as column ``rule`` names them."""


@dataclass(frozen=True, eq=False)
class Savings:
    """What the replays came to.

    ``table`` has a row a way of buying: ``rule``; ``settle`` (the confidence to stop at) or
    ``redundancy`` (the fixed number of labels a task), both null where the crowd was never to be
    sure and all labels were bought; ``labels_a_task``; ``error``; and ``spread``, the standard
    deviation of the error over the orders. ``scored`` tasks count for the error: those with gold
    or, without, all whose decision from all labels is no tie.
    """

    table: pl.DataFrame
    tasks: int
    labels: int
    scored: int
    has_gold: bool
    repeats: int

    @property
    def target(self) -> float:
        """The error to be reached: majority vote's with all labels, or `SAME` without gold."""
        return self._curve(MAJORITY)["error"][-1] if self.has_gold else SAME

    @property
    def enough(self) -> dict[str, float] | None:
        """The cheapest level to stop at that errs no more than `target`, nor does any above it.

        Its ``settle``, ``labels_a_task``, ``error`` and ``saved``, the share of all labels that
        were not bought; None if even the most expensive level errs more.
        """
        found = None
        for row in reversed(self.levels().drop_nulls("settle").to_dicts()):
            if row["error"] > self.target:
                break
            found = row
        if found is None:
            return None
        return {name: found[name] for name in ("settle", "labels_a_task", "error", "saved")}

    def levels(self) -> pl.DataFrame:
        """A row a level to stop at: labels, error, and what a fixed number at this cost errs.

        Between two fixed numbers the error is interpolated: some tasks get one label more.
        """
        stop = self._curve(STOP)
        cost = stop["labels_a_task"].to_numpy()

        def beside(rule: str) -> Floats:
            fixed = self._curve(rule)
            found = np.interp(cost, fixed["labels_a_task"].to_numpy(), fixed["error"].to_numpy())
            return np.asarray(found, float)

        return stop.select(
            "settle",
            "labels_a_task",
            saved=1 - pl.col("labels_a_task") * self.tasks / self.labels,
            error="error",
            fixed=pl.Series(beside(FIXED)),
            majority=pl.Series(beside(MAJORITY)),
        )

    def answer(self) -> str:
        """How many labels would have been enough, in words."""
        whole = f"all {self.labels:,} labels"
        if self.has_gold:
            aim = f"the error majority vote has with {whole} ({self.target:.3f})"
        else:
            aim = f"the decision from {whole} on {1 - SAME:.0%} of the tasks"
        if self.enough is None:
            return f"{aim} is not reached by stopping when sure: nothing saved"
        bought = round(self.enough["labels_a_task"] * self.tasks)
        return (
            f"{aim} is reached with {bought:,} labels, stopping at a confidence of "
            f"{self.enough['settle']:g}: {self.enough['saved']:.0%} saved"
        )

    def report(self) -> dict[str, object]:
        """All of it as plain values."""
        return {
            "tasks": self.tasks,
            "labels": self.labels,
            "error_against": "gold" if self.has_gold else "the decision from all labels",
            "scored_tasks": self.scored,
            "repeats": self.repeats,
            "target": self.target,
            "enough": self.enough,
            "curves": self.table.to_dicts(),
        }

    def _curve(self, rule: str) -> pl.DataFrame:
        return self.table.filter(pl.col("rule") == rule)


def savings(
    labels: pl.DataFrame,
    gold: pl.DataFrame | None = None,
    *,
    crowd: Estimator | None = None,
    settles: Sequence[float] = SETTLES,
    repeats: int = REPEATS,
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
    >>> from crowdstream.science.simulate import simulate
    >>> (made,) = simulate(20, 200, p=np.linspace(0.1, 0.4, 20), per_task=11)
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
    """The fixed numbers of labels a task that are tried.

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
        raise InputError("gold", "one row a task", f"more for task {twice['task'][0]!r}")
    truths = truths.join(numbers, on="task")
    if not truths.height:
        raise InputError("gold", "tasks that have labels", "none in common with the labels")
    return rows, truths.select(pl.col("number").cast(pl.Int64).alias("task"), "label")


def _mean(ways: list[dict[str, object]]) -> pl.DataFrame:
    """Over the repeats, which all have the same ways in the same order."""
    kinds = {"rule": pl.String, "settle": pl.Float64, "redundancy": pl.Int64}
    schema = {**kinds, "labels_a_task": pl.Float64, "error": pl.Float64}
    return (
        pl.DataFrame(ways, schema)
        .group_by(*kinds, maintain_order=True)
        .agg(
            pl.mean("labels_a_task"),
            pl.col("error").std().fill_null(0.0).alias("spread"),
            pl.mean("error"),
        )
        .select(*kinds, "labels_a_task", "error", "spread")
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
        self.all = self.new_crowd().fit_predict(self.rows)
        if gold is None:
            self.gold = self.all.filter(pl.col("margin") > 0).select("task", "label")
        else:
            self.gold = gold
            self.classes = pl.concat([rows["label"], gold["label"]]).n_unique()

    def new_crowd(self) -> Estimator:
        """One that has learnt nothing."""
        return self.recipe.clone()

    def ways(self, settles: Sequence[float], fixed: Sequence[int]) -> Iterator[dict[str, object]]:
        """What each way of buying costs and errs."""
        for settle in settles:
            bought, decided = self.until_sure(settle)
            yield self._way(STOP, settle, None, bought, decided)
        yield self._way(STOP, None, None, self.rows, self.all)
        for number in fixed:
            bought = self.rows.filter(self.rank < number)
            yield self._way(FIXED, None, number, bought, self.new_crowd().fit_predict(bought))
            yield self._way(MAJORITY, None, number, bought, MajorityVote().fit_predict(bought))

    def _way(
        self,
        rule: str,
        settle: float | None,
        number: int | None,
        bought: pl.DataFrame,
        decided: pl.DataFrame,
    ) -> dict[str, object]:
        heads = bought if rule == MAJORITY else None
        error = expected_error(decided, self.gold, heads=heads, classes=self.classes)
        cost = bought.height / decided.height
        ways = {"rule": rule, "settle": settle, "redundancy": number}
        return {**ways, "labels_a_task": cost, "error": error}

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
            crowd.learn_many(pieces[-1])
        bought_rows = pl.concat(pieces)
        return bought_rows, self.new_crowd().fit_predict(bought_rows)

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
        """Of the decision after each label of some tasks.

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
        decided = crowd.predict_many(table).sort("task")
        return np.asarray(decided["confidence"].to_numpy(), float)


# Chart -------------------------------------------------------------------------------------

COLOURS = {STOP: "#1f6feb", FIXED: "#d1730f", MAJORITY: "#6e7781"}
"""Told apart by those who do not see red and green as well."""

APART = 0.06
"""Of the chart's width: levels to stop at that are closer are not both named. Of its height: a
level this low is named above its point, or its name would run into the axis."""


def draw(found: Savings, name: str) -> alt.LayerChart:
    """Labels a task against error, a curve a way of buying; down and left is better."""
    import altair as alt

    x = alt.X(
        "labels_a_task:Q",
        title="labels a task",
        scale=alt.Scale(zero=True, nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
    )
    measure = "error" if found.has_gold else "tasks decided otherwise than from all labels"
    y = alt.Y("error:Q", title=measure, axis=alt.Axis(format="~%"))
    rules = list(COLOURS)
    legend = alt.Legend(
        orient="top-right",
        labelLimit=0,
        labelFontSize=13,
        symbolType="stroke",
        symbolStrokeWidth=3,
        fillColor="white",
        padding=6,
    )
    colours = alt.Scale(domain=rules, range=list(COLOURS.values()))
    colour = alt.Color("rule:N", title=None, scale=colours, legend=legend)
    base = alt.Chart(found.table).encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=2.5).encode(order="labels_a_task:Q")
    dots = base.mark_point(filled=True, size=40, opacity=1)
    named = alt.Chart(_named(found)).encode(x=x, y=y, text="settle:Q")
    blue = COLOURS[STOP]
    under = named.mark_text(align="right", baseline="top", dx=-3, dy=4, color=blue)
    above = named.mark_text(align="right", baseline="bottom", dx=-3, dy=-4, color=blue)
    names = under.transform_filter("!datum.low") + above.transform_filter("datum.low")
    aim = "majority vote with all labels" if found.has_gold else "wanted"
    level = alt.Chart(pl.DataFrame({"error": [found.target]})).encode(y=y)
    rule = level.mark_rule(strokeDash=[2, 3], color="#444")
    # Below the line on the left, where no curve has come down yet.
    said = level.mark_text(
        align="left", baseline="top", dy=4, dx=4, text=f"{aim}: {found.target:.1%}", color="#444"
    ).encode(x=alt.value(0))
    title = alt.TitleParams(
        _headline(found),
        subtitle=_small_print(found, name),
        anchor="start",
        fontSize=17,
        subtitleFontSize=12,
        subtitlePadding=6,
        offset=14,
    )
    chart: alt.LayerChart = (
        (rule + said + lines + dots + names)
        .properties(width=720, height=420, padding=20, title=title)
        .configure_axis(labelFontSize=12, titleFontSize=13)
        .configure_view(stroke=None)
    )
    return chart


def _named(found: Savings) -> pl.DataFrame:
    """The points of the levels to stop at whose names do not run into each other."""
    top = pl.lit(found.table["error"]).max()
    stop = found.table.drop_nulls("settle").with_columns(low=pl.col("error") < APART * top)
    gap = APART * found.labels / found.tasks
    kept: list[int] = []
    costs = stop["labels_a_task"].to_list()
    for k in reversed(range(len(costs))):
        if all(abs(costs[k] - costs[other]) >= gap for other in kept):
            kept.append(k)
    return stop[sorted(kept)]


def _headline(found: Savings) -> str:
    """The finding, whichever it is."""
    kept = f"deciding {1 - SAME:.0%} of the tasks as all labels do"
    if found.enough is None:
        like = "majority vote with all labels" if found.has_gold else kept
        return f"Stopping when sure does not get as far as {like}"
    cost = f"{found.enough['labels_a_task']:.1f} of {found.labels / found.tasks:.1f} labels a task"
    if found.has_gold:
        return f"As good as majority vote with all labels: {cost}, stopping when sure"
    return f"{cost} decide {1 - SAME:.0%} of the tasks as all labels do, stopping when sure"


def _small_print(found: Savings, name: str) -> list[str]:
    orders = "1 random order" if found.repeats == 1 else f"mean of {found.repeats} random orders"
    against = (
        f"error against {found.scored:,} gold labels"
        if found.has_gold
        else "no gold, so what all labels say stands for the truth"
    )
    return [
        f"{name}: {found.labels:,} labels of {found.tasks:,} tasks, bought again; {orders}; "
        f"{against}.",
        "Numbers on the blue curve: the confidence at which no more labels of a task are bought.",
    ]
