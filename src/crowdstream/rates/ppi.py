"""Prediction-powered inference: a mean from few truths and many predictions.

Arrays in, numbers out.

With truths Y and predictions f of n gold tasks, and predictions of N others, PPI++ estimates

    θ = mean Y + λ (mean f of the others − mean f of the gold tasks)
    λ = Cov(Y, f) / ((1 + n/N) Var f)

(Angelopoulos, Duchi and Zrnic, 2023, arXiv:2311.01453). It is unbiased whatever the predictions
are, if they were made without the gold and the gold tasks are a random sample; the better the
predictions, the less it scatters. λ = 0 is the mean of the truths alone.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.metrics import wilson
from crowdstream.rates.limits import FAR, Floats, mean_limits
from crowdstream.rates.needed import Spread

Ints = NDArray[np.int64]

TINY = 1e-12
"""Variance of predictions below which they are all alike and say nothing."""

FAR_PREDICTED = 0.75
"""As `FAR`, where predictions span as much as truths do: what is left are rare errors of either
sign, not 0s and 1s. Where all of thirty gold tasks are as predicted, the limits then allow for
9.7 % errors to one side, which so many tasks would show 95 times in 100."""

FITTED = 1.0
"""Gold tasks that estimating λ costs: residuals from a fitted slope are a little too small."""


SHIFTED = 0.05
"""Rate at which predictions of random gold tasks differ so far from the others', in any class, that
limits include those of gold alone, since it may be no random sample: they are then wider than need
be. Of two real sets whose gold is none, with 30 gold tasks, 0.91 and 0.97 of the limits hold the
share of the gold tasks so; 0.69 and 0.72 without."""


def shift_bound(classes: int) -> float:
    """Return the standard errors that `SHIFTED` comes to, by Bonferroni.

    >>> round(shift_bound(2), 2), round(shift_bound(4), 2)
    (1.96, 2.39)
    """
    return NormalDist().inv_cdf(1.0 - SHIFTED / 2.0 / max(classes - 1, 1))


class Estimate(NamedTuple):
    """A mean with its limits, and λ: the weight that predictions were given."""

    value: float
    low: float
    high: float
    power: float


class Sample(NamedTuple):
    """Truths of gold tasks, and predictions of these and of others.

    Attributes
    ----------
    truth, predicted
        Of each gold task.
    rest
        Predictions of the tasks without gold; where gold was drawn by strata, of all tasks.
    ends
        The least and the largest that a truth can be.
    strata, sizes
        Where gold was drawn by strata: each gold task's stratum, from 0, and the tasks of each
        stratum.
    """

    truth: Floats
    predicted: Floats
    rest: Floats
    ends: tuple[float, float] = (0.0, 1.0)
    strata: Ints | None = None
    sizes: Floats | None = None

    @property
    def shares(self) -> Floats:
        """The share of all tasks that each gold task stands for."""
        if self.strata is None or self.sizes is None:
            return np.full(self.truth.size, 1.0 / self.truth.size)
        drawn = np.bincount(self.strata, minlength=self.sizes.size)
        sizes = np.where(drawn > 0, self.sizes, 0.0)  # a stratum without gold is like the others
        return np.asarray((sizes / np.maximum(drawn, 1) / sizes.sum())[self.strata])


def power_of(sample: Sample, most: float | None = None) -> float:
    """Return λ, the weight of predictions that makes the variance least.

    Parameters
    ----------
    sample
        Truths and predictions.
    most
        The largest λ; as far as predictions can be stretched without spanning more than truths,
        unless given.

    Examples
    --------
    >>> truth = np.array([0.0, 1.0, 0.0, 1.0])
    >>> power_of(Sample(truth, truth, np.repeat(truth, 100)))
    0.98...
    """
    n, rest = sample.truth.size, sample.rest.size
    if not rest or n < 2:
        return 0.0
    shares = sample.shares
    truth = sample.truth - shares @ sample.truth
    predicted = sample.predicted - shares @ sample.predicted
    everything = sample.rest
    if sample.strata is None:
        everything = np.concatenate((sample.predicted, sample.rest))
    variance = float(everything.var(ddof=1))
    if variance < TINY:
        return 0.0
    if most is None:
        least, largest = sample.ends
        most = (largest - least) / float(everything.max() - everything.min())
    best = float(shares @ (truth * predicted)) / ((1.0 + n / rest) * variance)
    return min(max(best, 0.0), most)


def ppi_mean(sample: Sample, z: float, power: float | None = None) -> Estimate:
    """Return the PPI++ mean and its limits by the normal approximation, as `ppi-python` has them.

    The limits need some hundred gold tasks and a mean away from 0 and 1; `corrected_mean` does not.

    Parameters
    ----------
    sample
        Truths and predictions; strata are left out of account.
    z
        Standard deviations to each side.
    power
        λ; the best one within 0 and 1 unless given.

    Examples
    --------
    >>> truth = np.array([0.0, 1.0, 1.0, 1.0])
    >>> found = ppi_mean(Sample(truth, np.array([0.1, 0.9, 0.4, 0.8]), np.full(40, 0.6)), 1.96, 1.0)
    >>> [round(number, 3) for number in found]
    [0.8, 0.55, 1.05, 1.0]
    """
    power = power_of(sample, 1.0) if power is None else power
    left = sample.truth - power * sample.predicted
    value = float(power * sample.rest.mean() + left.mean())
    variance = left.var() / left.size + power**2 * sample.rest.var() / sample.rest.size
    margin = z * math.sqrt(float(variance))
    return Estimate(value, value - margin, value + margin, power)


def corrected_mean(
    sample: Sample, z: float, power: float | None = None, classes: int = 2
) -> Estimate:
    """Return the PPI++ mean with limits that hold for few gold tasks and for means near the ends.

    The limits of mean (Y − λ f) are `mean_limits`, and the scatter of the others' predictions is
    added to each as a square. Gold drawn by strata counts as many random tasks as would give the
    same variance. Where gold may be no random sample (`SHIFTED`), the limits include those of gold
    alone. They are those of the process that the tasks came from; for the tasks at
    hand they are a little wider than need be.

    Parameters
    ----------
    sample
        Truths and predictions.
    z
        Standard deviations of a normal distribution that the level comes to.
    power
        λ; the best one unless given.
    classes
        How many means are asked for of these tasks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = (rng.random(1030) < 0.7).astype(float)
    >>> said = np.where(rng.random(1030) < 0.95, truth, 1 - truth)
    >>> found = corrected_mean(Sample(truth[:30], said[:30], said[30:]), 1.96)
    >>> found.low < 0.7 < found.high
    True
    """
    power = power_of(sample) if power is None else power
    left = sample.truth - power * sample.predicted
    base = power * float(sample.rest.mean()) if sample.rest.size else 0.0
    value = base + float(sample.shares @ left)
    far = FAR + (FAR_PREDICTED - FAR) * _stretch(sample, power)
    low, high = mean_limits(left, _weights(sample, left, power), _ends(sample, power), z, far)
    scatter = z * math.sqrt(_scatter(sample, power))
    low = value - math.hypot(max(value - base - low, 0.0), scatter)
    high = value + math.hypot(max(base + high - value, 0.0), scatter)
    if power > 0.0 and abs(sample_shift(sample)) > shift_bound(classes):
        alone = gold_alone(sample, z)
        low, high = min(low, alone.low), max(high, alone.high)
    least, most = sample.ends
    value = min(max(value, least), most)
    return Estimate(value, min(max(low, least), value), max(min(high, most), value), power)


def gold_alone(sample: Sample, z: float) -> Estimate:
    """Return the mean of the truths alone; of random 0s and 1s with Wilson's limits.

    >>> found = gold_alone(Sample(np.ones(30), np.ones(30), np.ones(9)), 1.96)
    >>> [round(number, 3) for number in found]
    [1.0, 0.886, 1.0, 0.0]
    """
    if sample.strata is not None or sample.ends != (0.0, 1.0):
        return corrected_mean(sample, z, 0.0)
    hits, n = float(sample.truth.sum()), sample.truth.size
    low, high = wilson(hits, n, z)
    return Estimate(hits / n, max(float(low), 0.0), min(float(high), 1.0), 0.0)


def _scatter(sample: Sample, power: float) -> float:
    """The variance that the predictions of the others bring in."""
    return power**2 * float(sample.rest.var()) / sample.rest.size if sample.rest.size else 0.0


def _stretch(sample: Sample, power: float) -> float:
    """Return the span of predictions over that of truths, times λ: from 0, gold alone, to 1."""
    if not sample.rest.size:
        return 0.0
    span = max(float(sample.rest.max()), float(sample.predicted.max()))
    span -= min(float(sample.rest.min()), float(sample.predicted.min()))
    return min(power * span / (sample.ends[1] - sample.ends[0]), 1.0)


def _ends(sample: Sample, power: float) -> tuple[float, float]:
    """The least and the largest that Y − λ f may be.

    Of a difference between two systems neither prediction is taken to be wrong at once and in
    opposite directions.
    """
    least, most = sample.ends
    if least < 0.0 or not sample.rest.size:
        return least, most
    lowest = min(float(sample.rest.min()), float(sample.predicted.min()))
    highest = max(float(sample.rest.max()), float(sample.predicted.max()))
    return least - power * highest, most - power * lowest


def _weights(sample: Sample, left: Floats, power: float) -> Floats:
    """Return how many tasks drawn at random each gold task counts as."""
    n = left.size
    if sample.strata is None or sample.sizes is None:
        return np.full(n, 1.0 - (FITTED / n if power > 0.0 and n > 1 else 0.0))
    shares = sample.shares
    worth = 1.0 / float(shares @ shares)  # Kish's effective number, if strata do not differ
    variance = stratified_variance(left, sample.strata, sample.sizes)
    total = float(shares @ (left - shares @ left) ** 2) * n / max(n - 1, 1)
    if variance > TINY and total > TINY:
        worth = min(max(total / variance, 1.0), GAIN * n)
    return shares * max(worth - (FITTED if power > 0.0 else 0.0), 1.0)


def spread_of(sample: Sample, power: float) -> Spread:
    """Return what the width of the limits depends on, so that more gold can be planned for.

    Parameters
    ----------
    sample
        Truths and predictions.
    power
        λ.

    Examples
    --------
    >>> spread_of(Sample(np.array([0.0, 1.0] * 20), np.ones(40), np.ones(100)), 0.0).ends
    0.25
    """
    left = sample.truth - power * sample.predicted
    shares, n = sample.shares, left.size
    mean = float(shares @ left)
    least, most = _ends(sample, power)
    variance = float(shares @ (left - mean) ** 2) * n / max(n - 1, 1)
    ends = ((least - mean) ** 2 + (most - mean) ** 2) / 2.0
    gain = float(_weights(sample, left, 0.0).sum()) / n
    return Spread(variance, ends, _scatter(sample, power), gain)


GAIN = 2.0
"""Random tasks that a task drawn by strata counts as, at most: a gain beyond would rest on strata
whose few gold tasks happened to be alike."""


def stratified_variance(values: Floats, strata: Ints, sizes: Floats) -> float:
    """The variance of the mean of values drawn by strata.

    Each stratum's spread counts one value of the mean spread besides its own: one or two values do
    not mean that there is none.

    >>> values, strata = np.array([0.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1])
    >>> round(stratified_variance(values, strata, np.array([50.0, 50.0])), 4)
    0.0625
    """
    drawn = np.bincount(strata, minlength=sizes.size).astype(float)
    some = drawn > 0
    means = np.bincount(strata, values, sizes.size) / np.maximum(drawn, 1.0)
    squares = np.bincount(strata, (values - means[strata]) ** 2, sizes.size)
    free = float(np.maximum(drawn - 1.0, 0.0).sum())
    pooled = (
        float(squares.sum()) / free if free else float(values.var(ddof=min(values.size - 1, 1)))
    )
    spreads = (squares + pooled) / np.maximum(drawn, 1.0)
    weights = np.where(some, sizes, 0.0)
    weights = weights / weights.sum()
    return float(weights**2 @ (spreads / np.maximum(drawn, 1.0)))


def sample_shift(sample: Sample) -> float:
    """Return how far gold tasks' predictions differ from the others', in standard errors.

    Gold drawn by strata differs as it was drawn to: 0.

    >>> sample_shift(Sample(np.ones(4), np.ones(4), np.array([0.0, 1.0] * 50)))
    1.9...
    """
    n, rest = sample.predicted.size, sample.rest.size
    if sample.strata is not None or not rest:
        return 0.0
    variance = float(np.concatenate((sample.predicted, sample.rest)).var())
    if variance < TINY:
        return 0.0
    apart = float(sample.predicted.mean() - sample.rest.mean())
    return apart / math.sqrt(variance * (1.0 / n + 1.0 / rest))
