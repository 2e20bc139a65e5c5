"""Figure 5: following error rates that change, at several speeds of forgetting."""

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

TITLE = "Figure 5. The estimate of p₁(t) where error rates change"
PAPER = (
    "Choosing a small β yields small fluctuations but poor tracking performance, while β close to "
    "1 leads to large fluctuations centered around the correct value. Furthermore, the natural "
    "intuition that p₁(t) is harder to estimate when it is close to ½ is apparent. Finally, for β "
    "properly chosen (here β = 0.03), our algorithm effectively tracks the evolving parameter."
)

N, OMEGA, TASKS = 10, 0.01, 2000
BETA = (0.003, 0.03, 0.3)
BEST = 0.03
CLOSE = 0.9
"""Nearer to 1 than the largest β drawn, at which the chart would be all noise: another reading of
"close to 1"."""
STEP = 10
"""Tasks between two points of the chart."""
START = 1000
"""Tasks before errors are counted: three times what the slowest β remembers."""
REPETITIONS = {True: 40, False: 200}
HALF = 0.4
"""Above it an error rate is close to ½."""


def uses() -> list[Use]:
    """The figure's crowd, at the β that tracks and at the largest."""
    return [
        beside.stream(f"β = {beta}", _truth(beside.TASKS), beta=beta, seed=15)
        for beta in (BEST, BETA[-1])
    ]


def _truth(tasks: int) -> Floats:
    """p(t), a row per task."""
    found: Floats = sine(OMEGA)(np.full(N, 0.25), np.arange(tasks))
    return found


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """p₁ and its estimates on one path; over all paths and workers, bias, fluctuation and error."""
    p = _truth(TASKS)
    right = batch.draw(np.random.default_rng(5), (REPETITIONS[quick], TASKS, N), p)
    rows: list[dict[str, object]] = []
    at = np.arange(STEP - 1, TASKS, STEP)
    for beta in (*BETA, CLOSE):
        estimate = batch.error_rates(batch.agreements(right, beta=beta))
        if beta in BETA:
            rows += [
                {"what": "path", "beta": beta, "t": int(t) + 1, "p": p[t, 0], "value": v}
                for t, v in zip(at, estimate[0, at, 0], strict=True)
            ]
        late, truth = estimate[:, START:], p[START:]
        gap = np.abs(late - truth)
        half = truth > HALF
        noise = late.var(axis=0, ddof=1).mean()
        # The mean of so many paths is itself off by noise / paths, squared.
        squared = ((late.mean(axis=0) - truth) ** 2).mean() - noise / REPETITIONS[quick]
        more = common.summary(gap[:, half].mean(axis=1) - gap[:, ~half].mean(axis=1))
        measures = {
            "bias": np.sqrt(max(squared, 0.0)),
            "fluctuation": np.sqrt(noise),
            "error": gap.mean(),
            "error near half": gap[:, half].mean(),
            "error elsewhere": gap[:, ~half].mean(),
            "error near zero": gap[:, truth < 0.5 - HALF].mean(),
            "more near half": more["mean"],
            "more near half, noise": more["high"] - more["mean"],
        }
        rows += [
            {"what": what, "beta": beta, "t": None, "p": None, "value": float(value)}
            for what, value in measures.items()
        ]
        tick(1 / (len(BETA) + 1))
    return pl.DataFrame(rows, schema_overrides={"t": pl.Int64, "p": pl.Float64})


def claims(data: pl.DataFrame) -> list[Claim]:
    """Bias and fluctuation by β, and which β tracks."""
    found = {
        (str(what), float(beta)): float(value)
        for what, beta, value in data.filter(pl.col("what") != "path")
        .select("what", "beta", "value")
        .iter_rows()
    }
    bias = [found["bias", beta] for beta in BETA]
    spread = [found["fluctuation", beta] for beta in BETA]
    errors = [found["error", beta] for beta in BETA]
    small, large, at = BETA[0], BETA[-1], f"at β = {', '.join(map(str, BETA))}"
    near, else_, zero = (
        [found[f"error {where}", beta] for beta in (BEST, large)]
        for where in ("near half", "elsewhere", "near zero")
    )
    more, noise = (
        [found[f"more near half{what}", beta] for beta in (BEST, large)] for what in ("", ", noise")
    )
    wide, centre = found["fluctuation", CLOSE], found["bias", CLOSE]
    return [
        Claim(
            "A small β yields small fluctuations but poor tracking performance.",
            f"at β = {small} the smallest fluctuation around its mean and the largest bias",
            f"fluctuation {common.listed(spread)}; bias {common.listed(bias)}, {at}",
            spread[0] == min(spread) and bias[0] == max(bias),
        ),
        Claim(
            "β close to 1 leads to large fluctuations centered around the correct value.",
            f"at β = {large}, or at {CLOSE}, the largest fluctuation, and a bias below its fifth",
            f"fluctuation {spread[-1]:.3f}, bias {bias[-1]:.3f}; {wide:.3f}, {centre:.3f}",
            spread[-1] == max(spread) and bias[-1] < spread[-1] / 5,
            otherwise=wide > max(spread) and centre < wide / 5,
        ),
        Claim(
            "p₁(t) is harder to estimate when it is close to ½.",
            f"a larger mean error where p > {HALF} than elsewhere, or than where p < "
            f"{0.5 - HALF:.1f}, at β = {BEST} and {large}",
            f"{common.listed(near)} against {common.listed(else_)}, which is more by "
            + ", ".join(f"{a:.4f} ± {b:.4f}" for a, b in zip(more, noise, strict=True))
            + f"; {common.listed(zero)} where p < {0.5 - HALF:.1f}",
            min(more) > 0,
            otherwise=all(a > b for a, b in zip(near, zero, strict=True)),
            decided=all(abs(a) > b for a, b in zip(more, noise, strict=True)),
        ),
        Claim(
            f"For β = {BEST} the algorithm effectively tracks the evolving parameter.",
            f"a smaller mean error than at {small} and {large}",
            f"{common.listed(errors)} {at}",
            errors[BETA.index(BEST)] == min(errors),
        ),
    ]


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """One panel a β: the truth and the estimate over it."""
    import altair as alt

    names = {"p": "true error rate", "value": "estimate"}
    paths = (
        data.filter(pl.col("what") == "path")
        .unpivot(list(names), index=["beta", "t"], variable_name="line", value_name="rate")
        .with_columns(pl.col("line").replace(names))
    )
    panels = []
    colour = common.named("line", {names["p"]: "soft", names["value"]: "accent"})
    for (beta,), part in paths.group_by("beta", maintain_order=True):
        first = beta == BETA[0]
        y = alt.Y(
            "rate:Q",
            title="error rate of worker 1" if first else None,
            scale=alt.Scale(domain=[0, 1]),
        )
        x = alt.X("t:Q", title="tasks t", axis=alt.Axis(tickCount=4))
        lines = alt.Chart(part).mark_line(strokeWidth=2, clip=True).encode(x=x, y=y, color=colour)
        width, height = theme.panel_width(3), theme.PANEL_HEIGHT
        panels.append(lines.properties(title=f"β = {beta}", width=width, height=height))
    return alt.hconcat(*panels)
