"""From scores to a winner: posterior, margin, ties, classes nobody named."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.estimators.votes import Ties, choose, class_keys, toss


def chosen(
    scores: dict[int, float], known: int, *, coin: int = 0, fair: bool = False
) -> tuple[int, float, float]:
    """`choose` for classes with these scores among ``known`` classes."""
    room = max([known, *(c + 1 for c in scores)])
    table, votes = np.zeros(room), np.zeros(room, np.int64)
    for c, score in scores.items():
        table[c], votes[c] = score, 1
    keys = np.arange(room, dtype=np.uint64)
    voted = np.array(list(scores) + [0] * room, np.int64)
    found: tuple[int, float, float] = choose(
        table,
        votes,
        voted,
        len(scores),
        known,
        len(scores),
        keys,
        fair,
        np.uint64(toss(np.uint64(coin), 0)),
    )
    return found


@given(st.dictionaries(st.integers(0, 5), st.floats(-30, 30), min_size=1), st.integers(0, 6))
def test_confidence_and_margin_are_those_of_the_softmax(
    scores: dict[int, float], known: int
) -> None:
    candidates = {**dict.fromkeys(range(known), 0.0), **scores}
    odds = {c: math.exp(s) for c, s in candidates.items()}
    unnamed = 1.0 if len(odds) < 2 else 0.0  # a second class is allowed for
    posterior = {c: x / (sum(odds.values()) + unnamed) for c, x in odds.items()}
    winner, confidence, margin = chosen(scores, known)
    ranked = sorted(posterior.values(), reverse=True)
    assert posterior[winner] == pytest.approx(ranked[0], abs=1e-7)
    if unnamed:
        ranked.append(1 - ranked[0])
    assert confidence == pytest.approx(ranked[0], abs=1e-12)
    assert margin == pytest.approx(ranked[0] - ranked[1], abs=1e-7)  # near ties count as ties


def test_a_class_nobody_named_wins_against_votes_that_speak_against_theirs() -> None:
    assert chosen({0: -2.0}, known=2)[0] == 1
    assert chosen({0: -2.0, 1: -1.0}, known=2)[0] == 1
    assert chosen({0: -2.0}, known=0)[0] == 0, "with no other class known it stays"


def test_a_tie_goes_to_the_lowest_key_or_to_a_fair_coin() -> None:
    winner, confidence, margin = chosen({2: 1.0, 1: 1.0, 0: 0.5}, known=3)
    assert (winner, margin) == (1, 0.0)
    assert confidence == pytest.approx(1 / (2 + math.exp(-0.5)))
    thrown = [chosen({0: 1.0, 1: 1.0, 2: 1.0}, 3, coin=s, fair=True)[0] for s in range(3000)]
    # Three sides, 3,000 throws: 1,000 each give or take five standard deviations of 26.
    assert all(abs(thrown.count(side) - 1000) < 130 for side in range(3))


def test_rounding_is_no_victory() -> None:
    assert chosen({0: 0.1 + 0.2, 1: 0.3}, known=2)[2] == 0.0


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
