"""Assumption 1 at its edge: two workers who never err among guessers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Assumption 1. Two workers who never err"
PAPER = (
    "Taking p = (0, ½, …, ½) for instance, the estimation of p is impossible since any permutation "
    "of the indices of p lets the distribution of X(t) unchanged. For p = (0, 0, ½, …, ½), the "
    "average error probability becomes q = ½ − 1/n, the maximum value allowed by Assumption 1, and "
    "the estimation becomes feasible."
)

N = 10
TASKS = tuple(int(t) for t in np.geomspace(20, 20_000, 7).round())
REPETITIONS = {True: 100, False: 400}
TOGETHER = 10
"""Repetitions in memory at once."""
SMALL = 4
"""Workers of the crowd whose labels are gone through one by one."""
SELDOM = 0.05
"""A share of streams without a solution that would be called small."""


def perfect(number: int, n: int = N) -> Floats:
    """A crowd in which so many never err and the others guess."""
    return np.where(np.arange(n) < number, 0.0, 0.5)


CROWDS = {f"{k} never err": perfect(k) for k in (2, 3, 4)}
EDGE = next(iter(CROWDS))


def uses() -> list[Use]:
    """The crowd at the edge, and one inside."""
    return [beside.stream(name, CROWDS[name], seed=17) for name in list(CROWDS)[:2]]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Count streams without a solution after t tasks, and find the largest error of the others."""
    rows = []
    for name, p in CROWDS.items():
        rng = np.random.default_rng(7)
        missing, errors = [], []
        for size in common.parts(REPETITIONS[quick], TOGETHER):
            seen = batch.agreeing(batch.draw(rng, (size, TASKS[-1], N), p))
            sums = np.add.reduceat(seen, [0, *TASKS[:-1]], axis=1)
            rates = batch.error_rates(np.cumsum(sums, axis=1) / np.array(TASKS)[:, None])
            none = (rates == 0.5).all(axis=-1)
            missing.append(none)
            errors.append(np.where(none, np.nan, np.abs(rates - p).max(axis=-1)))
            tick(size / len(CROWDS) / REPETITIONS[quick])
        none, off = np.concatenate(missing), np.concatenate(errors)
        for j, t in enumerate(TASKS):
            found = common.summary(none[:, j].astype(float))
            solved = off[~none[:, j], j]
            rows.append({"crowd": name, "t": t, "error": float(np.median(solved)), **found})
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """Check what is allowed, and what can be estimated there."""
    p = perfect(2)
    gamma, q = theory.gamma(p), float(p.mean())
    back = np.abs(batch.error_rates(theory.agreement_rates(p)) - p).max()
    last = data.filter(pl.col("t") == TASKS[-1])
    share = dict(zip(last["crowd"], last["mean"], strict=True))
    return [
        _permutations(),
        Claim(
            "For p = (0, 0, ½, …, ½) the average error probability is q = ½ − 1/n.",
            f"so for n = {N}",
            f"{q:.3f}",
            bool(np.isclose(q, 0.5 - 1 / N)),
        ),
        Claim(
            "For p = (0, 0, ½, …, ½), q is the maximum value allowed by Assumption 1.",
            "Assumption 1, q < ½ − 1/n, is met, and γ > 0 as the text says it implies",
            f"q = ½ − 1/n is not below it; γ = {gamma:.2g}, so that no theorem promises anything",
            theory.assumption_1(p) and gamma > 0,
        ),
        Claim(
            "For p = (0, 0, ½, …, ½) the estimation becomes feasible.",
            f"by the algorithm: a solution in all but {SELDOM:.0%} of streams of {TASKS[-1]:,} "
            "tasks; in principle: p = φ(a), from agreement rates that are known exactly",
            f"none in {share[EDGE]:.0%} of streams, where majority vote decides "
            f"({', '.join(f'{v:.0%} if {k}' for k, v in share.items() if k != EDGE)}); φ(a) off by "
            f"{back:.2g}",
            share[EDGE] <= SELDOM,
            otherwise=bool(back < SAME),
        ),
    ]


SAME = 1e-6
"""Rounding left of φ(a) where the equation is met at its very end, as the square root of it
is taken there."""


def _permutations() -> Claim:
    """P(X = x) of every x, whoever of the workers is the one who never errs."""
    x = np.array(list(itertools.product((-1, 1), repeat=SMALL)))
    chances = []
    for who in range(SMALL):
        p = np.where(np.arange(SMALL) == who, 0.0, 0.5)
        plus, minus = (np.where(x == g, 1 - p, p).prod(axis=1) for g in (1, -1))
        chances.append((plus + minus) / 2)
    apart = float(np.abs(np.array(chances) - chances[0]).max())
    return Claim(
        "For p = (0, ½, …, ½) any permutation of the indices lets the distribution of X unchanged.",
        f"P(X = x) is the same for all x and permutations, n = {SMALL}",
        f"largest difference {apart:.2g} over {len(x)} x",
        apart == 0.0,
    )


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """The share of streams without a solution against t."""
    import altair as alt

    x = alt.X(
        "t:Q",
        title="tasks t",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[100, 1000, 10_000], format=","),
    )
    y = alt.Y(
        "mean:Q",
        title="streams without a solution",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="~%", tickCount=5),
    )
    colours = dict(zip(CROWDS, ("bad", "violet", "accent"), strict=True))
    chart = common.with_band(data, x, y, common.named("crowd", colours))
    drawn: alt.LayerChart = chart.properties(width=theme.WIDE, height=theme.PANEL_HEIGHT)
    return drawn
