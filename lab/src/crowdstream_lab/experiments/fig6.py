"""Figure 6: wrong decisions where error rates change, and what `Adaptive` makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream.simulation import sine
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 6. Prediction error where error rates change"
PAPER = (
    "The prediction error rate for β = 0.03, compared to that of majority vote and to that of an "
    "oracle that knows p(t) (n = 10, ω = 0.01). The paper says no more of it."
)

N, OMEGA, TASKS, BETA = 10, 0.01, 2000, 0.03
BLOCK = 100
"""Tasks whose errors are averaged for a point of the chart."""
START = 100
"""Tasks before errors are counted: about three times what β = 0.03 remembers."""
REPETITIONS = {True: 60, False: 600}
"""Quick: 120,000 tasks, so an error of 0.3 % is known to 0.0002."""
TOGETHER = 60
PRINTED, CLIPPED = f"AB, β = {BETA}", f"AB, β = {BETA}, clip {common.CLIP}"
MAJORITY, ORACLE = "majority vote", "oracle who knows p(t)"
ADAPTIVE = "Adaptive (our default)"
METHODS = {
    PRINTED: "violet",
    CLIPPED: "accent",
    ADAPTIVE: "teal",
    MAJORITY: "soft",
    ORACLE: "ink",
}
OF_ADAPTIVE = {True: 20, False: 120}
"""Repetitions of `Adaptive`, which runs one stream after another: the first of those above."""


def uses() -> list[Use]:
    """The figure's crowd, decided as printed and with the clip."""
    p = sine(OMEGA)(np.full(N, 0.25), np.arange(beside.TASKS))
    return [beside.stream(f"β = {BETA}", p, beta=BETA, clip=common.CLIP, seed=16)]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Error rates of the votes on the same labels, in blocks of tasks."""
    p, rng = sine(OMEGA)(np.full(N, 0.25), np.arange(TASKS)), np.random.default_rng(6)
    found: dict[str, list[Floats]] = {method: [] for method in METHODS}
    for size in common.parts(REPETITIONS[quick], TOGETHER):
        right = batch.draw(rng, (size, TASKS, N), p)
        before = np.full_like(right, 0.5)
        before[:, 1:] = batch.error_rates(batch.agreements(right, beta=BETA)[:, :-1])
        errors = {
            PRINTED: batch.vote_errors(right, before),
            CLIPPED: batch.vote_errors(right, before, common.CLIP),
            MAJORITY: batch.vote_errors(right, np.full(N, 0.5)),
            ORACLE: batch.vote_errors(right, p),
        }
        rest = OF_ADAPTIVE[quick] - sum(len(part) for part in found[ADAPTIVE])
        if rest > 0:
            errors[ADAPTIVE] = beside.stream_errors(right[:rest])
        for method, missed in errors.items():
            found[method].append(missed.reshape(len(missed), -1, BLOCK).mean(axis=2))
        tick(size / REPETITIONS[quick])
    return pl.DataFrame(
        [
            {"method": method, "t": (j + 1) * BLOCK, **common.summary(column)}
            for method, values in found.items()
            for j, column in enumerate(np.concatenate(values).T)
        ]
    )


def claims(data: pl.DataFrame) -> list[Claim]:
    """Nearer to the oracle than to majority vote: as printed, with the clip, and `Adaptive`."""
    late = data.filter(pl.col("t") > START).group_by("method").agg(pl.col("mean").mean())
    mean = dict(late.rows())
    return [
        Claim(
            f"{method} follows the changing crowd.",
            "an error nearer to the oracle's than to majority's",
            f"{mean[method]:.4f}; oracle {mean[ORACLE]:.4f}, majority {mean[MAJORITY]:.4f}",
            abs(mean[method] - mean[ORACLE]) < abs(mean[method] - mean[MAJORITY]),
            "ours",
        )
        for method in (PRINTED, CLIPPED, ADAPTIVE)
    ]


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Five lines against t."""
    import altair as alt

    x = alt.X("t:Q", title="tasks t")
    y = alt.Y(
        "mean:Q",
        title=f"error rate of {BLOCK} tasks",
        scale=alt.Scale(domainMin=0),
        axis=alt.Axis(format="~%", tickCount=6),
    )
    chart = common.with_band(data, x, y, common.named("method", METHODS))
    drawn: alt.LayerChart = chart.properties(width=theme.WIDE, height=theme.PANEL_HEIGHT)
    return drawn
