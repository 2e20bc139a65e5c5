"""The chart of savings (altair): labels per task against error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from crowdstream.plain_text import chart_names
from crowdstream.savings.result import FIXED, MAJORITY, SAME, STOP, Savings
from crowdstream.theme import LIGHT

if TYPE_CHECKING:
    import altair as alt


COLOURS = {STOP: LIGHT["accent"], FIXED: LIGHT["warn"], MAJORITY: LIGHT["soft"]}
"""Told apart by those who do not see red and green as well."""


APART = 0.06
"""Smallest distance of named levels, as a share of the chart's width. As a share of its height, a
level this low is named above its point, or its name would run into the axis."""


def draw(found: Savings, name: str) -> alt.LayerChart:
    """Labels a task against error, a curve a way of buying; down and left is better."""
    import altair as alt

    x = alt.X(
        "labels_per_task:Q",
        title="labels per task",
        scale=alt.Scale(zero=True, nice=False),
        axis=alt.Axis(grid=False, tickMinStep=1, format="d"),
    )
    measure = "error" if found.has_gold else "tasks decided otherwise than from all labels"
    y = alt.Y("error:Q", title=measure, axis=alt.Axis(format="~%"))
    rules = list(COLOURS)
    legend = alt.Legend(
        orient="top-right",
        labelLimit=0,
        labelFontSize=13,
        symbolType="stroke",
        symbolStrokeWidth=3,
        fillColor=LIGHT["panel"],
        padding=6,
    )
    colours = alt.Scale(domain=rules, range=list(COLOURS.values()))
    colour = alt.Color("rule:N", title=None, scale=colours, legend=legend)
    base = alt.Chart(found.table).encode(x=x, y=y, color=colour)
    lines = base.mark_line(strokeWidth=2.5).encode(order="labels_per_task:Q")
    dots = base.mark_point(filled=True, size=40, opacity=1)
    named = alt.Chart(_named(found)).encode(x=x, y=y, text="settle:Q")
    blue = COLOURS[STOP]
    under = named.mark_text(align="right", baseline="top", dx=-3, dy=4, color=blue)
    above = named.mark_text(align="right", baseline="bottom", dx=-3, dy=-4, color=blue)
    names = under.transform_filter("!datum.low") + above.transform_filter("datum.low")
    aim = "majority vote with all labels" if found.has_gold else "wanted"
    level = alt.Chart(pl.DataFrame({"error": [found.target]})).encode(y=y)
    rule = level.mark_rule(strokeDash=[2, 3], color=LIGHT["ink"])
    # Below the line on the left, where no curve has come down yet.
    said = level.mark_text(
        align="left",
        baseline="top",
        dy=4,
        dx=4,
        text=f"{aim}: {100 * found.target:.1f} %",
        color=LIGHT["ink"],
    ).encode(x=alt.value(0))
    title = alt.TitleParams(
        _headline(found),
        subtitle=_small_print(found, name),
        anchor="start",
        fontSize=17,
        subtitleFontSize=12,
        subtitlePadding=6,
        offset=14,
    )
    chart: alt.LayerChart = (rule + said + lines + dots + names).properties(
        width=900, height=460, padding=20, title=title
    )
    return chart


def _named(found: Savings) -> pl.DataFrame:
    """The points of the levels to stop at whose names do not run into each other."""
    top = pl.lit(found.table["error"]).max()
    stop = found.table.drop_nulls("settle").with_columns(low=pl.col("error") < APART * top)
    gap = APART * found.labels / found.tasks
    kept: list[int] = []
    costs = stop["labels_per_task"].to_list()
    for k in reversed(range(len(costs))):
        if all(abs(costs[k] - costs[other]) >= gap for other in kept):
            kept.append(k)
    return stop[sorted(kept)]


def _headline(found: Savings) -> str:
    """The finding, whichever it is."""
    kept = f"deciding {100 * (1 - SAME):.0f} % of the tasks as all labels do"
    if found.enough is None:
        like = "majority vote with all labels" if found.has_gold else kept
        return f"Stopping when sure does not get as far as {like}"
    cost = (
        f"{found.enough['labels_per_task']:.1f} of {found.labels / found.tasks:.1f} labels per task"
    )
    if found.has_gold:
        return f"As good as majority vote with all labels: {cost}, stopping when sure"
    return (
        f"{cost} decide {100 * (1 - SAME):.0f} % of the tasks as all labels do, stopping when sure"
    )


def _small_print(found: Savings, name: str) -> list[str]:
    orders = "1 random order" if found.repeats == 1 else f"mean of {found.repeats} random orders"
    against = (
        f"error against {found.scored:,} gold labels"
        if found.has_gold
        else "no gold, so what all labels say stands for the truth"
    )
    return [
        f"{chart_names([name])[0]}: {found.labels:,} labels of {found.tasks:,} tasks, bought "
        f"again; {orders}; {against}.",
        "Numbers on the blue curve: the confidence at which no more labels of a task are bought.",
    ]
