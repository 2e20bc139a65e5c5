"""Independent votes that labels are worth, with limits, and in words."""

from __future__ import annotations

from typing import NamedTuple

from crowdstream.estimators.estimator import Estimator
from crowdstream.models.dependence import Z95
from crowdstream.monitoring.families import effective_votes, groups_of
from crowdstream.statements.dependence import BRIEFLY

SOME_COPY = "some workers copy others"


class LabelWorth(NamedTuple):
    """Worth of a task's labels in independent votes.

    Parameters
    ----------
    votes
        Labels on a task.
    effective, low, high
        Independent votes that they are worth, and 95 % limits as far as labels show joint errors.
        Tasks that fool nearly everybody are not seen: without gold it is an upper bound.
    about
        Why, in a few words.
    """

    votes: float
    effective: float
    low: float
    high: float
    about: str


def label_worth(crowd: Estimator, votes: float) -> LabelWorth:
    """Return how many independent votes so many labels on a task are worth.

    Parameters
    ----------
    crowd
        An estimator.
    votes
        Labels on a task, at least 1.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive().fit(cs.simulate(10, 5000, p=0.2).labels())
    >>> label_worth(crowd, 10.0).about
    'errors look independent'
    """
    found = crowd.dependence_
    margin = 0.0 if found.error is None else Z95 * found.error
    least, most = (effective_votes(crowd, votes, more=sign * margin) for sign in (1.0, -1.0))
    about = SOME_COPY if groups_of(crowd, "copy") else BRIEFLY[found.verdict]
    return LabelWorth(votes, effective_votes(crowd, votes), least, most, about)


def panel_words(worth: LabelWorth) -> str:
    """Return what the judges of a panel are worth as a sentence without its full stop.

    >>> panel_words(LabelWorth(13.0, 5.1, 4.6, 5.8, "these workers make mistakes together"))
    '13 judges, worth at most 5.1 (4.6–5.8) independent ones'
    """
    low, high = f"{worth.low:.1f}", f"{worth.high:.1f}"
    limits = "" if low == high else f" ({low}–{high})"
    return f"{worth.votes:.0f} judges, worth at most {worth.effective:.1f}{limits} independent ones"


def worth_words(worth: LabelWorth) -> str:
    """Return what labels are worth as a sentence without its full stop.

    >>> worth_words(LabelWorth(5.0, 4.1, 3.6, 4.8, "these workers make mistakes together"))
    '5.0 labels per task are worth at most 4.1 (3.6–4.8) independent ones'
    """
    low, high = f"{worth.low:.1f}", f"{worth.high:.1f}"
    limits = "" if low == high else f" ({low}–{high})"
    at_most = f"{worth.votes:.1f} labels per task are worth at most {worth.effective:.1f}{limits}"
    return f"{at_most} independent ones"
