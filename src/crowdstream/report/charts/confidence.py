"""The chart of confidence: how many decisions are how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdstream.errors import InputError
from crowdstream.labels import ArrowTable
from crowdstream.metrics.scores import table_of
from crowdstream.report.charts.drawing import BLUE, GREY, PERCENT, ready, title
from crowdstream.theme import panel_width, theme

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

BINS = 20
"""Columns from 0 to 1: five per cent each, so that 95 % is an edge."""

SETTLED, OPEN = "settled", "in doubt"


def confidence(decisions: ArrowTable) -> alt.Chart:
    """Chart how many decisions have which confidence, and which of them are settled.

    Parameters
    ----------
    decisions
        Table of confidence and settled, as estimators return it.

    Examples
    --------
    >>> import crowdstream as cs
    >>> decisions = cs.Adaptive().fit_predict(cs.simulate(8, 300, p=0.2).labels())
    >>> confidence(decisions).to_dict()["title"]["text"]
    'How sure the decisions are'
    """
    ready()
    table = histogram(table_of(decisions, "decisions", "confidence settled"))
    if not table.height:
        raise InputError("decisions", "at least one decision", "none")
    return cast("alt.Chart", theme(draw_confidence(table)))


def histogram(decisions: pl.DataFrame) -> pl.DataFrame:
    """One row per column and state: low, high, state, tasks."""
    import polars as pl

    place = (pl.col("confidence") * BINS + 1e-9).floor().clip(0, BINS - 1).cast(pl.Int64)
    state = pl.when("settled").then(pl.lit(SETTLED)).otherwise(pl.lit(OPEN))
    return (
        decisions.drop_nulls("confidence")
        .group_by(place.alias("bin"), state.alias("state"))
        .agg(tasks=pl.len())
        .sort("bin", "state")
        .select(
            low=pl.col("bin") / BINS, high=(pl.col("bin") + 1) / BINS, state="state", tasks="tasks"
        )
    )


def draw_confidence(table: pl.DataFrame, *, titled: bool = True) -> alt.TopLevelMixin:
    """Draw a histogram of confidences, without the theme."""
    import altair as alt

    low = min(float(cast("float", table["low"].min())), 0.5)
    x = alt.X(
        "low:Q",
        bin="binned",
        title="confidence of a decision",
        scale=alt.Scale(domain=[low, 1.0], nice=False),
        axis=alt.Axis(format=PERCENT, grid=False, tickCount=6),
    )
    colours = alt.Scale(domain=[SETTLED, OPEN], range=[BLUE, GREY])
    legend = alt.Legend(orient="top", symbolType="square", symbolStrokeWidth=0)
    drawn = (
        alt.Chart(table)
        .mark_bar(binSpacing=2)
        .encode(
            x=x,
            x2="high:Q",
            y=alt.Y("tasks:Q", title="tasks", axis=alt.Axis(format="~s", tickCount=5)),
            color=alt.Color("state:N", title=None, scale=colours, legend=legend),
        )
        .properties(width=panel_width(2), height=240)
    )
    if not titled:
        return cast("alt.TopLevelMixin", drawn)
    text = title("How sure the decisions are")
    return cast("alt.TopLevelMixin", drawn.properties(title=text, padding=20))
