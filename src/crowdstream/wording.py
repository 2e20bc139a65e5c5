"""Words for codes: what people read where programs have a code. Knows no files or terminals.

Terminal, report, charts and the server's page take them from here; the page is sent `PAGE` as a
script. A code without words here is shown to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from crowdstream.defaults import LEVEL
from crowdstream.plain_text import percent

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.monitoring import DriftAlarm

PER_CENT = f"{100 * LEVEL:g} %"
"""The confidence level of intervals, in words."""

HUNDRED = f"{100 * LEVEL:g} of 100"
"""In how many cases an interval holds the truth, in words."""


class Word(NamedTuple):
    """Words for a code.

    ``text`` stands in tables and beside charts, ``sentence`` explains it. ``tone``: how grave it
    is, by which the page colours it: "good", "warn", "bad", or "" for neither.
    """

    text: str
    sentence: str
    tone: str = ""


FLAGS = {
    "few_answers": Word("too few answers", "Too few answers to say much: the interval is wide."),
    "better_than_chance": Word(
        "better than chance", "The whole interval is below the error rate of a guesser."
    ),
    "worse_than_chance": Word(
        "worse than chance",
        "Errs more than a guesser would: perhaps misunderstood the question.",
        "bad",
    ),
    "at_chance": Word(
        "at chance", "At most a little better than somebody who guesses: a skill below 0.25.", "bad"
    ),
    "undecided": Word("not clear yet", "Many answers, yet the interval still reaches chance."),
    "separate_group": Word(
        "separate group",
        "Shares no tasks with most others, so cannot be compared with them.",
        "warn",
    ),
    "always_one_class": Word(
        "nearly one label only",
        "Gives almost always one label, clearly more often than the others do.",
        "bad",
    ),
    "copy": Word(
        "copy",
        "Gives the same labels as others of its group where most workers say otherwise. Together "
        "they count about as one, unless copies are only reported.",
        "bad",
    ),
    "suspect": Word(
        "may copy",
        "Gives the same labels as others of its group where most workers say otherwise: copies or "
        "experts, which gold on those tasks would tell.",
        "warn",
    ),
}
"""Flags of a worker, as `Estimator.workers` has them."""

CHANGES = {
    "got_worse": Word(
        "got worse", "Errs more of late than before, by more than chance explains.", "warn"
    ),
    "got_better": Word(
        "got better", "Errs less of late than before, by more than chance explains.", "good"
    ),
    "everyone": Word(
        "everyone",
        "Many workers changed at the same time: look at the tasks or the instructions rather than "
        "at one of them.",
        "warn",
    ),
}
"""Words for what monitors find out about a worker."""

CLOSINGS = {
    "settled": Word(
        "settled", "The decision is as sure as asked for, so no more labels are needed.", "good"
    ),
    "full": Word(
        "full", "Closed with the most labels a task may have, though not as sure as asked for."
    ),
    "hard": Word("hard", "Closed because more labels would hardly have settled it."),
    "idle": Word("idle", "Closed because no label came for a while."),
    "closed": Word("by hand", "Closed by somebody, as sure as it was then."),
    "end": Word("end", "Closed because the labels had come to an end."),
}
"""Reasons why a task takes no more labels, as `Decision.closed` has them."""

SOURCES = {
    "agreement": Word(
        "by agreement alone",
        "Known from how often workers agree, not from correct answers: it cannot show where most "
        "of them are wrong together. Gold can.",
    ),
    "gold": Word("checked against gold", "Compared with tasks whose truth is known."),
}
"""Words for the sources of an error rate."""

TERMS = {
    "open": Word("open", "Still takes labels."),
    "wrong": Word(
        "expected wrong decisions",
        "The share of decisions that are wrong, as far as labels show: with joint errors as far as "
        "they can be seen, without tasks that fool nearly everybody. Gold makes it a measurement.",
    ),
    "saved": Word(
        "labels saved",
        "Labels not bought because tasks settled earlier, against giving every task the most it "
        "may have.",
    ),
    "worth": Word(
        "independent votes per label",
        "How many independent votes one label counts for, at most: less than 1 where workers make "
        "the same mistakes. Mistakes that nearly all make look like agreement and are not seen.",
    ),
    "alpha": Word(
        "agreement",
        "How far labels of closed tasks agree beyond chance: 1 always, 0 no more than guesses. It "
        "looks higher where tasks close once they are sure, and says nothing of who is right.",
    ),
    "error_rate": Word(
        "error rate", "The share of a worker's answers that are wrong, as estimated."
    ),
    "interval": Word("interval", f"Where the true error rate is, in {HUNDRED} cases."),
    "chance": Word("chance", "The error rate of somebody who guesses."),
    "sure": Word("sure", "How likely the decision is right."),
    "needs": Word("needs", "Labels that the task is expected to need until it settles."),
    "added": Word(
        "added",
        "How much this answer moved the decision: 0 is nothing, +1 makes it 2.7 times as likely, "
        "−1 as much less.",
    ),
    "trend": Word("trend", "Error rate over equally many answers each, the latest at the right."),
    "confusions": Word(
        "mix-ups", "Of tasks whose truth is the row's label: how often this worker says each label."
    ),
}
"""Terms of the page and the report that are no codes of results."""

PAGE = CLOSINGS | SOURCES | TERMS | CHANGES | FLAGS
"""All words of the server's page, by code."""

REASONS = {
    "worse_than_chance": FLAGS["worse_than_chance"].text,
    "at_chance": FLAGS["at_chance"].text,
    "got_worse": CHANGES["got_worse"].text,
    "worse_than_crowd": "worse than the crowd",
    "always_one_class": FLAGS["always_one_class"].text,
    "errs_on_one_class": "errs on label {}",
    "better_than_crowd": "better than the crowd",
    "like_the_crowd": "like the crowd",
    "few_answers": FLAGS["few_answers"].text,
    "wide_interval": FLAGS["undecided"].text,
    "not_estimated": "cannot be known",
}
"""Reasons for advice on a worker; {} is a class."""

ADVICE = ("drop", "coach", "pay", "keep", "wait")
"""Kinds of advice, the most urgent first."""

UNSEEN = "only gold can show tasks that fool most of the crowd"

EVIDENCE = {
    "agreement": f"rest on agreement between workers alone: {UNSEEN}",
    "agreement-with-doubt": "rest on agreement between workers alone, wider for joint errors as "
    f"far as labels show them: {UNSEEN}",
    "gold": "rest on agreement between workers, and on how often the crowd was wrong on gold",
}
"""Words for what intervals rest on: the column ``evidence`` of `Estimator.workers`."""

GROUPS = {
    "family": "not independent of each other, as declared: {}",
    "copy": "copy one another: {}",
    "suspect": "copy one another or are experts, which gold on tasks where they differ from the "
    "rest would tell: {}",
}
"""Groups of workers who are not independent, or may not be; {} are their names."""


def evidence_words(workers: pl.DataFrame) -> str:
    """Say what the intervals in a table of workers rest on; nothing if there are none."""
    if "evidence" not in workers.columns or not workers["error_low"].count():
        return ""
    return f"Intervals {EVIDENCE[workers['evidence'][0]]}."


def flag_words(flags: Sequence[str] | None) -> str:
    """Put a worker's flags into words.

    Parameters
    ----------
    flags
        Codes such as ``["at_chance", "separate_group"]``.

    Examples
    --------
    >>> flag_words(["at_chance", "separate_group"])
    'at chance; separate group'
    """
    codes = [] if flags is None else flags
    return "; ".join(
        FLAGS[code].text if code in FLAGS else code.replace("_", " ") for code in codes
    )


def reason_words(reason: str, on_class: str | None) -> str:
    """Say why something is advised.

    >>> reason_words("errs_on_one_class", "spam"), reason_words("got_worse", None)
    ('errs on label spam', 'got worse')
    """
    return REASONS[reason].format(on_class)


def has_flag(workers: pl.DataFrame, flag: str) -> pl.Series:
    """Return which workers of a table have a flag, given by its code."""

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
