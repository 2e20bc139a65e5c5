"""How often the estimators are wrong: every claim about accuracy as a table, computed on the spot.

    CROWDSTREAM_DATA=folder python benchmarks/estimators.py [--quick] [TABLE …]

Errors are shares of wrong decisions, with ties in expectation. *Final*: all tasks decided with what
all labels taught (``fit_predict``). *Online*: each task decided from those before it
(``stream_many``). Only the public interface is used. Real sets are read from the folder that
CROWDSTREAM_DATA names. ``--quick``: fewer and smaller runs, for the tests; its figures say nothing.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import crowdstream as cs
from crowdstream import metrics
from crowdstream.metrics import calibration_error
from crowdstream.simulation import Drift, Simulated, jump, sine
from crowdstream_lab import datasets
from crowdstream_lab.baselines import DawidSkene
from crowdstream_lab.compare import dataset_error, ready, shuffled
from crowdstream_lab.datasets import Dataset

Floats = NDArray[np.float64]
Make = Callable[[], cs.Estimator]
Verb = Literal["fit_predict", "stream_many"]

VERBS: tuple[Verb, Verb] = ("fit_predict", "stream_many")
"""Final and online."""

POINT = 0.01
"""Over this much more error than majority vote, a set counts as lost."""

SHUFFLES = (1, 2, 3)
"""Seeds of the orders in which a stream is decided, besides the file's own."""

SURE, WORTH = 2.5, 0.001
"""A cold start is flagged if it is worse by so many standard errors and by a tenth of a point. Of
80 differences that are all nil, half of one is flagged by chance."""

LEFT = 50
"""Tasks with a known truth that must be left to score on once some of them are gold."""

WIDTH = 180
"""Columns of text that the widest table takes."""

TIED = 1e-9
"""Log-odds this close are a tie."""

ESTIMATORS: dict[str, Make] = {
    "agreement": cs.AgreementBased,
    "centred": cs.CentredAgreement,
    "adaptive": cs.Adaptive,
}


# Crowds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crowd:
    """Labels, their truth, and what whoever knows everybody's confusions would say."""

    labels: pl.DataFrame
    gold: pl.DataFrame
    known: pl.DataFrame


@dataclass(frozen=True)
class Recipe:
    """How to make a crowd: ``draw`` gives n confusions (n × K × K), one row per truth."""

    name: str
    draw: Callable[[np.random.Generator, int], Floats]
    n: int
    tasks: int
    per_task: int | None = None
    prior: tuple[float, ...] = (0.5, 0.5)
    cited: str = ""

    def make(self, seed: int) -> Crowd:
        """One crowd; the same seed gives the same."""
        confusions = self.draw(np.random.default_rng((seed, self.n)), self.n)
        made = cs.simulate(
            self.n,
            self.tasks,
            confusions=confusions,
            classes=len(self.prior),
            balance=self.prior,
            per_task=self.per_task,
            seed=seed,
        )
        scores = np.tile(np.log(self.prior), (self.tasks, 1))
        said = np.log(np.maximum(confusions, 1e-12))[made.workers, :, made.said]
        for k in range(len(self.prior)):
            scores[:, k] += np.bincount(made.tasks, said[:, k], self.tasks)
        best = np.sort(scores, axis=1)
        lead = best[:, -1] - best[:, -2]
        task = np.arange(self.tasks)
        return Crowd(
            pl.DataFrame({"task": made.tasks, "worker": made.workers, "label": made.said}),
            pl.DataFrame({"task": task, "label": made.truth}),
            pl.DataFrame(
                {
                    "task": task,
                    "label": scores.argmax(axis=1),
                    "margin": np.where(lead < TIED, 0.0, lead),
                }
            ),
        )


def even(errors: Floats, classes: int = 2) -> Floats:
    """Confusions of workers who err alike on all classes and towards all others."""
    wrong = np.broadcast_to(
        (errors / (classes - 1))[:, None, None], (errors.size, classes, classes)
    )
    eye = np.eye(classes)
    return np.asarray(wrong * (1 - eye) + (1 - errors)[:, None, None] * eye)


def of_skill(skill: Floats, classes: int) -> Floats:
    """Who knows with probability ψ and otherwise guesses; below 0, who avoids the truth."""
    return even((1 - skill) * (1 - 1 / classes), classes)


def by_class(rng: np.random.Generator, n: int) -> Floats:
    """Two classes: errors of 2 to 15 % on one, of 20 to 50 % on the other."""
    first, second = rng.uniform(0.02, 0.15, n), rng.uniform(0.2, 0.5, n)
    rows = np.stack([1 - first, first, second, 1 - second], axis=1)
    return rows.reshape(n, 2, 2)


def uniform(low: float, high: float) -> Callable[[np.random.Generator, int], Floats]:
    """Two classes, error rates between these, alike on both."""
    return lambda rng, n: even(rng.uniform(low, high, n))


def hammers(q: float) -> Callable[[np.random.Generator, int], Floats]:
    """The paper's: half err with 2q − ½, half guess."""
    return lambda rng, n: even(np.where(np.arange(n) < n / 2, 2 * q - 0.5, 0.5))


def adversaries(rng: np.random.Generator, n: int) -> Floats:
    """Error rates of 5 to 30 %; 40 % of the crowd say the opposite."""
    errors = rng.uniform(0.05, 0.3, n)
    hostile = rng.permutation(n)[: round(0.4 * n)]
    errors[hostile] = 1 - errors[hostile]
    return even(errors)


def uneven(rng: np.random.Generator, n: int) -> Floats:
    """Three classes, each right 30 to 90 % of the time, and wrong one way more than the other."""
    right = rng.uniform(0.3, 0.9, (n, 3))
    first = rng.random((n, 3)) * (1 - right)
    found = np.empty((n, 3, 3))
    for k in range(3):
        found[:, k, k] = right[:, k]
        found[:, k, (k + 1) % 3] = first[:, k]
        found[:, k, (k + 2) % 3] = 1 - right[:, k] - first[:, k]
    return found


# Measuring -------------------------------------------------------------------------------------


def decide(make: Make, labels: pl.DataFrame, verb: Verb, **how: pl.DataFrame) -> pl.DataFrame:
    """A new estimator's decisions; that a small crowd tells too little is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.NotIdentifiable)
        decisions: pl.DataFrame = getattr(make(), verb)(labels, **how)
    return decisions


def majority_error(crowd: Crowd) -> float:
    """Of majority vote, ties of any number of classes in expectation."""
    majority = decide(cs.MajorityVote, crowd.labels, "fit_predict")
    return metrics.error_rate(majority, crowd.gold, labels=crowd.labels)


def mean_of(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error; 0 of one value only."""
    if len(values) < 2:
        return float(np.mean(values)), 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def told(values: Sequence[float], signed: bool = False) -> str:
    """Mean ± standard error, which one value alone does not have."""
    mean, error = mean_of(values)
    found = f"{mean:{'+' if signed else ''}.4f}"
    return f"{found} ± {error:.4f}" if len(values) > 1 else found


def grid(title: str, *columns: str, caption: str = "") -> Table:
    """A table whose first column is words and whose others are numbers."""
    table = Table(title=title, caption=caption or None, title_justify="left")
    table.caption_justify = "left"
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", no_wrap=not place)
    return table


def sets(quick: bool) -> Iterator[Dataset]:
    """The real sets at hand, one label a worker and task."""
    for name in datasets.available():
        if not quick or name in ("bird", "temp"):
            yield ready(datasets.load(name))


def orders(data: Dataset, quick: bool) -> Iterator[pl.DataFrame]:
    """The labels as the file has them, and with their tasks shuffled."""
    yield data.labels
    for seed in SHUFFLES[: 1 if quick else None]:
        yield shuffled(data.labels, seed)


# Workers who change ----------------------------------------------------------------------------

HALF: Floats = np.where(np.arange(20) < 10, 0.45, 0.1)
"""Error rates of ten who nearly guess and ten experts."""


@dataclass(frozen=True)
class Changing:
    """A crowd that changes; ``before``: the error of the estimator that followed whatever came.

    That was `Tracking`, dropped on 2026-11-18, on the same crowds (seeds 0 to 2).
    """

    name: str
    n: int
    tasks: int
    p: Floats
    drift: Drift | None
    per_task: int | None = None
    before: float = float("nan")

    def make(self, seed: int) -> Simulated:
        """One crowd; the same seed gives the same."""
        return cs.simulate(
            self.n, self.tasks, p=self.p, per_task=self.per_task, drift=self.drift, seed=seed
        )


QUARTER: Floats = np.full(10, 0.25)
CHANGES = (
    Changing("the paper's drift, ω = 0.01", 10, 5000, QUARTER, sine(0.01), before=0.00290),
    Changing("the paper's drift, ω = 0.05", 10, 5000, QUARTER, sine(0.05), before=0.00837),
    Changing("the paper's drift, ω = 0.001", 10, 20_000, QUARTER, sine(0.001), before=0.00127),
    Changing(
        "ω = 0.001, five a task", 100, 20_000, np.full(100, 0.25), sine(0.001), 5, before=0.0601
    ),
    Changing("a swap of experts", 20, 6000, HALF, jump(3000, HALF[::-1]), before=0.00169),
    Changing("the same, five a task", 20, 4000, HALF, jump(2000, HALF[::-1]), 5, before=0.0813),
    Changing(
        "half from 0.1 to 0.4",
        10,
        4000,
        np.full(10, 0.1),
        jump(2000, [0.4] * 5 + [np.nan] * 5),
        before=0.00508,
    ),
    Changing(
        "the best three guess",
        10,
        4000,
        np.linspace(0.05, 0.35, 10),
        jump(2000, [0.5] * 3 + [np.nan] * 7),
        before=0.0357,
    ),
    Changing("nobody changes", 10, 5000, np.linspace(0.1, 0.45, 10), None),
    Changing("nobody changes, five a task", 100, 5000, np.linspace(0.1, 0.45, 100), None, 5),
)

MEMORIES = (1000, 300, 100, 30, 10)
"""Tasks that rivals remember, whether workers change or not."""


def change(quick: bool) -> Table:
    """Errors online where workers change: followed once that is shown, or by a fixed memory."""
    columns = ("majority", "adaptive", "shown at the end", "best memory", "of", "before")
    table = grid(str(change.__doc__), "crowd", *columns)
    for crowd in CHANGES[::3] if quick else CHANGES:
        made = [crowd.make(seed) for seed in range(1 if quick else 3)]
        ours, counted = [], []
        rivals: dict[int, list[float]] = {memory: [] for memory in MEMORIES}
        shown = 0
        for block in made:
            labels, truths = block.labels(), block.truths()
            follower = cs.Adaptive()
            ours.append(metrics.error_rate(follower.stream_many(labels), truths))
            shown += cs.identifiability(follower).changing
            votes = cs.MajorityVote().stream_many(labels)
            counted.append(metrics.error_rate(votes, truths, labels=labels))
            for memory, errors in rivals.items():
                rival = cs.Adaptive(memory=memory)
                errors.append(metrics.error_rate(rival.stream_many(labels), truths))
        best = min(rivals, key=lambda memory: float(np.mean(rivals[memory])))
        table.add_row(
            crowd.name,
            f"{np.mean(counted):.4f}",
            f"{np.mean(ours):.5f}",
            f"{shown} of {len(made)}",
            f"{np.mean(rivals[best]):.4f}",
            str(best),
            "" if np.isnan(crowd.before) else f"{crowd.before:.5f}",
        )
    return table


# Tables ----------------------------------------------------------------------------------------


def real(quick: bool) -> Table:
    """Errors on real sets: final, and online as the mean over the file's order and shuffles."""
    kinds = [f"{name} {when}" for name in ESTIMATORS for when in ("final", "online")]
    table = grid(str(real.__doc__), "set", "majority", *kinds)
    rows = []
    for data in sets(quick):
        majority = decide(cs.MajorityVote, data.labels, "fit_predict")
        row = [dataset_error(majority, data, majority=True)]
        for make in ESTIMATORS.values():
            row.append(dataset_error(decide(make, data.labels, "fit_predict"), data))
            streams = [decide(make, x, "stream_many") for x in orders(data, quick)]
            row.append(float(np.mean([dataset_error(said, data) for said in streams])))
        table.add_row(data.name, *(f"{x:.4f}" for x in row))
        rows.append(row)
    if rows:
        found = np.array(rows)
        lost = (found > found[:, :1] + POINT).sum(axis=0)
        table.add_section()
        table.add_row(f"mean of {len(rows)}", *(f"{x:.4f}" for x in found.mean(axis=0)))
        table.add_row("over a point worse", *(str(x) for x in lost))
    return table


REGRETS = (
    Recipe("errors by class: U(0.02, 0.15) and U(0.2, 0.5)", by_class, 10, 40_000),
    Recipe(
        "classes 80:20, even errors U(0.1, 0.4)", uniform(0.1, 0.4), 10, 40_000, None, (0.8, 0.2)
    ),
    Recipe("the paper's hammers and spammers, q = 0.31", hammers(0.31), 10, 40_000),
)
"""Ten workers who all answer every task."""


def regret(quick: bool) -> Table:
    """Wrong decisions beyond those of the vote that knows confusions and class prior."""
    seeds, tasks = (2, 2_000) if quick else (8, 40_000)
    marks = (tasks // 4, tasks // 2, tasks)
    table = grid(
        f"{regret.__doc__} n = 10, {seeds} seeds: mean (worst).",
        "crowd",
        "final",
        *(f"online, {mark:,}" for mark in marks),
        "the vote's own errors",
    )
    for recipe in REGRETS:
        found, best = [], []
        for seed in range(seeds):
            crowd = replace(recipe, tasks=tasks).make(seed)
            final = decide(cs.Adaptive, crowd.labels, "fit_predict")
            online = decide(cs.Adaptive, crowd.labels, "stream_many")
            row = [_more_wrong(final, crowd, tasks)]
            found.append(row + [_more_wrong(online, crowd, mark) for mark in marks])
            best.append(tasks * metrics.error_rate(crowd.known, crowd.gold))
        means, worst = np.mean(found, axis=0), np.max(found, axis=0)
        cells = (f"{a:.1f} ({b:.1f})" for a, b in zip(means, worst, strict=True))
        table.add_row(recipe.name, *cells, f"{np.mean(best):.0f}")
    return table


def _more_wrong(
    decisions: pl.DataFrame, crowd: Crowd, tasks: int, classes: int | None = 2
) -> float:
    """Errors among the first tasks beyond those of who knows the confusions."""
    first = pl.col("task") < tasks
    wrong = metrics.error_rate(decisions.filter(first), crowd.gold, classes=classes)
    best = metrics.error_rate(crowd.known.filter(first), crowd.gold, classes=classes)
    return tasks * (wrong - best)


def experts(rng: np.random.Generator, n: int) -> Floats:
    """One or two experts among workers who nearly guess."""
    errors = rng.uniform(0.35, 0.48, n)
    few = int(rng.integers(1, 3))
    errors[:few] = rng.uniform(0.01, 0.15, few)
    errors[few:3] = rng.uniform(0.3, 0.4, 3 - few)  # Assumption 1: three who do not guess
    return even(errors)


def of_classes(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    """Each class is told right 35 to 90 % of the time, and mistaken unevenly."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        found = np.empty((n, classes, classes))
        for i, a in itertools.product(range(n), range(classes)):
            right = rng.uniform(0.35, 0.9)
            others = rng.dirichlet(np.ones(classes - 1)) * (1 - right)
            found[i, a] = np.insert(others, a, right)
        return found

    return draw


THEOREM: dict[str, tuple[Callable[[np.random.Generator, int], Floats], tuple[float, ...], int]] = {
    "even errors U(0.05, 0.45)": (uniform(0.05, 0.45), (0.5, 0.5), 30),
    "one or two experts among near-guessers": (experts, (0.5, 0.5), 30),
    "even errors, classes 80:20": (uniform(0.05, 0.45), (0.8, 0.2), 10),
    "errors by class": (by_class, (0.5, 0.5), 10),
    "K = 3, uneven": (of_classes(3), (1 / 3,) * 3, 10),
    "K = 5, uneven": (of_classes(5), (0.2,) * 5, 10),
    "p = (0.02, 0.4 × 9)": (lambda rng, n: even(np.append(0.02, np.full(9, 0.4))), (0.5, 0.5), 10),
}
"""Crowds of 5 to 20 workers that keep Assumption 1, their classes, and how many."""


def theorem(quick: bool) -> Table:
    """Wrong decisions beyond those of who knows the confusions, on random crowds."""
    tasks = 2_000 if quick else 100_000
    table = grid(
        f"{theorem.__doc__} n = 5 to 20, {tasks:,} tasks, all answer: median (worst).",
        "crowds", "number", "final", "online", "added by the last half", "AgreementBased, online",
        "online over AgreementBased's",
    )  # fmt: skip
    for name, (draw, prior, number) in THEOREM.items():
        found = []
        for seed in range(2 if quick else number):
            n = 10 if "×" in name else int(np.random.default_rng(seed).integers(5, 21))
            crowd = Recipe(name, draw, n, tasks, None, prior).make(seed)
            k = len(prior)
            final = decide(cs.Adaptive, crowd.labels, "fit_predict")
            online = decide(cs.Adaptive, crowd.labels, "stream_many")
            paper = decide(cs.AgreementBased, crowd.labels, "stream_many")
            half, whole = (_more_wrong(online, crowd, t, k) for t in (tasks // 2, tasks))
            theirs = _more_wrong(paper, crowd, tasks, k)
            found.append((_more_wrong(final, crowd, tasks, k), whole, half, theirs))
        rows = np.array(found)
        ratios = rows[:, 1] / np.maximum(rows[:, 3], 1.0)
        added = (rows[:, 1] - rows[:, 2]).sum() / max(rows[:, 1].sum(), 1.0)
        cells = (f"{np.median(x):.1f} ({x.max():.1f})" for x in (rows[:, 0], rows[:, 1]))
        paper_cell = f"{np.median(rows[:, 3]):.1f} ({rows[:, 3].max():.1f})"
        ratio = f"{np.median(ratios):.2f} ({ratios.max():.2f})"
        table.add_row(name, str(len(rows)), *cells, f"{added:.0%}", paper_cell, ratio)
    return table


def uneven_classes(quick: bool) -> Table:
    """Final errors where classes are mistaken unevenly, against a converged Dawid–Skene."""
    seeds, tasks = (2, 500) if quick else (5, 10_000)
    table = grid(
        f"{uneven_classes.__doc__} n = 10, five a task, {tasks:,} tasks, {seeds} seeds.",
        "K", "majority", "adaptive", "Dawid–Skene", "adaptive − Dawid–Skene", "confusions known",
    )  # fmt: skip
    for k in (3, 5, 10):
        found = []
        for seed in range(seeds):
            crowd = Recipe("", of_classes(k), 10, tasks, 5, (1 / k,) * k).make(seed)
            ours = metrics.error_rate(decide(cs.Adaptive, crowd.labels, "fit_predict"), crowd.gold)
            rival = DawidSkene(max_iterations=5_000, tolerance=1e-7)
            theirs = metrics.error_rate(rival.fit_predict(crowd.labels), crowd.gold)
            known = metrics.error_rate(crowd.known, crowd.gold)
            found.append((majority_error(crowd), ours, theirs, ours - theirs, known))
        first, ours_, theirs_, gap, best = np.transpose(found).tolist()
        table.add_row(str(k), told(first), told(ours_), told(theirs_), told(gap, True), told(best))
    return table


DENSE = 0.5
"""Share of the tasks that a worker of a panel has answered."""


def panels(quick: bool) -> Table:
    """Dense panels: errors and calibration errors, final decisions."""
    columns = "set", "majority", "adaptive", "calibration error", "20 gold: error", "change"
    table = grid(f"{panels.__doc__} Gold: the mean of five draws.", *columns)
    for data in sets(quick):
        cells = data.labels["task"].n_unique() * data.labels["worker"].n_unique()
        if data.labels.height < DENSE * cells:
            continue
        majority = decide(cs.MajorityVote, data.labels, "fit_predict")
        ours = decide(cs.Adaptive, data.labels, "fit_predict")
        drawn = np.mean([_with_gold(data, 20, seed) for seed in range(1 if quick else 5)], axis=0)
        table.add_row(
            data.name,
            f"{dataset_error(majority, data, majority=True):.4f}",
            f"{dataset_error(ours, data):.4f}",
            f"{calibration_error(ours, data.gold):.3f}",
            f"{drawn[2]:.4f}",
            f"{drawn[2] - drawn[1]:+.4f}",
        )
    return table


def names(quick: bool) -> Table:
    """What changes if everything has another name and another order, with and without gold."""
    table = grid(str(names.__doc__), "set", "labels that change", "largest change of confidence")
    for data in sets(quick):
        labels, gold_ = (t.with_columns(pl.all().cast(pl.String)) for t in (data.labels, data.gold))
        rng = np.random.default_rng(0)
        given: dict[str, dict[str, str]] = {}
        for column in ("task", "worker", "label"):
            known = labels[column].unique(maintain_order=True).to_list()
            order = rng.permutation(len(known)).tolist()
            given[column] = {name: f"{column}{k}" for name, k in zip(known, order, strict=True)}
        shuffled_ = _renamed(labels, given).sample(fraction=1.0, shuffle=True, seed=0)
        worst, moved = 0.0, 0
        for some in (gold_[:0], gold_.filter(pl.col("task").is_in(labels["task"].implode()))[:30]):
            said = decide(cs.Adaptive, labels, "fit_predict", gold=some)
            other = decide(cs.Adaptive, shuffled_, "fit_predict", gold=_renamed(some, given))
            both = _renamed(said, given).join(other, on="task")
            clear = pl.col("margin") > TIED
            moved += both.filter(clear & (pl.col("label") != pl.col("label_right"))).height
            gap = both.select((pl.col("confidence") - pl.col("confidence_right")).abs().max())
            worst = max(worst, float(gap.item()))
        table.add_row(data.name, str(moved), f"{worst:.1e}")
    return table


def _renamed(table: pl.DataFrame, given: dict[str, dict[str, str]]) -> pl.DataFrame:
    """The names of these columns replaced; others are kept."""
    here = [name for name in given if name in table.columns]
    return table.with_columns(
        pl.col(name).replace_strict(given[name], default=pl.col(name)) for name in here
    )


SIMULATED = (
    Recipe(
        "hammers and spammers, q = 0.31, n = 10",
        hammers(0.31),
        10,
        2_000,
        cited="0.095 / 0.016 / 0.016",
    ),
    Recipe("errors by class, n = 10", by_class, 10, 10_000, cited="0.090 / 0.016 / 0.017"),
    Recipe(
        "errors by class, n = 60, five a task",
        by_class,
        60,
        3_000,
        5,
        cited="0.117 / 0.056 / 0.055",
    ),
    Recipe(
        "80:20, errors U(0.1, 0.4), n = 10",
        uniform(0.1, 0.4),
        10,
        10_000,
        None,
        (0.8, 0.2),
        "0.049 / 0.025 / 0.025",
    ),
    Recipe(
        "95:5, errors U(0.05, 0.35), n = 60, five a task",
        uniform(0.05, 0.35),
        60,
        3_000,
        5,
        (0.95, 0.05),
        "0.055 / 0.018 / 0.017",
    ),
    Recipe(
        "40 % adversaries, n = 60, five a task",
        adversaries,
        60,
        3_000,
        5,
        cited="0.365 / 0.039 / 0.037",
    ),
    Recipe(
        "uneven confusions, K = 3, n = 10, five a task",
        uneven,
        10,
        10_000,
        5,
        (1 / 3,) * 3,
        "0.235 / 0.127 / 0.124",
    ),
    Recipe(
        "equals, p = 0.3, n = 10, five a task",
        uniform(0.3, 0.3),
        10,
        300,
        5,
        cited="0.16–0.17 / = / =",
    ),
    Recipe(
        "equals, p = 0.3, n = 60, five a task",
        uniform(0.3, 0.3),
        60,
        1_000,
        5,
        cited="0.16–0.17 / = / =",
    ),
    Recipe(
        "equals, p = 0.3, n = 500, five a task",
        uniform(0.3, 0.3),
        500,
        3_000,
        5,
        cited="0.16–0.17 / = / =",
    ),
    Recipe(
        "80:20, errors U(0.1, 0.4), n = 200, three a task",
        uniform(0.1, 0.4),
        200,
        2_000,
        3,
        (0.8, 0.2),
        "0.149 / 0.127 / 0.100",
    ),
    Recipe(
        "sparse, q = 0.3, n = 10,000, 10 answers each",
        hammers(0.3),
        10_000,
        20_000,
        5,
        cited="0.157 / 0.106 / 0.072",
    ),
    Recipe(
        "sparse, q = 0.3, n = 100,000, 5 answers each",
        hammers(0.3),
        100_000,
        100_000,
        5,
        cited="0.163 / 0.139 / 0.076",
    ),
)
"""``cited``: majority / estimator / confusions known, as a prototype of the recipe measured
over five seeds, on crowds of the same description. Its draws are not these, so what to compare is
how far the estimator is from knowing."""


def simulated(quick: bool) -> Table:
    """Final errors on simulated crowds whose workers err independently."""
    seeds = 2 if quick else 5
    table = grid(
        f"{simulated.__doc__} {seeds} seeds: mean ± standard error.",
        "crowd",
        "majority",
        "centred",
        "adaptive",
        "adaptive online",
        "confusions known",
        "expected",
        caption="expected: majority / adaptive / known, cited from a prototype of the recipe, not "
        "computed here; its crowds were of the same description but other draws",
    )
    for recipe in SIMULATED:
        if quick and recipe.n > 1_000:
            continue
        asked = replace(recipe, tasks=recipe.tasks // 10) if quick else recipe
        found = []
        for seed in range(seeds):
            crowd = asked.make(seed)
            row = [majority_error(crowd)]
            for make, verb in _JUDGED:
                row.append(metrics.error_rate(decide(make, crowd.labels, verb), crowd.gold))
            found.append([*row, metrics.error_rate(crowd.known, crowd.gold)])
        cells = [told(column) for column in np.transpose(found).tolist()]
        table.add_row(f"{recipe.name}, {asked.tasks:,} tasks", *cells, recipe.cited)
    return table


_JUDGED: tuple[tuple[Make, Verb], ...] = (
    (cs.CentredAgreement, "fit_predict"),
    (cs.Adaptive, "fit_predict"),
    (cs.Adaptive, "stream_many"),
)


def _equals(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: of_skill(np.full(n, 0.4), classes)


def _hammers(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: of_skill(np.where(np.arange(n) < n / 2, 0.8, 0.0), classes)


def _spread(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: of_skill(rng.uniform(0.1, 0.9, n), classes)


def _hostile(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    def draw(rng: np.random.Generator, n: int) -> Floats:
        skill = rng.uniform(0.4, 0.9, n)
        skill[rng.permutation(n)[: round(0.4 * n)]] = -0.5 / (classes - 1)
        return of_skill(skill, classes)

    return draw


def _parrots(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    def draw(rng: np.random.Generator, n: int) -> Floats:
        found = of_skill(np.full(n, 0.6), classes)
        found[: round(0.3 * n)] = np.eye(classes)[0]
        return found

    return draw


def _deaf(classes: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: np.tile([[0.95, 0.05], [0.55, 0.45]], (n, 1, 1))


PRIORS = {2: (0.8, 0.2), 3: (0.7, 0.2, 0.1), 5: (0.6, 0.2, 0.1, 0.05, 0.05)}
"""Of classes that are not alike, by how many there are."""

KINDS: dict[str, tuple[Callable[[int], Callable[[np.random.Generator, int], Floats]], bool]] = {
    "equals": (_equals, False),
    "hammers and spammers": (_hammers, False),
    "40 % adversaries": (_hostile, False),
    "skills U(0.1, 0.9)": (_spread, False),
    "the same, classes uneven": (_spread, True),
    "30 % always say the same": (_parrots, False),
    "all miss half of one class": (_deaf, False),
}
"""Who the workers are, and whether the classes follow `PRIORS`."""

COLD: dict[str, tuple[tuple[int, int, int, int | None], ...]] = {
    "equals": (
        (5, 2, 20, None), (5, 2, 200, None), (10, 3, 50, 5), (10, 2, 1_000, 5), (60, 2, 100, 5),
        (60, 5, 300, 5), (500, 2, 300, 5), (500, 3, 2_000, 5), (10_000, 2, 5_000, 5),
        (100_000, 2, 20_000, 5),
    ),
    "hammers and spammers": (
        (5, 2, 50, None), (10, 2, 20, None), (10, 3, 200, 5), (20, 2, 100, 5), (60, 5, 300, 5),
        (100, 2, 1_000, 3), (1_000, 2, 1_000, 5), (10_000, 2, 4_000, 5), (100_000, 2, 20_000, 5),
    ),
    "40 % adversaries": (
        (5, 2, 100, None), (10, 2, 50, None), (10, 2, 500, 5), (60, 2, 300, 5), (60, 3, 300, 5),
        (200, 2, 2_000, 5), (10_000, 2, 10_000, 5),
    ),
    "skills U(0.1, 0.9)": ((5, 2, 20, None), (10, 5, 50, 5)),
    "the same, classes uneven": (
        (5, 2, 50, None), (10, 2, 200, 5), (10, 3, 300, 5), (60, 2, 300, 5), (60, 5, 500, 5),
        (200, 2, 2_000, 3), (10_000, 2, 10_000, 5), (100_000, 2, 20_000, 5),
    ),
    "30 % always say the same": ((10, 2, 100, 5), (20, 2, 2_000, 5)),
    "all miss half of one class": ((20, 2, 200, 5), (20, 2, 2_000, 5)),
}  # fmt: skip
"""Workers, classes, tasks, and labels per task (None: all answer)."""

COLD_LABELS, COLD_SEEDS = 400_000, (8, 200)
"""Seeds of a cold start: as many as give so many labels, between these."""


def cold_starts() -> Iterator[Recipe]:
    """Crowds about whom little is known."""
    for kind, sizes in COLD.items():
        draw, tilted = KINDS[kind]
        for n, classes, tasks, per_task in sizes:
            prior = PRIORS[classes] if tilted else (1 / classes,) * classes
            name = f"{kind}, n = {n:,}, K = {classes}, {tasks:,} tasks"
            yield Recipe(name, draw(classes), n, tasks, per_task, prior)


def cold(quick: bool) -> Table:
    """Adaptive minus majority on crowds of whom little is known."""
    table = grid(
        f"{cold.__doc__[:-1]}, in error: mean ± paired standard error."  # type: ignore[index]
        f" Flagged: worse by {SURE} of them and {WORTH}.",
        "crowd",
        "seeds",
        "majority",
        "final",
        "online",
        "",
    )
    flagged = 0
    for recipe in cold_starts():
        labels = recipe.tasks * (recipe.per_task or recipe.n)
        if quick and labels > 600:
            continue
        seeds = 3 if quick else int(np.clip(COLD_LABELS // labels, *COLD_SEEDS))
        majority: list[float] = []
        final: list[float] = []
        online: list[float] = []
        for seed in range(seeds):
            crowd = recipe.make(seed)
            majority.append(majority_error(crowd))
            for verb, differences in zip(VERBS, (final, online), strict=True):
                said = decide(cs.Adaptive, crowd.labels, verb)
                wrong = metrics.error_rate(said, crowd.gold, classes=len(recipe.prior))
                differences.append(wrong - majority[-1])
        worse = [name for name, d in (("final", final), ("online", online)) if _worse(d)]
        flagged += len(worse)
        table.add_row(
            recipe.name,
            str(seeds),
            f"{np.mean(majority):.4f}",
            told(final, signed=True),
            told(online, signed=True),
            " ".join(("WORSE", *worse)) if worse else "",
        )
    table.caption = f"{flagged} of {2 * table.row_count} differences are significantly worse"
    return table


def _worse(differences: Sequence[float]) -> bool:
    mean, error = mean_of(differences)
    return mean > max(SURE * error, WORTH)


CENTRED = (
    Recipe("80:20, n = 10, all answer", uniform(0.1, 0.4), 10, 5_000, None, (0.8, 0.2)),
    Recipe("80:20, n = 60, five a task", uniform(0.1, 0.4), 60, 3_000, 5, (0.8, 0.2)),
    Recipe("95:5, n = 10, all answer", uniform(0.1, 0.4), 10, 5_000, None, (0.95, 0.05)),
    Recipe("95:5, n = 60, five a task", uniform(0.1, 0.4), 60, 3_000, 5, (0.95, 0.05)),
)
"""One class is rarer; errors are even, U(0.1, 0.4)."""


def centred(quick: bool) -> Table:
    """CentredAgreement against majority where one class is common, final errors."""
    seeds = 2 if quick else 10
    columns = "crowd", "majority", "centred", "centred − majority", "confusions known"
    table = grid(f"{centred.__doc__} Errors U(0.1, 0.4), {seeds} seeds.", *columns)
    for recipe in CENTRED:
        asked = replace(recipe, tasks=500) if quick else recipe
        found = []
        for seed in range(seeds):
            crowd = asked.make(seed)
            majority = majority_error(crowd)
            said = decide(cs.CentredAgreement, crowd.labels, "fit_predict")
            wrong = metrics.error_rate(said, crowd.gold, classes=2)
            found.append(
                (majority, wrong, wrong - majority, metrics.error_rate(crowd.known, crowd.gold))
            )
        heads_, wrongs, differences, best = np.transpose(found).tolist()
        cells = told(heads_), told(wrongs), told(differences, signed=True), told(best)
        table.add_row(asked.name, *cells)
    return table


def gold(quick: bool) -> Table:
    """What some gold tasks change on the others, final decisions of Adaptive on real sets."""
    draws = 1 if quick else 5
    table = grid(
        f"{gold.__doc__} Means over sets; of the change its paired standard error.",
        "gold tasks",
        "sets",
        "error without",
        "error with",
        "change",
        "calibration error without",
        "with",
        "sets over a point worse than majority",
        caption=f"the mean of {draws} choices of gold a set; sets with at least {LEFT} others; "
        "scores are weighed and confidence is calibrated from 20 on",
    )
    for size in (0, 10, 20, 50, 100):
        found = []
        for data in sets(quick):
            if data.gold.height >= size + LEFT:
                drawn = [_with_gold(data, size, seed) for seed in range(draws if size else 1)]
                found.append(np.mean(drawn, axis=0))
        if not found:
            continue
        majority, without, given, doubt, doubt_given = np.transpose(found)
        table.add_row(
            str(size),
            str(len(found)),
            f"{without.mean():.4f}",
            f"{given.mean():.4f}",
            told((given - without).tolist(), signed=True),
            f"{doubt.mean():.3f}",
            f"{doubt_given.mean():.3f}",
            str(int((given > majority + POINT).sum())),
        )
    return table


def _with_gold(data: Dataset, size: int, seed: int) -> list[float]:
    """Errors on the other tasks: majority, without gold, with; calibration errors of these two."""
    chosen = np.random.default_rng((seed, size)).permutation(data.gold.height)
    given, rest = data.gold[chosen[:size]], replace(data, gold=data.gold[chosen[size:]])
    majority = decide(cs.MajorityVote, data.labels, "fit_predict")
    before = decide(cs.Adaptive, data.labels, "fit_predict")
    after = decide(cs.Adaptive, data.labels, "fit_predict", gold=given) if size else before
    return [
        dataset_error(majority, rest, majority=True),
        *(dataset_error(said, rest) for said in (before, after)),
        *(calibration_error(said, rest.gold) for said in (before, after)),
    ]


PARTS = 4
"""Into which a table is cut, as if as many machines had learnt it."""


def merge(quick: bool) -> Table:
    """Share of decisions that differ when parts learnt apart are merged, against one pass."""
    table = grid(
        f"{merge.__doc__} {PARTS} parts of the file's tasks in turn.",
        "set",
        *ESTIMATORS,
        "adaptive's error, one pass",
        "merged",
    )
    rows = []
    for data in sets(quick):
        parts = cut(data.labels, PARTS)
        once = {name: _learnt(make, [data.labels], data) for name, make in ESTIMATORS.items()}
        merged = {name: _learnt(make, parts, data) for name, make in ESTIMATORS.items()}
        row = [_differing(once[name], merged[name]) for name in ESTIMATORS]
        row += [dataset_error(found["adaptive"], data) for found in (once, merged)]
        table.add_row(data.name, *(f"{x:.4f}" for x in row))
        rows.append(row)
    if rows:
        table.add_section()
        table.add_row(f"mean of {len(rows)}", *(f"{x:.4f}" for x in np.mean(rows, axis=0)))
    return table


def cut(labels: pl.DataFrame, parts: int) -> list[pl.DataFrame]:
    """The labels of the first quarter of the tasks, of the next, and so on."""
    tasks = labels["task"].unique(maintain_order=True)
    edges = np.linspace(0, len(tasks), parts + 1).astype(int)
    runs = (tasks[a:b].implode() for a, b in itertools.pairwise(edges))
    return [labels.filter(pl.col("task").is_in(run)) for run in runs]


def _learnt(make: Make, parts: Sequence[pl.DataFrame], data: Dataset) -> pl.DataFrame:
    """Each part learnt by an estimator of its own, all merged, then every task decided."""
    learners = [make() for _ in parts]
    for one, part in zip(learners, parts, strict=True):
        one.learn_many(part)
    whole = learners[0]  # one part alone is not merged with anything
    for other in learners[1:]:
        whole += other
    found: pl.DataFrame = whole.predict_many(data.labels)
    return found


def _differing(one: pl.DataFrame, other: pl.DataFrame) -> float:
    return float((one["label"].to_numpy() != other["label"].to_numpy()).mean())


COPYING = (
    (20, 8, 1.0, "0.345 → 0.058"),
    (20, 8, 0.97, "0.345 → 0.058"),
    (10, 3, 1.0, "0.333 → 0.112"),
    (20, 12, 1.0, "0.345 → 0.098"),
    (20, 8, 0.9, "0.343 → 0.065 with gold"),
)
"""Workers, how many of them copy one of error 0.35, what share of its labels, and what the study
found that the rule was drawn by."""

HONEST = ("honest", "good", "experts", "adversaries", "difficulty", "tricky", "constant")
"""Crowds of which nobody copies; `_honest` makes them."""

CROWDS, GOLD_TOLD = 200, 20
"""Honest crowds of each kind, and gold tasks that are told."""


def copies(quick: bool) -> Table:
    """Errors where some copy one worker: majority, copies reported, found, declared, with gold."""
    runs = 2 if quick else 20
    table = grid(
        f"{copies.__doc__} 1,000 tasks that all answer, {runs} crowds of each kind; others err on "
        "0.2 to 0.4. Last rows: crowds in which somebody is wrongly taken for a copy or suspected.",
        "crowd", "majority", "reported", "found", "declared", f"{GOLD_TOLD} gold", "found in",
        "suspected in", "study",
    )  # fmt: skip
    for n, group, share, cited in COPYING:
        rows = [_copying_crowd(n, group, share, seed) for seed in range(runs)]
        *shares, found, suspected = zip(*rows, strict=True)
        table.add_row(
            f"{group} of {n} copy {share:.0%}",
            *map(told, shares),
            f"{sum(found)}/{runs}",
            f"{sum(suspected)}/{runs}",
            cited,
        )
    table.add_section()
    crowds = 3 if quick else CROWDS
    for kind in HONEST:
        kinds = [set(cs.families(_honest(kind, seed))["kind"]) for seed in range(crowds)]
        flagged = (sum(name in found for found in kinds) for name in ("copy", "suspect"))
        table.add_row(kind, "", "", "", "", "", *(f"{number}/{crowds}" for number in flagged), "0")
    return table


def _copying_crowd(
    n: int, group: int, share: float, seed: int
) -> tuple[float, float, float, float, float, bool, bool]:
    made = cs.simulate(
        n,
        1000,
        p=np.where(np.arange(n) < group, 0.35, np.random.default_rng(seed).uniform(0.2, 0.4, n)),
        copying=dict.fromkeys(range(1, group), (0, share)),
        seed=seed,
    )
    labels, truths = made.labels(), made.truths()
    crowd, gold = cs.Adaptive(), truths.sample(GOLD_TOLD, seed=seed)
    found = (
        cs.MajorityVote().fit_predict(labels),
        cs.Adaptive(copies="report").fit_predict(labels),
        crowd.fit_predict(labels),
        cs.Adaptive(families=dict.fromkeys(crowd.workers_[:group], "copies")).fit_predict(labels),
        cs.Adaptive().fit_predict(labels, gold=gold),
    )
    wrong = [metrics.error_rate(one, truths) for one in found]
    kinds = cs.families(crowd).group_by("kind").len()
    whole = dict(kinds.iter_rows())
    return *wrong, whole.get("copy") == group, whole.get("suspect") == group  # type: ignore[return-value]


def _honest(kind: str, seed: int) -> cs.Estimator:
    """A crowd that has learnt the labels of workers none of whom copies."""
    rng = np.random.default_rng((seed, HONEST.index(kind)))
    n, tasks = int(rng.integers(5, 41)), int(rng.choice([200, 500, 1000, 3000]))
    k = int(rng.choice([2, 2, 3, 5]))
    each = n if rng.random() < 0.5 else min(n, int(rng.integers(3, 12)))
    errors = rng.uniform(0.05, 0.45, n) * (1.0 if k == 2 else 1.3)
    if kind == "good":
        errors = rng.uniform(0.01, 0.1, n)
    elif kind == "experts":
        errors = rng.uniform(0.35, 0.47, n) * (1.0 if k == 2 else 1.4)
        errors[: int(rng.integers(1, 4))] = rng.uniform(0.01, 0.05)
    elif kind == "adversaries":
        errors[: int(0.4 * n)] = rng.uniform(0.6, 0.95)
    truth = rng.choice(k, size=tasks, p=rng.dirichlet(np.full(k, 3.0)))
    chance = np.tile(errors, (tasks, 1))
    other = (truth[:, None] + rng.integers(1, k, (tasks, n))) % k
    if kind == "difficulty":
        guess = 1 - 1 / k
        chance = guess - (guess - chance) * rng.uniform(0, 1, (tasks, 1))
    elif kind == "tricky":  # a fifth of the tasks fools many, all into the same label
        chance[rng.random(tasks) < 0.2] += 0.5
        other = np.tile((truth[:, None] + 1) % k, (1, n))
    said = np.where(rng.random((tasks, n)) < chance, other, truth[:, None])
    if kind == "constant":
        said[:, : max(2, n // 5)] = 0
        said[rng.random((tasks, n)) < 0.02] = 1
    who = np.argsort(rng.random((tasks, n)), axis=1)[:, :each]
    labels = pl.DataFrame(
        {
            "task": np.repeat(np.arange(tasks), each),
            "worker": who.ravel(),
            "label": np.take_along_axis(said, who, 1).ravel(),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.NotIdentifiable)
        return cs.Adaptive().fit(labels)


TABLES: dict[str, Callable[[bool], Table]] = {
    each.__name__: each
    for each in (
        real,
        regret,
        theorem,
        simulated,
        uneven_classes,
        change,
        cold,
        centred,
        gold,
        panels,
        names,
        merge,
        copies,
    )
}
NEED_DATA = {"real", "gold", "panels", "names", "merge"}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the tables asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs")
    given = parser.parse_args(argv)
    unknown = set(given.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    console = Console(width=WIDTH)
    for name in given.tables or TABLES:
        if name in NEED_DATA and not datasets.available():
            console.print(f"{name}: no data sets at hand; set CROWDSTREAM_DATA")
            continue
        started = time.perf_counter()
        console.print(TABLES[name](given.quick))
        console.print(f"({name}: {time.perf_counter() - started:.0f} s)\n")


if __name__ == "__main__":
    main()
