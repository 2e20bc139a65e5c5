"""Figure 4: the cumulative regret against the number of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science.experiments import common
from crowdstream.science.experiments.common import Claim, Tick
from crowdstream.science.simulate import error_rates, simulate

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 4. Cumulative regret against the number of tasks"
PAPER = (
    "Errors beyond those of an oracle who knows p, n = 10: close to 0 at q = 0.25, fewer than 2 at "
    "q = 0.31, finite for every q below 0.4."
)

N, TASKS = 10, 1000
Q = (0.25, 0.28, 0.31, 0.34)
LIMITS = {0.25: 0.2, 0.31: 2.0}
"""What the regret must stay below at the end."""
REPETITIONS = {True: 60, False: 2000}
"""Quick: enough for every claim; the bands of the chart are then twice as wide as with 250."""
SHOWN = 20
"""Every so many tasks a point in the chart."""
LATE = 0.1
"""Share of the regret that may still be added in the last fifth for it to be called flat: growth
like a logarithm would add 0.05 to 0.1 there, linear growth 0.2."""


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Errors of AB and of majority vote minus the oracle's on the same labels, added up."""
    repetitions = REPETITIONS[quick]
    at = np.arange(SHOWN - 1, TASKS, SHOWN)
    rows = []
    for q in Q:
        p = error_rates(N, q=q)
        weights = common.log_odds(p)
        regret = {method: np.empty((repetitions, at.size)) for method in ("AB", "majority")}
        for k in range(repetitions):
            block = simulate(N, TASKS, p=p, seed=k)
            x = common.signs(block)
            oracle = common.vote_errors(x @ weights, block.truth)
            ours = common.wrong(
                common.paper_crowd(clip=common.CLIP).stream_many(block.columns()), block.truth
            )
            majority = common.vote_errors(x.sum(axis=1), block.truth)
            regret["AB"][k] = np.cumsum(ours - oracle)[at]
            regret["majority"][k] = np.cumsum(majority - oracle)[at]
            tick(1 / len(Q) / repetitions)
        for method, found in regret.items():
            for j, t in enumerate(at + 1):
                rows.append({"method": method, "q": q, "t": int(t), **common.summary(found[:, j])})
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """Limits, flatness, majority's growth, order."""
    found = []
    ends = {}
    for q in Q:
        ours = data.filter(pl.col("method") == "AB", pl.col("q") == q)["mean"].to_numpy()
        theirs = data.filter(pl.col("method") == "majority", pl.col("q") == q)["mean"].to_numpy()
        ends[q] = ours[-1]
        if q in LIMITS:
            found.append(
                Claim(
                    f"At q = {q} the regret is small.",
                    f"below {LIMITS[q]} after {TASKS} tasks",
                    f"{ours[-1]:.3f}",
                    bool(ours[-1] < LIMITS[q]),
                )
            )
        fifth = ours.size // 5
        late, late_majority = ours[-1] - ours[-fifth - 1], theirs[-1] - theirs[-fifth - 1]
        found.append(
            Claim(
                f"At q = {q} the regret is flat at the end while majority's grows linearly.",
                f"the last fifth adds below {LATE:.0%} of AB's, {1 / 5:.0%} ± 2 % of majority's",
                f"{late:.3f} of {ours[-1]:.3f}; {late_majority:.1f} of {theirs[-1]:.1f}",
                bool(
                    late <= max(LATE * ours[-1], 0.02)  # of a regret near 0, noise
                    and abs(late_majority / theirs[-1] - 0.2) < 0.02
                ),
            )
        )
    found.append(
        Claim(
            "The regret grows with q.",
            "in the order of q",
            ", ".join(f"{end:.2f}" for end in ends.values()),
            list(ends.values()) == sorted(ends.values()),
        )
    )
    return found


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """AB beside majority vote, whose scale is another."""
    import altair as alt

    panels = []
    for method in ("AB", "majority"):
        part = data.filter(pl.col("method") == method)
        drawn = common.with_band(part, alt.X("t:Q", title="tasks t"), "cumulative regret R(t)", "q")
        panels.append(drawn.properties(title=method, width=300, height=240))
    return alt.hconcat(*panels)
