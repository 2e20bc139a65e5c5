"""The chart of the hardest tasks: how their votes are split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack, cast

from crowdstream.errors import InputError
from crowdstream.labels import CodedLabels, Table
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.monitoring.estimator_view import labels_of
from crowdstream.plain_text import chart_names
from crowdstream.report.charts.drawing import (
    GREY,
    PERCENT,
    crowd_of,
    names_axis,
    ready,
    title,
)
from crowdstream.theme import LIGHT, theme
from crowdstream.validation import check_number

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from crowdstream.estimators import Estimator
    from crowdstream.stream.stream import Stream

MOST = 12
"""Tasks that are drawn."""

COLOURS = [LIGHT[name] for name in ("accent", "magenta", "teal", "violet")]
"""Colours of the most frequent labels."""

OTHERS = "other labels"
"""Name of all labels beyond the most frequent ones, since there are four colours."""


def hardest(
    crowd: Estimator | Stream,
    labels: Table,
    *,
    most: int = MOST,
    **meaning: Unpack[TableMeaning],
) -> alt.Chart:
    """Chart how votes split on the hardest tasks, those where an average worker errs most.

    Parameters
    ----------
    crowd
        An estimator, or a stream, that has learnt.
    labels
        Labels of the tasks in question: a table, or rows of task, worker and label.
    most
        Tasks that are drawn.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = cs.simulate(8, 300, p=0.2).labels()
    >>> hardest(cs.Adaptive().fit(rows), rows).to_dict()["title"]["text"]
    'The 12 hardest tasks'
    """
    ready()
    check_number("most", most, 1, 200, whole=True)
    found = hard_tasks(crowd_of(crowd), labels_of(crowd_of(crowd), labels, meaning), most)
    if not found.height:
        raise InputError("labels", "at least one task with labels", "none")
    return cast("alt.Chart", theme(draw_hardest(found)))


def hard_tasks(crowd: Estimator, table: CodedLabels, most: int = MOST) -> pl.DataFrame:
    """The hardest tasks and their votes: task, difficulty, label, votes; the hardest first."""
    import polars as pl

    from crowdstream import monitoring

    hard = monitoring.difficulty(crowd, table).drop_nulls("difficulty")
    least = hard["difficulty"].top_k(most).min()
    if least is None:
        return pl.DataFrame(schema={"task": pl.String, "difficulty": pl.Float64})
    hard = hard.filter(hard["difficulty"] >= least)
    hard = hard.sort("difficulty", descending=True, maintain_order=True).head(most)
    names = pl.Series(table.batch.tasks)
    runs = names.is_in(hard["task"].cast(names.dtype).implode()).fill_null(False)
    rows = table.select(runs.to_numpy()).frame().drop_nulls()
    rows = rows.unique(["task", "worker"], keep="last", maintain_order=True)
    votes = rows.group_by("task", "label", maintain_order=True).agg(votes=pl.len())
    return (
        hard.with_row_index("place")
        .join(votes, on="task", maintain_order="left")
        .sort("place", "votes", descending=[False, True], maintain_order=True)
        .drop("place")
    )


def draw_hardest(tasks: pl.DataFrame, *, titled: bool = True) -> alt.TopLevelMixin:
    """Draw a table of votes, without the theme."""
    import altair as alt
    import polars as pl

    table = tasks.with_columns(pl.col("task", "label").cast(pl.String))
    counts = table.group_by("label", maintain_order=True).agg(pl.col("votes").sum())
    often = counts.sort("votes", descending=True, maintain_order=True)["label"].to_list()
    kept = often if len(often) <= len(COLOURS) else often[: len(COLOURS)]
    shown_as = dict(zip(kept, chart_names(kept), strict=True))
    order = chart_names(table["task"].unique(maintain_order=True))
    shown = (
        table.with_columns(
            task=pl.Series(chart_names(table["task"]), dtype=pl.String),
            label=pl.col("label").replace_strict(shown_as, default=OTHERS),
        )
        .group_by("task", "label", maintain_order=True)
        .agg(pl.col("votes").sum())
        .with_columns(share=pl.col("votes") / pl.col("votes").sum().over("task"))
    )
    domain = [*shown_as.values(), *([OTHERS] if len(often) > len(COLOURS) else [])]
    places = {name: place for place, name in enumerate(domain)}
    shown = shown.with_columns(place=pl.col("label").replace_strict(places, return_dtype=pl.Int64))
    colours = alt.Scale(domain=domain, range=[*COLOURS[: len(kept)], GREY][: len(domain)])
    legend = alt.Legend(orient="top", symbolType="square", symbolStrokeWidth=0, labelLimit=300)
    base = alt.Chart(shown).encode(
        y=names_axis("task", order),
        x=alt.X(
            "share:Q",
            title="share of the votes",
            stack="zero",
            axis=alt.Axis(format=PERCENT, orient="top"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        order=alt.Order("place:Q"),
    )
    bars = base.mark_bar(size=14).encode(
        color=alt.Color("label:N", title=None, scale=colours, legend=legend, sort=domain)
    )
    drawn = bars.properties(width=860, height={"step": 22})
    if not titled:
        return cast("alt.TopLevelMixin", drawn)
    number = len(order)
    text = title(f"The {number} hardest tasks" if number > 1 else "The hardest task")
    return cast("alt.TopLevelMixin", drawn.properties(title=text, padding=20))
