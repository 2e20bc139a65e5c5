"""Ratings on a scale: `decide_on_scale` against the plain median and the likeliest class.

    python benchmarks/ordinal.py [--quick] [--seeds N] [--tasks N]

Simulated ratings of 1 to 5 stars by independent raters: the truth plus noise, rounded and cut off
at the ends. Cells differ in the noise (normal, Laplace, or normal with up to 60 % of a rater's
votes at random), its spread (0.5, 1 or 2 steps for everybody, or 0.4 to 2.5 by rater), the truths
(all places alike, or most at 4 and 5), labels per task (2 to 15), and answers per rater (20, or a
crowd of 30 raters). A row pools the seeds: the share of wrong decisions and the mean distance from
the truth of the plain median of the votes, then what ours has more or less than it, with its
standard error over seeds; the same for the most probable class of `Adaptive`; and the expected
distance as a multiple of the true one. Marks say where ours is worse by more than 0.001 and three
standard errors (``!``; in so many cells some are off by two), and where the expectation is off by
more than a fifth and by more than three standard errors (``?``).
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.labels import LabelBatch
from crowdstream.ordinal import decide_on_scale

Floats = NDArray[np.float64]

PLACES = 5
SKEWED = (0.05, 0.05, 0.1, 0.35, 0.45)
"""Shares of the truths where most are at 4 and 5, as in shops' reviews."""

CROWD = 30
"""Raters where each has many answers."""

FEW_ANSWERS = 20
"""Answers per rater where each has few."""

UNEQUAL = (0.4, 2.5)
"""Least and largest spread where raters differ."""

PRECISE = 0.1
"""Standard error up to which a cell's calibration is part of the range: with fewer than 100 wrong
decisions it says little."""

NEGLIGIBLE = 0.001
"""Loss above the plain median's that is not marked: one decision in a thousand."""

MOST_RANDOM = 0.6
"""Largest share of a rater's votes that are random, where some are."""


@dataclass(frozen=True)
class Cell:
    """One kind of crowd; a ``spread`` of None: raters differ."""

    noise: str
    spread: float | None
    skewed: bool
    few_answers: bool
    per_task: int

    def __str__(self) -> str:
        spread = "differ" if self.spread is None else f"{self.spread:g}"
        truths = "skewed" if self.skewed else "even"
        answers = str(FEW_ANSWERS) if self.few_answers else "many"
        return f"{self.noise:8} {spread:>6} {truths:6} {answers:>4} {self.per_task:3}"


@dataclass(frozen=True)
class Ratings:
    """Simulated ratings in codes from 0 up, as many per task, and the truths."""

    batch: LabelBatch
    truths: NDArray[np.int64]

    def table(self) -> pl.DataFrame:
        """Return one row per rating."""
        tasks = np.repeat(np.arange(len(self.batch)), self.batch.sizes)
        columns = {"task": tasks, "worker": self.batch.workers, "label": self.batch.labels}
        return pl.DataFrame(columns)


def simulate(cell: Cell, tasks: int, seed: int) -> Ratings:
    """Draw the ratings of one crowd."""
    rng = np.random.default_rng([seed, cell.per_task])
    raters = tasks * cell.per_task // FEW_ANSWERS if cell.few_answers else CROWD
    shares = SKEWED if cell.skewed else np.full(PLACES, 1.0 / PLACES)
    truths = rng.choice(PLACES, tasks, p=shares)
    who = np.argsort(rng.random((tasks, max(raters, cell.per_task))), axis=1)[:, : cell.per_task]
    spreads = np.exp(rng.uniform(math.log(UNEQUAL[0]), math.log(UNEQUAL[1]), raters))
    if cell.spread is not None:
        spreads = np.full(raters, cell.spread)
    draw = rng.laplace(0.0, 0.5**0.5, who.shape) if cell.noise == "laplace" else None
    noise = rng.normal(size=who.shape) if draw is None else draw
    said = np.clip(np.rint(truths[:, None] + noise * spreads[who]), 0, PLACES - 1)
    if cell.noise == "random":
        guesses = rng.random(who.shape) < rng.uniform(0.0, MOST_RANDOM, raters)[who]
        said = np.where(guesses, rng.integers(0, PLACES, who.shape), said)
    starts = np.arange(tasks + 1) * cell.per_task
    workers, labels = who.ravel().astype(np.int32), said.ravel().astype(np.int32)
    return Ratings(LabelBatch(starts, workers, labels), truths)


def plain_median(ratings: Ratings) -> NDArray[np.int64]:
    """Return the median of each task's votes, rounded down between two."""
    votes = ratings.batch.labels.reshape(len(ratings.batch), -1)
    found: NDArray[np.int64] = np.floor(np.median(votes, axis=1)).astype(np.int64)
    return found


def likeliest(ratings: Ratings) -> NDArray[np.int64]:
    """Return the class that `Adaptive` decides, to which classes are names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cs.Adaptive().fit_predict(ratings.table())
    decided: NDArray[np.int64] = found.sort("task")["label"].to_numpy()
    return decided


def losses(decided: NDArray[np.int64], truths: NDArray[np.int64]) -> Floats:
    """Return the share of wrong decisions and the mean distance from the truth."""
    apart = np.abs(decided - truths)
    return np.array([np.mean(apart > 0), apart.mean()])


@dataclass(frozen=True)
class Measured:
    """Losses (wrong, distance) of one cell by seed, each of so many tasks; expected distances."""

    tasks: int
    plain: Floats
    ours: Floats
    nominal: Floats
    expected: Floats

    @property
    def one(self) -> float:
        """Loss of one wrong decision, the least that ratios are made with."""
        return 1.0 / (self.tasks * len(self.plain))

    def excess(self, other: Floats) -> tuple[Floats, Floats]:
        """Return the mean loss above the plain median's, and its standard error."""
        apart = other - self.plain
        return apart.mean(axis=0), apart.std(axis=0, ddof=1) / len(apart) ** 0.5

    @property
    def calibration(self) -> tuple[float, float]:
        """Expected distance over the true one, and its standard error."""
        true = max(float(self.ours[:, 1].mean()), self.one)
        apart = self.expected - self.ours[:, 1]
        error = float(apart.std(ddof=1)) / len(apart) ** 0.5 / true
        # A few seeds may agree by chance; a count of errors varies by its root at least.
        least = (self.one / max(float(self.ours[:, 0].mean()), self.one)) ** 0.5
        return float(self.expected.mean()) / true, max(error, least)


def measure(cell: Cell, tasks: int, seeds: int, *, nominal: bool = True) -> Measured:
    """Decide the crowds of one cell."""
    found: list[list[Floats]] = [[], [], []]
    expected = []
    for seed in range(seeds):
        ratings = simulate(cell, tasks, seed)
        ours = decide_on_scale(ratings.batch, np.arange(1.0, PLACES + 1.0))
        plain = plain_median(ratings)
        decided = plain, ours.winners.astype(np.int64), likeliest(ratings) if nominal else plain
        for kept, each in zip(found, decided, strict=True):
            kept.append(losses(each, ratings.truths))
        expected.append(float(ours.steps.mean()))
    plain_losses, ours_losses, nominal_losses = map(np.array, found)
    return Measured(tasks, plain_losses, ours_losses, nominal_losses, np.array(expected))


def cells(quick: bool = False) -> Iterator[Cell]:
    """Yield all kinds of crowds."""
    per_task = (2, 3, 5, 10) if quick else (2, 3, 4, 5, 7, 10, 15)
    noises, spreads = ("normal", "laplace", "random"), (0.5, 1.0, 2.0, None)
    for few, skewed, noise, spread, size in itertools.product(
        (False, True), (False, True), noises, spreads, per_task
    ):
        yield Cell(noise, spread, skewed, few, size)


def signed(mean: float, error: float) -> str:
    """Show a difference and its standard error."""
    return f"{mean:+.4f}±{error:.4f}"


def row(cell: Cell, found: Measured) -> str:
    """Return one row of the table."""
    plain = found.plain.mean(axis=0)
    ours, nominal = found.excess(found.ours), found.excess(found.nominal)
    ratio, error = found.calibration
    worse = "!" if (ours[0] > 3.0 * ours[1] + NEGLIGIBLE).any() else ""
    off = "?" if max(ratio, 1.0 / ratio) > 1.2 and abs(ratio - 1.0) > 3.0 * error else ""
    shown = [
        " ".join(itertools.starmap(signed, zip(*each, strict=True))) for each in (ours, nominal)
    ]
    return (
        f"{cell} | {plain[0]:.4f} {plain[1]:.4f} | {shown[0]} | {shown[1]} | "
        f"{ratio:.2f}±{error:.2f} {worse}{off}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer numbers of labels per task")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=1500)
    given = parser.parse_args()
    began = time.perf_counter()
    print(
        "noise    spread truths ans.  m | plain: wrong, distance | ours less plain | Adaptive less"
    )
    print("plain | expected over true distance", flush=True)
    totals, off = [], []
    for cell in cells(given.quick):
        found = measure(cell, given.tasks, given.seeds)
        print(row(cell, found), flush=True)
        plain = np.maximum(found.plain.mean(axis=0), found.one)
        ratios = [each.mean(axis=0) / plain for each in (found.ours, found.nominal)]
        totals.append(ratios)
        if found.calibration[1] < PRECISE:
            off.append(found.calibration[0])
    means = [np.mean([total[k] for total in totals], axis=0) for k in range(2)]
    print(f"mean ratio to the plain median (wrong, distance): ours {means[0].round(3)}, ", end="")
    print(f"Adaptive {means[1].round(3)}")
    if off:
        print(f"expected over true distance: {min(off):.2f} to {max(off):.2f} in {len(off)} cells")
    print(f"({len(totals)} cells, {time.perf_counter() - began:.0f} s)")


if __name__ == "__main__":
    main()
