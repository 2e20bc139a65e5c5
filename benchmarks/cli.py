"""The command line against polars counting votes and against crowd-kit, in one run.

    python benchmarks/cli.py [--quick]

Whole processes are timed, from start to exit, as a user runs them: monitors on, summary printed;
the least of several runs is taken, as other programs can only add to it. A ratio of 1 means as long
as the rival.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console

PROGRAM = str(Path(sys.executable).parent / "crowdstream")
WORKERS, LABELS = 1_000, 5

MAJORITY = """
import sys, polars as pl
source, target = sys.argv[1:]
scan = pl.scan_csv(source) if source.endswith("csv") else pl.scan_parquet(source)
votes = scan.group_by("task", "label").len().sort("len", descending=True)
votes.group_by("task").first().select("task", "label").collect().write_csv(target)
"""

PIPE = """
import sys, polars as pl
block = pl.read_csv(sys.argv[1], infer_schema=False)
sys.stdout.buffer.write(b"task,worker,label\\n")
for turn in range(int(sys.argv[2])):
    named = block.with_columns(pl.concat_str(pl.lit(f"{turn}-"), "task").alias("task"))
    named.write_csv(sys.stdout.buffer, include_header=False)
"""


def make_labels(tasks: int) -> pl.DataFrame:
    """Labels of the paper's model with string ids, five a task, 1,000 workers."""
    rng = np.random.default_rng(0)
    workers = np.argsort(rng.random((tasks, 12)), axis=1)[:, :LABELS]  # distinct within a task
    workers = (workers * 83 + rng.integers(WORKERS, size=(tasks, 1))) % WORKERS
    truth = rng.integers(2, size=(tasks, 1))
    right = rng.random((tasks, LABELS)) < 0.5 + rng.uniform(size=WORKERS)[workers] / 2
    said = np.where(right, truth, 1 - truth)
    names = pl.Series([f"worker-{i:04}" for i in range(WORKERS)])
    ids = pl.int_range(tasks, eager=True)
    return pl.DataFrame(
        {
            "task": pl.select(pl.format("task-{}", ids)).to_series().gather(np.repeat(ids, LABELS)),
            "worker": names.gather(workers.ravel()),
            "label": pl.Series(["spam", "ham"]).gather(said.ravel()),
        }
    )


def least(run: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def process(*words: str) -> Callable[[], object]:
    """A run of a whole process."""
    return lambda: subprocess.run(words, check=True, capture_output=True)


def piped(source: Path, turns: int, rows: int, console: Console) -> None:
    """Memory while labels come through a pipe, at each tenth of them."""
    generator = subprocess.Popen(
        [sys.executable, "-c", PIPE, str(source), str(turns)], stdout=subprocess.PIPE
    )
    start = time.perf_counter()
    reader = subprocess.Popen(
        [PROGRAM, "run", "-", "--window", "1000", "--quiet", "-o", "-"],
        stdin=generator.stdout,
        stdout=subprocess.PIPE,
    )
    assert reader.stdout is not None
    wanted = turns * rows // LABELS
    seen, tenths, sizes = 0, 0, []
    while block := reader.stdout.read(1 << 20):
        seen += block.count(b"\n")
        if seen >= wanted * (tenths + 1) // 10 - wanted // 50:  # before it has ended
            tenths += 1
            status = Path(f"/proc/{reader.pid}/status")
            if status.exists():
                line = next((x for x in status.read_text().splitlines() if "VmRSS" in x), "0 0")
                sizes.append(int(line.split()[1]) // 1024)
    reader.wait()
    generator.wait()
    taken = time.perf_counter() - start
    total = turns * rows
    console.print(
        f"{total:,} labels through a pipe, --window 1000: {taken:.0f} s, "
        f"{taken / total * 1e9:.0f} ns a label; {seen - 1:,} decisions; resident MB at each tenth: "
        + " ".join(map(str, sizes))
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    quick = parser.parse_args().quick
    console = Console(width=110, highlight=False)
    tasks = 200_000 if quick else 2_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = make_labels(tasks)
        table.write_csv(folder / "labels.csv")
        table.write_parquet(folder / "labels.parquet")
        table.write_ndjson(folder / "labels.jsonl")
        table.head(1000).write_csv(folder / "small.csv")
        console.print(f"{table.height:,} labels, {tasks:,} tasks, {WORKERS:,} workers, string ids")
        ours = {}
        for kind in ("csv", "parquet"):
            source, target = str(folder / f"labels.{kind}"), str(folder / "out.csv")
            runs = {
                method: process(PROGRAM, "run", source, "-o", target, "--method", method)
                for method in ("adaptive", "agreement")
            }
            runs["polars"] = process(sys.executable, "-c", MAJORITY, source, target)
            for run in runs.values():
                run()
            # Taken in turns, so that a busy moment meets all.
            taken = [{name: least(run, 1) for name, run in runs.items()} for _ in range(5)]
            best = {name: min(each[name] for each in taken) for name in runs}
            ours[kind] = best["adaptive"]
            told = ", ".join(
                f"--method {name} {best[name]:.2f} s (ratio {best[name] / best['polars']:.2f})"
                for name in ("adaptive", "agreement")
            )
            console.print(
                f"{kind}: crowdstream run {told}; polars {pl.__version__} majority vote "
                f"{best['polars']:.2f} s"
            )
        jsonl = process(PROGRAM, "run", str(folder / "labels.jsonl"), "-o", str(folder / "out.csv"))
        lines = least(jsonl, 3)
        console.print(f"jsonl: crowdstream run {lines:.2f} s, {lines / ours['csv']:.2f} times CSV")
        try:
            from crowdkit import aggregation

            frame = table.to_pandas()
            version = importlib.metadata.version("crowd-kit")
            for rival in ("MajorityVote", "DawidSkene"):
                made = getattr(aggregation, rival)(**({"n_iter": 100} if rival[0] == "D" else {}))
                theirs = least(lambda: made.fit_predict(frame), 1)  # noqa: B023
                console.print(
                    f"crowd-kit {version} {rival}, labels in memory already: {theirs:.1f} s, "
                    f"{theirs / ours['csv']:.1f} times crowdstream run from CSV"
                )
        except ImportError:
            console.print(
                "crowd-kit is not installed; pip install 'crowdstream[bench]'", markup=False
            )
        shown = least(process(PROGRAM, "--help"), 10)
        small = least(process(PROGRAM, "run", str(folder / "small.csv"), "-o", target), 5)
        console.print(f"--help {shown:.3f} s; run on 1,000 rows {small:.2f} s")
        block = table.head(1_000_000)
        block.write_csv(folder / "block.csv")
        piped(folder / "block.csv", 10 if quick else 100, block.height, console)


if __name__ == "__main__":
    main()
