"""Coefficients of agreement and their intervals, read from `Coincidences`. Knows no estimators.

Notation: task i has m labels, ``n_k`` of them for class k; W is a table of weights with ones on its
diagonal, and ``q = Σ W_kl n_k n_l``. Every coefficient is a smooth function of sums over tasks of q
and n, so to first order a task moves it by

    c_m q + Σ_k g_mk n_k + u_m

and the sum of the squares of that (the delta method over tasks) is its variance. Intervals are
those of other tasks from the same source, labelled by the same workers.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crowdstream.sums.coincidences import Moments, pair_numbers

Floats = NDArray[np.float64]
Scale = Literal["nominal", "ordinal", "interval"]

SCALES: tuple[Scale, ...] = ("nominal", "ordinal", "interval")
"""Ways labels differ: they do or do not; by how many labels lie between; by their distance."""

WEIGHTS = {"nominal": "identity", "ordinal": "linear", "interval": "quadratic"}
"""The weights that kappas, Gwet's coefficient and raw agreement have on each scale."""

NOTHING = 1e-12
"""Variance of a task's part below which it is rounding."""


class Coefficient(msgspec.Struct, frozen=True):
    """A coefficient of agreement with its interval.

    Attributes
    ----------
    value
        ``None`` where it is not defined: no task has two labels, or all labels are the same.
    low, high
        TaskIntervals of the interval, ``None`` where there is none.
    error
        Its standard error.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    error: float | None = None


class Coefficients(msgspec.Struct, frozen=True):
    """Coefficients of agreement of the labels of a question.

    Attributes
    ----------
    alpha, fleiss, gwet, raw
        Krippendorff's alpha, Fleiss' kappa (of tasks with unequally many labels, as Gwet has it),
        Gwet's AC1 (AC2 on a scale), and the share of pairs of labels that are the same (on a
        scale, how much alike they are).
    tasks, labels
        Tasks with two labels or more, and their labels: only these show agreement.
    commonest
        Share of the most frequent class among these labels.
    scale
        "nominal", "ordinal" or "interval".
    level
        Of the intervals.
    """

    alpha: Coefficient
    fleiss: Coefficient
    gwet: Coefficient
    raw: Coefficient
    tasks: int
    labels: int
    commonest: float
    scale: str
    level: float


class Measure(NamedTuple):
    """Measure of a scale: the table of weights, and δ² as a function of the classes' frequencies.

    ``slopes[j]``: the derivatives of δ² by the number of labels of class j; None where there are
    none.
    """

    weights: Floats
    distance: Floats
    slopes: Floats | None = None


def weights_of(kind: str, places: Floats) -> Floats:
    """The weights of agreement of classes at these places: 1 for the same, 0 for the two ends.

    >>> weights_of("linear", np.array([0.0, 1.0, 2.0]))[0].tolist()
    [1.0, 0.5, 0.0]
    """
    if kind == "identity" or places.size < 2:
        return np.eye(places.size)
    apart = np.abs(places[:, None] - places) / (places.max() - places.min())
    return np.asarray(1.0 - (apart if kind == "linear" else apart**2))


def measure_of(scale: str, places: Floats, counts: Floats) -> Measure:
    """Return the measure of differences on a scale, for classes of these frequencies.

    Ordinal: δ is the number of labels from one class to the other, half of those at the ends
    (Krippendorff 2019, equation 12.11).
    """
    weights = weights_of(WEIGHTS[scale], places)
    if scale == "nominal":
        return Measure(weights, 1.0 - np.eye(places.size))
    if scale == "interval":
        return Measure(weights, (places[:, None] - places) ** 2)
    middle = np.cumsum(counts) - counts / 2.0
    steps = np.abs(middle[:, None] - middle)
    k = np.arange(counts.size)
    low, high = np.minimum(k[:, None], k), np.maximum(k[:, None], k)
    inside = (k[:, None, None] > low) & (k[:, None, None] < high)
    ends = (k[:, None, None] == low) ^ (k[:, None, None] == high)
    return Measure(weights, steps**2, 2.0 * steps * (inside + 0.5 * ends))


class _Parts(NamedTuple):
    """Parts of a task's influence on a coefficient, ``c q + g n + u``, by its number of labels."""

    c: Floats
    g: Floats
    u: Floats


def _moments_of(moments: Moments, weights: Floats) -> tuple[Floats, Floats | None, Floats | None]:
    """The sums of q, of q² and of q n; the last two None where they are not known."""
    first = np.einsum("kl,mkl->m", weights, moments.pairs.astype(np.float64))
    if np.array_equal(weights, np.eye(len(weights))):
        if moments.squares is None or moments.moved is None:
            return first, None, None
        return first, moments.squares.astype(np.float64), moments.moved.astype(np.float64)
    if moments.fourth is None:
        return first, None, None
    low, high = pair_numbers(len(weights))
    sides = weights[low, high] * np.where(low == high, 1.0, 2.0)
    half = moments.fourth.astype(np.float64) @ sides  # Σ n_k n_l q by pairs
    third = np.zeros((len(half), len(weights)))  # m n_k = Σ_l n_k n_l
    for pair, (k, l) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):  # noqa: E741
        third[:, k] += half[:, pair]
        if k != l:
            third[:, l] += half[:, pair]
    return first, half @ sides, third / moments.sizes[:, None]


def _variance(moments: Moments, weights: Floats, parts: _Parts, tasks: float) -> float | None:
    """The variance of the sum of what tasks move; None where it is not known."""
    first, second, third = _moments_of(moments, weights)
    if second is None or third is None or tasks < 2:
        return None
    c, g, u = parts
    many, said = moments.tasks.astype(np.float64), moments.said.astype(np.float64)
    along = (g * said).sum(axis=1)
    square = c * c * second + np.einsum("mk,mkl,ml->m", g, moments.pairs.astype(np.float64), g)
    square += u * u * many + 2.0 * (c * u * first + c * (g * third).sum(axis=1) + u * along)
    total = float((c * first + along + u * many).sum())
    found = (float(square.sum()) - total * total / tasks) * tasks / (tasks - 1.0)
    return max(found, 0.0)


def read_coefficients(
    moments: Moments, *, scale: str = "nominal", places: Floats | None = None, level: float
) -> Coefficients:
    """Return all coefficients.

    Parameters
    ----------
    moments
        The sums, classes in their order on the scale.
    scale
        "nominal", "ordinal" or "interval".
    places
        Where classes lie on the scale; without it, at 0, 1, 2, …
    level
        Of the intervals.
    """
    k = moments.said.shape[1]
    places = np.arange(k, dtype=np.float64) if places is None else places
    several = moments.sizes >= 2
    tasks = int(moments.tasks[several].sum())
    labels = int(moments.said[several].sum())
    counts = moments.said[several].sum(axis=0).astype(np.float64)
    measure = measure_of(scale, places, counts)
    limits = TaskIntervals(tasks, level)
    raw, fleiss, gwet = _by_weights(moments, measure.weights, several, limits)
    alpha = _alpha(moments, measure, several, limits)
    commonest = float(counts.max(initial=0.0)) / max(labels, 1)
    return Coefficients(alpha, fleiss, gwet, raw, tasks, labels, commonest, scale, level)


class TaskIntervals(NamedTuple):
    """Intervals from variances, of so many tasks with two labels or more."""

    tasks: int
    level: float

    @property
    def width(self) -> float:
        """Standard errors on either side: Student's t, as Cornish and Fisher expand it."""
        z, nu = NormalDist().inv_cdf(0.5 + self.level / 2), max(self.tasks - 1.0, 1.0)
        return z + (z**3 + z) / (4 * nu) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu * nu)

    def share(self, value: float, variance: float | None) -> Coefficient:
        """A share of agreement: Wilson's interval for as many tasks as would have this variance."""
        if variance is None:
            return Coefficient(value)
        spread, t, n = max(value * (1.0 - value), 0.0), self.width, float(self.tasks)
        if spread > 0.0 and variance * n > NOTHING:
            n = spread / variance
        middle = (value + t * t / (2.0 * n)) / (1.0 + t * t / n)
        half = t / (1.0 + t * t / n) * math.sqrt(spread / n + t * t / (4.0 * n * n))
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return Coefficient(value, min(low, value), max(high, value), math.sqrt(variance))

    def beyond(self, value: float, variance: float | None, expected: float) -> Coefficient:
        """Agreement beyond chance, where the disagreement by chance is ``expected``.

        The interval is symmetric in the logarithm of 1 − value, the ratio of disagreement to that
        of chance, so no limit is above 1. Where no task differs from another it is that of the
        share of agreement.
        """
        if variance is None:
            return Coefficient(value)
        ratio, error = 1.0 - value, math.sqrt(variance)
        if ratio <= NOTHING or variance * self.tasks <= NOTHING:
            raw = self.share(min(max(1.0 - ratio * expected, 0.0), 1.0), 0.0)
            low, high = (1.0 - (1.0 - (end or 0.0)) / expected for end in (raw.low, raw.high))
            return Coefficient(value, min(low, value), max(high, value), error)
        stretch = math.exp(min(self.width * error / ratio, 50.0))
        low = max(1.0 - ratio * stretch, 1.0 - 1.0 / expected)  # where all labels differ
        return Coefficient(value, min(low, value), 1.0 - ratio / stretch, error)


def _by_weights(
    moments: Moments, weights: Floats, several: NDArray[np.bool_], limits: TaskIntervals
) -> tuple[Coefficient, Coefficient, Coefficient]:
    """Raw agreement, Fleiss' kappa and Gwet's coefficient.

    Gwet (2014), Handbook of Inter-Rater Reliability, chapters 2 to 5: tasks with one label say how
    often classes are, though not whether workers agree.
    """
    none = Coefficient(None)
    if not limits.tasks:
        return none, none, none
    tasks, k = int(moments.tasks.sum()), moments.said.shape[1]
    m, many = moments.sizes.astype(np.float64), moments.tasks.astype(np.float64)
    first = _moments_of(moments, weights)[0]
    # p_a, the mean of (q − m)/(m (m − 1)) over tasks with two labels or more.
    share = np.where(several, 1.0 / np.maximum(m * (m - 1.0), 1.0), 0.0) / limits.tasks
    agreed = float((share * (first - m * many)).sum())
    moved = np.where(several, -agreed / limits.tasks, 0.0) - share * m
    parts = _Parts(share, np.zeros((m.size, k)), moved)
    raw = limits.share(agreed, _variance(moments, weights, parts, limits.tasks))
    classes = (moments.said / m[:, None]).sum(axis=0) / tasks  # π

    def beyond(chance: float, slopes: Floats) -> Coefficient:
        """(p_a − p_e)/(1 − p_e), where p_e has these slopes by π."""
        rest = 1.0 - chance
        if rest < NOTHING:
            return none
        value = (agreed - chance) / rest
        by_class = -(1.0 - value) / rest * slopes / tasks
        u = moved / rest - float(by_class @ classes)
        parts = _Parts(share / rest, by_class / m[:, None], u)
        return limits.beyond(value, _variance(moments, weights, parts, tasks), rest)

    pairs = weights @ classes
    fleiss = beyond(float(classes @ pairs), 2.0 * pairs)
    # Of classes without an order those that nobody names do not count.
    named = classes > 0.0 if np.array_equal(weights, np.eye(k)) else np.ones(k, bool)
    used = int(named.sum())
    if used < 2:
        return raw, fleiss, none
    factor = float(weights[np.ix_(named, named)].sum()) / (used * (used - 1.0))
    gwet = beyond(factor * float(classes @ (1.0 - classes)), factor * (1.0 - 2.0 * classes))
    return raw, fleiss, gwet


def _alpha(
    moments: Moments, measure: Measure, several: NDArray[np.bool_], limits: TaskIntervals
) -> Coefficient:
    """Krippendorff's alpha, 1 − (N − 1) D_o/D_e with D_o = Σ o δ² and D_e = Σ n_k n_l δ².

    Krippendorff (2019), Content Analysis, chapter 12: ``o_kl = Σ n_k (n_l − 1{k = l})/(m − 1)``
    over tasks with two labels or more, which have N labels.
    """
    counts = moments.said[several].sum(axis=0).astype(np.float64)
    total, top = float(counts.sum()), float(measure.distance.max(initial=0.0))
    if total < 2.0 or top <= 0.0:
        return Coefficient(None)
    # As weights 1 − δ²/top, which of classes without an order are the identity.
    apart = measure.distance / top
    alike = 1.0 - apart
    chance = float(counts @ apart @ counts)
    if chance <= 0.0:
        return Coefficient(None)
    m, many = moments.sizes.astype(np.float64), moments.tasks.astype(np.float64)
    share = np.where(several, 1.0 / np.maximum(m - 1.0, 1.0), 0.0)
    seen = float((share * (m * m * many - _moments_of(moments, alike)[0])).sum())
    value = 1.0 - (total - 1.0) * seen / chance
    scale = (total - 1.0) / chance
    by_class = seen / chance - 2.0 * scale * seen / chance * (apart @ counts)
    if measure.slopes is not None:
        pairs = np.einsum("m,mkl->kl", share, moments.pairs.astype(np.float64))
        seen_by = np.einsum("jkl,kl->j", measure.slopes, pairs) / top  # 0 where k = l
        chance_by = np.einsum("jkl,k,l->j", measure.slopes, counts, counts) / top
        by_class = by_class + scale * (seen_by - seen / chance * chance_by)
    parts = _Parts(
        scale * share,
        np.where(several[:, None], -by_class[None, :], 0.0),
        -scale * share * m * m,
    )
    variance = _variance(moments, alike, parts, limits.tasks)
    return limits.beyond(value, variance, chance / (total * (total - 1.0)))
