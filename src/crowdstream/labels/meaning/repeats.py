"""Several labels of one worker on one task: asked again, corrected, or something that was lost.

A worker counts once per task. Knows rows in codes; nothing of columns or files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from crowdstream.errors import InputError
from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.coded_labels import CodedLabels, LeftOut, Origin
from crowdstream.labels.label import TaskId

if TYPE_CHECKING:
    import polars as pl

TELLING = 0.01
"""Share of labels that another of the same worker on the same task replaces, above which it is no
slip of the hand if some column tells the two apart."""

TOO_MANY = 0.1
"""Largest share of replaced labels where no column tells them apart."""

FEWEST = 10
"""Replaced labels from which on their share is looked at: fewer are corrections."""


class Repeated(NamedTuple):
    """Labels of which each worker has one per task, and how often workers contradicted themselves.

    ``flips``: worker, repeated (tasks it was asked more than once) and flips (those on which its
    labels differ).
    """

    table: CodedLabels
    flips: pl.DataFrame


def one_per_task(table: CodedLabels, policy: str = "majority") -> Repeated:
    """Keep one label of each worker on each task.

    Parameters
    ----------
    table
        The labels, in any order.
    policy
        "majority": the most frequent one, of equals the first; "last" or "first" as they came.

    Examples
    --------
    >>> from crowdstream.labels.coded_labels import code_values
    >>> rows = [("t1", "ann", "yes"), ("t1", "ann", "no"), ("t1", "ann", "no")]
    >>> found = one_per_task(code_values(rows))
    >>> found.table.frame()["label"].to_list(), found.flips.rows()
    (['no'], [('ann', 1, 1)])
    """
    import polars as pl

    runs, names = table.task_order()
    batch = table.batch
    rows = pl.DataFrame(
        {
            "task": np.repeat(runs, batch.sizes),
            "worker": batch.workers,
            "label": batch.labels,
        }
    ).with_row_index("row")
    keys = ["task", "worker"]
    named = pl.all_horizontal(pl.col(keys) >= 0)
    given = rows.filter(named & (pl.col("label") >= 0))
    counts = given.group_by(*keys, "label").agg(
        pl.len().alias("times"),
        pl.col("row").min().alias("first"),
        pl.col("row").max().alias("last"),
    )
    by, falling = {
        "majority": (["times", "first"], [True, False]),
        "first": (["first"], [False]),
        "last": (["last"], [True]),
    }[policy]
    chosen = counts.sort(by, descending=falling).unique(keys, keep="first", maintain_order=True)
    spread = counts.group_by(keys).agg(
        pl.col("times").sum(), pl.len().alias("labels"), pl.col("first").min().alias("at")
    )
    flips = (
        spread.filter(pl.col("times") > 1)
        .group_by("worker")
        .agg(pl.len().alias("repeated"), (pl.col("labels") > 1).sum().alias("flips"))
        .sort("worker")
    )
    flips = flips.with_columns(table.workers.column("worker").gather(flips["worker"]))
    # Who was asked and did not answer stays known: once per task. Rows without a task or a worker
    # stay as they are, to be counted.
    silent = (
        rows.filter(named)
        .join(chosen.select(keys), on=keys, how="anti")
        .unique(keys, keep="first", maintain_order=True)
    )
    kept = pl.concat(
        [
            chosen.join(spread.select(*keys, "at"), on=keys).select(*keys, "label", "at"),
            silent.select(*keys, "label", pl.col("row").alias("at")),
            rows.filter(~named).select(*keys, "label", pl.col("row").alias("at")),
        ],
        how="vertical_relaxed",
    )
    order = kept.group_by("task").agg(pl.col("at").min().alias("begins"))
    kept = kept.join(order, on="task").sort("begins", "at")
    tasks = kept["task"].to_numpy()
    starts = np.flatnonzero(np.diff(tasks, prepend=-2))
    new = LabelBatch(
        np.append(starts, kept.height).astype(np.int64),
        kept["worker"].to_numpy().astype(np.int32),
        kept["label"].to_numpy().astype(np.int32),
        tasks=_names_of(tasks[starts], names),
    )
    left_out = LeftOut(
        int((table.batch.labels < 0).sum() - (new.labels < 0).sum()),
        int(chosen["times"].sum()) - chosen.height,
        given.height - int(chosen["times"].sum()),
    )
    found = CodedLabels(new, table.workers, table.classes, table.origin, left_out)
    return Repeated(found, flips)


def _names_of(places: Codes, names: Sequence[TaskId] | pl.Series) -> Sequence[TaskId] | pl.Series:
    """Names by their places, None for −1, in the kind of sequence that they are in."""
    import polars as pl

    if isinstance(names, pl.Series):
        found = pl.Series(places)
        return names.gather(found.set(found < 0, None))
    return cast("list[TaskId]", [names[k] if k >= 0 else None for k in places.tolist()])


def refuse_replaced(replaced: int, labels: int, origin: Origin | None) -> None:
    """Refuse labels of which too many contradict another of the same worker on the same task.

    Parameters
    ----------
    replaced
        Labels that a later one replaced.
    labels
        Labels in all, those that were given twice or replaced too.
    origin
        Where they came from.
    """
    if origin is None or replaced < FEWEST or replaced <= TELLING * labels:
        return
    columns = origin.telling_columns()
    found = f"{replaced:,} of {labels:,} contradict another of the same worker on the same task"
    if columns:
        name = columns[0]
        ways = (
            f"{origin.words('question', name)}: each value is a question of its own",
            f"{origin.words('repeat', name)}: asked again",
            f"{origin.words('repeats', 'last')}: the last counts",
        )
        found += f"; column {name!r} tells them apart"
        raise InputError("labels", f"one per worker and task ({'; '.join(ways)})", found)
    if replaced > TOO_MANY * labels:
        ways = (
            f"{origin.words('choices', '')}: several may be right at once",
            f"{origin.words('repeats', 'last')}: the last counts",
            f"{origin.words('repeats', 'majority')}: the most frequent one",
        )
        raise InputError("labels", f"one per worker and task ({'; '.join(ways)})", found)


def telling_columns(
    table: pl.DataFrame, keys: list[str], label: str, others: list[str]
) -> list[str]:
    """The columns that tell labels apart which differ though task and worker are the same.

    >>> import polars as pl
    >>> data = {"t": [1, 1, 1, 1], "w": [1, 1, 2, 2], "l": ["x", "y", "y", "x"], "q": [1, 2, 1, 2]}
    >>> telling_columns(pl.DataFrame(data), ["t", "w"], "l", ["q"])
    ['q']
    """
    import polars as pl

    rows = table.filter(pl.col(label).is_not_null())
    several = rows.group_by(keys).agg(pl.col(label).n_unique().alias("labels"))
    several = several.filter(pl.col("labels") > 1).select(keys)
    rows = rows.join(several, on=keys, how="semi", nulls_equal=True)
    found = []
    for name in others:
        left = rows.group_by(*keys, name).agg(pl.col(label).n_unique().alias("labels"))
        if left.height and not (left["labels"] > 1).any() and rows[name].n_unique() < rows.height:
            found.append(name)
    # The fewer values a column has, the likelier it was meant to tell something.
    return sorted(found, key=lambda name: rows[name].n_unique())
