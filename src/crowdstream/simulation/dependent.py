"""Crowds whose errors are not independent: what agreement sees, and what it cannot."""

from __future__ import annotations

from typing import Literal

import numpy as np

from crowdstream.simulation.drifts import Ints
from crowdstream.simulation.simulated import Simulated
from crowdstream.validation import check_number, one_of

Kind = Literal["difficulty", "class", "copying", "tricky"]

FEWEST, MOST = 0.05, 0.45
"""Error rates of two classes are drawn from this range; of more, they are as far from guessing."""

COPIED, COPIERS = 0.4, 4
"""A copier copies this share of its labels from one leader; one in so many workers copies."""

TRICKY = 0.1
"""Share of tasks that fool most of the crowd."""


def simulate_dependent(
    kind: Kind,
    n: int,
    tasks: int,
    *,
    per_task: int | None = None,
    classes: int = 2,
    seed: int = 0,
) -> Simulated:
    """Labels of a crowd that errs together.

    Parameters
    ----------
    kind
        ``"difficulty"``: a task lets through a share of all workers' skill, uniform from 0 to 1.
        ``"class"``: all miss the first class seldom and the others often, for the first.
        ``"copying"``: a quarter of the workers, two at least, copy 40 % of the labels of one.
        ``"tricky"``: a tenth of the tasks fools whoever would be right.
    n, tasks
        How many workers and tasks.
    per_task
        Labels per task; without it, everybody answers.
    classes
        How many classes there are.
    seed
        Random seed.

    Examples
    --------
    >>> made = simulate_dependent("tricky", 5, 100, seed=1)
    >>> made.said.size, made.error_rates.shape
    (500, (5,))
    """
    one_of("difficulty", "class", "copying", "tricky")("kind", kind)
    check_number("classes", classes, 2, 2**31, whole=True)
    rng = np.random.default_rng(seed)
    scale = 2 * (classes - 1) / classes
    errors = rng.uniform(FEWEST, MOST, n) * scale
    truth = rng.integers(0, classes, tasks)
    fooled = rng.random(tasks) < (TRICKY if kind == "tricky" else 0.0)
    chance = np.where(fooled[:, None], 1.0 - errors, errors)
    other = (truth[:, None] + rng.integers(1, classes, (tasks, n))) % classes
    if kind == "tricky":
        trap = (truth + rng.integers(1, classes, tasks)) % classes
        other = np.where(fooled[:, None], trap[:, None], other)
    elif kind == "difficulty":
        skill = 1.0 - errors / (scale / 2)
        chance = (1.0 - rng.uniform(0.0, 1.0, (tasks, 1)) * skill) * scale / 2
    elif kind == "class":
        low, high = rng.uniform(0.02, 0.2, n), rng.uniform(0.25, MOST, n)
        chance = np.where(truth[:, None] == 0, low, high)
        other = np.where(truth[:, None] == 0, other, 0)
    said = np.where(rng.random((tasks, n)) < chance, other, truth[:, None])
    rates = chance.mean(axis=0)
    if kind == "copying":
        for copier in range(1, max(n // COPIERS, 2)):
            copied = rng.random(tasks) < COPIED
            said[copied, copier] = said[copied, 0]
            rates[copier] += COPIED * (rates[0] - rates[copier])
    asked = _asked(rng, tasks, n, per_task)
    task, worker = np.nonzero(asked)
    return Simulated(0, n, task, worker, said[asked], truth, rates, classes)


def _asked(rng: np.random.Generator, tasks: int, n: int, per_task: int | None) -> Ints:
    """Draw which worker answers which task."""
    first = np.argsort(rng.random((tasks, n)), axis=1) < (n if per_task is None else per_task)
    return np.asarray(first)
