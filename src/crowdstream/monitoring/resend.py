"""Tasks to send out again, and for how many more labels. Keeps nothing, changes nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Unpack

import numpy as np

from crowdstream.decisions.decision import SettleRule
from crowdstream.defaults import MIN_LABELS, SETTLE
from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import CodedLabels, Table
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.difficulty import strengths_in
from crowdstream.monitoring.outlook import outlook
from crowdstream.stopping import HORIZON

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.monitoring.worker_sums import Floats

LOOKED_AT = 100
"""Tasks whose own labels are looked at, at 5 ms each. Of more tasks, those with as many votes and
nearly the same confidence are taken to need as many: these are 100 in the order of both."""


FIRST = 5
"""Tasks that are looked at in any case: the most doubtful, which summaries name."""


def tasks_to_resend(
    crowd: Estimator,
    table: Table,
    decisions: pl.DataFrame,
    *,
    settle: float = SETTLE,
    min_labels: int = MIN_LABELS,
    **meaning: Unpack[TableMeaning],
) -> pl.DataFrame:
    """The tasks that are not settled, the most doubtful first, and how many labels each needs.

    Parameters
    ----------
    crowd
        The estimator that made the decisions.
    table
        The labels that they were made of.
    decisions
        What `fit_predict` or its like returned.
    settle, min_labels
        When a decision is settled.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Returns
    -------
    One row per task: ``task``, ``label``, ``confidence``, ``votes``, ``more_labels`` (how many are
    expected to be needed, rounded up; null where 100 more likely do not settle it) and ``needs``:
    "labels", or "expert" where there is no such number.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(10, 300, p=0.25, per_task=3)
    >>> crowd = cs.Adaptive()
    >>> found = tasks_to_resend(crowd, made.labels(), crowd.fit_predict(made.labels()))
    >>> found["confidence"].is_sorted(), bool((found["more_labels"] >= 1).all())
    (True, True)
    """
    import polars as pl

    rule = SettleRule.checked(settle, min_labels)
    doubtful = view.as_polars(decisions).filter(~pl.col("settled"))
    columns = ("task", "label", "confidence", "votes")
    order = doubtful.select(*columns).with_row_index("place").sort("votes", "confidence", "place")
    which = np.linspace(0, order.height - 1, min(order.height, LOOKED_AT)).astype(int)
    least = order.with_row_index("at").sort("confidence", "place")["at"].head(FIRST)
    which = np.union1d(which, least.to_numpy()).astype(int)
    some = order[which]["task"]
    needed = _more_labels(crowd, view.labels_of(crowd, table, meaning), some, rule)
    if which.size:
        nearest = np.searchsorted((which[1:] + which[:-1]) / 2, np.arange(order.height))
        needed = needed[nearest]
    more = pl.Series(np.ceil(np.where(np.isinf(needed), np.nan, np.maximum(needed, 1.0))))
    return (
        order.with_columns(
            more_labels=more.fill_nan(None).cast(pl.Int64),
            needs=pl.Series(np.where(np.isinf(needed), "expert", "labels"), dtype=pl.String),
        )
        .sort("confidence", "place")
        .drop("place")
    )


def _more_labels(crowd: Estimator, rows: CodedLabels, tasks: pl.Series, rule: SettleRule) -> Floats:
    """Return how many more labels these tasks are expected to need; inf if they never settle."""
    import polars as pl

    if not len(tasks):
        return np.zeros(0)
    names = pl.Series(rows.batch.tasks)
    rows = rows.select(names.is_in(tasks.cast(names.dtype).implode()).fill_null(False).to_numpy())
    there = view.as_open_tasks(crowd, rows)
    strengths, found = strengths_in(crowd), np.full(len(tasks), math.inf)
    for k, name in enumerate(tasks.to_list()):
        ahead = outlook(crowd, there.get(name), rule, HORIZON, strengths)
        if ahead.chance >= 0.5:
            found[k] = ahead.settled
    return found
