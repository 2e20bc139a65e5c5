"""Figure 4: the cumulative regret against the number of tasks, and that of `Adaptive`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from crowdstream import theme
from crowdstream.simulation import error_rates
from crowdstream_lab import theory
from crowdstream_lab.experiments import batch, beside, common
from crowdstream_lab.experiments.common import Claim, Floats, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 4. Cumulative regret against the number of tasks"
PAPER = (
    "The cumulative regret increases with q. It is finite for any q that satisfies Assumption 1 "
    "(here, q < 0.4) and surprisingly low: for q = 0.25 close to 0; for q = 0.31 our algorithm "
    "makes less than 2 prediction errors on average compared to the oracle (n = 10)."
)

N, TASKS = 10, 1000
Q = (0.25, 0.28, 0.31, 0.34)
LIMITS = {0.25: ("close to 0", 0.2), 0.31: ("less than 2 errors", 2.0)}
"""Limits of the final regret: a fifth of an error is read as close to 0."""
REPETITIONS = {True: 200, False: 2000}
"""Quick: a standard error of 0.17 on the regret at q = 0.31, where the two ways are 1.6 apart."""
TOGETHER = 100
"""Repetitions in memory at once."""
SHOWN = 20
"""Every so many tasks a point in the chart."""
LATE = 0.1
"""Share of the regret that may still be added in the last fifth for it to be called flat: growth
like a logarithm would add 0.05 to 0.1 there, linear growth 0.2."""
PRINTED, CLIPPED, MAJORITY = "AB as printed", f"AB, clip {common.CLIP}", "majority vote"
CLIPS = {PRINTED: 0.0, CLIPPED: common.CLIP}
ADAPTIVE = "Adaptive (our default)"
OF_ADAPTIVE = {True: 20, False: 150}
"""Repetitions of `Adaptive`, which runs one stream after another: the first of those above."""
METHODS = (PRINTED, CLIPPED, ADAPTIVE, MAJORITY)


def uses() -> list[Use]:
    """A crowd of the figure, decided as printed and with the clip."""
    p = error_rates(N, q=Q[2])
    return [beside.stream(f"q = {Q[2]}", p, clip=common.CLIP, seed=14)]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Errors of AB and of majority vote minus the oracle's on the same labels, added up."""
    at = np.arange(SHOWN - 1, TASKS, SHOWN)
    rows = []
    for q in Q:
        p, rng = error_rates(N, q=q), np.random.default_rng(4)
        regret: dict[str, list[Floats]] = {method: [] for method in METHODS}
        for size in common.parts(REPETITIONS[quick], TOGETHER):
            right = batch.draw(rng, (size, TASKS, N), p)
            oracle = batch.vote_errors(right, p)
            before = np.full_like(right, 0.5)  # task t is decided with what t − 1 tasks taught
            before[:, 1:] = batch.error_rates(batch.agreements(right)[:, :-1])
            errors = {way: batch.vote_errors(right, before, clip) for way, clip in CLIPS.items()}
            errors[MAJORITY] = batch.vote_errors(right, np.full(N, 0.5))
            rest = OF_ADAPTIVE[quick] - sum(len(part) for part in regret[ADAPTIVE])
            if rest > 0:
                errors[ADAPTIVE] = beside.stream_errors(right[:rest])
            for method, found in errors.items():
                regret[method].append(np.cumsum(found - oracle[: len(found)], axis=1)[:, at])
            tick(size / len(Q) / REPETITIONS[quick])
        for method, values in regret.items():
            all_of_them = np.concatenate(values)
            for j, t in enumerate(at + 1):
                found_at = common.summary(all_of_them[:, j])
                rows.append({"method": method, "q": q, "t": int(t), **found_at})
    return pl.DataFrame(rows)


def claims(data: pl.DataFrame) -> list[Claim]:
    """The paper's sentences of the algorithm as printed, or clipped; ours of the clip, and more."""
    late = {q: _late(_path(data, MAJORITY, q)) for q in Q}
    return [
        *_sentences(data),
        _theorem(),
        Claim(
            "The regret of majority vote increases linearly with the number of tasks (section 7).",
            "the last fifth of the tasks adds 20% ± 2% of it, for each q",
            ", ".join(f"{share:.1%}" for share in late.values()),
            all(abs(share - 0.2) < 0.02 for share in late.values()),
        ),
        *_promises(data),
    ]


READINGS = "estimates p̂ ≤ 0 have infinite weights and decide alone, or are kept at 0.05"
"""The paper says that weights may be infinite, and not what log(1/p̂ − 1) is below 0."""


def _sentences(data: pl.DataFrame) -> list[Claim]:
    """Limits, order and flatness, by both readings of what the paper leaves open."""
    found = []
    ways = [_Regret.of(data, method) for method in (PRINTED, CLIPPED)]
    for q, (word, limit) in LIMITS.items():
        found.append(
            Claim(
                f"The regret at q = {q} is {word}.",
                f"below {limit} after {TASKS} tasks; {READINGS}",
                "; ".join(f"{way.ends[q]:.3f} ± {way.noise[q]:.3f}" for way in ways),
                ways[0].ends[q] < limit,
                otherwise=ways[1].ends[q] < limit,
                decided=all(abs(way.ends[q] - limit) > way.noise[q] for way in ways),
            )
        )
    at = f"at q = {', '.join(map(str, Q))}"
    return [
        *found,
        Claim(
            "The cumulative regret increases with q.",
            f"in the order of q; {READINGS}",
            "; ".join(common.listed(list(way.ends.values()), ".2f") for way in ways) + f" {at}",
            ways[0].is_ordered,
            otherwise=ways[1].is_ordered,
        ),
        Claim(
            "The cumulative regret is finite.",
            f"the last fifth of the tasks adds less than {LATE:.0%} of it, for each q; {READINGS}",
            "; ".join(common.listed(list(way.added.values())) for way in ways) + f" {at}",
            ways[0].is_flat,
            otherwise=ways[1].is_flat,
        ),
    ]


class _Regret(NamedTuple):
    """The regret of one way of deciding after all tasks, by q, and what the last fifth added."""

    ends: dict[float, float]
    noise: dict[float, float]
    added: dict[float, float]

    @classmethod
    def of(cls, data: pl.DataFrame, method: str) -> _Regret:
        """Read it off the data."""
        paths = {q: _path(data, method, q) for q in Q}
        return cls(
            {q: float(path[-1]) for q, path in paths.items()},
            {q: float(_path(data, method, q, "high")[-1] - paths[q][-1]) for q in Q},
            {q: float(path[-1] - path[-path.size // 5 - 1]) for q, path in paths.items()},
        )

    @property
    def is_ordered(self) -> bool:
        """True if the regret grows with q."""
        return list(self.ends.values()) == sorted(self.ends.values())

    @property
    def is_flat(self) -> bool:
        """True if the last fifth hardly adds to the regret; where that is near 0, noise does."""
        return all(self.added[q] <= max(LATE * self.ends[q], 0.02) for q in Q)


def _promises(data: pl.DataFrame) -> list[Claim]:
    """Ours: the clip makes the figure as the paper describes it; `Adaptive` is no worse for it."""
    clipped, ours = (_Regret.of(data, method) for method in (CLIPPED, ADAPTIVE))
    limits = {q: limit for q, (_, limit) in LIMITS.items()}
    below = [clipped.ends[q] < limit for q, limit in limits.items()]
    majority = _Regret.of(data, MAJORITY)
    return [
        Claim(
            f"{CLIPPED}: the figure is as the paper describes it.",
            f"below {', '.join(map(str, limits.values()))} at q = {', '.join(map(str, limits))}, "
            "growing with q, and flat at the end",
            f"{common.listed(list(clipped.ends.values()), '.2f')}; the last fifth adds "
            f"{common.listed(list(clipped.added.values()))}",
            all(below) and clipped.is_ordered and clipped.is_flat,
            "ours",
        ),
        Claim(
            f"{ADAPTIVE}, which is not told the answer rate, learns this crowd too.",
            f"less than half of majority vote's regret after {TASKS} tasks, for each q",
            "; ".join(
                f"{ours.ends[q]:.2f} ± {ours.noise[q]:.2f} against {majority.ends[q]:.2f}"
                for q in Q
            ),
            all(ours.ends[q] < majority.ends[q] / 2 for q in Q),
            "ours",
        ),
    ]


def _path(data: pl.DataFrame, method: str, q: float, column: str = "mean") -> Floats:
    return data.filter(pl.col("method") == method, pl.col("q") == q)[column].to_numpy()


def _late(path: Floats) -> float:
    """The share that the last fifth of the tasks adds."""
    return float((path[-1] - path[-path.size // 5 - 1]) / path[-1])


def _theorem() -> Claim:
    """Check if Theorem 2 covers each crowd of the figure: it asks that nobody be perfect."""
    covered = {q: theory.eta(error_rates(N, q=q)) > 0 for q in Q}
    out = ", ".join(str(q) for q, inside in covered.items() if not inside)
    return Claim(
        "We know from Theorem 2 that the regret is finite for any q that satisfies Assumption 1.",
        "its condition η > 0 holds at each q of the figure",
        f"η = 0 at q = {out}, where half of the crowd never errs" if out else "at each",
        not out,
    )


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Both ways of AB and `Adaptive` on one scale, majority vote on its own; two rows of two."""
    import altair as alt

    panels = []
    x = alt.X("t:Q", title="tasks t", axis=alt.Axis(tickCount=5))
    highest = float(data.filter(pl.col("method") != MAJORITY)["high"].to_numpy().max())
    for method in METHODS:
        ours = method != MAJORITY
        scale = alt.Scale(domain=[0, highest]) if ours else alt.Scale(zero=True)
        y = alt.Y("mean:Q", title="cumulative regret R(t)" if ours else None, scale=scale)
        part = data.filter(pl.col("method") == method)
        drawn = common.with_band(part, x, y, common.ordered("q", "mean error rate q"))
        if ours:
            line = alt.Chart(pl.DataFrame({"mean": [2.0]})).encode(y="mean:Q")
            drawn += line.mark_rule(strokeDash=[6, 4], color=theme.LIGHT["soft"])
        title = method + (" (dashed: 2 errors)" if ours else " (another scale)")
        width, height = theme.panel_width(2), theme.PANEL_HEIGHT
        panels.append(drawn.properties(title=title, width=width, height=height))
    drawn_in_rows: alt.ConcatChart = alt.concat(*panels, columns=2)
    return drawn_in_rows
