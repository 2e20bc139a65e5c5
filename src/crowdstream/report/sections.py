"""The sections on workers: their error rates, what to do with them, who changed, who agrees."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from crowdstream.plain_text import as_sentence, counted, percent
from crowdstream.report.advised import ACTED_ON
from crowdstream.report.charts.agreement import LEAST, agreements, draw_agreement
from crowdstream.report.charts.trends import draw_trends, watched
from crowdstream.report.charts.workers import draw_workers
from crowdstream.report.overview import STATES, interval
from crowdstream.report.parts import Section, bullets, chip, figure, name_of, note, numbers
from crowdstream.report.told import changes_words, named, workers_words
from crowdstream.report.verdicts import answering_columns
from crowdstream.statements.agreement import (
    ORDER,
    WHY_WEIGHED,
    agreement_notes,
    coefficient_row,
    interval_words,
)
from crowdstream.theme import html_table
from crowdstream.wording import (
    GROUPS,
    UNSEEN,
    alarm_words,
    evidence_words,
    flag_words,
    reason_words,
    shift_words,
)

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

DRAWN = 40
"""Workers in the chart: a screen and a half, or a page of paper."""

ADVISED = 12
"""Workers of each kind of advice that are listed."""

ALARMS = 10
"""Alarms that are listed."""

TOLD = 20
"""Tasks that two must share for a sentence about them: fewer agree by chance."""

WHAT = {
    "drop": "Drop: the interval of the error rate says at chance or worse.",
    "coach": "Coach: clearly more mistakes than the crowd, got worse, one label nearly always, or "
    "mistakes mostly on one label.",
    "pay": "Pay: clearly fewer mistakes than the crowd.",
}
"""Reason of each advice."""


def workers_section(found: Findings) -> Section | None:
    """Error rates with their intervals."""
    if not found.identified:
        return None
    known = found.workers.drop_nulls("error_rate")
    shown = known.top_k(DRAWN, by="answers").sort("error_rate")
    chart = draw_workers(
        known, found.settings.level, len(found.crowd.classes_), DRAWN, titled=False
    )
    which = counted(len(found.crowd._workers), "worker")
    if shown.height < len(found.crowd._workers):
        which = f"the {shown.height} busiest of {which}"
    low, high = percent(shown["error_rate"][0]), percent(shown["error_rate"][-1])
    body = pairs_note(found) + note(
        f"Each row is a worker, the best on top: the dot is the error rate, the band its "
        f"{100 * found.settings.level:.4g} % interval. Dashed: a worker who guesses. "
        f"{evidence_words(shown)}"
    )
    body += figure(chart, f"Error rates of {which}, from {low} to {high}, with intervals")
    rows = [
        [
            name_of(row["worker"]),
            f"{row['answers']:,.0f}",
            interval(row["error_rate"], row["error_low"], row["error_high"]),
            f"{row['weight']:.2f}",
            flag_words(row["flags"]),
        ]
        for row in shown.iter_rows(named=True)
    ]
    head = ["worker", "answers", "error rate", "weight of a vote", "remarks"]
    right = ["answers", "error rate", "weight of a vote"]
    for name, shares in answering_columns(found).items():
        head.append(name)
        right.append(name)
        for row, worker in zip(rows, shown["worker"], strict=True):
            row.append(shares.get(worker, ""))
    body += numbers(head, rows, right)
    words = f"{which[0].upper()}{which[1:]} err in {low} to {high} of the answers."
    return Section("workers", "How often each worker errs", words, body)


def advice_section(found: Findings) -> Section | None:
    """Make the section of advice: whom to drop, coach or pay, and why."""
    if not found.identified or "advice" not in found.workers.columns:
        return None
    busy = found.workers.sort("answers", descending=True, maintain_order=True)
    parts = []
    for advice in ACTED_ON:
        those = busy.filter(pl.col("advice") == advice)
        if not those.height:
            continue
        more = f" The {ADVISED} busiest of {those.height:,}." if those.height > ADVISED else ""
        rows = [
            [
                name_of(row["worker"]),
                f"{row['answers']:,.0f}",
                interval(row["error_rate"], row["error_low"], row["error_high"]),
                chip(advice, STATES[advice]),
                reason_words(row["reason"], row["on_class"]),
            ]
            for row in those.head(ADVISED).iter_rows(named=True)
        ]
        head = ["worker", "answers", "error rate", "advice", "why"]
        table = html_table(head, rows, label=f"workers to {advice}", right=head[1:3])
        parts.append(note(WHAT[advice] + more) + table)
    nobody = not parts
    if nobody:
        parts = [note("Nobody's interval says that something should be done.")]
    rest = found.workers.filter(pl.col("advice") == "wait").height
    if rest:
        parts.append(note(f"{counted(rest, 'worker')} to wait for: not known well enough yet."))
    words = workers_words(found)
    body = "".join(parts)
    return Section("advice", "Whom to drop, coach or pay", words, body, short=nobody)


def drift_section(found: Findings) -> Section | None:
    """Error rates over time, of those with alarms first."""
    from crowdstream import monitoring

    if found.monitors is None or not found.monitors.over_time or not found.identified:
        return None
    names, changed = watched(found.crowd)
    trends = monitoring.trends(found.crowd, names)
    if not trends.height:
        return None
    alone = [alarm for alarm in reversed(found.monitors.alarms) if not alarm.everyone]
    lines = [shift_words(shift) for shift in found.monitors.shifts] + list(map(alarm_words, alone))
    lines = [line.removeprefix("alarm: ") for line in lines]
    body = pairs_note(found) + (bullets(lines[:ALARMS]) if lines else "")
    if len(lines) > ALARMS:
        body += note(f"… and {len(lines) - ALARMS:,} more alarms.")
    number = len(found.crowd._workers)
    who = counted(number, "worker")
    if len(names) < number:
        who = f"{len(names)} of {who} (those with alarms, then the busiest)"
    body += note(
        f"Error rates of {who} over the {found.unit}s. Bands "
        f"are 95 % intervals, from agreement between workers; {UNSEEN}."
    )
    chart = draw_trends(trends, names, changed, number, titled=False)
    body += figure(chart, f"Error rates of {len(names)} workers over time, one panel per worker")
    rows = [
        [name_of(who), f"{tasks:,}", interval(rate, low, high)]
        for who, tasks, rate, low, high in trends.iter_rows()
    ]
    head = ["worker", f"by {found.unit}", "error rate"]
    body += numbers(head, rows, head[1:])
    words = changes_words(found) or "Nobody's error rate is seen to have changed."
    return Section("drift", "Who changed over time", words, body)


def agreement_section(found: Findings) -> Section | None:
    """Make the section on how often the busiest agree, and who is not independent."""
    if found.monitors is None:
        return None
    pairs = agreements(found.crowd)
    if not pairs.height:
        return None
    enough = pairs.filter(pl.col("tasks") >= TOLD)
    told = (enough if enough.height else pairs).sort("agreement", maintain_order=True)
    least, most = told.row(0), told.row(-1)
    unit = found.unit
    words = f"Of the busiest, {named(most[:2])} agree most ({_on_tasks(most, unit)})"
    words += f", {named(least[:2])} least ({_on_tasks(least, unit)})." if told.height > 1 else "."
    groups = [
        GROUPS[kind].format(named(group, 8))
        for kind, group in islice(found.monitors.groups(), ALARMS)
    ]
    body = pairs_note(found) + "".join(note(f"{words[0].upper()}{words[1:]}.") for words in groups)
    body += note(
        f"Per cent of the {unit}s that both answered, {LEAST} or more. Two who agree far more with "
        "each other than with the rest may be one person, one model, or copy."
    )
    label = "How often each two of the busiest workers agree, in per cent"
    body += figure(draw_agreement(pairs, titled=False), label, "matrix")
    rows = [
        [name_of(one), name_of(other), f"{tasks:,.0f}", percent(share)]
        for one, other, tasks, share in pairs.iter_rows()
    ]
    head = ["worker", "and worker", f"{unit}s of both", "agreement"]
    body += numbers(head, rows, head[2:]) + _coefficients(found)
    return Section("agreement", "Who agrees with whom", words, body)


def _coefficients(found: Findings) -> str:
    """The usual coefficients of agreement, and why decisions do not rest on them."""
    agreed = found.agreement
    if agreed is None:
        return ""
    rows = []
    for code in ORDER:
        row = coefficient_row(code, agreed)
        rows.append(
            [str(row["coefficient"]), interval_words(getattr(agreed, code)), str(row["purpose"])]
        )
    head = ["coefficient", "value", "what it is for"]
    table = html_table(head, rows, label="coefficients of agreement", right=["value"])
    level = f"{100 * agreed.level:g} % intervals"
    of = f"{counted(agreed.labels, 'label')} on {counted(agreed.tasks, 'task')} with two or more"
    said = note(f"How far all labels agree, {agreed.scale} scale: {of}, with {level}.")
    more = "".join(note(as_sentence(line)) for line in agreement_notes(agreed))
    return said + table + more + note(WHY_WEIGHED)


def _on_tasks(pair: tuple[str, str, float, float], unit: str) -> str:
    return f"{percent(pair[3])} of {counted(round(pair[2]), unit)}"


def pairs_note(found: Findings) -> str:
    """Say what is counted where labels are choices."""
    if found.pairs is None:
        return ""
    return note(
        f"A task counts as {counted(len(found.classes), 'pair')}, one with each choice, to which "
        "every worker who answered it said yes or no."
    )
