"""What codes and alarms are called where people read them. Knows nothing of files or terminals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.monitoring import DriftAlarm

FLAGS = {
    "few_answers": "too few answers",
    "better_than_chance": "better than chance",
    "worse_than_chance": "worse than chance",
    "at_chance": "at chance",
    "undecided": "not clear yet",
    "separate_group": "shares no task with the main group",
    "always_one_class": "nearly always gives the same label",
}
"""Each flag of a worker, and what it is called."""


UNSEEN = "tasks that fool most of the crowd cannot be seen in labels, only in gold"

EVIDENCE = {
    "agreement": "from agreement between workers, who err independently as far as labels can "
    f"tell; {UNSEEN}",
    "agreement-with-doubt": "from agreement between workers, and wider because they make mistakes "
    f"together; {UNSEEN}",
    "gold": "from agreement between workers, with how often the crowd was wrong on gold tasks",
}
"""What intervals of error rates rest on, and what that is called."""


def evidence_words(workers: pl.DataFrame) -> str:
    """What the intervals in a table of workers rest on; nothing if there are none."""
    if "evidence" not in workers.columns or not workers["error_low"].count():
        return ""
    return f"intervals: {EVIDENCE[workers['evidence'][0]]}"


def flag_words(flags: Sequence[str] | None) -> str:
    """A worker's flags in words.

    Parameters
    ----------
    flags
        Codes such as ``["at_chance", "separate_group"]``.

    Examples
    --------
    >>> flag_words(["at_chance", "separate_group"])
    'at chance; shares no task with the main group'
    """
    return "; ".join(
        FLAGS.get(flag, flag.replace("_", " ")) for flag in ([] if flags is None else flags)
    )


def has_flag(workers: pl.DataFrame, flag: str) -> pl.Series:
    """Which workers of a table have a flag, given by its code."""

    return workers["flags"].list.contains(flag)


def counted(count: int, noun: str, rest: str = "") -> str:
    """A count with its noun in the right number.

    Parameters
    ----------
    count
        How many.
    noun
        Of what, in the singular; its plural takes an s.
    rest
        What follows.

    Examples
    --------
    >>> counted(1, "bad row", "left out"), counted(2000, "alarm")
    ('1 bad row left out', '2,000 alarms')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'} {rest}".rstrip()


def percent(share: float) -> str:
    """A share as people read it: one digit, two below one per cent.

    >>> percent(0.0193), percent(0.0081), percent(0.0)
    ('1.9 %', '0.81 %', '0 %')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{100 * share:.{2 if share < 0.01 else 1}f} %"


def rate_words(value: float, low: float, high: float) -> str:
    """A share with its interval.

    >>> rate_words(0.019, 0.012, 0.031)
    '1.9 %, 1.2–3.1 %'
    """
    return f"{percent(value)}, {percent(low).removesuffix(' %')}–{percent(high)}"


def alarm_words(alarm: DriftAlarm) -> str:
    """One worker's alarm as a sentence."""
    return (
        f"alarm: {alarm.worker} got {alarm.direction} over its last {alarm.answers:,} answers "
        f"(noticed at task {alarm.tasks_seen:,}): error rate {alarm.before:.2f} → {alarm.after:.2f}"
    )


def shift_words(alarms: Sequence[DriftAlarm]) -> str:
    """Alarms of most workers at once as a sentence."""
    middle = alarms[len(alarms) // 2]
    return (
        f"alarm: most workers got {middle.direction} at once, around task {middle.tasks_seen:,}: "
        "probably the tasks changed, not the workers"
    )
