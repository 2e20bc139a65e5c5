"""What is true: one task's votes → `Decision`. Knows nothing of streams or files."""

from __future__ import annotations

import msgspec

from crowdstream.estimators import Estimator
from crowdstream.labels import Answers, ClassLabel, TaskId


class Decision(msgspec.Struct, frozen=True):
    """What the crowd says of one task.

    ``label`` is ``None`` when nobody has answered. ``confidence`` is the posterior probability of
    the label, ``margin`` its lead over the runner-up's: 0 is a tie, decided by coin or rule.
    ``identifiable`` is false when the error rates could not be told and it was a majority vote;
    confidence is then the share of the votes by the rule of succession, ``(votes + 1)/(m + K)``.
    ``closed`` says why the task takes no more labels, ``None`` while it does.
    """

    task: TaskId
    label: ClassLabel | None
    confidence: float
    margin: float
    votes: int
    settled: bool
    identifiable: bool
    closed: str | None = None


def decide(
    crowd: Estimator,
    task: TaskId,
    answers: Answers,
    *,
    settle: float | None = None,
) -> Decision:
    """Decide one task from what the crowd has taught so far and these answers.

    ``settle`` is the confidence at which the decision is called settled (``None``: never).

    >>> import crowdstream as cs
    >>> decide(cs.MajorityVote(), "t17", {"ann": "spam", "bob": "spam", "cy": "ham"}).label
    'spam'
    """
    vote = crowd.vote_one(answers, task=task)
    return Decision(
        task=task,
        label=vote.label,
        confidence=vote.confidence,
        margin=vote.margin,
        votes=sum(label is not None for label in answers.values()),
        settled=settle is not None and vote.label is not None and vote.confidence >= settle,
        identifiable=vote.identifiable,
    )
