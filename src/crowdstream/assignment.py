"""Which task to ask whom next, within a budget. Pure functions of confidence and accuracy.

Knows nothing of streams: it is given how sure each open task is and how good the worker.
"""

from __future__ import annotations

from collections.abc import Iterable

from crowdstream.labels import TaskId
from crowdstream.stopping import information


def most_informative(
    tasks: Iterable[tuple[TaskId, float]], accuracy: float, classes: int
) -> TaskId | None:
    """The task on which one more label is expected to tell most; the first of equals.

    Parameters
    ----------
    tasks
        Tasks that may be asked, and how sure the decision on each is so far.
    accuracy
        How often the worker is right.
    classes
        How many classes there are.

    Examples
    --------
    >>> most_informative([("clear", 0.99), ("open", 0.6)], accuracy=0.8, classes=2)
    'open'
    """
    best, most = None, -1.0
    for task, confidence in tasks:
        gain = information(max(confidence, 1.0 / classes), accuracy, classes)
        if gain > most:
            best, most = task, gain
    return best
