"""Look of pages and charts: named colours, a style sheet and a theme for altair.

One place for all. A chart is drawn in the light colours; put into a page by `inline_svg` it takes
the page's, which are dark where the reader's screen is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterable, Sequence
from typing import Any

from crowdstream.plain_text import printable

LIGHT = {
    "bg": "#fafaf8",
    "panel": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#5b6570",
    "line": "#e4e5e1",
    "accent": "#1f5fbf",
    "good": "#2e7d4f",
    "warn": "#b25e09",
    "bad": "#b3261e",
    "band": "#c9d8ef",
    "chip": "#eef1f4",
    "teal": "#0e7c7b",
    "violet": "#6a3fb0",
    "magenta": "#a3307a",
}
"""Colours by name. The last three are for lines that are neither good nor bad; with the accent they
are told apart by those who do not see red and green, and have a contrast of 4.5 on the panel."""

DARK = {
    "bg": "#121417",
    "panel": "#1a1d21",
    "ink": "#e8eaed",
    "soft": "#9aa4af",
    "line": "#2b3036",
    "accent": "#7db0ff",
    "good": "#6fcf97",
    "warn": "#f2a65a",
    "bad": "#ff8a80",
    "band": "#2d4468",
    "chip": "#252a30",
    "teal": "#5fd0cf",
    "violet": "#b99bf5",
    "magenta": "#ee8fc8",
}
"""Colours on a dark screen, by the names of `LIGHT`."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

RAMP = [LIGHT[name] for name in ("teal", "accent", "violet", "magenta")]
"""For what has an order, as q or β."""

PNG_SCALE = 2.0
"""Pixels of a PNG for each of the chart's own: sharp on most screens."""

WIDE = 940
"""Pixels of a chart that stands alone; with its axes it fills a page of 1,180."""

PANEL_HEIGHT = 300

LETTER_WIDTH = 8.0
"""Pixels of a letter of an axis, 13 pixels high, in the widest fonts that browsers choose: names
beside a chart are written to the left, and what does not fit is cut."""

GAP = 40
"""Between charts side by side: room for the next one's axis."""


def panel_width(columns: int) -> int:
    """Pixels of one of so many charts side by side.

    >>> panel_width(1), panel_width(2)
    (940, 440)
    """
    return (WIDE - (columns - 1) * (GAP + 20)) // columns


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


STYLE = f"""
:root {{ {_variables(LIGHT)} color-scheme: light dark; }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
* {{ box-sizing: border-box; }}
html {{ background: var(--bg); }}
body {{ color: var(--ink); font: 15px/1.5 {FONT}; font-variant-numeric: tabular-nums;
       max-width: 1180px; margin: 24px auto; padding: 0 28px; }}
h1 {{ font-size: 24px; line-height: 1.25; }} h2 {{ font-size: 18px; margin: 40px 0 8px; }}
a {{ color: var(--accent); }} h1, h2, p, code {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; margin: 12px 0; width: 100%; }}
th, td {{ text-align: left; padding: 7px 8px; border-bottom: 1px solid var(--line);
         vertical-align: top; }}
th {{ font-weight: 500; color: var(--soft); font-size: 13px; }}
.holds {{ color: var(--good); font-weight: 600; white-space: nowrap; }}
.fails {{ color: var(--bad); font-weight: 600; white-space: nowrap; }}
blockquote {{ border-left: 3px solid var(--line); margin: 8px 0; padding: 2px 16px;
             color: var(--soft); }}
figure {{ margin: 12px 0; background: var(--panel); border: 1px solid var(--line);
         border-radius: 10px; padding: 12px; overflow-x: auto; }}
figure svg {{ min-width: 860px; }}
figure svg, img {{ display: block; width: 100%; max-width: 1120px; height: auto; }}
img {{ background: #fff; }} svg text {{ font-variant-numeric: tabular-nums; }}
:focus-visible {{ outline: 2px solid var(--accent); outline-offset: 2px; }}
th.number, td.number {{ text-align: right; white-space: nowrap; }}
.note {{ color: var(--soft); font-size: 13px; }} .wide {{ overflow-x: auto; }}
@media print {{ figure, tr {{ break-inside: avoid; }} }}
"""
"""Style sheet of every page."""


def theme(chart: Any) -> Any:
    """A finished chart in these colours and letters; what it sets itself it keeps."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelColor": LIGHT["soft"]}
    lines = {"gridColor": LIGHT["line"], "domainColor": LIGHT["line"], "tickColor": LIGHT["line"]}
    words = {"titleColor": LIGHT["soft"], "titleFontWeight": "normal", "labelLimit": 0}
    # A browser's letters may be a fifth wider than those the chart was laid out with.
    room = {"titlePadding": 16}
    size = {"labelFontSize": 13, "titleFontSize": 13}
    return chart.configure(
        font=FONT,
        background=LIGHT["panel"],
        padding=12,
        view={"stroke": None},
        axis={**text, **lines, **words, **size},
        axisY=room,
        legend={
            **text,
            **words,
            **size,
            "orient": "top",
            "symbolStrokeWidth": 3,
            "symbolOpacity": 1,
            "symbolBaseStrokeColor": LIGHT["soft"],
            "columnPadding": 44,
        },
        header={**text, **size, "labelColor": LIGHT["ink"], "labelFontWeight": 600, "title": None},
        title={
            "font": FONT,
            "color": LIGHT["ink"],
            "fontSize": 14,
            "anchor": "start",
            "subtitleFont": FONT,
            "subtitleColor": LIGHT["soft"],
            "offset": 10,
        },
        line={"strokeWidth": 2.5},
        concat={"spacing": GAP},
        range={"category": RAMP, "ordinal": RAMP},
    )


TAG = re.compile(r'<(?:[^>"]|"[^"]*")*>')
"""One tag of an SVG; what stands between two is text."""

PAINT = re.compile(r' (fill|stroke|stop-color)="(#[0-9a-fA-F]{6}|white)"')

VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()} | {"white": "var(--panel)"}


INNER = re.compile(r' (?:role|aria-label|aria-roledescription)="[^"]*"')
"""ARIA labels that Vega adds to every mark; removed because the chart is exposed as one image."""


def inline_svg(svg: str, label: str) -> str:
    """A chart's SVG for a page: in the page's own colours, with a text that says what it is.

    Only where something is painted are colours changed: a name that reads like one stays.

    >>> inline_svg('<svg ><g fill="#1f5fbf"><text>#1f5fbf</text></g></svg>', "error & rate")
    '<svg role="img" aria-label="error &amp; rate" ><g fill="var(--accent)"><text>#1f5fbf</text>...'
    """

    def paint(found: re.Match[str]) -> str:
        colour = found[2].lower()
        return f' {found[1]}="{VARIABLES.get(colour, colour)}"'

    svg = TAG.sub(lambda tag: PAINT.sub(paint, INNER.sub("", tag[0])), svg)
    quoted = html.escape(printable(label))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{quoted}" ', 1)


def page_head(title: str, style: str = "") -> str:
    """The beginning of every page.

    >>> "<title>a &lt; b</title>" in page_head("a < b")
    True
    """
    return (
        "<!DOCTYPE html><html lang=en><meta charset=utf-8>\n"
        "<meta name=viewport content='width=device-width, initial-scale=1'>\n"
        f"<title>{html.escape(title)}</title><style>{STYLE}{style}</style>"
    )


class Markup(str):
    """Text that is HTML already: escaped where it was made."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """Any text as a page shows it; what is `Markup` stays.

    >>> escaped("<b>"), escaped(Markup("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return text if isinstance(text, Markup) else Markup(html.escape(printable(text)))


def html_table(
    head: Sequence[str],
    lines: Iterable[Sequence[str]],
    *,
    label: str = "table",
    right: Container[str] = (),
) -> str:
    """A table that scrolls inside itself, by keyboard too; ``right``: columns of numbers.

    >>> html_table(["worker"], [["<b>"]]).count("&lt;b&gt;")
    1
    """
    sides = [" class=number" if name in right else "" for name in head]
    rows = "\n".join(
        "<tr>"
        + "".join(f"<td{side}>{escaped(x)}</td>" for side, x in zip(sides, cells, strict=True))
        + "</tr>"
        for cells in lines
    )
    top = "".join(
        f"<th scope=col{side}>{escaped(x)}</th>" if x else f"<td{side}></td>"
        for side, x in zip(sides, head, strict=True)
    )
    return (
        f'<div class=wide tabindex=0 role=region aria-label="{escaped(label)}"><table>'
        f"<thead><tr>{top}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def html_figure(svg: str, label: str, kind: str = "") -> str:
    """A chart in a frame that scrolls inside itself where the screen is narrow."""
    return f'<figure class="{kind}" tabindex=0>{inline_svg(svg, label)}</figure>'
