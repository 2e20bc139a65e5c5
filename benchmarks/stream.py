"""Time a label of a stream by every estimator, against `Adaptive` in the same run; memory.

    make bench        or        python benchmarks/stream.py [--quick] [--chart FILE] [TABLE …]

Simulated labels with text ids: two classes, tasks open side by side and in no order, closed by
``settle=0.95`` or when they are full (five labels), so that a part of the rows is late. Processor
time of one core. A round measures every estimator once, each round in another order; the mean of
the rounds is what users wait for, the least what other programs have not added to. A stream is
*young* for its first 2,000 labels (with monitors: 5,000); an *old* one has learnt 100,000 before,
as a table, and taken 20,000 more. Counting votes in a dict is the least that one could do.
``--quick``: fewer and smaller runs, for the tests; its figures say nothing.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = "1"

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import crowdstream as cs

if TYPE_CHECKING:
    import altair as alt

Rows = list[tuple[str, str, str]]
Runs = dict[str, Callable[[], object]]

Makers = Mapping[str, Callable[[], cs.Estimator]]

KINDS: dict[str, type[cs.Estimator]] = {
    kind.__name__: kind
    for kind in (cs.Adaptive, cs.CentredAgreement, cs.MajorityVote, cs.AgreementBased)
}
"""The estimators that are timed; all are compared with the first."""

FIRST = next(iter(KINDS))

COUNTING = "votes in a dict"

MONITORED: Makers = {
    "without monitors": cs.Adaptive,
    "with monitors": lambda: cs.monitor(cs.Adaptive()),
}
"""The default estimator as a stream and a server run it."""

MONITORED_SIZES, MONITORED_YOUNG = (100, 1_000), 5_000
"""Workers of its crowds, and labels of its young streams."""

SIZES = (100, 10_000)
"""Workers of the crowds whose labels are timed."""

GROWING = (10, 100, 1_000, 10_000)
"""Workers of the crowds by which it is shown how cost grows with them."""

LEARNT = (2_000, 10_000, 50_000, 250_000)
"""Labels learnt before, by which it is shown how cost grows with them."""

YOUNG, OLD = 2_000, 100_000
"""Labels of a young stream, and those that an old one has learnt before."""

BATCH = 1_000
"""Rows given at once."""

SINGLES = 500
"""Rows given one by one in a round, of an old stream."""

IN_STREAM, WARM = 20_000, 3.0
"""Labels that an old stream takes before it is measured, and the seconds after which a slow one
stops: what is due at first (how hard tasks are is found after 50, 100, 200, … of them) is past."""

ROUNDS = 8

UNTIL_DOUBLED = 13
"""Batches in a round of an old stream with monitors: meanwhile its tasks double, so that the mean
has its share of what is due once in that time, as a stream's users have."""

TASKS = {10: 2_000, 100: 2_000, 1_000: 1_000, 10_000: 200}
"""Tasks that `stream_many` decides in a round, by workers."""

SIDE_BY_SIDE = 300
"""Tasks that take labels at a time."""

LABELS = 5
"""Labels after which a task is full."""

NAMES = ("no", "yes")

WIDTH = 150
"""Columns of text that the widest table takes."""


# Labels and clocks ------------------------------------------------------------------------------


def simulate(workers: int, labels: int, first: int = 0, window: int = SIDE_BY_SIDE) -> Rows:
    """Rows of tasks that are open side by side; each gets five labels of different workers.

    The first task has the number ``first``; rows of other numbers are of other tasks of the crowd.
    """
    right = np.random.default_rng(workers).uniform(0.6, 0.95, workers)
    rng = np.random.default_rng((workers, first))
    tasks = labels // LABELS + 1
    who = np.argsort(rng.random((tasks, min(workers, 200))), axis=1)[:, :LABELS]
    who = (who + rng.integers(workers, size=(tasks, 1))) % workers
    truth = rng.integers(2, size=(tasks, 1))
    said = np.where(rng.random((tasks, LABELS)) < right[who], truth, 1 - truth)
    # Each label comes at a time of its own, within the time of as many tasks as are open at once.
    come = np.arange(tasks)[:, None] + rng.uniform(0, window, (tasks, LABELS))
    order = np.argsort(come, axis=None)[:labels]
    return [
        (f"task-{first + at // LABELS:07d}", f"worker-{i}", NAMES[x])
        for at, i, x in zip(
            order.tolist(), who.ravel()[order].tolist(), said.ravel()[order].tolist(), strict=True
        )
    ]


def as_table(rows: Rows) -> pl.DataFrame:
    """Rows as a table."""
    return pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")


def batches(rows: Rows) -> Iterator[Rows]:
    """The rows, a thousand at a time."""
    for at in range(0, len(rows), BATCH):
        yield rows[at : at + BATCH]


class Cost(NamedTuple):
    """Microseconds a label, or a task: the mean of the rounds and the least."""

    mean: float
    least: float


class Clock:
    """Times what is to be compared in alternating rounds, so that a busy minute hits all alike."""

    def __init__(self) -> None:
        self.taken: defaultdict[str, list[float]] = defaultdict(list)

    def round(self, runs: Runs, size: int) -> None:
        """Time each run of so many labels or tasks, in another order than the round before."""
        names = list(runs)
        turn = len(self.taken[names[0]]) % len(names)
        for name in names[turn:] + names[:turn]:
            start = time.process_time()
            runs[name]()
            self.taken[name].append((time.process_time() - start) / size * 1e6)

    @property
    def costs(self) -> dict[str, Cost]:
        """Return the times of the runs, by name."""
        return {name: Cost(float(np.mean(took)), min(took)) for name, took in self.taken.items()}


def count_votes(rows: Rows) -> None:
    """Majority vote as one would write it."""
    votes: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for task, _, label in rows:
        votes[task][label] += 1
    for found in votes.values():
        max(found, key=found.__getitem__)


def new_stream(crowd: cs.Estimator) -> cs.Stream:
    """A stream whose tasks close when they are settled or have five labels."""
    return cs.Stream(crowd, settle=0.95, max_labels=LABELS)


def taught(make: Callable[[], cs.Estimator], workers: int, labels: int) -> cs.Estimator:
    """A crowd of so many workers that has learnt so many labels, as a table."""
    crowd = make()
    crowd.learn_many(as_table(sorted(simulate(workers, labels, first=5_000_000))))
    return crowd


def one_by_one(stream: cs.Stream, rows: Rows) -> None:
    """Give each row by itself."""
    for row in rows:
        stream.observe(*row, at=0)


def at_once(stream: cs.Stream, rows: Rows) -> None:
    """Give the rows a thousand at a time."""
    for some in batches(rows):
        stream.observe_many(some, at=0)


# What a label costs -----------------------------------------------------------------------------


class Measured(NamedTuple):
    """The cost of a label by estimator, in one way of giving it."""

    workers: int
    age: str
    how: str
    costs: dict[str, Cost]


Give = Callable[[cs.Stream, Rows], None]

WAYS: dict[str, Give] = {"observe": one_by_one, "observe_many": at_once}


def runs(give: Give, streams: dict[str, cs.Stream], rows: Rows) -> Runs:
    """Return the steps of a round: each stream takes the rows, and votes are counted."""
    every: Runs = {name: partial(give, stream, rows) for name, stream in streams.items()}
    return {**every, COUNTING: partial(count_votes, rows)}


def young(workers: int, how: str, rounds: int, labels: int, makers: Makers = KINDS) -> Measured:
    """Measure the first labels of new streams."""
    rows, clock = simulate(workers, labels), Clock()
    for _ in range(rounds):
        streams = {name: new_stream(make()) for name, make in makers.items()}
        clock.round(runs(WAYS[how], streams, rows), len(rows))
    return Measured(workers, "young", how, clock.costs)


def old(
    workers: int,
    rounds: int,
    learnt: int,
    warm: float = WARM,
    makers: Makers = KINDS,
    many: int = 1,
) -> Iterator[Measured]:
    """Measure labels of streams whose crowds have learnt many, in turns one by one and at once.

    ``many``: batches after which labels come one by one again.
    """
    each = SINGLES + many * BATCH
    rows = simulate(workers, IN_STREAM + rounds * each)
    streams = {name: new_stream(taught(make, workers, learnt)) for name, make in makers.items()}
    for stream in streams.values():
        start = time.process_time()
        for some in batches(rows[:IN_STREAM]):
            stream.observe_many(some, at=0)
            if time.process_time() > start + warm:
                break
    clocks = {how: Clock() for how in WAYS}
    for at in range(IN_STREAM, len(rows), each):
        first, then = WAYS
        some = rows[at : at + SINGLES]
        clocks[first].round(runs(WAYS[first], streams, some), len(some))
        for some in batches(rows[at + SINGLES : at + each]):
            clocks[then].round(runs(WAYS[then], streams, some), len(some))
    for how, clock in clocks.items():
        yield Measured(workers, "old", how, clock.costs)


def cost_table(of: Callable[[bool], Table], measured: Makers) -> Table:
    """Return an empty table with a column for each that is measured, and one for a dict's votes."""
    table = Table(title=(of.__doc__ or "").splitlines()[0], width=WIDTH)
    for heading in ("workers", "stream", "by"):
        table.add_column(heading, no_wrap=True)
    for heading in (*measured, COUNTING):
        table.add_column(heading, justify="right")
    return table


def labels(quick: bool) -> Table:
    """The cost of a label in µs: mean (least) of rounds, and times `Adaptive`'s mean (least)."""
    table = cost_table(labels, KINDS)
    rounds, less = (2, 10) if quick else (ROUNDS, 1)
    for workers in SIZES[:1] if quick else SIZES:
        found = [young(workers, how, rounds, YOUNG // less) for how in WAYS]
        found += old(workers, rounds, OLD // less, WARM / less)
        for one in found:
            table.add_row(f"{workers:,}", one.age, one.how, *cells(one.costs))
        table.add_section()
    return table


def cells(costs: dict[str, Cost]) -> Iterator[str]:
    """Return the cost of each estimator, and how many times the first's."""
    first = costs[FIRST]
    for name, cost in costs.items():
        text = f"{cost.mean:.2f} ({cost.least:.2f})"
        if name != FIRST:
            text += f"\n×{cost.mean / first.mean:.2f} (×{cost.least / first.least:.2f})"
        yield text


def monitored(quick: bool) -> Table:
    """`Adaptive` with and without monitors, µs a label: mean (least), and times a dict's votes."""
    table = cost_table(monitored, MONITORED)
    rounds, less = (2, 10) if quick else (ROUNDS, 1)
    for workers in MONITORED_SIZES[:1] if quick else MONITORED_SIZES:
        found = [young(workers, "observe_many", rounds, MONITORED_YOUNG // less, MONITORED)]
        many = 1 if quick else UNTIL_DOUBLED
        found += old(workers, rounds, OLD // less, WARM / less, MONITORED, many)
        for one in found:
            votes = one.costs[COUNTING]
            told = [
                f"{cost.mean:.2f} ({cost.least:.2f})\n"
                f"×{cost.mean / votes.mean:.1f} (×{cost.least / votes.least:.1f})"
                for name, cost in one.costs.items()
                if name != COUNTING
            ]
            counted = f"{votes.mean:.2f} ({votes.least:.2f})"
            table.add_row(f"{workers:,}", one.age, one.how, *told, counted)
        table.add_section()
    return table


# The paper's algorithm --------------------------------------------------------------------------


def decide_tasks(kinds: Sequence[str], workers: int, tasks: int, rounds: int) -> dict[str, Cost]:
    """Time `stream_many` per task, in µs, once every worker is known."""
    rows = as_table(sorted(simulate(workers, tasks * LABELS)))
    known = {name: taught(KINDS[name], workers, 10 * workers).to_bytes() for name in kinds}
    clock = Clock()
    for _ in range(rounds):
        crowds = {name: cs.Estimator.load(saved) for name, saved in known.items()}
        decide: Runs = {name: partial(one.stream_many, rows) for name, one in crowds.items()}
        clock.round(decide, rows["task"].n_unique())
    return {name: clock.costs[name] for name in kinds}


def agreement(quick: bool) -> Table:
    """`AgreementBased.stream_many`: µs a task, and ns a task and worker, mean (least)."""
    table = Table(title=(agreement.__doc__ or "").splitlines()[0], width=WIDTH)
    for heading in ("workers", "tasks", "µs a task", "ns a task and worker", f"{FIRST}: µs a task"):
        table.add_column(heading, justify="right")
    for workers in GROWING[:2] if quick else GROWING:
        tasks = TASKS[workers] // (20 if quick else 1)
        costs = decide_tasks((cs.AgreementBased.__name__, FIRST), workers, tasks, 2 if quick else 3)
        cost, first = costs.values()
        table.add_row(
            f"{workers:,}",
            f"{tasks:,}",
            f"{cost.mean:,.1f} ({cost.least:,.1f})",
            f"{1e3 * cost.mean / workers:,.1f} ({1e3 * cost.least / workers:,.1f})",
            f"{first.mean:,.1f} ({first.least:,.1f})",
        )
    return table


# How cost grows ---------------------------------------------------------------------------------


def growth(quick: bool, points: list[dict[str, object]] | None = None) -> Table:
    """`observe_many`, mean µs a label: against workers and against labels learnt before.

    The power of workers, or of labels, by which the cost of a label grows is that between the last
    two rows: 0 against labels is a stream whose cost is linear in them, 1 against workers a label
    whose cost is linear in these.
    """
    table = Table(title=(growth.__doc__ or "").splitlines()[0], width=WIDTH)
    table.add_column("against")
    table.add_column("of", justify="right")
    for name in KINDS:
        table.add_column(name, justify="right")
    rounds, warm = (2, WARM / 10) if quick else (ROUNDS, WARM)
    sizes = GROWING[:2] if quick else GROWING
    learnt = LEARNT[:2] if quick else LEARNT
    ways = {
        "workers": {n: (n, learnt[-1 if quick else 2]) for n in sizes},
        "labels": {t: (100, t) for t in learnt},
    }
    for against, cases in ways.items():
        found = dict[int, dict[str, Cost]]()
        for of, (workers, before) in cases.items():
            _, at_once = old(workers, rounds, before, warm)
            found[of] = at_once.costs
            means = [found[of][name].mean for name in KINDS]
            table.add_row(against, f"{of:,}", *(f"{mean:,.2f}" for mean in means))
            for name, mean in zip(KINDS, means, strict=True):
                if points is not None:
                    points.append({"against": against, "of": of, "estimator": name, "cost": mean})
        first, last = sorted(found)[-2:]
        powers = [
            np.log(found[last][name].mean / found[first][name].mean) / np.log(last / first)
            for name in KINDS
        ]
        table.add_row(against, "power", *(f"{power:+.2f}" for power in powers))
        table.add_section()
    return table


def draw(points: pl.DataFrame) -> alt.HConcatChart:
    """The cost of a label against workers and against labels learnt before, both logarithmic."""
    import altair as alt

    titles = {"workers": "workers", "labels": "labels learnt before (100 workers)"}
    panels = []
    for against, title in titles.items():
        here = points.filter(pl.col("against") == against)
        values = here["of"].unique().sort().to_list()
        axis = alt.Axis(values=values, format=",d")
        chart = alt.Chart(here).mark_line(point=True).encode(
            alt.X("of:Q", title=title, axis=axis).scale(type="log"),
            alt.Y("cost:Q", title="µs a label, observe_many").scale(type="log"),
            alt.Color("estimator:N", sort=list(KINDS), title=None),
        )  # fmt: skip
        panels.append(chart.properties(width=280, height=240))
    both: alt.HConcatChart = alt.hconcat(*panels).configure(font="sans-serif")
    return both


# Memory -----------------------------------------------------------------------------------------


def resident() -> float:
    """Megabytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def fill(tasks: int, workers: int) -> str:
    """Measure tasks that stay open, with five labels each."""
    rng, stream = np.random.default_rng(0), cs.Stream(settle=None)
    start = resident()
    for _ in range(LABELS):
        for at in range(0, tasks, BATCH):
            who = rng.integers(workers, size=BATCH)
            said = rng.integers(2, size=BATCH)
            stream.observe_many(
                [
                    (f"task-{t:07d}", f"worker-{i}", NAMES[x])
                    for t, i, x in zip(
                        range(at, min(at + BATCH, tasks)), who.tolist(), said.tolist(), strict=False
                    )
                ],
                at=0,
            )
    full, began = resident(), time.process_time()
    saved = stream.to_bytes()
    packed = time.process_time()
    again = cs.Stream.load(saved)
    loaded = time.process_time()
    assert again.n_open == stream.n_open
    before = time.process_time()
    stream.next_task("worker-7")
    asked = time.process_time() - before
    return (
        f"{stream.n_open:,} open tasks, {stream.counts.labels:,} labels: {full:.0f} MB in memory "
        f"({start:.0f} before), {len(saved) / 1e6:.0f} MB saved in {packed - began:.2f} s, loaded "
        f"in {loaded - packed:.2f} s; next_task {asked * 1e3:.0f} ms"
    )


def memory(quick: bool) -> str:
    """Tasks that stay open: memory of the whole process, saving and loading."""
    sizes = (10_000,) if quick else (100_000, 2_000_000)
    return "\n".join(fill(tasks, 1_000) for tasks in sizes)


TABLES: dict[str, Callable[[bool], Table | str]] = {
    each.__name__: each for each in (labels, monitored, agreement, growth, memory)
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the tables asked for; write the chart."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs")
    parser.add_argument("--chart", type=Path, help="write the chart of growth here (.svg, .png)")
    given = parser.parse_args(argv)
    unknown = set(given.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    console = Console(width=WIDTH)
    console.print(f"crowdstream {cs.__version__}, numpy {np.__version__}")
    for name in given.tables or TABLES:
        points: list[dict[str, object]] = []
        started = time.perf_counter()
        console.print(
            growth(given.quick, points) if name == "growth" else TABLES[name](given.quick)
        )
        if given.chart is not None and points:
            draw(pl.DataFrame(points)).save(given.chart)
        console.print(f"({name}: {time.perf_counter() - started:.0f} s)\n")


if __name__ == "__main__":
    main()
