"""Sentences that were said where they were not so, each as it was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.estimators.worker_table import FEW_ANSWERS
from crowdstream.metrics.expected import Doubt
from crowdstream.monitoring import monitor
from crowdstream.simulation import simulate, simulate_dependent
from crowdstream.statements import advice, expected_wrong, label_worth
from crowdstream.statements.expected import expected_words, share_words
from tests.cli.test_manager import spaced
from tests.cli.tool import call
from tests.real import needs_data

ORDER = ["pay", "keep", "coach", "wait", "drop"]
"""Advice from the lowest error rate to the highest."""


def flag(low: float, high: float, chance: float) -> str:
    """Return the flag of an interval, as `Estimator.workers` gives it."""
    if low > chance:
        return "worse_than_chance"
    if low > 0.75 * chance and high > 0.875 * chance:
        return "at_chance"
    return "better_than_chance" if high < chance else "undecided"


@pytest.mark.parametrize("width", [0.02, 0.1, 0.2, 0.3, 0.5])
def test_neighbours_in_error_rate_have_neighbouring_advice(width: float) -> None:
    """Once 50.0 % errors were to be coached, 50.6 % to be dropped and 50.9 % to be coached."""
    crowd = cs.Adaptive().fit(simulate(60, 300, p=0.2, per_task=10, seed=1).labels())
    rates = np.linspace(0.02, 0.7, 60)
    low, high = np.clip(rates - width / 2, 0, 1), np.clip(rates + width / 2, 0, 1)
    table = crowd.workers().with_columns(
        error_rate=pl.Series(rates),
        error_low=pl.Series(low),
        error_high=pl.Series(high),
        answers=pl.lit(10.0 * FEW_ANSWERS),
        flags=pl.Series([[flag(a, b, 0.5)] for a, b in zip(low, high, strict=True)]),
    )
    found = [ORDER.index(said) for said in advice(crowd, table)["advice"]]
    assert found == sorted(found)


def test_guessers_have_one_advice() -> None:
    made = simulate(60, 3000, p=[0.1] * 20 + [0.5] * 40, per_task=20, seed=3)
    found = advice(cs.Adaptive().fit(made.labels()))
    said = found.filter(pl.col("worker").str.slice(1).cast(int) >= 20)["advice"]
    assert set(said) == {"drop"}


def test_a_false_alarm_does_not_demote() -> None:
    """Of 300 workers who err alike and do not change, none is coached for having got worse."""
    crowd = monitor(cs.Adaptive())
    crowd.learn_many(simulate(300, 20_000, p=0.1, per_task=4, seed=5).labels())
    assert "got_worse" not in set(advice(crowd)["reason"])


@pytest.mark.parametrize("mode", ["table", "stream"])
def test_many_classes_are_expected_to_be_as_wrong_as_they_are(mode: str) -> None:
    """Of 5,000 workers in 50 classes 40.9 % were said to be wrong where 1.3 % were."""
    made = simulate(150, 4_000, p=0.25, per_task=5, classes=50, seed=1)
    crowd = cs.Adaptive()
    decide = crowd.fit_predict if mode == "table" else crowd.stream_many
    decided = decide(made.labels()).tail(2_000)  # the later half: of a stream the first is learning
    both = decided.join(made.truths(), on="task", suffix="_true")
    true = (both["label"] != both["label_true"]).mean()
    expected = 1.0 - decided["confidence"].mean()
    assert 0.5 * true < expected < 2.0 * true


def test_without_gold_a_crowd_that_errs_together_has_a_range_and_no_number() -> None:
    made = simulate_dependent("difficulty", 12, 1500, classes=3, seed=2)
    crowd = cs.Adaptive()
    decided = crowd.fit_predict(made.labels())
    found = expected_wrong(Doubt.of(decided["confidence"].to_numpy()), crowd)
    both = decided.join(made.truths(), on="task", suffix="_true")
    assert found.basis == "joint"
    assert found.low <= (both["label"] != both["label_true"]).sum() <= found.high
    assert "–" in share_words(found, decided.height)
    assert "with joint errors as far as labels allow" in expected_words(found, decided.height)


def test_of_votes_alone_it_is_said_that_nothing_is_known() -> None:
    labels = simulate(5, 200, p=0.2, seed=1).labels()
    crowd = cs.MajorityVote()
    decided = crowd.fit_predict(labels)
    found = expected_wrong(Doubt.of(decided["confidence"].to_numpy()), crowd)
    assert (found.basis, found.low, found.high) == ("unknown", 0.0, 200.0)
    assert expected_words(found, 200).startswith("how many decisions are wrong is unknown")


@needs_data
def test_limits_hold_the_true_share_on_public_sets() -> None:
    from crowdstream_lab import datasets
    from crowdstream_lab.compare import dataset_error, ready

    held = []
    for name in ("bird", "dog", "rte", "temp", "weather", "web", "llm_media_bias", "music_genre"):
        data = ready(datasets.load(name))
        crowd = cs.Adaptive()
        decided = crowd.fit_predict(data.labels).drop_nulls("label")
        found = expected_wrong(Doubt.of(decided["confidence"].to_numpy()), crowd)
        wrong = dataset_error(decided, data) * decided.height
        held.append(found.low <= wrong <= found.high)
    assert sum(held) >= len(held) - 1, "one in twenty may miss"


@needs_data
@pytest.mark.parametrize("name", ["bird", "llm_media_bias", "llm_relevance"])
def test_a_panel_is_worth_at_most_what_is_said(name: str) -> None:
    """Without gold 5.2, 5.9 and 8.6 judges were said of panels worth 3.9, 1.6 and 4.9."""
    from crowdstream_lab import datasets
    from crowdstream_lab.compare import ready

    data = ready(datasets.load(name))
    crowd = cs.Adaptive().fit(data.labels)
    exact = cs.effective_judges(data.labels, data.gold).effective
    assert exact is not None
    assert label_worth(crowd, float(len(crowd.workers_))).high >= exact.value
    if name == "llm_media_bias":
        assert "at most" in cs.jury(data.labels).summary()


def test_of_tasks_that_fool_everybody_it_is_said_that_only_gold_shows_them(tmp_path: Path) -> None:
    """Of 30 % fooled tasks nothing was said, and 99 % of the decisions were settled."""
    made = simulate(12, 800, p=0.15, seed=4)
    rng = np.random.default_rng(0)
    fooled = rng.random(800) < 0.3
    truths = made.truths().with_columns(
        label=pl.when(pl.Series(fooled))
        .then(pl.col("label").replace({"0": "1", "1": "0"}))
        .otherwise(pl.col("label"))
    )
    labels, gold, out = (tmp_path / name for name in ("labels.csv", "gold.csv", "d.csv"))
    made.labels().write_csv(labels)
    truths.sample(60, seed=1).write_csv(gold)
    alone = call("run", labels, "-o", out)
    assert "only gold can show tasks that fool most of the crowd" in spaced(alone.err)
    told = call("run", labels, "--gold", gold, "--json", "-o", out).report["expected_errors"]
    assert told["basis"] == "gold"
    assert told["low"] < fooled.sum() < told["high"]
