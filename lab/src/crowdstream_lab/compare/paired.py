"""Differences between two methods over the same sets or tasks: mean, standard error, and a word.

Knows numbers only, neither methods nor tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOLD_APART = 2.0
"""Standard errors that a mean difference must exceed: about the 0.05 level for a dozen sets and
more."""


FEWEST = 5
"""Sets below which nothing is said: a standard error from fewer is itself too uncertain for two of
them to mean much (with five, two are the 0.12 level of Student's test)."""


FEWEST_TASKS = 30
"""Tasks below which nothing is said of a single set: a usual bound for the normal approximation."""


FEWEST_DIFFERING = 6
"""Tasks on which two methods must differ for a word: with five, all for the same method, the sign
test is at 2 · 2⁻⁵ = 0.06, though the mean is √5 standard errors from 0."""


EQUIVALENT = 0.005
"""Half a percentage point of error: a mean difference within it is of no practical importance."""


LEVEL = 0.95
"""Confidence of the interval that must lie within it."""


BETTER, WORSE, ALIKE, TOO_FEW = "better", "worse", "cannot be told apart", "too few sets"

TOO_FEW_TASKS = "too few tasks"


@dataclass(frozen=True)
class Difference:
    """The mean over sets of one method's error less another's.

    ``error`` is the standard error of the mean over the sets, paired: the spread of the differences
    over the root of their number; None for a single set.
    """

    count: int
    mean: float
    error: float | None

    @property
    def verdict(self) -> str:
        """Better, worse, cannot be told apart, or too few sets to say."""
        if self.count < FEWEST or self.error is None:
            return TOO_FEW
        if abs(self.mean) <= TOLD_APART * self.error:
            return ALIKE
        return BETTER if self.mean < 0 else WORSE

    @property
    def equivalent(self) -> bool:
        """True if the 95 % interval of the mean (Student's t) lies within half a point of 0."""
        from scipy.special import stdtrit

        if self.count < FEWEST or self.error is None:
            return False
        reach = float(stdtrit(self.count - 1, (1 + LEVEL) / 2)) * self.error
        return abs(self.mean) + reach <= EQUIVALENT


@dataclass(frozen=True)
class TaskDifference(Difference):
    """The mean over the tasks of one set of one method's error less another's.

    ``differing`` counts the tasks on which the two methods do not err alike.
    """

    differing: int

    @property
    def verdict(self) -> str:
        """Better, worse, cannot be told apart, or too few tasks to say."""
        if self.count < FEWEST_TASKS:
            return TOO_FEW_TASKS
        if self.differing < FEWEST_DIFFERING:
            return ALIKE
        return super().verdict

    @property
    def equivalent(self) -> bool:
        """Return False: equivalence is a statement about sets, and this is one set."""
        return False


def paired_tasks(differences: Sequence[float]) -> TaskDifference | None:
    """Mean and standard error of differences, one for each task of a set; None if there are none.

    >>> found = paired_tasks([1.0] * 8 + [-1.0] * 2 + [0.0] * 90)
    >>> found.mean, round(found.error, 4), found.differing, found.verdict
    (0.06, 0.0312, 10, 'cannot be told apart')
    """
    found = paired(differences)
    if found is None:
        return None
    return TaskDifference(found.count, found.mean, found.error, sum(x != 0 for x in differences))


def paired(differences: Sequence[float]) -> Difference | None:
    """Mean and standard error of differences, one for each set; None if there are none.

    >>> found = paired([0.01, -0.02, -0.03, -0.04])
    >>> round(found.mean, 4), round(found.error, 5)
    (-0.02, 0.0108)
    """
    count = len(differences)
    if not count:
        return None
    mean = math.fsum(differences) / count
    if count == 1:
        return Difference(1, mean, None)
    spread = math.fsum((x - mean) ** 2 for x in differences) / (count - 1)
    return Difference(count, mean, math.sqrt(spread / count))


@dataclass(frozen=True)
class LeftOut:
    """Mean differences with each set left out in turn.

    ``lowest`` and ``highest`` are means, each with the set that is missing; ``turning`` are the
    sets without which the word is another.
    """

    lowest: tuple[float, str]
    highest: tuple[float, str]
    turning: list[str]


def leave_out(differences: Mapping[str, float]) -> LeftOut | None:
    """Each set left out in turn; None with fewer than two.

    >>> leave_out({"a": 0.0, "b": 0.0, "c": -0.3}).highest
    (0.0, 'c')
    """
    whole = paired(list(differences.values()))
    means, turning = [], []
    for name in differences:
        part = paired([x for other, x in differences.items() if other != name])
        if whole is None or part is None:
            return None
        means.append((part.mean, name))
        if part.verdict != whole.verdict:
            turning.append(name)
    return LeftOut(min(means), max(means), turning) if means else None
