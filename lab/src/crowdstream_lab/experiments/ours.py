"""Our own code, before anything is said of the paper's: solvers, the fallback and the tie coin."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream import reference
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

TITLE = "Section 3. Our code beside the paper's algorithm"
PAPER = (
    "p̂(t) = φ(â(t)) if the fixed-point equation v = f(â(t), v) has a unique solution, p̂(t) = (½, "
    "…, ½) otherwise. These weights inferred from tasks 1, …, t are used to label task t + 1 "
    "according to weighted majority vote; Z, for random tie-breaking, is a Bernoulli variable of "
    "parameter ½."
)

SPREAD = np.linspace(0.05, 0.4, 10)
"""Error rates of a crowd in which everybody is different."""
DOMINATED = np.array([0.05, 0.35, 0.4])
"""One holds more than half of the signal: the paper's equation mostly has no solution."""
SIZES = (3, 4, 7, 20)
RATES = {True: 40, False: 200}
"""Vectors of agreement rates for each number of workers."""
TIES = 1000
"""Tied tasks of each kind: a coin of 0.6 would be seen, as it is six standard errors off."""
LEVEL = 1e-4
"""Below this probability of a fair coin it is called unfair. Seeds are fixed, so that it is the
same in every run; of ten thousand fair coins one would be refused."""


def uses() -> list[Use]:
    """Every part of the algorithm at least once, from the simplest on."""
    return [
        beside.stream("everybody answers", SPREAD),
        beside.stream("a worker with most of the signal", DOMINATED, seed=1),
        beside.stream("workers answer with α = 0.6", SPREAD, alpha=0.6, seed=2),
        beside.stream("forgetting", SPREAD, beta=0.05, seed=3),
        beside.stream("forgetting, α = 0.7", SPREAD, alpha=0.7, beta=0.03, seed=4),
    ]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Measure how far solvers are apart on any agreement rates, and how ties fall."""
    rng = np.random.default_rng(0)
    rows = [
        {"what": what, "kind": str(n), "of": number, "value": off}
        for n in SIZES
        for what, number, off in _solvers(rng, n, RATES[quick])
    ]
    tick(0.5)
    rows += [
        {"what": "tie coin", "kind": kind, "of": TIES, "value": float(heads)}
        for kind, heads in _coins()
    ]
    tick(0.5)
    return pl.DataFrame(rows)


def _solvers(rng: np.random.Generator, n: int, number: int) -> Iterator[tuple[str, int, float]]:
    """The largest difference to the plain transcription, where no rounding decides."""
    agreed = np.clip(0.7 + rng.normal(0, 0.1, (number, n)), 0, 1)
    agreed = agreed[[abs(reference.excess(a, 0.0)) > beside.EDGE for a in agreed]]
    wanted = np.array([reference.error_rates(a) for a in agreed])
    found = {
        "experiments.batch": batch.error_rates(agreed),
        "theory": np.array([_by_theory(a) for a in agreed]),
    }
    for what, rates in found.items():
        yield what, len(agreed), float(np.abs(rates - wanted).max())


def _by_theory(agreed: Floats) -> Floats:
    found = theory.error_rates_from_agreements(agreed)
    return np.full(agreed.size, beside.EMPTY) if found is None else found


def _coins() -> Iterator[tuple[str, int]]:
    """Count how often +1 wins a tie with −1: by names of tasks, by seeds, in a stream."""
    answers = {0: 1, 1: -1}
    rows = [(t, worker, label) for t in range(TIES) for worker, label in answers.items()]
    with beside.quietly():
        table = cs.AgreementBased().fit_predict(rows)
        yield "tasks of a table", int((table["label"] == 1).sum())
        table = cs.AgreementBased().fit_predict(rows[::-1])
        yield "in the other order", int((table["label"] == 1).sum())
        wins = [cs.AgreementBased(seed=seed).predict_one(answers) for seed in range(TIES)]
        yield "seeds, learnt from none", wins.count(1)
        found = cs.Stream(cs.AgreementBased(seed=1), settle=None).observe_many(rows, at=0)
        yield "tasks of a stream", sum(decision.label == 1 for decision in found)


def chance_of(heads: int, tosses: int) -> float:
    """Return how likely a fair coin is to fall at least as unevenly (two-sided, exact).

    >>> chance_of(5, 10), chance_of(10, 10) == 2 / 2**10
    (1.0, True)
    """
    far = abs(2 * heads - tosses)
    ways = sum(math.comb(tosses, k) for k in range(tosses + 1) if abs(2 * k - tosses) >= far)
    return float(ways / 2**tosses)


def claims(data: pl.DataFrame) -> list[Claim]:
    """Check each solver, and the coin."""
    found = []
    solvers = data.filter(pl.col("what") != "tie coin")
    for (what,), part in solvers.group_by("what", maintain_order=True):
        off = float(part["value"].to_numpy().max())
        word = "solves" if off <= beside.SAME else "does not solve"
        found.append(
            Claim(
                f"`{what}` {word} the paper's fixed point v = f(â, v), with its n − 2 and n − 1.",
                f"error rates as the plain transcription's to {beside.SAME:g}",
                f"largest difference {off:.2g} on {part['of'].sum():,} vectors of agreement rates",
                off <= beside.SAME,
                "ours",
            )
        )
    coins = data.filter(pl.col("what") == "tie coin")
    chances = [chance_of(int(heads), TIES) for heads in coins["value"]]
    fair = min(chances) >= LEVEL
    shown = ", ".join(
        f"{int(heads):,} ({kind}; probability {chance:.2g})"
        for kind, heads, chance in zip(coins["kind"], coins["value"], chances, strict=True)
    )
    found.append(
        Claim(
            f"The tie coin of `AgreementBased` is {'fair' if fair else 'not fair'}, Z in (wmv).",
            f"+1 wins as often of {TIES:,} ties as a fair coin does at level {LEVEL:g}",
            shown,
            fair,
            "ours",
        )
    )
    return found


def draw(data: pl.DataFrame) -> None:
    """No figure: the claims say it."""
