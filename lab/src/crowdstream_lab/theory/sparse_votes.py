"""The sparse regime: how often votes are wrong whose weights are learnt from few answers.

The model of `crowdstream_lab.theory.sparse`, two classes. A vote weighs a label by
``log((1 + ψ̃)/(1 − ψ̃))``, with an estimate ``ψ̃ = ψ̄ + trust · (raw − ψ̄)`` kept in [0, cap], in the
estimator [0, 0.6]: trust 0 is majority vote, 1 no shrinkage. Skills may be anything from 0 to 1.
The tasks decided are not among those that the weights were learnt from. Proofs: docs/sparse.md.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdstream import InputError
from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import Floats, vector
from crowdstream_lab.theory.sparse import MOST, average_variance, check_sizes, variances
from crowdstream_lab.theory.votes import majority_error

CAP = 0.6
"""The skill beyond which a vote counts no more in the estimator."""

MOST_CAP = 1 - 1e-6
"""The largest cap: whoever is said to be surer than this is right in a million answers."""

NOISES = 257
"""Normal quantiles that stand for a raw skill's noise. With a quarter as many, and four times the
`STEP`, the errors of docs/sparse.md change by less than 0.001."""

STEP = 0.00125
"""Vote weights are rounded to multiples of this, about a thousandth of the largest."""

SURE = 12.0
"""A known log-odds weight counts up to this; a worker who errs less than once in 10⁵ outvotes all
others anyway."""


class SparseErrors(NamedTuple):
    """Error rates of four votes of the same labels.

    Parameters
    ----------
    majority
        All weights the same.
    shrunk
        Weights from estimates shrunk by as much as their noise asks for.
    raw
        Weights from raw estimates.
    known
        The best weights, from the skills themselves.

    Examples
    --------
    >>> SparseErrors(majority=0.2, shrunk=0.15, raw=0.25, known=0.1).shrunk
    0.15
    """

    majority: float
    shrunk: float
    raw: float
    known: float


def label_signal(mean: float, spread: float, noise: float, trust: float) -> float:
    """Return a label's signal q in a weighted vote, which errs about ``Φ(−√(l q/(1 − q)))``.

    ``q = (ψ̄² + cτ²)²/(ψ̄² + c²(τ² + σ²))`` with weights proportional to ``ψ̄ + c (raw − ψ̄)``: ψ̄² for
    majority vote (c = 0), ``ψ̄² + τ²`` with skills known (c = 1, σ² = 0). It is largest,
    ``ψ̄² + τ⁴/(τ² + σ²)``, at the trust of empirical Bayes, ``c = τ²/(τ² + σ²)``.

    Parameters
    ----------
    mean, spread
        Mean and variance of the skills.
    noise
        The variance σ² of a raw skill, at least 0: `average_variance`.
    trust
        How far estimates depart from the mean, c, from 0 to 1.

    Examples
    --------
    >>> round(label_signal(0.3, 0.09, noise=0.35, trust=0.09 / 0.44), 4)
    0.1084
    >>> round(label_signal(0.3, 0.09, noise=0.35, trust=1.0), 4)  # less than the 0.09 of majority
    0.0611
    """
    check_number("mean", mean, 0, 1, open_low=True)
    check_number("spread", spread, 0, 1)
    check_number("noise", noise, 0, math.inf)
    check_number("trust", trust, 0, 1)
    return (mean**2 + trust * spread) ** 2 / (mean**2 + trust**2 * (spread + noise))


def trust_limit(mean: float, spread: float, noise: float) -> float:
    """The trust up to which weights tell more than majority vote: about twice the best trust.

    ``2ψ̄²τ²/(ψ̄²(τ² + σ²) − τ⁴)`` by `label_signal`, infinity if that is not positive. Raw
    estimates beat majority vote where it is above 1: ``σ² < τ² (1 + τ²/ψ̄²)``.

    Parameters
    ----------
    mean, spread, noise
        As for `label_signal`.

    Examples
    --------
    >>> round(trust_limit(0.3, 0.09, noise=0.35), 3), round(0.09 / 0.44, 3)
    (0.514, 0.205)
    """
    check_number("mean", mean, 0, 1, open_low=True)
    check_number("spread", spread, 0, 1)
    check_number("noise", noise, 0, math.inf)
    below = mean**2 * (spread + noise) - spread**2
    return 2 * mean**2 * spread / below if below > 0 else math.inf


def answers_to_beat_majority(mean: float, spread: float, labels: int) -> int:
    """The answers per worker after which weights from raw skills err less than majority vote.

    The least r with ``σ² < τ² (1 + τ²/ψ̄²)``, by `trust_limit`. With shrinkage no
    number of answers is too small.

    Parameters
    ----------
    mean, spread
        As for `label_signal`; a spread of 0 needs more answers than there are.
    labels
        The labels of each task, at least 2.

    Examples
    --------
    >>> answers_to_beat_majority(0.3, 0.09, labels=5)
    20
    >>> answers_to_beat_majority(0.3, 0.03, labels=5)
    87
    """
    check_sizes(mean, 1, labels, 2)
    check_number("spread", spread, 0, 1)
    low, high = 0, 1
    while trust_limit(mean, spread, average_variance(mean, spread, high, labels)) <= 1:
        low, high = high, 2 * high
        if high > MOST:
            return MOST
    while high - low > 1:
        middle = (low + high) // 2
        noise = average_variance(mean, spread, middle, labels)
        low, high = (low, middle) if trust_limit(mean, spread, noise) > 1 else (middle, high)
    return high


def weights_beat_majority(
    skills: ArrayLike, answers: int, labels: int, *, cap: float = CAP
) -> SparseErrors:
    """Return how often majority vote, shrunk, raw and known weights err.

    Majority and known weights exactly; the other two with the noise of raw skills taken to be
    normal, which is the only approximation (ψ̄ and τ² known, the crowd large). Two classes.

    Parameters
    ----------
    skills
        The skills, each from 0 to 1, that a worker has with equal chances; not all 0.
    answers
        The answers r of each worker that its weight is learnt from, at least 1.
    labels
        The labels of each task, at least 2.
    cap
        The skill beyond which a vote counts no more, above 0 and below 1; the estimator's unless
        given.

    Examples
    --------
    >>> errors = weights_beat_majority([0.0, 0.6], answers=10, labels=5)
    >>> [round(error, 3) for error in errors]
    [0.235, 0.219, 0.233, 0.16]
    >>> errors = weights_beat_majority([0.0, 1.0], answers=10, labels=5)
    >>> [round(error, 3) for error in errors]
    [0.104, 0.04, 0.036, 0.016]
    """
    check_cap(cap)
    given, mean, spread = check_crowd(skills, answers, labels, 2)
    noise = average_variance(mean, spread, answers, labels)
    spreads = np.sqrt(variances(given, mean, answers, labels, 2))[:, None]
    at = (np.arange(NOISES) + 0.5) / NOISES
    normal = np.array([NormalDist().inv_cdf(p) for p in at])
    raw = given[:, None] + spreads * normal / math.sqrt(float(normal @ normal) / NOISES)
    found = []
    for trust in (spread / (spread + noise), 1.0):
        used = np.clip(mean + trust * (raw - mean), 0.0, cap)
        found.append(_vote_error(2 * np.arctanh(used), given[:, None], labels))
    majority = majority_error([(1 - mean) / 2] * labels)
    return SparseErrors(majority, found[0], found[1], known_error(given, labels))


def check_cap(cap: float) -> None:
    """Refuse a cap at which a vote would count for ever more or for nothing."""
    check_number("cap", cap, 0, MOST_CAP, open_low=True)


def check_crowd(
    skills: ArrayLike, answers: int, labels: int, classes: int
) -> tuple[Floats, float, float]:
    """Skills that were checked, their mean and their variance."""
    given = check_skills(skills)
    mean = float(given.mean())
    check_sizes(mean, answers, labels, classes)
    return given, mean, float(given.var())


def check_skills(skills: ArrayLike) -> Floats:
    """Skills from 0 to 1, some of them above 0."""
    given = vector("skills", skills, 1)
    if not (((given >= 0) & (given <= 1)).all() and given.any()):
        raise InputError("skills", "skills from 0 to 1, not all 0", str(given.tolist()[:5]))
    return given


def known_error(skills: Floats, labels: int) -> float:
    """Return how often the best vote errs, which knows the skills."""
    with np.errstate(divide="ignore"):
        best = np.minimum(2 * np.arctanh(skills), SURE)
    return _vote_error(best, skills, labels)


def _vote_error(weights: Floats, skills: Floats, labels: int) -> float:
    """Return how often the sum of so many signed weights is below 0, ties counting ½.

    Each label has one of these weights, at random, and is right as often as the skill says.
    """
    both = np.broadcast_arrays(weights, (1 + skills) / 2)
    places = np.rint(both[0] / STEP).astype(np.int64).ravel()
    right, size = both[1].ravel(), int(places.max(initial=1)) + 1
    chances = np.bincount(size + places, right, 2 * size + 1)
    chances += np.bincount(size - places, 1 - right, 2 * size + 1)
    length = labels * 2 * size + 1
    sums = np.fft.irfft(np.fft.rfft(chances / places.size, 2 * length) ** labels, 2 * length)
    middle = labels * size
    return max(float(sums[:middle].sum() + sums[middle] / 2), 0.0)
