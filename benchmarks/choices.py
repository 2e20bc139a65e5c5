"""Multi-select: F1 of decided sets against majority vote per class and crowd-kit's BinaryRelevance.

    python benchmarks/choices.py [--draws N] [--tasks N] [--pairs] [--large]

Simulated crowds: every worker misses a true class and chooses a wrong one at rates of its own.
Prints per setting the mean micro F1 of `Adaptive` over the pairs that `Choices` makes, of majority
vote per class and of BinaryRelevance over crowd-kit's MajorityVote (nan if crowd-kit is not
installed); the mean gain over the better of these two with its standard error and the least in any
draw; macro F1 and the share of sets that are exactly right of ours and of the vote, and the mean
confidence in ours. ``--pairs``
compares which pairs are learnt: all, only those that somebody chose, or these and so many of the
others for each. ``--large``: time and memory of a million cells.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.choices import Choices
from crowdstream.metrics import SetScores, set_f1

try:
    from crowdkit.aggregation import BinaryRelevance
    from crowdkit.aggregation import MajorityVote as TheirMajorityVote
except ImportError:
    BinaryRelevance = None

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Setting(NamedTuple):
    """A crowd to simulate.

    ``chosen``: true classes of a task on average; ``spread``: of how often classes are true, the
    smaller the more unequal (Dirichlet); ``together``: classes come in groups that are true on the
    same tasks; ``spam``: an eighth of the workers choose at random ("random") or nearly everything
    ("all"); ``uneven``: classes differ in how hard they are, ``murky``: pairs of task and class do,
    so that workers err together, both by so much in log-odds; ``copied``: share of the labels that
    are the task's first one.
    """

    per_task: int = 5
    classes: int = 20
    chosen: float = 3.0
    tasks: int = 1000
    workers: int = 60
    spread: float = 1.0
    together: bool = False
    spam: str = ""
    uneven: float = 0.0
    murky: float = 0.0
    copied: float = 0.0


SETTINGS = {
    "3 labels": Setting(3),
    "4 labels": Setting(4),
    "5 labels": Setting(5),
    "10 labels": Setting(10),
    "5 classes, 3 labels": Setting(3, 5, 1.5),
    "5 classes, 5 labels": Setting(5, 5, 1.5),
    "50 classes, 3 labels": Setting(3, 50),
    "50 classes, 5 labels": Setting(5, 50),
    "rare classes, 3 labels": Setting(3, spread=0.3),
    "rare classes, 5 labels": Setting(5, spread=0.3),
    "correlated classes": Setting(5, together=True),
    "random spammers": Setting(5, spam="random"),
    "spammers choose all": Setting(5, spam="all"),
    "spammers choose all, 3": Setting(3, spam="all"),
    "few tasks, 3 labels": Setting(3, tasks=100, workers=20),
    "few tasks, 5 labels": Setting(5, tasks=100, workers=20),
    "uneven classes, 3 labels": Setting(3, uneven=1.0),
    "uneven classes, 5 labels": Setting(5, uneven=1.0),
    "uneven classes, 10 labels": Setting(10, uneven=1.0),
    "murky pairs, 3 labels": Setting(3, murky=1.0),
    "murky pairs, 10 labels": Setting(10, murky=1.0),
    "very murky pairs": Setting(5, murky=2.0),
    "copied labels, 5 labels": Setting(5, copied=0.3),
    "copied labels, 10 labels": Setting(10, copied=0.3),
}
"""What is simulated, by name."""


class Simulated(NamedTuple):
    """True sets (task × class), what was chosen (task × label × class), and by whom."""

    truth: Bools
    said: Bools
    who: Ints

    def table(self, separator: str = "|") -> pl.DataFrame:
        """The labels with one cell per task and worker; an empty set is an empty JSON list."""
        cells = [
            separator.join(f"c{k}" for k in np.flatnonzero(row)) or "[]"
            for row in self.said.reshape(-1, self.said.shape[2])
        ]
        task = np.repeat(np.arange(len(self.truth)), self.said.shape[1])
        return pl.DataFrame({"task": task, "worker": self.who.ravel(), "label": cells})

    def true_sets(self) -> dict[int | str, list[str]]:
        """The true set of every task."""
        return {t: [f"c{k}" for k in np.flatnonzero(row)] for t, row in enumerate(self.truth)}

    def majority(self) -> dict[int | str, list[str]]:
        """The classes that more than half of a task's workers chose."""
        most = self.said.mean(axis=1) > 0.5
        return {t: [f"c{k}" for k in np.flatnonzero(row)] for t, row in enumerate(most)}


def simulate(setting: Setting, seed: int) -> Simulated:
    """Draw a crowd."""
    rng = np.random.default_rng(seed)
    tasks, classes, n = setting.tasks, setting.classes, setting.workers
    rates = rng.dirichlet(np.full(classes, setting.spread)) * setting.chosen
    rates = np.minimum(np.minimum(rates, 0.9) * setting.chosen / np.minimum(rates, 0.9).sum(), 0.9)
    chances = np.broadcast_to(rates, (tasks, classes))
    if setting.together:
        groups = max(2, classes // 4)
        same = rng.integers(groups, size=(tasks, 1)) == rng.integers(groups, size=classes)
        chances = np.minimum(
            chances * np.where(same, 0.75 * groups, 0.25 * groups / (groups - 1)), 0.9
        )
    truth = rng.random((tasks, classes)) < chances
    # Beyond 20 classes workers do not choose more of them by mistake.
    alarm = rng.beta(1.2, 18.0, n) * min(1.0, 20.0 / classes)
    miss = rng.beta(2.0, 5.0, n)
    who = np.argsort(rng.random((tasks, n)), axis=1)[:, : setting.per_task]
    harder = rng.normal(0.0, setting.uneven, (2, classes))
    murk = rng.normal(0.0, setting.murky, (tasks, 1, classes))
    hit = _moved(1.0 - miss[who][..., None], harder[0] + murk)
    slip = _moved(alarm[who][..., None], harder[1] + murk)
    chance = np.where(truth[:, None, :], hit, slip)
    if setting.spam:
        blind = setting.chosen / classes if setting.spam == "random" else 0.97
        chance = np.where((who < n // 8)[..., None], blind, chance)
    said = rng.random(chance.shape) < chance
    copies = rng.random(who.shape) < setting.copied
    return Simulated(truth, np.where(copies[..., None], said[:, :1], said), who)


def _moved(chance: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities with their log-odds moved."""
    odds = chance / (1.0 - chance) * np.exp(by)
    return np.asarray(odds / (1.0 + odds))


def binary_relevance(crowd: Simulated) -> dict[int | str, list[str]]:
    """The sets that crowd-kit decides."""
    import pandas as pd

    table = crowd.table()
    lists = [[] if cell == "[]" else cell.split("|") for cell in table["label"]]
    frame = pd.DataFrame({"task": table["task"], "worker": table["worker"], "label": lists})
    return dict(BinaryRelevance(TheirMajorityVote()).fit_predict(frame))


def ours(crowd: Simulated) -> tuple[SetScores, float]:
    """Scores of our sets, and the mean confidence."""
    found = Choices.of(crowd.table(), separator="|")
    crowd_of = cs.Adaptive()
    pairs = crowd_of.fit_predict(found.pairs)
    joined = found.join(pairs, weighted=bool(crowd_of.identifiable_))
    return set_f1(joined, crowd.true_sets()), float(joined["confidence"].to_numpy().mean())


def compare(draws: int, tasks: int | None) -> None:
    """Print the table of settings."""
    print(
        f"{'':27}  F1                      gain              least    macro F1       exactly right"
    )
    print(
        f"{'':27}  ours    vote    BinRel                    gain     "
        "ours   vote    ours   vote   confidence"
    )
    gains = []
    for name, setting in SETTINGS.items():
        if tasks is not None:
            setting = setting._replace(tasks=tasks)
        rows, gain = [], []
        for seed in range(draws):
            crowd = simulate(setting, seed)
            truth = crowd.true_sets()
            our, sure = ours(crowd)
            vote, theirs = set_f1(crowd.majority(), truth), float("nan")
            if BinaryRelevance is not None:
                theirs = set_f1(binary_relevance(crowd), truth).micro
            gain.append(our.micro - np.nanmax((vote.micro, theirs)))
            rows.append(
                (our.micro, vote.micro, theirs, our.macro, vote.macro, our.exact, vote.exact, sure)
            )
        gains += gain
        micro, majority, binary, *others = np.mean(rows, axis=0)
        error = np.std(gain, ddof=1) / np.sqrt(draws) if draws > 1 else float("nan")
        shown = f"{micro:.4f}  {majority:.4f}  {binary:.4f}  {np.mean(gain):+.4f} ± {error:.4f}  "
        shown += f"{min(gain):+.4f}  " + "  ".join(f"{value:.3f}" for value in others)
        print(f"{name:27}  {shown}", flush=True)
    print(f"mean gain over the better of majority vote and BinaryRelevance: {np.mean(gains):+.4f}")


def compare_pairs(draws: int) -> None:
    """Print the F1 by which pairs are learnt; all are decided."""
    print("classes, labels: all | chosen pairs, and 0, 2, 5, 10, 20 others for each | majority")
    for classes, per_task in ((20, 3), (100, 3), (100, 5), (200, 3), (1000, 3), (1000, 5)):
        rows = []
        for seed in range(draws):
            crowd = simulate(Setting(per_task, classes, tasks=300), seed)
            truth, found = crowd.true_sets(), Choices.of(crowd.table(), separator="|")
            chosen = (
                np.maximum.reduceat(found.pairs.batch.labels, found.pairs.batch.starts[:-1]) > 0
            )
            draw = np.random.default_rng(seed).random(chosen.size) / chosen.sum() * (~chosen).sum()
            row = []
            for quiet in (np.inf, 0, 2, 5, 10, 20):
                estimator = cs.Adaptive().fit(found.pairs.select(chosen | (draw < quiet)))
                row.append(set_f1(found.join(estimator.predict_many(found.pairs)), truth).micro)
            rows.append([*row, set_f1(crowd.majority(), truth).micro])
        shown = " | ".join(f"{mean:.4f}" for mean in np.mean(rows, axis=0))
        print(f"{classes:5} {per_task:2}: {shown}", flush=True)


def large(classes: int) -> None:
    """Print the time of a million cells, and the peak of memory so far."""
    rng = np.random.default_rng(0)
    tasks, per_task = 200_000, 5
    said = rng.integers(classes, size=(tasks, 1, 3)).repeat(per_task, axis=1)
    said = np.where(rng.random(said.shape) < 0.8, said, rng.integers(classes, size=said.shape))
    table = pl.DataFrame(
        {
            "task": [f"img{t}" for t in np.repeat(np.arange(tasks), per_task)],
            "worker": [f"w{w}" for w in rng.integers(2000, size=tasks * per_task)],
            "label": ["|".join(f"c{k}" for k in row) for row in said.reshape(-1, 3).tolist()],
        }
    )
    times = [time.perf_counter()]
    found = Choices.of(table)
    times.append(time.perf_counter())
    decisions = cs.Adaptive().fit_predict(found.pairs)
    times.append(time.perf_counter())
    found.join(decisions)
    times.append(time.perf_counter())
    shown = ", ".join(
        f"{name} {took:.1f} s"
        for name, took in zip(("pairs", "decide", "join"), np.diff(times), strict=True)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{classes:,} classes, {found.pairs.height:,} votes learnt: {shown}; {peak} MB", flush=True
    )


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--pairs", action="store_true")
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.large:
        large(20)
        large(100)
    elif args.pairs:
        compare_pairs(args.draws)
    else:
        compare(args.draws, args.tasks)


if __name__ == "__main__":
    main()
