"""What a terminal shows after a run: counts, hardest tasks, workers, what the monitors found."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdstream.cli.terminal import add_row, console, make_table, say
from crowdstream.cli.wording import (
    alarm_words,
    counted,
    evidence_words,
    flag_words,
    has_flag,
    rate_words,
    shift_words,
)

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from crowdstream.cli.json_output import RunReport
    from crowdstream.cli.monitor_report import MonitorReport
    from crowdstream.cli.run_job import Job

SHOWN = 5
"""Workers shown at either end of the ranking, and lines of other lists."""

MEMBERS = 8
"""Members of a family that are named."""


def show_summary(
    report: RunReport, job: Job, found: MonitorReport | None, workers: pl.DataFrame
) -> None:
    """The whole of it, on standard error."""
    share = report.settled / report.tasks if report.tasks else 0.0
    say(
        f"{counted(report.labels, 'label')} on {counted(report.tasks, 'task')} from "
        f"{counted(report.workers, 'worker')}, {report.classes} classes; {share:.0%} of tasks "
        f"settled (confidence {job.settle:g} or more); {report.seconds} s"
    )
    _show_expected(report, job)
    if job.error is not None:
        scored = counted(job.scored_tasks, "task", "whose truth is known")
        far = "" if job.distance is None else f", mean distance {job.distance:.4f}"
        say(f"error rate {job.error:.4f}{far} on {scored}")
    for file in (job.gold, job.truths):
        if file is not None:
            say(file.line())
    if job.first is not None and sys.stdout.isatty() and job.first.height:
        console().print(_decisions_table("first decisions", job.first))
    if job.hardest is not None and job.hardest.height:
        console().print(_decisions_table("hardest tasks", job.hardest))
    _show_workers(workers)
    if found is not None:
        _show_monitors(found, report.identifiable)
    for warning in report.warnings:
        say(f"note: {warning}", "yellow")


def _show_expected(report: RunReport, job: Job) -> None:
    """How many decisions are expected to be wrong, and how that is known."""
    if not report.tasks:
        return
    found = report.expected_errors
    if found.gold_tasks:
        how = f"checked against {counted(found.gold_tasks, 'gold task')}"
    elif job.gold_used:
        how = "by the crowd's own confidence, which has learnt from gold: not checked against it"
    elif job.estimator.calibration_ == "independence":
        how = "by the crowd's own confidence: workers err independently, as far as labels can tell"
    else:
        how = "by the crowd's own confidence: uncalibrated"
        if job.estimator.dependence_:
            how += ", since these workers make mistakes together (a few gold tasks would help)"
    shares = (number / report.tasks for number in (found.errors, found.low, found.high))
    say(f"expected wrong decisions {rate_words(*shares)}, {how}")


def _decisions_table(title: str, decisions: pl.DataFrame) -> Table:
    numbers = [name for name in ("confidence", "votes", "difficulty") if name in decisions.columns]
    table = make_table(title, ("task", "label"), numbers)
    for task, label, *values in decisions.select("task", "label", *numbers).iter_rows():
        add_row(table, task, label, *map(_number, values))
    return table


def _number(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def workers_table(workers: pl.DataFrame, title: str = "", gap: int | None = None) -> Table:
    """One row per worker, the interval beside the error rate; ``gap``: … before this row."""
    table = make_table(title, ["worker"], ("answers", "error rate", "weight", "quality"), "flags")
    for k, row in enumerate(workers.iter_rows(named=True)):
        if k == gap:
            add_row(table, "…")
        error = None if row["error_rate"] is None else f"{row['error_rate']:.2f}"
        if error and row["error_low"] is not None:
            error += f" ({row['error_low']:.2f}–{row['error_high']:.2f})"
        quality = None if row["quality"] is None else f"{row['quality']:.2f}"
        answers, weight = f"{row['answers']:,.0f}", f"{row['weight']:.2f}"
        add_row(table, row["worker"], answers, error, weight, quality, flag_words(row["flags"]))
    return table


def ranked(workers: pl.DataFrame) -> pl.DataFrame:
    """The workers from best to worst: by quality, those worse than chance last of those known.

    Not by error rate: one who always gives the same label is right as often as that is true.
    """
    import polars as pl

    worse = has_flag(workers, "worse_than_chance")
    sign = pl.when(worse).then(-1).otherwise(1)
    key = pl.col("quality") * sign
    return workers.sort(-key, "error_rate", nulls_last=True, maintain_order=True)


def _show_workers(workers: pl.DataFrame) -> None:
    known = ranked(workers.filter(workers["error_rate"].is_not_null()))
    if known.height > 2 * SHOWN:
        ends = known[[*range(SHOWN), *range(-SHOWN, 0)]]
        console().print(workers_table(ends, "best and worst workers, by quality", SHOWN))
    elif known.height:
        console().print(workers_table(known, "workers, the best first"))
    if words := evidence_words(known):
        say(words)


def _show_monitors(found: MonitorReport, identifiable: bool) -> None:
    families = []
    for family in found.families:
        named = ", ".join(str(who) for who in family[:MEMBERS])
        rest = f" and {len(family) - MEMBERS:,} more" if len(family) > MEMBERS else ""
        families.append(f"not independent of each other: {named}{rest}")
    _show_list(families, "such groups")
    if found.effective_votes is not None and identifiable:
        say(
            f"{found.labels_per_task:.1f} labels per task are worth {found.effective_votes:.1f} "
            "independent labels"
        )
    _show_list([shift_words(alarms) for alarms in found.shifts], "such changes", "yellow")
    alone = [alarm_words(alarm) for alarm in found.alarms if not alarm.everyone]
    _show_list(alone, "alarms", "yellow")


def _show_list(lines: Sequence[str], what: str, style: str | None = None) -> None:
    """The first of these, and how many more there are."""
    for line in lines[:SHOWN]:
        say(line, style)
    if len(lines) > SHOWN:
        say(f"… and {len(lines) - SHOWN:,} more {what}", style)
