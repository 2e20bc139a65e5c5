"""From scores to a winner: posterior, margin, ties, classes nobody named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.decisions.decision import Votes
from crowdstream.decisions.ties import Ties, class_keys
from crowdstream.decisions.votes import TieRule, choose
from crowdstream.labels.batch import LabelBatch


def chosen(
    scores: list[float], *, task: int = 0, ties: Ties = "lowest", named: int | None = None
) -> tuple[int, float, float]:
    """`choose` for one task whose classes have these scores, ``named`` of them known."""
    batch = LabelBatch(
        np.array([0, 1], np.int64), np.zeros(1, np.int32), np.zeros(1, np.int32), tasks=[task]
    )
    room = Votes(np.empty(1, np.int32), np.empty(1), np.empty(1), True)
    keys = np.arange(len(scores), dtype=np.uint64)
    known = len(scores) if named is None else named
    choose(batch, np.array([scores]), room, known, TieRule(keys, ties == "coin", 0), 0.0)
    return int(room.winners[0]), float(room.confidences[0]), float(room.margins[0])


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=6))
def test_confidence_and_margin_are_those_of_the_softmax(scores: list[float]) -> None:
    odds = [math.exp(score) for score in scores]
    posterior = [x / sum(odds) for x in odds]
    winner, confidence, margin = chosen(scores)
    ranked = sorted(posterior, reverse=True)
    assert posterior[winner] == pytest.approx(ranked[0], abs=1e-7)
    assert confidence == pytest.approx(ranked[0], abs=1e-7)  # near ties count as ties
    assert margin == pytest.approx(ranked[0] - ranked[1], abs=1e-7)


def test_while_one_class_was_named_another_is_allowed_for() -> None:
    winner, confidence, margin = chosen([2.0, 0.0], named=1)
    assert winner == 0
    assert confidence == pytest.approx(1 / (1 + math.exp(-2)))
    assert margin == pytest.approx(2 * confidence - 1)
    assert chosen([-2.0, 0.0], named=1)[0] == 0, "with no other class known it stays"


def test_a_tie_goes_to_the_lowest_key_or_to_a_fair_coin() -> None:
    winner, confidence, margin = chosen([0.5, 1.0, 1.0])
    assert (winner, margin) == (1, 0.0)
    assert confidence == pytest.approx(1 / (2 + math.exp(-0.5)))
    thrown = [chosen([1.0, 1.0, 1.0], task=t, ties="coin")[0] for t in range(3000)]
    # Three sides, 3,000 throws: 1,000 each give or take five standard deviations of 26.
    assert all(abs(thrown.count(side) - 1000) < 130 for side in range(3))


def test_the_coin_belongs_to_the_tasks_name() -> None:
    said = {"ann": "x", "bob": "y"}
    crowd = cs.MajorityVote()
    alone = {task: crowd.predict_one(said, task=task) for task in range(50)}
    assert len(set(alone.values())) == 2
    rows = [(task, who, said[who]) for task in reversed(range(50)) for who in said]
    assert dict(crowd.fit_predict(rows).select("task", "label").iter_rows()) == alone
    stream = cs.Stream(cs.MajorityVote(), settle=None)
    stream.observe_many(rows)
    assert {decision.task: decision.label for decision in stream.end()} == alone


def test_rounding_is_no_victory() -> None:
    assert chosen([0.1 + 0.2, 0.3])[2] == 0.0


def test_keys_do_not_depend_on_the_order_of_arrival() -> None:
    words: list[cs.ClassLabel] = ["b", 10, True, "a", 9, False]
    modes: tuple[Ties, Ties] = ("coin", "lowest")
    for ties in modes:
        forth = dict(zip(map(repr, words), class_keys(words, ties), strict=True))
        back = dict(zip(map(repr, words[::-1]), class_keys(words[::-1], ties), strict=True))
        assert forth == back
    ranks = class_keys(words, "lowest").tolist()
    assert [words[k] for k in np.argsort(ranks)] == [False, True, 9, 10, "a", "b"]


def test_the_coin_is_fair_over_a_stream_and_repeats_itself() -> None:
    rows: list[tuple[int, str, str]] = []
    for t in range(2000):
        rows += [(t, "ann", "x"), (t, "bob", "y")]
    first = cs.MajorityVote(seed=1).fit_predict(rows)
    assert first.equals(cs.MajorityVote(seed=1).fit_predict(rows))
    assert not first.equals(cs.MajorityVote(seed=2).fit_predict(rows))
    # 2,000 throws: 1,000 give or take five standard deviations of 22.
    assert abs(first["label"].to_list().count("x") - 1000) < 110
    assert (first["margin"] == 0).all()
    ruled = cs.MajorityVote(ties="lowest").fit_predict(rows)
    assert (ruled["label"] == "x").all()


def test_answers_without_a_tasks_name_have_a_coin_of_their_own() -> None:
    crowd = cs.MajorityVote()
    tied = [{f"w{t}": "x", f"w{t + k}": "y"} for t in range(200) for k in (1, -1)]
    found = [crowd.predict_one(answers) for answers in tied]
    assert abs(found.count("x") - 200) < 40  # four standard errors of a fair coin
    turned = [dict(reversed(answers.items())) for answers in tied]
    assert [crowd.predict_one(answers) for answers in turned] == found
    assert [cs.MajorityVote(seed=1).predict_one(answers) for answers in tied] != found
    assert {cs.MajorityVote(ties="lowest").predict_one(answers) for answers in tied} == {"x"}


def test_swapping_two_answers_is_another_toss() -> None:
    # Hashes that are linear in the bits would give both the same coin.
    crowd = cs.MajorityVote()
    pairs = [
        (crowd.predict_one({f"a{t}": 0, f"b{t}": 1}), crowd.predict_one({f"a{t}": 1, f"b{t}": 0}))
        for t in range(400)
    ]
    assert abs(sum(one == other for one, other in pairs) - 200) < 40  # four standard errors


def test_the_coin_of_answers_is_that_of_very_many_classes_too() -> None:
    crowd = cs.MajorityVote()
    crowd.learn_many([(t, "w", f"c{t}") for t in range(200)], as_classes=True)
    found = [crowd.predict_one({f"w{t}": "c1", "other": "c2"}) for t in range(400)]
    assert abs(found.count("c1") - 200) < 40  # four standard errors
