"""Figure 1: the estimation error against the number of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science.experiments import common
from crowdstream.science.experiments.common import Claim, Tick
from crowdstream.science.simulate import error_rates, simulate

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 1. Estimation error against the number of tasks"
PAPER = "The error falls as 1/√t and grows with q (hammer-spammer, n = 10, α = 1)."

N = 10
Q = (0.25, 0.28, 0.31, 0.34)
TASKS = tuple(int(t) for t in np.geomspace(10, 10_000, 12).round())
REPETITIONS = {True: 100, False: 400}
"""Quick, whole: the band of the mean is a few per cent, and a hundredth on the slope."""
FROM = 200
"""Tasks from which on the slope is asked for: before, the fixed point often does not exist."""
SLOPE, SLACK = -0.5, 0.05
"""1/√t on logarithmic axes, and the tolerance asked for."""
ERRORS = {"maximum": "‖p̂−p‖∞", "average": "‖p̂−p‖₁/n"}


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Both errors of p̂(t) at some t, over repetitions."""
    repetitions = REPETITIONS[quick]
    rows = []
    for q in Q:
        p = error_rates(N, q=q)
        found = np.empty((repetitions, len(TASKS), 2))
        for k in range(repetitions):
            block = simulate(N, TASKS[-1], p=p, seed=k)
            labels = block.columns()
            crowd = common.paper_crowd()
            before = 0
            for j, t in enumerate(TASKS):
                crowd.learn_many(labels.part(before, t))
                before = t
                gap = np.abs(common.estimates(crowd) - p)
                found[k, j] = gap.max(), gap.mean()
            tick(1 / len(Q) / repetitions)
        for j, t in enumerate(TASKS):
            for e, error in enumerate(ERRORS):
                rows.append({"error": error, "q": q, "t": t, **common.summary(found[:, j, e])})
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """Slopes and order."""
    found = []
    late = data.filter(pl.col("t") >= FROM)
    for (error,), part in late.group_by("error", maintain_order=True):
        slopes = [
            float(np.polyfit(np.log(one["t"].to_numpy()), np.log(one["mean"].to_numpy()), 1)[0])
            for _, one in part.group_by("q", maintain_order=True)
        ]
        shown = ", ".join(f"{s:.3f}" for s in slopes)
        found.append(
            Claim(
                f"The {error} error falls as 1/√t.",
                f"log-log slope {SLOPE} ± {SLACK} from t = {FROM} on, for each q",
                f"{shown} at q = {', '.join(map(str, Q))}",
                all(abs(s - SLOPE) <= SLACK for s in slopes),
            )
        )
        wide = part.pivot("q", index="t", values="mean").drop("t").to_numpy()
        found.append(
            Claim(
                f"The {error} error grows with q.",
                f"in that order at every t from {FROM} on",
                f"{int((np.diff(wide, axis=1) > 0).all(axis=1).sum())} of {len(wide)} t",
                bool((np.diff(wide, axis=1) > 0).all()),
            )
        )
    return found


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Two panels on logarithmic axes."""
    import altair as alt

    panels = []
    for (error,), part in data.group_by("error", maintain_order=True):
        x = alt.X("t:Q", title="tasks t", scale=alt.Scale(type="log"))
        chart = common.with_band(part, x, "error of the estimate", "q", log=True)
        title = f"{error} error, {ERRORS[str(error)]}"
        panels.append(chart.properties(title=title, width=300, height=240))
    return alt.hconcat(*panels)
