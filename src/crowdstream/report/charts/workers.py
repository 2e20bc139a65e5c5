"""The chart of workers: error rates as dots on the bands of their intervals."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, cast

from crowdstream.defaults import LEVEL
from crowdstream.errors import InputError
from crowdstream.plain_text import chart_names
from crowdstream.report.charts.drawing import (
    BAND,
    BLUE,
    GREY,
    INK,
    ORANGE,
    PERCENT,
    crowd_of,
    names_axis,
    ready,
    title,
)
from crowdstream.theme import LIGHT, theme
from crowdstream.validation import check_number
from crowdstream.wording import FLAGS, evidence_words, has_flag

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.stream.stream import Stream

MOST = 60
"""Workers in one chart: more would not be legible."""

SUBTITLE = 95
"""Characters of a line below a title."""

BETTER, UNSURE = FLAGS["better_than_chance"].text, FLAGS["undecided"].text
NO_BETTER = f"{FLAGS['at_chance'].text} or worse"
"""Words for the colours of the dots."""


def workers(crowd: Estimator | Stream, *, level: float = LEVEL, most: int = MOST) -> alt.Chart:
    """Error rates of the most active workers, the best on top: a dot on the band of its interval.

    A hollow dot rests on agreement between workers alone, a filled one on gold too. The dashed
    line is a worker who guesses.

    Parameters
    ----------
    crowd
        An estimator, or a stream, that has learnt.
    level
        Of the intervals.
    most
        Workers that are drawn at most.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive().fit(cs.simulate(8, 300, p=0.2).labels())
    >>> workers(crowd).to_dict()["title"]["text"]
    'Error rates of 8 workers'
    """
    ready()
    check_number("most", most, 1, 1000, whole=True)
    estimator = crowd_of(crowd)
    from crowdstream.monitoring.estimator_view import as_polars

    table = as_polars(estimator.workers(level=level))
    if not table["error_rate"].count():
        reason = estimator.identifiable_.reason or "none, as by majority vote"
        raise InputError("crowd", "error rates that are known", reason)
    return cast("alt.Chart", theme(draw_workers(table, level, len(estimator.classes_), most)))


def draw_workers(
    table: pl.DataFrame, level: float, classes: int, most: int = MOST, *, titled: bool = True
) -> alt.TopLevelMixin:
    """Draw a table of workers, without the theme; ``titled``: with a title and its notes."""
    import altair as alt
    import polars as pl

    known = table.filter(table["error_rate"].is_not_null())
    shown = known.top_k(most, by="answers").sort("error_rate")
    bad = has_flag(shown, "worse_than_chance") | has_flag(shown, "at_chance")
    shown = shown.with_columns(
        mark=pl.when(has_flag(shown, "better_than_chance"))
        .then(pl.lit(BETTER))
        .when(bad)
        .then(pl.lit(NO_BETTER))
        .otherwise(pl.lit(UNSURE)),
        worker=pl.Series(chart_names(shown["worker"]), dtype=pl.String),
    ).drop("flags")
    colours = alt.Scale(domain=[BETTER, UNSURE, NO_BETTER], range=[BLUE, GREY, ORANGE])
    legend = alt.Legend(orient="top", labelLimit=0, symbolOpacity=1, symbolType="circle")
    chance = 1 - 1 / max(classes, 2)
    highest = float(cast("float", shown["error_high"].fill_null(shown["error_rate"]).max()))
    reach = alt.Scale(domain=[0.0, min(max(highest, chance) * 1.02, 1.0)], nice=False)
    x = alt.X(
        "error_rate:Q",
        title="error rate",
        axis=alt.Axis(format=PERCENT, orient="top", tickCount=8),
        scale=reach,
    )
    base = alt.Chart(shown).encode(y=names_axis("worker", shown["worker"].to_list()))
    bands = base.mark_bar(size=9, cornerRadius=4, color=BAND).encode(
        x=alt.X("error_low:Q", scale=reach), x2="error_high:Q"
    )
    by_gold = "evidence" in shown.columns and shown["evidence"].eq("gold").any()
    colour = alt.Color("mark:N", title=None, scale=colours, legend=legend)
    dots = base.mark_point(
        filled=False, size=60, opacity=1, strokeWidth=2, fill=None if by_gold else LIGHT["panel"]
    )
    if by_gold:
        dots = base.mark_point(filled=True, size=60, opacity=1)
    guess = alt.Chart(pl.DataFrame({"x": [chance]}))
    rule = guess.mark_rule(strokeDash=[4, 3], color=INK).encode(x="x:Q")
    drawn = (rule + bands + dots.encode(x=x, color=colour)).properties(
        width=800, height={"step": 18}
    )
    if not titled:
        return cast("alt.TopLevelMixin", drawn)
    number = f"{known.height:,} workers"
    if known.height > most:
        number = f"the {most} most active of {number}"
    lines = f"bands: {100 * level:.4g} % intervals; " if shown["error_low"].count() else ""
    basis = textwrap.wrap(evidence_words(shown), SUBTITLE)
    head = title(f"Error rates of {number}", f"{lines}dashed: a worker who guesses", *basis)
    return cast("alt.TopLevelMixin", drawn.properties(title=head, padding=20))
