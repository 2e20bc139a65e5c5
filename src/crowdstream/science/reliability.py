"""The reliability diagram: how far confidences can be trusted, as a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from crowdstream.labels import ArrowTable
from crowdstream.metrics import BINS, reliability

if TYPE_CHECKING:
    import altair as alt


def draw_reliability(decisions: ArrowTable, gold: ArrowTable, bins: int = BINS) -> alt.Chart:
    """The reliability diagram (altair): on the diagonal, confidences mean what they say.

    Parameters
    ----------
    decisions, gold, bins
        As for `crowdstream.metrics.reliability`.
    """
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
