"""The paper's lemmas and propositions on thousands of random crowds: how much of a bound is used.

Nothing is simulated here but the crowds: agreement rates are exact, or moved by as much as a lemma
allows. A share of the bound above 1 is a counterexample.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream import theme
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Lemmas and propositions. On random crowds"
PAPER = (
    "Proposition 1: assuming p is known, the weighted majority vote is an optimal estimator of "
    "G(t). Proposition 2: v ↦ f(u, v) − v is strictly increasing over [v₀(u), ∞). Proposition 3: p "
    "= φ(a). Proposition 4: a unique fixed point if v₁(u) ≥ v₀(u). Proposition 5: "
    "v₁(a) − v₀(a) > v(a). Proposition 6: |v(u) − v(u′)| ≤ (8/n)‖u − u′‖₁. Lemma 2: if ‖â − a‖∞ ≤ "
    "ε ≤ γ/80 then ‖p̂ − p‖∞ ≤ 4γ^(−3/2) ε. Proposition 7: the bias under drift is at most 2σ/β."
)

CROWDS = {True: 4_000, False: 20_000}
"""Drawn; those that keep Assumption 1 are used, two in three."""
SIZES = (3, 4, 6, 10, 20, 40)
SIGNS = 6
"""Random corners of the box around the agreement rates, beside those that hurt most."""
SAME = 1e-9
"""Rounding that an equality may show: near γ = 0 it is divided by γ^(3/2)."""
SHOWN = 1_200
"""Crowds a chart can show."""
BIAS_SIGMA, BIAS_BETA = (1e-6, 1e-3), (1e-3, 0.3)
"""Between which drifts and speeds of forgetting are drawn."""


def uses() -> list[Use]:
    """A random crowd like those below."""
    return [beside.stream("a random crowd", np.random.default_rng(18).uniform(0, 0.5, 9), seed=18)]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """One row a check and crowd: γ, and the share of the bound that was reached."""
    rng = np.random.default_rng(8)
    found = []
    for n in SIZES:
        p = crowds(rng, CROWDS[quick] // len(SIZES), n)
        a = agreement_rates(p)
        gamma = ((1 - 2 * p).sum(axis=1) - 2 * (1 - 2 * p).max(axis=1)) ** 2 / n**2
        moved = corners(rng, p, a, gamma / 80)
        shares = {
            "Proposition 1": _proposition_1(rng, p),
            "Proposition 2": _proposition_2(rng, a),
            "Proposition 3": np.abs(batch.error_rates(a) - p).max(axis=1) / SAME,
            "Proposition 4": _proposition_4(rng, a),
            "Proposition 5": _proposition_5(p, a),
            "Proposition 6": _proposition_6(a, moved, v(p)),
            "Lemma 2": _lemma_2(p, moved, gamma),
            "Theorem 2, weights": _weights(rng, p),
            "symmetry, printed": np.abs(agreement_rates(1 - 2 * p) - a).max(axis=1) / SAME,
            "symmetry, corrected": np.abs(agreement_rates(1 - p) - a).max(axis=1) / SAME,
            **_bias(rng, p),
        }
        for check, share in shares.items():
            found.append(pl.DataFrame({"check": check, "n": n, "gamma": gamma, "share": share}))
        tick(1 / len(SIZES))
    return pl.concat(found)


def crowds(rng: np.random.Generator, number: int, n: int) -> Floats:
    """Error rates from 0 to a most that differs between crowds, half of them kept below ½; those
    that keep Assumption 1."""
    most = rng.uniform(0.05, 1.0, (number, 1)) * np.where(np.arange(number) % 2, 1, 0.5)[:, None]
    p = rng.uniform(0, 1, (number, n)) * most
    kept: Floats = p[p.mean(axis=1) < 0.5 - 1 / n]
    return kept


def agreement_rates(p: Floats) -> Floats:
    """Equation (2), of every crowd."""
    theta = 1 - 2 * p
    found: Floats = 0.5 + theta * (theta.sum(axis=-1, keepdims=True) - theta) / (
        2 * (p.shape[-1] - 1)
    )
    return found


def v(p: Floats) -> Floats:
    """v(a) = (1 − 2q)²."""
    found: Floats = (1 - 2 * p.mean(axis=-1)) ** 2
    return found


def v_0(a: Floats) -> Floats:
    """Return where the fixed-point equation begins."""
    n = a.shape[-1]
    found: Floats = np.maximum(4 * (n - 1) / n**2 * (2 * a - 1).max(axis=-1), 0.0)
    return found


def v_1(a: Floats) -> Floats:
    """The appendix's v₁."""
    found: Floats = 2 * (2 * a - 1).mean(axis=-1)
    return found


def corners(rng: np.random.Generator, p: Floats, a: Floats, epsilon: Floats) -> Floats:
    """Agreement rates moved by ε: to random corners, and to those that move one worker most.

    v grows with every agreement rate and p̂_i with v, while p̂_i falls with a_i: so a_i one way and
    all others the other. That is done to the best worker and to a random one.
    """
    number, n = p.shape
    signs = [rng.choice([-1.0, 1.0], (number, n)) for _ in range(SIGNS)]
    for target in (p.argmin(axis=1), rng.integers(n, size=number)):
        one = np.where(np.arange(n) == np.reshape(target, (-1, 1)), -1.0, 1.0)
        signs += [one, -one]
    return np.stack([a + sign * epsilon[:, None] for sign in signs])


def _solved(found: Floats) -> NDArray[np.bool_]:
    """Return which error rates come of a fixed point."""
    return np.asarray((found != 0.5).any(axis=-1))


ENUMERATED = 6
"""Workers up to which every possible task is gone through: 3⁶ of them."""
VOTES = 60
"""Crowds of each such size."""


def _proposition_1(rng: np.random.Generator, p: Floats) -> Floats:
    """Return the weighted vote's excess error over rounding; all X one by one.

    Whatever is decided on seeing x errs with probability L⁻(x)/2 or L⁺(x)/2, so that no estimator
    errs less than Σ min(L⁺, L⁻)/2. Answer rates are drawn.
    """
    found = np.full(len(p), np.nan)
    n = p.shape[1]
    if n > ENUMERATED:
        return found
    x = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=n)))
    for k, rates in enumerate(p[:VOTES]):
        alpha = rng.uniform(0.3, 1.0)
        right, wrong = alpha * (1 - rates), alpha * rates
        plus = np.where(x > 0, right, np.where(x < 0, wrong, 1 - alpha)).prod(axis=1)
        minus = np.where(x < 0, right, np.where(x > 0, wrong, 1 - alpha)).prod(axis=1)
        least = np.minimum(plus, minus).sum() / 2
        # vote_errors has the truth +1: where it is −1 the vote errs if it would not there.
        errs = batch.vote_errors(x, rates)
        by_vote = (plus * errs + minus * (1 - errs)).sum() / 2
        of_theory = theory.optimal_error(rates, alpha).value
        found[k] = max(abs(by_vote - least), abs(of_theory - least)) / SAME
    return found


STEPS = np.geomspace(1e-3, 4.0, 40)
"""Distances from v₀ at which f(u, v) − v is looked at: v is at most 1 for a crowd."""


def _proposition_2(rng: np.random.Generator, a: Floats) -> Floats:
    """n²/(n − 2)², by which f must rise at least, over how f rises from each v to the next.

    Of any u, not only of a crowd's agreement rates.
    """
    u = rng.uniform(0, 1, a.shape)
    n = u.shape[1]
    at = v_0(u)[:, None] + np.concatenate([[0.0], STEPS])
    slack = 4 * (n - 1) / n**2 * (2 * u - 1)
    f = (np.sqrt(np.maximum(at[:, :, None] - slack[:, None], 0)).sum(axis=2) / (n - 2)) ** 2
    rise = np.diff(f, axis=1) / np.diff(at, axis=1)
    found: Floats = n**2 / (n - 2) ** 2 / rise.min(axis=1)
    return found - ROUNDED


ROUNDED = 1e-9
"""Rounding of a quotient that may be exactly 1, where all u are equal."""


def _proposition_4(rng: np.random.Generator, a: Floats) -> Floats:
    """v₁/v₀ where that is at least 1 and yet there is no fixed point; 0 where there is one."""
    u = np.clip(a + rng.normal(0, 0.1, a.shape), 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(_solved(batch.error_rates(u)), 0.0, v_1(u) / v_0(u))
    return np.where(v_1(u) >= v_0(u), wrong, np.nan)


def _proposition_5(p: Floats, a: Floats) -> Floats:
    """v(a) over what it should be below; without end where that is not even positive."""
    room = v_1(a) - v_0(a)
    found: Floats = np.divide(v(p), room, out=np.full(len(p), np.inf), where=room > 0)
    return found


def _proposition_6(a: Floats, moved: Floats, fixed: Floats) -> Floats:
    """The largest |v(u) − v(a)| over its bound, of the corners."""
    estimate = batch.error_rates(moved)
    change = np.abs(v(estimate) - fixed) / (8 * np.abs(moved - a).mean(axis=-1))
    found: Floats = np.where(_solved(estimate), change, np.inf).max(axis=0)
    return found


def _lemma_2(p: Floats, moved: Floats, gamma: Floats) -> Floats:
    """The largest ‖p̂ − p‖∞ over 4γ^(−3/2) ε at ε = γ/80, of the corners."""
    off = np.abs(batch.error_rates(moved) - p).max(axis=-1).max(axis=0)
    found: Floats = off / (4 * gamma**-1.5 * gamma / 80)
    return found


def _weights(rng: np.random.Generator, p: Floats) -> Floats:
    """The proof of Theorem 2: mean |ŵ − w| over 4/η ‖p̂ − p‖∞, for ‖p̂ − p‖∞ at most η/2."""
    kept = np.clip(p, 0.001, 0.999)
    eta = (kept * (1 - kept)).min(axis=1, keepdims=True)
    estimate = kept + rng.choice([-1.0, 1.0], p.shape) * eta / 2
    change = np.abs(np.log(1 / estimate - 1) - np.log(1 / kept - 1)).mean(axis=1)
    found: Floats = change / (4 / eta[:, 0] * np.abs(estimate - kept).max(axis=1))
    return found


def _bias(rng: np.random.Generator, p: Floats) -> dict[str, Floats]:
    """|E[â^β(t)] − a(t)| over 2σ/β as printed, and over what the start at 0 adds to it."""
    number = min(len(p), 60)
    printed, corrected = np.full((2, len(p)), np.nan)
    for k in range(number):
        sigma = np.exp(rng.uniform(*np.log(BIAS_SIGMA)))
        beta = np.exp(rng.uniform(*np.log(BIAS_BETA)))
        t = int(np.ceil(rng.uniform(0.2, 12) / beta))
        ago = np.arange(t)[::-1, None]
        way = rng.choice([-1.0, 1.0], p.shape[1])
        rates = agreement_rates(np.clip(p[k] + way * sigma * ago, 0, 1))
        mean = (beta * (1 - beta) ** ago * rates).sum(axis=0)
        off = np.abs(mean - rates[-1]).max()
        printed[k] = off / (2 * sigma / beta)
        corrected[k] = off / (2 * sigma / beta + (1 - beta) ** t)
    return {"Proposition 7": printed, "Proposition 7, corrected": corrected}


TEXTS = {
    "Proposition 1": ("The weighted vote that knows p is optimal.", "paper"),
    "Proposition 2": ("v ↦ f(u, v) − v is strictly increasing over [v₀(u), ∞).", "paper"),
    "Proposition 3": ("p = φ(a): error rates come back from their agreement rates.", "paper"),
    "symmetry, printed": ("p and 1 − 2p are statistically indistinguishable (section 3).", "paper"),
    "Proposition 4": ("If v₁(u) ≥ v₀(u) there is a unique fixed point.", "paper"),
    "Proposition 5": ("v₁(a) − v₀(a) > v(a).", "paper"),
    "Proposition 6": ("|v(u) − v(u′)| ≤ (8/n) ‖u − u′‖₁.", "paper"),
    "Lemma 2": ("‖p̂ − p‖∞ ≤ 4γ^(−3/2) ε if ‖â − a‖∞ ≤ ε ≤ γ/80.", "paper"),
    "Theorem 2, weights": ("mean |ŵ − w| ≤ (4/η) ‖p̂ − p‖∞ if that is at most η/2.", "paper"),
    "Proposition 7": ("‖E[â^β(t)] − a(t)‖∞ ≤ 2σ/β.", "paper"),
    "symmetry, corrected": ("p and 1 − p are statistically indistinguishable.", "ours"),
    "Proposition 7, corrected": ("‖E[â^β(t)] − a(t)‖∞ ≤ 2σ/β + (1 − β)^t.", "ours"),
}
EQUALITIES = {
    "Proposition 1": "the least error there is",
    "Proposition 3": "the same error rates",
    "symmetry, printed": "the same agreement rates",
    "symmetry, corrected": "the same agreement rates",
}
"""Quantities that must be equal where no bound is stated."""
READ = {"Proposition 2": "f rises at least n²/(n − 2)² times as fast as v, for every u drawn"}
"""Words on how a claim is read where it is not of crowds."""


def claims(data: pl.DataFrame) -> list[Claim]:
    """Every one, with the largest share of its bound that a crowd reached."""
    found = []
    for check, (text, source) in TEXTS.items():
        share = data.filter(pl.col("check") == check)["share"].to_numpy()
        share = share[~np.isnan(share)]  # of crowds to which it applies
        over, most = int((share > 1).sum()), float(share.max(initial=0))
        equality = check in EQUALITIES
        largest = f"off by at most {most * SAME:.2g}"
        if not equality:
            largest = f"at most {most:.3g} of the bound is reached"
        against = f"not for {over:,} of {share.size:,} crowds"
        found.append(
            Claim(
                f"{check.split(',')[0].capitalize()}: {text}",
                f"{EQUALITIES[check]} for every crowd, to {SAME:g}"
                if equality
                else READ.get(check, "for every crowd"),
                against if over else f"for all of {share.size:,} crowds; {largest}",
                not over,
                "ours" if source == "ours" else "paper",
            )
        )
    return found


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """A dot a crowd: the share of the bound that it reached, against γ."""
    import altair as alt

    panels = []
    shown = ("Lemma 2", "Proposition 6", "Proposition 5")
    some = data.filter(pl.col("share").is_between(1e-6, 1e6)).sample(
        fraction=1.0, shuffle=True, seed=0
    )
    for check in shown:
        part = some.filter(pl.col("check") == check, pl.col("gamma") > 1e-4).head(SHOWN)
        first = check == shown[0]
        log = alt.Scale(type="log", domain=[1e-4, 1])
        x = alt.X("gamma:Q", title="γ of the crowd", scale=log, axis=common.powers_of_ten(-4, 0))
        y = alt.Y(
            "share:Q",
            title="share of the bound reached" if first else None,
            scale=alt.Scale(type="log"),
            axis=common.powers_of_ten(-6, 4),
        )
        colour = alt.Color("n:O", title="workers n", scale=alt.Scale(range=_shades()))
        dots = alt.Chart(part).mark_circle(size=22, opacity=0.7).encode(x=x, y=y, color=colour)
        line = alt.Chart(pl.DataFrame({"share": [1.0]})).encode(y="share:Q")
        rule = line.mark_rule(strokeDash=[6, 4], color=theme.LIGHT["bad"])
        width, height = theme.panel_width(3), theme.PANEL_HEIGHT
        panels.append((dots + rule).properties(title=check, width=width, height=height))
    return alt.hconcat(*panels)


def _shades() -> list[str]:
    """Return shades for numbers of workers."""
    return [theme.LIGHT["soft"], *theme.RAMP, theme.LIGHT["ink"]]
