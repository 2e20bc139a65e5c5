"""The sections on decisions: hard tasks, how sure they are, what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from crowdstream.metrics import calibration_error
from crowdstream.plain_text import counted, percent
from crowdstream.report.charts.confidence import draw_confidence, histogram
from crowdstream.report.charts.hardest import draw_hardest
from crowdstream.report.charts.money import draw_money
from crowdstream.report.charts.reliability import draw_reliability, reliable
from crowdstream.report.overview import scores_of
from crowdstream.report.parts import Section, figure, name_of, note, numbers, plain_name

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings

CLOSE = 0.02
"""Largest mean error of a confidence that is called as good as it says."""


def hard_section(found: Findings) -> Section | None:
    """The hardest tasks and how their votes are split."""
    hard = found.hard
    if hard is None or not hard.height or found.decisions is None:
        return None
    tasks = hard["task"].unique(maintain_order=True)
    decided = found.decisions if found.pairs is None else found.pairs
    decided = decided.filter(pl.col("task").is_in(tasks.implode()))
    sure = {task: (label, share) for task, label, share in decided[:, :3].iter_rows()}
    one = "task" if found.pairs is None else "choice of a task"
    scores = scores_of(found)
    body = note(
        f"Each bar is a {one}, the hardest on top: how its votes are split. On a hard one an "
        "average worker errs often, so that one vote more changes little; an expert does."
    )
    chart = draw_hardest(hard, titled=False)
    many = "tasks" if found.pairs is None else "choices of tasks"
    body += figure(chart, f"How the votes on the {len(tasks)} hardest {many} are split")
    rows = []
    for (task,), votes in hard.group_by("task", maintain_order=True):
        label, share = sure.get(task, (None, 0.0))
        split = ", ".join(
            f"{plain_name(each)} {count:,}" for each, count in votes.select("label", "votes").rows()
        )
        score = [scores.get(task, "")] if scores else []
        rows.append([name_of(task), name_of(label), *score, percent(share), split])
    right = [*(["score"] if scores else []), "sure"]
    first = "task" if found.pairs is None else "task: choice"
    body += numbers([first, "decided", *right, "votes"], rows, right)
    first = f"The hardest {one} is {plain_name(tasks[0])}"
    words = f"{first}: an average worker errs on it in {percent(hard['difficulty'][0])} of cases."
    return Section("hardest", f"The hardest {many}", words, body)


def confidence_section(found: Findings) -> Section | None:
    """Make the section on confidence and its calibration."""
    decisions = found.decisions
    if decisions is None or not decisions.drop_nulls("confidence").height:
        return None
    bins = histogram(decisions)
    sure = percent(found.settled / max(decisions.height, 1))
    sets = found.kind == "choices"
    rule = (
        f"settled: {'every choice with ' if sets else ''}confidence {found.settings.settle:g} or "
        f"more, {counted(found.settings.min_labels, 'label')} or more"
    )
    chart = draw_confidence(bins, titled=False)
    left = figure(chart, f"How many decisions are how confident; {sure} are settled", "half")
    rows = [
        [f"{percent(low)} to {percent(high)}", state, f"{tasks:,}"]
        for low, high, state, tasks in bins.iter_rows()
    ]
    left += numbers(["confidence", "state", "tasks"], rows, ["tasks"])
    whole = " that the whole set is right" if sets else " of their decision"
    said = note(f"Tasks by the confidence{whole}; {rule}.")
    left = f"<div><h3>How sure</h3>{said}{left}</div>"
    words = f"{sure} of {counted(decisions.height, 'decision')} are settled."
    if found.truths is None:
        right = ""
    else:
        off = calibration_error(decisions, found.truths)
        words += f" Confidence is off by {percent(off)} on average where the truth is known."
        right = f"<div><h3>Whether confidence means what it says</h3>{_reliability(found)}</div>"
    body = f"<div class=pair>{left}{right}</div>"
    return Section("confidence", "How sure decisions are", words, body, short=True)


def _reliability(found: Findings) -> str:
    assert found.decisions is not None
    assert found.truths is not None
    table = reliable(found.decisions, found.truths)
    body = note("On the dashed line: as often right as sure. Below it: overconfident.")
    chart = draw_reliability(table, titled=False)
    body += figure(chart, "How often decisions of similar confidence are right", "half")
    rows = [
        [
            f"{row['tasks']:,}",
            percent(row["confidence"]),
            f"{percent(row['accuracy'])}, {percent(row['right_low'])} to "
            f"{percent(row['right_high'])}",
        ]
        for row in table.iter_rows(named=True)
    ]
    head = ["tasks", "confidence", "right"]
    return body + numbers(head, rows, head)


def money_section(found: Findings) -> Section | None:
    """Make the section on the cost of labels and the cost that was enough."""
    spending, price = found.spending, found.settings.price
    if spending is None or price is None:
        return None
    words = (
        f"{counted(found.labels, 'label')} at {price:g} cost {spending.total:,.2f}, which is "
        f"{spending.per_decision:.3g} a decision."
    )
    if spending.enough is None or spending.saved is None:
        return Section("money", "Money spent and saved", words, "", short=True)
    other = ""
    if spending.other_decisions is not None:
        other = f"; {percent(spending.other_decisions)} of the decisions would differ"
    body = note(
        f"It would have cost {spending.enough:,.2f} ({percent(max(spending.saved, 0.0))} less) had "
        f"each task been stopped once it was settled{other}. Tried on "
        f"{counted(spending.replayed_tasks or 0, 'task')} in random order; crowdstream savings "
        "says more."
    )
    chart = draw_money(spending.total, spending.enough, titled=False)
    label = f"{spending.total:,.2f} spent, {spending.enough:,.2f} if stopped once settled"
    body += figure(chart, label, "small")
    return Section("money", "Money spent and saved", words, body, short=True)
