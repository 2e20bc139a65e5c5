"""Whether alarms on real crowds are more than noise: how many, and how many gold confirms.

    CROWDSTREAM_DATA=folder python benchmarks/alarms.py

Every set is learnt in the order of its file, where tasks may come in groups, and with its tasks in
random order. Shuffled tasks hold no change over time, so every alarm is false. An alarm in file
order is held against the truth, where that is known: the worker's errors from the answer at which
the change is said to have begun until the worker's next alarm, against those since the alarm
before. It is confirmed where the change has the right sign and is significant (Fisher's test).
"""

from __future__ import annotations

import math
import os
import sys
from typing import NamedTuple

import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream.monitoring import DriftAlarm, alarms, monitor
from crowdstream_lab import datasets

ALLOWED = 2e-4
"""Alarms per answer of workers who do not change, at most."""

ORDERS = 5
"""Random orders of each set."""

LEAST = 10
"""Answers of known truth before and after that an alarm needs to be held against the truth."""

LEVEL = 0.05
"""Of the test."""


class Found(NamedTuple):
    """Of one set: alarms per 10⁴ answers, and what gold says of those in file order."""

    name: str
    answers: int
    in_file: int
    shuffled: float
    judged: int
    confirmed: int
    right_way: int


def shuffled(labels: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The same labels, their tasks in random order."""
    tasks = labels["task"].unique(maintain_order=True).sample(fraction=1.0, shuffle=True, seed=seed)
    places = pl.DataFrame({"task": tasks}).with_row_index("place")
    return labels.join(places, on="task").sort("place", maintain_order=True).drop("place")


def raised(labels: pl.DataFrame) -> list[DriftAlarm]:
    """The alarms of a crowd that learns this table."""
    return alarms(monitor(cs.Adaptive()).fit(labels))


def fisher(before: tuple[int, int], after: tuple[int, int]) -> float:
    """The chance of at least as many errors afterwards if nothing has changed.

    ``before`` and ``after``: errors and answers.

    >>> round(fisher((1, 20), (10, 20)), 4)
    0.0017
    """
    wrong, whole = before[0] + after[0], before[1] + after[1]

    def ways(errors: int) -> float:
        return math.comb(after[1], errors) * math.comb(before[1], wrong - errors)

    most = min(wrong, after[1])
    more = sum(ways(errors) for errors in range(after[0], most + 1))
    return more / math.comb(whole, wrong)


def verdict(alarm: DriftAlarm, wrong: np.ndarray, at: int, first: int, last: int) -> str:
    """What gold says of one alarm: confirmed, right way, wrong way, or unknown.

    ``wrong``: the worker's answers in order, NaN without truth; ``at``: that at which it rang;
    ``first`` and ``last``: those of the stretch without other alarms.
    """
    begun = max(at - alarm.answers, first)
    sides = [wrong[first:begun], wrong[begun:last]]
    known = [side[~np.isnan(side)] for side in sides]
    if min(side.size for side in known) < LEAST:
        return "unknown"
    counts = [(int(side.sum()), side.size) for side in known]
    if alarm.direction == "better":
        counts = [(size - errors, size) for errors, size in counts]
    before, after = counts
    if after[0] * before[1] <= before[0] * after[1]:
        return "wrong way"
    return "confirmed" if fisher(before, after) < LEVEL else "right way"


def judged_by_gold(one: datasets.Dataset, found: list[DriftAlarm]) -> list[str]:
    """What gold says of every alarm."""
    places = one.labels.select(pl.col("task").unique(maintain_order=True)).with_row_index("place")
    truth = one.gold.select("task", truth="label")
    rows = one.labels.unique(["task", "worker"], keep="last", maintain_order=True)
    rows = rows.join(places, on="task").join(truth, on="task", how="left").sort("place")
    rows = rows.with_columns(wrong=(pl.col("label") != pl.col("truth")).cast(pl.Float64))
    verdicts = []
    for worker in dict.fromkeys(alarm.worker for alarm in found):
        own = rows.filter(pl.col("worker") == str(worker))
        place, wrong = own["place"].to_numpy(), own["wrong"].fill_null(np.nan).to_numpy()
        mine = [alarm for alarm in found if alarm.worker == worker]
        rang = [int(np.searchsorted(place, alarm.tasks_seen)) for alarm in mine]
        ends = [0, *rang, len(wrong)]
        for k, alarm in enumerate(mine):
            verdicts.append(verdict(alarm, wrong, rang[k], ends[k], ends[k + 2]))
    return verdicts


def measure(name: str) -> Found:
    """Alarms on one set."""
    one = datasets.load(name)
    found = raised(one.labels)
    counts = [len(raised(shuffled(one.labels, seed))) for seed in range(ORDERS)]
    verdicts = judged_by_gold(one, found)
    judged = [word for word in verdicts if word != "unknown"]
    return Found(
        name,
        one.labels.height,
        len(found),
        float(np.mean(counts)),
        len(judged),
        judged.count("confirmed"),
        judged.count("confirmed") + judged.count("right way"),
    )


def main() -> int:
    """Print the table; exit code 1 where more alarms are false than are allowed."""
    if not os.environ.get("CROWDSTREAM_DATA"):
        print("CROWDSTREAM_DATA names no folder of data sets")
        return 2
    print(f"{'alarms in 10⁴ answers':20}  shuffled  in file  judged  confirmed  right way")
    every = [measure(name) for name in datasets.available()]
    whole = Found("all", *(sum(column) for column in zip(*(f[1:] for f in every), strict=True)))
    for found in (*every, whole):
        per = 1e4 / found.answers
        print(
            f"{found.name:21} {found.shuffled * per:9.2f} {found.in_file * per:8.2f} "
            f"{found.judged:7} {found.confirmed:10} {found.right_way:10}"
        )
    share = whole.confirmed / max(whole.judged, 1)
    print(f"gold confirms {100 * share:.0f} % of the {whole.judged} alarms that it can judge")
    false = whole.shuffled / whole.answers
    print(f"false alarms on shuffled tasks: {1e4 * false:.2f} in 10⁴, at most {1e4 * ALLOWED:g}")
    return int(false > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
