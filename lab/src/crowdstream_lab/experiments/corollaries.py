"""Corollaries 1 to 3: the orders in which errors grow, measured and computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Corollaries 1, 2 and 3. The order of the estimation error"
PAPER = (
    "Corollary 1: the estimation error is of order O(γ^(−3/2) α^(−2) √(log n / t)). Corollary 2: "
    "under drift O(γ^(−3/2) (√(β log n) / α² + σ/β)): choosing β involves a bias-variance "
    "tradeoff, where the variance term is proportional to √β and the bias term is proportional to "
    "1/β. Corollary 3: the order of the optimal value of β minimizing the estimation error: "
    "letting β = α^(4/3) σ^(2/3) / (log n)³, the error is O(σ^(1/3) (log n)³ / (α^(4/3) γ^(3/2)))."
)

GAMMA = 0.09
"""γ of every crowd here, so that only n is varied: 16 workers of whom half err with 0.1."""
BASE = {"n": 16, "alpha": 1.0, "t": 1600}
VARIED: dict[str, tuple[float, ...]] = {
    "t": (400, 1600, 6400),
    "n": (16, 32, 64, 128),
    "alpha": (0.4, 0.6, 0.8, 1.0),
}
"""One of them is varied at a time."""
REPETITIONS = {True: 60, False: 300}
SLACK = 0.05
"""A power that may be left of a ratio for it to be called bounded: what noise makes of it."""
BETAS = (0.004, 0.008, 0.016, 0.032)
MEMORIES = 6
"""Tasks simulated with forgetting, in 1/β: what is left of the start is then 0.2 %."""
SIGMA, SLOW = 1e-5, (0.002, 0.004, 0.008, 0.016)
"""A drift, and β at which it moves error rates by 5 points at most while remembered."""
SLOWEST = 1e-6
"""A drift at which the best β is far from 1 for every n below."""
WORKERS = (16, 30, 100, 1_000, 10_000, 100_000, 1_000_000)
"""In which Corollary 3's β is compared with the best."""
TWICE = 2.0
"""Within this factor of the least, a choice has the right order."""


def uses() -> list[Use]:
    """The crowd, with answers missing, and with forgetting."""
    p = crowd(int(BASE["n"]))
    return [
        beside.stream("α = 0.6", p, alpha=0.6, seed=20),
        beside.stream("β = 0.032", p, beta=0.032, seed=20),
    ]


def crowd(n: int) -> Floats:
    """Half of the workers guess, half err as often as makes γ = ((n/2 − 2) θ/n)² what it is."""
    theta = np.sqrt(GAMMA) * n / (n / 2 - 2)
    return np.where(np.arange(n) < n / 2, (1 - theta) / 2, 0.5)


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Each row: what is varied, where, the error that was found and the order that was promised."""
    rows: list[dict[str, object]] = []
    for what, values in VARIED.items():
        for value in values:
            found = {**BASE, what: value}
            n, alpha, t = int(found["n"]), float(found["alpha"]), int(found["t"])
            error = _error(n, alpha, t, REPETITIONS[quick])
            order = theory.corollary_1(crowd(n), alpha, t)
            rows.append({"what": what, "at": float(value), "value": error, "order": order})
        tick(0.2)
    p = crowd(int(BASE["n"]))
    for beta in BETAS:
        order = theory.corollary_2(p, 1.0, 0.0, beta)
        value = _fluctuation(p, beta, REPETITIONS[quick])
        rows.append({"what": "variance", "at": beta, "value": value, "order": order})
    tick(0.3)
    for beta in SLOW:
        order = theory.corollary_2(p, 1.0, SIGMA, beta)
        rows.append({"what": "bias", "at": beta, "value": _bias(p, beta), "order": order})
    rows += [
        {"what": which, "at": float(n), "value": times, "order": 1.0}
        for n in WORKERS
        for which, times in _choices(n).items()
    ]
    tick(0.1)
    return pl.DataFrame(rows)


def _error(n: int, alpha: float, t: int, repetitions: int) -> float:
    """The mean of ‖p̂(t) − p‖∞."""
    p, rng, found = crowd(n), np.random.default_rng(21), []
    for size in common.parts(repetitions, max(1, 2_000_000 // (n * t))):
        agreed = batch.agreeing(batch.draw(rng, (size, t, n), p, alpha), alpha).mean(axis=1)
        found.append(np.abs(batch.error_rates(agreed) - p).max(axis=-1))
    return float(np.concatenate(found).mean())


def _fluctuation(p: Floats, beta: float, repetitions: int) -> float:
    """The mean of ‖p̂ − p‖∞ where nothing drifts: all of it is variance."""
    rng, ago, found = np.random.default_rng(22), np.arange(round(MEMORIES / beta)), []
    weights = beta * (1 - beta) ** ago
    for size in common.parts(repetitions, 100):
        seen = batch.agreeing(batch.draw(rng, (size, ago.size, p.size), p))
        rates = batch.error_rates(np.einsum("rtn,t->rn", seen, weights / weights.sum()))
        found.append(np.abs(rates - p).max(axis=-1))
    return float(np.concatenate(found).mean())


def _bias(p: Floats, beta: float) -> float:
    """‖φ(E[â^β]) − p‖∞ where everybody gets better by σ a task: exact, without any noise."""
    ago = np.arange(round(4 * MEMORIES / beta))
    rates = np.minimum(p + SIGMA * ago[:, None], 1.0)
    theta = 1 - 2 * rates
    others = theta.sum(axis=1, keepdims=True) - theta
    agreed = 0.5 + theta * others / (2 * (p.size - 1))
    weights = beta * (1 - beta) ** ago
    found = batch.error_rates(weights @ agreed / weights.sum())
    return float(np.abs(found - p).max())


def _choices(n: int) -> dict[str, float]:
    """Corollary 2 at the β of Corollary 3, as printed and corrected, over its least over all β."""
    p, log, sigma = crowd(n), np.log(n), SLOWEST

    def order(beta: float) -> float:
        return theory.corollary_2(p, 1.0, sigma, beta)

    least = order(float((2 * sigma / np.sqrt(log)) ** (2 / 3)))  # where its derivative is 0
    printed = order(float(sigma ** (2 / 3) / log**3))
    return {
        "printed β": printed / least,
        "corrected β": order(theory.best_beta(1.0, sigma, n)) / least,
        "printed order": printed / float(sigma ** (1 / 3) * log**3 / GAMMA**1.5),
    }


def claims(data: pl.DataFrame) -> list[Claim]:
    """Powers beside those promised; how far Corollary 3's β is from the best."""
    found = {what: part for (what,), part in data.group_by("what", maintain_order=True)}
    powers = {what: _power(found[what], "value") for what in (*VARIED, "variance", "bias")}
    left = {what: _power(found[what], "value", "order") for what in VARIED}
    # A bound must not be outgrown as t and n grow and as α falls.
    bounded = max(left["t"], left["n"], -left["alpha"]) <= SLACK
    ratios = [(found[what]["value"] / found[what]["order"]).to_numpy().max() for what in VARIED]
    most = float(max(ratios))
    times = {which: found[which]["value"].to_numpy() for which in CHOICES}
    order = found["printed order"]["value"].to_numpy()
    return [
        Claim(
            "Corollary 1: the estimation error is O(γ^(−3/2) α^(−2) √(log n / t)).",
            "the error over that is at most √8, as in Theorem 1, and does not grow with t or n, "
            f"nor as α falls, beyond a power of {SLACK}",
            f"at most {most:.2g}; its powers "
            f"{common.listed([left['t'], left['n'], left['alpha']], '+.2f')} of t, n, α; the "
            f"error's {common.listed([powers['t'], powers['n'], powers['alpha']], '+.2f')}",
            bounded and most <= np.sqrt(8),
        ),
        Claim(
            "Corollary 2: the variance term is proportional to √β.",
            "without drift the error grows as a power of β between 0.45 and 0.55",
            f"power {powers['variance']:.2f}",
            0.45 <= powers["variance"] <= 0.55,
        ),
        Claim(
            "Corollary 2: the bias term is proportional to 1/β.",
            "without noise the error falls as a power of β between −1.1 and −0.9",
            f"power {powers['bias']:.2f} (exact)".replace("-", "−"),
            -1.1 <= powers["bias"] <= -0.9,
        ),
        Claim(
            "Corollary 3: with β = α^(4/3) σ^(2/3) / (log n)³ the error has the order printed.",
            f"Corollary 2 at that β is within a factor {TWICE:g} of it, for n up to "
            f"{WORKERS[-1]:,}",
            f"{order.min():.2f} to {order.max():.2f} times",
            bool(order.max() <= TWICE),
        ),
        Claim(
            "Corollary 3: that β has the order of the optimal value, minimizing the error.",
            f"Corollary 2 at that β is within a factor {TWICE:g} of its least, for every n",
            f"{_shown(times['printed β'])} times the least",
            bool(times["printed β"].max() <= TWICE),
        ),
        Claim(
            "Corollary 3 with (log n)^(1/3), as `theory.best_beta` has it, is optimal.",
            f"Corollary 2 at that β is within a factor {TWICE:g} of its least, for every n",
            f"{_shown(times['corrected β'])} times the least",
            bool(times["corrected β"].max() <= TWICE),
            "ours",
        ),
    ]


CHOICES = {"printed β": "bad", "corrected β": "accent"}


def _shown(times: Floats) -> str:
    places = (WORKERS.index(16), WORKERS.index(1_000), len(WORKERS) - 1)
    return ", ".join(f"{times[k]:,.2f} at n = {WORKERS[k]:,}" for k in places)


def _power(part: pl.DataFrame, column: str, over: str = "") -> float:
    """The power of what is varied in a column, or in its ratio to another."""
    y = part[column].to_numpy() / (part[over].to_numpy() if over else 1.0)
    return float(np.polyfit(np.log(part["at"].to_numpy()), np.log(y), 1)[0])


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Variance and bias against β; what the printed β costs against n."""
    import altair as alt

    names = {"variance": "variance (nothing drifts)", "bias": "bias (no noise)"}
    log = alt.Scale(type="log", nice=False)
    size = {"width": theme.panel_width(2), "height": theme.PANEL_HEIGHT}
    part = data.filter(pl.col("what").is_in(list(names))).with_columns(
        pl.col("what").replace(names)
    )
    colours = dict(zip(names.values(), ("accent", "violet"), strict=True))
    left = (
        alt.Chart(part)
        .mark_line(point=True)
        .encode(
            x=alt.X("at:Q", title="β", scale=log, axis=alt.Axis(values=[*SLOW, 0.032])),
            y=alt.Y(
                "value:Q",
                title="largest error of an estimate",
                scale=log,
                axis=alt.Axis(values=[0.001, 0.003, 0.01, 0.03, 0.1], format="~g"),
            ),
            color=common.named("what", colours),
        )
        .properties(title="Corollary 2: one term falls as the other rises", **size)
    )
    right = (
        alt.Chart(data.filter(pl.col("what").is_in(list(CHOICES))))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "at:Q",
                title="workers n",
                scale=log,
                axis=alt.Axis(values=[10, 100, 1000, 10_000, 100_000], format="~s"),
            ),
            y=alt.Y(
                "value:Q",
                title="error over the least possible",
                scale=log,
                axis=alt.Axis(values=[1, 3, 10, 30, 100, 300, 1000], format="~g"),
            ),
            color=common.named("what", CHOICES),
        )
        .properties(title="Corollary 3: what its β costs", **size)
    )
    drawn: alt.HConcatChart = alt.hconcat(left, right).resolve_scale(color="independent")
    return drawn
