"""Figure 5: following error rates that change, at several speeds of forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science.experiments.common import Claim, Tick, estimates, paper_crowd
from crowdstream.science.simulate import simulate, sine

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 5. The estimate of p₁(t) where error rates change"
PAPER = (
    "Error rates p_i(t) = ¼(1 + sin(ωt + φ_i)), n = 10, ω = 0.01: a small β fluctuates little and "
    "tracks poorly, a large one fluctuates much around the right value; β = 0.03 tracks."
)

N, OMEGA, TASKS = 10, 0.01, 2000
BETA = (0.003, 0.03, 0.3)
BEST = 0.03
STEP = 10
"""Tasks between two looks at the estimates."""
START = 1000
"""Tasks before the tracking error is counted: three times what the slowest β remembers."""
REPETITIONS = {True: 3, False: 20}


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """p₁ and its estimates on the first path; the mean tracking error of all on every path."""
    rows = []
    at = range(STEP, TASKS + 1, STEP)
    for k in range(REPETITIONS[quick]):
        block = simulate(N, TASKS, p=0.25, drift=sine(OMEGA), seed=k)
        labels = block.columns()
        for beta in BETA:
            crowd = paper_crowd(beta=beta)
            gaps = []
            for t in at:
                crowd.learn_many(labels.part(t - STEP, t))
                found = np.clip(estimates(crowd), 0, 1)
                now = block.error_rates[t - 1]
                if t > START:
                    gaps.append(np.abs(found - now))
                if k == 0:
                    rows.append(
                        {"what": "path", "beta": beta, "t": t, "p": now[0], "estimate": found[0]}
                    )
            mean = float(np.mean(gaps))
            rows.append({"what": "error", "beta": beta, "t": k, "p": None, "estimate": mean})
            tick(1 / REPETITIONS[quick] / len(BETA))
    return pl.DataFrame(rows, schema_overrides={"p": pl.Float64})


def claims(data: pl.DataFrame) -> list[Claim]:
    """β = 0.03 is better than ten times less and ten times more."""
    errors = data.filter(pl.col("what") == "error").group_by("beta").agg(pl.col("estimate").mean())
    mean = dict(errors.rows())
    shown = ", ".join(f"{mean[beta]:.3f} at β = {beta}" for beta in BETA)
    return [
        Claim(
            f"β = {BEST} tracks the changing error rates.",
            "a smaller mean tracking error than at 0.003 and 0.3",
            shown,
            all(mean[BEST] < mean[beta] for beta in BETA if beta != BEST),
        )
    ]


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """One panel a β: the truth in grey, the estimate over it."""
    import altair as alt

    panels = []
    paths = data.filter(pl.col("what") == "path")
    y = alt.Y("p:Q", title="p₁(t), grey, and estimate", scale=alt.Scale(domain=[0, 1]))
    for (beta,), part in paths.group_by("beta", maintain_order=True):
        base = alt.Chart(part).encode(x=alt.X("t:Q", title="tasks t"))
        truth = base.mark_line(color="#999").encode(y=y)
        estimate = base.mark_line(color="#c44e52").encode(y="estimate:Q")
        panels.append((truth + estimate).properties(title=f"β = {beta}", width=250, height=220))
    return alt.hconcat(*panels)
