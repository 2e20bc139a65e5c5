"""The two charts of the theorems: where a bound says something, and how far above it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream_lab import theory
from crowdstream_lab.experiments import common
from crowdstream_lab.experiments.common import Floats

if TYPE_CHECKING:
    import altair as alt

UNTIL = 1e8
"""Tasks up to which the bound of Theorem 1 is drawn."""


def by_tasks(
    data: pl.DataFrame, crowds: dict[str, Floats], first: float, epsilon: float
) -> alt.LayerChart:
    """Measured frequencies where the event can be seen, the bound where it says something."""
    import altair as alt

    seen = data.filter(pl.col("theorem") == "Theorem 1").select("crowd", t="at", p="measured")
    curves = [seen.with_columns(line=pl.lit("measured"))]
    for name, p in crowds.items():
        t = np.geomspace(first, UNTIL, 160)
        bound = [theory.theorem_1(p, 1.0, x, epsilon) for x in t]
        curves.append(pl.DataFrame({"crowd": name, "t": t, "p": bound, "line": "bound"}))
    dash = alt.Scale(domain=["measured", "bound"], range=[[1, 0], [6, 4]])
    key = alt.Legend(symbolType="stroke", symbolSize=500, orient="top-right", columns=1)
    names = common.named("crowd", dict(zip(crowds, ("accent", "violet"), strict=True)))
    below = alt.Legend(symbolType="stroke", orient="bottom", columns=1)
    chart = (
        alt.Chart(pl.concat(curves))
        .mark_line(clip=True)
        .encode(
            x=alt.X(
                "t:Q",
                title="tasks t",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~s", values=[10**k for k in range(2, 9)]),
            ),
            y=alt.Y("p:Q", title=f"P(some estimate off by {epsilon})"),
            color=names.legend(below),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=dash, legend=key),
        )
    )
    title = "Theorem 1: its bound says nothing where the event is seen"
    drawn: alt.LayerChart = chart.properties(
        title=title, width=theme.panel_width(2), height=theme.PANEL_HEIGHT
    )
    return drawn


def by_measurement(data: pl.DataFrame, crowds: list[str]) -> alt.LayerChart:
    """Bound against measurement, on logarithmic axes; on the dashed line they are equal."""
    import altair as alt

    part = data.filter(pl.col("theorem") == "Lemma 1", pl.col("measured") > 0)
    low = float(part["measured"].to_numpy().min()) / 2
    same = pl.DataFrame({"measured": [low, 1.0], "bound": [low, 1.0]})
    scale = alt.Scale(type="log", domain=[low, 1], nice=False)
    axis = alt.Axis(format="~g", values=[10.0**-k for k in range(7)])
    x = alt.X("measured:Q", title="measured frequency", scale=scale, axis=axis)
    y = alt.Y("bound:Q", title="bound", scale=scale, axis=axis)
    line = alt.Chart(same).mark_line(strokeDash=[6, 4], strokeWidth=1.5, color=theme.LIGHT["soft"])
    dots = alt.Chart(part).mark_point(filled=True, size=90, opacity=1)
    colours = dict(zip(crowds, ("teal", "accent", "violet"), strict=True))
    colour = common.named("crowd", colours).legend(
        alt.Legend(symbolType="circle", orient="bottom", columns=1)
    )
    drawn: alt.LayerChart = (
        line.encode(x=x, y=y) + dots.encode(x=x, y=y, color=colour)
    ).properties(
        title="Lemma 1: bound against measurement (dashed: equal)",
        width=theme.panel_width(2),
        height=theme.PANEL_HEIGHT,
    )
    return drawn
