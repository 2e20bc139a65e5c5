"""Theorems 1 to 3: simulated frequencies beside the bounds, where these promise something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream.science import theory
from crowdstream.science.experiments import common
from crowdstream.science.experiments.common import Claim, Floats, Tick
from crowdstream.science.simulate import Ints, simulate_blocks

if TYPE_CHECKING:
    import altair as alt

TITLE = "Theorems 1, 2 and 3. The bounds beside simulation"
PAPER = (
    "P(‖p̂−p‖∞ ≥ ε) ≤ 2n exp(−γ³α⁴tε²/8); the regret vanishes as fast; with drift σ and "
    "forgetting β the same with β in place of 1/t and a bias of 2σ/β."
)

CROWD = np.full(20, 0.05)
"""Of Theorems 1 and 3: γ must be large for the bounds to promise anything."""
EPSILON = 0.05
TASKS_1 = (60_000, 80_000, 120_000)
REPETITIONS_1 = {True: 3, False: 30}

REGRET_CROWD = np.full(6, 0.05)
"""Of Theorem 2: the crowd of equals with the smallest bound on its regret, 6·10⁷."""
TASKS_2 = {True: 13_500_000, False: 70_000_000}
"""Quick: the bound on the regret of a task is below 1; whole: that on the cumulative one is below
the number of tasks too."""

SIGMA, BETA = 1e-8, 1e-5
TASKS_3 = 1_000_000
"""Ten times what β remembers: the average has forgotten that it started at 0."""
REPETITIONS_3 = {True: 1, False: 5}
LOOKS = 5
"""Estimates looked at in one path of Theorem 3, 1/(4β) tasks apart."""


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Each row: a bound and what was measured for it."""
    rows = [*_theorem_1(REPETITIONS_1[quick], tick)]
    rows += _theorem_2(TASKS_2[quick], tick)
    rows += _theorem_3(REPETITIONS_3[quick], tick)
    return pl.DataFrame(rows)


def _row(theorem: str, what: str, bound: float, measured: float) -> dict[str, object]:
    return {"theorem": theorem, "what": what, "bound": bound, "measured": measured}


def _theorem_1(repetitions: int, tick: Tick) -> Iterator[dict[str, object]]:
    off = np.zeros((repetitions, len(TASKS_1)))
    n = CROWD.size
    for k in range(repetitions):
        crowd, before = common.paper_crowd(), 0
        for j, t in enumerate(TASKS_1):
            for block in simulate_blocks(n, t - before, p=CROWD, seed=1000 * k + j):
                crowd.learn_many(block.columns())
            before = t
            off[k, j] = np.abs(common.estimates(crowd) - CROWD).max() >= EPSILON
        tick(0.3 / repetitions)
    for j, t in enumerate(TASKS_1):
        bound = theory.theorem_1(CROWD, 1.0, t, EPSILON)
        yield _row("1", f"P(off by {EPSILON}) at t = {t:,}", bound, float(off[:, j].mean()))


def _theorem_2(tasks: int, tick: Tick) -> Iterator[dict[str, object]]:
    p = REGRET_CROWD
    crowd = common.paper_crowd(clip=common.CLIP)
    bound = theory.theorem_2(p, 1.0, tasks)
    added_up = bound.cumulative < tasks
    regret = 0.0
    for block in simulate_blocks(p.size, tasks, p=p, seed=2):
        if added_up:
            ours = common.wrong(crowd.stream_many(block.columns()), block.truth)
            best = common.vote_errors(
                common.signs(block).sum(axis=1), block.truth
            )  # of equals, majority is best
            regret += float((ours - best).sum())
        else:
            crowd.learn_many(block.columns())
        tick(0.4 * block.truth.size / tasks)
    weights = common.log_odds(np.clip(common.estimates(crowd), common.CLIP, 1 - common.CLIP))
    gap = theory.vote_error(p, weights).value - theory.optimal_error(p).value
    yield _row("2", f"regret of task {tasks:,}", bound.simple, gap)
    if added_up:
        yield _row("2", f"regret of {tasks:,} tasks", bound.cumulative, regret)


def _theorem_3(repetitions: int, tick: Tick) -> Iterator[dict[str, object]]:
    off = []
    n, step = CROWD.size, round(1 / BETA / 4)

    def drift(p: Floats, t: Ints) -> Floats:
        moved: Floats = p - SIGMA * (TASKS_3 - t[:, None])
        return moved

    for k in range(repetitions):
        crowd = common.paper_crowd(beta=BETA)
        for block in simulate_blocks(n, TASKS_3, p=CROWD, drift=drift, seed=3 + k, block=step):
            crowd.learn_many(block.columns())
            if block.first + block.truth.size > TASKS_3 - LOOKS * step:
                gap = np.abs(common.estimates(crowd) - block.error_rates[-1]).max()
                off.append(gap >= EPSILON)
        tick(0.3 / repetitions)
    bound = theory.theorem_3(CROWD, 1.0, SIGMA, BETA, EPSILON, TASKS_3 - LOOKS * step)
    yield _row("3", f"P(off by {EPSILON}) with drift", bound, float(np.mean(off)))


def claims(data: pl.DataFrame) -> list[Claim]:
    """Every bound is below what says nothing, and above what was measured."""
    return [
        Claim(
            f"Theorem {row['theorem']}: {row['what']}.",
            f"at most the bound, {row['bound']:.3g}",
            f"{row['measured']:.3g}",
            row["measured"] <= row["bound"] and (row["bound"] < 1 or "tasks" in row["what"]),
        )
        for row in data.iter_rows(named=True)
    ]


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Bounds as bars, measurements as dots."""
    import altair as alt

    shown = data.filter(pl.col("bound") <= 1)
    base = alt.Chart(shown).encode(y=alt.Y("what:N", title=None, sort=None))
    bars = base.mark_bar(color="#ccd").encode(x=alt.X("bound:Q", title="bound, and measured (dot)"))
    dots = base.mark_point(filled=True, size=80, color="#c44e52").encode(x="measured:Q")
    drawn: alt.LayerChart = (bars + dots).properties(width=380, height=30 * shown.height)
    return drawn
