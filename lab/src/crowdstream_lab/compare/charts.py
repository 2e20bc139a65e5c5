"""Charts of a comparison (altair): differences, ranks, error against time, errors by set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.extension import chart_names
from crowdstream.theme import LETTER_WIDTH, LIGHT
from crowdstream_lab.compare.measures import OK
from crowdstream_lab.compare.methods import BASELINE, CROWDKIT, OURS
from crowdstream_lab.compare.paired import TOLD_APART

if TYPE_CHECKING:
    import altair as alt


Floats = NDArray[np.float64]


WORST = 2.0
"""Times majority's error that the chart of errors reaches to."""


LETTER, LINE = 6.0, 12.0
"""Pixels that a letter and a line of a dot's name take, at Vega's usual size of text."""


FAMILIES = {OURS: LIGHT["accent"], BASELINE: LIGHT["soft"], CROWDKIT: LIGHT["warn"]}
"""Told apart by those who do not see red and green as well."""


EDGE = 0.15
"""Difference in errors that the chart of differences reaches to; what is beyond stands there."""


WIDTH = 780
"""Pixels of a chart beside the names of the methods: with them it is as wide as the page."""


def _colour() -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(FAMILIES), range=list(FAMILIES.values()))
    return alt.Color(
        "family:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolType="circle")
    )


def _methods(order: Sequence[str]) -> alt.Y:
    """An axis of methods, with room for the longest name in the widest of usual letters."""
    import altair as alt

    room = LETTER_WIDTH * max(map(len, order), default=0)
    axis = alt.Axis(grid=True, labelLimit=0, minExtent=room)
    return alt.Y("method:N", title=None, sort=list(order), axis=axis)


def draw_differences(
    summary: pl.DataFrame, by_set: dict[str, dict[str, float]], against: str
) -> alt.TopLevelMixin:
    """Final error less another method's: a tick a set, a band of two standard errors, a dot.

    ``by_set`` is what `Study.differences` gives, ``summary`` has ``behind`` and ``behind_se``.
    """
    import altair as alt

    reach = float(TOLD_APART)
    done = summary.drop_nulls("behind").with_columns(
        low=(pl.col("behind") - reach * pl.col("behind_se")).clip(-EDGE, EDGE),
        high=(pl.col("behind") + reach * pl.col("behind_se")).clip(-EDGE, EDGE),
        dot=pl.col("behind").clip(-EDGE, EDGE),
    )
    ticks = pl.DataFrame(
        [
            (method, name, min(max(x, -EDGE), EDGE))
            for method, found in by_set.items()
            for name, x in found.items()
        ],
        ["method", "set", "difference"],
        orient="row",
    )
    order = done.sort("behind")["method"].to_list()
    y = _methods(order)
    axis = alt.Axis(format="+~%", tickCount=7)
    x = alt.X(
        "dot:Q",
        title=f"final error less that of {against}; left is fewer errors",
        axis=axis,
        scale=alt.Scale(domain=[-EDGE, EDGE], nice=False),
    )
    zero = alt.Chart(pl.DataFrame({"x": [0.0]})).mark_rule(strokeDash=[4, 3], color=LIGHT["ink"])
    marks = alt.Chart(ticks).mark_tick(thickness=1, size=10, color=LIGHT["soft"], opacity=0.7)
    base = alt.Chart(done).encode(y=y)
    bands = base.mark_bar(size=10, color=LIGHT["band"]).encode(x=alt.X("low:Q"), x2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, color=_colour())
    layers = zero.encode(x="x:Q") + bands + marks.encode(x="difference:Q", y=y) + dots
    chart: alt.LayerChart = layers.properties(width=WIDTH, height={"step": 20})
    return chart


def draw_errors(table: pl.DataFrame, order: Sequence[str]) -> alt.TopLevelMixin:
    """A dot a method and set for the final error, a ring for the online one.

    What errs more than `WORST` times as often as majority vote is a triangle at the edge, or a
    broken method would press all others into a corner.
    """
    import altair as alt

    edge = pl.when(pl.col("majority") > 0).then(WORST * pl.col("majority")).otherwise(1.0)
    table = table.with_columns(set=pl.Series(chart_names(table["set"]), dtype=pl.String))
    done = table.filter(pl.col("status") == OK).with_columns(
        pl.when(pl.col("final") > edge).then(pl.lit("off")).otherwise(pl.lit("on")).alias("mark"),
        pl.min_horizontal("final", edge).alias("shown"),
        pl.when(pl.col("prequential") <= edge).then("prequential").alias("online"),
    )
    y = _methods(order)
    base = alt.Chart(done).encode(y=y, color=_colour())
    axis = alt.Axis(format="~%", tickCount=3)
    x = alt.X("shown:Q", title="error", axis=axis, scale=alt.Scale(zero=False))
    marks = alt.Scale(domain=["on", "off"], range=["circle", "triangle-right"])
    shape = alt.Shape("mark:N", scale=marks, legend=None)
    dots = base.mark_point(filled=True, size=55, opacity=1).encode(x=x, shape=shape)
    rings = base.mark_point(filled=False, size=55).encode(x="online:Q")
    rule = (
        alt.Chart(done).mark_rule(strokeDash=[4, 3], color=LIGHT["ink"]).encode(x="min(majority):Q")
    )
    sets = done["set"].unique(maintain_order=True).to_list()
    chart: alt.FacetChart = (
        (rule + rings + dots)
        .properties(width=190, height={"step": 17})
        .facet(facet=alt.Facet("set:N", title=None, sort=sets), columns=3)
        .resolve_scale(x="independent")
    )
    return chart


def draw_ranks(summary: pl.DataFrame, difference: float) -> alt.TopLevelMixin:
    """Mean ranks; those in the shaded band do not differ from the best."""
    import altair as alt

    ranked = summary.drop_nulls("rank").sort("rank")
    order = ranked["method"].to_list()
    best = float(ranked["rank"].to_numpy().min())
    band = pl.DataFrame({"low": [best], "high": [best + difference]})
    shade = (
        alt.Chart(band).mark_rect(color=LIGHT["band"], opacity=0.6).encode(x="low:Q", x2="high:Q")
    )
    x = alt.X(
        "rank:Q",
        title=f"mean rank; shaded: within the critical difference, {difference:.2f}, of the best",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=8),
    )
    y = _methods(order)
    dots = alt.Chart(ranked).mark_point(filled=True, size=70, opacity=1)
    chart: alt.LayerChart = (shade + dots.encode(x=x, y=y, color=_colour())).properties(
        width=WIDTH, height={"step": 20}
    )
    return chart


def draw_speed(summary: pl.DataFrame) -> alt.TopLevelMixin:
    """Time against error, of the methods that ran on every set; down and left is better."""
    import altair as alt

    done = summary.drop_nulls("final")
    wide, high = 900.0, 620.0
    times, errors = done["ns_fit"].log10().to_numpy(), done["excess"].to_numpy()
    right = 10 ** (times.max() + 0.2 * max(float(np.ptp(times)), 1.0))  # room for a name
    span = [min(errors.min(), 0.0) - 0.01, max(errors.max(), 0.0) + 0.01]
    left = 10 ** (times.min() - 0.1)
    across = (times - np.log10(left)) / np.log10(right / left) * wide
    down = (span[1] - errors) / (span[1] - span[0]) * high
    line = span[1] / (span[1] - span[0]) * high
    beside = _spread(across, down, done["method"].to_list(), line)
    done = done.with_columns(name_at=span[1] - beside / high * (span[1] - span[0]))
    ticks = alt.Axis(format="~s", values=[10**k for k in range(10)])
    x = alt.X(
        "ns_fit:Q",
        title="nanoseconds per label (fit_predict, median over sets)",
        scale=alt.Scale(type="log", domain=[left, right], nice=False),
        axis=ticks,
    )
    percent = alt.Axis(format="+~%")
    scale = alt.Scale(domain=span, nice=False)
    y = alt.Y("excess:Q", title="mean final error less majority's", axis=percent, scale=scale)
    base = alt.Chart(done).encode(x=x, color=_colour())
    zero = alt.Chart(pl.DataFrame({"y": [0.0]})).mark_rule(strokeDash=[4, 3], color=LIGHT["ink"])
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(y=y)
    names = base.mark_text(align="left", dx=9, fontSize=11).encode(y="name_at:Q", text="method:N")
    threads = base.mark_rule(opacity=0.4, xOffset=0, x2Offset=8).encode(
        y=y, y2="name_at:Q", x2="ns_fit:Q"
    )
    chart: alt.LayerChart = (zero.encode(y="y:Q") + threads + dots + names).properties(
        width=wide, height=high
    )
    return chart


def _spread(across: Floats, down: Floats, names: Sequence[str], line: float) -> Floats:
    """Return how far down to write names right of their dots, clear of each other and a line.

    >>> _spread(np.array([0.0, 20.0]), np.array([50.0, 50.0]), ["one", "two"], 0.0).tolist()
    [62.0, 50.0]
    """
    dot, gap = 6.0, 9.0
    taken = [(x - dot, x + dot, y) for x, y in zip(across, down, strict=True)]
    taken.append((-np.inf, np.inf, line))
    found = down.copy()
    for k in np.argsort(down, kind="stable"):
        left, right = across[k] + gap, across[k] + gap + LETTER * len(names[k])
        near = [y for start, end, y in taken if start < right and left < end]
        steps = sorted(range(-len(taken), len(taken) + 1), key=lambda n: (abs(n), -n))
        places = [down[k] + LINE / 2 * step for step in steps]
        free = (y for y in places if all(abs(y - other) >= LINE for other in near))
        found[k] = next(free, down[k])
        taken.append((left, right, found[k]))
    return found
