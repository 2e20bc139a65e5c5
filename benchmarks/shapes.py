"""`crowdstream run` against polars and duckdb counting votes, for tables of many shapes.

    python benchmarks/shapes.py                     every shape
    python benchmarks/shapes.py csv random          some of them
    python benchmarks/shapes.py growth --chart F    cost against four sizes of tables
    python benchmarks/shapes.py --quick             a tenth of the labels, to see that it runs

Whole processes, from start to exit, one after the other in turns, so that a busy moment meets all.
Seconds by the clock are the least of the rounds, since other programs can only add to them; with
them the processor seconds and the most memory of that run. A ratio of 1 means as long as the rival.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import altair as alt

PROGRAM = str(Path(sys.executable).parent / "crowdstream")

POLARS = """
import sys, polars as pl
source, target = sys.argv[1:]
scan = pl.scan_csv(source) if source.endswith("csv") else pl.scan_parquet(source)
votes = scan.group_by("task", "label").len().sort("len", descending=True)
votes.group_by("task").first().select("task", "label").collect().write_csv(target)
"""

DUCKDB = """
import sys, duckdb
source, target = sys.argv[1:]
duckdb.sql(f'''
copy (
    select task, arg_max(label, votes) as label
    from (select task, label, count(*) as votes from '{source}' group by task, label)
    group by task
) to '{target}' (header)
''')
"""

LAUNCHER = """
import os, sys, time
words = sys.argv[1:]
nowhere = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
start = time.perf_counter()
pid = os.posix_spawn(words[0], words, os.environ, file_actions=nowhere)
_, status, used = os.wait4(pid, 0)
wall = time.perf_counter() - start
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(bool(status))
"""
"""Runs a command and prints seconds, processor seconds and peak MB. A process of its own, as the
kernel counts the memory of the one that starts another as that other's too."""


class Shape(NamedTuple):
    """A table of labels and the file it comes in."""

    labels: int = 10_000_000
    per_task: int = 5
    workers: int = 1_000
    classes: int = 2
    kind: str = "csv"
    shuffled: bool = False


SHAPES = {
    "csv": Shape(),
    "parquet": Shape(kind="parquet"),
    "random": Shape(shuffled=True),
    "classes-20": Shape(labels=1_000_000, classes=20),
    "classes-100": Shape(labels=1_000_000, classes=100),
    "workers-100000": Shape(workers=100_000),
    "workers-1000000": Shape(workers=1_000_000),
    "small": Shape(labels=1_000),
}

GROWTH = {
    "tasks": {n: Shape(labels=5 * n) for n in (20_000, 200_000, 2_000_000)},
    "workers": {n: Shape(labels=2_000_000, workers=n) for n in (100, 1_000, 10_000, 100_000)},
    "classes": {n: Shape(labels=1_000_000, classes=n) for n in (2, 5, 20, 100)},
    "labels a task": {n: Shape(labels=2_000_000, per_task=n) for n in (2, 5, 20, 100)},
}


class Cost(NamedTuple):
    """What a process took: seconds by the clock, of processors, and the most megabytes."""

    wall: float
    cpu: float
    memory: float


def make_labels(shape: Shape, seed: int = 0) -> pl.DataFrame:
    """Draw labels with text ids: workers err evenly over the other classes, all by themselves."""
    rng = np.random.default_rng(seed)
    tasks, n = max(shape.labels // shape.per_task, 1), shape.workers
    # Workers of a task are distinct: sorted draws, each moved up by its place.
    drawn = np.sort(rng.integers(n - shape.per_task + 1, size=(tasks, shape.per_task)))
    worker = rng.permuted(drawn + np.arange(shape.per_task), axis=1)
    truth = rng.integers(shape.classes, size=(tasks, 1))
    right = rng.random((tasks, shape.per_task)) < 0.5 + rng.uniform(size=n)[worker] / 2
    wrong = truth + rng.integers(1, shape.classes, size=(tasks, shape.per_task))
    said = np.where(right, truth, wrong % shape.classes)
    ids = np.repeat(np.arange(tasks), shape.per_task)
    names = pl.DataFrame({"task": ids, "worker": worker.ravel(), "label": said.ravel()})
    table = names.select(
        pl.format("task-{}", "task").alias("task"),
        pl.format("worker-{}", "worker").alias("worker"),
        pl.format("class-{}", "label").alias("label"),
    )
    return table.sample(fraction=1.0, shuffle=True, seed=seed) if shape.shuffled else table


def write(shape: Shape, folder: Path) -> Path:
    """Write the file of a shape."""
    path = folder / f"labels.{shape.kind}"
    table = make_labels(shape)
    if shape.kind == "csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


def run(words: Sequence[str]) -> Cost:
    """Run a process to its end; what it prints goes nowhere, and a failure ends the benchmark."""
    launcher = [sys.executable, "-S", "-E", "-c", LAUNCHER, *words]
    told = subprocess.run(launcher, capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"{' '.join(words[:4])} … failed")
    return Cost(*map(float, told.stdout.split()))


def rivals(source: Path, target: Path) -> dict[str, list[str]]:
    """Return the commands that decide a file, by name."""
    ends = [str(source), str(target)]
    ours = [PROGRAM, "run", str(source), "-o", str(target)]
    return {
        "run": ours,
        "run --quiet": [*ours, "--quiet"],
        "polars": [sys.executable, "-c", POLARS, *ends],
        "duckdb": [sys.executable, "-c", DUCKDB, *ends],
    }


def measure(commands: dict[str, list[str]], rounds: int) -> dict[str, Cost]:
    """Take turns, after one round that warms the files; the least of each by the clock."""
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, words in commands.items():
            cost = run(words)
            if turn:
                found[name].append(cost)
    return {name: min(costs) for name, costs in found.items()}


def compare(names: Sequence[str], rounds: int, quick: bool) -> Table:
    """Measure the shapes asked for."""
    table = Table(title="seconds, processor seconds, peak MB, and seconds against the rivals'")
    for heading in ("shape", "program", "s", "CPU s", "MB", "/ polars", "/ duckdb"):
        table.add_column(heading, justify="left" if heading in ("shape", "program") else "right")
    for name in names:
        shape = SHAPES[name]
        if quick:
            shape = shape._replace(labels=max(shape.labels // 10, 100))
        with tempfile.TemporaryDirectory() as folder:
            source = write(shape, Path(folder))
            costs = measure(rivals(source, Path(folder) / "out.csv"), rounds)
        for program, cost in costs.items():
            table.add_row(
                name if program == "run" else "",
                program,
                f"{cost.wall:.2f}",
                f"{cost.cpu:.2f}",
                f"{cost.memory:,.0f}",
                f"{cost.wall / costs['polars'].wall:.2f}",
                f"{cost.wall / costs['duckdb'].wall:.2f}",
            )
        table.add_section()
    return table


def grow(rounds: int, quick: bool) -> pl.DataFrame:
    """Cost a label of `run` and of polars' vote, in ns by the clock, against four sizes."""
    rows = []
    for against, shapes in GROWTH.items():
        for of, shape in shapes.items():
            if quick:
                shape = shape._replace(labels=max(shape.labels // 100, 100))
            with tempfile.TemporaryDirectory() as folder:
                source = write(shape, Path(folder))
                commands = rivals(source, Path(folder) / "out.csv")
                costs = measure({name: commands[name] for name in ("run", "polars")}, rounds)
            rows += [
                {
                    "against": against,
                    "of": of,
                    "program": name,
                    "ns": 1e9 * cost.wall / shape.labels,
                }
                for name, cost in costs.items()
            ]
    return pl.DataFrame(rows)


def show(points: pl.DataFrame) -> Table:
    """Return the points as a table."""
    table = Table(title="ns a label, whole process by the clock")
    for heading in ("against", "of", "run", "polars", "ratio"):
        table.add_column(heading, justify="left" if heading == "against" else "right")
    wide = points.pivot("program", index=["against", "of"], values="ns", maintain_order=True)
    for against, of, ours, theirs in wide.iter_rows():
        table.add_row(against, f"{of:,}", f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.2f}")
    return table


def draw(points: pl.DataFrame) -> alt.ConcatChart:
    """Cost against each size, both logarithmic."""
    import altair as alt

    panels = []
    for against in GROWTH:
        here = points.filter(pl.col("against") == against)
        axis = alt.Axis(values=here["of"].unique().sort().to_list(), format=",d")
        chart = alt.Chart(here).mark_line(point=True).encode(
            alt.X("of:Q", title=against, axis=axis).scale(type="log"),
            alt.Y("ns:Q", title="ns a label").scale(type="log"),
            alt.Color("program:N", title=None),
        )  # fmt: skip
        panels.append(chart.properties(width=280, height=180))
    both: alt.ConcatChart = alt.concat(*panels, columns=2).configure(font="sans-serif")
    return both


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shapes", nargs="*", help=f"{', '.join(SHAPES)}, growth; all but growth")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of the labels, one round")
    parser.add_argument("--chart", type=Path, help="write the chart of growth here (.svg, .png)")
    given = parser.parse_args(argv)
    unknown = set(given.shapes) - {*SHAPES, "growth"}
    if unknown:
        parser.error(
            f"no shape {', '.join(sorted(unknown))}; there are {', '.join(SHAPES)}, growth"
        )
    rounds = 1 if given.quick else given.rounds
    console = Console(width=110, highlight=False)
    names = [name for name in given.shapes or SHAPES if name != "growth"]
    if names:
        console.print(compare(names, rounds, given.quick))
    if "growth" in given.shapes:
        points = grow(rounds, given.quick)
        console.print(show(points))
        if given.chart is not None:
            draw(points).save(given.chart)


if __name__ == "__main__":
    main()
