"""The adaptive estimator where it may fail, and what gold, merging and forgetting do to it.

    CROWDSTREAM_DATA=folder python benchmarks/adaptive.py [--quick]

Errors are differences to majority vote on the same labels, with the standard error over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import crowdstream as cs

N, TASKS, LABELS = 20, 2000, 5
GOLD = 0.05
"""Share of the tasks whose truth is told."""


def confusion(*rows: tuple[float, float]) -> np.ndarray:
    """Of one labeller: P(says 0), P(says 1), a row a truth."""
    return np.array(rows)


GOOD, PARROT = confusion((0.8, 0.2), (0.2, 0.8)), confusion((1.0, 0.0), (1.0, 0.0))
DEAF = confusion((0.95, 0.05), (0.55, 0.45))
CLIQUE = dict.fromkeys(range(1, 6), (0, 1.0))

CROWDS: dict[str, dict[str, object]] = {
    "equals, p = 0.3": {"p": 0.3},
    "hammers and spammers, q = 0.35": {"q": 0.35},
    "the same, 4 classes": {"q": 0.35, "classes": 4},
    "20 classes": {"p": 0.4, "classes": 20},
    "95:5": {"p": 0.2, "balance": [0.95, 0.05]},
    "30 % always say the same": {"confusions": np.array([GOOD] * 14 + [PARROT] * 6)},
    "all miss half of one class": {"confusions": np.array([DEAF] * N)},
    "adversaries, 20 %": {"p": 0.25, "adversaries": 0.2},
    "adversaries, 40 %": {"p": 0.25, "adversaries": 0.4},
    "six copy one of twenty": {"p": 0.3, "copying": CLIQUE},
}


def errors(make: Callable[[], cs.Estimator], block: object, verb: str) -> float:
    """The error of decisions on a simulated block."""
    labels, truths = block.labels(), block.truths()  # type: ignore[attr-defined]
    return cs.baselines.expected_error(getattr(make(), verb)(labels), truths)


def stress(seeds: int) -> Table:
    """Simulated crowds."""
    table = Table(title=f"error minus majority's, {TASKS} tasks, {LABELS} labels each, n = {N}")
    for column in ("crowd", "majority", "prequential", "final"):
        table.add_column(column, justify="left" if column == "crowd" else "right")
    for name, asked in CROWDS.items():
        found = []
        for seed in range(seeds):
            (block,) = cs.simulate(N, TASKS, per_task=LABELS, seed=seed, block=TASKS, **asked)  # type: ignore[arg-type]
            heads = errors(cs.MajorityVote, block, "fit_predict")
            found.append(
                [heads]
                + [errors(cs.Adaptive, block, v) - heads for v in ("stream_many", "fit_predict")]
            )
        mean = np.mean(found, axis=0)
        noise = np.std(found, axis=0, ddof=1) / np.sqrt(seeds)
        table.add_row(
            name,
            f"{mean[0]:.4f}",
            *(f"{mean[k]:+.4f} ± {noise[k]:.4f}" for k in (1, 2)),
        )
    return table


def gold(names: list[str], orders: int) -> Table:
    """Real sets with and without 5 % of the truths, scored on the other tasks; halves merged."""
    table = Table(title=f"{len(names)} real sets, means: the tasks whose truth was not told")
    for column in ("", "error", "calibration error", "Brier"):
        table.add_column(column, justify="left" if not column else "right")
    rows: dict[str, list[list[float]]] = {"no gold": [], "5 % gold": [], "two halves merged": []}
    for name in names:
        data = cs.datasets.load(name)
        for seed in range(orders):
            rng = np.random.default_rng(seed)
            told = pl.Series(rng.random(data.gold.height) < GOLD)
            given, rest = data.gold.filter(told), data.gold.filter(~told)
            ids = data.labels["task"].unique(maintain_order=True)
            first = ids[: len(ids) // 2]
            here = data.labels["task"].is_in(first.implode())
            left, right = cs.Adaptive(), cs.Adaptive()
            left.learn_many(data.labels.filter(here))
            right.learn_many(data.labels.filter(~here))
            left += right
            for kind, decisions in (
                ("no gold", cs.Adaptive().fit_predict(data.labels)),
                ("5 % gold", cs.Adaptive().fit_predict(data.labels, gold=given)),
                ("two halves merged", left.predict_many(data.labels)),
            ):
                rows[kind].append(
                    [
                        cs.baselines.expected_error(decisions, rest),
                        cs.calibration.calibration_error(decisions, rest),
                        cs.calibration.brier(decisions, rest),
                    ]
                )
    for kind, found in rows.items():
        table.add_row(kind, *(f"{x:.4f}" for x in np.mean(found, axis=0)))
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    quick = parser.parse_args().quick
    console = Console(width=110)
    console.print(stress(3 if quick else 10))
    names = cs.datasets.available()
    if names:
        console.print(gold(names, 1 if quick else 3))
    else:
        console.print("no data sets at hand: set CROWDSTREAM_DATA")


if __name__ == "__main__":
    main()
