"""Charts of workers: error rates with their intervals, and over time. Any chart → a file."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli.output import check_writable
from crowdstream.cli.terminal import LINE_LENGTH
from crowdstream.errors import InputError
from crowdstream.extras import need
from crowdstream.plain_text import NAME_LENGTH, chart_names, printable, shortened
from crowdstream.serialization import replacing
from crowdstream.theme import LETTER_WIDTH, LIGHT, html_table, inline_svg, page_head, theme
from crowdstream.wording import UNSEEN, evidence_words, flag_words, has_flag

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

PANEL = 280
"""Pixels of a panel of trends: as wide as the longest name above it."""

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
    check_writable(path, "--chart")


def save_chart(chart: alt.TopLevelMixin, path: str, table: pl.DataFrame) -> None:
    """A chart to a file by its extension, in the theme of all charts.

    A page has the numbers too, in a table. It holds no script: a name cannot become one.
    """
    import io

    from crowdstream.science.experiments.page import SCALE

    drawn = theme(chart)
    kind = Path(path).suffix.lower()[1:]
    if kind == "png":
        picture = io.BytesIO()
        drawn.save(picture, format="png", scale_factor=SCALE)
        data = picture.getvalue()
    else:
        text = io.StringIO()
        drawn.save(text, format="svg")
        title = str(drawn.to_dict()["title"]["text"])
        data = (text.getvalue() if kind == "svg" else _page(title, text.getvalue(), table)).encode()
    with replacing(path) as target, open(target, "wb") as file:
        file.write(data)


def _page(title: str, svg: str, table: pl.DataFrame) -> str:
    """The chart and its numbers, in the colours of the reader's screen."""
    lines = [[_cell(value) for value in row] for row in table.iter_rows()]
    names = [name.replace("_", " ") for name in table.columns]
    return "\n".join(
        (
            page_head(title),
            f"<figure>{inline_svg(svg, title)}</figure>",
            f"<details><summary>The numbers</summary>{html_table(names, lines)}</details>",
            "</html>\n",
        )
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return shortened(printable(flag_words(value)), LINE_LENGTH)
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return shortened(printable(shown), NAME_LENGTH)


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
        worker=pl.Series(chart_names(shown["worker"]), dtype=pl.String),
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
    room = LETTER_WIDTH * float(shown["worker"].str.len_chars().to_numpy().max())
    base = alt.Chart(shown.drop("flags")).encode(
        y=alt.Y(
            "worker:N",
            title=None,
            sort=shown["worker"].to_list(),
            axis=alt.Axis(grid=True, gridOpacity=0.4, labelLimit=0, ticks=False, minExtent=room),
        ),
        color=alt.Color("mark:N", title=None, scale=scale, legend=legend),
    )
    axis = alt.Axis(format="~%", orient="top", tickCount=8)
    dots = base.mark_point(filled=True, size=50, opacity=1).encode(
        x=alt.X("error_rate:Q", title="error rate", axis=axis, scale=alt.Scale(zero=True))
    )
    ranges = base.mark_rule(strokeWidth=2, opacity=0.6).encode(x="error_low:Q", x2="error_high:Q")
    guess = alt.Chart(pl.DataFrame({"x": [1 - 1 / max(classes, 2)]}))
    chance = guess.mark_rule(strokeDash=[4, 3], color=LIGHT["ink"]).encode(x="x:Q")
    basis = textwrap.wrap(evidence_words(shown), SUBTITLE)
    title = _title(f"Error rates of {number}", f"{lines}dashed: a worker who guesses", *basis)
    return _finish((chance + ranges + dots).properties(width=800, height={"step": 18}), title)


def draw_trends(
    trends: pl.DataFrame, names: list[str], changed: list[str], of: int
) -> alt.TopLevelMixin:
    """Error rates over the tasks, one panel per worker; those with an alarm stand out."""
    import altair as alt
    import polars as pl

    order = chart_names(names)
    shown = trends.filter(trends["worker"].is_in(names)).with_columns(
        mark=pl.when(pl.col("worker").is_in(changed))
        .then(pl.lit("alarm"))
        .otherwise(pl.lit("no alarm")),
        worker=pl.col("worker").replace_strict(dict(zip(names, order, strict=True))),
    )
    scale = alt.Scale(domain=["no alarm", "alarm"], range=[BLUE, ORANGE])
    legend = alt.Legend(orient="top", symbolOpacity=1) if set(changed) & set(names) else None
    colour = alt.Color("mark:N", title=None, scale=scale, legend=legend)
    ticks = alt.Axis(format=",d", tickCount=3, grid=False)
    base = alt.Chart(shown).encode(x=alt.X("tasks_seen:Q", title="tasks", axis=ticks), color=colour)
    percent = alt.Axis(format="~%", tickCount=4)
    y = alt.Y("error_low:Q", title=None, axis=percent, scale=alt.Scale(zero=True))
    bands = base.mark_area(opacity=0.2, line=False).encode(y=y, y2="error_high:Q")
    lines = base.mark_line(point=alt.OverlayMarkDef(size=18)).encode(y="error_rate:Q")
    number = f"{len(names)} of {of:,} workers" if len(names) < of else f"{of:,} workers"
    chosen = "those with alarms, then the most active; " if len(names) < of else ""
    small = (f"{chosen}bands: 95 % intervals, from agreement between workers", UNSEEN)
    title = _title(f"Error rates of {number} over time", *small)
    header = alt.Header(labelLimit=0)
    head = alt.Facet("worker:N", title=None, sort=order, header=header)
    panels = (bands + lines).properties(width=PANEL, height=120).facet(facet=head, columns=3)
    return _finish(panels, title)


def _title(text: str, *small: str) -> alt.TitleParams:
    import altair as alt

    return alt.TitleParams(
        text, subtitle=list(small), anchor="start", fontSize=16, subtitleFontSize=12, offset=12
    )


def _finish(chart: alt.LayerChart | alt.FacetChart, title: alt.TitleParams) -> alt.TopLevelMixin:
    done: alt.TopLevelMixin = chart.properties(title=title, padding=20)
    return done
