"""Questions to a `Stream` that are not one of its verbs. Nothing here changes it."""

from __future__ import annotations

import math

from crowdstream.decisions.decision import Decision
from crowdstream.errors import InputError
from crowdstream.estimators import Estimator
from crowdstream.labels import ClassLabel
from crowdstream.stream.stream import Stream

SURE = 1e-12
"""Probabilities are kept this far from 0 and 1 before they become log-odds."""

MOST_EXPLAINED = 200
"""Votes of a task up to which it is found what each adds: each takes a decision without it."""


def open_decision(stream: Stream, task: str) -> Decision | None:
    """What would be decided of an open task now; ``None`` if there is no such task."""
    try:
        found = stream.decision(task)
    except InputError:
        return None
    return found if found.closed is None else None


def more_labels_needed(stream: Stream, task: str) -> float | None:
    """Labels that a task is expected to need still; ``None`` where it likely never settles."""
    if stream.settle is None:
        return None
    found = stream.more_labels_needed(task)
    return found if math.isfinite(found) else None


def added(
    crowd: Estimator, answers: dict[str, ClassLabel], label: ClassLabel
) -> dict[str, float | None]:
    """The log-odds of a class that each answer adds: with all answers, less without that one."""
    if len(answers) > MOST_EXPLAINED:
        return dict.fromkeys(answers)
    everyone = _log_odds(crowd.predict_proba_one(answers).get(label, 0.0))
    found: dict[str, float | None] = {}
    for worker in answers:
        rest = {other: said for other, said in answers.items() if other != worker}
        chance = crowd.predict_proba_one(rest) if rest else {}
        without = chance.get(label, 1.0 / max(len(crowd.classes_), 2))
        found[worker] = everyone - _log_odds(without)
    return found


def _log_odds(p: float) -> float:
    p = min(max(p, SURE), 1.0 - SURE)
    return math.log(p) - math.log1p(-p)
