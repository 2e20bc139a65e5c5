"""The report of a million labels and ten thousand workers, against a run over the same file.

    python benchmarks/report.py [--labels 1000000] [--workers 10000]

Whole processes are timed, from start to exit, turn by turn; the least of several is taken, as other
programs can only add to it. The page must be made in 10 seconds and have less than 5 MB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

PROGRAM = str(Path(sys.executable).parent / "crowdstream")
PER_TASK, TRUTHS = 5, 2_000
SECONDS, MEGABYTES = 10.0, 5.0


def make_labels(labels: int, workers: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels of workers of unequal skill, five a task, some far busier than others; the truths."""
    rng = np.random.default_rng(0)
    tasks = labels // PER_TASK
    busy = rng.pareto(1.5, workers) + 0.2
    first = rng.choice(workers, size=(tasks, 1), p=busy / busy.sum())
    who = (first + np.argsort(rng.random((tasks, 12)), axis=1)[:, :PER_TASK] * 831) % workers
    truth = rng.integers(3, size=(tasks, 1))
    wrong = rng.random((tasks, PER_TASK)) < rng.uniform(0.02, 0.6, workers)[who]
    said = np.where(wrong, (truth + rng.integers(1, 3, size=wrong.shape)) % 3, truth)
    classes, ids = pl.Series(["allow", "block", "unsure"]), np.arange(tasks)
    names = pl.select(pl.format("post-{}", pl.Series(ids))).to_series()
    crowd = pl.select(pl.format("worker-{}", pl.Series(np.arange(workers)))).to_series()
    table = {
        "task": names.gather(np.repeat(ids, PER_TASK)),
        "worker": crowd.gather(who.ravel()),
        "label": classes.gather(said.ravel()),
    }
    known = pl.DataFrame({"task": names, "label": classes.gather(truth[:, 0])})
    return pl.DataFrame(table), known.head(TRUTHS)


def timed(*args: object) -> tuple[float, float]:
    """Seconds that a command takes, and those of processors."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([PROGRAM, *map(str, args)], check=True)
    passed, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Make the labels, run both commands, print what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / "labels.csv", folder / "truth.csv"]
        for table, file in zip(make_labels(given.labels, given.workers), files, strict=True):
            table.write_csv(file)
        page = folder / "report.html"
        how = (files[0], "--price", 0.05, "--truth", files[1], "-q")
        runs, reports = [], []
        for _ in range(given.turns):
            runs.append(timed("run", *how, "-o", folder / "decisions.csv"))
            reports.append(timed("report", *how, "-o", page))
        size = page.stat().st_size / 1e6
    (seconds, work), (run, run_work) = min(reports), min(runs)
    print(f"{given.labels:,} labels, {given.workers:,} workers, {TRUTHS:,} truths, a price")
    print(f"run     {run:6.2f} s, {run_work:.2f} s of processors")
    print(f"report  {seconds:6.2f} s, {work:.2f} s of processors; {seconds / run:.2f} times a run")
    print(f"page    {size:6.2f} MB")
    if given.labels <= 1_000_000 and (seconds > SECONDS or size > MEGABYTES):
        sys.exit(f"more than {SECONDS:g} s or {MEGABYTES:g} MB")


if __name__ == "__main__":
    main()
