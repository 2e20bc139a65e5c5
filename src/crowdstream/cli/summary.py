"""Summary of a run on a terminal: how good decisions are, what to do about tasks and workers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from crowdstream.cli.terminal import (
    add_row,
    console,
    make_table,
    say,
    say_paragraph,
    shorten_name,
)
from crowdstream.plain_text import counted, percent
from crowdstream.report.advised import shown_workers
from crowdstream.statements.agreement import agreement_words
from crowdstream.statements.dependence import BRIEFLY, measured_words
from crowdstream.statements.expected import expected_words, share_words
from crowdstream.statements.worth import worth_words
from crowdstream.wording import (
    GROUPS,
    alarm_words,
    error_words,
    evidence_words,
    flag_words,
    has_flag,
    reason_words,
    shift_words,
)

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from crowdstream.cli.json_output import Cost, RunReport
    from crowdstream.cli.run_asked import Done
    from crowdstream.cli.run_job import Job
    from crowdstream.report.monitors import MonitorReport

SHOWN = 3
"""Lines of a list, such as alarms."""

NAME = 18
"""Characters of a name in a table with other columns."""

MEMBERS = 8
"""Members of a family that are named."""


def show_summary(
    report: RunReport, job: Job, found: MonitorReport | None, workers: pl.DataFrame
) -> None:
    """The whole of it, on standard error."""
    say_paragraph(report.read_as.text, indent=0)
    noun = "class" if report.classes == 1 else "classes"
    say(
        f"{counted(report.labels, 'label')} on {counted(report.tasks, 'task')} from "
        f"{_who(report, job)}, {report.classes:,} {noun}; {report.seconds} s"
    )
    for warning in report.warnings:
        say_paragraph(f"note: {warning}", "yellow", indent=0)
    if job.first is not None and sys.stdout.isatty() and job.first.height:
        _print(_decisions_table("First decisions", job.first))
    if report.tasks:
        _show_quality(report, job)
        _show_doubtful(report)
    _show_workers(report, workers)
    if found is not None:
        _show_monitors(found, report)
    if report.cost is not UNSET:
        _show_cost(report.cost, report)


def show_questions(reports: list[RunReport], done: Done, seconds: float) -> None:
    """Several questions: a line each, on standard error."""
    say_paragraph(done.read_as.text, indent=0)
    say(f"{counted(len(reports), 'question')}, each decided by itself; {seconds:.3f} s")
    for note in done.notes:
        say_paragraph(f"note: {note}", "yellow", indent=0)
    numbers = ("tasks", "workers", "classes", "settled", "expected wrong", "to drop")
    scored = any(report.error_rate is not UNSET for report in reports)
    table = make_table("", ["question"], [*numbers, *(["error rate"] if scored else [])])
    for report in reports:
        tasks = max(report.tasks, 1)
        cells = [
            f"{report.tasks:,}",
            f"{report.workers:,}",
            f"{report.classes:,}",
            percent(report.settled / tasks),
            share_words(report.expected_errors, report.tasks),
            f"{report.advice.get('drop', 0):,}",
        ]
        if scored:
            cells.append("" if report.error_rate is UNSET else percent(report.error_rate))
        add_row(table, shorten_name(str(report.question), NAME), *cells)
    _print(table)
    for report in reports:
        for warning in report.warnings:
            say_paragraph(f"note: {report.question}: {warning}", "yellow", indent=0)
    say("--question NAME shows one of them in full")


def _who(report: RunReport, job: Job) -> str:
    """Say how many workers there are; of those that a state knows, how many are here."""
    here = report.workers if job.workers_here is None else job.workers_here
    return counted(here, "worker") + (f" of {report.workers:,}" if here < report.workers else "")


def _print(table: Table) -> None:
    """A table that fits, however narrow the terminal."""
    console().print(table)


def _show_quality(report: RunReport, job: Job) -> None:
    """Show how many decisions are expected to be wrong, and how many are settled."""
    say("How good are the decisions?", "bold")
    if (score := job.score) is not None:
        scored = counted(score.tasks, "task", "whose truth is known")
        far = "" if score.distance is None else f", mean distance {score.distance:.4f}"
        far += "" if score.sets is None else f", F1 of the choices {score.sets.micro:.4f}"
        say_paragraph(f"error rate {score.error:.4f} ({percent(score.error)}){far} on {scored}")
    taught = job.gold_used and not report.expected_errors.gold_tasks
    note = " (gold was learnt from, not checked against)" if taught else ""
    say_paragraph(expected_words(report.expected_errors, report.tasks) + note)
    if job.estimator.weighs_ and report.identifiable:
        found = job.estimator.dependence_
        say_paragraph(BRIEFLY[found.verdict] + measured_words(found))
    if words := agreement_words(report.agreement):
        say_paragraph(words)
    if report.expected_steps is not UNSET:
        say_paragraph(f"expected distance from the truth {report.expected_steps:.2f} steps")
    for file in job.truth_files:
        say_paragraph(file.line())
    say_paragraph(
        f"{percent(report.settled / report.tasks)} of tasks settled (confidence "
        f"{report.settle:g} or more, {counted(report.min_labels, 'label')} or more)"
    )


def _show_doubtful(report: RunReport) -> None:
    """Show which tasks to send out again."""
    if not report.unsettled:
        return
    say("Which tasks need more labels?", "bold")
    are = "is" if report.unsettled == 1 else "are"
    say_paragraph(
        f"{counted(report.unsettled, 'task')} {are} not settled (--resend FILE writes them); the "
        "most doubtful:"
    )
    table = make_table("", ("  task", "label"), ("confidence", "votes", "more labels"))
    for task in report.doubtful:
        more = "expert" if task.more_labels is None else f"{task.more_labels:,}"
        name = "  " + shorten_name(task.task, NAME)
        add_row(
            table,
            name,
            shorten_name(task.label, NAME),
            *map(_number, (task.confidence, task.votes)),
            more,
        )
    _print(table)


def _show_cost(cost: Cost, report: RunReport) -> None:
    """Show what the labels cost, and what would have been enough."""
    say("What did it cost?", "bold")
    say_paragraph(
        f"{cost.total:,.2f} at {cost.price:g} a label: {_amount(cost.per_decision)} a decision"
    )
    if cost.enough is None or cost.saved is None:
        return
    other = ""
    if cost.other_decisions is not None:
        other = f"; {percent(cost.other_decisions)} of the decisions would differ"
    tried = "all" if cost.replayed_tasks == report.tasks else f"{cost.replayed_tasks:,} of the"
    say_paragraph(
        f"{cost.enough:,.2f} ({percent(cost.saved)} less) had each task been stopped once it was "
        f"settled{other} (tried on {tried} tasks in random order; "
        "crowdstream savings says more)"
    )


def _amount(money: float) -> str:
    """To the cent, and what is less than ten of them to three digits."""
    return f"{money:,.2f}" if money >= 0.1 else f"{money:.3g}"


def _decisions_table(title: str, decisions: pl.DataFrame) -> Table:
    numbers = [name for name in ("confidence", "votes", "difficulty") if name in decisions.columns]
    table = make_table(title, ("task", "label"), numbers)
    for task, label, *values in decisions.select("task", "label", *numbers).iter_rows():
        names = None if label is None else shorten_name(label)
        add_row(table, shorten_name(task), names, *map(_number, values))
    return table


def _number(value: float | None) -> str | None:
    if value is None:
        return None
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def workers_table(workers: pl.DataFrame, title: str = "") -> Table:
    """One row per worker, the interval beside the error rate."""
    table = make_table(title, ["worker"], ("answers", "error rate", "weight", "quality"), "flags")
    for row in workers.iter_rows(named=True):
        error = error_words(row["error_rate"], row["error_low"], row["error_high"])
        quality = None if row["quality"] is None else f"{row['quality']:.2f}"
        answers, weight = f"{row['answers']:,.0f}", f"{row['weight']:.2f}"
        name = shorten_name(row["worker"], NAME)
        add_row(table, name, answers, error, weight, quality, flag_words(row["flags"]))
    return table


def advice_table(workers: pl.DataFrame) -> Table:
    """One row per worker: what to do, and why."""
    table = make_table("", ["  worker"], ("answers", "error rate", "weight"), "advice")
    for row in workers.iter_rows(named=True):
        error = error_words(row["error_rate"], row["error_low"], row["error_high"])
        answers, weight = f"{row['answers']:,.0f}", f"{row['weight']:.2f}"
        why = f"{row['advice']}: {reason_words(row['reason'], row['on_class'])}"
        add_row(table, "  " + shorten_name(row["worker"], NAME), answers, error, weight, why)
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


def _show_workers(report: RunReport, workers: pl.DataFrame) -> None:
    """Show whom to pay, coach or drop, and what that rests on."""
    if not report.advice or not report.identifiable:
        return
    say("Whom to pay, coach or drop?", "bold")
    counts = ", ".join(f"{number:,} to {name}" for name, number in report.advice.items() if number)
    say_paragraph(counts.replace("to wait", "to wait for"))
    shown = shown_workers(workers)
    if shown.height:
        _print(advice_table(shown))
    if words := evidence_words(workers):
        say_paragraph(words)


def _show_monitors(found: MonitorReport, report: RunReport) -> None:
    groups = []
    for kind, group in found.groups():
        named = ", ".join(shorten_name(who, NAME) for who in group[:MEMBERS])
        rest = f" and {len(group) - MEMBERS:,} more" if len(group) > MEMBERS else ""
        groups.append(GROUPS[kind].format(named + rest))
    _show_list(groups, "such groups")
    if found.worth is not None and report.effective_votes is not None and report.identifiable:
        say_paragraph(worth_words(found.worth))
    _show_list([shift_words(alarms) for alarms in found.shifts], "such changes", "yellow")
    alone = [alarm_words(alarm) for alarm in reversed(found.alarms) if not alarm.everyone]
    _show_list(alone, "alarms (crowdstream workers --alarms)", "yellow")


def _show_list(lines: Sequence[str], what: str, style: str | None = None) -> None:
    """The first of these, and how many more there are."""
    for line in lines[:SHOWN]:
        say_paragraph(line, style)
    if len(lines) > SHOWN:
        say_paragraph(f"… and {len(lines) - SHOWN:,} more {what}", style)
