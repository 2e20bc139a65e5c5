"""Charts of workers: error rates with their intervals, and over time. Any chart → a file."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli.extras import need
from crowdstream.cli.terminal import printable
from crowdstream.cli.wording import UNSEEN, evidence_words, flag_words, has_flag
from crowdstream.errors import InputError
from crowdstream.science.theme import LIGHT, theme
from crowdstream.serialization import replacing

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

SUFFIXES = (".html", ".png", ".svg")

MOST = 60
"""Workers in one chart: more would not be legible."""

SUBTITLE = 95
"""Characters of a line below a title."""

MOST_TRENDS = 12
"""Workers whose error rates are drawn over time."""

BLUE, ORANGE, GREY = (LIGHT[name] for name in ("accent", "warn", "soft"))
"""Colours that those who do not see red and green can tell apart."""


BETTER, UNSURE, NO_BETTER = "better than chance", "not clear yet", "at chance or worse"
"""What the colours of the dots mean."""


def check_chart(path: str | None) -> None:
    """Refuse, before any work, a chart that could not be drawn."""
    if path is None:
        return
    need("altair", "vl_convert")
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError("--chart", f"a name that ends in {' '.join(SUFFIXES)}", repr(path))
    if not Path(path).resolve().parent.is_dir():
        raise InputError("--chart", "a folder that exists", repr(str(Path(path).parent)))


def save_chart(chart: alt.TopLevelMixin, path: str) -> None:
    """A chart to a file by its extension, in the theme of all charts."""
    from crowdstream.science.experiments.page import SCALE

    chart = theme(chart)
    kind = Path(path).suffix.lower()[1:]
    with replacing(path) as target:
        # All in one file: a page looks the same without a network.
        more = {"inline": True} if kind == "html" else {"scale_factor": SCALE}
        chart.save(target, format=kind, **more)  # type: ignore[arg-type]
        if kind == "html":
            page = Path(target)
            page.write_text(_escape(page.read_text("utf-8"), chart.to_dict()), "utf-8")


def _escape(page: str, spec: object) -> str:
    """Names are data: none may end the script that it stands in."""
    for text in {found for found in _strings(spec) if "<" in found}:
        written = json.dumps(text)[1:-1]
        page = page.replace(written, written.replace("<", "\\u003c"))
    return page


def _strings(part: object) -> Iterator[str]:
    """All text in a chart's description, names of fields too."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        yield from part
        for value in part.values():
            yield from _strings(value)
    elif isinstance(part, Sequence):
        for value in part:
            yield from _strings(value)


def draw_workers(workers: pl.DataFrame, level: float, classes: int) -> alt.TopLevelMixin:
    """One dot per worker for its error rate and a line for the interval, the best on top."""
    import altair as alt
    import polars as pl

    known = workers.filter(workers["error_rate"].is_not_null())
    shown = known.top_k(MOST, by="answers").sort("error_rate")
    bad = has_flag(shown, "worse_than_chance") | has_flag(shown, "at_chance")
    shown = shown.with_columns(
        mark=pl.when(has_flag(shown, "better_than_chance"))
        .then(pl.lit(BETTER))
        .when(bad)
        .then(pl.lit(NO_BETTER))
        .otherwise(pl.lit(UNSURE)),
        worker=pl.Series(map(printable, shown["worker"]), dtype=pl.String),
        flags=pl.Series(map(printable, map(flag_words, shown["flags"])), dtype=pl.String),
    )
    number = f"{known.height:,} workers"
    if known.height > MOST:
        number = f"the {MOST} most active of {number}"
    lines = f"lines: {100 * level:.4g} % intervals; " if shown["error_low"].count() else ""
    scale = alt.Scale(
        domain=[BETTER, UNSURE, NO_BETTER],
        range=[BLUE, GREY, ORANGE],
    )
    legend = alt.Legend(orient="top", labelLimit=0, symbolOpacity=1)
    base = alt.Chart(shown).encode(
        y=alt.Y(
            "worker:N",
            title=None,
            sort=shown["worker"].to_list(),
            axis=alt.Axis(grid=True, gridOpacity=0.4, labelLimit=180, ticks=False),
        ),
        color=alt.Color("mark:N", title=None, scale=scale, legend=legend),
        tooltip=["worker", "answers", "error_rate", "error_low", "error_high", "flags"],
    )
    axis = alt.Axis(format="~%", orient="top", tickCount=8)
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=alt.X("error_rate:Q", title="error rate", axis=axis, scale=alt.Scale(zero=True))
    )
    ranges = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x="error_low:Q", x2="error_high:Q")
    guess = alt.Chart(pl.DataFrame({"x": [1 - 1 / max(classes, 2)]}))
    chance = guess.mark_rule(strokeDash=[4, 3], color="#444").encode(x="x:Q")
    basis = textwrap.wrap(evidence_words(shown), SUBTITLE)
    title = _title(f"Error rates of {number}", f"{lines}dashed: a worker who guesses", *basis)
    return _finish((chance + ranges + dots).properties(width=560, height={"step": 15}), title)


def draw_trends(
    trends: pl.DataFrame, names: list[str], changed: list[str], of: int
) -> alt.TopLevelMixin:
    """Error rates over the tasks, one panel per worker; those with an alarm stand out."""
    import altair as alt
    import polars as pl

    shown = trends.filter(trends["worker"].is_in(names)).with_columns(
        mark=pl.when(pl.col("worker").is_in(changed))
        .then(pl.lit("alarm"))
        .otherwise(pl.lit("no alarm")),
        worker=pl.col("worker").map_elements(printable, pl.String),
    )
    scale = alt.Scale(domain=["no alarm", "alarm"], range=[BLUE, ORANGE])
    legend = alt.Legend(orient="top", symbolOpacity=1) if set(changed) & set(names) else None
    colour = alt.Color("mark:N", title=None, scale=scale, legend=legend)
    ticks = alt.Axis(format=",", tickCount=3, grid=False)
    base = alt.Chart(shown).encode(x=alt.X("tasks_seen:Q", title="tasks", axis=ticks), color=colour)
    percent = alt.Axis(format="~%", tickCount=4)
    y = alt.Y("error_low:Q", title=None, axis=percent, scale=alt.Scale(zero=True))
    bands = base.mark_area(opacity=0.2, line=False).encode(y=y, y2="error_high:Q")
    lines = base.mark_line(point=alt.OverlayMarkDef(size=18)).encode(y="error_rate:Q")
    number = f"{len(names)} of {of:,} workers" if len(names) < of else f"{of:,} workers"
    chosen = "those with alarms, then the most active; " if len(names) < of else ""
    small = (
        f"{chosen}bands: 95 % intervals, which rest on agreement between workers alone",
        UNSEEN,
    )
    title = _title(f"Error rates of {number} over time", *small)
    order, header = list(map(printable, names)), alt.Header(labelLimit=210)
    head = alt.Facet("worker:N", title=None, sort=order, header=header)
    panels = (bands + lines).properties(width=215, height=120).facet(facet=head, columns=3)
    return _finish(panels, title)


def _title(text: str, *small: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(
        text, subtitle=list(small), anchor="start", fontSize=16, subtitleFontSize=12, offset=12
    )


def _finish(chart: alt.LayerChart | alt.FacetChart, title: alt.TitleParams) -> alt.TopLevelMixin:
    done: alt.TopLevelMixin = chart.properties(title=title, padding=20)
    return done
