"""What a person wants to see after a run, and what the monitors of a crowd have to say."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from crowdstream.cli.output import talk

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from crowdstream.estimators import Estimator
    from crowdstream.labels import WorkerId
    from crowdstream.monitoring import DriftAlarm

ENDS = 5
"""Workers shown at either end of the crowd, and lines of other lists."""

MEMBERS = 8
"""Members of a family that are named."""

NAME = 24
"""Letters of a name that are shown."""

NEARBY = 50
"""Answers of a worker within which alarms of everyone count as one move."""


@dataclass(frozen=True)
class Insight:
    """What monitors know of a crowd as a whole; ``moved``: alarms of everyone, apart by time."""

    families: list[list[WorkerId]]
    labels_a_task: float
    effective_votes: float | None
    alarms: list[DriftAlarm]
    moved: list[list[DriftAlarm]]


def look_into(crowd: Estimator, tasks: int) -> Insight | None:
    """Ask the monitors, if there are any."""
    if not is_watched(crowd):
        return None
    from crowdstream import monitoring

    votes = crowd.intake_.labels / tasks if tasks else 0.0
    worth = monitoring.effective_votes(crowd, votes) if votes >= 1 else None
    families = _declared(crowd)
    families += [family for family in monitoring.families(crowd) if family not in families]
    alarms = alarms_of(crowd)
    return Insight(families, votes, worth, alarms, moves(crowd, alarms))


def _declared(crowd: Estimator) -> list[list[WorkerId]]:
    """The members of declared families, where there are several of one."""
    found: dict[str, list[WorkerId]] = {}
    for worker in crowd.workers_:
        name = cast("Mapping[WorkerId, str]", crowd.families or {}).get(worker)
        if name is not None:
            found.setdefault(name, []).append(worker)
    return [members for members in found.values() if len(members) > 1]


def alarms_of(crowd: Estimator) -> list[DriftAlarm]:
    """The alarms that rang, the oldest first; none where nobody watches."""
    if not is_watched(crowd):
        return []
    from crowdstream import monitoring

    return monitoring.alarms(crowd)


def is_watched(crowd: Estimator) -> bool:
    """Whether monitors go along with a crowd."""
    from crowdstream.monitoring import Drift

    return any(isinstance(observer, Drift) for observer in crowd.observers)


def say_alarm(alarm: DriftAlarm) -> str:
    """One alarm in words."""
    return (
        f"{alarm.worker} got {alarm.direction} over its last {alarm.answers:,} answers, seen at "
        f"task {alarm.tasks_seen:,}: error rate {alarm.before:.2f} → {alarm.after:.2f}"
    )


def moves(crowd: Estimator, alarms: Sequence[DriftAlarm]) -> list[list[DriftAlarm]]:
    """Alarms of everyone, apart for each time that everyone moved."""
    # As far as what counts as at once goes, in tasks, if all answer about as often.
    span = NEARBY * crowd.tasks_ * crowd.n_workers_ / max(crowd.intake_.labels, 1)
    groups: list[list[DriftAlarm]] = []
    for alarm in alarms:
        if not alarm.everyone:
            continue
        last = groups[-1][-1] if groups else None
        if (
            last is None
            or last.direction != alarm.direction
            or alarm.tasks_seen - last.tasks_seen > span
        ):
            groups.append([])
        groups[-1].append(alarm)
    return groups


def say_move(alarms: Sequence[DriftAlarm]) -> str:
    """That everyone moved, in words."""
    middle = alarms[len(alarms) // 2]
    when = f"most got {middle.direction} around task {middle.tasks_seen:,}"
    return f"everyone moved at once: the tasks changed ({when})"


def summary(
    report: dict[str, object],
    settle: float,
    head: pl.DataFrame | None,
    hardest: pl.DataFrame | None,
    people: pl.DataFrame,
    insight: Insight | None,
) -> None:
    """The whole of it, on standard error."""
    console = talk()
    tasks, settled = report["tasks"], report["settled"]
    share = settled / tasks if tasks else 0.0  # type: ignore[operator]
    console.print(
        f"{report['labels']:,} labels of {tasks:,} tasks by {report['workers']:,} "
        f"workers, {report['classes']} classes; {share:.0%} settled at {settle:g}; "
        f"{report['seconds']} s",
        soft_wrap=True,
    )
    if "error_rate" in report:
        told = f"error rate {report['error_rate']:.4f} on {report['gold_tasks']:,} tasks with gold"
        console.print(told)
    if head is not None and sys.stdout.isatty() and head.height:
        console.print(_decisions("first decisions", head))
    if hardest is not None and hardest.height:
        console.print(_decisions("hardest tasks", hardest))
    _tell_workers(console, people)
    if insight is not None:
        _tell_insight(console, insight, bool(report["identifiable"]))
    for warning in report["warnings"]:  # type: ignore[attr-defined]
        console.print(f"note: {warning}", style="yellow")


def _table(title: str, left: Sequence[str], right: Sequence[str], last: str = "") -> Table:
    """A table without borders: names on the left, numbers to the right."""
    from rich.table import Table

    table = Table(title=title or None, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.title_justify = "left"
    table.title_style, table.header_style = "bold", "dim"
    for name in left:
        table.add_column(name, max_width=NAME, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    if last:
        table.add_column(last)
    return table


def _decisions(title: str, decisions: pl.DataFrame) -> Table:
    numbers = [name for name in ("confidence", "votes", "difficulty") if name in decisions.columns]
    table = _table(title, ("task", "label"), numbers)
    for task, label, *values in decisions.select("task", "label", *numbers).iter_rows():
        table.add_row(str(task), "" if label is None else str(label), *map(_number, values))
    return table


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}"


def workers_table(people: pl.DataFrame, title: str = "", gap: int | None = None) -> Table:
    """A line a worker, the interval beside the error rate; ``gap``: … before this line."""
    table = _table(title, ["worker"], ("answers", "error rate", "weight", "quality"), "flags")
    for k, row in enumerate(people.iter_rows(named=True)):
        if k == gap:
            table.add_row("…")
        error = "" if row["error_rate"] is None else f"{row['error_rate']:.2f}"
        if error and row["error_low"] is not None:
            error += f" ({row['error_low']:.2f}–{row['error_high']:.2f})"
        quality = "" if row["quality"] is None else f"{row['quality']:.2f}"
        answers, weight = f"{row['answers']:,.0f}", f"{row['weight']:.2f}"
        table.add_row(str(row["worker"]), answers, error, weight, quality, row["flags"])
    return table


def ranked(people: pl.DataFrame) -> pl.DataFrame:
    """The workers from best to worst: by quality, adversaries last of those known.

    Not by error rate: who always says the same may be right as often as that is true.
    """
    import polars as pl

    sign = pl.when(pl.col("flags").str.contains("adversarial")).then(-1).otherwise(1)
    key = pl.col("quality") * sign
    return people.sort(-key, "error_rate", nulls_last=True, maintain_order=True)


def _tell_workers(console: Console, people: pl.DataFrame) -> None:
    known = ranked(people.filter(people["error_rate"].is_not_null()))
    if known.height > 2 * ENDS:
        ends = known[[*range(ENDS), *range(-ENDS, 0)]]
        console.print(workers_table(ends, "workers, best and worst by quality", ENDS))
    elif known.height:
        console.print(workers_table(known, "workers"))


def _tell_insight(console: Console, insight: Insight, identifiable: bool) -> None:
    for family in insight.families[:ENDS]:
        named = ", ".join(str(who) for who in family[:MEMBERS])
        rest = f" and {len(family) - MEMBERS:,} more" if len(family) > MEMBERS else ""
        console.print(f"these answer as one: {named}{rest}", soft_wrap=True)
    if len(insight.families) > ENDS:
        console.print(f"… and {len(insight.families) - ENDS:,} more families")
    if insight.effective_votes is not None and identifiable:
        console.print(
            f"{insight.labels_a_task:.1f} labels a task are worth {insight.effective_votes:.1f} "
            "independent ones"
        )
    alone = [alarm for alarm in insight.alarms if not alarm.everyone]
    _list(console, "", [say_move(group) for group in insight.moved], "times that everyone moved")
    _list(console, "alarm: ", [say_alarm(alarm) for alarm in alone], "alarms")


def _list(console: Console, before: str, lines: Sequence[str], what: str) -> None:
    """The first of these, and how many more there are."""
    for line in lines[:ENDS]:
        console.print(before + line, style="yellow", soft_wrap=True)
    if len(lines) > ENDS:
        console.print(f"… and {len(lines) - ENDS:,} more {what}", style="yellow")
