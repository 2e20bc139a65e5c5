"""Figure 6: wrong decisions where error rates change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science.experiments import common
from crowdstream.science.experiments.common import Claim, Tick
from crowdstream.science.simulate import simulate, sine

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 6. Prediction error where error rates change"
PAPER = "At β = 0.03, beside majority vote and an oracle who knows p(t) (n = 10, ω = 0.01)."

N, OMEGA, TASKS, BETA = 10, 0.01, 2000, 0.03
BLOCK = 100
"""Tasks whose errors are averaged for a point of the chart."""
START = 100
"""Tasks before errors are counted: about three times what β = 0.03 remembers."""
REPETITIONS = {True: 20, False: 600}
"""Quick: 40,000 tasks, so an error of 5 % is known to 0.001 and the methods are 0.02 apart."""
METHODS = ("AB", "majority vote", "oracle who knows p(t)")


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Error rates of three votes on the same labels, in blocks of tasks."""
    repetitions = REPETITIONS[quick]
    found = np.empty((len(METHODS), repetitions, TASKS // BLOCK))
    for k in range(repetitions):
        block = simulate(N, TASKS, p=0.25, drift=sine(OMEGA), seed=k)
        x, truth = common.signs(block), block.truth
        errors = (
            common.wrong(
                common.paper_crowd(beta=BETA, clip=common.CLIP).stream_many(block.columns()), truth
            ),
            common.vote_errors(x.sum(axis=1), truth),
            common.vote_errors((x * common.log_odds(block.error_rates)).sum(axis=1), truth),
        )
        for m, error in enumerate(errors):
            found[m, k] = error.reshape(-1, BLOCK).mean(axis=1)
        tick(1 / repetitions)
    return pl.DataFrame(
        [
            {"method": method, "t": (j + 1) * BLOCK, **common.summary(found[m, :, j])}
            for m, method in enumerate(METHODS)
            for j in range(TASKS // BLOCK)
        ]
    )


def claims(data: pl.DataFrame) -> list[Claim]:
    """Nearer to the oracle than to majority vote."""
    late = data.filter(pl.col("t") > START).group_by("method").agg(pl.col("mean").mean())
    mean = dict(late.rows())
    ours, majority, oracle = (mean[method] for method in METHODS)
    return [
        Claim(
            "With forgetting, AB follows the changing crowd.",
            "an error nearer to the oracle's than to majority's",
            f"{ours:.4f}; oracle {oracle:.4f}, majority {majority:.4f}",
            abs(ours - oracle) < abs(ours - majority),
        )
    ]


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Three lines against t."""
    import altair as alt

    x = alt.X("t:Q", title="tasks t")
    chart = common.with_band(data, x, f"error rate of {BLOCK} tasks", "method")
    drawn: alt.LayerChart = chart.properties(width=420, height=260)
    return drawn
