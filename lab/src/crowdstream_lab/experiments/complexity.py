"""Section 4.2: what the algorithm costs in time and memory, by workers and by tasks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream import theme
from crowdstream.simulation import Simulated, error_rates, simulate
from crowdstream_lab.experiments import beside, common
from crowdstream_lab.experiments.common import Claim, Tick, Use

if TYPE_CHECKING:
    import altair as alt

TITLE = "Section 4.2. Cost in time and memory"
PAPER = (
    "In order to calculate p̂(t), we only need to store the value of â(t), which requires O(n) "
    "memory space. Further, the update of â(t) requires O(n) operations. The time complexity of "
    "our algorithm is then O(n log t)."
)

Q = 0.31
WORKERS = (10, 30, 100, 300, 1000)
TASKS = (100, 300, 1000, 3000)
AT = {"n": 100, "t": 300}
"""Workers where tasks are varied, and tasks where workers are."""
TIMES = {True: 3, False: 9}
"""Runs timed; the quickest counts, as nothing makes a program quicker than it is."""
LINEAR = 1.2
"""The largest power that is called linear, as in Table 2: what is quadratic would have 2."""
EVEN = 1.02
"""A factor by which a size may differ and be called the same: counts of more digits take more."""
FROM = 100
"""Workers from which on the power is asked for: below, what every state holds counts for more."""


def uses() -> list[Use]:
    """A crowd like those timed."""
    return [beside.stream("n = 30", error_rates(30, q=Q), seed=23)]


def compute(quick: bool, tick: Tick) -> pl.DataFrame:
    """Processor time per task and bytes of state, for some n and some t."""
    rows = []
    pairs = [(n, AT["t"]) for n in WORKERS] + [(AT["n"], t) for t in TASKS if t != AT["t"]]
    for n, t in pairs:
        labels = simulate(n, t, p=error_rates(n, q=Q), seed=n)
        seconds = [_seconds(labels) for _ in range(TIMES[quick])]
        crowd, watched = _learn(labels, False), _learn(labels, True)
        rows.append(
            {
                "n": n,
                "t": t,
                "seconds": min(seconds),
                "median": float(np.median(seconds)),
                "bytes": len(crowd.to_bytes()),
                "with monitors": len(watched.to_bytes()),
            }
        )
        tick(1 / len(pairs))
    return pl.DataFrame(rows)


def _learn(labels: Simulated, watched: bool) -> cs.AgreementBased:
    """Decide and learn every task; without monitors it is the algorithm alone."""
    crowd = cs.AgreementBased(answer_rate=1.0, shrinkage=0, clip=0)
    if not watched:
        crowd.observers.clear()
    with beside.quietly():
        crowd.stream_many(labels.columns(), settle=None)
    return crowd


def _seconds(labels: Simulated) -> float:
    start = time.process_time()
    _learn(labels, False)
    return time.process_time() - start


def claims(data: pl.DataFrame) -> list[Claim]:
    """Powers of n and of t, of time and of memory."""
    by_n = data.filter(pl.col("t") == AT["t"]).sort("n")
    by_t = data.filter(pl.col("n") == AT["n"]).sort("t")
    large = by_n.filter(pl.col("n") >= FROM)
    memory = _power(large, "n", "bytes")
    sizes = by_t["bytes"].to_numpy()
    kept = ", ".join(f"{size / 1000:,.1f} kB" for size in by_n["bytes"])
    watched = by_n["with monitors"].to_numpy() / 1000
    return [
        Claim(
            "It only needs to store â(t), which requires O(n) memory space.",
            f"bytes of the saved state grow with n to a power of {LINEAR} at most, from n = {FROM} "
            "on",
            f"power {memory:.2f}; {kept} at n = {', '.join(map(str, WORKERS))} (with the monitors "
            f"that are on by default {watched.min():,.0f} to {watched.max():,.0f} kB)",
            memory <= LINEAR,
        ),
        Claim(
            "It does not store the labels: O(n), whatever the number of tasks.",
            f"bytes of the saved state within a factor {EVEN} of each other from {TASKS[0]} to "
            f"{TASKS[-1]:,} tasks",
            f"{', '.join(f'{size:,}' for size in sizes)} bytes at n = {AT['n']}",
            bool(sizes.max() <= EVEN * sizes.min()),
        ),
        _timed("The update requires O(n) operations.", large, "n"),
        _timed("The time complexity is O(n log t): a task costs as much late as early.", by_t, "t"),
    ]


def _timed(text: str, part: pl.DataFrame, by: str) -> Claim:
    """A power of processor time; not told where the quickest and the median run differ in it."""
    powers = [_power(part, by, column) for column in ("seconds", "median")]
    each = (1e6 * part["seconds"] / part["t"]).to_list()
    return Claim(
        text,
        f"processor time grows with {by} to a power of {LINEAR} at most, by the quickest run and "
        "by the median one",
        f"powers {common.listed(powers, '.2f')}; {common.listed(each, '.1f')} µs a task at {by} = "
        f"{', '.join(f'{x:,}' for x in part[by])}",
        powers[0] <= LINEAR,
        decided=(powers[0] <= LINEAR) == (powers[1] <= LINEAR),
    )


def _power(part: pl.DataFrame, by: str, column: str) -> float:
    x, y = np.log(part[by].to_numpy()), np.log(part[column].to_numpy())
    return float(np.polyfit(x, y, 1)[0])


def draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    """Time per task and bytes of state, against n and against t."""
    import altair as alt

    log = alt.Scale(type="log", nice=False)
    size = {"width": theme.panel_width(2), "height": theme.PANEL_HEIGHT // 2}
    shown = data.with_columns(
        micro=1e6 * pl.col("seconds") / pl.col("t"), kilo=pl.col("bytes") / 1000
    )
    by_n, by_t = shown.filter(pl.col("t") == AT["t"]), shown.filter(pl.col("n") == AT["n"])
    n = alt.X("n:Q", title="workers n", scale=log, axis=alt.Axis(values=[10, 100, 1000]))
    t = alt.X("t:Q", title="tasks t", scale=log, axis=alt.Axis(values=[100, 300, 1000, 3000]))
    few = alt.Axis(values=[1, 3, 10, 30, 100, 300], format="~g")
    # Panels side by side have one scale, or a flat line would look like any other.
    kilo, micro = (
        alt.Y(
            f"{name}:Q",
            title=title,
            scale=alt.Scale(type="log", domain=[1, 1.2 * shown[name].to_numpy().max()]),
            axis=few,
        )
        for name, title in (("kilo", "state, kB"), ("micro", "µs a task"))
    )
    panels = (
        (by_n, n, micro, "Time, by workers"),
        (by_t, t, micro, f"Time, by tasks (n = {AT['n']})"),
        (by_n, n, kilo, "Memory, by workers"),
        (by_t, t, kilo, f"Memory, by tasks (n = {AT['n']})"),
    )
    drawn: alt.ConcatChart = alt.concat(
        *(
            alt.Chart(part)
            .mark_line(point={"color": theme.LIGHT["accent"]}, color=theme.LIGHT["accent"])
            .encode(x=x, y=y)
            .properties(title=title, **size)
            for part, x, y, title in panels
        ),
        columns=2,
    )
    return drawn
