"""Time a label of the core, against a full solve a task and against crowd-kit, in one run.

Labels are simulated by the paper's model, five a task, and in codes already: what is timed is
learning and deciding every task. crowd-kit gets the same labels as a pandas table. All on one
core; the least of several runs is taken, as other programs can only add to it.

    make bench        or        python benchmarks/core.py [--quick]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import crowdstream as cs
from crowdstream.estimators import kernels, shares
from crowdstream.estimators.base import Coded
from crowdstream.labels import Vocabulary, code_block

Ints = NDArray[np.int64]
LABELS = 5  # a task
SIZES = {10: 400_000, 100: 400_000, 1_000: 400_000, 100_000: 1_000_000}
"""Labellers, and tasks for them: enough that the start of a large crowd does not count alone."""


def simulate(n: int, tasks: int) -> tuple[Ints, Ints]:
    """Workers and labels, a row a task: reliabilities uniform over [0, 1], two classes."""
    rng = np.random.default_rng(n)
    workers = rng.integers(n, size=(tasks, LABELS))
    while True:
        ordered = np.sort(workers, axis=1)
        repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeats.any():
            break
        workers[repeats] = rng.integers(n, size=(int(repeats.sum()), LABELS))
    truth = rng.integers(2, size=(tasks, 1))
    right = rng.random((tasks, LABELS)) < 0.5 + rng.uniform(size=n)[workers] / 2
    return workers, np.where(right, truth, 1 - truth)


def coded(n: int, workers: Ints, labels: Ints) -> Coded:
    """The labels as an estimator's loop takes them."""
    tasks = len(workers)
    return Coded(
        np.arange(0, tasks * LABELS + 1, LABELS),
        workers.ravel().astype(np.int32),
        labels.ravel().astype(np.int32),
        np.full(tasks, n),
        Vocabulary([0, 1]),
    )


def fresh(n: int) -> cs.AgreementBased:
    """An estimator that knows the names and nothing else."""
    crowd = cs.AgreementBased()
    for who in range(n):
        crowd._workers.add(who)
    return crowd


@njit
def solve_every_task(crowd, rules, keys, starts, workers, labels, known, winners, x, y):  # type: ignore[no-untyped-def]
    """The same loop with a full solve a task in place of the incremental one."""
    solver = crowd.solver[0]
    for t in range(starts.size - 1):
        at = slice(t, t + 2)
        kernels.run(
            crowd, rules, keys, starts[at], workers, labels, starts[:0], known[t : t + 1],
            -1, 0, 1, False, winners[t : t + 1], x[t : t + 1], y[t : t + 1],
        )  # fmt: skip
        shares.restart(solver, kernels.agreements(crowd.people, known[t]))


def full_solve(n: int, workers: Ints, labels: Ints) -> Callable[[], object]:
    """A run of `solve_every_task` on these labels."""
    task = coded(n, workers, labels)
    size = len(workers)

    def go() -> object:
        crowd = fresh(n)
        return solve_every_task(
            crowd._crowd, crowd._rules(), crowd._keys(task.classes), task.starts, task.workers,
            task.labels, task.known, np.empty(size, np.int64), np.zeros(size), np.zeros(size),
        )  # fmt: skip

    return go


def least(run: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def crowdkit(workers: Ints, labels: Ints, name: str) -> float | None:
    """Seconds of crowd-kit on these labels, None where it is not installed."""
    try:
        from crowdkit import aggregation
    except ImportError:
        return None
    frame = pl.DataFrame(
        {
            "task": np.repeat(np.arange(len(workers)), LABELS),
            "worker": workers.ravel(),
            "label": labels.ravel(),
        }
    ).to_pandas()
    made = getattr(aggregation, name)(**({"n_iter": 100} if name == "DawidSkene" else {}))
    return least(lambda: made.fit_predict(frame), 1)


def public(tasks: int) -> list[str]:
    """What the public calls cost a label at 1,000 labellers, coding of ids included."""
    workers, labels = simulate(1_000, tasks)
    numbers = pl.DataFrame(
        {
            "task": np.repeat(np.arange(tasks), LABELS),
            "worker": workers.ravel(),
            "label": labels.ravel(),
        }
    )
    strings = numbers.select(pl.format("{}-{}", pl.lit(c), c).alias(c) for c in numbers.columns)
    lines = []
    for kind, table in (("integer", numbers), ("string", strings)):
        for verb in ("learn_many", "stream_many", "fit_predict"):
            made = cs.AgreementBased()
            taken = least(lambda: getattr(made, verb)(table), 3)  # noqa: B023
            lines.append(
                f"{verb} of a polars table, {kind} ids: {taken / table.height * 1e9:.0f} ns"
            )
    stream = cs.Stream(max_labels=LABELS)
    some = [(int(t), int(w), int(x)) for t, w, x in numbers.head(20_000).iter_rows()]
    start = time.perf_counter()
    for task, worker, label in some:
        stream.observe(task, worker, label)
    taken = (time.perf_counter() - start) / len(some)
    lines.append(f"Stream.observe, one label at a time: {taken * 1e6:.0f} µs")
    return lines


def adaptive(tasks: int) -> list[str]:
    """What `Adaptive` costs a label on one core, learning and deciding coded labels."""
    lines = []
    for classes in (2, 4):
        found = []
        for n in (1_000, 100_000):
            (block,) = cs.simulate(
                n, tasks, q=0.35, per_task=LABELS, classes=classes, block=tasks, seed=1
            )
            made = cs.Adaptive()
            coded_ = code_block(block.labels(), made._workers, made._classes)
            task = Coded(coded_.starts, coded_.workers, coded_.labels, coded_.known, made._classes)

            def go() -> object:
                crowd = cs.Adaptive()
                for who in made._workers:  # noqa: B023
                    crowd._workers.add(who)
                for label in made._classes:  # noqa: B023
                    crowd._classes.add(label)
                start = time.perf_counter()
                crowd._learn(task, 1, -1, True, True)  # noqa: B023
                return time.perf_counter() - start

            go()
            best = min(float(go()) for _ in range(4))  # type: ignore[arg-type]
            found.append(best / coded_.labels.size * 1e9)
        lines.append(
            f"Adaptive, {classes} classes: {found[0]:.0f} ns at n = 1,000, {found[1]:.0f} ns at "
            f"n = 100,000 ({found[1] / found[0]:.2f} times)"
        )
    return lines


def start_up() -> tuple[float, float]:
    """Seconds to import, and on to the first decision, in a new process with compiled cache."""
    code = (
        "import time; a = time.perf_counter(); import crowdstream as cs; make = cs.AgreementBased;"
        "b = time.perf_counter(); crowd = make(); crowd.learn_one({'a': 1, 'b': 1, 'c': 0});"
        "crowd.predict_one({'a': 1}); print(b - a, time.perf_counter() - b)"
    )
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(6)]
    found = [tuple(map(float, run.stdout.split())) for run in runs[1:]]
    return min(x for x, _ in found), min(y for _, y in found)


def memory(tasks: int) -> str:
    """The most memory a new process needs for this many tasks through `learn_many` in blocks."""
    block = 100_000
    code = f"""
import numpy as np, polars as pl, crowdstream as cs
crowd, rng = cs.AgreementBased(), np.random.default_rng(0)
for start in range(0, {tasks}, {block}):
    task = np.repeat(np.arange(start, start + {block}), {LABELS})
    crowd.learn_many(pl.DataFrame({{"task": task,
        "worker": rng.integers(1000, size=task.size), "label": rng.integers(2, size=task.size)}}))
assert crowd.clock_ == {tasks}
print(next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line) // 1024)
"""
    if not Path("/proc/self/status").exists():
        return "memory: only measured where there is a /proc"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return f"{tasks:,} tasks through learn_many in blocks of {block:,}: {found.stdout.strip()} MB"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, noisier")
    quick = parser.parse_args().quick
    console = Console(width=110)
    table = Table(title="ns a label, five labels a task, learning and deciding every task")
    for column in (
        "labellers",
        "tasks",
        "incremental",
        "full solve",
        "MV",
        "DS",
        "ratio to n=1,000",
    ):
        table.add_column(column, justify="right")
    found: dict[int, float] = {}
    rows = []
    for n, full in SIZES.items():
        tasks = full // 10 if quick else full
        workers, labels = simulate(n, tasks)
        task = coded(n, workers, labels)
        size = workers.size
        # A warm-up run loads the compiled loop.
        crowds = [fresh(n) for _ in range(8 if n < 100_000 else 4)]
        runs = iter(crowds)
        least(lambda: next(runs)._learn(task, 1, -1, follow=True, decide=True), 1)  # noqa: B023
        ours = least(
            lambda: next(runs)._learn(task, 1, -1, follow=True, decide=True),  # noqa: B023
            len(crowds) - 1,
        )
        some = min(tasks, 20_000_000 // max(n, 1_000))
        run = full_solve(n, workers[:some], labels[:some])
        run()
        solved = least(run, 2) / (some * LABELS)
        part = min(tasks, 100_000)
        rivals = [
            crowdkit(workers[:part], labels[:part], x) for x in ("MajorityVote", "DawidSkene")
        ]
        found[n] = ours / size * 1e9
        rows.append((n, tasks, solved * 1e9, [r and r / (part * LABELS) * 1e9 for r in rivals]))
    for n, tasks, solved, rivals in rows:
        told = ["not installed" if r is None else f"{r:,.0f}" for r in rivals]
        ratio = f"{found[n] / found[1_000]:.2f}"
        table.add_row(f"{n:,}", f"{tasks:,}", f"{found[n]:.0f}", f"{solved:,.0f}", *told, ratio)
    console.print(table)
    try:
        version = importlib.metadata.version("crowd-kit")
        console.print(f"MV, DS: crowd-kit {version}, MajorityVote and DawidSkene (100 iterations).")
    except importlib.metadata.PackageNotFoundError:
        console.print("MV, DS: crowd-kit is not installed; pip install 'crowdstream[bench]'")
    for line in (*adaptive(20_000 if quick else 200_000), *public(40_000 if quick else 400_000)):
        console.print(line)
    imported, first = start_up()
    console.print(f"New process: import {imported:.2f} s, first learn and decide {first:.2f} s.")
    console.print(memory(1_000_000 if quick else 10_000_000))


if __name__ == "__main__":
    main()
