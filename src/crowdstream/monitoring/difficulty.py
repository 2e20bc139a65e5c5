"""Difficulty of each task: the chance that an average worker errs on it. Keeps nothing.

A task lets through a share g of its workers' skill, g on a grid from 0 to 1.4; how frequent each
g is comes from the table itself, or in a stream from the crowd's sample of closed tasks. It says
how many labels a task still needs (`outlook`). Does not enter decisions or their confidence:
averaging over g made confidence worse on public sets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, Unpack

import numpy as np

from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import Table
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.tables import value_series
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.difficulty_loops import fill_likelihoods, fill_strengths
from crowdstream.monitoring.worker_sums import Floats
from crowdstream.parallel import parts_of, side_by_side

if TYPE_CHECKING:
    import polars as pl

Strengths: TypeAlias = Floats
"""Shares of tasks of each strength of `GRID`."""

GRID: Floats = np.linspace(0.0, 1.4, 8)
"""Strengths of a task: how much of its workers' skill it lets through."""

PRIOR: Floats = np.array([0.1, 0.1, 0.1, 0.1, 0.2, 20.0, 0.2, 0.1])
"""Tasks of each strength that the frequencies start from: most let all skill through."""

STRONGEST = 0.98 / 1.4
"""Skill from which on the strongest task would leave no error."""

ROUNDS, STILL = 100, 1e-5
"""Rounds in which the frequencies are fitted at most, and the change from which on they are. Where
half of the tasks are coins, 30 rounds find half of what 100 do; few crowds need as many."""

FITTED = 20_000
"""Tasks of a table that the frequencies are fitted to at most: eight shares to half a per cent,
where rounds over a million tasks took half a minute."""

SAMPLE = 500
"""Tasks of a crowd's sample that the frequencies are fitted to: eight numbers need no more."""


def difficulty(crowd: Estimator, table: Table, **meaning: Unpack[TableMeaning]) -> pl.DataFrame:
    """Tasks of a table and how hard each is: the chance that an average worker errs.

    Parameters
    ----------
    crowd
        An estimator that has learnt; it needs no monitors.
    table
        Labels of the tasks in question.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> said = [[t % 2] * 6 if t < 180 else [0, 1] * 3 for t in range(200)]  # the last are split
    >>> rows = [(t, w, said[t][w]) for t in range(200) for w in range(6)]
    >>> found = difficulty(cs.Adaptive().fit(rows), rows)["difficulty"]
    >>> bool(found[:180].max() < found[180:].min())
    True
    """
    import polars as pl

    batch, classes = view.code_table(crowd, view.labels_of(crowd, table, meaning))
    skills, worst = _skills(crowd, classes), 1.0 - 1.0 / classes
    few = batch
    if len(batch) > FITTED:
        few = batch.pick(np.linspace(0, len(batch) - 1, FITTED).astype(np.int64))
    frequency, parts = _fit(few, skills, classes), parts_of(len(batch))

    def work(part: int) -> Floats:
        here = batch.part(*parts[part])
        found = np.empty(len(here))
        scratch = np.empty((GRID.size, classes))
        fill_strengths(here.coded, skills, GRID, frequency, scratch, found)
        return found

    strengths = np.concatenate(side_by_side(work, len(parts)))
    hard = np.clip((1.0 - strengths * skills[-1]) * worst, 0.0, worst)
    found = pl.Series("difficulty", np.where(batch.sizes > 0, hard, np.nan))
    return pl.DataFrame(
        {"task": value_series("task", batch.tasks), "difficulty": found.fill_nan(None)}
    )


def strengths_in(crowd: Estimator) -> Strengths:
    """Estimate the share of tasks of each strength, from the crowd's own sample of learnt tasks.

    A crowd that keeps no sample is taken to have most tasks at 1, as `PRIOR` says.
    """
    return strengths_later(crowd)()


def strengths_later(crowd: Estimator) -> Callable[[], Strengths]:
    """`strengths_in` as of now, to be worked out when it is asked for: whatever is learnt since."""
    sample = view.sample_of(crowd, SAMPLE)
    if sample is None:
        return lambda: np.asarray(PRIOR / PRIOR.sum())
    classes = view.class_count(crowd)
    return partial(_fit, sample, _skills(crowd, classes), classes)


def _skills(crowd: Estimator, classes: int) -> Floats:
    """Every worker's skill, and the mean that stands for others; none leaves no error at all."""
    skills = np.append(view.skills_of(crowd), view.mean_skill(crowd))
    return np.asarray(np.clip(skills, -STRONGEST / (classes - 1.0), STRONGEST))


def _fit(batch: LabelBatch, skills: Floats, classes: int) -> Strengths:
    """Fit the share of tasks of each strength, by EM."""
    like = np.empty((len(batch), GRID.size))
    fill_likelihoods(batch.coded, skills, GRID, np.empty((GRID.size, classes)), like)
    like /= np.maximum(like.max(axis=1, keepdims=True), 1e-300)
    frequency = PRIOR / PRIOR.sum()
    for _ in range(ROUNDS):
        # The sum over tasks of like · frequency / (its sum over strengths).
        before, given = frequency, like.T @ (1.0 / (like @ frequency))
        frequency = given * frequency + PRIOR
        frequency /= frequency.sum()
        if np.abs(frequency - before).max() < STILL:
            break
    return np.asarray(frequency)
