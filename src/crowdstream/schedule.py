"""Schedule of renewing readings: by growth, so that the cost of reading stays in proportion.

The one home of growth factors of models, monitors and streams. A reading of all workers takes time
in proportion to them; done each time there is so much more to read, it costs a constant per label.
Knows nothing of readings.
"""

from __future__ import annotations

from typing import NamedTuple


class Growth(NamedTuple):
    """Done first at ``first``, then whenever there is ``factor`` times as much.

    >>> looks = Growth(100, 2.0)
    >>> looks.next_after(0), looks.next_after(100)
    (100, 200.0)
    """

    first: float
    factor: float

    def next_after(self, last: float) -> float:
        """The number at which it is done next, if it was done at ``last``."""
        return max(last * self.factor, self.first)


READINGS = 1.1
"""Growth in tasks after which shared readings are renewed: on simulated streams decisions differ
from those of readings at every task by less than chance."""

LABELS, FEW_LABELS = 1.25, 20
"""Growth in labels, and their least number, for streams whose tasks stay open for long."""

LOOKS = Growth(100, 2.0)
"""Tasks at which a stream measures whether workers err together: it takes milliseconds."""

GOLD = 1.1
"""Growth in tasks of known truth after which scores are weighed anew."""

STRENGTHS = Growth(50, 2.0)
"""Closed tasks at which it is found how hard tasks are: a fit takes milliseconds, and is about the
same at nearby times."""

MONITORS, FEW_TASKS = 8, 8
"""Renewals of monitors' skills while tasks double, and the least number of tasks between two:
about as often as models read what all workers share. Each reading costs as much as there are
workers."""

COMPARED = 1.5
"""Growth in tasks after which it is chosen anew which workers are compared with each other: it goes
by who has answered twice as much."""

HISTORY = 1.05
"""Growth in a worker's answers after which the server notes its error rate again."""


def next_reading(last: float, memory: float | None) -> int:
    """Return the tasks at which monitors read skills next, if they did so at ``last``.

    Always the same numbers, so that monitors which began at other times read together, and a
    stream need not stop for each.

    >>> [next_reading(last, None) for last in (1, 8, 127, 128, 1000)]
    [8, 16, 128, 144, 1024]
    """
    size = int(last if memory is None else min(last, memory))
    step = max((1 << size.bit_length()) // (2 * MONITORS), 1 if memory else FEW_TASKS)
    return (int(last) // step + 1) * step


class Schedule:
    """Schedule of renewals of a model's shared readings.

    ``tasks``, ``labels``: how many there were when they were last renewed.

    >>> schedule = Schedule()
    >>> schedule.renewed(100, 500.0)
    >>> schedule.is_due(110, 510.0, 1.0), schedule.is_due(111, 510.0, 1.0)
    (False, True)
    """

    def __init__(self) -> None:
        self.tasks = 0.0
        self.labels = 0.0

    def renewed(self, tasks: int, labels: float) -> None:
        """Note that they were renewed just now."""
        self.tasks, self.labels = float(tasks), float(labels)

    @property
    def after_tasks(self) -> float:
        """The tasks beyond which they are due."""
        return self.tasks * READINGS

    @property
    def after_labels(self) -> float:
        """The labels beyond which, and `FEW_LABELS` more, they are due."""
        return self.labels * LABELS

    def tasks_left(self, tasks: int) -> int:
        """Return how many tasks may be learnt before they are due."""
        return int(self.after_tasks) + 1 - tasks

    def has_many_more_labels(self, labels: float, unit: float) -> bool:
        """Return True if readings are due by labels; one of the newest task counts ``unit``."""
        return labels > self.after_labels + FEW_LABELS * unit

    def is_due(self, tasks: int, labels: float, unit: float) -> bool:
        """Return whether they are due by tasks or labels."""
        return tasks > self.after_tasks or self.has_many_more_labels(labels, unit)
