"""Theorems 1 to 3 and Lemma 1: bounds beside simulated frequencies, as ratios.

Where a bound is below 1 and the event can be seen, both are shown (Lemma 1, Proposition 8).
Theorems 1 and 3 say nothing wherever it can be seen: there the tasks, or the forgetting, that are
enough are compared with those that the theorem asks for. All three are about the algorithm as
printed: nothing shrunk, nothing clipped, answer rate known (``shrinkage=0, clip=0,
answer_rate=α``).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside, common, theorem_charts
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Theorems 1, 2 and 3. The bounds beside simulation"
PAPER = (
    "Lemma 1: P(‖â−a‖∞ ≥ ε) ≤ 2n exp(−2ε²α⁴t). Theorem 1: P(‖p̂−p‖∞ ≥ ε) ≤ 2n exp(−γ³α⁴tε²/8). "
    "Theorem 2: R(t) ≤ 16n/(γ³α⁴c²). Theorem 3: with drift σ and forgetting β as Theorem 1 with β "
    "in place of 1/t and a bias of 2σ/β. All of the algorithm as printed: shrinkage 0, clip 0, α "
    "known."
)

REPETITIONS = {True: 4_000, False: 40_000}
"""Repetitions for Lemma 1 and Proposition 8: the least frequency seen is 2.5·10⁻⁴ or a tenth."""
TIMES = {True: 200, False: 2_000}
"""Repetitions of Theorems 1 to 3."""
TOGETHER, LEMMA_TOGETHER = 200, 2_000
"""Repetitions in memory at once."""
LEMMA_TASKS = 50
LEMMA_CROWDS = {
    "3 workers, p = ½": (np.full(3, 0.5), 1.0),
    "3 workers, p = 0.2, α = 0.8": (np.full(3, 0.2), 0.8),
    "4 workers, p = 0.1, α = 0.7": (np.full(4, 0.1), 0.7),
}
"""Lemma 1 holds of any crowd. Small ones come nearest to its bound: with many others, the share
that agrees with a worker varies little."""
LEVELS = (0.9, 0.5, 0.2, 0.05)
"""Values of the bound at which it is asked."""
EPSILON, DELTA = 0.05, 0.05
"""Parameters of Theorems 1 and 3: the probability of an error of 5 points is asked to be 5 %."""
CROWDS = {"20 workers, p = 0.05": np.full(20, 0.05), "10 workers, p = 0.2": np.full(10, 0.2)}
TASKS = (25, 50, 100, 200, 400, 800, 1600)
SIGMA = 1e-6
BETAS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
MEMORIES = 8
"""Tasks simulated under drift, in 1/β: (1 − β)^t, what is left of the start, is then 3·10⁻⁴."""
REGRET_TASKS = 1000
PROMISED, PROMISES = "20 workers, p = 0.05", (0.5, 0.1)
"""The crowd of which Theorem 1 promises soonest, and where its bound is so low."""
SELDOM = 20
"""Such streams are that many times fewer: they are hundreds of times longer."""
PART = 5_000
"""Tasks of them in memory at once."""


def uses() -> list[Use]:
    """A crowd of Theorem 1, and one of Lemma 1 that answers seldom and is forgotten."""
    name, (p, alpha) = next((k, v) for k, v in LEMMA_CROWDS.items() if v[1] < 1)
    return [
        beside.stream("10 workers, p = 0.2", CROWDS["10 workers, p = 0.2"], seed=19),
        beside.stream(f"{name}, β = 0.05", p, alpha=alpha, beta=0.05, seed=19),
    ]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Each row: a setting, a bound and what was measured for it."""
    rng = np.random.default_rng(9)
    rows = [*_lemma_1(rng, REPETITIONS[quick])]
    tick(0.1)
    rows += _theorem_1(rng, TIMES[quick])
    tick(0.4)
    rows += _theorem_2(rng, TIMES[quick])
    tick(0.2)
    rows += _theorem_3(rng, TIMES[quick])
    tick(0.3)
    return pl.DataFrame(rows)


def _row(theorem: str, crowd: str, at: float, bound: float, measured: float) -> dict[str, object]:
    return {"theorem": theorem, "crowd": crowd, "at": at, "bound": bound, "measured": measured}


def _lemma_1(rng: np.random.Generator, repetitions: int) -> Iterator[dict[str, object]]:
    """Deviations of agreement rates at which the bound has some values."""
    for name, (p, alpha) in LEMMA_CROWDS.items():
        parts = [_deviations(rng, n, p, alpha) for n in common.parts(repetitions, LEMMA_TOGETHER)]
        for k, lemma in enumerate(("Lemma 1", "Proposition 8")):
            worst = np.concatenate([part[k] for part in parts])
            for level in LEVELS:
                epsilon = np.sqrt(np.log(2 * p.size / level) / 2 / LEMMA_TASKS) / alpha**2
                frequency = float((worst >= epsilon - 1e-12).mean())
                yield _row(lemma, name, float(epsilon), level, frequency)


def _deviations(
    rng: np.random.Generator, number: int, p: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """‖â − E[â]‖∞ of the mean over t tasks, and of forgetting with β = 1/t."""
    tasks, beta = LEMMA_TASKS * MEMORIES, 1 / LEMMA_TASKS
    seen = batch.agreeing(batch.draw(rng, (number, tasks, p.size), p, alpha), alpha)
    mean = theory.agreement_rates(p)
    weights = beta * (1 - beta) ** np.arange(tasks)
    plain = seen[:, :LEMMA_TASKS].mean(axis=1) - mean
    fading = np.einsum("rtn,t->rn", seen, weights) - weights.sum() * mean
    return np.abs(plain).max(axis=1), np.abs(fading).max(axis=1)


def _theorem_1(rng: np.random.Generator, repetitions: int) -> Iterator[dict[str, object]]:
    """Measure how often some p̂ is off by ε after some tasks."""
    for name, p in CROWDS.items():
        off = []
        for size in common.parts(repetitions, TOGETHER):
            right = batch.draw(rng, (size, TASKS[-1], p.size), p)
            sums = np.add.reduceat(batch.agreeing(right), [0, *TASKS[:-1]], axis=1)
            estimate = batch.error_rates(np.cumsum(sums, axis=1) / np.array(TASKS)[:, None])
            off.append(np.abs(estimate - p).max(axis=-1) >= EPSILON)
        for t, frequency in zip(TASKS, np.concatenate(off).mean(axis=0), strict=True):
            yield _row("Theorem 1", name, t, theory.theorem_1(p, 1.0, t, EPSILON), frequency)
        if name == PROMISED:
            yield from _promised(rng, p, repetitions // SELDOM)
        enough = _reach(rows_at(TASKS, off))
        needed = theory.tasks_needed(p, 1.0, EPSILON, DELTA)
        yield _row("Theorem 1, tasks needed", name, DELTA, needed, enough)


def _promised(rng: np.random.Generator, p: Floats, repetitions: int) -> Iterator[dict[str, object]]:
    """Theorem 1 where it does say something, which takes many tasks: one sum for each stream."""
    for level in PROMISES:
        t = int(theory.tasks_needed(p, 1.0, EPSILON, level))
        missed = []
        for _ in range(repetitions):
            total = np.zeros(p.size)
            for size in common.parts(t, PART):
                total += batch.agreeing(batch.draw(rng, (size, p.size), p)).sum(axis=0)
            missed.append(np.abs(batch.error_rates(total / t) - p).max() >= EPSILON)
        bound = theory.theorem_1(p, 1.0, t, EPSILON)
        row = _row("Theorem 1", PROMISED, t, bound, float(np.mean(missed)))
        yield {**row, "streams": repetitions}


def rows_at(places: tuple[float, ...], off: list[Floats]) -> list[tuple[float, float]]:
    """Frequencies at places."""
    return list(zip(places, np.concatenate(off).mean(axis=0), strict=True))


def _reach(found: list[tuple[float, float]]) -> float:
    """Find where the frequency falls to δ: between two places by logarithms, nan if it does not."""
    for (x, high), (y, low) in itertools.pairwise(found):
        if high > DELTA >= low:
            share = (high - DELTA) / (high - low)
            return float(np.exp(np.log(x) + share * (np.log(y) - np.log(x))))
    return float("nan")


def _theorem_2(rng: np.random.Generator, repetitions: int) -> Iterator[dict[str, object]]:
    """The cumulative regret, decided as printed."""
    crowds = {"6 workers, p = 0.05": np.full(6, 0.05), "5 workers, p = 0.1": np.full(5, 0.1)}
    for name, p in crowds.items():
        regret = []
        for size in common.parts(repetitions, TOGETHER):
            right = batch.draw(rng, (size, REGRET_TASKS, p.size), p)
            before = np.full_like(right, 0.5)
            before[:, 1:] = batch.error_rates(batch.agreements(right)[:, :-1])
            regret.append(batch.vote_errors(right, before) - batch.vote_errors(right, p))
        added = float(np.concatenate(regret).sum(axis=1).mean())
        bound = theory.theorem_2(p, 1.0, np.inf).cumulative
        yield _row("Theorem 2", name, REGRET_TASKS, bound, added)


def _theorem_3(rng: np.random.Generator, repetitions: int) -> Iterator[dict[str, object]]:
    """Measure how often some p̂ is off by ε while error rates drift, by the speed of forgetting."""
    for name, p in CROWDS.items():
        off = []
        for beta in BETAS:
            ago = np.arange(round(MEMORIES / beta))[::-1]
            rates = p + SIGMA * ago[:, None]
            missed = []
            for size in common.parts(repetitions, TOGETHER):
                right = batch.draw(rng, (size, ago.size, p.size), rates)
                weights = beta * (1 - beta) ** ago
                estimate = batch.error_rates(np.einsum("rtn,t->rn", batch.agreeing(right), weights))
                missed.append(np.abs(estimate - p).max(axis=-1) >= EPSILON)
            off.append(np.concatenate(missed))
            bound = theory.theorem_3(p, 1.0, SIGMA, beta, EPSILON, ago.size)
            yield _row("Theorem 3", name, beta, bound, float(off[-1].mean()))
        enough = _reach(rows_at(tuple(1 / beta for beta in BETAS), [np.stack(off, axis=1)]))
        yield _row("Theorem 3, memory needed", name, DELTA, _memory(p), enough)


def _memory(p: Floats) -> float:
    """The least 1/β, of a fine grid, at which Theorem 3 promises δ if nothing drifts; at the σ of
    the simulation it never does, as 2σ/β is then above γ/80."""
    memories = np.geomspace(1e1, 1e9, 4001)
    bounds = np.array([theory.theorem_3(p, 1.0, 0.0, 1 / m, EPSILON) for m in memories])
    return float(memories[np.argmax(bounds <= DELTA)])


def claims(data: pl.DataFrame) -> list[Claim]:
    """Every bound is above what was measured; by how much."""
    found = []
    for (theorem,), part in data.group_by("theorem", maintain_order=True):
        name = str(theorem)
        if "needed" in name:
            found.append(_needed(name, part))
            continue
        below = bool((part["measured"] <= part["bound"]).all())
        text, wanted = f"{name}: {TEXTS[name]}", "at most the bound everywhere"
        measured = _ratio(part, name != "Theorem 2")
        found.append(Claim(text, wanted, measured, below, decided=not below or _says(name, part)))
    return found


def _says(name: str, part: pl.DataFrame) -> bool:
    """Return True if a bound says something: less than what is true of any probability or sum.

    Where the event was never seen, the bound must be above what that leaves possible.
    """
    most = REGRET_TASKS if name == "Theorem 2" else 1.0
    some = part.filter(pl.col("bound") < most)
    if name != "Theorem 1":
        return some.height > 0
    return bool((some["bound"] >= NEVER / some["streams"].fill_null(1)).any())


NEVER = 3.0
"""Rule of three: what was never seen in n streams has a probability of at most 3/n, at 95 %."""


def _ratio(part: pl.DataFrame, probability: bool) -> str:
    """Bound over measurement where both say something; how often the bound does not."""
    if not probability and (part["bound"] > REGRET_TASKS).all():
        shown = common.listed(part["measured"].to_list(), ".2g")
        return f"the bound says nothing (above the number of tasks); measured {shown}"
    empty = part.filter(pl.col("bound") >= 1) if probability else part.clear()
    if empty.height == part.height:
        measured = common.listed(part["measured"].to_list(), ".2g")
        return f"the bound says nothing (above 1) at any setting; measured {measured}"
    long = part.drop_nulls("streams")
    if long.height:
        return (
            "; ".join(
                f"{bound:.2g} by the bound after {t:,.0f} tasks, seen in {round(share * streams)} "
                f"of {streams} streams"
                for t, bound, share, streams in long["at", "bound", "measured", "streams"].rows()
            )
            + f"; the bound says nothing (above 1) up to {TASKS[-1]:,} tasks"
        )
    seen = part.filter(pl.col("measured") > 0)
    if not seen.height:
        return f"never seen at any of {part.height} settings"
    ratio = (seen["bound"] / seen["measured"]).to_numpy()
    never = f"; never seen at {part.height - ratio.size}" if ratio.size < part.height else ""
    low, high = (f"{x:,.0f}" if x < 1e6 else f"{x:.1g}" for x in (ratio.min(), ratio.max()))
    return f"{low} to {high} times the measurement{never}"


TEXTS = {
    "Lemma 1": "agreement rates are as close to their means as Hoeffding's inequality says.",
    "Proposition 8": "so they are with forgetting, β in place of 1/t.",
    "Theorem 1": f"how likely some estimate is off by {EPSILON}, after so many tasks.",
    "Theorem 2": f"the cumulative regret after {REGRET_TASKS:,} tasks.",
    "Theorem 3": f"how likely some estimate is off by {EPSILON} under drift.",
}


def _needed(name: str, part: pl.DataFrame) -> Claim:
    what = "tasks" if "tasks" in name else f"tasks remembered (1/β; σ = {SIGMA:g}, asked at σ = 0)"
    ratio = (part["bound"] / part["measured"]).to_numpy()
    shown = "; ".join(
        f"{crowd}: {bound:,.0f} asked for, {measured:,.0f} enough, a ratio of "
        f"{bound / measured:,.0f}"
        for crowd, bound, measured in part["crowd", "bound", "measured"].rows()
    )
    return Claim(
        f"{name.split(',')[0]}: {what} that make all estimates good to {EPSILON} in "
        f"{1 - DELTA:.0%} of cases.",
        "as many as it asks for are enough",
        shown,
        bool((ratio >= 1).all()),
    )


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Theorem 1's probability against tasks; Lemma 1's bound against the measurement."""
    import altair as alt

    drawn: alt.HConcatChart = alt.hconcat(
        theorem_charts.by_tasks(data, CROWDS, TASKS[0], EPSILON),
        theorem_charts.by_measurement(data, list(LEMMA_CROWDS)),
    ).resolve_scale(color="independent", strokeDash="independent")
    return drawn
