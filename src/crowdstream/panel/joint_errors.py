"""Errors that judges make together, seen against known truths, and what they cost.

The correlation of two judges' errors is that of the indicators "wrong on this item" over the items
that both judged. n judges with mean correlation ρ̄ are worth n/(1 + (n − 1) ρ̄) independent ones
(Kish's design effect). Agreement cannot see this: who is wrong together agrees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.panel.votes import Scored

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RESAMPLES = 400
"""Times that items are drawn anew for an interval: the limits of a 95 % interval are then the 10th
and 391st of them."""

PERMUTED = 20
"""Times that verdicts are shuffled to see a panel without joint errors: on 3,000 items the mean is
off by less than 0.001."""


class ErrorCounts(NamedTuple):
    """Counts for every two judges: items both judged, errors of the first, errors of both."""

    met: Floats
    first: Floats
    both: Floats


def error_counts(given: Floats, wrong: Floats, times: Floats | None = None) -> ErrorCounts:
    """The counts; ``times``: how often each item counts, once unless said."""
    left = given.T if times is None else given.T * times
    errors = wrong.T if times is None else wrong.T * times
    return ErrorCounts(left @ given, errors @ given, errors @ wrong)


def correlations_of(counts: ErrorCounts) -> Floats:
    """The correlation of errors of every two judges; NaN where it is not defined.

    It is not where one of the two errs always or never on the items that both judged.
    """
    met = np.maximum(counts.met, 1e-12)
    one, two = counts.first / met, counts.first.T / met
    spread = one * (1.0 - one) * two * (1.0 - two)
    defined = (counts.met > 0) & (spread > 1e-12)
    root = np.sqrt(np.where(defined, spread, 1.0))
    found = np.where(defined, (counts.both / met - one * two) / root, np.nan)
    np.fill_diagonal(found, 1.0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def mean_correlation(table: Floats, weights: Floats) -> float | None:
    """The mean over all pairs for which it is defined, by the product of their weights."""
    pairs = np.outer(weights, weights)
    np.fill_diagonal(pairs, 0.0)
    defined = ~np.isnan(table)
    total = pairs[defined].sum()
    return float((pairs[defined] * table[defined]).sum() / total) if total > 0.0 else None


def effective_number(correlation: float | None, weights: Floats) -> float | None:
    """Kish's effective number: ``(Σw)²/(Σw² + ρ̄ ((Σw)² − Σw²))``, at most the number there is.

    With equal weights it is n/(1 + (n − 1) ρ̄).

    >>> round(effective_number(0.42, np.ones(6)), 1)
    1.9
    """
    if correlation is None:
        return None
    square, total = float((weights**2).sum()), float(weights.sum() ** 2)
    if square <= 0.0:
        return None
    independent = total / square
    spread = square + correlation * (total - square)
    return min(total / spread, independent) if spread > 0.0 else independent


def resampled(scored: Scored, weights: Floats, seed: int) -> tuple[Floats, Floats]:
    """Mean correlation and effective number on items drawn anew, where they are defined."""
    rng = np.random.default_rng(seed)
    patterns, counts = _patterns(scored)
    given, wrong = (patterns[:, :, k].astype(float) for k in (0, 1))
    rhos, numbers = [], []
    for _ in range(RESAMPLES):
        times = rng.multinomial(int(counts.sum()), counts / counts.sum()).astype(float)
        rho = mean_correlation(correlations_of(error_counts(given, wrong, times)), weights)
        number = effective_number(rho, weights)
        if rho is not None and number is not None:
            rhos.append(rho)
            numbers.append(number)
    return np.array(rhos), np.array(numbers)


def _patterns(scored: Scored) -> tuple[Bools, Floats]:
    """Return each pattern of who judged and who erred once, with its number of items."""
    both = np.stack([scored.given, scored.wrong], axis=2)
    found, counts = np.unique(both.reshape(len(both), -1), axis=0, return_counts=True)
    return found.reshape(len(found), *both.shape[1:]), counts.astype(float)


# What joint errors cost ---------------------------------------------------------------------


def majority_accuracy(said: NDArray[np.int32], truth: NDArray[np.int32], classes: int) -> float:
    """The share of items that a plain vote gets right; ties count in expectation."""
    votes = np.zeros((len(said), classes))
    for column in said.T:
        some = np.flatnonzero(column >= 0)
        votes[some, column[some]] += 1.0
    best = votes == votes.max(axis=1, keepdims=True)
    asked = votes.any(axis=1)
    right = best[np.arange(len(said)), truth] / best.sum(axis=1)
    return float(right[asked].mean()) if asked.any() else 0.0


def independent_accuracy(scored: Scored, seed: int) -> float:
    """The accuracy of the plain vote if the same judges erred independently.

    Every judge's verdicts are shuffled among the items of the same truth that it judged: its
    confusions stay as they are to the last verdict, what it has in common with others goes.
    """
    rng, found = np.random.default_rng(seed), []
    groups = [np.flatnonzero(scored.truth == k) for k in np.unique(scored.truth)]
    for _ in range(PERMUTED):
        said = scored.said.copy()
        for column in said.T:
            for items in groups:
                judged = items[column[items] >= 0]
                column[judged] = column[rng.permutation(judged)]
        found.append(majority_accuracy(said, scored.truth, scored.classes))
    return float(np.mean(found))
