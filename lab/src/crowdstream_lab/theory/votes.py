"""Error of votes: bounds, exact numbers, and samples where these are out of reach."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import (
    Floats,
    check_alpha,
    check_classes,
    check_error_rates,
    check_weights,
)
from crowdstream_lab.theory.combinations import TIE, alike, halves, outer, within_reach

SAMPLES = 100_000
"""Tasks drawn where an exact answer is out of reach: a standard error of 0.0016 at the worst."""


CELLS = 2_000_000
"""Tasks times workers drawn at a time."""


class ErrorRate(NamedTuple):
    """The probability of a wrong decision; exact if its standard error is 0.

    Parameters
    ----------
    value
        The probability, from 0 to 1.
    standard_error
        Its standard error, from 0: above 0 where it is a mean over tasks drawn.

    Examples
    --------
    >>> ErrorRate(0.1, 0.0).value
    0.1
    """

    value: float
    standard_error: float


def optimal_weights(p: ArrayLike, classes: int = 2) -> Floats:
    """The weights of the best vote, ``w_i = log(1/p_i − 1)``; ±∞ at p = 0 and 1 (Proposition 1).

    Of K classes that are confused evenly, ``log((K−1)(1/p_i − 1))``.

    Parameters
    ----------
    p
        The workers' error rates, each from 0 to 1.
    classes
        The number K of classes, at least 2.

    Examples
    --------
    >>> optimal_weights([0.0, 0.25, 0.5, 1.0]).round(4).tolist()
    [inf, 1.0986, 0.0, -inf]
    """
    rates = check_error_rates(p)
    check_classes(classes)
    with np.errstate(divide="ignore"):
        return np.log1p(-rates) - np.log(rates) + math.log(classes - 1)


def majority_error_bound(p: ArrayLike, alpha: float = 1.0) -> float:
    """A majority vote is wrong with probability ``exp(−n/2 (α(1−2q))²)`` at most (section 3).

    Parameters
    ----------
    p
        The workers' error rates, each from 0 to 1.
    alpha
        The probability that a worker answers a task, above 0 and at most 1.

    Examples
    --------
    >>> round(majority_error_bound([0.0] * 10 + [0.5] * 10), 2)
    0.08
    """
    rates = check_error_rates(p)
    return weighted_error_bound(rates, np.ones(rates.size), alpha)


def weighted_error_bound(p: ArrayLike, weights: ArrayLike, alpha: float = 1.0) -> float:
    """Hoeffding's bound on the probability that a weighted vote is wrong (section 3).

    ``exp(−½ (α Σ w_i(1−2p_i))² / Σ w_i²)`` if ``Σ w_i(1−2p_i)`` is above 0, else 1.
    Infinite weights are the limit of equal ones that grow.

    Parameters
    ----------
    p, alpha
        As for `majority_error_bound`.
    weights
        The weight of each worker's vote, as many as error rates; may be negative or infinite.

    Examples
    --------
    >>> p = [0.0] * 10 + [0.5] * 10
    >>> round(weighted_error_bound(p, optimal_weights(p)), 3)
    0.007
    """
    rates = check_error_rates(p)
    given = check_weights(weights, rates.size)
    check_alpha(alpha)
    if np.isinf(given).any():
        given = np.where(np.isinf(given), np.sign(given), 0.0)
    mean = alpha * float(given @ (1 - 2 * rates))
    if mean <= 0:
        return 1.0
    return math.exp(-(mean**2) / (2 * float(given @ given)))


def majority_error(p: ArrayLike, alpha: float = 1.0) -> float:
    """The exact probability that a majority vote is wrong, a tie counting ½. O(n²).

    Parameters
    ----------
    p, alpha
        As for `majority_error_bound`.

    Examples
    --------
    >>> round(majority_error([0.1, 0.1, 0.1]), 12)
    0.028
    """
    rates = check_error_rates(p)
    check_alpha(alpha)
    votes = _votes(rates, alpha)
    return float(votes[: rates.size].sum() + votes[rates.size] / 2)


def vote_error(
    p: ArrayLike,
    weights: ArrayLike,
    alpha: float = 1.0,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> ErrorRate:
    """The probability that a vote with these weights is wrong in a crowd with error rates p.

    Exact up to `ATOMS`, else the mean over so many tasks drawn with this seed. A tie counts ½.
    Infinite weights outvote all others and count as equal among themselves.

    Parameters
    ----------
    p, weights, alpha
        As for `weighted_error_bound`.
    samples
        How many tasks to draw where an exact answer is out of reach, at least 2.
    seed
        Random seed for the tasks drawn.

    Examples
    --------
    >>> vote_error([0.1, 0.3, 0.3], [1.0, 0.0, 0.0])
    ErrorRate(value=0.1, standard_error=0.0)
    """
    rates = check_error_rates(p)
    given = check_weights(weights, rates.size)
    check_alpha(alpha)
    check_number("samples", samples, 2, 10**12, whole=True)
    rates = np.where(given < 0, 1 - rates, rates)  # who is read backwards errs when it is right
    given = np.abs(given)
    first = np.isinf(given)
    leaders = _votes(rates[first], alpha)
    followers = _exact_error(rates[~first], given[~first], alpha)
    if followers is None:
        return _sampled_error(rates, given, alpha, samples, seed)
    middle = leaders.size // 2
    return ErrorRate(float(leaders[:middle].sum() + leaders[middle] * followers), 0.0)


def optimal_error(
    p: ArrayLike, alpha: float = 1.0, *, samples: int = SAMPLES, seed: int = 0
) -> ErrorRate:
    """The least probability of error there is, that of the vote which knows p (Proposition 1).

    Exact or sampled as `vote_error` is.

    Parameters
    ----------
    p, alpha, samples, seed
        As for `vote_error`.

    Examples
    --------
    >>> optimal_error([0.1, 0.3, 0.3]).value < majority_error([0.1, 0.3, 0.3])
    True
    """
    return vote_error(p, optimal_weights(p), alpha, samples=samples, seed=seed)


def _votes(p: Floats, alpha: float) -> Floats:
    """Return the chance that right minus wrong answers are −m, …, m."""
    chances = np.ones(1)
    for rate in p:
        chances = np.convolve(chances, [alpha * rate, 1 - alpha, alpha * (1 - rate)])
    return chances


def _exact_error(p: Floats, weights: Floats, alpha: float) -> float | None:
    """By meeting in the middle; None if the vote takes too many values. Weights are finite, ≥ 0."""
    values, chances = [], []
    for group in alike(weights):
        votes = _votes(p[group], alpha)
        possible = np.flatnonzero(votes)
        values.append(weights[group].mean() * (possible - group.size))
        chances.append(votes[possible])
    if not within_reach(values):
        return None
    left, right = (outer(np.add, half, 0.0) for half in halves(values))
    left_chances, right_chances = (outer(np.multiply, half, 1.0) for half in halves(chances))
    order = np.argsort(right)
    right = right[order]
    cumulative = np.concatenate([[0.0], np.cumsum(right_chances[order])])
    tie = TIE * float(weights.sum())
    below = cumulative[np.searchsorted(right, -left - tie, side="left")]
    up_to = cumulative[np.searchsorted(right, -left + tie, side="right")]
    return float(left_chances @ (below + up_to)) / 2


def _sampled_error(p: Floats, weights: Floats, alpha: float, samples: int, seed: int) -> ErrorRate:
    """The mean, over drawn answers, of the chance that the decision on them is wrong.

    That chance follows from the log-odds of the truth given the answers, so the mean varies less
    than a count of errors would.
    """
    rng = np.random.default_rng(seed)
    best = optimal_weights(p)
    total, squares, left = 0.0, 0.0, samples
    while left:
        drawn = rng.random((min(left, max(1, CELLS // p.size)), p.size))
        answers = np.where(drawn < alpha * p, -1.0, np.where(drawn < alpha, 1.0, 0.0))
        decision, log_odds = _score(answers, weights), _score(answers, best)
        agreeing = np.where(decision < 0, -log_odds, log_odds)
        wrong = np.where(decision == 0, 0.5, np.exp(-np.logaddexp(0.0, agreeing)))
        total += float(wrong.sum())
        squares += float(wrong @ wrong)
        left -= len(drawn)
    mean = total / samples
    variance = max(squares / samples - mean**2, 0.0)
    return ErrorRate(mean, math.sqrt(variance / (samples - 1)))


def _score(answers: Floats, weights: Floats) -> Floats:
    """The weighted sum of each row: 0 if a tie, ±∞ if infinite weights decide."""
    first = np.isinf(weights)
    finite = weights[~first]
    score = answers[:, ~first] @ finite
    score[np.abs(score) <= TIE * np.abs(finite).sum()] = 0.0
    lead = answers[:, first] @ np.sign(weights[first])
    return np.where(lead == 0, score, np.copysign(math.inf, lead))
