"""Verdict on whether a worker changed between two runs. Three outcomes; measured, see tests.

An unchanged worker may answer a task otherwise when it is asked again. But then its answers of the
two runs could be exchanged: it goes from right to wrong as often as back, and from one class to
another as often as back. Each is tested exactly (McNemar), all of them together by Holm's rule, so
that of panels in which nobody changed at most 5 % have a worker of whom it is said.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from crowdstream.metrics import Z95
from crowdstream.plain_text import counted, percent

CHANGED, NO_CHANGE, TOO_FEW = "changed", "no_change_seen", "too_few_tasks"
"""Verdicts on a worker."""

FEWEST = 20
"""Tasks answered in both runs below which nothing is said: of fewer, only a worker who errs on a
third of the tasks more would be found, and that in a panel of one."""

FALSE_CHANGES = 0.05
"""Share of panels in which nobody changed of which it may be said of somebody."""


class Change(NamedTuple):
    """A change of a share over tasks answered twice, and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def most(self) -> float:
        """The largest change, either way, that the interval does not exclude."""
        return max(abs(self.low), abs(self.high))


def paired_change(gained: int, lost: int, tasks: int) -> Change:
    """Return the change of a share by the tasks that entered it and those that left it.

    The interval is that of Agresti and Min (2005): Wald's, with half a task more in each of the
    four cells; it reaches at least as far as Wilson's limit of none out of so many tasks, so that a
    worker who answered nothing otherwise is not taken to be surer than its tasks allow.

    >>> [round(number, 3) for number in paired_change(12, 2, 100)]
    [0.1, 0.026, 0.17]
    """
    more = tasks + 2.0
    middle = (gained - lost) / more
    half = Z95 * sqrt(max((gained + lost + 1.0) - (gained - lost) ** 2 / more, 0.0)) / more
    half = max(half, Z95**2 / (tasks + Z95**2))
    value = (gained - lost) / tasks if tasks else 0.0
    return Change(value, min(middle - half, value), max(middle + half, value))


def change_verdict(tasks: int, chance: float | None) -> str:
    """Return what may be said of a worker by its tasks and its least corrected p-value.

    >>> change_verdict(10, 0.001), change_verdict(100, 0.001), change_verdict(100, 0.2)
    ('too_few_tasks', 'changed', 'no_change_seen')
    """
    if tasks < FEWEST or chance is None:
        return TOO_FEW
    return CHANGED if chance <= FALSE_CHANGES else NO_CHANGE


def points(share: float) -> str:
    """Return a change of a share in points.

    >>> points(0.083), points(-0.04)
    ('+8.3', '−4.0')
    """
    return f"{100 * share:+.1f}".replace("-", "−")


def change_words(
    verdict: str,
    tasks: int,
    errors: Change | None,
    said: tuple[str, Change] | None,
    by: str,
    most: float,
) -> str:
    """Return what is said of one worker, without its full stop.

    Parameters
    ----------
    verdict
        What `change_verdict` returned.
    tasks
        Tasks that it answered in both runs.
    errors
        The change of its error rate; ``None`` where nothing tells who is right.
    said
        The class whose share of its answers changed most, and by how much.
    by
        What tells who is right: "gold" or "panel".
    most
        The largest change of an error rate or a class's share that is not excluded.

    Examples
    --------
    >>> change_words("changed", 300, Change(0.08, 0.02, 0.14), None, "gold", 0.14)
    'changed: errors +8.0 points (+2.0 to +14.0) by gold'
    >>> change_words("no_change_seen", 300, None, None, "gold", 0.04)
    'no change seen, over 4.0 points excluded'
    """
    if verdict == TOO_FEW:
        return f"too few tasks in both runs to tell ({tasks:,} of at least {FEWEST})"
    if verdict == NO_CHANGE:
        return f"no change seen, over {100 * most:.1f} points excluded"
    parts = []
    if errors is not None:
        judge = "by gold" if by == "gold" else "by what the others say"
        parts.append(f"errors {_points_words(errors)} {judge}")
    if said is not None:
        parts.append(f"says {said[0]!r} {_oftener(said[1])}")
    return f"changed: {', '.join(parts)}"


def _points_words(change: Change) -> str:
    """A change in points with its interval."""
    return f"{points(change.value)} points ({points(change.low)} to {points(change.high)})"


def _oftener(change: Change) -> str:
    """Say how much more or less often something is said.

    >>> _oftener(Change(-0.043, -0.067, -0.019))
    '4.3 points less often (1.9 to 6.7)'
    """
    less = change.value < 0.0
    low, high = (-change.high, -change.low) if less else (change.low, change.high)
    limits = f"({100 * low:.1f} to {100 * high:.1f})".replace("-", "−")
    return f"{100 * abs(change.value):.1f} points {'less' if less else 'more'} often {limits}"


def flip_words(flips: int, tasks: int) -> str:
    """Return how often tasks were answered otherwise.

    >>> flip_words(9, 300)
    'flips 3.0 % of 300 tasks'
    """
    return f"flips {percent(flips / max(tasks, 1))} of {counted(tasks, 'task')}"
