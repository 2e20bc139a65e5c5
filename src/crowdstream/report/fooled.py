"""The report's line on tasks that fool everybody: what gold would show of them, or has shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.gold_plan.fooled import Checked, detection_words, exclusion_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from crowdstream.labels import ClassLabel, TaskId
    from crowdstream.report.findings import Findings


def fooled_words(found: Findings) -> list[str]:
    """Say how much gold is needed to find such tasks; with gold, which share of them it excludes.

    It speaks of settled decisions: where the crowd is wrong together it looks sure. Nothing where
    there are none, where decisions are not classes (their confidence is that of a median or of a
    set), where all of them were checked, and where there is gold but none on them.
    """
    if found.decisions is None or found.kind != "classes":
        return []
    settled = found.decisions.filter("settled")
    checked = found.checked
    if found.truths is not None:
        checked = check_settled(found.decisions, dict(found.truths.iter_rows()))
    if checked.tasks >= settled.height:
        return []
    if checked.tasks:
        return [exclusion_words(checked)]
    if found.gold_tasks:  # all of it where the crowd, told the rest of it, is in doubt anyway
        return []
    claimed = float((1 - settled["confidence"]).to_numpy().mean())
    return [detection_words(claimed, settled.height)]


def check_settled(decisions: pl.DataFrame, known: Mapping[TaskId, ClassLabel]) -> Checked:
    """Hold settled decisions against what is known of their tasks."""
    kept = decisions.filter(decisions["settled"] & decisions["task"].is_in(list(known)))
    rows = kept.select("task", "label", "confidence").rows()
    if not rows:
        return Checked()
    wrong = sum(str(label) != str(known[task]) for task, label, _ in rows)
    return Checked(len(rows), wrong, sum(1 - confidence for *_, confidence in rows) / len(rows))
