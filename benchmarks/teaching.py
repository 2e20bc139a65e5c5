"""What 20 or 50 gold tasks change on real crowds, scored on the tasks whose truth was not told.

    CROWDSTREAM_DATA=folder python benchmarks/teaching.py [--draws N] [--stream]

Every set with at least `KNOWN` known truths; the gold is drawn at random. Prints for each set how
many points more or fewer decisions are wrong than without gold, and than by majority vote, and the
calibration error; then the means over sets with their paired standard errors. ``--stream``: each
task is decided from those before it, and gold comes as it comes.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings

import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream.metrics import calibration_error, error_rate
from crowdstream_lab import datasets

KNOWN = 150
"""Known truths that a set must have: of fewer, too few are left to score."""

SIZES = (20, 50)


def decide(labels: pl.DataFrame, gold: pl.DataFrame | None, stream: bool) -> pl.DataFrame:
    """All decisions, learning from this gold."""
    crowd = cs.Adaptive()
    verb = crowd.stream_many if stream else crowd.fit_predict
    found: pl.DataFrame = verb(labels, gold=gold)
    return found


def measure(name: str, draws: int, stream: bool) -> dict[int, list[float]] | None:
    """By number of gold tasks: change of error, against majority, calibration without and with."""
    one = datasets.load(name)
    if one.gold.height < KNOWN:
        return None
    without = decide(one.labels, None, stream)
    votes: pl.DataFrame = cs.MajorityVote().fit_predict(one.labels)
    found = {}
    for size in SIZES:
        rows = []
        for seed in range(draws):
            gold = one.gold.sample(size, seed=1000 * size + seed)
            rest = one.gold.join(gold, on="task", how="anti")
            told = decide(one.labels, gold, stream)
            error = error_rate(told, rest)
            rows.append(
                (
                    error - error_rate(without, rest),
                    error - error_rate(votes, rest),
                    calibration_error(without, rest),
                    calibration_error(told, rest),
                )
            )
        found[size] = np.mean(rows, axis=0).tolist()
    return found


def main() -> None:
    """Measure all sets and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4, help="of gold, for each set and size")
    parser.add_argument("--stream", action="store_true", help="decide tasks one after the other")
    given = parser.parse_args()
    if not os.environ.get("CROWDSTREAM_DATA"):
        sys.exit("CROWDSTREAM_DATA does not name a folder of data sets")
    warnings.simplefilter("ignore")
    print("set                   gold   points   against majority   ECE without → with")
    total: dict[int, list[list[float]]] = {size: [] for size in SIZES}
    for name in datasets.available():
        for size, row in (measure(name, given.draws, given.stream) or {}).items():
            total[size].append(row)
            change, lead, before, after = row
            print(
                f"{name:20} {size:5} {100 * change:+8.2f} {100 * lead:+12.2f}"
                f"          {before:.3f} → {after:.3f}",
                flush=True,
            )
    for size, rows in total.items():
        table = np.array(rows)
        change, _, before, after = table.mean(axis=0)
        error = table[:, 0].std(ddof=1) / np.sqrt(len(table))
        worse = int((table[:, 1] > 0.01).sum())
        print(
            f"mean of {len(table)} sets, {size} gold: {100 * change:+.2f} ± {100 * error:.2f};"
            f" over a point worse than majority on {worse}; ECE {before:.3f} → {after:.3f}"
        )


if __name__ == "__main__":
    main()
