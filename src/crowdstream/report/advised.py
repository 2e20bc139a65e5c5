"""The table of workers with advice on each, and which of them are shown first."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdstream.wording import ADVICE

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.estimators.worker_table import Costs

SHOWN = 4
"""Workers of each kind of advice that are reported."""

ACTED_ON = ("drop", "coach", "pay")
"""Advice that asks for something to be done."""


def advised_table(estimator: Estimator, level: float, costs: Costs | None) -> pl.DataFrame:
    """The table of workers with the columns ``advice``, ``reason`` and ``on_class``."""
    from crowdstream.statements.advice import advice

    table = cast("pl.DataFrame", estimator.workers(level=level, costs=costs))
    if not estimator.weighs_:
        return table
    return table.hstack(advice(estimator, table).drop("worker"))


def count_advice(workers: pl.DataFrame) -> dict[str, int]:
    """Count the workers that each advice is for."""
    if "advice" not in workers.columns:
        return {}
    counts = dict(workers["advice"].value_counts().iter_rows())
    return {advice: counts.get(advice, 0) for advice in ADVICE}


def shown_workers(workers: pl.DataFrame) -> pl.DataFrame:
    """The first of those to drop, coach and pay: those with most answers, who matter most."""
    import polars as pl

    if "advice" not in workers.columns:
        return workers.head(0)
    # Chosen first, then sorted: those to be kept or waited for may be very many.
    return pl.concat(
        workers.filter(pl.col("advice") == advice)
        .sort("answers", descending=True, maintain_order=True)
        .head(SHOWN)
        for advice in ACTED_ON
    )
