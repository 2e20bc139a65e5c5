"""The hardest and the most doubtful tasks of a run, kept as its decisions are made in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.labels import CodedLabels

HARDEST = 5
"""Tasks that are reported as the hardest."""

DOUBTFUL = 5
"""Tasks to send out again that are reported."""


def doubtful(
    estimator: Estimator,
    decisions: pl.DataFrame,
    table: CodedLabels,
    rule: tuple[float, int],
    before: pl.DataFrame | None,
) -> pl.DataFrame:
    """The most doubtful tasks of these and of those before, with the labels they need."""
    import polars as pl

    from crowdstream.monitoring import tasks_to_resend

    confidences, wanted = decisions["confidence"], ~decisions["settled"]
    least = confidences.filter(wanted).bottom_k(DOUBTFUL).max()
    if least is not None:  # no need to sort all tasks
        wanted &= confidences <= least
    found = decisions.filter(wanted)
    found = found.sort("confidence", maintain_order=True).head(DOUBTFUL)
    if before is not None and before.height == DOUBTFUL:
        found = found.filter(found["confidence"] < before["confidence"].max())
    if before is not None and not found.height:
        return before
    settle, min_labels = rule
    found = tasks_to_resend(estimator, table, found, settle=settle, min_labels=min_labels)
    both = [found] if before is None else [before, found]
    return pl.concat(both).sort("confidence", maintain_order=True).head(DOUBTFUL)


def hardest(
    estimator: Estimator, decisions: pl.DataFrame, table: CodedLabels, before: pl.DataFrame | None
) -> pl.DataFrame | None:
    """The hardest tasks of these and of those before, the first of equals."""
    import polars as pl

    from crowdstream import monitoring

    if not decisions.height:
        return before
    hard = monitoring.difficulty(estimator, table).drop_nulls("difficulty")
    least = hard["difficulty"].top_k(HARDEST).min()
    if least is not None:  # no need to join all tasks
        hard = hard.filter(hard["difficulty"] >= least)
    found = decisions.join(hard, on="task", maintain_order="left")
    if before is not None:
        found = pl.concat([before, found])
    return found.sort("difficulty", descending=True, maintain_order=True).head(HARDEST)
