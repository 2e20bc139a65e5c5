"""Labels needed until a task is settled, and the information in one more label.

Pure functions of confidence and accuracy; knows neither estimators nor streams.
`monitoring.outlook` puts in what is known of a task.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdstream.validation import check_number

Floats = NDArray[np.float64]

HORIZON = 100
"""Labels that a task may still get where nothing says how many: beyond, nobody buys."""

NOTHING = 1e-4
"""A walk whose chance to go on is below this has ended."""


def labels_needed(
    confidence: float,
    settle: float,
    accuracy: float,
    classes: int = 2,
    *,
    correlation: float = 0.0,
    votes: int = 0,
) -> float:
    """Expected number of labels until a decision is as sure as ``settle``, one way or the other.

    With two classes the log-odds walk up and down by one vote's weight until they reach those of
    ``settle`` or fall as far below 0 (the gambler's ruin); with more, the true class gains votes on
    the others at its usual rate. With correlated errors m labels' log-odds count 1/(1 + (m − 1) ρ),
    so there is a confidence that no number of labels exceeds: inf where `HORIZON` labels likely
    do not settle it, else how many it takes where they do.

    Parameters
    ----------
    confidence
        How sure the decision is now.
    settle
        How sure it is to become.
    accuracy
        How often an average worker is right; at chance, no number of labels will do.
    classes
        How many classes there are.
    correlation, votes
        Correlation ρ of errors within a task by which confidence is discounted, and how many labels
        the task has.

    Examples
    --------
    >>> labels_needed(0.5, 0.95, accuracy=0.8)  # until three more say one thing than the other
    4.8
    >>> labels_needed(0.97, 0.95, accuracy=0.8)
    0.0
    >>> labels_needed(0.5, 0.95, accuracy=0.8, correlation=0.5)  # never
    inf
    """
    check_number("confidence", confidence, 0.0, 1.0, open_low=True)
    check_number("settle", settle, 0.0, 1.0, open_low=True)
    check_number("accuracy", accuracy, 0.0, 1.0)
    check_number("classes", classes, 2, 2**31, whole=True)
    check_number("correlation", correlation, 0.0, 1.0)
    check_number("votes", votes, 0, 2**31, whole=True)
    chance = 1.0 / classes
    if confidence >= settle:
        return 0.0
    if accuracy <= chance + 1e-6:
        return math.inf
    accuracy = min(accuracy, 0.999)
    step = math.log(accuracy * (classes - 1) / (1 - accuracy))
    goal = math.log(settle / (1 - settle)) if settle < 1 else math.inf
    if math.isinf(goal):
        return math.inf
    if correlation > 0.0:
        return _with_correlation(confidence, goal, step, accuracy, classes, correlation, votes)
    if classes > 2:
        return round(_race(confidence, goal, step, accuracy, classes), 1)
    odds = math.log(confidence / (1 - confidence))
    up = max(math.ceil((goal - odds) / step - 1e-9), 1)
    down = max(math.ceil((goal + odds) / step - 1e-9), 1)
    right, wrong = _steps(up, down, accuracy), _steps(up, down, 1 - accuracy)
    return round(confidence * right + (1 - confidence) * wrong, 1)


def _with_correlation(
    confidence: float,
    goal: float,
    step: float,
    accuracy: float,
    classes: int,
    correlation: float,
    votes: int,
) -> float:
    """Count labels needed where correlated votes let the goal recede with every label."""
    scale = 1.0 + np.maximum(votes + np.arange(HORIZON + 1) - 1, 0) * correlation
    rivals = math.log(classes - 1)
    odds = math.log(max(confidence, 1.0 / classes) / max(1.0 - confidence, 1e-12)) + rivals
    lead, miss = odds * scale[0] / step, (1.0 - accuracy) / (classes - 1)
    chance, _, settled = settling(
        np.array([lead, -lead]),
        np.array([confidence, 1.0 - confidence]),
        np.full(2, accuracy),
        np.full(2, miss),
        scale[1:] * (goal + rivals) / step,
    )
    return round(settled, 1) if chance >= 0.5 else math.inf


def settling(
    starts: Floats, weights: Floats, up: Floats, down: Floats, bounds: Floats
) -> tuple[float, float, float]:
    """A walk's chance to end at a bound that may recede, and its expected number of steps.

    The walk is a mixture: with probability ``weights`` it begins at ``starts`` and goes up or down
    by 1 with these probabilities, or stays. It ends after step t if it is at ``bounds[t]`` or
    beyond, above or below.

    Returns the chance that it ends, the expected number of steps until it ends or there is no
    bound left, and the expected number if it ends (inf if it cannot).
    """
    open_ended = np.isinf(bounds)
    if open_ended.all():
        return 0.0, float(bounds.size), math.inf
    farthest = bounds[~open_ended].max() + np.abs(starts).max() + open_ended.sum()
    width = int(min(bounds.size, farthest)) + 1
    place = np.arange(-width, width + 1)
    at = np.abs(starts[:, None] + place) + 1e-9
    going = np.zeros((starts.size, place.size))
    going[:, width] = weights
    stay, up, down = (1.0 - up - down)[:, None], up[:, None], down[:, None]
    ends = np.zeros(bounds.size)
    for t, bound in enumerate(bounds.tolist()):
        after = going * stay
        after[:, 1:] += going[:, :-1] * up
        after[:, :-1] += going[:, 1:] * down
        going = np.where(at < bound, after, 0.0)
        left = float(going.sum())
        ends[t] = after.sum() - left
        if left < NOTHING:
            break
    steps = np.arange(1, bounds.size + 1)
    chance = min(float(ends.sum()), 1.0)
    ended = float(ends @ steps)
    taken = ended + max(1.0 - chance, 0.0) * bounds.size
    return chance, taken, ended / chance if chance > 0.0 else math.inf


def _race(confidence: float, goal: float, step: float, accuracy: float, classes: int) -> float:
    """Count labels needed among more than two classes: votes to gain over the speed of gaining."""
    gain = accuracy - (1 - accuracy) / (classes - 1)
    found = 0.0
    for share, start in (
        (confidence, confidence),
        (1 - confidence, (1 - confidence) / (classes - 1)),
    ):
        odds = math.log(max(start, 1e-12) / (1 - start))
        found += share * max(math.ceil((goal - odds) / step - 1e-9), 1) / gain
    return found


def _steps(up: int, down: int, p: float) -> float:
    """Expected length of a walk that goes up with probability p and ends at up or −down."""
    if abs(p - 0.5) < 1e-9:
        return float(up * down)
    ratio = (1 - p) / p
    return down / (1 - 2 * p) - (up + down) / (1 - 2 * p) * (
        (1 - ratio**down) / (1 - ratio ** (up + down))
    )


def information(confidence: float, accuracy: float, classes: int = 2) -> float:
    """Bits that one more label tells of a task's class: how much it is worth to ask.

    Parameters
    ----------
    confidence
        Of the leading class so far; the others are taken to be equally likely.
    accuracy
        How often the worker who is asked is right.
    classes
        How many classes there are.

    Examples
    --------
    >>> information(0.5, 0.9) > information(0.9, 0.9) > information(0.9, 0.6) > 0
    True
    """
    check_number("confidence", confidence, 0.0, 1.0)
    check_number("accuracy", accuracy, 0.0, 1.0)
    check_number("classes", classes, 2, 2**31, whole=True)
    return float(information_of(np.array([confidence]), accuracy, classes)[0])


def information_of(confidences: Floats, accuracy: float, classes: int) -> Floats:
    """`information` of many tasks at once, unchecked.

    >>> information_of(np.array([0.5, 0.9]), 0.9, 2).round(2).tolist()
    [0.53, 0.21]
    """
    rest = (1 - confidences) / (classes - 1)
    miss = (1 - accuracy) / (classes - 1)
    leads = confidences * accuracy + (1 - confidences) * miss
    other = rest * accuracy + (1 - rest) * miss
    before = _bits(leads) + (classes - 1) * _bits(other)
    asked = _bits(np.array([accuracy, miss]))
    return np.asarray(np.maximum(before - asked[0] - (classes - 1) * asked[1], 0.0))


def _bits(p: Floats) -> Floats:
    return np.asarray(-p * np.log2(np.where(p > 0, p, 1.0)))
