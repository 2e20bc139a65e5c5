"""Text on a plan of tasks to check, and on what the answers changed."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

from crowdstream.cli.terminal import (
    WIDEST,
    add_row,
    console,
    make_table,
    say,
    say_paragraph,
    shorten_name,
)
from crowdstream.plain_text import counted, percent, printable
from crowdstream.wording import rate_words

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from crowdstream.cli.json_output import PlanReport
    from crowdstream.gold_plan import GoldCheck
    from crowdstream.gold_plan.report import Rate

FORMULA = r"^[=+\-@\t\r]"
"""Beginning of text that a spreadsheet takes for a formula."""

CLASSES = 4
"""Classes of a stratum that are named."""

ROWS = 8
"""Tasks of a plan, and classes of a check, that a terminal shows."""


def show_plan(
    report: PlanReport, tasks: pl.DataFrame, output: str | None, files: list[str]
) -> None:
    """Say how many tasks of which kind to check, and what to do with them, on standard error."""
    say_paragraph(
        f"{report.to_check:,} of {counted(report.tasks, 'task')} to check, drawn at random from "
        f"{counted(len(report.strata), 'group')}, more where decisions are in doubt",
        "bold",
        indent=0,
    )
    table = make_table("", ["decided"], ("mean confidence", "tasks", "to check"), line=True)
    for group in report.strata:
        named = ", ".join(map(str, group.classes[:CLASSES]))
        more = len(group.classes) - CLASSES
        named += f" and {more} more" if more > 0 else ""
        add_row(
            table,
            shorten_name(named),
            f"{group.confidence:.2f}",
            f"{group.tasks:,}",
            f"{group.to_check:,}",
        )
    console().print(table)
    if output in (None, "-"):
        console().print(_first_tasks(tasks))
        say("-o FILE writes all of them, with a column gold to fill in")
        return
    say(f"{output}: fill in the column gold, from the top and as far as you like, then")
    say(f"  crowdstream gold check {' '.join(files)} {output}")
    say(f"  crowdstream run {' '.join(files)} --gold {output}")


def say_fooled(confidences: pl.Series) -> None:
    """Say what checking decisions of these confidences, the settled ones, tells of fooled tasks."""
    from crowdstream.gold_plan.fooled import plan_words

    claimed = float((1 - confidences).to_numpy().mean()) if confidences.len() else 0.0
    say_paragraph(plan_words(confidences.len(), claimed), indent=0)


def _first_tasks(tasks: pl.DataFrame) -> Table:
    shown = [name for name in ("task", "label", "votes") if name in tasks.columns]
    table = make_table("first tasks", shown, ("confidence",) if len(shown) > 1 else ())
    for row in tasks.head(ROWS).iter_rows(named=True):
        confidence = [f"{row['confidence']:.3f}"] if len(shown) > 1 else []
        add_row(table, *(shorten_name(row[name]) for name in shown), *confidence)
    return table


def show_check(found: GoldCheck, settle: float, *, notes: bool = True) -> None:
    """The answers first, then what they rest on, on standard output; what is in doubt beside it."""
    for warning in found.warnings if notes else ():
        say(f"note: {warning}", "yellow")
    blank = f", {counted(found.blank, 'row')} left blank" if found.blank else ""
    how = f"checked against {counted(found.checked, 'gold task')}{blank}"
    _print(f"wrong decisions {_rate(found.error_rate)}, {how}", "bold")
    if not found.stratified:
        _print(
            "  taken for a random sample of the tasks, as the file has no strata of gold plan: if "
            "they were picked otherwise, this number is off"
        )
    _print(f"  the crowd's own confidence expects {_rate(found.expected_error)}")
    _print(
        f"  of the {found.checked:,} checked, {found.right:,} were right "
        f"({_rate(found.right_rate)})"
        + ("; doubtful ones were preferred" if found.stratified else "")
    )
    console(stderr=False).print(_classes_table(found))
    _show_changes(found)
    _print(_settled_words(found, settle))
    _print(found.more_gold, "bold")


def _classes_table(found: GoldCheck) -> Table:
    headings = ("decisions", "with gold", "checked", "right")
    table = make_table("", ["decided"], headings, "where wrong", line=True)
    for each in found.classes[:ROWS]:
        right = None
        if each.right_rate is not None:
            rate = each.right_rate
            right = f"{each.right} ({100 * rate.low:.0f}–{100 * rate.high:.0f} %)"
        really = [
            f"{one.truth} ({one.tasks})" for one in found.mistakes if one.decided == each.label
        ]
        counts = (f"{each.decided:,}", f"{each.decided_with_gold:,}", f"{each.checked:,}")
        add_row(table, shorten_name(each.label), *counts, right, ", ".join(really))
    if len(found.classes) > ROWS:
        add_row(table, f"… and {len(found.classes) - ROWS:,} more")
    return table


def _show_changes(found: GoldCheck) -> None:
    """Say what changes once the gold is given."""
    others = found.tasks - found.checked
    _print(
        f"with this gold, wrong decisions {_rate(found.error_with_gold)} (each task checked was "
        "decided without its own answer)"
    )
    if others:
        share = percent(found.flips / others)
        _print(f"  {found.flips:,} of the {others:,} other decisions change ({share})")
    for flip in found.flipped:
        _print(f"    {flip.task}: {flip.before} → {flip.after} (confidence {flip.confidence:.2f})")
    if found.flips > len(found.flipped):
        _print(f"    … and {found.flips - len(found.flipped):,} more")
    if found.confidence_before is not None and found.confidence_after is not None:
        before, after = percent(found.confidence_before), percent(found.confidence_after)
        _print(f"  mean confidence of the others {before} → {after}")
    if found.workers:
        moved = ", ".join(
            f"{shorten_name(each.worker)} {percent(each.before)} → {percent(each.after)}"
            for each in found.workers
        )
        _print(f"  error rates that move most: {moved}")


def _settled_words(found: GoldCheck, settle: float) -> str:
    settled = found.settled
    what = f"settled decisions (confidence {settle:g} or more)"
    if settled.wrong is None:
        return f"{what}: none was checked"
    verdicts = {
        True: "kept",
        False: "not kept; raise --settle, or give this gold to run",
        None: "too few were checked to tell",
    }
    return (
        f"{what}: wrong {_rate(settled.wrong)}, by {settled.checked:,} checked of "
        f"{settled.decided:,}; promised at most {percent(settled.promised)}: "
        f"{verdicts[settled.kept]}"
    )


def _rate(rate: Rate) -> str:
    return rate_words(rate.value, rate.low, rate.high)


def _print(text: str, style: str | None = None) -> None:
    """Some of standard output, which is what was asked for: broken to fit, further lines indented.

    Into a pipe or a file a sentence goes on one line.
    """
    screen, text = console(stderr=False), printable(text)
    lines = [text]
    if sys.stdout.isatty():
        room, indent = min(screen.width, WIDEST), " " * (len(text) - len(text.lstrip()))
        lines = textwrap.wrap(text, room, subsequent_indent=indent + "  ", break_on_hyphens=False)
    for line in lines:
        screen.print(line, style=style, soft_wrap=True)


def warn_of_formulas(names: pl.Series) -> None:
    """Say that a spreadsheet would change some names; files hold them as they are."""
    import polars as pl

    texts = names.cast(pl.String)
    numbers = texts.cast(pl.Float64, strict=False).is_not_null()
    count = int((texts.str.contains(FORMULA) & ~numbers).sum())
    if count:
        what = counted(count, "task name", f"begin{'s' if count == 1 else ''} like a formula")
        say(f"{what}: in a spreadsheet, import the column task as text", "yellow")
