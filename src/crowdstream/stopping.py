"""When to stop asking: labels needed until a task is settled, and what one more label tells.

Pure functions of confidence and accuracy; knows neither estimators nor streams.
"""

from __future__ import annotations

import math

from crowdstream.validation import check_number


def labels_needed(confidence: float, settle: float, accuracy: float, classes: int = 2) -> float:
    """Expected number of labels until a decision is as sure as ``settle``, one way or the other.

    With two classes the log-odds walk up and down by one vote's weight until they reach those of
    ``settle`` or fall as far below 0 (the gambler's ruin); with more, the true class gains votes on
    the others at its usual rate.

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

    Examples
    --------
    >>> labels_needed(0.5, 0.95, accuracy=0.8)  # until three more say one thing than the other
    4.8
    >>> labels_needed(0.97, 0.95, accuracy=0.8)
    0.0
    """
    check_number("confidence", confidence, 0.0, 1.0, open_low=True)
    check_number("settle", settle, 0.0, 1.0, open_low=True)
    check_number("accuracy", accuracy, 0.0, 1.0)
    check_number("classes", classes, 2, 2**31, whole=True)
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
    if classes > 2:
        return round(_race(confidence, goal, step, accuracy, classes), 1)
    odds = math.log(confidence / (1 - confidence))
    up = max(math.ceil((goal - odds) / step - 1e-9), 1)
    down = max(math.ceil((goal + odds) / step - 1e-9), 1)
    right, wrong = _steps(up, down, accuracy), _steps(up, down, 1 - accuracy)
    return round(confidence * right + (1 - confidence) * wrong, 1)


def _race(confidence: float, goal: float, step: float, accuracy: float, classes: int) -> float:
    """The same for more classes: votes that the true class must gain, over how fast it does."""
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
    rest = (1 - confidence) / (classes - 1)
    miss = (1 - accuracy) / (classes - 1)
    leads = confidence * accuracy + (1 - confidence) * miss
    other = rest * accuracy + (1 - rest) * miss
    before = _bits(leads) + (classes - 1) * _bits(other)
    return max(before - _bits(accuracy) - (classes - 1) * _bits(miss), 0.0)


def _bits(p: float) -> float:
    return -p * math.log2(p) if p > 0 else 0.0
