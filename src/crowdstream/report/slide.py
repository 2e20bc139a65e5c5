"""A picture of the report for slides: the answer, the tiles, the busiest workers, how sure.

Put together of SVG, in the colours of the page; no browser is needed.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from crowdstream.plain_text import printable, shortened
from crowdstream.report.charts.confidence import draw_confidence, histogram
from crowdstream.report.charts.workers import draw_workers
from crowdstream.report.overview import Tile, tiles_of
from crowdstream.report.parts import svg_of
from crowdstream.report.told import answer, how_known, size_words
from crowdstream.theme import FONT, LIGHT, escaped, theme

if TYPE_CHECKING:
    from crowdstream.report.making import Report

WIDTH, HEIGHT, SCALE = 1280, 720, 1.5
"""Of the slide, and pixels of the picture for each."""

EDGE, GAP, TOP, TILE = 40, 16, 150, 128
"""Around it, between boxes, above the tiles, and of a tile's height."""

ROWS = 14
"""Workers that a slide has room for."""


def draw_slide(report: Report) -> bytes:
    """The picture, as PNG."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(slide_svg(report), scale=SCALE))


def slide_svg(report: Report) -> str:
    """The same as SVG."""
    found = report.findings
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="{escaped(FONT)}"><rect width="100%" height="100%" fill="{LIGHT["bg"]}"/>',
        _text(EDGE, 58, shortened(printable(report.title), 70), 30, "ink", bold=True),
        _text(EDGE, 88, answer(found), 18, "ink"),
        _text(EDGE, 114, how_known(found) or size_words(found), 15, "soft"),
    ]
    tiles = tiles_of(found)
    wide = (WIDTH - 2 * EDGE - (len(tiles) - 1) * GAP) / len(tiles)
    for place, tile in enumerate(tiles):
        parts += _tile(tile, EDGE + place * (wide + GAP), wide)
    left = EDGE
    for title, chart, share in _charts(report):
        room = (WIDTH - 2 * EDGE - GAP) * share
        parts += _panel(title, svg_of(theme(chart)), left, room)
        left += round(room) + GAP
    return "".join([*parts, "</svg>"])


def _charts(report: Report) -> list[tuple[str, Any, float]]:
    """Charts with their titles and shares of the width."""
    found, charts = report.findings, list[tuple[str, Any, float]]()
    if found.identified:
        classes = len(found.crowd.classes_)
        chart: Any = draw_workers(found.workers, found.settings.level, classes, ROWS, titled=False)
        charts.append(("Error rates of the busiest workers", chart.properties(width=560), 0.6))
    if found.decisions is not None and found.decisions.drop_nulls("confidence").height:
        chart = draw_confidence(histogram(found.decisions), titled=False)
        charts.append(("How sure the decisions are", chart.properties(width=380, height=250), 0.4))
    return charts


def _text(x: float, y: float, text: str, size: int, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{LIGHT[colour]}"{weight}>'
        f"{escaped(text)}</text>"
    )


def _box(x: float, y: float, wide: float, high: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="10" '
        f'fill="{LIGHT["panel"]}" stroke="{LIGHT["line"]}"/>'
    )


def _tile(tile: Tile, x: float, wide: float) -> list[str]:
    """A number with its name above and its meaning below."""
    lines = textwrap.wrap(tile.about, round(wide / 6.6), max_lines=3, placeholder=" …")
    return [
        _box(x, TOP, wide, TILE),
        _text(x + 18, TOP + 26, tile.name, 13, "soft"),
        _text(x + 18, TOP + 60, tile.value, 30, "ink", bold=True),
        *(_text(x + 18, TOP + 82 + 16 * k, line, 12, "soft") for k, line in enumerate(lines)),
    ]


def _panel(title: str, svg: str, x: float, wide: float) -> list[str]:
    """A chart in its box; it is made as large as fits."""
    y = TOP + TILE + GAP
    high = HEIGHT - EDGE - y
    head, _, rest = svg.partition(">")
    size = head.partition('viewBox="')[2].partition('"')[0]
    placed = (
        f'<svg xmlns="http://www.w3.org/2000/svg" x="{x + 10:g}" y="{y + 40:g}" '
        f'width="{wide - 20:g}" height="{high - 50:g}" viewBox="{size}" '
        'preserveAspectRatio="xMinYMin">'
    )
    return [
        _box(x, y, wide, high),
        _text(x + 18, y + 28, title, 15, "ink", bold=True),
        placed,
        rest,
    ]
