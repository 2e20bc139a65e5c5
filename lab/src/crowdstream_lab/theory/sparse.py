"""The sparse regime: what a worker's skill is known to after r answers on tasks of l labels.

Here the number of labels on a task and of answers of a worker stay what they are while the crowd
grows. The formulas are of what really runs (centred agreement with habits that are estimated, own
answer rates), which the paper's theorems do not cover; docs/sparse.md proves them and measures how
good they are. Votes are in `sparse_votes`, bounds in `sparse_bounds`.

The model: a worker of skill ψ knows the answer with probability ψ and else guesses one of K
classes, all equally frequent; skills are drawn independently with mean ψ̄ (``mean``) and variance
τ² (``spread``); who answers what is drawn at random in a crowd so large that two workers rarely
meet twice.
"""

from __future__ import annotations

import math

import numpy as np

from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import Floats

HABIT = 8.0
"""Answers that the prior of a worker's habit is worth: H of docs/how-it-works.md."""

MOST = 10**9
"""Answers, labels, classes or workers that are meant seriously."""


def skill_variance(skill: float, mean: float, answers: int, labels: int, classes: int = 2) -> float:
    """The variance of a worker's raw skill R/(met ψ̄), before any shrinkage.

    With ``h = (1 + (K − 2)ψ)/(K − 1)``::

        r · Var = [(1 + (K−2)ψψ̄)/((K−1)(l−1)ψ̄²) + h (l−2)/(l−1) − ψ²]
                + (r−1)/(r+H−1)² · [1 + (l−2)ψ̄² + (l−1)ψ²ψ̄²]/((K−1)(l−1)ψ̄²)

    Exact in the model where f and ψ̄ are known; not knowing them adds terms of the order 1/n. The
    second line is what it costs that the worker's habit is estimated too: of a guesser 1/32 of the
    first line at most, at r = 9.

    Parameters
    ----------
    skill
        The worker's skill ψ, from −1/(K − 1) to 1.
    mean
        The crowd's mean skill ψ̄, above 0 and at most 1.
    answers
        The tasks r that the worker has answered, at least 1.
    labels
        The labels l of each of them, at least 2.
    classes
        The number K of classes, at least 2.

    Examples
    --------
    >>> round(skill_variance(0.3, mean=0.3, answers=10, labels=5), 3)
    0.355
    >>> round(skill_variance(1.0, mean=1.0, answers=10, labels=5, classes=3), 3)  # habit only
    0.003
    """
    check_sizes(mean, answers, labels, classes)
    check_number("skill", skill, -1 / (classes - 1), 1)
    return float(variances(np.array([skill]), mean, answers, labels, classes)[0])


def assumed_variance(mean: float, answers: int, labels: int, classes: int = 2) -> float:
    """The variance that the estimator takes a raw skill to have, whatever the worker's skill.

    That of a worker with the mean skill, habit known: `skill_variance` at ψ = ψ̄ without its second
    line. In whole numbers of the estimator
    ``[met (1 + (K−2)ψ̄²)/(K−1) + met2 ψ̄² (1 + (K−2)ψ̄)/(K−1) − (met + met2) ψ̄⁴]/(met ψ̄)²``.

    Parameters
    ----------
    mean, answers, labels, classes
        As for `skill_variance`.

    Examples
    --------
    >>> round(assumed_variance(mean=0.3, answers=10, labels=5), 3)
    0.344
    >>> round(assumed_variance(mean=0.3, answers=10, labels=9, classes=10), 3)
    0.051
    """
    check_sizes(mean, answers, labels, classes)
    rest = classes - 2.0
    first = (1 + rest * mean**2) / ((classes - 1) * (labels - 1) * mean**2)
    second = (1 + rest * mean) / (classes - 1) * (labels - 2) / (labels - 1)
    return (first + second - mean**2) / answers


def average_variance(
    mean: float, spread: float, answers: int, labels: int, classes: int = 2
) -> float:
    """The mean of `skill_variance` over the crowd: what the best shrinkage needs.

    The variance is a quadratic in ψ, so mean and variance of the skills are all it depends on.

    Parameters
    ----------
    mean, answers, labels, classes
        As for `skill_variance`.
    spread
        The variance τ² of skills, at least 0.

    Examples
    --------
    >>> round(average_variance(mean=0.3, spread=0.09, answers=10, labels=5), 3)
    0.346
    """
    check_sizes(mean, answers, labels, classes)
    check_number("spread", spread, 0, 1)
    both = mean + math.sqrt(spread) * np.array([-1.0, 1.0])  # has this mean and variance
    return float(variances(both, mean, answers, labels, classes).mean())


def mean_skill_variance(
    mean: float, spread: float, workers: int, answers: int, labels: int, classes: int = 2
) -> float:
    """The variance of the estimated mean skill ψ̄, to the first order in 1/n.

    Two parts: that T tasks are a sample (of the products of skills), and that n workers are one
    (about τ²/n). An error in ψ̄ multiplies all raw skills alike, so that weights keep their
    proportions but for the shrinkage.

    Parameters
    ----------
    mean, spread, answers, labels, classes
        As for `average_variance`.
    workers
        The number n of workers, at least 3.

    Examples
    --------
    >>> round(mean_skill_variance(0.3, 0.09, workers=1000, answers=10, labels=5) ** 0.5, 4)
    0.0169
    """
    check_sizes(mean, answers, labels, classes)
    check_number("spread", spread, 0, 1)
    check_number("workers", workers, 3, MOST)
    pairs = labels * (labels - 1) / 2
    same = (1 + (classes - 2) * mean**2) / (classes - 1)
    joined = mean**2 * (1 + (classes - 2) * mean) / (classes - 1)
    apart = (labels - 2) * (labels - 3) / 2 * mean**4
    task = pairs * (same + 2 * (labels - 2) * joined + apart - pairs * mean**4)
    recurring = labels * (answers - 1) * (labels - 1) ** 2 * mean**2 * spread
    tasks = workers * answers / labels
    return (task + recurring) / (tasks * (2 * pairs * mean) ** 2)


def variances(skills: Floats, mean: float, answers: int, labels: int, classes: int) -> Floats:
    """`skill_variance` of many skills, unchecked."""
    k, others, square = classes - 1, labels - 1, mean**2
    main = (1 + (k - 1) * skills * mean) / k + (others - 1) * square * (1 + (k - 1) * skills) / k
    main = main - others * skills**2 * square
    habit = (1 + (others - 1) * square + others * skills**2 * square) / k
    share = (answers - 1) / (answers + HABIT - 1) ** 2
    return np.asarray((main + share * habit) / (answers * others * square))


def check_sizes(mean: float, answers: int, labels: int, classes: int) -> None:
    """Refuse a mean skill or sizes that make no sense."""
    check_number("mean", mean, 0, 1, open_low=True)
    check_number("answers", answers, 1, MOST)
    check_number("labels", labels, 2, MOST, whole=True)
    check_number("classes", classes, 2, MOST, whole=True)
