"""Gold against a crowd that is wrong together: how much is needed, what it excludes.

Tasks that fool everybody look like tasks on which everybody is right, so no label shows them and
only gold can. Exact binomial probabilities; knows numbers alone, no tables and no estimators.

The model: of the decisions that gold is drawn from, the crowd claims that a share e₀ (``claimed``,
the mean of 1 − confidence) is wrong. A share ε (``share``) of the tasks is wrong beyond that: the
crowd is fooled there, whatever its confidence says. Then a decision drawn at random is wrong with
probability ``e = e₀ + ε (1 − e₀)``, and of m gold tasks Binomial(m, e) are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import InputError
from crowdstream.metrics.binomial import upper_limit, upper_tail
from crowdstream.plain_text import counted, percent
from crowdstream.validation import check_number

SHARE = 0.05
"""Share of fooled tasks that sentences speak of: as many as a settled decision may be wrong."""

POWER = 0.8
"""Probability of finding it: the usual power of a test."""

MOST = 10**9
"""Gold tasks that anybody could mean seriously."""

SCANNED = 500
"""Wrong decisions that may be asked for, up to which every number is tried. Whether a power is
reached is not quite monotone in it; beyond, the number of tasks found is up
to 2 % above the least."""

SURE = f"{100 * LEVEL:g} %"

CANNOT = "Agreement cannot show tasks that fool everybody."
"""First sentence of what gold can tell."""


class Checked(NamedTuple):
    """Decisions that gold was held against.

    ``tasks`` of them were checked, ``wrong`` were wrong, and the crowd's confidences ``claimed``
    the mean share to be so.
    """

    tasks: int = 0
    wrong: int = 0
    claimed: float = 0.0


NOTHING_CHECKED = Checked()


def gold_to_detect(
    share: float, *, claimed: float = 0.0, level: float = LEVEL, power: float = POWER
) -> int:
    """Return how many gold tasks find that a share of the tasks fools everybody.

    The tasks are drawn at random, and fooled ones are found if so many decisions are wrong that
    the claimed error rate would hardly do that: with probability 1 − ``level`` at most. The number
    is the least one whose exact power is reached. Power is not monotone: with a few tasks more, one
    wrong decision more may be asked for, and the power be slightly less (`gold_power`).

    Parameters
    ----------
    share
        The share ε of tasks that are wrong beyond what the crowd claims, above 0.
    claimed
        The share of wrong decisions that the crowd claims, the mean of 1 − confidence, below 1.
    level
        Confidence level of the finding.
    power
        Probability of finding it, from above 0 to below 1.

    Returns
    -------
    The number of gold tasks.

    Raises
    ------
    InputError
        For values out of range, and where more than 10⁹ tasks would be needed.

    Examples
    --------
    >>> gold_to_detect(0.05), gold_to_detect(0.05, power=0.95)
    (32, 59)
    >>> gold_to_detect(0.05, claimed=0.02)
    97
    """
    check_number("share", share, 0, 1, open_low=True)
    _check_claim(claimed, level)
    check_number("power", power, 0, 0.9999, open_low=True)
    rate = _rate(share, claimed)

    def reaches(asked: int) -> bool:
        """Return True if this number of gold tasks has the power."""
        return upper_tail(_last_with(asked, claimed, level), asked, rate) >= power

    asked = _first(reaches)
    if _last_with(asked - 1, claimed, level) >= MOST:
        raise InputError("share", f"one that {MOST:,} gold tasks can find", repr(share))
    # As long as the same number of wrong decisions is asked for, more tasks find more.
    low, high = _last_with(asked - 1, claimed, level), _last_with(asked, claimed, level)
    while high - low > 1:
        middle = (low + high) // 2
        good = upper_tail(middle, asked, rate) >= power
        low, high = (low, middle) if good else (middle, high)
    return high


def gold_power(checked: int, share: float, *, claimed: float = 0.0, level: float = LEVEL) -> float:
    """Return how likely so many gold tasks are to find that a share of the tasks fools everybody.

    Parameters
    ----------
    checked
        The number of gold tasks, drawn at random.
    share, claimed, level
        As for `gold_to_detect`; with a share of 0 it is the probability of a false alarm.

    Returns
    -------
    The probability, from 0 to 1.

    Examples
    --------
    >>> round(gold_power(50, 0.05), 3), round(gold_power(50, 0.1), 3)
    (0.923, 0.995)
    >>> gold_power(50, 0.0, claimed=0.02) <= 0.05
    True
    """
    check_number("checked", checked, 0, MOST, whole=True)
    check_number("share", share, 0, 1)
    _check_claim(claimed, level)
    asked = wrong_to_tell(checked, claimed, level)
    return upper_tail(checked, asked, _rate(share, claimed))


def fooled_limit(
    checked: int, wrong: int = 0, *, claimed: float = 0.0, level: float = LEVEL
) -> float:
    """Return the share of fooled tasks that gold does not exclude.

    Clopper and Pearson's upper limit of the error rate, less what the crowd claims: a larger share
    of tasks that are wrong beyond the claim would have shown more wrong decisions, with a
    probability of at least ``level``.

    Parameters
    ----------
    checked, wrong
        Gold tasks, drawn at random, and how many of them were decided wrongly.
    claimed
        The share of wrong decisions that the crowd claims, below 1. With 0 the limit is that of all
        wrong decisions.
    level
        Confidence level of the limit.

    Returns
    -------
    The share, from 0 to 1; 1 if nothing was checked.

    Examples
    --------
    >>> round(fooled_limit(50), 3), round(fooled_limit(50, 3), 3)
    (0.058, 0.148)
    >>> round(fooled_limit(50, 3, claimed=0.04), 3)
    0.112
    """
    check_number("checked", checked, 0, MOST, whole=True)
    check_number("wrong", wrong, 0, checked, whole=True)
    _check_claim(claimed, level)
    return max((upper_limit(wrong, checked, level) - claimed) / (1 - claimed), 0.0)


def wrong_to_tell(checked: int, claimed: float, level: float) -> int:
    """Return the least number of wrong decisions that the claimed error rate would hardly produce.

    One more than there are gold tasks where no number is.

    >>> wrong_to_tell(50, 0.0, 0.95), wrong_to_tell(50, 0.02, 0.95), wrong_to_tell(2, 0.5, 0.95)
    (1, 4, 3)
    """
    low, high = 0, checked + 1
    while high - low > 1:
        middle = (low + high) // 2
        seldom = upper_tail(checked, middle, claimed) <= 1 - level
        low, high = (low, middle) if seldom else (middle, high)
    return high


def detection_words(claimed: float, tasks: int) -> str:
    """Say how many gold tasks would be needed where there are so many settled decisions.

    >>> print(detection_words(0.01, 2000))
    Agreement cannot show tasks that fool everybody. 71 gold tasks, drawn at random from the 2,000
    settled decisions, would find a share of 5 % such tasks with probability 0.8.
    >>> print(detection_words(0.01, 40))
    Agreement cannot show tasks that fool everybody. With 40 settled decisions, all of them would
    have to be checked to find a share of 5 % such tasks.
    """
    needed = gold_to_detect(SHARE, claimed=claimed)
    settled, share = counted(tasks, "settled decision"), f"a share of {100 * SHARE:g} % such tasks"
    if needed > tasks:
        return f"{CANNOT} With {settled}, all of them would have to be checked to find {share}."
    return (
        f"{CANNOT} {counted(needed, 'gold task')}, drawn at random from the {settled}, would find "
        f"{share} with probability {POWER:g}."
    )


def plan_words(checked: int, claimed: float) -> str:
    """Say what so many settled decisions can find and exclude once they are checked.

    >>> print(plan_words(50, 0.002))
    Agreement cannot show tasks that fool everybody. The 50 settled decisions to check find a share
    of 5 % such tasks with probability 0.74; with none wrong among them it is below 5.8 % (95 %).
    >>> print(plan_words(0, 0.0))
    Agreement cannot show tasks that fool everybody. Nor can these tasks, of which none is settled.
    """
    if not checked:
        return f"{CANNOT} Nor can these tasks, of which none is settled."
    settled = counted(checked, "settled decision")
    return (
        f"{CANNOT} The {settled} to check {'finds' if checked == 1 else 'find'} a share of "
        f"{100 * SHARE:g} % such tasks with probability "
        f"{gold_power(checked, SHARE, claimed=claimed):.2f}; with none wrong among them it is "
        f"below {percent(fooled_limit(checked))} ({SURE})."
    )


def exclusion_words(found: Checked) -> str:
    """Say what gold that was given shows of such tasks, and excludes.

    >>> print(exclusion_words(Checked(50, 1, 0.01)))
    Agreement cannot show tasks that fool everybody. 1 of 50 settled decisions with gold is wrong,
    where confidence expects 0.5. That is no sign of such tasks: if the gold was drawn at random,
    a share above 8.2 % is excluded (95 %).
    """
    limit = fooled_limit(found.tasks, found.wrong, claimed=found.claimed)
    seen = (
        f"{CANNOT} {found.wrong:,} of {counted(found.tasks, 'settled decision')} with gold "
        f"{'is' if found.wrong == 1 else 'are'} wrong, where confidence expects "
        f"{found.tasks * found.claimed:.1f}."
    )
    rest = f"if the gold was drawn at random, a share above {percent(limit)} is excluded"
    if found.wrong >= wrong_to_tell(found.tasks, found.claimed, LEVEL):
        return (
            f"{seen} That is more than chance explains: on some tasks the crowd is wrong together, "
            f"or its confidences are too high; {rest} ({SURE})."
        )
    return f"{seen} That is no sign of such tasks: {rest} ({SURE})."


def _rate(share: float, claimed: float) -> float:
    return claimed + share * (1 - claimed)


def _check_claim(claimed: float, level: float) -> None:
    check_number("claimed", claimed, 0, 1)
    if claimed == 1:
        raise InputError(
            "claimed", "a share below 1, beyond which more can be wrong", repr(claimed)
        )
    check_number("level", level, *LEVEL_RANGE)


def _last_with(asked: int, claimed: float, level: float) -> int:
    """Return the most gold tasks of which so many wrong ones tell: 10⁹ at most, 0 for none."""
    if not asked:
        return 0
    if claimed == 0:
        return MOST
    low, high = asked - 1, asked  # of fewer tasks than are to be wrong, that is never so
    while high <= MOST and upper_tail(high, asked, claimed) <= 1 - level:
        low, high = high, 2 * high
    high = min(high, MOST + 1)
    while high - low > 1:
        middle = (low + high) // 2
        good = upper_tail(middle, asked, claimed) <= 1 - level
        low, high = (middle, high) if good else (low, middle)
    return low


def _first(reaches: Callable[[int], bool]) -> int:
    """Return the least number that reaches, or one hardly larger where it is above `SCANNED`."""
    for number in range(1, SCANNED + 1):
        if reaches(number):
            return number
    low, high = SCANNED, 2 * SCANNED
    while not reaches(high):
        low, high = high, 2 * high
        if high > MOST:
            return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high
