"""Specialists: workers who are better at some groups of tasks than at others. For tables only.

A first step: each worker's skill by group is shrunk towards its skill overall, as far as groups
differ at all; where they do not, decisions are those of the estimator itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions.decision import SettleRule, Votes, decision_table
from crowdstream.decisions.votes import calibrate, choose
from crowdstream.defaults import MIN_LABELS, SETTLE
from crowdstream.errors import InputError
from crowdstream.estimators.adaptive import Adaptive
from crowdstream.estimators.estimator import Estimator, NativeTable
from crowdstream.labels import Table, Truths, in_kind, kind_of, shorten
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.labels.columns import ColumnNames, find_column, find_columns
from crowdstream.labels.tables import clean_table, is_table, select_columns, value_series
from crowdstream.models.teacher import error_rates
from crowdstream.panel.group_skills import GroupCells, GroupSkills

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ByGroup:
    """Skills of workers by group, as `by_group` finds them.

    Parameters
    ----------
    decisions
        One row per task, as of `fit_predict`.
    workers
        One row per worker and group of tasks that it answered: ``worker``, ``group``, ``answers``,
        ``error_rate`` in that group (shrunk) and ``overall``, its error rate in all of them.
    spread
        By how much a worker's skill differs between groups: a standard deviation, less its own
        standard error. 0: groups do not matter, and decisions are those without them.

    Examples
    --------
    >>> import polars as pl
    >>> rows = [(t, who, t % 2, "news") for t in range(20) for who in ("ann", "bob", "cy")]
    >>> table = pl.DataFrame(rows, ["task", "worker", "label", "group"], orient="row")
    >>> by_group(table).workers.columns
    ['worker', 'group', 'answers', 'error_rate', 'overall']
    """

    decisions: NativeTable
    workers: NativeTable
    spread: float


def by_group(
    data: Table,
    *,
    group: str = "group",
    crowd: Estimator | None = None,
    gold: Truths | None = None,
    settle: float | None = SETTLE,
    min_labels: int = MIN_LABELS,
    task: str | None = None,
    worker: str | None = None,
    label: str | None = None,
) -> ByGroup:
    """Decide every task of a table by what its workers are worth in the task's group.

    Parameters
    ----------
    data
        A table of labels with one more column, the group of the task (topic, language, shop).
    group
        The name of that column.
    crowd
        The estimator whose decisions are corrected; it is left as it is. `Adaptive` by default.
    gold, settle, min_labels, task, worker, label
        As for `fit_predict`.

    Examples
    --------
    >>> import polars as pl
    >>> rows = [(t, who, t % 2, "news") for t in range(20) for who in ("ann", "bob", "cy")]
    >>> table = pl.DataFrame(rows, ["task", "worker", "label", "group"], orient="row")
    >>> by_group(table).spread  # one group is none
    0.0
    """
    if not is_table(data):
        raise InputError("data", f"a table with a column {group!r}", shorten(data))
    rule, kind = SettleRule.checked(settle, min_labels), kind_of(data)
    names = ColumnNames(task, worker, label)
    frame = select_columns(
        data,
        lambda header: [
            *find_columns(names, header, "table", "{}="),
            find_column("group", group, header, "table"),
        ],
    )
    task, worker, label, group = frame.columns
    learnt = (Adaptive() if crowd is None else crowd).clone()
    given = learnt._given(frame, {"task": task, "worker": worker, "label": label})
    batch = learnt._fit_table(frame, given, gold)
    if learnt.many_classes_:
        raise InputError("by_group", "at most 100 classes", f"{len(learnt._classes):,}")
    scorer = learnt._scorer_for(learnt._classes)
    groups, codes = _groups(clean_table(frame.select(task=task))["task"], frame[group], batch)
    learnt._warn(batch, scorer.identified)
    cells = GroupCells(batch, codes, len(groups), len(learnt._workers), len(learnt._classes))
    scores, skills = cells.correct(scorer)
    votes = Votes.room(len(batch), scorer.identified)
    named = len(learnt._classes)
    choose(batch, scores, votes, named, learnt._ties(learnt._classes), scorer.rho)
    calibrate(scorer, votes)
    return ByGroup(
        in_kind(decision_table(batch, votes, learnt._classes, rule), kind),
        in_kind(_worker_table(cells, skills, learnt.workers_, groups), kind),
        round(float(np.sqrt(skills.variance)), 4),
    )


def _groups(tasks: pl.Series, groups: pl.Series, batch: LabelBatch) -> tuple[pl.Series, Ints]:
    """The groups by name, and which is that of every task."""
    import polars as pl

    table = pl.DataFrame({"task": tasks, "group": groups.cast(pl.String)})
    table = table.drop_nulls("task").unique(maintain_order=True)
    if table["group"].null_count():
        raise InputError(f"column {groups.name!r}", "a group for every task", "nothing")
    if twice := table.filter(table["task"].is_duplicated())["task"].head(1).to_list():
        raise InputError(f"column {groups.name!r}", "one group per task", f"more for {twice[0]!r}")
    found = table["group"].unique(maintain_order=True)
    number = pl.DataFrame({"group": found, "code": np.arange(len(found))})
    coded = table.join(number, on="group", how="left", maintain_order="left")
    order = pl.DataFrame({"task": value_series("task", batch.tasks).cast(pl.String)})
    coded = order.join(coded.with_columns(pl.col("task").cast(pl.String)), on="task", how="left")
    return found, coded["code"].to_numpy().astype(np.int64)


def _worker_table(
    cells: GroupCells, skills: GroupSkills, names: list[str | int], groups: pl.Series
) -> pl.DataFrame:
    import polars as pl

    some = np.flatnonzero(cells.answers)
    worker, group = some // cells.groups, some % cells.groups
    return pl.DataFrame(
        {
            "worker": value_series("worker", names).gather(worker),
            "group": groups.gather(group),
            "answers": cells.answers[some],
            "error_rate": error_rates(skills.cells[some], cells.classes),
            "overall": error_rates(skills.workers[worker], cells.classes),
        }
    )
