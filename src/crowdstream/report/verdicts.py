"""The sections on verdicts that were asked for again, and on those that were not given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.monitoring.missing import flip_rates
from crowdstream.plain_text import counted, percent
from crowdstream.report.overview import interval
from crowdstream.report.parts import Section, chip, name_of, note, plain_name
from crowdstream.report.told import missing_words
from crowdstream.theme import html_table

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

LISTED = 12
"""Workers that are listed: as many as of each kind of advice."""

CLASSES = 4
"""Classes whose share of missing answers is shown, the largest first."""

AGAIN, SILENT = "contradicts itself", "no answer"
"""Columns of the numbers of workers."""


def repeats_section(found: Findings) -> Section | None:
    """Make the section on workers who contradict themselves, the most contradictory first."""
    flips = found.flips
    if flips is None or not flips.height:
        return None
    # By the lower limit: one flip of two tasks says less than twenty of a hundred.
    ranked = flip_rates(flips).sort("flip_low", "flip_rate", descending=True, maintain_order=True)
    rows = [
        [
            name_of(row["worker"]),
            f"{row['repeated']:,}",
            f"{row['flips']:,}",
            interval(row["flip_rate"], row["flip_low"], row["flip_high"]),
        ]
        for row in ranked.head(LISTED).iter_rows(named=True)
    ]
    head = ["worker", "tasks asked again", "answered otherwise", "flip rate"]
    body = note(
        "Several verdicts of a worker on a task count once: the most frequent one. The flip rate "
        f"is the share of the tasks asked again on which they differ.{_first_of(flips.height)}"
    )
    body += html_table(head, rows, label="who contradicts itself", right=head[1:])
    worst = ranked.row(0, named=True)
    words = (
        f"{plain_name(worst['worker'])} contradicts itself on {percent(worst['flip_rate'])} of the "
        f"{counted(worst['repeated'], 'task')} it was asked again."
    )
    if not worst["flips"]:
        words = f"Nobody contradicts itself: {counted(flips.height, 'worker')} asked again."
    return Section("repeats", "Who contradicts itself", words, body, short=True)


def missing_section(found: Findings) -> Section | None:
    """Make the section on missing answers; workers who leave out some classes more come first."""
    missing = found.missing
    if missing is None or not missing.height:
        return None
    rows = [
        [
            name_of(row["worker"]),
            f"{row['asked']:,}",
            f"{row['missing']:,}",
            percent(row["share"]),
            _by_class(row["by_class"]),
            _on_class(row["on_class"], row["on_class_share"]),
        ]
        for row in missing.head(LISTED).iter_rows(named=True)
    ]
    head = ["worker", "tasks asked", "not answered", "share", "by class decided", "more often on"]
    body = note(
        "A worker that fails on tasks of one kind looks better than it is: its error rate is that "
        f"of the tasks it answered.{_first_of(missing.height)}"
    )
    if not found.asked_known:
        body += note(
            "The labels do not say who was asked: every worker is taken to have been asked all."
        )
    body += html_table(head, rows, label="missing verdicts", right=head[1:4])
    first = missing.row(0, named=True)
    words = " ".join(missing_words(found)) or (
        f"{plain_name(first['worker'])} left out most, {percent(first['share'])} of "
        f"{counted(first['asked'], 'task')}; nobody is seen to leave out one class more than the "
        "others."
    )
    return Section("missing", "Missing verdicts", words, body, short=True)


def _by_class(counts: list[dict[str, str | int]]) -> str:
    """The share of each class that is missing, the largest first."""
    shares = [(int(one["missing"]) / int(one["asked"]), str(one["label"])) for one in counts]
    shares.sort(key=lambda one: -one[0])
    rest = len(shares) - CLASSES
    shown = ", ".join(f"{plain_name(label)} {percent(share)}" for share, label in shares[:CLASSES])
    return shown + (f" and {rest:,} more" if rest > 0 else "")


def _on_class(name: str | None, share: float | None) -> str:
    if name is None or share is None:
        return ""
    return chip(f"{plain_name(name)}: {percent(share)} not answered", "warn")


def _first_of(number: int) -> str:
    return f" The first {LISTED} of {number:,} workers." if number > LISTED else ""


def answering_columns(found: Findings) -> dict[str, dict[object, str]]:
    """Columns by name: the share of each worker, as it is shown."""
    columns: dict[str, dict[object, str]] = {}
    if found.flips is not None and found.flips.height:
        columns[AGAIN] = {
            who: f"{percent(flips / max(repeated, 1))} of {repeated:,}"
            for who, repeated, flips in found.flips.select("worker", "repeated", "flips").rows()
        }
    if found.missing is not None and found.missing.height:
        shares = found.missing.select("worker", "share").iter_rows()
        columns[SILENT] = {who: percent(share) for who, share in shares}
    return columns
