"""Figure 3: the estimation error against the probability of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science.experiments import common
from crowdstream.science.experiments.common import Claim, Tick
from crowdstream.science.simulate import error_rates, simulate

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 3. Estimation error against the probability of an answer"
PAPER = "The error falls with α, about linearly (n = 10), so a bound in 1/α² can be improved."

N, Q = 10, 0.3
TASKS = 1000
"""The paper does not say how many."""
ALPHA = tuple(k / 10 for k in range(2, 11))
"""Below 0.2 the fixed point mostly does not exist after 1,000 tasks."""
REPETITIONS = {True: 40, False: 400}
POWER = -1.5
"""Halfway between errors as 1/α and errors as 1/α², on logarithmic axes."""
FIT = 0.85
"""Least share of the variance that a straight line must explain to be called near linear."""
ERRORS = ("maximum", "average")


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Both errors after the same tasks at several answer rates."""
    p = error_rates(N, q=Q)
    rows = []
    for alpha in ALPHA:
        found = np.empty((REPETITIONS[quick], 2))
        for k in range(REPETITIONS[quick]):
            block = simulate(N, TASKS, p=p, answer_rate=alpha, seed=k)
            crowd = common.paper_crowd(alpha)
            crowd.learn_many(block.columns())
            gap = np.abs(common.estimates(crowd) - p)
            found[k] = gap.max(), gap.mean()
            tick(1 / len(ALPHA) / REPETITIONS[quick])
        for e, error in enumerate(ERRORS):
            rows.append({"error": error, "alpha": alpha, **common.summary(found[:, e])})
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """Monotone, near linear, and better than the bound's power."""
    found = []
    for (error,), part in data.group_by("error", maintain_order=True):
        x, y = part["alpha"].to_numpy(), part["mean"].to_numpy()
        steps = np.diff(y)
        found.append(
            Claim(
                f"The {error} error falls with α.",
                "at every step of α",
                f"{int((steps < 0).sum())} of {steps.size} steps",
                bool((steps < 0).all()),
            )
        )
        line = np.polyval(np.polyfit(x, y, 1), x)
        fit = 1 - float(((y - line) ** 2).sum() / ((y - y.mean()) ** 2).sum())
        power = float(np.polyfit(np.log(x), np.log(y), 1)[0])
        found.append(
            Claim(
                f"The {error} error depends on α about linearly, not as 1/α².",
                f"a straight line explains {FIT:.0%}; power of α above {POWER}",
                f"{fit:.0%}; power {power:.2f}",
                fit >= FIT and power > POWER,
            )
        )
    return found


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Both errors against α."""
    import altair as alt

    x = alt.X("alpha:Q", title="answer probability α")
    chart = common.with_band(data, x, "error of the estimate", "error")
    drawn: alt.LayerChart = chart.properties(width=420, height=260)
    return drawn
