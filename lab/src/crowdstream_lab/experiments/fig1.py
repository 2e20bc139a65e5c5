"""Figure 1: the estimation error against the number of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream.simulation import error_rates
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 1. Estimation error against the number of tasks"
PAPER = (
    "The error is decreasing with t in O(1/√t) and increasing with q, as expected: the problem "
    "becomes harder as q approaches ½, since labellers become both less informative and less "
    "correlated (n = 10, α = 1)."
)

N = 10
Q = (0.25, 0.28, 0.31, 0.34)
TASKS = tuple(int(t) for t in np.geomspace(10, 10_000, 12).round())
REPETITIONS = {True: 100, False: 400}
"""Quick, whole: the band of the mean is a few per cent, and a hundredth on the slope."""
TOGETHER = 20
"""Repetitions in memory at once."""
FROM = 200
"""Tasks from which on the slope is asked for: before, the fixed point often does not exist."""
SLOPE, SLACK = -0.5, 0.05
"""1/√t on logarithmic axes, and the tolerance asked for."""
ERRORS = {"maximum": "Largest error over the workers", "average": "Mean error over the workers"}


def uses() -> list[Use]:
    """A crowd of the figure."""
    return [beside.stream(f"q = {Q[2]}", error_rates(N, q=Q[2]), seed=11)]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Both errors of p̂(t) at some t, over repetitions."""
    rows = []
    for q in Q:
        p, rng = error_rates(N, q=q), np.random.default_rng(1)
        found = []
        for size in common.parts(REPETITIONS[quick], TOGETHER):
            right = batch.draw(rng, (size, TASKS[-1], N), p)
            found.append(np.abs(batch.error_rates(_agreements(right)) - p))
            tick(size / len(Q) / REPETITIONS[quick])
        gap = np.concatenate(found)
        for error, values in {"maximum": gap.max(axis=-1), "average": gap.mean(axis=-1)}.items():
            for j, t in enumerate(TASKS):
                rows.append({"error": error, "q": q, "t": t, **common.summary(values[:, j])})
    return pl.DataFrame(rows)


def _agreements(right: Floats) -> Floats:
    """â after the tasks of the chart."""
    starts = [0, *TASKS[:-1]]
    sums = np.add.reduceat(batch.agreeing(right), starts, axis=1)
    found: Floats = np.cumsum(sums, axis=1) / np.array(TASKS)[:, None]
    return found


def claims(data: pl.DataFrame) -> list[Claim]:
    """Slopes and order, and the reason given for the order."""
    found = []
    late = data.filter(pl.col("t") >= FROM)
    for (error,), part in late.group_by("error", maintain_order=True):
        slopes = [
            float(np.polyfit(np.log(one["t"].to_numpy()), np.log(one["mean"].to_numpy()), 1)[0])
            for _, one in part.group_by("q", maintain_order=True)
        ]
        found.append(
            Claim(
                f"The {error} error is decreasing with t in O(1/√t).",
                f"log-log slope −{-SLOPE} ± {SLACK} from t = {FROM} on, for each q",
                f"{common.listed(slopes)} at q = {', '.join(map(str, Q))}",
                all(abs(s - SLOPE) <= SLACK for s in slopes),
            )
        )
        wide = part.pivot("q", index="t", values="mean").drop("t").to_numpy()
        grows = (np.diff(wide, axis=1) > 0).all(axis=1)
        found.append(
            Claim(
                f"The {error} error is increasing with q.",
                f"in that order at every t from {FROM} on",
                f"{int(grows.sum())} of {len(wide)} t",
                bool(grows.all()),
            )
        )
    return [*found, _reason()]


def _reason() -> Claim:
    """Exact: reliabilities and agreement rates of the crowds themselves."""
    crowds = [error_rates(N, q=q) for q in Q]
    informative = [float((1 - 2 * p).mean()) for p in crowds]
    correlated = [float((2 * theory.agreement_rates(p) - 1).mean()) for p in crowds]
    return Claim(
        "Labellers become both less informative and less correlated as q approaches ½.",
        "mean of 1 − 2p and mean correlation of two labels, both falling with q",
        f"{common.listed(informative)}; {common.listed(correlated)}",
        bool((np.diff(informative) < 0).all() and (np.diff(correlated) < 0).all()),
    )


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Two panels on logarithmic axes, with a guide that falls as 1/√t."""
    import altair as alt

    panels = []
    whole = alt.Axis(values=[10, 100, 1000, 10_000], format=",")
    x = alt.X("t:Q", title="tasks t", scale=alt.Scale(type="log", nice=False), axis=whole)
    scale = alt.Scale(type="log", domain=[0.001, 1])
    for (error,), part in data.group_by("error", maintain_order=True):
        axis = common.powers_of_ten(-3, 0)
        y = alt.Y("mean:Q", title="error of the estimate", scale=scale, axis=axis)
        start = part.filter(q=Q[0])["mean"].to_numpy()[-1] * np.sqrt(TASKS[-1]) / 2
        guide = pl.DataFrame({"t": TASKS, "mean": [start / np.sqrt(t) for t in TASKS]})
        dashed = alt.Chart(guide).encode(x=x, y=y)
        rule = dashed.mark_line(strokeDash=[6, 4], strokeWidth=1.5, color=theme.LIGHT["soft"])
        word = alt.Chart(guide[5:6]).mark_text(
            text="1/√t", dx=-8, dy=12, fontSize=13, color=theme.LIGHT["soft"]
        )
        lines = common.with_band(part, x, y, common.ordered("q", "mean error rate q"))
        drawn = lines + rule + word.encode(x=x, y=y)
        width, height = theme.panel_width(2), theme.PANEL_HEIGHT
        panels.append(drawn.properties(title=ERRORS[str(error)], width=width, height=height))
    return alt.hconcat(*panels)
