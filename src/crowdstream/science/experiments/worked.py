"""The paper's worked example: what knowing the error rates is worth, by its bounds and in truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science import theory
from crowdstream.science.experiments.common import Claim, Tick, signs, vote_errors
from crowdstream.science.simulate import simulate

if TYPE_CHECKING:
    import altair as alt

TITLE = "Section 3. What knowing the error rates is worth"
PAPER = (
    "Half of the crowd always tells the truth, half guesses. The bounds on the prediction error "
    "are e^(−n/8) for majority vote and e^(−n/4) for the weighted vote: 0.08 and 0.007 at n = 20."
)

N = tuple(range(4, 41, 2))
EXAMPLE, PRINTED = 20, {"majority": 0.08, "weighted": 0.007}
"""The paper's own figures."""
TASKS = {True: 20_000, False: 200_000}


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Bounds, exact errors and simulated ones, of majority vote and of the weighted vote.

    The bound on weights w at p̂ → p is that of a vote of the hammers alone: theirs is the limit.
    """
    rows = []
    for n in N:
        hammer = np.arange(n) < n // 2
        p = np.where(hammer, 0.0, 0.5)
        block = simulate(n, TASKS[quick], p=p, seed=n)
        x = signs(block)
        votes = {"majority": np.ones(n), "weighted": hammer.astype(float)}
        for method, weights in votes.items():
            rows.append(
                {
                    "n": n,
                    "method": method,
                    "bound": theory.weighted_error_bound(p, weights),
                    "exact": theory.vote_error(p, weights).value,
                    "simulated": float(vote_errors(x @ weights, block.truth).mean()),
                }
            )
        tick(1 / len(N))
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """The two numbers, and that bounds are bounds."""
    found = []
    for method, printed in PRINTED.items():
        bound = data.filter(n=EXAMPLE, method=method)["bound"].item()
        digits = len(str(printed)) - 2
        found.append(
            Claim(
                f"The bound on the {method} vote's error at n = {EXAMPLE}.",
                f"{printed} as printed",
                f"{bound:.4f}",
                round(bound, digits) == printed,
            )
        )
    worst = (data["simulated"] / data["bound"]).to_numpy().max()
    found.append(
        Claim(
            "No vote errs more often than its bound.",
            "simulated error at most the bound for every n",
            f"at most {worst:.3f} of it",
            bool((data["simulated"] <= data["bound"]).all()),
        )
    )
    spread = (data["exact"] * (1 - data["exact"])).to_numpy()
    gap = (data["simulated"] - data["exact"]).abs().to_numpy()
    slack = 5 * np.sqrt(np.maximum(spread, 1e-6) / TASKS[True])  # whoever never errs has no spread
    found.append(
        Claim(
            "The exact error is what simulation shows.",
            "within five standard errors for every n",
            f"largest difference {gap.max():.4f}",
            bool((gap <= slack).all()),
        )
    )
    return found


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Bounds dashed, exact errors solid, on a logarithmic axis."""
    import altair as alt

    long = data.unpivot(["bound", "exact"], index=["n", "method"], variable_name="what")
    shown = long.filter(pl.col("value") > 1e-6)  # the hammers never err
    chart: alt.Chart = (
        alt.Chart(shown)
        .mark_line(point=True)
        .encode(
            x=alt.X("n:Q", title="workers n"),
            y=alt.Y("value:Q", title="error rate", scale=alt.Scale(type="log")),
            color=alt.Color("method:N", title=None),
            strokeDash=alt.StrokeDash("what:N", title=None, legend=alt.Legend(symbolType="stroke")),
        )
        .properties(width=420, height=260)
    )
    return chart
