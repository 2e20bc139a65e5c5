"""Figure 2: the estimation error against the number of workers, beside who knows the truth."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 2. Average estimation error against the number of workers"
PAPER = (
    "Interestingly, when n increases, the error of our algorithm approaches that of the oracle, "
    "showing that our algorithm is nearly optimal (t = 50; the oracle knows the truths)."
)

TASKS = 50
P1 = 0.1
"""Error rate of the informative half; the other half guesses."""
N = (6, 10, 16, 24, 36, 50, 70, 100)
REPETITIONS = {True: 400, False: 2000}
AT = 50
"""The number of workers at which the gap is asked for."""
GAP = 0.10
ORACLE = "oracle who knows the truths"


def uses() -> list[Use]:
    """A crowd of the figure."""
    return [beside.stream(f"n = {N[3]}", _rates(N[3]), seed=12)]


def _rates(n: int) -> Floats:
    return np.where(np.arange(n) < n / 2, P1, 0.5)


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Mean errors of AB and of the shares of answers that miss the truth."""
    rows = []
    for n in N:
        p = _rates(n)
        right = batch.draw(np.random.default_rng(n), (REPETITIONS[quick], TASKS, n), p)
        ours = batch.error_rates(batch.agreeing(right).mean(axis=1))
        missed = (right < 0).mean(axis=1)
        for method, estimate in {"AB": ours, ORACLE: missed}.items():
            gap = np.abs(estimate - p).mean(axis=-1)
            rows.append({"n": n, "method": method, **common.summary(gap)})
        tick(1 / len(N))
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """The gap at n = 50, and that it closes."""
    wide = data.pivot("method", index="n", values="mean")
    gaps = (wide["AB"] / wide[ORACLE] - 1).to_numpy()
    at = wide["n"].to_list().index(AT)
    return [
        Claim(
            "When n increases, the error of AB approaches that of the oracle.",
            "a smaller gap at every larger n, as long as it is above " + f"{GAP:.0%}",
            f"{', '.join(f'{gap:.0%}' for gap in gaps)} at n = {', '.join(map(str, N))}",
            # Beyond the gap asked for, noise decides which of two is smaller.
            all(b < a or b < GAP for a, b in itertools.pairwise(gaps)),
        ),
        Claim(
            "AB is nearly optimal.",
            f"within {GAP:.0%} of the oracle at n = {AT}",
            f"{gaps[at]:.1%} above it; {gaps[N.index(10)]:.0%} at n = 10",
            bool(gaps[at] <= GAP),
        ),
    ]


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Two lines against n."""
    import altair as alt

    x = alt.X(
        "n:Q", title="workers n", scale=alt.Scale(domain=[0, N[-1]]), axis=alt.Axis(tickCount=10)
    )
    y = alt.Y(
        "mean:Q",
        title="average error of the estimate",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(tickCount=6),
    )
    chart = common.with_band(data, x, y, common.named("method", {"AB": "accent", ORACLE: "soft"}))
    drawn: alt.LayerChart = chart.properties(width=theme.WIDE, height=theme.PANEL_HEIGHT)
    return drawn
