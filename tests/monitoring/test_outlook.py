"""What is to be expected of an open task, against futures that are played out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import crowdstream as cs
from crowdstream.decisions.decision import SettleRule
from crowdstream.labels.open_task import OpenTask
from crowdstream.monitoring.difficulty import GRID, PRIOR, strengths_in
from crowdstream.monitoring.outlook import outlook
from crowdstream.stopping import settling

ONLY_ONE = np.isclose(GRID, 1.0).astype(float)
"""Strengths of a crowd whose tasks are all alike."""


def played(
    classes: int, accuracy: float, goal: float, rho: float, most: int, runs: int = 4000
) -> tuple[float, float]:
    """How often a new task settles and how many labels come, for equal workers' weighted votes."""
    rng = np.random.default_rng(0)
    step = math.log(accuracy * (classes - 1) / (1 - accuracy))
    scores, taken = np.zeros((runs, classes)), np.full(runs, most)
    going = np.ones(runs, bool)
    for m in range(1, most + 1):
        said = np.where(rng.random(runs) < accuracy, 0, rng.integers(1, classes, runs))
        scores[np.arange(runs), said] += step
        odds = np.exp((scores - scores.max(axis=1, keepdims=True)) / (1 + (m - 1) * rho))
        now = going & (1 / odds.sum(axis=1) >= goal - 1e-9) & (m >= 2)
        taken[now] = m
        going &= ~now
    return float(1 - going.mean()), float(taken.mean())


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("classes", [2, 4])
def test_a_new_task_goes_on_as_played_out(
    classes: int, rho: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crowdstream.models.scorer import Scorer
    from crowdstream.monitoring import estimator_view as view

    crowd = cs.Adaptive().fit(cs.simulate(9, 200, p=0.3, classes=classes, seed=1).labels())
    scores = np.zeros((1, classes))
    scorer = Scorer(lambda batch, out: None, True, rho)
    monkeypatch.setattr(view, "score_task", lambda crowd, task: (scorer, scores))
    monkeypatch.setattr(view, "mean_accuracy", lambda crowd: 0.65)
    found = outlook(crowd, None, SettleRule(0.9, 2), 12, ONLY_ONE)
    chance, labels = played(classes, 0.65, 0.9, rho, 12)
    # Exact for two classes, but for 4,000 runs (0.8 % of a chance); with more, the other classes
    # count as rivals that stay as near as they are: a fifth is allowed.
    assert found.chance == pytest.approx(chance, abs=0.02 if classes == 2 else 0.1)
    assert found.labels == pytest.approx(labels, rel=0.02 if classes == 2 else 0.2)


def test_votes_that_are_only_counted_settle_by_the_rule_of_succession() -> None:
    stream = cs.Stream(cs.MajorityVote(), settle=0.9, max_labels=30)
    for i in range(8):
        assert stream.observe("t", i, 1).closed is None
        # (m + 1)/(m + 2) is 0.9 at the earliest with eight labels more than none.
        assert stream.more_labels_needed("t") >= 8 - i - 1
    assert stream.observe("t", 8, 1).closed == "settled" or stream.decision("t").confidence < 0.9


def test_disagreement_makes_a_task_look_hard() -> None:
    crowd = cs.Adaptive().fit(cs.simulate(20, 400, p=0.2, seed=2).labels())
    chances = []
    for labels in ("1110111", "1101011", "1010101"):
        stream = cs.Stream(crowd.copy(), settle=0.9999, max_labels=14)
        for i, label in enumerate(labels):
            stream.observe("t", f"w{i}", label)
        chances.append(stream.chance_to_settle("t"))
    assert chances[0] > chances[1] > chances[2]


def test_strengths_are_those_of_the_tasks_learnt() -> None:
    assert strengths_in(cs.Adaptive()) == pytest.approx(PRIOR / PRIOR.sum())
    rng = np.random.default_rng(0)
    shares = []
    for coins in (0.0, 0.5):
        rows = []
        for t in range(400):
            rate = 0.5 if rng.random() < coins else 0.2
            rows += [(t, i, int(t % 2) ^ int(rng.random() < rate)) for i in range(20)]
        found = strengths_in(cs.Adaptive().fit(rows))
        assert found.sum() == pytest.approx(1.0)
        shares.append(found[GRID < 0.5].sum())
    # Skills are those of an average task, so that coins and bad luck look alike: of half coins most
    # are seen in twenty labels (fewer in fewer), and of none none.
    assert shares[0] < 0.02
    assert 0.25 < shares[1] < 0.6


def test_an_unreachable_goal_is_never_reached() -> None:
    crowd = cs.Adaptive().fit(cs.simulate(9, 200, p=0.3, seed=3).labels())
    task = OpenTask("t", 0)
    for rule in (SettleRule(1.0), SettleRule(None)):
        assert outlook(crowd, task, rule, 10, ONLY_ONE) == (0.0, 10.0, math.inf)
    assert outlook(crowd, task, SettleRule(0.9), 0, ONLY_ONE).chance == 0.0


def test_a_walk_that_cannot_miss_is_counted_exactly() -> None:
    one = np.ones(1)
    assert settling(0 * one, one, one, 0 * one, np.full(5, 3.0)) == (1.0, 3.0, 3.0)
    chance, taken, settled = settling(0 * one, one, 0.5 * one, 0.5 * one, np.full(2, 2.0))
    assert (chance, taken, settled) == pytest.approx((0.5, 2.0, 2.0))
    # A goal that recedes by a step a label is never reached.
    assert settling(0 * one, one, one, 0 * one, np.arange(2.0, 12.0))[0] == 0.0
