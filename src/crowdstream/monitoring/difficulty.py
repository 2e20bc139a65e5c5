"""How hard each task is: the chance that an average worker errs on it. Keeps nothing.

A task lets through a share g of its workers' skill, g on a grid from 0 to 1.4; how frequent each
g is comes from the table itself. Does not enter decisions or their confidence: averaging over g
made confidence worse on public sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.base import Estimator
from crowdstream.estimators.worker_table import value_series
from crowdstream.labels import Table, code_table
from crowdstream.monitoring import loops

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

GRID: Floats = np.linspace(0.0, 1.4, 8)
"""Strengths of a task: how much of its workers' skill it lets through."""

PRIOR: Floats = np.array([0.1, 0.1, 0.1, 0.1, 0.2, 20.0, 0.2, 0.1])
"""Tasks of each strength that the frequencies start from: most are as workers are."""

STRONGEST = 0.98 / 1.4
"""Skill from which on the strongest task would leave no error."""

ROUNDS = 30
"""Rounds in which the frequencies are fitted; later ones move them by less than a percent."""


def difficulty(crowd: Estimator, table: Table) -> pl.DataFrame:
    """Tasks of a table and how hard each is: the chance that an average worker errs.

    >>> from crowdstream.estimators import Adaptive
    >>> said = [[t % 2] * 6 if t < 180 else [0, 1] * 3 for t in range(200)]  # the last are split
    >>> rows = [(t, w, said[t][w]) for t in range(200) for w in range(6)]
    >>> crowd = Adaptive().fit(rows)
    >>> found = difficulty(crowd, rows)["difficulty"]
    >>> bool(found[:180].max() < found[180:].min())
    True
    """
    import polars as pl

    vocabulary = crowd._classes.copy()
    batch, _ = code_table(table, crowd._workers.copy(), vocabulary)
    classes = max(len(vocabulary), 2)
    skills = np.append(crowd.skills(), crowd.mean_skill_)
    skills = np.clip(skills, -STRONGEST / (classes - 1.0), STRONGEST)
    like = np.empty((len(batch), GRID.size))
    room = np.empty((GRID.size, classes))
    loops.strengths(batch.starts, batch.workers, batch.labels, skills, GRID, room, like)
    worst = 1.0 - 1.0 / classes
    hard = np.clip((1.0 - _mean_strengths(like) * skills[-1]) * worst, 0.0, worst)
    found = pl.Series("difficulty", np.where(batch.sizes > 0, hard, np.nan))
    return pl.DataFrame(
        {"task": value_series("task", batch.tasks), "difficulty": found.fill_nan(None)}
    )


def _mean_strengths(like: Floats) -> Floats:
    """Every task's mean strength, given how likely its labels are at each, by EM."""
    like = like / np.maximum(like.max(axis=1, keepdims=True), 1e-300)
    frequency = PRIOR / PRIOR.sum()
    given = like
    for _ in range(ROUNDS):
        given = like * frequency
        given /= given.sum(axis=1, keepdims=True)
        frequency = given.sum(axis=0) + PRIOR
        frequency /= frequency.sum()
    found: Floats = given @ GRID
    return found
