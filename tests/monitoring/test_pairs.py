"""Pairs of workers, what their votes are worth together, and whether they can be told apart."""

from __future__ import annotations

import numpy as np
import pytest

from crowdstream.errors import InputError
from crowdstream.estimators import Adaptive, AgreementBased
from crowdstream.monitoring import difficulty, effective_votes, identifiability, monitor
from crowdstream.monitoring import pairs as pairs_of
from tests.monitoring.crowds import crowd_of, monitored


def test_a_copier_is_found_and_stands_first() -> None:
    crowd = monitored(crowd_of(8, 1000, p=0.3, copying={1: (0, 0.97)}, seed=0))
    first = pairs_of(crowd).row(0, named=True)
    assert (first["one"], first["other"], first["duplicate"]) == ("w0", "w1", True)
    assert first["tasks"] == 1000
    assert first["rho"] > 0.7
    assert pairs_of(crowd)["duplicate"].sum() == 1


def test_copies_are_worth_fewer_votes() -> None:
    copying = dict.fromkeys(range(1, 6), (0, 0.95))
    honest = monitored(crowd_of(10, 1000, p=0.25, seed=2))
    copies = monitored(crowd_of(10, 1000, p=0.25, copying=copying, seed=2))
    assert 8 < effective_votes(honest, 10) <= 10
    assert effective_votes(copies, 10) < 6
    assert effective_votes(copies, 1) == 1


@pytest.mark.parametrize("votes", [0, -1, float("nan"), "three"])
def test_votes_that_are_none_are_refused(votes: float) -> None:
    with pytest.raises(InputError, match="votes"):
        effective_votes(monitored(crowd_of(4, 50, p=0.2)), votes)


def test_in_order_only_the_first_two_labels_are_compared() -> None:
    crowd = monitor(AgreementBased())
    for _ in range(30):
        batch = crowd._meet([("a", 1), ("b", 1), ("c", 0)], None)
        crowd._model.learn(batch)
        crowd._notify(batch, 1, in_order=True)
    assert pairs_of(crowd).select("one", "other").rows() == [("a", "b")]


def test_hard_tasks_are_harder() -> None:
    rng = np.random.default_rng(3)
    errors = np.where(np.arange(600) < 500, 0.1, 0.45)[:, None] * np.ones(8)
    said = (np.arange(600) % 2)[:, None] ^ (rng.random((600, 8)) < errors)
    rows = [(t, w, int(said[t, w])) for t in range(600) for w in range(8)]
    found = difficulty(Adaptive().fit(rows), rows)
    assert found.columns == ["task", "difficulty"]
    easy, hard = found["difficulty"][:500].mean(), found["difficulty"][500:].mean()
    assert hard > easy + 0.1  # type: ignore[operator]
    assert found["difficulty"].is_between(0, 0.5).all()


def test_difficulty_takes_strangers_and_new_classes() -> None:
    crowd = Adaptive().fit(crowd_of(5, 100, p=0.2).labels())
    found = difficulty(crowd, [("t", "w0", "0"), ("t", "stranger", "new")])
    assert found["task"].to_list() == ["t"]
    assert 0 <= found["difficulty"].item() <= 1


def test_groups_that_share_no_task_are_reported() -> None:
    crowd = monitor(Adaptive())
    for k in range(50):
        crowd.learn_one({"ann": k % 2, "bob": k % 2, "cy": k % 2})
        crowd.learn_one({"di": k % 2, "ed": k % 2})
    report = identifiability(crowd)
    assert [(group.workers, group.answers) for group in report.groups] == [(3, 150), (2, 100)]
    assert report.pairs == 4
    assert report.single_pairs == 0


def test_guessers_are_at_chance_and_knowers_are_not() -> None:
    guess = Adaptive().fit(crowd_of(6, 500, p=0.5, seed=1).labels())
    know = Adaptive().fit(crowd_of(6, 500, p=0.2, seed=1).labels())
    assert identifiability(guess).at_chance
    report = identifiability(know)
    assert not report.at_chance
    assert report.mean_skill == pytest.approx(0.6, abs=0.1)
    assert report.sign == "most workers are taken to be better than chance"
    for crowd in (guess, know):  # the report and the estimator go by the same evidence
        agree = crowd.identifiable_.reason == "workers are not shown to agree more than by chance"
        assert identifiability(crowd).at_chance == agree
    assert report.dependence.verdict == "cannot_tell", "7,500 pairs of labels are too few"


def test_workers_who_err_together_are_reported() -> None:
    rng = np.random.default_rng(5)
    hard = np.where(rng.random(800) < 0.3, 0.5, 0.05)[:, None] * np.ones(10)
    said = rng.integers(2, size=800)[:, None] ^ (rng.random((800, 10)) < hard)
    crowd = Adaptive().fit([(t, w, int(said[t, w])) for t in range(800) for w in range(10)])
    report = identifiability(crowd)
    assert report.dependence == crowd.dependence_
    assert report.dependence.verdict == "together"
    assert identifiability(AgreementBased()).dependence.verdict == "not_measured"


def test_gold_tells_the_crowd_from_its_mirror_image() -> None:
    block = crowd_of(5, 100, p=0.2)
    crowd = Adaptive()
    crowd.learn_many(block.labels(), gold=block.truths().head(30))
    assert identifiability(crowd).sign.startswith("150 answers")


def test_nothing_is_known_of_nobody() -> None:
    report = identifiability(Adaptive())
    assert not report.ok
    assert report.groups == []
    assert report.pairs is None
