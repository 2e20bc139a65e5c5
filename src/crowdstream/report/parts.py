"""The pieces that the page is put together of: names, bands, chips, figures, sections.

Every name goes through here or through `theme.escaped`; knows nothing of what is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from crowdstream.plain_text import NAME_LENGTH, percent, printable, shortened
from crowdstream.theme import Markup, escaped, html_figure, html_table, theme

TRACK, HEIGHT, EDGE = 200, 16, 8
"""Pixels of the drawing of an interval, and of the room for half a dot at its ends."""


class Place(NamedTuple):
    """A question's place in the page: the beginning of its anchors, the level of its headings."""

    prefix: str = ""
    level: int = 2


@dataclass(frozen=True)
class Section:
    """A part of the page: its anchor, its heading, an answer in a sentence, and the rest.

    ``short``: it needs no page of its own on paper.
    """

    name: str
    title: str
    answer: str
    body: str
    short: bool = False

    def html(self, place: Place = Place()) -> str:  # noqa: B008 a tuple
        """As it stands in the page."""
        answer = f"<p class=lead>{escaped(self.answer)}</p>" if self.answer else ""
        kind = " class=short" if self.short else ""
        heading = f"<h{place.level}>{escaped(self.title)}</h{place.level}>"
        return (
            f'<section id="{place.prefix}{self.name}"{kind}>{heading}{answer}{self.body}</section>'
        )

    def link(self, place: Place = Place()) -> str:  # noqa: B008 a tuple
        """The way to it."""
        return f'<a href="#{place.prefix}{self.name}">{escaped(self.title)}</a> '


def name_of(value: object) -> Markup:
    """A name from data: short, and whatever direction it is written in, alone in it.

    >>> name_of("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return Markup(f"<bdi>{escaped(shortened(printable(value), NAME_LENGTH))}</bdi>")


def plain_name(value: object) -> str:
    """Return a name for a sentence that is escaped as a whole later."""
    return shortened(printable(value), NAME_LENGTH)


def note(text: str) -> str:
    """A line in small letters."""
    return f"<p class=note>{escaped(text)}</p>"


def bullets(lines: Iterable[str]) -> str:
    """Sentences one below the other."""
    return "<ul>" + "".join(f"<li>{escaped(line)}</li>" for line in lines) + "</ul>"


def chip(text: str, state: str = "") -> Markup:
    """A word that marks a row; ``state``: good, warn or bad."""
    return Markup(f'<span class="chip {state}">{escaped(text)}</span>')


def numbers(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A chart's text equivalent: its numbers, one click away."""
    table = html_table(head, rows, label="the numbers of the chart", right=right)
    return f"<details><summary>The numbers</summary>{table}</details>"


def figure(chart: Any, label: str, kind: str = "") -> str:
    """A chart without a theme yet, drawn into the page."""
    return html_figure(svg_of(theme(chart)), label, kind)


def svg_of(chart: Any) -> str:
    """A chart as SVG."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(chart.to_dict()))


def band_x(value: float, top: float) -> float:
    """Return the x coordinate of a rate on an axis from 0 to ``top``."""
    return round(EDGE + min(value / top, 1.0) * (TRACK - 2 * EDGE), 1)


def band_axis(top: float, chance: float) -> Markup:
    """The heading of a column of bands: where 0 is, and chance."""
    at = band_x(chance, top)
    return Markup(
        f'<svg class=band role=img aria-label="error rate from 0 to chance" '
        f'viewBox="0 0 {TRACK} {HEIGHT}" fill="var(--soft)" font-size="11">'
        f'<text x="{EDGE - 3}" y="12">0</text>'
        f'<text x="{at}" y="12" text-anchor="middle" fill="var(--bad)">chance</text></svg>'
    )


def share_axis(top: float) -> Markup:
    """The heading of a column of bands that end at ``top``."""
    return Markup(f"<span class=axis><span>0</span> <span>{percent(top)}</span></span>")


def meter(share: float) -> Markup:
    """A bar that is full at 1."""
    wide = round(100 * min(max(share, 0.0), 1.0), 1)
    return Markup(
        '<svg class=meter aria-hidden=true viewBox="0 0 100 8" preserveAspectRatio="none">'
        '<rect width="100" height="8" fill="var(--chip)"/>'
        f'<rect width="{wide}" height="8" fill="var(--accent)"/></svg>'
    )


def band(
    rate: float,
    low: float | None,
    high: float | None,
    top: float,
    chance: float | None,
    hollow: bool,
) -> Markup:
    """An interval and its dot on an axis from 0 to ``top``, with a dashed line at ``chance``."""

    at = [None if value is None else band_x(value, top) for value in (rate, low, high, chance)]
    dot, left, right, guess = at
    y, size = HEIGHT / 2, HEIGHT / 4
    parts = [
        f'<line x1="{EDGE}" x2="{TRACK - EDGE}" y1="{y}" y2="{y}" stroke="var(--line)"/>',
    ]
    if guess is not None:
        parts.append(
            f'<line x1="{guess}" x2="{guess}" y1="0" y2="{HEIGHT}" stroke="var(--bad)" '
            'stroke-dasharray="3 2"/>'
        )
    if left is not None and right is not None:
        wide = max(round(right - left, 1), 1)
        parts.append(
            f'<rect x="{left}" width="{wide}" y="{y - size}" height="{2 * size}" rx="{size}" '
            'fill="var(--band)"/>'
        )
    fill = "var(--panel)" if hollow else "var(--accent)"
    parts.append(
        f'<circle cx="{dot}" cy="{y}" r="{size}" fill="{fill}" stroke="var(--accent)" '
        'stroke-width="2"/>'
    )
    return Markup(
        f'<svg class=band aria-hidden=true viewBox="0 0 {TRACK} {HEIGHT}">{"".join(parts)}</svg>'
    )
