"""Panels of judges against the truth: votes, joint errors, dropping judges, a few gold items.

    CROWDSTREAM_DATA=folder python benchmarks/judges.py

On every dense set of the folder (a judge sees at least half of the items; among the public ones
`llm_media_bias` and `llm_relevance`, panels of language models, and `bird`, people): error and
calibration error of `cs.jury` (which decides as `Adaptive`) and of majority vote, beside what was
asked for; how often the two votes of the panel are right, and where they differ; how many
independent judges it is worth; what its vote would reach if the same judges erred independently;
what it is without its weakest judge, without its best, and without each other one; and what a few
gold items, drawn at random, change on the others. No constant was chosen on these sets.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import polars as pl

import crowdstream as cs
from crowdstream.models.reading import DENSE
from crowdstream_lab import datasets

GOLD, DRAWS = (10, 20, 50), 10
"""Gold items that are given, and how often they are drawn."""

ASKED = {
    "bird": (0.11, 0.067),
    "llm_media_bias": (0.201, 0.043),
    "llm_relevance": (0.466, 0.259),
}
"""Error and calibration error that each set may have at most (issue 27)."""


def is_dense(labels: pl.DataFrame) -> bool:
    """Whether a judge sees most items."""
    cells = labels["task"].n_unique() * labels["worker"].n_unique()
    return bool(labels.height / cells >= DENSE)


def right(decisions: pl.DataFrame, column: str, truth: pl.DataFrame) -> float:
    """The share of items that a column of the decisions gets right."""
    both = decisions.join(truth.select("task", truth="label"), on="task")
    same = (both[column] == both["truth"]).fill_null(False).to_numpy()
    return float(same.mean()) if same.size else 0.0


def errors(one: datasets.Dataset) -> dict[str, object]:
    """Error and calibration error of jury and majority vote, and what was asked for."""
    row: dict[str, object] = {"set": one.name}
    # `cs.jury` decides as `Adaptive`, whose table has the margins that ties are counted by.
    for name, crowd in (("jury", cs.Adaptive()), ("majority", cs.MajorityVote())):
        decided = crowd.fit_predict(one.labels)
        row[f"{name} error"] = cs.metrics.error_rate(decided, one.gold, labels=one.labels)
        row[f"{name} ECE"] = cs.metrics.calibration_error(decided, one.gold)
    asked = ASKED.get(one.name, (None, None))
    return {**row, "error asked": asked[0], "ECE asked": asked[1]}


def votes(one: datasets.Dataset) -> dict[str, object]:
    """Each vote of the panel against the truth."""
    found = cs.jury(one.labels)
    differ = found.decisions.filter(~pl.col("votes_agree"))
    return {
        "set": one.name,
        "judges": found.workers.height,
        "items": found.tasks,
        "weighted": right(found.decisions, "weighted_vote", one.gold),
        "common factor": right(found.decisions, "common_factor_vote", one.gold),
        "decides": found.decided_by,
        "differ": differ.height,
        "weighted right there": right(differ, "weighted_vote", one.gold),
        "common factor right there": right(differ, "common_factor_vote", one.gold),
        "human": sum(found.needs_human.values()) / found.tasks,
        "right if no human": right(
            found.decisions.filter(~pl.col("needs_human")), "label", one.gold
        ),
        "effective by agreement": found.effective,
    }


def joint_errors(one: datasets.Dataset) -> tuple[dict[str, object], pl.DataFrame]:
    """What the panel is worth against the truth, and without each judge."""
    found = cs.effective_judges(one.labels, one.gold)
    assert found.effective is not None
    assert found.correlation is not None
    without: pl.DataFrame = found.without
    best, worst = without.row(-1, named=True), without.row(0, named=True)
    row: dict[str, object] = {
        "set": one.name,
        "judges": found.workers,
        "effective": found.effective.value,
        "low": found.effective.low,
        "high": found.effective.high,
        "correlation": found.correlation.value,
        "vote": found.accuracy,
        "if independent": found.accuracy_if_independent,
        "best judge": 1 - best["error_rate"],
        "without worst": worst["accuracy_without"],
        "effective without worst": worst["effective_without"],
        "correlation without worst": worst["correlation_without"],
    }
    return row, without


def with_gold(one: datasets.Dataset, number: int) -> dict[str, object]:
    """The labels with so many gold items, on the others, beside those without."""
    rng = np.random.default_rng(0)
    before = cs.jury(one.labels).decisions
    gains, gold_right = [], []
    for _ in range(DRAWS):
        chosen = rng.choice(one.gold.height, number, replace=False)
        mask = np.isin(np.arange(one.gold.height), chosen)
        gold, rest = one.gold.filter(mask), one.gold.filter(~mask)
        after = cs.jury(one.labels, gold=gold).decisions
        gold_right.append(right(after, "label", rest))
        gains.append(gold_right[-1] - right(before, "label", rest))
    return {
        "set": one.name,
        "gold": number,
        "right on the others": float(np.mean(gold_right)),
        "gain": float(np.mean(gains)),
        "standard error": float(np.std(gains, ddof=1) / DRAWS**0.5),
    }


def main() -> None:
    """Print the tables."""
    if not os.environ.get("CROWDSTREAM_DATA"):
        sys.exit("CROWDSTREAM_DATA does not name a folder of data sets")
    sets = [one for one in map(datasets.load, datasets.available()) if is_dense(one.labels)]
    pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=240, float_precision=3)
    print("Errors", pl.DataFrame([errors(one) for one in sets]), sep="\n")
    print("Votes", pl.DataFrame([votes(one) for one in sets]), sep="\n")
    found = [(one.name, *joint_errors(one)) for one in sets]
    print("Joint errors", pl.DataFrame([row for _, row, _ in found]), sep="\n")
    for name, _, without in found:
        print(f"{name} without each judge, the worst first", without, sep="\n")
    gold = [
        with_gold(one, number) for one in sets for number in GOLD if one.gold.height > 2 * number
    ]
    print("A few gold items", pl.DataFrame(gold), sep="\n")


if __name__ == "__main__":
    main()
