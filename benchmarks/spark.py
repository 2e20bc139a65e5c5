"""Spark against its own SQL counting votes, and against this machine without Spark, in one run.

    python benchmarks/spark.py [--labels 20e6] [--master 'local[2]'] [--method adaptive]

Ten labels a task, 1,000 workers, two classes, rows in random order, as Parquet. A small table is
gone through first, so that neither side pays for a cold JVM. Both write their decisions as
Parquet. A ratio of 1 means as long as the rival. Memory is the most that the driver's Python had.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyspark

import crowdstream as cs
from crowdstream import spark

WORKERS, LABELS = 1_000, 10
METHODS = {
    "adaptive": cs.Adaptive,
    "agreement": cs.AgreementBased,
    "centred": cs.CentredAgreement,
    "majority": cs.MajorityVote,
}
PIECE = 2_000_000
"""Labels that are made at once."""


def make_labels(folder: Path, labels: int) -> None:
    """Files of labels; a task's are spread over all of them, as if they had come day by day."""
    rng = np.random.default_rng(0)
    tasks = labels // LABELS
    truth = rng.integers(2, size=tasks)
    error = rng.uniform(0.05, 0.5, WORKERS)
    first = rng.integers(WORKERS, size=tasks)
    pieces = max(labels // PIECE, 1)
    folder.mkdir()
    for piece in range(pieces):
        place = np.arange(piece, labels, pieces)
        task, turn = place % tasks, place // tasks
        worker = (first[task] + turn * 83) % WORKERS  # distinct within a task
        said = truth[task] ^ (rng.random(place.size) < error[worker])
        table = pl.DataFrame({"task": task, "worker": worker, "label": said})
        table.select(
            pl.format("task-{}", "task").alias("task"),
            pl.format("worker-{}", "worker").alias("worker"),
            pl.col("label").replace_strict({0: "ham", 1: "spam"}),
        ).sample(fraction=1.0, shuffle=True, seed=piece).write_parquet(folder / f"{piece}.parquet")


def count_votes(df: Any, target: str) -> None:
    """Majority vote in Spark's own SQL: group, window, first."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    counts = df.groupBy("task", "label").count()
    order = Window.partitionBy("task").orderBy(F.desc("count"), "label")
    first = counts.withColumn("place", F.row_number().over(order)).where("place = 1")
    first.select("task", "label", "count").write.mode("overwrite").parquet(target)


def decide(df: Any, crowd: cs.Estimator, target: str) -> None:
    """`fit_decide`."""
    found = spark.fit_decide(df, crowd)
    found.write.mode("overwrite").parquet(target)
    found.unpersist()


def seconds(work: Callable[[], object]) -> float:
    """How long something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def family() -> list[Path]:
    """Return the folders in /proc of this process and all that it started: the JVM and workers."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(folder.name)] = int(fields_of(folder)[1])
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return [Path("/proc", str(pid)) for pid in found]


def fields_of(process: Path) -> list[str]:
    """Return what /proc/PID/stat says after the name."""
    return (process / "stat").read_text().rpartition(")")[2].split()


def processor_seconds() -> float:
    """Return the processor time of all these processes, and of those that they have waited for."""
    ticks = 0
    for process in family():
        with contextlib.suppress(OSError):
            ticks += sum(map(int, fields_of(process)[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


class MemoryWatch(threading.Thread):
    """Looks every fifth of a second how many MB these processes have in memory."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self._over = 0.0, threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        page = os.sysconf("SC_PAGE_SIZE") / 2**20
        while not self._over.wait(0.2):
            resident = 0
            for process in family():
                with contextlib.suppress(OSError):
                    resident += int(fields_of(process)[21])
            self.most = max(self.most, resident * page)

    def stop(self) -> float:
        """Return the most there was."""
        self._over.set()
        self.join()
        return self.most


@dataclass
class Cost:
    """Seconds by the clock and of processors in each round, and the most MB of all processes."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    memory: float = 0.0

    def measure(self, work: Callable[[], object]) -> None:
        """Add a round."""
        watch, before = MemoryWatch(), processor_seconds()
        watch.start()
        self.seconds.append(seconds(work))
        self.cpu.append(processor_seconds() - before)
        self.memory = max(self.memory, watch.stop())


def compare(labels: int, rounds: int, master: str = "local[2]") -> dict[str, Cost]:
    """Measure `Adaptive` and the rival in turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_labels(folder / "few", 200_000)
        make_labels(folder / "many", labels)
        session = spark.start(master, settings={"spark.driver.memory": "6g"})
        few, many = (session.read.parquet(str(folder / which)) for which in ("few", "many"))
        target = str(folder / "out")
        works: dict[str, Callable[[Any], None]] = {
            "majority vote in Spark SQL": lambda df: count_votes(df, target),
            "fit_decide": lambda df: decide(df, cs.Adaptive(), target),
        }
        costs = {which: Cost() for which in works}
        for work in works.values():
            work(few)
        for _ in range(rounds):
            for which, work in works.items():
                costs[which].measure(partial(work, many))
        session.stop()
    return costs


def shuffled(session: Any) -> int:
    """Bytes that have moved between executors so far, as Spark counts them."""
    context = session.sparkContext
    none = context._gateway.new_array(session._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, none, None)
    return sum(stages.apply(at).shuffleWriteBytes() for at in range(stages.size()))


def driver_memory() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Make labels, decide them in three ways, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=float, default=20e6)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--method", choices=METHODS, default="adaptive")
    parser.add_argument("--memory", default="6g", help="of the driver's JVM")
    parser.add_argument("--alone", action="store_true", help="also without Spark")
    given = parser.parse_args()
    method = METHODS[given.method]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_labels(folder / "few", 200_000)
        make_labels(folder / "many", int(given.labels))
        session = spark.start(given.master, settings={"spark.driver.memory": given.memory})
        few, many = (session.read.parquet(str(folder / which)) for which in ("few", "many"))
        target = str(folder / "out")
        count_votes(few, target)
        decide(few, method(), target)
        print(f"pyspark {pyspark.__version__}, {given.master}, {int(given.labels):,} labels")
        before = driver_memory()
        crowd = method()
        votes = seconds(lambda: count_votes(many, target))
        print(f"majority vote in Spark SQL   {votes:8.1f} s")
        moved = shuffled(session)
        ours = seconds(lambda: decide(many, crowd, target))
        moved = (shuffled(session) - moved) / given.labels
        print(f"{given.method:28} {ours:8.1f} s   {ours / votes:.2f} times as long")
        print(
            f"driver's Python: {before:,.0f} MB after the few labels, {driver_memory():,.0f} MB now"
        )
        print(f"shuffled: {moved:.1f} bytes a label")
        size = len(crowd.to_bytes()) / 1e6
        print(f"sums at the driver: {size:.1f} MB of {len(crowd.workers_):,} workers")
        session.stop()
        if given.alone:
            alone = seconds(lambda: _alone(folder, method()))
            times = ours / alone
            print(f"without Spark                {alone:8.1f} s   Spark {times:.1f} times as long")


def _alone(folder: Path, crowd: cs.Estimator) -> None:
    table = pl.read_parquet(folder / "many" / "*.parquet")
    found = crowd.fit_predict(table)
    assert isinstance(found, pl.DataFrame)
    found.write_parquet(folder / "alone.parquet")


if __name__ == "__main__":
    main()
