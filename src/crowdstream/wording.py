"""What codes and alarms are called where people read them. Knows nothing of files or terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdstream.plain_text import percent

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.monitoring import DriftAlarm

FLAGS = {
    "few_answers": "too few answers",
    "better_than_chance": "better than chance",
    "worse_than_chance": "worse than chance",
    "at_chance": "at chance",
    "undecided": "not clear yet",
    "separate_group": "separate group",
    "always_one_class": "nearly one label only",
}
"""Each flag of a worker, and what it is called."""


REASONS = {
    "worse_than_chance": "worse than chance",
    "at_chance": "at chance",
    "got_worse": "got worse",
    "worse_than_crowd": "worse than the crowd",
    "always_one_class": "nearly one label only",
    "errs_on_one_class": "errs on label {}",
    "better_than_crowd": "better than the crowd",
    "like_the_crowd": "like the crowd",
    "few_answers": "too few answers",
    "wide_interval": "not clear yet",
    "not_estimated": "cannot be known",
}
"""Each reason for advice on a worker, and what it is called; {} is a class."""

ADVICE = ("drop", "coach", "pay", "keep", "wait")
"""What may be advised, the most urgent first."""

UNSEEN = "only gold can show tasks that fool most of the crowd"

EVIDENCE = {
    "agreement": "rest on agreement between workers alone, who err independently as far as labels "
    f"can tell: {UNSEEN}",
    "agreement-with-doubt": "rest on agreement between workers alone, and are wider since these "
    f"make mistakes together: {UNSEEN}",
    "gold": "rest on agreement between workers, and on how often the crowd was wrong on gold",
}
"""What intervals of error rates rest on, and what that is called."""


def evidence_words(workers: pl.DataFrame) -> str:
    """What the intervals in a table of workers rest on; nothing if there are none."""
    if "evidence" not in workers.columns or not workers["error_low"].count():
        return ""
    return f"Intervals {EVIDENCE[workers['evidence'][0]]}."


def flag_words(flags: Sequence[str] | None) -> str:
    """A worker's flags in words.

    Parameters
    ----------
    flags
        Codes such as ``["at_chance", "separate_group"]``.

    Examples
    --------
    >>> flag_words(["at_chance", "separate_group"])
    'at chance; separate group'
    """
    return "; ".join(
        FLAGS.get(flag, flag.replace("_", " ")) for flag in ([] if flags is None else flags)
    )


def reason_words(reason: str, on_class: str | None) -> str:
    """Why something is advised.

    >>> reason_words("errs_on_one_class", "spam"), reason_words("got_worse", None)
    ('errs on label spam', 'got worse')
    """
    return REASONS[reason].format(on_class)


def has_flag(workers: pl.DataFrame, flag: str) -> pl.Series:
    """Which workers of a table have a flag, given by its code."""

    return workers["flags"].list.contains(flag)


def error_words(rate: float | None, low: float | None, high: float | None) -> str | None:
    """An error rate with its interval, as a table has room for.

    >>> error_words(0.441, 0.26, 0.638), error_words(0.004, 0.0, 0.052)
    ('44 % (26–64)', '0.4 % (0–5)')
    """
    if rate is None:
        return None
    words = f"{100 * rate:.{1 if rate < 0.0095 else 0}f} %"
    if low is None or high is None:
        return words
    return f"{words} ({100 * low:.0f}–{100 * high:.0f})"


def rate_words(value: float, low: float, high: float) -> str:
    """A share with its interval.

    >>> rate_words(0.019, 0.012, 0.031)
    '1.9 %, 1.2–3.1 %'
    """
    return f"{percent(value)}, {percent(low).removesuffix(' %')}–{percent(high)}"


def alarm_words(alarm: DriftAlarm) -> str:
    """One worker's alarm as a sentence."""
    before, after = percent(alarm.before), percent(alarm.after)
    return (
        f"alarm: {alarm.worker} got {alarm.direction}, errors {before} → {after} over "
        f"{alarm.answers:,} answers by task {alarm.tasks_seen:,}"
    )


def shift_words(alarms: Sequence[DriftAlarm]) -> str:
    """Alarms of most workers at once as a sentence."""
    middle = alarms[len(alarms) // 2]
    return (
        f"alarm: most workers got {middle.direction} at once, around task {middle.tasks_seen:,}: "
        "probably the tasks changed, not the workers"
    )
