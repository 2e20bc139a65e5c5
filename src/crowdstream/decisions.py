"""What is true: one task's votes → `Decision`. Knows nothing of streams or files."""

from __future__ import annotations

import math

import msgspec

from crowdstream.estimators import Estimator
from crowdstream.labels import Answers, ClassLabel, TaskId


class Decision(msgspec.Struct, frozen=True):
    """What the crowd says of one task.

    ``label`` is ``None`` when nobody has answered. ``confidence`` is the posterior probability of
    the label, ``margin`` its lead over the runner-up's: 0 is a tie, decided by coin or rule.
    ``identifiable`` is false when the error rates could not be told and heads were counted;
    confidence is then the share of the votes by the rule of succession, ``(votes + 1)/(m + K)``.
    ``closed`` says why the task takes no more labels, ``None`` while it does. ``difficulty`` is the
    chance that an average labeller gets this task wrong, ``None`` where nobody watches.
    """

    task: TaskId
    label: ClassLabel | None
    confidence: float
    margin: float
    votes: int
    settled: bool
    identifiable: bool
    closed: str | None = None
    difficulty: float | None = None


def decide(
    crowd: Estimator,
    task: TaskId,
    answers: Answers,
    *,
    settle: float | None = None,
    place: int | None = None,
) -> Decision:
    """Decide one task from what the crowd has taught so far and these answers.

    ``settle`` is the confidence at which the decision is called settled (``None``: never);
    ``place`` the task's place in the stream, which picks the coin for a tie.

    >>> import crowdstream as cs
    >>> decide(cs.MajorityVote(), "t17", {"ann": "spam", "bob": "spam", "cy": "ham"}).label
    'spam'
    """
    vote = crowd.vote_one(answers, place=place)
    return Decision(
        task=task,
        label=vote.label,
        confidence=vote.confidence,
        margin=vote.margin,
        votes=sum(label is not None for label in answers.values()),
        settled=settle is not None and vote.label is not None and vote.confidence >= settle,
        identifiable=vote.identifiable,
        difficulty=vote.difficulty,
    )


def labels_needed(confidence: float, settle: float, accuracy: float, classes: int = 2) -> float:
    """Expected number of labels until a decision is as sure as ``settle``, one way or the other.

    With two classes the log-odds walk up and down by one vote's weight until they reach those of
    ``settle`` or fall as far below 0 (the gambler's ruin); with more, the true class gains votes on
    the others at its usual rate. ``accuracy`` is that of an average
    labeller on this task; at chance, no number of labels will do.

    >>> labels_needed(0.5, 0.95, accuracy=0.8)  # until three more say one thing than the other
    4.8
    >>> labels_needed(0.97, 0.95, accuracy=0.8)
    0.0
    """
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

    ``confidence`` of the leading class so far, the others alike; ``accuracy`` of who is asked.

    >>> information(0.5, 0.9) > information(0.9, 0.9) > information(0.9, 0.6) > 0
    True
    """
    rest = (1 - confidence) / (classes - 1)
    miss = (1 - accuracy) / (classes - 1)
    leads = confidence * accuracy + (1 - confidence) * miss
    other = rest * accuracy + (1 - rest) * miss
    before = _bits(leads) + (classes - 1) * _bits(other)
    return max(before - _bits(accuracy) - (classes - 1) * _bits(miss), 0.0)


def _bits(p: float) -> float:
    return -p * math.log2(p) if p > 0 else 0.0
