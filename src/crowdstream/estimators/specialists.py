"""Specialists: workers who are better at some groups of tasks than at others. For tables only.

A first step: each worker's skill by group is shrunk towards its skill overall, as far as groups
differ at all; where they do not, decisions are those of the estimator itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.decisions import (
    MIN_LABELS,
    SETTLE,
    SettleRule,
    Votes,
    decision_table,
    value_series,
)
from crowdstream.errors import InputError
from crowdstream.estimators.adaptive import Adaptive
from crowdstream.estimators.base import Estimator
from crowdstream.estimators.tables import NativeTable
from crowdstream.estimators.votes import Scorer, choose, posteriors_by
from crowdstream.labels import Table, Truths, in_kind, kind_of, shorten
from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.labels.tables import (
    ColumnNames,
    find_column,
    find_columns,
    is_table,
    read_table,
    select_columns,
)

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

ROUNDS = 5
"""Times that decisions and skills by group are found from one another; simulated crowds stand still
after three."""

PRIOR = 2.0
"""Answers by the crowd's mean skill that a worker has beside its own."""

MOST_SKILL = 0.9
"""Skill by group is kept between 0 and this: nobody is taken to be infallible, nor turned around
on the strength of one group."""


@dataclass(frozen=True, eq=False)
class ByGroup:
    """What `by_group` found.

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
    names = ColumnNames(task, worker, label)
    learnt = (Adaptive() if crowd is None else crowd).clone()
    batch, _ = learnt._fit_table(frame, names, gold, decide=False)
    scorer = learnt._scorer_for(learnt._workers, learnt._classes)
    groups, codes = _groups(read_table(frame, names)["task"], frame[group], batch)
    learnt._warn(batch, scorer.identified)
    cells = _Cells(batch, codes, len(groups), len(learnt._workers), len(learnt._classes))
    scores, skills = cells.correct(scorer)
    votes = Votes.room(len(batch), scorer.identified)
    named = len(learnt._classes)
    choose(batch, scores, votes, named, learnt._ties(learnt._classes), scorer.rho)
    if scorer.calibrate is not None:
        votes.confidences[:] = scorer.calibrate(votes.confidences)
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


class _Skills(NamedTuple):
    """Skills by worker and group (as cells), by worker, and how much groups differ."""

    cells: Floats
    workers: Floats
    variance: float


class _Cells:
    """Labels by worker and group: a cell is a worker in a group."""

    def __init__(self, batch: LabelBatch, codes: Ints, groups: int, workers: int, named: int):
        self.batch = batch
        self.groups, self.workers, self.classes = groups, workers, max(named, 2)
        self.task = np.repeat(np.arange(len(batch)), batch.sizes)
        self.cell = batch.workers.astype(np.int64) * groups + codes[self.task]
        self.answers = np.bincount(self.cell, minlength=workers * groups)

    def correct(self, scorer: Scorer) -> tuple[Floats, _Skills]:
        """Scores in which each label counts by its worker's skill in the group.

        A label's weight changes by that of its worker's skill here against that overall.
        """
        scores = np.empty((len(self.batch), self.classes))
        scorer.score(self.batch, scores)
        skills = _Skills(np.zeros(self.answers.size), np.zeros(self.workers), 0.0)
        if not self.batch.labels.size:
            return scores, skills
        own = self._own(scorer)
        extra = np.zeros(self.batch.labels.size)
        corrected = scores
        for _ in range(ROUNDS):
            others = corrected[self.task] - own
            others[np.arange(extra.size), self.batch.labels] -= extra
            skills = self._skills(others, scorer)
            if skills.variance == 0.0 or not scorer.identified:
                return scores, skills._replace(variance=0.0)
            change = self._weights(skills.cells) - self._weights(
                np.repeat(skills.workers, self.groups)
            )
            extra = change[self.cell]
            corrected = scores.copy()
            np.add.at(corrected, (self.task, self.batch.labels), extra)
        return corrected, skills

    def _own(self, scorer: Scorer) -> Floats:
        """What each label adds to the scores of its task."""
        number = self.batch.labels.size
        alone = LabelBatch(np.arange(number + 1), self.batch.workers, self.batch.labels)
        own, nothing = np.empty((number, self.classes)), np.empty((1, self.classes))
        scorer.score(alone, own)
        scorer.score(
            LabelBatch(np.zeros(2, np.int64), alone.workers[:0], alone.labels[:0]), nothing
        )
        return np.asarray(own - nothing)

    def _skills(self, others: Floats, scorer: Scorer) -> _Skills:
        """Skills from each label against the posterior of the task's other labels.

        With ``h = K π(y) − 1``: E h = θ e₂ and Var h = e₂ + θ e₃ − θ² e₂² (docs/uncertainty.md).
        """
        k, truths = self.classes, self.batch.truths
        sizes = self.batch.sizes[self.task] - 1
        posterior = posteriors_by(others, sizes, scorer._replace(calibrate=None), k)
        if truths.size:
            known = truths[self.task] >= 0
            posterior[known] = np.eye(k)[truths[self.task[known]]]
        lean = k * posterior - 1.0
        e2, e3 = (lean**2).sum(axis=1) / k, (lean**3).sum(axis=1) / k
        said = lean[np.arange(lean.shape[0]), self.batch.labels]
        b, c, d, f = (self._sum(part) for part in (said, e2, e2 * e2, e3))
        by_worker = (self.workers, self.groups)
        b_all, c_all = b.reshape(by_worker).sum(axis=1), c.reshape(by_worker).sum(axis=1)
        mean = b.sum() / max(c.sum(), 1e-12)
        overall = (b_all + PRIOR * mean) / (c_all + PRIOR)
        at = np.repeat(overall, self.groups)
        noise = np.maximum(c + at * f - at * at * d, 0.0)
        share = c / np.maximum(np.repeat(c_all, self.groups), 1e-12)
        variance = _between(b - at * c, c, noise, share)
        if variance == 0.0:
            return _Skills(at, overall, 0.0)
        strength = noise.sum() / max(c.sum(), 1e-12) / variance
        return _Skills((b + strength * at) / (c + strength), overall, variance)

    def _sum(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.cell, values, self.answers.size), np.float64)

    def _weights(self, skills: Floats) -> Floats:
        """log(s (K − 1)/(1 − s)) of a worker who is right with s = 1/K + (1 − 1/K) θ."""
        kept = np.clip(skills, 0.0, MOST_SKILL)
        return np.asarray(np.log((1 + (self.classes - 1) * kept) / (1 - kept)))


def _between(off: Floats, c: Floats, noise: Floats, share: Floats) -> float:
    """Variance of skill between a worker's groups, by moments; less one standard error of it.

    ``off = B − θC`` of a cell has the variance ``noise (1 − share)`` if its worker is as good in
    all groups, and τ² C² (1 − share) more if not; so that groups have to be shown to matter.
    """
    some = (c > 1e-9) & (share < 1.0 - 1e-9)
    off, c, noise, rest = off[some], c[some], noise[some], 1.0 - share[some]
    size = float((c * rest).sum())
    if size <= 0.0:
        return 0.0
    expected = noise * rest / c
    found = float((off * off / c - expected).sum()) / size
    error = float(np.sqrt(2.0 * (expected**2).sum())) / size
    return max(found - error, 0.0)


def _worker_table(
    cells: _Cells, skills: _Skills, names: list[str | int], groups: pl.Series
) -> pl.DataFrame:
    import polars as pl

    some = np.flatnonzero(cells.answers)
    worker, group = some // cells.groups, some % cells.groups
    worst = 1.0 - 1.0 / cells.classes

    def errors(found: Floats) -> Floats:
        return np.clip((1.0 - found) * worst, 0.0, 1.0)

    return pl.DataFrame(
        {
            "worker": value_series("worker", names).gather(worker),
            "group": groups.gather(group),
            "answers": cells.answers[some],
            "error_rate": errors(skills.cells[some]),
            "overall": errors(skills.workers[worker]),
        }
    )
