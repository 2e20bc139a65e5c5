"""How far confidences can be trusted: decisions with a known truth → reliability, ECE, Brier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.errors import InputError
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import altair as alt

BINS = 10
"""Of equal width, as in most of the literature."""


def reliability(decisions: pl.DataFrame, gold: pl.DataFrame, bins: int = BINS) -> pl.DataFrame:
    """How often decisions of like confidence are right: a row a bin that is not empty.

    ``decisions`` is a table of an estimator's (task, label, confidence), ``gold`` one of task and
    label; tasks without gold are left out.

    >>> said = {"task": [1, 2, 3], "label": ["x", "y", "x"], "confidence": [0.91, 0.93, 0.55]}
    >>> truth = pl.DataFrame({"task": [1, 2, 3], "label": ["x", "x", "x"]})
    >>> reliability(pl.DataFrame(said), truth).select("tasks", "confidence", "accuracy").rows()
    [(1, 0.55, 1.0), (2, 0.92, 0.5)]
    """
    check_number("bins", bins, 1, 10_000, whole=True)
    bin_ = (pl.col("confidence") * bins).floor().clip(0, bins - 1).cast(pl.Int64)
    return (
        _scored(decisions, gold)
        .group_by(bin_.alias("bin"))
        .agg(
            pl.len().alias("tasks"),
            pl.col("confidence").mean(),
            pl.col("right").mean().alias("accuracy"),
        )
        .sort("bin")
        .select(
            (pl.col("bin") / bins).alias("low"),
            ((pl.col("bin") + 1) / bins).alias("high"),
            "tasks",
            "confidence",
            "accuracy",
        )
    )


def calibration_error(decisions: pl.DataFrame, gold: pl.DataFrame, bins: int = BINS) -> float:
    """The expected calibration error: how far confidence and accuracy are apart, bin by bin.

    >>> said = {"task": [1, 2, 3], "label": ["x", "y", "x"], "confidence": [0.9, 0.9, 0.5]}
    >>> truth = pl.DataFrame({"task": [1, 2, 3], "label": ["x", "x", "x"]})
    >>> round(calibration_error(pl.DataFrame(said), truth), 4)
    0.4333
    """
    table = reliability(decisions, gold, bins)
    gaps = (table["confidence"] - table["accuracy"]).abs().to_numpy()
    return float(np.average(gaps, weights=table["tasks"].to_numpy()))


def brier(decisions: pl.DataFrame, gold: pl.DataFrame) -> float:
    """The mean squared distance between confidence and being right (0 is best, 0.25 a coin's).

    >>> said = {"task": [1, 2], "label": ["x", "y"], "confidence": [0.9, 0.5]}
    >>> truth = pl.DataFrame({"task": [1, 2], "label": ["x", "x"]})
    >>> round(brier(pl.DataFrame(said), truth), 4)
    0.13
    """
    scored = _scored(decisions, gold)
    return float(((scored["confidence"] - scored["right"]) ** 2).to_numpy().mean())


def draw_reliability(decisions: pl.DataFrame, gold: pl.DataFrame, bins: int = BINS) -> alt.Chart:
    """The reliability diagram (altair): on the diagonal, confidences mean what they say."""
    import altair as alt

    table = reliability(decisions, gold, bins)
    both = alt.Scale(domain=[0, 1])
    line = alt.Chart(pl.DataFrame({"x": [0, 1]})).mark_line(color="#bbb").encode(x="x:Q", y="x:Q")
    dots = (
        alt.Chart(table)
        .mark_circle(opacity=0.9)
        .encode(
            x=alt.X("confidence:Q", scale=both, title="confidence"),
            y=alt.Y("accuracy:Q", scale=both, title="share that is right"),
            size=alt.Size("tasks:Q", title="tasks"),
        )
    )
    chart: alt.Chart = (line + dots).properties(width=260, height=260)
    return chart


def _scored(decisions: pl.DataFrame, gold: pl.DataFrame) -> pl.DataFrame:
    """Confidence, and 1 where the label is right, of the decided tasks with gold."""
    scored = decisions.drop_nulls("label").join(gold.select("task", gold="label"), on="task")
    if not scored.height:
        raise InputError("gold", "the truth of at least one decided task", "none of them")
    right = (pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String)).cast(pl.Float64)
    return scored.select("confidence", right.alias("right"))
