"""Figure 3: the estimation error against the probability of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream.simulation import error_rates
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 3. Estimation error against the probability of an answer"
PAPER = (
    "As expected, the estimation error decreases with α. The dependency is approximately linear, "
    "which suggests that our upper bound, which is inversely proportional to α², can be improved "
    "(n = 10)."
)

N, Q = 10, 0.3
TASKS = 1000
"""The paper does not say how many."""
ALPHA = tuple(k / 10 for k in range(2, 11))
"""Below 0.2 the fixed point mostly does not exist after 1,000 tasks."""
REPETITIONS = {True: 100, False: 400}
FIT = 0.95
"""Least share of the variance that a straight line must explain to be called about linear: at a
share of 0.95 its residuals are below a quarter of what the error varies by."""
POWER = -2.0
"""That of α in the bound of Corollary 1."""
UPPER = 0.5
"""The paper does not say which α it drew: from here on is the other reading."""
ERRORS = {"maximum": "largest over the workers", "average": "mean over the workers"}


def uses() -> list[Use]:
    """Crowds of the figure, which answer more and less often."""
    p = error_rates(N, q=Q)
    return [beside.stream(f"α = {a}", p, alpha=a, seed=13) for a in (UPPER, 0.8)]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Both errors after the same tasks at several answer rates."""
    p = error_rates(N, q=Q)
    rows = []
    for alpha in ALPHA:
        rng = np.random.default_rng(3)
        right = batch.draw(rng, (REPETITIONS[quick], TASKS, N), p, alpha)
        gap = np.abs(batch.error_rates(batch.agreeing(right, alpha).mean(axis=1)) - p)
        for error, values in {"maximum": gap.max(axis=-1), "average": gap.mean(axis=-1)}.items():
            rows.append({"error": error, "alpha": alpha, **common.summary(values)})
        tick(1 / len(ALPHA))
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """Monotone; linear in α as drawn, and in 1/α; better than the bound's power."""
    found = []
    for (error,), part in data.group_by("error", maintain_order=True):
        x, y = part["alpha"].to_numpy(), part["mean"].to_numpy()
        steps = np.diff(y)
        straight, inverse = _fit(x, y), _fit(1 / x, y)
        upper = _fit(x[x >= UPPER], y[x >= UPPER])
        power = float(np.polyfit(np.log(x), np.log(y), 1)[0])
        found += [
            Claim(
                f"The {error} error decreases with α.",
                "at every step of α",
                f"{int((steps < 0).sum())} of {steps.size} steps",
                bool((steps < 0).all()),
            ),
            Claim(
                f"The dependency of the {error} error on α is approximately linear.",
                f"a straight line in α explains {FIT:.0%}: from α = {ALPHA[0]} to 1, or from "
                f"{UPPER} (the paper does not say which α it drew)",
                f"{straight:.1%}; {upper:.1%} from α = {UPPER} on; a line in 1/α {inverse:.1%}",
                straight >= FIT,
                otherwise=upper >= FIT,
            ),
            Claim(
                f"The bound, inversely proportional to α², can be improved ({error} error).",
                f"a power of α nearer to −1 than to −{-POWER:g}",
                f"power {common.listed([power], '.2f')}",
                abs(power + 1) < abs(power - POWER),
            ),
        ]
    return found


def _fit(x: Floats, y: Floats) -> float:
    """The share of the variance that a straight line explains."""
    line = np.polyval(np.polyfit(x, y, 1), x)
    return 1 - float(((y - line) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Both errors against α."""
    import altair as alt

    shown = data.with_columns(pl.col("error").replace(ERRORS))
    x = alt.X(
        "alpha:Q",
        title="answer probability α",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(tickCount=9),
    )
    y = alt.Y(
        "mean:Q",
        title="error of the estimate",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=6),
    )
    colours = dict(zip(ERRORS.values(), ("violet", "accent"), strict=True))
    chart = common.with_band(shown, x, y, common.named("error", colours))
    drawn: alt.LayerChart = chart.properties(width=theme.WIDE, height=theme.PANEL_HEIGHT)
    return drawn
