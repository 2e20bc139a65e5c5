"""The paper's worked example: what knowing the error rates is worth, by its bounds and in truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, common
from crowdstream_lab.experiments.common import Claim, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Section 3. What knowing the error rates is worth"
PAPER = (
    "Taking n = 20 for instance, we obtain respective bounds on the prediction error rate equal to "
    "0.08 and 0.007: assuming these bounds are tight, this means that the accurate estimation of "
    "p may decrease the prediction error rate by an order of magnitude (half of the crowd always "
    "tells the truth, half guesses)."
)

N = tuple(range(4, 41, 2))
EXAMPLE, PRINTED = 20, {"majority": 0.08, "weighted": 0.007}
"""The paper's own figures."""
TASKS = {True: 20_000, False: 200_000}
TIGHT = 2.0
"""A bound is called tight within this factor."""
LEAST = 1e-6
"""The least error rate of the chart."""
TENFOLD = 10.0
"""An order of magnitude."""


def uses() -> list[Use]:
    """None: error rates are known here."""
    return []


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Bounds, exact errors and simulated ones, of majority vote and of the weighted vote.

    The bound on weights w at p̂ → p is that of a vote of the hammers alone: theirs is the limit.
    """
    rows = []
    for n in N:
        hammer = np.arange(n) < n // 2
        p = np.where(hammer, 0.0, 0.5)
        right = batch.draw(np.random.default_rng(n), (TASKS[quick], n), p)
        votes = {"majority": np.ones(n), "weighted": hammer.astype(float)}
        for method, weights in votes.items():
            rows.append(
                {
                    "n": n,
                    "method": method,
                    "bound": theory.weighted_error_bound(p, weights),
                    "exact": theory.vote_error(p, weights).value,
                    "simulated": float((0.5 - 0.5 * np.sign(right @ weights)).mean()),
                }
            )
        tick(1 / len(N))
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """The two numbers, what follows from them, and that bounds are bounds."""
    at = {row["method"]: row for row in data.filter(n=EXAMPLE).iter_rows(named=True)}
    found = [
        Claim(
            f"The bound on the {method} vote's error at n = {EXAMPLE} is {printed}.",
            f"{printed} once rounded",
            f"{at[method]['bound']:.4f}",
            round(at[method]["bound"], len(str(printed)) - 2) == printed,
        )
        for method, printed in PRINTED.items()
    ]
    majority, weighted = at["majority"], at["weighted"]
    tenfold = bool(majority["exact"] >= TENFOLD * weighted["exact"])
    found += [
        Claim(
            "Assuming these bounds are tight.",
            f"as a claim: exact errors within a factor {TIGHT:g} of the bounds at n = {EXAMPLE}; "
            "as an assumption it claims nothing but what follows from it, which is the next line",
            f"exact {majority['exact']:.4f} against {majority['bound']:.3f}; "
            f"{weighted['exact']:.4f} against {weighted['bound']:.4f}",
            all(row["bound"] <= TIGHT * row["exact"] for row in at.values()),
            otherwise=tenfold,
        ),
        Claim(
            "The accurate estimation of p may decrease the error rate by an order of magnitude.",
            f"exact errors apart by a factor {TENFOLD:g} at n = {EXAMPLE}",
            f"{majority['exact']:.4f} and {weighted['exact']:.4f}",
            tenfold,
        ),
    ]
    worst = (data["exact"] / data["bound"]).to_numpy().max()
    gap = (data["simulated"] - data["exact"]).abs().to_numpy()
    return [
        *found,
        Claim(
            "No vote errs more often than its bound (Hoeffding's inequality).",
            "exact error at most the bound for every n",
            f"at most {worst:.3f} of it",
            bool((data["exact"] <= data["bound"]).all()),
        ),
        Claim(
            "`theory.vote_error` is what simulation shows.",
            "within five standard errors for every n",
            f"largest difference {gap.max():.4f}",
            bool((gap <= _slack(data)).all()),
            "ours",
        ),
    ]


def _slack(data: pl.DataFrame) -> common.Floats:
    """Five standard errors of a quick run; whoever never errs has no spread."""
    spread = (data["exact"] * (1 - data["exact"])).to_numpy()
    found: common.Floats = 5 * np.sqrt(np.maximum(spread, 1e-6) / TASKS[True])
    return found


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Bounds dashed, exact errors solid, on a logarithmic axis."""
    import altair as alt

    names = {
        ("majority", "bound"): "majority vote, bound",
        ("majority", "exact"): "majority vote, exact",
        ("weighted", "bound"): "weighted vote, bound (it never errs)",
    }
    long = data.unpivot(["bound", "exact"], index=["n", "method"], variable_name="what")
    shown = pl.concat(
        long.filter(method=method, what=what).with_columns(line=pl.lit(name))
        for (method, what), name in names.items()
    )
    scale = alt.Scale(type="log", domain=[LEAST, 1])
    colours = dict(zip(names.values(), ("soft", "soft", "accent"), strict=True))
    dashes = alt.Scale(domain=list(colours), range=[[6, 4], [1, 0], [6, 4]])
    key = alt.Legend(symbolType="stroke", symbolSize=600)
    chart: alt.Chart = (
        alt.Chart(shown)
        .mark_line(clip=True)
        .encode(
            x=alt.X("n:Q", title="workers n", scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("value:Q", title="error rate", scale=scale, axis=common.powers_of_ten(-6, 0)),
            color=common.named("line", colours).legend(key),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=dashes, legend=key),
        )
        .properties(width=theme.WIDE, height=theme.PANEL_HEIGHT)
    )
    return chart
