"""Missing answers by worker, and whether they depend on what the answer would have been.

A judge that fails on the hard tasks looks better than it is: it is named. Reads labels and
decisions; knows no estimators.
"""

from __future__ import annotations

from math import exp, lgamma
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.labels import CodedLabels
from crowdstream.metrics import wilson
from crowdstream.plain_text import percent

if TYPE_CHECKING:
    import polars as pl

DENSE = 0.9
"""Share of all (task, worker) pairs with an answer from which on everybody was asked everything,
where the table does not say who was asked. A crowd of which each task asks a part has fewer."""

LEVEL = 0.05
"""Highest rate of saying that somebody answers some classes less where nobody does."""

WORTH_SAYING = 0.01
"""Share of missing answers from which on a worker is named."""

NAMED = 4
"""Workers that are named."""


def missing_verdicts(table: CodedLabels, decisions: pl.DataFrame) -> pl.DataFrame | None:
    """Count the tasks that each worker was asked and did not answer, in all and per decided class.

    A worker was asked what it has a row for. Where no row is without an answer, nine of ten pairs
    of task and worker have one, and not as many on every task, everybody was asked everything.

    Parameters
    ----------
    table
        The labels, with those that were not given.
    decisions
        The decisions on the tasks: task and label.

    Returns
    -------
    One row per worker who left something out: worker, asked, missing, share; ``on_class``: the
    decided class that it leaves out more often than the others, if it does (Fisher's exact test,
    at a level of 5 % over all workers and classes), and ``on_class_share``; ``by_class``: label,
    asked and missing of each decided class (see `missing_by_class`). None where nothing is missing
    or it cannot be told.

    Examples
    --------
    >>> import polars as pl
    >>> from crowdstream.labels import code_rows
    >>> rows = [(t, w, None if w == "b" and t < 9 else t < 12) for t in range(40) for w in "abc"]
    >>> decided = pl.DataFrame({"task": range(40), "label": [t < 12 for t in range(40)]})
    >>> missing_verdicts(code_rows(rows), decided).drop("by_class").rows()
    [('b', 40, 9, 0.225, 'true', 0.75)]
    """
    import polars as pl

    batch = table.batch
    pairs = decisions.height * len(table.workers)
    if batch.labels.min(initial=0) >= 0 and table.height < DENSE * pairs:
        return None  # as of most crowds, found out without looking at rows
    runs, names = table.task_order()
    given = pl.DataFrame(
        {
            "task": np.repeat(runs, batch.sizes),
            "worker": batch.workers,
            "answered": batch.labels >= 0,
        }
    ).filter((pl.col("task") >= 0) & (pl.col("worker") >= 0))
    rows = given.group_by("task", "worker").agg(pl.col("answered").any())
    tasks, workers = len(names), len(table.workers)
    if rows["answered"].all():
        if not rows.height or rows.height < DENSE * tasks * workers:
            return None
        if rows["task"].value_counts()["count"].n_unique() == 1:
            return None  # so many were asked about each task
        rows = (
            pl.DataFrame({"task": np.arange(tasks, dtype=np.int32)})
            .join(pl.DataFrame({"worker": np.arange(workers, dtype=np.int32)}), how="cross")
            .join(rows, on=["task", "worker"], how="left")
            .with_columns(pl.col("answered").fill_null(False))
        )
    decided = dict(zip(decisions["task"], decisions["label"].cast(pl.String), strict=True))
    classes = pl.Series("class", [decided.get(name) for name in names], pl.String)
    rows = rows.with_columns(classes.gather(rows["task"]))
    counts = rows.group_by("worker", "class").agg(
        pl.len().alias("asked"), (~pl.col("answered")).sum().alias("missing")
    )
    totals = counts.group_by("worker").agg(pl.col("asked").sum(), pl.col("missing").sum())
    # Groups come in any order: the same labels must give the same names.
    totals, counts = totals.filter(pl.col("missing") > 0).sort("worker"), counts.sort(pl.all())
    if not totals.height:
        return None
    tests = max(counts.drop_nulls("class").height, 1)
    found = []
    for worker, asked, missing in totals.iter_rows():
        here = counts.filter(pl.col("worker") == worker).drop_nulls("class")
        on_class, share, least = None, None, LEVEL / tests
        for _, name, n, left in here.iter_rows():
            chance = _at_least(left, n, missing, asked)
            if chance < least and left / n > missing / asked:
                on_class, share, least = name, left / n, chance
        each = here.select(pl.col("class").alias("label"), "asked", "missing").to_dicts()
        name = table.workers[worker]
        found.append((name, asked, missing, missing / asked, on_class, share, each))
    kind = pl.Int64 if all(isinstance(row[0], int) for row in found) else pl.String
    of_class = pl.Struct({"label": pl.String, "asked": pl.Int64, "missing": pl.Int64})
    schema = {
        "worker": kind, "asked": pl.Int64, "missing": pl.Int64, "share": pl.Float64,
        "on_class": pl.String, "on_class_share": pl.Float64, "by_class": pl.List(of_class),
    }  # fmt: skip
    made = pl.DataFrame(found, schema, orient="row", strict=False)
    return made.sort(pl.col("on_class").is_null(), -pl.col("share"), maintain_order=True)


def missing_by_class(missing: pl.DataFrame) -> pl.DataFrame:
    """Return the share of missing answers of each worker on the tasks of each decided class.

    Parameters
    ----------
    missing
        What `missing_verdicts` returned.

    Returns
    -------
    One row per worker who left something out and class: worker, label, asked, missing, share and
    its 95 % interval (share_low, share_high; Wilson).

    Examples
    --------
    >>> import polars as pl
    >>> from crowdstream.labels import code_rows
    >>> rows = [(t, w, None if w == "b" and t < 9 else t < 12) for t in range(40) for w in "abc"]
    >>> decided = pl.DataFrame({"task": range(40), "label": [t < 12 for t in range(40)]})
    >>> found = missing_by_class(missing_verdicts(code_rows(rows), decided))
    >>> found.select("worker", "label", "asked", "missing", "share").rows()
    [('b', 'false', 28, 0, 0.0), ('b', 'true', 12, 9, 0.75)]
    """
    import polars as pl

    rows = missing.select("worker", "by_class").explode("by_class", empty_as_null=False)
    rows = rows.unnest("by_class")
    low, high = wilson(rows["missing"].to_numpy(), rows["asked"].to_numpy())
    return rows.with_columns(
        (pl.col("missing") / pl.col("asked")).alias("share"), share_low=low, share_high=high
    )


def flip_rates(flips: pl.DataFrame) -> pl.DataFrame:
    """Return how often workers contradict themselves, with 95 % intervals (Wilson).

    Parameters
    ----------
    flips
        One row per worker that was asked again: worker, repeated (tasks asked again) and flips
        (tasks of them on which its answers differ).

    Returns
    -------
    The table with flip_rate, flip_low and flip_high.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"worker": ["gpt", "llama"], "repeated": [50, 50], "flips": [0, 9]}
    >>> flip_rates(pl.DataFrame(rows)).select(pl.col("^flip_.*$").round(2)).rows()
    [(0.0, 0.0, 0.07), (0.18, 0.1, 0.31)]
    """
    import polars as pl

    low, high = wilson(flips["flips"].to_numpy(), flips["repeated"].to_numpy())
    rate = (pl.col("flips") / pl.col("repeated")).alias("flip_rate")
    return flips.with_columns(rate, flip_low=low, flip_high=high)


def _at_least(found: int, drawn: int, marked: int, total: int) -> float:
    """The chance of so many marked ones or more among those drawn: the hypergeometric tail.

    >>> round(_at_least(2, 2, 2, 4), 4)
    0.1667
    """
    most = min(drawn, marked)
    return min(sum(_chance(k, drawn, marked, total) for k in range(found, most + 1)), 1.0)


def _chance(k: int, drawn: int, marked: int, total: int) -> float:
    if drawn - k > total - marked:
        return 0.0
    ways = _log_choose(marked, k) + _log_choose(total - marked, drawn - k)
    return exp(ways - _log_choose(total, drawn))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def with_answering(
    workers: pl.DataFrame, flips: pl.DataFrame | None, missing: pl.DataFrame | None
) -> pl.DataFrame:
    """Add to a table of workers how often they contradict themselves and do not answer.

    ``flip_rate``: of the tasks that a worker was asked again, those on which its answers differ,
    with its interval (``flip_low``, ``flip_high``).
    ``missing``: of the tasks that it was asked, those that it did not answer. Columns are added
    only where there is something to tell.
    """
    import polars as pl

    if flips is not None:
        rates = flip_rates(flips).select("worker", "flip_rate", "flip_low", "flip_high")
        workers = workers.join(rates, on="worker", how="left", maintain_order="left")
    if missing is not None:
        shares = missing.select("worker", pl.col("share").alias("missing"))
        workers = workers.join(shares, on="worker", how="left", maintain_order="left")
        workers = workers.with_columns(pl.col("missing").fill_null(0.0))
    return workers


def flip_notes(flips: pl.DataFrame | None) -> list[str]:
    """Say who contradicts itself when it is asked again, those who do so most first.

    >>> import polars as pl
    >>> rows = {"worker": ["gpt", "llama"], "repeated": [50, 50], "flips": [0, 9]}
    >>> flip_notes(pl.DataFrame(rows))
    ['contradict themselves when asked again: llama on 18.0 % of 50 tasks']
    """
    if flips is None or not flips["flips"].sum():
        return []
    import polars as pl

    rows = flip_rates(flips.filter(pl.col("flips") > 0))
    rows = rows.sort("flip_rate", descending=True, maintain_order=True)
    named = ", ".join(
        f"{row['worker']} on {percent(row['flip_rate'])} of {row['repeated']:,} tasks"
        for row in rows.head(NAMED).iter_rows(named=True)
    )
    more = f" and {rows.height - NAMED:,} more" if rows.height > NAMED else ""
    return [f"contradict themselves when asked again: {named}{more}"]


def missing_notes(missing: pl.DataFrame | None) -> list[str]:
    """Say who left out answers, first of all those who leave out some classes more than others.

    >>> missing_notes(None)
    []
    """
    if missing is None:
        return []
    notes = []
    for row in missing.drop_nulls("on_class").head(NAMED).iter_rows(named=True):
        notes.append(
            f"{row['worker']} gave no answer on {percent(row['share'])} of its tasks, and on "
            f"{percent(row['on_class_share'])} of those decided {row['on_class']!r}"
        )
    import polars as pl

    rest = missing.filter(pl.col("on_class").is_null() & (pl.col("share") >= WORTH_SAYING))
    if rest.height:
        named = ", ".join(
            f"{row['worker']} {percent(row['share'])}"
            for row in rest.head(NAMED).iter_rows(named=True)
        )
        more = f" and {rest.height - NAMED:,} more" if rest.height > NAMED else ""
        notes.append(f"tasks without an answer: {named}{more}")
    return notes
