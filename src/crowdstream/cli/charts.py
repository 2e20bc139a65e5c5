"""A chart → a file: a picture, or a page with its numbers. Knows nothing of what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdstream.cli.output import check_writable
from crowdstream.cli.terminal import LINE_LENGTH
from crowdstream.errors import InputError
from crowdstream.extras import need
from crowdstream.plain_text import NAME_LENGTH, printable, shortened
from crowdstream.serialization import replacing
from crowdstream.theme import PNG_SCALE, html_figure, html_table, page_head, theme
from crowdstream.wording import flag_words

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

SUFFIXES = (".html", ".png", ".svg")


def check_chart(path: str | None) -> None:
    """Refuse, before any work, a chart that could not be drawn."""
    if path is None:
        return
    need("altair", "vl_convert", extra="report")
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError("--chart", f"a name that ends in {' '.join(SUFFIXES)}", repr(path))
    check_writable(path, "--chart")


def save_chart(chart: alt.TopLevelMixin, path: str, table: pl.DataFrame) -> None:
    """A chart to a file by its extension, in the theme of all charts.

    A page has the numbers too, in a table. It holds no script: a name cannot become one.
    """
    import io

    drawn = theme(chart)
    kind = Path(path).suffix.lower()[1:]
    if kind == "png":
        picture = io.BytesIO()
        drawn.save(picture, format="png", scale_factor=PNG_SCALE)
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
            html_figure(svg, title),
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
