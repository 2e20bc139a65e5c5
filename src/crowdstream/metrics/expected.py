"""Expected number of wrong decisions, by confidences and by gold where there is any.

Knows tables of decisions; neither estimators nor files.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.labels import ArrowTable, Truths
from crowdstream.metrics.scores import scored_tasks, table_of
from crowdstream.validation import check_number

Floats = NDArray[np.float64]

PRIOR = 0.5
"""Errors, as many as expected, that the gold tasks are taken to have had before the first: half of
one, as in Jeffreys' prior of a count. It keeps the ratio finite where no error was expected."""


PIECE = 1 << 14
"""Decisions that are added up at once: what is made of them stays in the cache."""


class Expected(NamedTuple):
    """Wrong decisions: how many are expected, and between which limits."""

    errors: float
    low: float
    high: float


class Doubt(NamedTuple):
    """The sums over decisions that their expected errors are made of; they add up.

    A decision of confidence c is wrong with probability 1 − c; of the number of wrong ones these
    are the mean, the variance and the third central moment.
    """

    tasks: int = 0
    mean: float = 0.0
    variance: float = 0.0
    third: float = 0.0

    @classmethod
    def of(cls, confidences: Floats) -> Doubt:
        """The sums over some decisions, by their confidences.

        >>> Doubt.of(np.array([0.5, 0.9])).mean
        0.6
        """
        found = cls()
        for first in range(0, confidences.size, PIECE):
            sure = confidences[first : first + PIECE]
            wrong = 1.0 - sure
            spread = wrong * sure
            third = spread * (sure - wrong)
            sums = float(wrong.sum()), float(spread.sum()), float(third.sum())
            found = found.plus(cls(wrong.size, *sums))
        return found

    def plus(self, other: Doubt) -> Doubt:
        """The sums over both."""
        tasks, mean = self.tasks + other.tasks, self.mean + other.mean
        return Doubt(tasks, mean, self.variance + other.variance, self.third + other.third)

    def errors(self, level: float) -> Expected:
        """The expected number of errors and its limits if the confidences hold.

        The number has a Poisson-binomial distribution, whose quantiles are those of a normal one
        corrected for skewness (Cornish and Fisher).
        """
        z = _z(level)
        sd = math.sqrt(self.variance)
        skew = self.third / self.variance / 6.0 if self.variance > 0.0 else 0.0
        middle = self.mean + skew * (z * z - 1.0)
        low, high = max(middle - z * sd, 0.0), min(middle + z * sd, float(self.tasks))
        return Expected(self.mean, min(low, self.mean), max(high, self.mean))

    def corrected(self, wrong: float, expected: float, level: float) -> Expected:
        """Return the estimate corrected by gold: ``wrong`` errors where ``expected`` were expected.

        Errors are taken to be more (or fewer) than expected by the same factor here as there. The
        factor's limits are those of a Poisson count with the prior `PRIOR`; they and the limits of
        `errors` are combined as for two independent quantities (Zou and Donner's MOVER).
        """
        count, per = wrong + PRIOR, 1.0 / (expected + PRIOR)
        ratio, most = count * per, float(self.tasks)
        z = _z(level)
        least, largest = (_gamma_quantile(count, side) * per for side in (-z, z))
        errors = min(ratio * self.mean, most)
        scatter = self.errors(level)
        stretch = math.sqrt(ratio)
        below = math.hypot(errors - least * self.mean, stretch * (scatter.errors - scatter.low))
        above = math.hypot(largest * self.mean - errors, stretch * (scatter.high - scatter.errors))
        return Expected(errors, max(errors - below, 0.0), min(errors + above, most))


def expected_errors(
    decisions: ArrowTable, level: float = LEVEL, *, gold: ArrowTable | Truths | None = None
) -> Expected:
    """Estimate how many of these decisions are wrong, with an interval.

    Without gold it is the sum of 1 − confidence, and the interval says how far the number of errors
    strays from it by chance *if the confidences are right*. It does not include that they may not
    be: where the crowd is jointly wrong, they are too high, and no interval made of them can help.

    With gold, errors on the gold tasks are counted, and those elsewhere are corrected by how many
    more (or fewer) there were on the gold tasks than expected; the interval then includes how
    little a few gold tasks tell. It takes this factor to be the same everywhere, so the gold tasks
    should be like the others, and the decisions must have been made without them.

    Parameters
    ----------
    decisions
        Table of task, label and confidence, as estimators return it. Tasks without a label do not
        count.
    level
        Of the interval.
    gold
        What is true of some of the tasks, and was not known when they were decided.

    Returns
    -------
    The expected number, its low and its high limit.

    Examples
    --------
    >>> import polars as pl
    >>> said = {"task": range(100), "label": ["x"] * 100, "confidence": [0.9] * 100}
    >>> decisions = pl.DataFrame(said)
    >>> [round(number, 1) for number in expected_errors(decisions)]
    [10.0, 4.5, 16.3]
    >>> truths = {task: "x" if task % 4 else "y" for task in range(40)}  # a quarter is wrong
    >>> [round(number, 1) for number in expected_errors(decisions, gold=truths)]
    [24.0, 14.4, 36.2]

    References
    ----------
    Zou and Donner (2008), Construction of confidence limits about effect measures: a general
    approach, Statistics in Medicine 27.
    """
    import polars as pl

    check_number("level", level, *LEVEL_RANGE)
    decided = table_of(decisions, "decisions", "task label confidence").drop_nulls("label")
    everything = Doubt.of(decided["confidence"].to_numpy())
    if gold is None:
        return everything.errors(level)
    scored = scored_tasks(decided, gold)
    known = Doubt.of(scored["confidence"].to_numpy())
    wrong = float(scored.select((1 - pl.col("right")).sum()).item())
    rest = Doubt.of(decided.join(scored, on="task", how="anti")["confidence"].to_numpy())
    found = rest.corrected(wrong, known.mean, level)
    return Expected(*(wrong + number for number in found))


def _z(level: float) -> float:
    """Standard errors on either side of an interval of a normal distribution."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def _gamma_quantile(shape: float, z: float) -> float:
    """The quantile of a gamma distribution that z is of a normal one (Wilson and Hilferty, 1931).

    >>> round(_gamma_quantile(4.5, 1.959964), 2), round(_gamma_quantile(4.5, -1.959964), 2)
    (9.51, 1.34)
    """
    root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * math.sqrt(shape))
    return float(shape * max(root, 0.0) ** 3)
