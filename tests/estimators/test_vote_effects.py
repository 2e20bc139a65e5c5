"""The heavier a worker, the more its votes do: who is heavier changes more when left out."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

from crowdstream.estimators import Adaptive, MajorityVote
from crowdstream.labels.batch import LabelBatch
from crowdstream.models.scorer import Scorer
from crowdstream.models.vote_effects import vote_effects
from crowdstream.simulation import simulate
from crowdstream.sums.agreement import AgreementSums
from crowdstream_lab import datasets
from tests.real import needs_data

load = cache(datasets.load)

Labels = pl.DataFrame
LEAST = 15
"""Answers of workers who are compared: the change is a mean over them."""


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.asarray(np.corrcoef(ranks))[0, 1])


def weights_and_changes(
    labels: Labels, gold: dict[str | int, str | int | bool] | None, most: int = 40
) -> tuple[np.ndarray, np.ndarray]:
    """Of the busiest workers: their weight, and how far probabilities move without their votes.

    The mean over the tasks that a worker has in common with others of Σ|Δp|, by a crowd that goes
    on knowing what it has learnt.
    """
    crowd = Adaptive().fit(labels, gold=gold)
    table = crowd.workers().filter(pl.col("answers") >= LEAST)
    busiest = table.sort("answers", descending=True).head(most)
    whole = crowd.predict_proba_many(labels)
    without = []  # the tasks of each worker without its votes, under names of their own
    for number, worker in enumerate(busiest["worker"].to_list()):
        own = labels.filter(pl.col("worker") == worker)
        others = labels.filter(pl.col("worker") != worker).join(own, on="task", how="semi")
        without.append(others.with_columns(task=f"{number} " + pl.col("task").cast(pl.String)))
    left = crowd.predict_proba_many(pl.concat(without))
    number, task = left["task"].str.splitn(" ", 2).struct.unnest()
    names = {str(name): place for place, name in enumerate(whole["task"].to_list())}
    shared = whole.drop("task").to_numpy()[[names[name] for name in task]]
    moved = np.abs(shared - left.drop("task").to_numpy()).sum(axis=1)
    left_out = number.cast(pl.Int64).to_numpy()
    changes = np.bincount(left_out, moved) / np.bincount(left_out)
    return np.abs(busiest["weight"].to_numpy()), changes


def simulated() -> Labels:
    error = np.linspace(0.05, 0.5, 30)
    return simulate(30, 600, p=error, per_task=5, seed=1).labels().cast(pl.String)


def test_leaving_out_the_heavier_changes_more_in_a_simulated_crowd() -> None:
    weights, changes = weights_and_changes(simulated(), None)
    assert rank_correlation(weights, changes) > 0.9
    shuffled = np.random.default_rng(0).permutation(weights)
    assert abs(rank_correlation(shuffled, changes)) < 0.5  # by chance: three standard errors


@needs_data
@pytest.mark.parametrize("with_gold", [False, True])
@pytest.mark.parametrize(
    ("name", "least"),
    # Tasks differ in how close they are, and a vote moves a close one further: the fewer answers a
    # worker has, the less of the change is the worker's.
    [("product", 0.75), ("zencrowd_us", 0.75), ("sentiment_polarity", 0.5), ("rte", 0.35)],
)
def test_leaving_out_the_heavier_changes_more_in_real_crowds(
    name: str, least: float, with_gold: bool
) -> None:
    one = load(name)
    gold = dict(one.gold.head(one.gold.height // 4).iter_rows()) if with_gold else None
    weights, changes = weights_and_changes(one.labels, gold)
    found = rank_correlation(weights, changes)
    assert found > least
    rng = np.random.default_rng(0)
    by_chance = [rank_correlation(rng.permutation(weights), changes) for _ in range(20)]
    assert abs(np.mean(by_chance)) < 0.12  # 20 draws of a standard deviation of 0.16
    assert found > max(by_chance)


def test_who_always_says_one_thing_weighs_nothing() -> None:
    rows = [
        (str(t), who, str(t % 2) if who != "parrot" else "1")
        for t in range(100)
        for who in ("ann", "bob", "cy", "parrot")
    ]
    table = Adaptive().fit(rows).workers()
    weights = dict(table.select("worker", "weight").iter_rows())
    assert weights["parrot"] < 0.1 * weights["ann"]


def test_who_is_mostly_wrong_counts_against_what_is_said() -> None:
    rng = np.random.default_rng(0)
    rows = []
    for t in range(300):
        truth = int(rng.integers(2))
        for who, error in (("ann", 0.1), ("bob", 0.1), ("cy", 0.15), ("dee", 0.2), ("liar", 0.9)):
            rows.append((str(t), who, str(truth ^ int(rng.random() < error))))
    weights = dict(Adaptive().fit(rows).workers().select("worker", "weight").iter_rows())
    assert weights["liar"] < 0 < weights["dee"] < weights["ann"]


def test_a_vote_of_a_majority_counts_one() -> None:
    rows = [("t", "ann", "a"), ("t", "bob", "b")]
    assert MajorityVote().fit(rows).workers()["weight"].to_list() == [1, 1]
    assert Adaptive().fit(rows).workers()["weight"].to_list() == [1, 1]  # fell back


def test_correlated_errors_lower_weights_as_they_lower_confidence() -> None:
    sums = AgreementSums()
    sums.make_room(2, 2)
    sums.add(LabelBatch(np.array([0, 2]), np.array([0, 1], np.int32), np.array([0, 0], np.int32)))

    def score(batch: LabelBatch, scores: np.ndarray) -> None:
        scores[:] = 0.0
        for t in range(len(batch)):
            for z in range(batch.starts[t], batch.starts[t + 1]):
                scores[t, batch.labels[z]] += 1.5

    scorer = Scorer(score, True)
    assert vote_effects(scorer, sums, 0.0).tolist() == [1.5, 1.5]
    assert vote_effects(scorer, sums, 0.5).tolist() == [1.0, 1.0]
