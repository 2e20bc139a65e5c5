"""Measures crowdstream against rivals in the same run: the tables of docs/performance.md.

    python benchmarks/performance.py               every table, as Markdown
    python benchmarks/performance.py run stream    some: run, growth, stream, serve, spark
    python benchmarks/performance.py --write docs/performance.md
                                                   put them into the page, and draw its chart
    python benchmarks/performance.py --quick       small tables, to see that it runs

The measuring is done by shapes.py, stream.py, serve.py and spark.py. Each part is a process of its
own, so that the threads and the memory of one are not those of another.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

Rows = list[Sequence[str]]

CHART = "pictures/run-cost.svg"
"""The chart of cost against sizes of tables, beside the page."""

PICTURE = "ns a label of run and of polars' vote, against tasks, workers, classes, labels a task"
"""Alternative text of the chart."""

RIVALS = "polars", "duckdb"


# Tables -----------------------------------------------------------------------------------------


def markdown(headings: Sequence[str], rows: Rows) -> str:
    """Return a table; its first column is text, the others are numbers."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (headings, rule, *rows)) + "\n"


def put(page: str, part: str, text: str) -> str:
    """Return the page with a text between the markers of a part, in place of what was there."""
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    new, found = pattern.subn(lambda _: f"{begin}\n{text.strip()}\n{end}", page)
    if found != 1:
        raise ValueError(f"expected the markers {begin} and {end} once, found them {found} times")
    return new


def peak() -> float:
    """Return the most memory that this process had, in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


# Parts ------------------------------------------------------------------------------------------


def run(quick: bool) -> str:
    """`crowdstream run` on eight files, whole processes against whole processes."""
    import shapes

    rows: Rows = []
    for name, shape in shapes.SHAPES.items():
        if quick:
            shape = shape._replace(labels=max(shape.labels // 100, 100))
        with tempfile.TemporaryDirectory() as folder:
            source = shapes.write(shape, Path(folder))
            costs = shapes.measure(
                shapes.rivals(source, Path(folder) / "out.csv"), 1 if quick else 5
            )
        ours, quiet = costs["run"], costs["run --quiet"]
        rows.append(
            [
                name,
                *(f"{ours.wall / costs[rival].wall:.2f}" for rival in RIVALS),
                f"{quiet.wall / costs['polars'].wall:.2f}",
                f"{ours.wall:.2f}",
                *(f"{costs[each].cpu:.2f}" for each in ("run", *RIVALS)),
                *(f"{costs[each].memory:,.0f}" for each in ("run", *RIVALS)),
            ]
        )
    headings = ["file", "/ polars", "/ duckdb", "`--quiet` / polars", "s"]
    headings += [f"{what}, {of}" for what in ("CPU s", "MB") for of in ("run", *RIVALS)]
    return markdown(headings, rows)


def stream(quick: bool) -> str:
    """A label of a stream with all monitors: processor time of one core."""
    import stream as streams

    rounds, less = (2, 20) if quick else (streams.ROUNDS, 1)
    rows: Rows = []
    for workers in streams.MONITORED_SIZES[:1] if quick else streams.MONITORED_SIZES:
        first = streams.MONITORED_YOUNG // less
        learnt, warm = streams.OLD // less, streams.WARM / less
        many = 1 if quick else streams.UNTIL_DOUBLED
        found = [
            streams.young(workers, "observe_many", rounds, first, streams.MONITORED),
            *streams.old(workers, rounds, learnt, warm, streams.MONITORED, many),
        ]
        for one in found:
            votes = one.costs[streams.COUNTING]
            for name in streams.MONITORED:
                cost = one.costs[name]
                age = f"first {first:,} labels" if one.age == "young" else "under way"
                rows.append(
                    [
                        f"`{one.how}`, {workers:,} workers, {age}, {name}",
                        f"{cost.mean:.2f}",
                        f"{cost.least:.2f}",
                        f"{cost.mean / votes.mean:.1f}",
                    ]
                )
    headings = ["stream", "CPU µs a label, mean", "least", "mean / votes in a dict"]
    return markdown(headings, rows) + f"\nPeak memory of the whole measurement: {peak():,.0f} MB.\n"


def serve(quick: bool) -> str:
    """The server, posts and batches of 1,000 labels, against itself with less to do."""
    import serve as servers

    posts, tasks, rounds = (2_000, 2_000, 1) if quick else (60_000, 60_000, 3)
    found: dict[tuple[str, str], list[servers.Given]] = {}
    most: dict[str, float] = {}
    for _ in range(rounds):
        for server in servers.SERVERS:
            with (
                tempfile.TemporaryDirectory() as folder,
                servers.serving(Path(folder), server) as running,
            ):
                for kind in servers.KINDS:
                    given = servers.measure(running, kind, posts, tasks)
                    found.setdefault((server, kind), []).append(given)
                most[server] = max(most.get(server, 0.0), servers.memory(running))
    ours, *rivals = servers.SERVERS
    rows: Rows = []
    for kind in servers.KINDS:
        rate = {server: sum(one.rate for one in found[server, kind]) for server in servers.SERVERS}
        mine = found[ours, kind]
        rows.append(
            [
                kind,
                f"{rate[ours] / rounds:,.0f}",
                f"{max(one.rate for one in mine):,.0f}",
                *(f"{rate[ours] / rate[rival]:.2f}" for rival in rivals),
                f"{sum(one.used for one in mine) / rounds:.2f}",
                f"{most[ours]:,.0f}",
            ]
        )
    headings = ["load", "labels a second, mean", "best", *(f"/ {rival}" for rival in rivals)]
    return markdown([*headings, "CPU µs a label", "MB at most"], rows)


def spark(quick: bool) -> str:
    """Spark on this machine: `fit_decide` against majority vote in Spark's own SQL."""
    import spark as cluster

    labels, rounds = (200_000, 1) if quick else (20_000_000, 2)
    costs = cluster.compare(labels, rounds)
    ours, theirs = costs["fit_decide"], costs["majority vote in Spark SQL"]
    rows: Rows = [
        [
            name,
            f"{min(cost.seconds):.1f}",
            f"{sum(cost.seconds) / rounds:.1f}",
            f"{sum(cost.cpu) / rounds:.1f}",
            f"{cost.memory:,.0f}",
        ]
        for name, cost in costs.items()
    ]
    table = markdown(
        ["program", "s, least", "mean", "CPU s, mean", "MB at most, all processes"], rows
    )
    ratios = [one / two for one, two in zip(ours.seconds, theirs.seconds, strict=True)]
    least = min(ours.seconds) / min(theirs.seconds)
    return (
        f"{table}\nFor {labels:,} labels `fit_decide` takes {least:.2f} times as long (least by "
        f"least; by turns {', '.join(f'{one:.2f}' for one in ratios)}), and "
        f"{sum(ours.cpu) / sum(theirs.cpu):.2f} times the processor time.\n"
    )


def growth(quick: bool, chart: Path | None = None) -> str:
    """Cost a label against tasks, workers, classes and labels a task; as a chart if asked for."""
    import shapes

    points = shapes.grow(1 if quick else 3, quick)
    if chart is not None:
        shapes.draw(points).save(chart)
    rows: Rows = []
    wide = points.pivot("program", index=["against", "of"], values="ns", maintain_order=True)
    for against in shapes.GROWTH:
        here = wide.filter(wide["against"] == against)
        ratios = (here["run"] / here["polars"]).to_list()
        rows.append(
            [against, " · ".join(f"{of:,}" for of in here["of"]),
             " · ".join(f"{ns:,.0f}" for ns in here["run"]),
             " · ".join(f"{ratio:.2f}" for ratio in ratios)]
        )  # fmt: skip
    return markdown(["against", "of", "ns a label", "/ polars"], rows)


PARTS: dict[str, Callable[[bool], str]] = {
    "run": run,
    "growth": growth,
    "stream": stream,
    "serve": serve,
    "spark": spark,
}


def about() -> str:
    """Return where and with what this was measured."""
    packages = "crowdstream", "polars", "duckdb", "numpy", "pyspark"
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    processor = model[1] if model else platform.machine()
    cores, python = len(os.sched_getaffinity(0)), platform.python_version()
    return f"{cores} cores ({processor}), Python {python}, {versions}."


# The page ---------------------------------------------------------------------------------------


def in_another_process(part: str, quick: bool, chart: Path | None) -> str:
    """Measure a part; what it warns of is shown, and a failure ends the benchmark."""
    words = [sys.executable, __file__, part, "--here", *(["--quick"] if quick else [])]
    if chart is not None and part == "growth":
        words += ["--chart", str(chart)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{part} failed")
    return done.stdout


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="small tables, to see that it runs")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into this page")
    parser.add_argument("--chart", type=Path, help="write the chart of growth here")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if given.here:
        (part,) = given.parts
        print(growth(given.quick, given.chart) if part == "growth" else PARTS[part](given.quick))
        return
    chart = given.chart
    if given.write is not None and chart is None:
        chart = given.write.parent / CHART
    texts = {}
    for part in given.parts or PARTS:
        texts[part] = in_another_process(part, given.quick, chart)
        print(f"## {part}\n\n{texts[part]}", flush=True)
    texts["about"] = about()
    print(texts["about"])
    if given.write is not None:
        if "growth" in texts:
            texts["growth"] += f"\n![{PICTURE}]({os.path.relpath(chart, given.write.parent)})\n"
        page = given.write.read_text()
        for part, text in texts.items():
            page = put(page, part, text)
        given.write.write_text(page)


if __name__ == "__main__":
    main()
