"""A picture of the report for slides: the answer, the tiles, the busiest workers, how sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdstream.plain_text import printable, shortened
from crowdstream.report.charts.confidence import draw_confidence, histogram
from crowdstream.report.charts.workers import draw_workers
from crowdstream.report.overview import tiles_of
from crowdstream.report.told import answer
from crowdstream.theme import LIGHT, theme

if TYPE_CHECKING:
    from crowdstream.report.making import Report

WIDTH, TILES, SCALE = 1180, 96, 2.0
"""Pixels across, pixels of the row of tiles, and pixels of the picture for each."""

ROWS = 14
"""Workers that a slide has room for."""

LETTERS = 40
"""Letters of a line below a tile."""


def draw_slide(report: Report) -> bytes:
    """The picture, as PNG."""
    import altair as alt
    import vl_convert

    found = report.findings
    below: list[Any] = []
    if found.identified:
        classes = len(found.crowd.classes_)
        chart: Any = draw_workers(found.workers, found.settings.level, classes, ROWS, titled=False)
        below.append(chart.properties(width=470, title="Error rates of the busiest workers"))
    if found.decisions is not None and found.decisions.drop_nulls("confidence").height:
        chart = draw_confidence(histogram(found.decisions), titled=False)
        below.append(chart.properties(width=330, title="How sure the decisions are"))
    heading = alt.TitleParams(
        shortened(printable(report.title), 80),
        subtitle=shortened(printable(answer(found)), 150),
        fontSize=26,
        subtitleFontSize=15,
        anchor="start",
        offset=16,
    )
    rows = [_tiles(report), alt.hconcat(*below).resolve_scale(color="independent")]
    chart = alt.vconcat(*rows if below else rows[:1]).properties(title=heading, padding=28)
    spec = theme(chart.resolve_scale(color="independent")).to_dict()
    return bytes(vl_convert.vegalite_to_png(spec, scale=SCALE))


def _tiles(report: Report) -> Any:
    """The tiles as text side by side."""
    import textwrap

    import altair as alt
    import polars as pl

    tiles = tiles_of(report.findings)
    table = pl.DataFrame(
        {
            "x": range(len(tiles)),
            "name": [tile.name for tile in tiles],
            "value": [tile.value for tile in tiles],
            "about": ["\n".join(textwrap.wrap(tile.about, LETTERS)) for tile in tiles],
        }
    )
    scale = alt.Scale(domain=[0, len(tiles)], nice=False)
    base = alt.Chart(table).encode(x=alt.X("x:Q", axis=None, scale=scale))
    soft: dict[str, Any] = {"align": "left", "color": LIGHT["soft"], "fontSize": 12}
    names = base.mark_text(**soft, y=8).encode(text="name:N")
    values = base.mark_text(
        align="left", color=LIGHT["ink"], fontSize=28, fontWeight="bold", y=34
    ).encode(text="value:N")
    about = base.mark_text(**soft, y=62, lineBreak="\n").encode(text="about:N")
    return (names + values + about).properties(width=WIDTH - 80, height=TILES)
