"""The sparse regime: the formulas and bounds of `docs/sparse.md` beside what is measured.

    python benchmarks/sparse.py [--quick] [--chart docs/sparse.svg] [TABLE …]

Crowds of 10³ to 10⁵ know-or-guess workers, r answers each, l labels a task. The teacher learns one
table and decides another, with labels of the same workers; or `CentredAgreement` decides the table
it learns (*same table*). An error is counted by the chance, given the labels and the true skills,
that the decision is wrong; the *excess* is that beyond the best decision. Standard errors (±) are
over crowds. ``--quick``: fewer and smaller runs, for the tests; its figures say nothing.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import crowdstream as cs
from crowdstream.labels import LabelBatch
from crowdstream.models.teacher import read_teacher, skills_of, vote_weights
from crowdstream.models.teacher_loops import Teacher
from crowdstream.sums.agreement import AgreementSums
from crowdstream_lab import theory
from crowdstream_lab.theory.sparse_votes import CAP

if TYPE_CHECKING:
    import altair as alt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CROWDS: dict[str, Floats] = {
    "skills from 0 to 0.6": (np.arange(60) + 0.5) / 100,
    "half guess, half 0.6": np.array([0.0, 0.6]),
    "skills from 0 to 1": (np.arange(100) + 0.5) / 100,
    "half guess, half know": np.array([0.0, 1.0]),
}
"""The skills of equally many workers each. The first two have a mean of 0.3 and variances of 0.03
and 0.09, the last two a mean of 0.5 and variances of 0.083 and 0.25."""

WIDE = 0.95
"""A cap of estimates beside the estimator's 0.6, for crowds with skills above that."""

REPEATS = {1_000: 8, 10_000: 4, 100_000: 4}
"""Crowds drawn of each size."""

ANSWERS = (5, 10, 20, 50, 100, 300)
LABELS = (5, 9, 25)

DRAWN = (3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 400)
"""Answers at which the lines of the chart are computed."""

MOST = 2_000_000
"""Labels of a table at most; more answers are left out for the largest crowds."""

FRESH = 20_000
"""Tasks that are decided and not learnt."""

TINY = 1e-6
"""A variance of skills so small that skills stay where none is cut: raw ones follow from it."""

OUTVOTES = 12.0
"""A known log-odds weight counts up to this; a worker who errs less than once in 10⁵ outvotes all
others anyway."""

LEAST = 2e-4
"""Less excess than this is not drawn: some tens of errors in all tasks decided."""

WIDTH = 230
"""Columns of text that the widest table takes."""


# Crowds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """Tasks of l labels each: who said what, and the skills behind it."""

    who: Ints
    said: Ints
    skills: Floats
    classes: int

    def table(self) -> pl.DataFrame:
        """As estimators take it."""
        tasks, labels = self.who.shape
        task = np.repeat(np.arange(tasks), labels)
        return pl.DataFrame({"task": task, "worker": self.who.ravel(), "label": self.said.ravel()})

    def sums(self) -> AgreementSums:
        """What the teacher reads."""
        found = AgreementSums()
        found.make_room(self.skills.size, self.classes)
        tasks, labels = self.who.shape
        starts = np.arange(0, tasks * labels + 1, labels)
        workers, said = (x.ravel().astype(np.int32) for x in (self.who, self.said))
        found.add(LabelBatch(starts, workers, said))
        return found

    def scores(self, weights: Floats) -> Floats:
        """The sum of the weights of those who said each class."""
        given = weights[self.who]
        sums = [np.where(self.said == a, given, 0.0).sum(axis=1) for a in range(self.classes)]
        return np.stack(sums, axis=1)

    def chances(self) -> Floats:
        """How likely each class is, given the labels and the true skills."""
        with np.errstate(divide="ignore"):
            best = np.log((1 + (self.classes - 1) * self.skills) / (1 - self.skills))
        odds = np.exp(self.scores(np.minimum(best, OUTVOTES)))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def made(
    rng: np.random.Generator, skills: Floats, answers: int, labels: int, classes: int = 2
) -> Made:
    """Each worker answers so many tasks, drawn at random, each of them once."""
    tasks = skills.size * answers // labels
    who = rng.permutation(np.repeat(np.arange(skills.size), answers))[: tasks * labels]
    who = who.reshape(tasks, labels)
    while True:
        ordered = np.sort(who, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not twice.any():
            break
        some = np.union1d(np.flatnonzero(twice), rng.integers(0, tasks, int(twice.sum()) + 5))
        who[some] = rng.permutation(who[some].ravel()).reshape(-1, labels)
    truth = rng.integers(0, classes, (tasks, 1))
    knows = rng.random(who.shape) < skills[who]
    said = np.where(knows, truth, rng.integers(0, classes, who.shape))
    return Made(who, said, skills, classes)


def spread_out(kind: Floats, n: int) -> Floats:
    """The skills of n workers of this kind of crowd."""
    return kind[np.arange(n) * kind.size // n]


def raw_skills(teacher: Teacher, workers: int, noise: float) -> Floats:
    """The teacher's skills before any shrinkage and cut; all have the same noise."""
    kept, teacher.spread = teacher.spread, TINY
    found = teacher.mean + (skills_of(teacher, workers) - teacher.mean) * (1 + noise / TINY)
    teacher.spread = kept
    return found


# The variance of a skill -----------------------------------------------------------------------


def variance(quick: bool) -> Table:
    """The variance of raw skills: measured, by the formula, and as the teacher takes it to be."""
    table = Table(title="Variance of raw skills (skills 0, 0.3, 0.6; × is over the measured one)")
    for name in ("K", "l", "r", "n", "measured", "formula ×", "assumed ×", "τ² true", "τ² found"):
        table.add_column(name, justify="right")
    sizes = [(5, 2), (2, 10), (5, 5), (5, 10), (9, 10), (5, 40)]
    for classes in (2, 4, 10):
        for labels, answers in sizes[3:4] if quick else sizes:
            n = 3_000 if quick else 30_000
            cells = measured_variance(classes, labels, answers, n)
            table.add_row(str(classes), str(labels), str(answers), f"{n:,}", *cells)
    return table


def measured_variance(classes: int, labels: int, answers: int, n: int) -> Iterator[str]:
    """The cells of a row of `variance`; its error is that of a mean of squares."""
    rng = np.random.default_rng([classes, labels, answers, n])
    skills = spread_out(np.array([0.0, 0.3, 0.6]), n)
    sums = made(rng, skills, answers, labels, classes).sums()
    teacher = read_teacher(sums, 1.0)
    assumed = theory.assumed_variance(teacher.mean, answers, labels, classes)
    raw = raw_skills(teacher, n, assumed) * teacher.mean / 0.3  # as if ψ̄ were known
    assumed = theory.assumed_variance(0.3, answers, labels, classes)
    squares = (raw - skills) ** 2
    found, error = float(squares.mean()), float(squares.std()) / math.sqrt(n)
    formula = theory.average_variance(0.3, 0.06, answers, labels, classes)
    yield f"{found:.3f} ± {error:.3f}"
    yield f"{formula / found:.3f} ± {error / found:.3f}"
    yield f"{assumed / found:.2f}"
    yield "0.060"
    yield f"{teacher.spread:.3f}"


# The excess of a vote --------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """The excess of votes: one entry per crowd drawn."""

    majority: Floats
    shrunk: Floats
    raw: Floats
    wide: Floats
    same: Floats


def excess_of(tasks: Made, scores: Floats, rng: np.random.Generator) -> float:
    """How much less likely what the scores decide is than the best decision, ties by a coin."""
    chances = tasks.chances()
    chosen = np.argmax(np.round(scores, 9) + 1e-10 * rng.random(scores.shape), axis=1)
    return float((chances.max(axis=1) - chances[np.arange(len(chosen)), chosen]).mean())


def measure(kind: Floats, n: int, answers: int, labels: int, classes: int, crowds: int) -> Measured:
    """Learn a table and decide others, for so many crowds."""
    rows = []
    skills = spread_out(kind, n)
    per_fresh = -(-FRESH * labels // n)
    for seed in range(crowds):
        rng = np.random.default_rng([n, answers, labels, classes, seed])
        learnt = made(rng, skills, answers, labels, classes)
        fresh = made(rng, skills, per_fresh, labels, classes)
        teacher = read_teacher(learnt.sums(), 1.0)
        assumed = theory.assumed_variance(teacher.mean, answers, labels, classes)
        raw = raw_skills(teacher, n, assumed)
        prior = np.log(np.asarray(teacher.f))
        row = [excess_of(fresh, fresh.scores(np.ones(n)), rng)]
        shrunk = skills_of(teacher, n)
        kept = np.clip(shrunk, 0.0, WIDE)
        wide = np.log((1 + (classes - 1) * kept) / (1 - kept))
        for weights in (vote_weights(shrunk, classes), vote_weights(raw, classes), wide):
            row.append(excess_of(fresh, fresh.scores(weights) + prior, rng))
        decided = cs.CentredAgreement().fit_predict(learnt.table())
        chances = learnt.chances()
        chosen = decided["label"].to_numpy()
        best = chances.max(axis=1) - chances[np.arange(len(chosen)), chosen]
        rows.append([*row, float(best.mean())])
    return Measured(*np.array(rows).T)


def settings(quick: bool) -> Iterator[tuple[str, int, int, int]]:
    """Crowd, labels, answers and workers of each measurement."""
    for crowd in CROWDS:
        for labels in LABELS[:1] if quick else LABELS:
            for answers in ANSWERS[2:3] if quick else ANSWERS:
                for n in list(REPEATS)[: 1 if quick else None]:
                    if n * answers <= MOST:
                        yield crowd, labels, answers, n


def with_error(values: Floats) -> str:
    """A mean and its standard error."""
    return f"{values.mean():.4f} ± {error_of(values):.4f}"


def error_of(values: Floats) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1)) / math.sqrt(values.size)


def excess(quick: bool, into: list[dict[str, object]] | None = None) -> Table:
    """Excess errors with shrunk, raw and equal weights: bound, formula, measured."""
    table = Table(title="Excess error over known weights, two classes")
    for name in ("crowd", "l", "r", "n", "bound", "formula", "shrunk", "same table",
                 "bound", "formula", "cap 0.95", "bound", "formula", "raw",
                 "formula", "majority"):  # fmt: skip
        table.add_column(name, justify="right")
    for crowd, labels, answers, n in settings(quick):
        kind = CROWDS[crowd]
        found = measure(kind, n, answers, labels, 2, 2 if quick else REPEATS[n])
        errors = theory.weights_beat_majority(kind, answers, labels)
        wide = theory.weights_beat_majority(kind, answers, labels, cap=WIDE)
        bounds = (
            theory.shrunk_excess_bound(kind, answers, labels),
            theory.shrunk_excess_bound(kind, answers, labels, cap=WIDE),
            theory.excess_error_bound(kind, answers, labels),
        )
        table.add_row(
            crowd, str(labels), str(answers), f"{n:,}",
            f"{bounds[0]:.4f}", f"{errors.shrunk - errors.known:.4f}",
            with_error(found.shrunk), with_error(found.same),
            f"{bounds[1]:.4f}", f"{wide.shrunk - wide.known:.4f}", with_error(found.wide),
            f"{bounds[2]:.4f}", f"{errors.raw - errors.known:.4f}", with_error(found.raw),
            f"{errors.majority - errors.known:.4f}", with_error(found.majority),
        )  # fmt: skip
        if into is not None:
            drawn = {"shrunk": found.shrunk, "raw": found.raw}
            if reaches_above_cap(kind):
                drawn["shrunk, cap 0.95"] = found.wide
            for weights, values in drawn.items():
                into.append({"crowd": crowd, "l": labels, "r": answers, "n": f"{n:,}",
                             "weights": weights, "excess": float(values.mean()),
                             "error": error_of(values)})  # fmt: skip
    return table


def classes(quick: bool) -> Table:
    """Excess errors with more than two classes, where the bound for any weights holds."""
    table = Table(title="Excess error over known weights, K classes, n = 10,000 (half guess)")
    for name in ("K", "l", "r", "bound", "shrunk", "same table", "bound", "raw", "majority"):
        table.add_column(name, justify="right")
    kind = CROWDS["half guess, half 0.6"]
    sizes = [(5, 10), (9, 10), (25, 10), (25, 100)]
    for k in (2, 4, 10):
        for labels, answers in sizes[:1] if quick else sizes:
            found = measure(kind, 1_000 if quick else 10_000, answers, labels, k, 2 if quick else 3)
            noise = theory.average_variance(0.3, 0.09, answers, labels, k)
            bounds = [
                theory.excess_error_bound(kind, answers, labels, trust=trust, classes=k)
                for trust in (0.09 / (0.09 + noise), 1.0)
            ]
            table.add_row(
                str(k), str(labels), str(answers), f"{bounds[0]:.3f}", with_error(found.shrunk),
                with_error(found.same), f"{bounds[1]:.3f}", with_error(found.raw),
                with_error(found.majority),
            )  # fmt: skip
    return table


# The chart -------------------------------------------------------------------------------------


def reaches_above_cap(kind: Floats) -> bool:
    """Return True if some skills are above the estimator's cap."""
    return bool(kind.max() > CAP)


def lines() -> pl.DataFrame:
    """Bounds and formulas as functions of r."""
    rows = []
    for crowd, kind in CROWDS.items():
        for labels in LABELS:
            for answers in DRAWN:
                errors = theory.weights_beat_majority(kind, answers, labels)
                wide = theory.weights_beat_majority(kind, answers, labels, cap=WIDE)
                capped, widely = (
                    theory.shrunk_excess_bound(kind, answers, labels, cap=cap)
                    for cap in (CAP, WIDE)
                )
                uncut = theory.shrunk_excess_bound(kind, answers, labels)
                for weights, what, value in (
                    ("shrunk, no cap", "bound", uncut),
                    ("shrunk", "bound", capped),
                    ("shrunk", "formula", errors.shrunk - errors.known),
                    ("shrunk, cap 0.95", "bound", widely),
                    ("shrunk, cap 0.95", "formula", wide.shrunk - wide.known),
                    ("raw", "bound", theory.excess_error_bound(kind, answers, labels)),
                    ("raw", "formula", errors.raw - errors.known),
                ):
                    if weights.startswith("shrunk, ") and not reaches_above_cap(kind):
                        continue
                    if not (what == "bound" and value >= 0.5):
                        rows.append((crowd, labels, answers, weights, what, value))
    names = ["crowd", "l", "r", "weights", "what", "excess"]
    return pl.DataFrame(rows, schema=names, orient="row")


def draw(points: pl.DataFrame) -> alt.VConcatChart:
    """Bound, formula and measurement, one panel per crowd and number of labels."""
    import altair as alt

    shown = pl.col("excess") > LEAST
    curves, points = lines().filter(shown), points.filter(shown)
    sizes = [f"{n:,}" for n in REPEATS]
    log = alt.Scale(type="log", domain=[LEAST, 0.5])
    ticks = alt.Axis(values=[5, 20, 100, 400], format="d")
    x = alt.X("r:Q", title="answers per worker, r", axis=ticks)
    x = x.scale(alt.Scale(type="log", domain=[3, 400]))
    levels = alt.Axis(values=[0.001, 0.01, 0.1], format="~g")
    y = alt.Y("excess:Q", scale=log, title="excess error", axis=levels)
    kinds = ["shrunk", "shrunk, cap 0.95", "shrunk, no cap", "raw"]
    hues = alt.Scale(domain=kinds, range=["#1f77b4", "#2a9d4e", "#555555", "#d95f02"])
    colour = alt.Color("weights:N", scale=hues, title="weights")
    strokes = alt.Scale(domain=["bound", "formula"], range=[[6, 4], [1, 0]])
    dash = alt.StrokeDash("what:N", scale=strokes, title="line")
    symbols = alt.Scale(domain=sizes, range=["circle", "square", "triangle-up"])
    shape = alt.Shape("n:N", scale=symbols, title="measured, n =")
    rows = []
    for crowd in CROWDS:
        panels = []
        for labels in LABELS:
            here = (pl.col("crowd") == crowd) & (pl.col("l") == labels)
            line = alt.Chart(curves.filter(here)).mark_line(strokeWidth=1.5)
            dots = alt.Chart(points.filter(here)).mark_point(size=45, filled=False)
            both = alt.layer(line.encode(x, y, colour, dash), dots.encode(x, y, colour, shape))
            title = f"{crowd}; l = {labels}"
            panels.append(both.properties(width=220, height=200, title=title))
        rows.append(alt.hconcat(*panels))
    chart: alt.VConcatChart = alt.vconcat(*rows).configure(font="sans-serif")
    return chart


TABLES: dict[str, Callable[[bool], Table]] = {
    each.__name__: each for each in (variance, excess, classes)
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the tables asked for; write the chart."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs")
    parser.add_argument("--chart", type=Path, help="write the chart of excess errors here (.svg)")
    given = parser.parse_args(argv)
    unknown = set(given.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    console = Console(width=WIDTH)
    for name in given.tables or TABLES:
        started = time.perf_counter()
        points: list[dict[str, object]] = []
        console.print(
            excess(given.quick, points) if name == "excess" else TABLES[name](given.quick)
        )
        if given.chart is not None and points:
            draw(pl.DataFrame(points)).save(given.chart)
        console.print(f"({name}: {time.perf_counter() - started:.0f} s)\n")


if __name__ == "__main__":
    main()
