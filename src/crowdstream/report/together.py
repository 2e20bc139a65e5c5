"""The section on mistakes made together: what labels are worth where workers are not independent.

By agreement, and where truths are known by the errors themselves, which agreement cannot see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.panel.report import with_interval
from crowdstream.plain_text import as_sentence, counted, percent
from crowdstream.report.parts import Section, name_of, note
from crowdstream.statements.dependence import describe_dependence
from crowdstream.statements.worth import worth_words
from crowdstream.theme import html_table

if TYPE_CHECKING:
    from crowdstream.panel import EffectiveJudges
    from crowdstream.report.findings import Findings

HEAD = ["without", "its error rate", "the vote is right on", "worth in independent workers"]


def together_section(found: Findings) -> Section | None:
    """Make the section on joint errors; None for choices, whose labels' worth is not known."""
    if found.pairs is not None:
        return None
    answers, body = [], ""
    monitors = found.monitors
    if monitors is not None and monitors.worth is not None and found.identified:
        answers.append(f"{worth_words(monitors.worth)}.")
        body += note(as_sentence(describe_dependence(found.crowd.dependence_)))
        if related := [*monitors.families, *monitors.copies]:
            groups = counted(len(related), "group")
            body += note(f"{groups} of workers who are not independent of each other: see above.")
    if found.joint is not None:
        told, rest = _joint_errors(found.joint, found.workers.height)
        answers, body = [told, *answers], body + rest
    if not answers:
        return None
    words = " ".join(answers)
    return Section("together", "Mistakes made together", words, body, short=found.joint is None)


def _joint_errors(joint: EffectiveJudges, workers: int) -> tuple[str, str]:
    """In a sentence, and what the panel would be without each of its workers."""
    who = counted(joint.workers, "worker")
    if joint.workers < workers:
        who = f"The {joint.workers} busiest of {workers:,} workers"
    panel = f"{who} on {counted(joint.tasks, 'task')} of known truth"
    if joint.effective is None:
        return f"{panel}: what they are worth together cannot be told by their errors.", ""
    words = f"{panel} are worth {with_interval(joint.effective, 1)} independent ones."
    lines = [
        f"Their plain vote is right on {percent(joint.accuracy)}; if the same workers erred "
        f"independently, it would be on {percent(joint.accuracy_if_independent)}."
    ]
    if joint.correlation is not None:
        correlation = with_interval(joint.correlation, 2)
        lines.append(f"Mean correlation of two workers' errors: {correlation}.")
    rows = [
        [
            name_of(row["worker"]),
            "" if row["error_rate"] is None else percent(row["error_rate"]),
            "" if row["accuracy_without"] is None else percent(row["accuracy_without"]),
            "" if row["effective_without"] is None else f"{row['effective_without']:.1f}",
        ]
        for row in joint.without.iter_rows(named=True)
    ]
    body = note(" ".join(lines)) + html_table(
        HEAD, rows, label="the panel without each", right=HEAD[1:]
    )
    body += note(
        "To drop the worst worker can make the rest less independent: compare both columns."
    )
    return words, body + "".join(map(note, joint.notes))
