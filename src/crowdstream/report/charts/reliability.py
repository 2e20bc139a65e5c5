"""The reliability diagram: how far confidences can be trusted, where the truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdstream import metrics
from crowdstream.labels import ArrowTable, Truths
from crowdstream.metrics import BINS
from crowdstream.report.charts.drawing import BAND, BLUE, INK, PERCENT, ready, title
from crowdstream.theme import panel_width, theme

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


def reliability(decisions: ArrowTable, truth: ArrowTable | Truths, bins: int = BINS) -> alt.Chart:
    """Chart how often decisions of similar confidence are right; on the diagonal, as they say.

    Below it, decisions are less often right than they are sure. Bars are 95 % intervals.

    Parameters
    ----------
    decisions
        Table of task, label and confidence, as estimators return it.
    truth
        Table of task and label, or a mapping of one to the other: what is true.
    bins
        Bins of equal width from 0 to 1.

    Examples
    --------
    >>> import crowdstream as cs
    >>> made = cs.simulate(8, 300, p=0.2)
    >>> decisions = cs.Adaptive().fit_predict(made.labels())
    >>> reliability(decisions, made.truths()).to_dict()["title"]["text"]
    'Whether confidence means what it says'
    """
    ready()
    table = reliable(decisions, truth, bins)
    return cast("alt.Chart", theme(draw_reliability(table)))


def reliable(decisions: ArrowTable, truth: ArrowTable | Truths, bins: int = BINS) -> pl.DataFrame:
    """`crowdstream.metrics.reliability` with the limits of each share: right_low, right_high."""
    import polars as pl

    table = metrics.reliability(decisions, truth, bins)
    tasks = table["tasks"].to_numpy()
    low, high = metrics.wilson(table["accuracy"].to_numpy() * tasks, tasks)
    return table.with_columns(right_low=pl.Series(low), right_high=pl.Series(high))


def draw_reliability(table: pl.DataFrame, *, titled: bool = True) -> alt.TopLevelMixin:
    """Draw the table of `reliability`, without the theme."""
    import altair as alt
    import polars as pl

    least = min(float(cast("float", table[name].min())) for name in ("confidence", "right_low"))
    both = alt.Scale(domain=[max(min(least, 0.5) - 0.02, 0.0), 1.0], nice=False)
    axis = alt.Axis(format=PERCENT, tickCount=6)
    x = alt.X("confidence:Q", title="confidence", scale=both, axis=axis)
    ends = pl.DataFrame({"x": both.domain, "y": both.domain})
    line = alt.Chart(ends).mark_line(strokeDash=[4, 3], color=INK, strokeWidth=1.5)
    base = alt.Chart(table).encode(x=x)
    bars = base.mark_rule(strokeWidth=6, color=BAND).encode(
        y=alt.Y("right_low:Q", scale=both), y2="right_high:Q"
    )
    dots = base.mark_point(filled=True, size=70, opacity=1, color=BLUE).encode(
        y=alt.Y("accuracy:Q", title="share that is right", scale=both, axis=axis)
    )
    drawn = (
        line.encode(x=alt.X("x:Q", scale=both), y=alt.Y("y:Q", scale=both)) + bars + dots
    ).properties(width=panel_width(2), height=300)
    if not titled:
        return cast("alt.TopLevelMixin", drawn)
    small = "dashed: as often right as sure; below it: overconfident"
    text = title("Whether confidence means what it says", small)
    return cast("alt.TopLevelMixin", drawn.properties(title=text, padding=20))
