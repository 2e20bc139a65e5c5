"""The chart of trends: error rates over time, one small panel per worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from crowdstream.errors import InputError
from crowdstream.plain_text import chart_names
from crowdstream.report.charts.drawing import (
    BLUE,
    ORANGE,
    PERCENT,
    crowd_of,
    ready,
    title,
)
from crowdstream.report.monitors import alarms_of, watches_time
from crowdstream.theme import theme
from crowdstream.wording import UNSEEN

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.labels import WorkerId
    from crowdstream.stream.stream import Stream

MOST_TRENDS = 12
"""Workers whose error rates are drawn over time."""

PANEL = 280
"""Pixels of a panel of trends: as wide as the longest name above it."""


def trends(crowd: Estimator | Stream, workers: Sequence[WorkerId] | None = None) -> alt.Chart:
    """Error rates over the tasks, one panel per worker; those with an alarm stand out.

    Parameters
    ----------
    crowd
        An estimator with monitors (see `crowdstream.monitor`), or a stream of one.
    workers
        Whom to draw; by default twelve: those with alarms, then the most active.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.monitor(cs.Adaptive()).fit(cs.simulate(8, 600, p=0.2).labels())
    >>> trends(crowd, ["w0", "w1"]).to_dict()["title"]["text"]
    'Error rates of 2 of 8 workers over time'
    """
    from crowdstream import monitoring

    ready()
    estimator = crowd_of(crowd)
    if not watches_time(estimator):
        expected = "an estimator with monitors over time: cs.monitor(crowd)"
        raise InputError("crowd", expected, "none")
    names, changed = watched(estimator)
    if workers is not None:
        names = list(workers)
    table = monitoring.trends(estimator, names)
    return cast("alt.Chart", theme(draw_trends(table, names, changed, len(estimator._workers))))


def watched(crowd: Estimator, most: int = MOST_TRENDS) -> tuple[list[WorkerId], list[WorkerId]]:
    """Choose workers to draw, those with alarms first; and list those with alarms."""
    from crowdstream.monitoring.estimator_view import answers_of

    alarms = sorted(alarms_of(crowd), key=lambda alarm: -alarm.evidence)
    changed = list(dict.fromkeys(alarm.worker for alarm in alarms))
    names = crowd.workers_
    busiest = (-answers_of(crowd)).argsort(kind="stable")[: most + len(changed)]
    active = [names[place] for place in busiest.tolist()]
    return list(dict.fromkeys([*changed, *active]))[:most], changed


def draw_trends(
    trends: pl.DataFrame,
    names: Sequence[WorkerId],
    changed: Sequence[WorkerId],
    of: int,
    *,
    titled: bool = True,
) -> alt.TopLevelMixin:
    """Draw a table of trends, without the theme."""
    import altair as alt
    import polars as pl

    given, marked = list(map(str, names)), set(map(str, changed))
    order = chart_names(given)
    lines = trends.cast({"worker": pl.String})
    shown = lines.filter(lines["worker"].is_in(given)).with_columns(
        mark=pl.when(pl.col("worker").is_in(list(marked)))
        .then(pl.lit("alarm"))
        .otherwise(pl.lit("no alarm")),
        worker=pl.col("worker").replace_strict(dict(zip(given, order, strict=True))),
    )
    scale = alt.Scale(domain=["no alarm", "alarm"], range=[BLUE, ORANGE])
    legend = alt.Legend(orient="top", symbolOpacity=1) if marked & set(given) else None
    colour = alt.Color("mark:N", title=None, scale=scale, legend=legend)
    ticks = alt.Axis(format=",d", tickCount=3, grid=False)
    base = alt.Chart(shown).encode(x=alt.X("tasks_seen:Q", title="tasks", axis=ticks), color=colour)
    percent = alt.Axis(format=PERCENT, tickCount=4)
    y = alt.Y("error_low:Q", title=None, axis=percent, scale=alt.Scale(zero=True))
    bands = base.mark_area(opacity=0.2, line=False).encode(y=y, y2="error_high:Q")
    line = base.mark_line(point=alt.OverlayMarkDef(size=18)).encode(y="error_rate:Q")
    head = alt.Facet("worker:N", title=None, sort=order, header=alt.Header(labelLimit=0))
    panels = (bands + line).properties(width=PANEL, height=120).facet(facet=head, columns=3)
    if not titled:
        return cast("alt.TopLevelMixin", panels)
    number = f"{len(names)} of {of:,} workers" if len(names) < of else f"{of:,} workers"
    chosen = "those with alarms, then the most active; " if len(names) < of else ""
    small = (f"{chosen}bands: 95 % intervals, from agreement between workers", UNSEEN)
    text = title(f"Error rates of {number} over time", *small)
    return cast("alt.TopLevelMixin", panels.properties(title=text, padding=20))
