"""The chart of agreement: how often each two of the most active workers say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from crowdstream.errors import InputError
from crowdstream.plain_text import chart_names
from crowdstream.report.charts.drawing import crowd_of, names_axis, ready, title
from crowdstream.report.monitors import is_monitored
from crowdstream.theme import LETTER_WIDTH, LIGHT, theme
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.stream.stream import Stream

MOST = 20
"""Workers in the matrix: 400 cells, whose numbers can still be read."""

LEAST = 5
"""Tasks that two must share: the agreement on fewer is chance."""

CELL = 40
"""Pixels of a cell's side."""


def agreement(crowd: Estimator | Stream, *, most: int = MOST) -> alt.Chart:
    """Chart how often each two of the most active workers agree on the tasks that both answered.

    Two who agree much more with each other than with the rest may be one person, one model, or
    copy. Pairs that share fewer than five tasks are left empty.

    Parameters
    ----------
    crowd
        An estimator with monitors (see `crowdstream.monitor`), or a stream of one.
    most
        Workers that are drawn at most.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.monitor(cs.Adaptive()).fit(cs.simulate(6, 300, p=0.2).labels())
    >>> agreement(crowd).to_dict()["title"]["text"]
    'How often workers agree'
    """
    ready()
    check_number("most", most, 2, 100, whole=True)
    estimator = crowd_of(crowd)
    if not is_monitored(estimator):
        raise InputError("crowd", "an estimator with monitors: cs.monitor(crowd)", "none")
    table = agreements(estimator, most)
    if not table.height:
        raise InputError("crowd", f"two workers who share {LEAST} tasks", "none")
    return cast("alt.Chart", theme(draw_agreement(table)))


def agreements(crowd: Estimator, most: int = MOST) -> pl.DataFrame:
    """One row per pair of the most active workers: one, other, tasks, agreement."""
    import polars as pl

    from crowdstream import monitoring
    from crowdstream.monitoring.estimator_view import answers_of

    names, busiest = crowd.workers_, (-answers_of(crowd)).argsort(kind="stable")[:most]
    place = {str(names[code]): rank for rank, code in enumerate(busiest.tolist())}
    found = monitoring.pairs(crowd, least=LEAST).select(
        pl.col("one", "other").cast(pl.String), "tasks", "agreement"
    )
    found = found.filter(pl.col("one").is_in(list(place)), pl.col("other").is_in(list(place)))
    by_rank = found.with_columns(
        rank=pl.col("one").replace_strict(place, return_dtype=pl.Int64),
        to=pl.col("other").replace_strict(place, return_dtype=pl.Int64),
    ).sort("rank", "to")
    return by_rank.drop("rank", "to")


def draw_agreement(pairs: pl.DataFrame, *, titled: bool = True) -> alt.TopLevelMixin:
    """Draw a table of pairs, without the theme."""
    import altair as alt
    import polars as pl

    given = list(dict.fromkeys([*pairs["one"], *pairs["other"]]))
    names = chart_names(given)
    shown_as = dict(zip(given, names, strict=True))
    both = pl.concat([pairs, pairs.rename({"one": "other", "other": "one"}).select(pairs.columns)])
    shown = both.with_columns(pl.col("one", "other").replace_strict(shown_as))
    room = LETTER_WIDTH * max(map(len, names))
    across = alt.X(
        "other:N",
        title=None,
        sort=names,
        axis=alt.Axis(orient="top", labelAngle=-90, labelLimit=0, ticks=False, minExtent=room),
    )
    base = alt.Chart(shown).encode(x=across, y=names_axis("one", names))
    # One colour, more or less of it, below one ink: legible on dark screens too.
    depth = alt.Opacity("agreement:Q", scale=alt.Scale(range=[0.04, 0.5]), legend=None)
    cells = base.mark_rect(color=LIGHT["accent"]).encode(opacity=depth)
    number = base.mark_text(fontSize=11, color=LIGHT["ink"]).encode(text="percent:N")
    number = number.transform_calculate(percent="round(100 * datum.agreement)")
    layers = (cells + number).properties(width={"step": CELL}, height={"step": CELL * 0.7})
    if not titled:
        return cast("alt.TopLevelMixin", layers)
    small = f"percent of the tasks that both answered, {LEAST} or more"
    text = title("How often workers agree", small)
    return cast("alt.TopLevelMixin", layers.properties(title=text, padding=20))
