"""`cs.agreement`: coefficients, pairs, notes and refusals, of tables of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import crowdstream as cs
from crowdstream.monitoring.coefficients import Coefficient, Coefficients
from crowdstream.panel import agreement as module
from crowdstream.statements.agreement import agreement_words, is_skewed

RATINGS: list[dict[str, Any]] = [
    {"task": t, "worker": w, "label": 1 + (t * 7 + (t % (3 + k) == 0) * k) % 5}
    for t in range(60)
    for k, w in enumerate(("ann", "bob", "cy"))
]


def said_by(worker: str) -> list[int]:
    return [row["label"] for row in RATINGS if row["worker"] == worker]


@pytest.mark.parametrize(
    ("scale", "weights"), [("nominal", None), ("ordinal", "linear"), ("interval", "quadratic")]
)
def test_pairs_have_cohens_kappa_with_the_weights_of_the_scale(
    scale: str, weights: str | None
) -> None:
    found = cs.agreement(RATINGS, scale=scale, as_classes=True)
    pairs: Any = found.pairs
    assert pairs.height == 3
    assert pairs["kappa"].is_sorted()
    for row in pairs.iter_rows(named=True):
        one, other = said_by(row["one"]), said_by(row["other"])
        wanted = cohen_kappa_score(one, other, weights=weights)
        assert row["kappa"] == pytest.approx(wanted, abs=1e-10)
        assert row["low"] < row["kappa"] < row["high"]
        assert row["tasks"] == 60
    same = np.mean(np.array(said_by("ann")) == np.array(said_by("bob")))
    if scale == "nominal":
        shown = pairs.filter(pl.col("one") == "ann", pl.col("other") == "bob")["agreement"]
        assert shown.item() == pytest.approx(same, abs=1e-12)


def test_the_most_active_workers_are_compared_where_there_is_room_for_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [(t, w, t % 2) for t in range(40) for w in range(8) if w < 3 or t < 30]
    monkeypatch.setattr(module, "CELLS", 18)  # of two classes three workers
    found = cs.agreement(rows)
    pairs: Any = found.pairs
    assert found.compared == 3
    assert set(pairs["one"]) | set(pairs["other"]) == {0, 1, 2}


def test_on_a_scale_that_was_declared_order_counts() -> None:
    assert cs.agreement(RATINGS, ordinal=True).coefficients.scale == "ordinal"
    assert cs.agreement(RATINGS).coefficients.scale == "nominal"
    words = [{**row, "label": "abcde"[int(row["label"]) - 1]} for row in RATINGS]
    by_words = cs.agreement(words, order=list("abcde"))
    by_numbers = cs.agreement(RATINGS, ordinal=True)
    assert by_words.coefficients == by_numbers.coefficients
    # A step of the scale that nobody names makes the others nearer to each other.
    longer = cs.agreement(words, order=list("abcdefg"))
    assert longer.alpha.value == pytest.approx(by_words.alpha.value, abs=1e-12)
    assert longer.raw.value > by_words.raw.value  # type: ignore[operator]


def test_pairs_come_back_in_the_kind_of_table_that_came() -> None:
    found = cs.agreement(pd.DataFrame(RATINGS))
    assert isinstance(found.pairs, pd.DataFrame)
    by_question = cs.agreement_by_question(
        pd.DataFrame([{**row, "question": q} for row in RATINGS for q in ("one", "two")])
    )
    assert list(by_question) == ["one", "two"]
    assert isinstance(by_question["one"].pairs, pd.DataFrame)
    assert by_question["one"].coefficients == found.coefficients


def test_questions_of_monitored_crowds_are_read_from_their_sums() -> None:
    rows = [{**row, "question": q} for row in RATINGS for q in ("one", "two")]
    crowds = {q: cs.monitor(cs.Adaptive()).fit(rows, question=q) for q in ("one", "two")}
    found = cs.agreement_by_question(cs.Questions(crowds))
    assert found["two"].coefficients == cs.agreement(RATINGS).coefficients
    assert found["two"].pairs is None


def test_several_questions_are_refused_by_name() -> None:
    rows = [{**row, "question": q} for row in RATINGS for q in ("one", "two")]
    with pytest.raises(cs.InputError, match="question=NAME"):
        cs.agreement(rows)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("t1", "ann", "x"), ("t2", "bob", "y")], "no task has two labels"),
        ([("t1", "ann", "x"), ("t1", "bob", "x"), ("t2", "bob", "x")], "all labels are of one"),
        ([(t, w, f"c{t}") for t in range(101) for w in "ab"], "101 classes"),
        ([], "no task has two labels"),
    ],
)
def test_what_is_not_defined_is_none_and_says_why(rows: Any, said: str) -> None:
    found = cs.agreement(rows, as_classes=True)
    assert found.alpha.value is None
    assert found.gwet.value is None
    assert any(said in note for note in found.notes)
    assert "not defined" in repr(found)
    assert found.table["value"].is_nan().sum() == 0


def test_perfect_agreement_has_an_interval_that_is_no_point() -> None:
    found = cs.agreement([(t, w, t % 2) for t in range(30) for w in "abc"])
    for one in (found.alpha, found.fleiss, found.gwet, found.raw):
        assert one.value == pytest.approx(1.0, abs=1e-12)
        assert one.low is not None
        assert one.high is not None
        assert 0.5 < one.low < 0.95  # 30 tasks: one in ten may be disputed
        assert one.high == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"scale": "ratio"}, "scale: expected 'nominal'"),
        ({"scale": "ordinal"}, "scale= ordinal: expected labels that are numbers"),
        ({"level": 95}, "level"),
        ({"least": 0}, "least"),
    ],
)
def test_mistakes_are_named(how: dict[str, Any], said: str) -> None:
    with pytest.raises(cs.InputError, match=said):
        cs.agreement([("t1", "ann", "cat"), ("t1", "bob", "dog")], **how)
    crowd = cs.monitor(cs.Adaptive()).fit([("t1", "ann", "cat"), ("t1", "bob", "dog")])
    with pytest.raises(cs.InputError, match=said):
        cs.agreement(crowd, **how)


def test_what_a_table_means_is_not_asked_of_an_estimator() -> None:
    crowd = cs.monitor(cs.Adaptive()).fit(RATINGS)
    with pytest.raises(cs.InputError, match="wide"):
        cs.agreement(crowd, wide=True)


def test_choices_are_compared_as_yes_and_no() -> None:
    rows = [
        {"task": t, "worker": w, "label": ["a", "b"] if t % 2 else ["a"]}
        for t in range(30)
        for w in "xyz"
    ]
    found = cs.agreement(rows, choices=True)
    assert found.alpha.value == pytest.approx(1.0, abs=1e-12)
    assert "yes or no" in found.notes[0]
    with pytest.raises(cs.InputError, match="sets of choices"):
        cs.agreement(rows, choices=True, scale="ordinal")


def test_a_jury_says_how_far_its_judges_agree() -> None:
    found = cs.jury(RATINGS)
    assert found.agreement == cs.agreement(RATINGS).coefficients
    assert agreement_words(found.agreement) in found.summary()


# What is said of data ------------------------------------------------------------------------


def skewed_share(common: float, crowds: int = 100) -> float:
    """Of how many crowds it is said that one class makes alpha low."""
    said = 0
    for seed in range(crowds):
        balance = [common, 1.0 - common]
        made = cs.simulate(5, 300, p=0.15, balance=balance, seed=seed)
        said += is_skewed(cs.agreement(made.labels()).coefficients)
    return said / crowds


def test_that_one_class_makes_alpha_low_is_said_only_where_it_does() -> None:
    assert skewed_share(0.5) == 0.0
    assert skewed_share(0.6) == 0.0
    assert skewed_share(0.97) == 1.0


def test_words_for_all_that_may_be_known() -> None:
    none = Coefficient(None)
    one = Coefficient(0.5, 0.4, 0.6)
    made = Coefficients(one, one, one, one, 10, 20, 0.5, "ordinal", 0.95)
    assert agreement_words(made).startswith("agreement: Krippendorff's ordinal alpha 0.50 (0.40")
    alike = Coefficients(none, none, none, one, 10, 20, 1.0, "nominal", 0.95)
    assert agreement_words(alike).endswith("all labels are of one class")
    assert agreement_words(None) == ""
    nothing = Coefficients(none, none, none, none, 0, 0, 0.0, "nominal", 0.95)
    assert agreement_words(nothing) == ""
