"""Coefficients of agreement: how fast they are, and how often their intervals hold the truth.

    python benchmarks/agreement.py [--crowds NUMBER] [--labels NUMBER] [coverage | speed]

*Coverage.* Crowds of the same workers label other tasks of the same kind again and again; the truth
is the coefficient of 200,000 such tasks. One row per kind of crowd: the share of crowds whose 95 %
interval holds it, by coefficient. Cells differ in tasks, classes, how often the commonest class is,
missing labels, and whether labels lie on a scale. *Speed.* Labels, five a task, already in codes:
seconds to add them up and to read all coefficients, beside what polars takes in the same run to
count labels by task and class, which is where any coefficient begins.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.labels.batch import LabelBatch
from crowdstream.monitoring.agreement import add_up
from crowdstream.monitoring.coefficients import Coefficients, read_coefficients

CROWDS, LABELS = 400, 10_000_000
"""Crowds of each kind, and labels of the race."""

MANY = 200_000
"""Tasks that the true coefficient is read from: its own error is a tenth of theirs or less."""

LEAST = 0.93
"""Coverage below which a 95 % interval does not hold what it says: 400 crowds have a standard error
of 0.011."""

NAMES = ("alpha", "fleiss", "gwet", "raw")

Codes = NDArray[np.int32]


@dataclass(frozen=True)
class Kind:
    """A kind of crowd: five workers who err from ``best`` to ``worst`` of the time."""

    tasks: int
    classes: int = 2
    common: float | None = None
    missing: float = 0.0
    best: float = 0.1
    worst: float = 0.4
    scale: str = "nominal"

    def __str__(self) -> str:
        common = "even" if self.common is None else f"{self.common:.0%}"
        errors = f"{self.best:.0%}–{self.worst:.0%}"
        return (
            f"{self.scale:9}{self.tasks:6,}{self.classes:4}{common:>6}{self.missing:>6.0%}"
            f"{errors:>9}"
        )

    def draw(self, tasks: int, rng: np.random.Generator, workers: int = 5) -> LabelBatch:
        """Labels of so many tasks."""
        k = self.classes
        shares = np.full(k, 1.0 / k)
        if self.common is not None:
            shares[:] = (1.0 - self.common) / (k - 1)
            shares[0] = self.common
        truth = rng.choice(k, tasks, p=shares)
        wrong = rng.random((tasks, workers)) < np.linspace(self.best, self.worst, workers)
        step = rng.integers(1, k, (tasks, workers))
        said = np.where(wrong, (truth[:, None] + step) % k, truth[:, None])
        if self.scale != "nominal":  # errors are of one step, up or down
            step = np.where(step % 2 == 0, 1, -1)
            said = np.clip(truth[:, None] + wrong * step, 0, k - 1)
        given = rng.random((tasks, workers)) >= self.missing
        starts = np.concatenate([[0], np.cumsum(given.sum(axis=1))]).astype(np.int64)
        task, worker = np.nonzero(given)
        return LabelBatch(starts, worker.astype(np.int32), said[task, worker].astype(np.int32))

    def read(self, tasks: int, rng: np.random.Generator) -> Coefficients:
        """The coefficients of so many tasks."""
        sums = add_up(self.draw(tasks, rng), self.classes)
        return read_coefficients(sums.read(), scale=self.scale, level=0.95)


KINDS = (
    Kind(50),
    Kind(200),
    Kind(2000),
    Kind(200, classes=5),
    Kind(200, classes=20),
    Kind(200, common=0.9),
    Kind(1000, common=0.95, worst=0.2),
    Kind(200, missing=0.5),
    Kind(100, best=0.02, worst=0.05),
    Kind(200, classes=3, best=0.4, worst=0.6),
    Kind(200, classes=5, scale="ordinal"),
    Kind(200, classes=5, scale="ordinal", common=0.6, missing=0.4),
    Kind(200, classes=5, scale="interval"),
    Kind(100, classes=10, scale="interval", missing=0.3),
)


def coverage(kind: Kind, crowds: int, seed: int = 0) -> dict[str, float]:
    """The share of crowds of a kind whose interval holds the truth, by coefficient."""
    rng = np.random.default_rng(seed)
    truth = kind.read(MANY, rng)
    held = dict.fromkeys(NAMES, 0)
    for _ in range(crowds):
        found = kind.read(kind.tasks, rng)
        for name in NAMES:
            one, true = getattr(found, name), getattr(truth, name).value
            held[name] += one.low is not None and one.low <= true <= one.high
    return {name: number / crowds for name, number in held.items()}


def show_coverage(crowds: int) -> int:
    """Print the coverage of every kind; return how many cells are too low."""
    print(f"95 % intervals that hold the truth, of {crowds} crowds each")
    print(f"{'scale':9}{'tasks':>6}{'K':>4}{'most':>6}{'gaps':>6}{'errors':>9}", end="")
    print("".join(f"{name:>8}" for name in NAMES))
    low = 0
    for kind in KINDS:
        found = coverage(kind, crowds)
        low += sum(share < LEAST for share in found.values())
        cells = (f"{share:>7.3f}{'!' if share < LEAST else ' '}" for share in found.values())
        print(f"{kind}{''.join(cells)}", flush=True)
    return low


def race(labels: int, classes: int, seed: int = 0) -> tuple[float, float]:
    """Seconds to add up and read all coefficients, and seconds of polars to count labels."""
    kind, workers = Kind(0, classes=classes), 5
    batch = kind.draw(labels // workers, np.random.default_rng(seed), workers)
    tasks = np.repeat(np.arange(len(batch), dtype=np.int32), batch.sizes)
    frame = pl.DataFrame({"task": tasks, "label": batch.labels})
    ours, theirs = [], []
    for _ in range(3):
        began = time.perf_counter()
        read_coefficients(add_up(batch, classes).read(), level=0.95)
        ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        frame.group_by("task", "label").len()
        theirs.append(time.perf_counter() - began)
    return min(ours), min(theirs)


def show_speed(labels: int) -> None:
    """Print the race for a few numbers of classes."""
    print(
        f"{labels:,} labels, five a task; polars {pl.__version__} counts labels by task and class"
    )
    for classes in (2, 5, 12, 50, 100):
        ours, theirs = race(labels, classes)
        ratio = theirs / ours
        print(f"{classes:4} classes: {ours:6.3f} s, polars {theirs:6.3f} s, {ratio:5.1f} times")


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; fail where an interval does not hold what it says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("coverage", "speed"))
    parser.add_argument("--crowds", type=int, default=CROWDS)
    parser.add_argument("--labels", type=int, default=LABELS)
    asked = parser.parse_args(arguments)
    if asked.what != "coverage":
        show_speed(asked.labels)
    return int(asked.what != "speed" and show_coverage(asked.crowds) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
