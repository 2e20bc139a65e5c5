"""A picture of the report for slides: the answer, the tiles, the busiest workers, how sure.

Of several questions: a line each.

Put together of SVG, in the colours of the page; no browser is needed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crowdstream.plain_text import counted, percent, printable, shortened, unlike_names
from crowdstream.report.advised import ACTED_ON, count_advice
from crowdstream.report.charts.confidence import draw_confidence, histogram
from crowdstream.report.charts.workers import draw_workers
from crowdstream.report.overview import Tile, tiles_of
from crowdstream.report.parts import svg_of
from crowdstream.report.questions_table import ADVICE, limits_of, questions_words, summary_words
from crowdstream.report.told import (
    answer,
    briefly_known,
    how_known,
    range_words,
    size_words,
    wrong_share,
)
from crowdstream.theme import FONT, LIGHT, escaped, theme

if TYPE_CHECKING:
    from crowdstream.report.findings import Findings
    from crowdstream.report.making import Report

WIDTH, HEIGHT, SCALE = 1280, 720, 1.5
"""Size of the slide, and pixels of the picture per unit."""

EDGE, GAP, TOP, TILE = 40, 16, 150, 128
"""Around it, between boxes, above the tiles, and of a tile's height."""

ROWS = 14
"""Workers that a slide has room for."""

ABOVE, LINE, METER = 110, 40, 70
"""Above the table of questions, of a line of it, and of a full meter."""

QUESTIONS = 13
"""Questions that a slide has room for."""

QUESTION = 34
"""Characters of a question that its column has room for."""

LAST = ADVICE
COLUMNS = {
    "question": 58,
    "tasks": 350,
    "workers": 425,
    "classes": 500,
    "settled": 575,
    "wrong decisions": 670,
    "how that is known": 840,
    LAST: 1075,
}
"""Left edge of each column in the table of questions."""

FIRST = ("question", "tasks", "workers", "classes")
"""Columns that a state has too."""


def draw_slide(report: Report) -> bytes:
    """The picture, as PNG."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(slide_svg(report), scale=SCALE))


def slide_svg(report: Report) -> str:
    """Draw the slide as SVG."""
    found = report.findings
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="{escaped(FONT)}"><rect width="100%" height="100%" fill="{LIGHT["bg"]}"/>',
        _text(EDGE, 58, shortened(printable(report.title), 70), 30, "ink", bold=True),
    ]
    if len(report.questions) > 1:
        return "".join([*parts, *_questions(report.questions), "</svg>"])
    parts += [
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


def _questions(questions: Mapping[str, Findings]) -> list[str]:
    """A table of the questions: as many lines as there is room for."""
    shown = unlike_names(questions, QUESTION)
    parts = [
        _text(EDGE, 88, questions_words(questions) or summary_words(questions), 18, "ink"),
        _box(EDGE, ABOVE, WIDTH - 2 * EDGE, 68 + LINE * min(len(questions), QUESTIONS)),
    ]
    decided = any(not found.from_state for found in questions.values())
    columns = COLUMNS if decided else {name: COLUMNS[name] for name in (*FIRST, LAST)}
    for name, x in columns.items():
        parts.append(_text(x, ABOVE + 28, name, 13, "soft"))
    rest = len(questions) - QUESTIONS
    most = QUESTIONS if rest <= 0 else QUESTIONS - 1
    y = float(ABOVE + 32)
    for title, found in list(zip(shown, questions.values(), strict=True))[:most]:
        y += LINE
        line = y - LINE + 16
        parts.append(
            f'<line x1="{EDGE + 18}" x2="{WIDTH - EDGE - 18}" y1="{line:g}" y2="{line:g}" '
            f'stroke="{LIGHT["line"]}"/>'
        )
        parts += _question(title, found, y)
    if rest > 0:
        more = f"… and {counted(rest + 1, 'question')} more"
        parts.append(_text(EDGE + 18, y + LINE, more, 15, "soft"))
    return parts


def _question(title: str, found: Findings, y: float) -> list[str]:
    """One line: how large, how much is settled, how much is wrong, whom to drop, coach or pay."""
    counts = count_advice(found.workers)
    advised = ", ".join(f"{name} {counts[name]:,}" for name in ACTED_ON if counts.get(name))
    cells = {
        "question": title,
        "tasks": f"{found.tasks:,}",
        "workers": f"{len(found.crowd._workers):,}",
        "classes": f"{len(found.classes):,}",
        LAST: advised if found.identified else "not known: majority vote",
    }
    if not found.from_state:
        settled = found.settled / max(found.tasks, 1)
        limits = limits_of(found)
        cells["settled"] = percent(settled)
        cells["wrong decisions"] = percent(wrong_share(found))
        if limits is not None:
            cells["wrong decisions"] += f" ({range_words(*limits)})"
        cells["how that is known"] = briefly_known(found).partition(":")[0]
    parts = []
    for name, text in cells.items():
        bold = name in ("question", "settled", "wrong decisions")
        parts.append(_text(COLUMNS[name], y, text, 15, "ink" if bold else "soft", bold=bold))
    if not found.from_state:
        for share, colour in ((1.0, "chip"), (settled, "accent")):
            parts.append(
                f'<rect x="{COLUMNS["settled"]}" y="{y + 6:g}" width="{METER * share:.1f}" '
                f'height="5" fill="{LIGHT[colour]}"/>'
            )
    return parts


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
