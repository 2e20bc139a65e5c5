"""Falling back to majority vote: when a crowd cannot be identified, why, and how votes count then.

Knows what was measured of a crowd's agreement, nothing of estimators.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import LabelBatch
from crowdstream.models import scoring_loops
from crowdstream.models.identifying_loops import find_reason
from crowdstream.models.scorer import Scorer
from crowdstream.models.teacher_loops import Teacher

NO_MEETINGS = "no two workers share a task"
REASONS = (
    "",
    NO_MEETINGS,
    "fewer than three workers share tasks",
    "only one class was ever seen",
    "groups of workers share no task",
    "workers are not shown to agree more than by chance",
    "the agreements have no solution",
)
"""Words for the codes of `crowdstream.models.rows`, in their order."""
BY_GOLD = "only by the truths that were given"


class Meetings(NamedTuple):
    """What agreement can be based on; `Teacher` has attributes of the same names."""

    met: float
    """Pairs of labels on the same task, in the largest group of workers who share tasks."""
    all_met: float
    """All such pairs."""
    met_workers: int
    """Workers of that group who have met another."""
    evidence: float
    """Standard errors by which agreement differs from that of guessers."""


def why_not(found: Meetings | Teacher, classes: int) -> str:
    """Return why a crowd cannot be identified by agreement, or nothing if it can.

    Parameters
    ----------
    found
        What was measured of its agreement.
    classes
        How many classes were ever seen.

    Examples
    --------
    >>> why_not(Meetings(met=20.0, all_met=20.0, met_workers=2, evidence=9.0), classes=2)
    'fewer than three workers share tasks'
    """
    agreed = found.met, found.all_met, found.met_workers, found.evidence
    return REASONS[find_reason(*agreed, classes)]


def verdict(reason: str, fell_back: bool) -> tuple[bool, str]:
    """Return whether a crowd is identified, and why not; or that known truths alone identify it."""
    return (True, BY_GOLD) if reason and not fell_back else (not reason, reason)


def majority(batch: LabelBatch, scores: NDArray[np.float64]) -> None:
    """Fill in scores of majority vote, where every vote counts the same."""
    scoring_loops.count_votes(batch.coded, scores)


MAJORITY = Scorer(majority, identified=False)
"""How tasks are scored where the crowd cannot be identified."""
