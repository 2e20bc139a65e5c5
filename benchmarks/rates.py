"""Measure coverage of the limits of rates from few gold labels, and their width against gold's.

    python benchmarks/rates.py [--draws NUMBER] [--gold NUMBER …] [--kinds NAME …] [NAME …]

Gold is drawn again and again from the tasks whose truth is known; the truth is the share among all
of these. Prints one row per crowd and number of gold tasks: the share of 95 % intervals, over draws
and classes, that hold the truth; their mean width over that of gold alone (Wilson), and how often
gold alone holds it. Kinds: ``process`` (judges good, weak, useless, inverted and jointly wrong, of
a share that the tasks are a sample of), ``crowds`` (simulated, two to ten classes, some of them
jointly wrong), ``planned`` (the same, gold chosen by `gold_needed`), ``paired`` (the difference of
two systems), ``real`` (the sets in CROWDSTREAM_DATA). Exit code 1 if intervals hold the truth less
often than promised, or are wider in the mean than gold's alone.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.metrics import Z95
from crowdstream.rates.ppi import Estimate, Sample, corrected_mean, gold_alone
from crowdstream.simulation import Simulated, simulate, simulate_dependent

Floats = NDArray[np.float64]

GOLD = (30, 50, 200)
"""Gold tasks."""

DRAWS = 400
"""Draws of gold from each crowd."""

PROMISED = 0.93
"""Share of 95 % intervals that hold the truth, at least."""

GOOD = 0.8
"""Width over that of gold alone where the panel is good: error below 0.1, a share near a half."""

CLASSES = 6
"""Classes of a crowd that are looked at, the first ones."""


@dataclass
class Row:
    """Coverage and width of one crowd with so many gold tasks."""

    kind: str
    name: str
    gold: int
    draws: int = 0
    held: int = 0
    held_alone: int = 0
    width: float = 0.0
    width_alone: float = 0.0

    def count(self, found: Estimate, alone: Estimate, truth: float) -> None:
        """Count one interval and gold's alone."""
        self.draws += 1
        self.held += found.low <= truth <= found.high
        self.held_alone += alone.low <= truth <= alone.high
        self.width += found.high - found.low
        self.width_alone += alone.high - alone.low

    @property
    def coverage(self) -> float:
        """Share of intervals that hold the truth."""
        return self.held / self.draws

    @property
    def ratio(self) -> float:
        """Mean width over that of gold alone."""
        return self.width / self.width_alone

    @property
    def broken(self) -> bool:
        """Return True if coverage is below what is promised by over three standard errors."""
        error = (PROMISED * (1 - PROMISED) / self.draws) ** 0.5
        return bool(self.coverage < PROMISED - 3 * error)

    def text(self) -> str:
        """A row of the table."""
        cells = (self.kind, self.name, self.gold, f"{self.coverage:.3f}", f"{self.ratio:.2f}")
        return f"| {' | '.join(map(str, cells))} | {self.held_alone / self.draws:.3f} |"


JUDGES = ("good", "graded", "weak", "useless", "inverted", "fooled", "fooled one way")


def judged(kind: str, share: float, tasks: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Truths of two classes, and a panel's predictions of this kind."""
    truth = (rng.random(tasks) < share).astype(float)

    def right(rate: float) -> Floats:
        return np.where(rng.random(tasks) < rate, truth, 1 - truth)

    if kind == "graded":
        return truth, 1 / (1 + np.exp(-2 * ((2 * truth - 1) * 1.5 + rng.normal(size=tasks))))
    if kind == "useless":
        return truth, rng.beta(2, 2, tasks)
    fooled = rng.random(tasks) < 0.12
    said = {
        "good": lambda: right(0.95) * 0.9 + 0.05,
        "weak": lambda: right(0.65) * 0.6 + 0.2,
        "inverted": lambda: right(0.2) * 0.9 + 0.05,
        "fooled": lambda: np.where(fooled, 1 - truth, right(0.98)) * 0.98 + 0.01,
        "fooled one way": lambda: np.where(fooled, 0.0, truth) * 0.998 + 0.001,
    }[kind]()
    return truth, np.asarray(said)


def process(draws: int, numbers: tuple[int, ...]) -> Iterator[Row]:
    """Shares of a process: every draw has new tasks too."""
    for kind in JUDGES:
        for share in (0.03, 0.1, 0.5, 0.9):
            for n in numbers:
                rng = np.random.default_rng((n, int(100 * share)))
                row = Row("process", f"{kind}, share {share}", n)
                for _ in range(draws):
                    truth, said = judged(kind, share, n + 600, rng)
                    sample = Sample(truth[:n], said[:n], said[n:])
                    row.count(corrected_mean(sample, Z95), gold_alone(sample, Z95), share)
                yield row


def paired(draws: int, numbers: tuple[int, ...]) -> Iterator[Row]:
    """The difference of two systems judged on the same tasks."""
    for kind in JUDGES:
        for n in numbers:
            rng = np.random.default_rng((n, 7))
            row = Row("paired", f"{kind}, 0.7 less 0.6", n)
            for _ in range(draws):
                one, said = judged(kind, 0.7, n + 600, rng)
                other, also = judged(kind, 0.6, n + 600, rng)
                truth, apart = one - other, said - also
                sample = Sample(truth[:n], apart[:n], apart[n:], (-1.0, 1.0))
                row.count(corrected_mean(sample, Z95), gold_alone(sample, Z95), 0.1)
            yield row


@dataclass
class Known:
    """A crowd whose truths are known: per task and class, whether it is so and its chance."""

    name: str
    labels: pl.DataFrame
    truths: pl.DataFrame
    truth: Floats
    chances: Floats


def known(name: str, labels: pl.DataFrame, truths: pl.DataFrame) -> Known:
    """Fit the labels without gold; keep the tasks whose truth is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chances = cs.Adaptive().fit_predict_proba(labels)
    columns = [column for column in chances.columns if column != "task"]
    truths = truths.select("task", true=pl.col("label").cast(pl.String)).unique("task")
    both = chances.join(truths, on="task", maintain_order="left")
    is_so = np.array([[label == each for each in columns] for label in both["true"]], float)
    return Known(name, labels, truths, is_so, both.select(columns).to_numpy())


def simulated() -> Iterator[Known]:
    """Crowds that err independently, and crowds that are wrong together."""
    how: dict[str, Simulated] = {}
    for classes in (2, 4, 10):
        how[f"independent, {classes} classes"] = simulate(
            15, 1500, p=0.3, per_task=5, classes=classes, seed=classes
        )
    for kind in ("tricky", "difficulty"):
        for classes in (2, 4):
            how[f"{kind}, {classes} classes"] = simulate_dependent(
                kind, 9, 1500, classes=classes, seed=classes
            )
    for name, made in how.items():
        yield known(name, made.labels(), made.truths())


def crowds(draws: int, numbers: tuple[int, ...]) -> Iterator[Row]:
    """Simulated crowds."""
    for each in simulated():
        yield from resampled("crowds", each, draws, numbers)


def real(draws: int, numbers: tuple[int, ...], names: list[str]) -> Iterator[Row]:
    """Real crowds; sets with too little gold for a number are left out of it."""
    folder = Path(os.environ.get("CROWDSTREAM_DATA", "nowhere"))
    for path in sorted(folder.glob("*/labels.csv")):
        if names and path.parent.name not in names:
            continue
        labels = pl.read_csv(path, infer_schema=False)
        truths = pl.read_csv(path.parent / "gold.csv", infer_schema=False)
        yield from resampled("real", known(path.parent.name, labels, truths), draws, numbers)


def resampled(kind: str, each: Known, draws: int, numbers: tuple[int, ...]) -> Iterator[Row]:
    """Draw gold again and again from the tasks of known truth."""
    tasks, classes = each.truth.shape
    columns = [0] if classes == 2 else list(range(min(classes, CLASSES)))
    shares = each.truth.mean(axis=0)
    for n in numbers:
        if 2 * n > tasks:
            continue
        rng = np.random.default_rng(n)
        row = Row(kind, each.name, n)
        for _ in range(max(draws // len(columns), 1)):
            order = rng.permutation(tasks)
            gold, rest = order[:n], order[n:]
            for k in columns:
                truth, said = each.truth[gold, k], each.chances[gold, k]
                sample = Sample(truth, said, each.chances[rest, k])
                found = corrected_mean(sample, Z95, classes=classes)
                row.count(found, gold_alone(sample, Z95), shares[k])
        yield row


def planned(draws: int, numbers: tuple[int, ...]) -> Iterator[Row]:
    """Gold chosen by `gold_needed`, by the public function; fewer draws, since each is a fit."""
    for each in simulated():
        truth = each.truths.select("task", gold="true")
        names = each.truths["true"].unique().sort()[:2]
        for n in numbers:
            row = Row("planned", each.name, n)
            for seed in range(max(draws // 10, 1)):
                plan = cs.gold_needed(each.labels, n, seed=seed).drop("gold")
                found = cs.rate(each.labels, plan.join(truth, on="task"))
                for name in names:
                    one = found[name]
                    so = float((each.truths["true"] == name).mean())
                    found_one = Estimate(one.value, one.low, one.high, one.power)
                    alone = gold_alone(_alike(one.gold, n), Z95)
                    row.count(found_one, alone, so)
            yield row


def _alike(share: float, n: int) -> Sample:
    """Random gold with the same share: what a plan is compared with."""
    hits = round(share * n)
    truth = np.repeat([1.0, 0.0], [hits, n - hits])
    return Sample(truth, truth, truth)


def main() -> None:
    """Print the table; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="real sets; all unless named")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--gold", type=int, nargs="*", default=GOLD)
    kinds = ("process", "paired", "crowds", "planned", "real")
    parser.add_argument("--kinds", nargs="*", default=kinds, choices=kinds)
    asked = parser.parse_args()
    numbers = tuple(asked.gold)
    makers = {"process": process, "paired": paired, "crowds": crowds, "planned": planned}
    print("| kind | crowd | gold | coverage | width / gold alone | gold alone covers |")
    print("|---|---|---|---|---|---|")
    broken = False
    for kind in asked.kinds:
        rows = []
        made = real(asked.draws, numbers, asked.names) if kind == "real" else None
        for row in makers[kind](asked.draws, numbers) if made is None else made:
            print(row.text() + (" BROKEN" if row.broken else ""), flush=True)
            rows.append(row)
        if rows:
            least, mean = min(row.coverage for row in rows), np.mean([row.ratio for row in rows])
            print(f"| {kind} | least coverage, mean width | | {least:.3f} | {mean:.2f} | |")
            broken |= any(row.broken for row in rows) or bool(mean > 1.0)
    if broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
