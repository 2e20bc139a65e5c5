"""Expected wrong decisions, their limits, and what these rest on."""

from __future__ import annotations

import msgspec

from crowdstream.defaults import LEVEL
from crowdstream.estimators.estimator import Estimator
from crowdstream.metrics.expected import Doubt
from crowdstream.models.dependence import INDEPENDENT
from crowdstream.monitoring.intervals import doubt_of_votes
from crowdstream.plain_text import counted, percent

OVERSTATED = 0.5
"""Share of the expected errors that may not be there where workers err together: confidence is
lowered then, perhaps by too much. Of 18 real sets the lowest true share is 0.59 of the expected."""

BY_GOLD, CONFIDENCE, JOINT, UNKNOWN = "gold", "confidence", "joint", "unknown"
"""Sources of limits, see `WrongDecisions`."""


class WrongDecisions(msgspec.Struct, frozen=True):
    """Expected number of wrong decisions.

    Attributes
    ----------
    errors, low, high
        The number and its limits.
    gold_tasks
        Gold tasks that this was checked against.
    basis
        ``"gold"``: checked against gold. ``"confidence"``: errors look independent, and the number
        is what confidence says. ``"joint"``: they do not, or it cannot be told, and the limits are
        all that is known. ``"unknown"``: not even these without gold.
    """

    errors: float
    low: float
    high: float
    gold_tasks: int
    basis: str


def expected_wrong(doubt: Doubt, crowd: Estimator, *, parts: int = 1) -> WrongDecisions:
    """Return how many decisions are expected to be wrong by the labels alone.

    The limits are those of chance, and wider by joint errors: the crowd may be wrong as often as
    the others of a task are against its winner, as far as labels allow errors to be correlated.
    Tasks that fool nearly everybody show in no label.

    Parameters
    ----------
    doubt
        The sums of the decisions' confidences.
    crowd
        The estimator that decided.
    parts
        Answers that a decision is made of: of a set, one for each choice.
    """
    scatter = doubt.errors(LEVEL)
    most = float(doubt.tasks)
    votes = doubt_of_votes(crowd)
    if votes is None or not crowd.identifiable_:
        return WrongDecisions(scatter.errors, 0.0, most, 0, UNKNOWN)
    share = crowd.dependence_.most
    low = scatter.low * (1.0 - OVERSTATED * share)
    high = min(scatter.high + share * (1.0 - (1.0 - votes) ** parts) * most, most)
    basis = CONFIDENCE if crowd.dependence_.verdict == INDEPENDENT else JOINT
    return WrongDecisions(scatter.errors, low, high, 0, basis)


def checked_wrong(doubt: Doubt, wrong: float, expected: float, gold_tasks: int) -> WrongDecisions:
    """Return how many are wrong where ``wrong`` gold decisions were and ``expected`` were to be."""
    return WrongDecisions(*doubt.corrected(wrong, expected, LEVEL), gold_tasks, BY_GOLD)


def share_words(found: WrongDecisions, tasks: int) -> str:
    """Return the expected share of wrong decisions in the words that a cell has room for.

    One number where errors look independent or gold was given, else the range.

    >>> share_words(WrongDecisions(12.0, 6.0, 35.0, 0, "joint"), 100)
    '6.0–35.0 %'
    >>> share_words(WrongDecisions(12.0, 10.0, 14.0, 0, "confidence"), 100)
    '12.0 %'
    """
    if found.basis == UNKNOWN:
        return "unknown"
    if found.basis == JOINT:
        return range_words(found, tasks)
    return percent(found.errors / max(tasks, 1))


def range_words(found: WrongDecisions, tasks: int) -> str:
    """Return the limits of the share of wrong decisions."""
    low, high = found.low / max(tasks, 1), found.high / max(tasks, 1)
    return f"{percent(low).removesuffix(' %')}–{percent(high)}"


def basis_words(found: WrongDecisions, tasks: int) -> str:
    """Return what the share rests on, in the words that a tile has room for.

    >>> basis_words(WrongDecisions(12.0, 6.0, 35.0, 0, "joint"), 100)
    '12.0 % by confidence; wider by joint errors, as far as labels allow'
    """
    if found.basis == BY_GOLD:
        checked = counted(found.gold_tasks, "gold task")
        return f"{range_words(found, tasks)}, checked against {checked}"
    if found.basis == CONFIDENCE:
        return f"{range_words(found, tasks)} by labels alone"
    if found.basis == JOINT:
        confident = percent(found.errors / max(tasks, 1))
        return f"{confident} by confidence; wider by joint errors, as far as labels allow"
    return "a few dozen gold tasks would tell"


def expected_words(found: WrongDecisions, tasks: int) -> str:
    """Return how many decisions are expected to be wrong as a sentence without its full stop.

    >>> expected_words(WrongDecisions(12.0, 10.0, 14.0, 0, "confidence"), 100)
    '12.0 % of decisions are expected to be wrong, 10.0–14.0 % by labels alone'
    >>> expected_words(WrongDecisions(12.0, 6.0, 35.0, 0, "joint"), 100).partition(" with")[0]
    '12.0 % of decisions are expected to be wrong, 6.0–35.0 %'
    """
    if found.basis == UNKNOWN:
        return f"how many decisions are wrong is unknown: {basis_words(found, tasks)}"
    said = f"{percent(found.errors / max(tasks, 1))} of decisions are expected to be wrong"
    if found.basis == JOINT:
        return f"{said}, {range_words(found, tasks)} with joint errors as far as labels allow"
    return f"{said}, {basis_words(found, tasks)}"
