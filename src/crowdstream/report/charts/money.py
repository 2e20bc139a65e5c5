"""The chart of money: what labels cost, and what would have been enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdstream.report.charts.drawing import BLUE, GREY, names_axis, ready, title
from crowdstream.theme import panel_width, theme
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import altair as alt

SPENT, ENOUGH = "spent", "stopped once settled"


def money(spent: float, enough: float) -> alt.Chart:
    """Chart the cost of all labels beside the cost of those that were enough.

    Parameters
    ----------
    spent
        What all labels cost.
    enough
        What they would have cost had each task been stopped once it was settled.

    Examples
    --------
    >>> money(500.0, 210.0).to_dict()["title"]["text"]
    'Money spent, and money needed'
    """
    ready()
    check_number("spent", spent, 0.0, 1e15)
    check_number("enough", enough, 0.0, 1e15)
    return cast("alt.Chart", theme(draw_money(spent, enough)))


def draw_money(spent: float, enough: float, *, titled: bool = True) -> alt.TopLevelMixin:
    """Draw both costs as bars, without the theme."""
    import altair as alt
    import polars as pl

    table = pl.DataFrame(
        {
            "what": [SPENT, ENOUGH],
            "amount": [spent, enough],
            "shown": [f"{spent:,.2f}", f"{enough:,.2f}"],
        }
    )
    reach = alt.Scale(domain=[0.0, max(spent, enough, 0.01) * 1.25], nice=False)
    base = alt.Chart(table).encode(
        x=alt.X("amount:Q", title=None, scale=reach, axis=None),
        y=names_axis("what", [SPENT, ENOUGH]),
        color=alt.Color(
            "what:N",
            legend=None,
            scale=alt.Scale(domain=[SPENT, ENOUGH], range=[GREY, BLUE]),
        ),
    )
    amounts = base.mark_text(align="left", dx=8, fontSize=14).encode(text="shown:N")
    drawn = (base.mark_bar(size=26, cornerRadius=3) + amounts).properties(
        width=panel_width(2), height=110
    )
    if not titled:
        return cast("alt.TopLevelMixin", drawn)
    return cast(
        "alt.TopLevelMixin",
        drawn.properties(title=title("Money spent, and money needed"), padding=20),
    )
