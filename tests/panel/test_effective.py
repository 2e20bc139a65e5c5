"""Errors that judges share, against known truths: correlations, effective number, their cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.panel.joint_errors import effective_number, majority_accuracy
from tests.panel.panels import Truths, Votes, shared_pull


def panel_of(wrong: np.ndarray[Any, Any]) -> tuple[Votes, Truths]:
    """Judges who err exactly here: one row per item, one column per judge."""
    votes: Votes = {
        f"q{t}": {f"j{k}": "no" if bad else "yes" for k, bad in enumerate(row)}
        for t, row in enumerate(wrong.tolist())
    }
    return votes, dict.fromkeys(votes, "yes")


def common_errors(judges: int, items: int, rho: float, seed: int) -> tuple[Votes, Truths]:
    """Judges who err with probability 0.3 each, every two errors correlated by ``rho``.

    With probability √ρ a judge takes over a coin that all share, so ρ is that of two who both do.
    """
    rng = np.random.default_rng(seed)
    shared = rng.random((items, 1)) < 0.3
    own = rng.random((items, judges)) < 0.3
    return panel_of(np.where(rng.random((items, judges)) < rho**0.5, shared, own))


def test_the_correlation_is_that_of_being_wrong() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random((50, 3)) < 0.4
    votes, gold = panel_of(wrong)
    table = cs.error_correlation(votes, gold)
    assert table["worker"].to_list() == ["j0", "j1", "j2"]
    expected = np.corrcoef(wrong.T.astype(float))
    assert table.drop("worker").to_numpy() == pytest.approx(expected, abs=1e-12)


def test_only_items_that_both_judged_count() -> None:
    wrong = np.random.default_rng(1).random((60, 2)) < 0.4
    votes, gold = panel_of(wrong)
    for t in range(20):
        votes[f"q{t}"]["j0"] = None
    found = cs.error_correlation(votes, gold)["j0"][1]
    assert found == pytest.approx(np.corrcoef(wrong[20:].T.astype(float))[0, 1])


def test_a_known_correlation_gives_kishs_number() -> None:
    votes, gold = common_errors(6, 3000, 0.42, seed=2)
    found = cs.effective_judges(votes, gold)
    assert found.correlation is not None
    assert found.effective is not None
    assert found.correlation.value == pytest.approx(0.42, abs=0.04), "two standard errors"
    assert found.effective.value == pytest.approx(6 / (1 + 5 * found.correlation.value))
    assert found.effective.value == pytest.approx(1.9, abs=0.15)


def test_the_interval_covers_about_as_often_as_it_says() -> None:
    low = high = 0
    truth = 5 / (1 + 4 * 0.25)
    for seed in range(25):
        votes, gold = common_errors(5, 150, 0.25, seed=100 + seed)
        found = cs.effective_judges(votes, gold, seed=seed).effective
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        low, high = low + (found.low > truth), high + (found.high < truth)
    assert low + high <= 4, "25 trials at 0.95 miss 1.25 on average, more than 4 once in 140 times"


def test_weights_make_it_the_weighted_form() -> None:
    votes, gold = common_errors(4, 800, 0.3, seed=3)
    equal = cs.effective_judges(votes, gold)
    same = cs.effective_judges(votes, gold, weights={f"j{k}": 2.5 for k in range(4)})
    assert same.effective == equal.effective
    alone = cs.effective_judges(votes, gold, weights={"j0": 1.0, "j1": 0.0, "j2": 0.0, "j3": 0.0})
    assert alone.effective is None, "one judge has nobody to err together with"
    assert effective_number(0.3, np.array([1.0, 1.0, 0.0])) == pytest.approx(2 / 1.3)


def test_judges_who_never_err_are_named_and_leave_no_nan() -> None:
    wrong = np.random.default_rng(4).random((100, 4)) < 0.3
    wrong[:, 3] = False
    votes, gold = panel_of(wrong)
    table = cs.error_correlation(votes, gold)
    assert table["j3"].to_list() == [None, None, None, 1.0]
    found = cs.effective_judges(votes, gold)
    assert found.effective is not None
    assert any("j3" in note and "never erred" in note for note in found.notes)
    assert "nan" not in repr(found).lower()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (np.zeros((20, 3), bool), "never erred"),
        (np.ones((20, 3), bool), "always erred"),
        (np.random.default_rng(0).random((20, 1)) < 0.3, "one judge alone"),
        (np.eye(30, 2, dtype=bool), "mostly chance"),
        (np.eye(3, 2, dtype=bool), "fewer than 20 tasks"),
    ],
)
def test_what_cannot_be_told_is_said(wrong: np.ndarray[Any, Any], words: str) -> None:
    found = cs.effective_judges(*panel_of(wrong))
    assert any(words in note for note in found.notes), found.notes
    assert "nan" not in repr(found).lower()
    floats = found.without.select(pl.selectors.float())
    assert not any(column.drop_nulls().is_nan().any() for column in floats)


def test_joint_errors_are_what_the_vote_loses() -> None:
    votes, gold = common_errors(7, 2000, 0.4, seed=5)
    found = cs.effective_judges(votes, gold)
    # Seven independent judges of error rate 0.3 are jointly wrong on 12.6 % (binomial).
    assert found.accuracy_if_independent == pytest.approx(0.874, abs=0.015)
    assert found.accuracy < found.accuracy_if_independent - 0.08
    apart, truths = common_errors(7, 2000, 0.0, seed=6)
    found = cs.effective_judges(apart, truths)
    assert found.accuracy == pytest.approx(found.accuracy_if_independent, abs=0.02)


def test_dropping_the_weakest_judge_can_make_a_panel_worse() -> None:
    """Three copies of one good judge, and a weaker one who errs elsewhere."""
    rng = np.random.default_rng(7)
    good = rng.random((1500, 1)) < 0.2
    near = np.where(rng.random((1500, 3)) < 0.9, good, rng.random((1500, 3)) < 0.2)
    weak = rng.random((1500, 2)) < np.array([0.3, 0.33])
    found = cs.effective_judges(*panel_of(np.hstack([near, weak])))
    worst = found.without.row(0, named=True)
    assert worst["worker"] == "j4", "sorted by error rate, the worst first"
    assert found.effective is not None
    assert found.correlation is not None
    assert worst["correlation_without"] > found.correlation.value
    assert worst["effective_without"] < found.effective.value


def test_a_vote_counts_ties_in_expectation() -> None:
    said = np.array([[0, 1], [0, 0], [1, 1], [-1, -1]], np.int32)
    assert majority_accuracy(said, np.zeros(4, np.int32), 2) == pytest.approx(1.5 / 3)


@pytest.mark.parametrize(
    ("gold", "weights", "words"),
    [
        ({}, None, "gold: expected the true labels"),
        ({"other": "yes"}, None, "gold: expected true labels of items that were judged"),
        (None, None, "gold: expected the true labels"),
        ("here", {"judge-0": 1.0}, "weights: expected a weight for every judge"),
        ("here", {f"judge-{k}": -1.0 for k in range(7)}, "weights: expected numbers"),
        ("here", [1.0], "weights: expected a mapping"),
    ],
)
def test_mistakes_are_said(gold: Any, weights: Any, words: str) -> None:
    votes, truths = shared_pull(items=10)
    with pytest.raises(cs.InputError, match=words):
        cs.effective_judges(votes, truths if gold == "here" else gold, weights=weights)
