"""The baselines: right where the answer is known, sound on anything, and Table 2's MV and EM."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

import crowdstream as cs
from crowdstream.errors import InputError
from crowdstream.metrics import error_rate
from crowdstream.simulation import simulate
from crowdstream_lab.baselines import (
    DawidSkene,
    MajorityVote,
    OracleEstimator,
    OracleVote,
)
from crowdstream_lab.datasets import binary, load
from tests.lab.sound import check_sound
from tests.real import needs_data
from tests.simulated import ROWS

# Expected error rates (ties at ½) of majority vote and EM behind the paper's Table 2.
TABLE_2 = {
    "bird": (0.241, 0.102),
    "dog": (0.001, 0.000),
    "duchenne": (0.277, 0.277),
    "rte": (0.103, 0.073),
    "temp": (0.064, 0.058),
    "web": (0.143, 0.052),
}


def share_wrong(decisions: pl.DataFrame, truths: pl.DataFrame) -> float:
    scored = decisions.join(truths.select("task", truth="label"), on="task")
    return float((scored["label"] != scored["truth"]).mean())  # type: ignore[arg-type]


# Decisions ---------------------------------------------------------------------------------


def test_majority_vote_is_the_estimator() -> None:
    assert MajorityVote is cs.MajorityVote


@given(ROWS)
@settings(max_examples=100, deadline=None)
def test_any_rows_give_the_estimators_table_without_a_nan(
    rows: list[tuple[int, str, str | None]],
) -> None:
    like = MajorityVote().fit_predict(rows)
    truths = {t: "x" for t, _, _ in rows}
    rates = {"a": 0.0, "b": 0.3, "c": 0.5, "d": 1.0}
    for found in (
        OracleVote(rates).fit_predict(rows),
        OracleEstimator().fit_predict(rows, truths),
        DawidSkene().fit_predict(rows),
        DawidSkene(smoothing=0).fit_predict(rows),
    ):
        check_sound(found, like)


def test_a_tie_is_thrown_by_a_fair_coin_of_the_seed() -> None:
    rows = [(t, who, x) for t in range(1000) for who, x in (("ann", "x"), ("bob", "y"))]
    oracle = OracleVote({"ann": 0.2, "bob": 0.2})
    found = oracle.fit_predict(rows)
    assert found.equals(oracle.fit_predict(rows))
    assert not found.equals(OracleVote({"ann": 0.2, "bob": 0.2}, seed=1).fit_predict(rows))
    assert found["margin"].unique().to_list() == [0.0]
    # Four standard errors of a thousand tosses: 4·√(¼·1000) = 63.
    assert abs(found["label"].to_list().count("x") - 500) < 64
    gold = pl.DataFrame({"task": range(1000), "label": ["x"] * 1000})
    assert error_rate(found, gold) == 0.5


def test_an_expected_error_without_gold_is_refused() -> None:
    found = OracleVote({"ann": 0.2}).fit_predict([("t", "ann", "x")])
    with pytest.raises(InputError, match="truth of at least one decided task"):
        error_rate(found, pl.DataFrame({"task": ["u"], "label": ["x"]}))


# OracleVote --------------------------------------------------------------------------------


def test_an_oracles_confidence_is_the_posterior_by_bayes_rule() -> None:
    errors = {"ann": 0.1, "bob": 0.3, "cy": 0.6}
    said = list(itertools.product("xyz", repeat=3))
    rows = [
        (t, who, x) for t, answer in enumerate(said) for who, x in zip(errors, answer, strict=True)
    ]
    found = OracleVote(errors).fit_predict(rows)
    for answer, sure in zip(said, found["confidence"], strict=True):
        chance = {
            truth: np.prod(
                [
                    1 - p if x == truth else p / 2
                    for p, x in zip(errors.values(), answer, strict=True)
                ]
            )
            for truth in "xyz"
        }
        # Rounding of sums of logarithms.
        assert sure == pytest.approx(max(chance.values()) / sum(chance.values()), abs=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_an_oracle_errs_as_often_as_it_says_and_less_than_a_majority(classes: int) -> None:
    block = simulate(11, 5000, p=np.linspace(0.05, 0.6, 11), classes=classes, seed=3)
    found = OracleVote(block.error_rates).fit_predict(block.labels())
    wrong = share_wrong(found, block.truths())
    said = 1 - found["confidence"].mean()  # type: ignore[operator]
    # Four standard errors of an error rate below 4 % over 5,000 tasks: 4·√(0.04/5000) = 0.011.
    assert wrong == pytest.approx(said, abs=0.011)
    assert wrong < share_wrong(MajorityVote().fit_predict(block.labels()), block.truths())
    same = OracleVote(block.error_rates).fit_predict(block.columns())
    assert same["confidence"].to_list() == pytest.approx(found["confidence"].to_list(), abs=1e-12)


def test_two_who_never_err_and_disagree_are_a_tie() -> None:
    rows = [("t", "ann", "x"), ("t", "bob", "y"), ("u", "ann", "x"), ("u", "cy", "y")]
    found = OracleVote({"ann": 0.0, "bob": 0, "cy": 0.1}).fit_predict(rows)
    assert found["confidence"].to_list() == pytest.approx([0.5, 1.0], abs=1e-6)  # about `CERTAIN`
    assert found["margin"][0] == 0.0
    assert found["label"][1] == "x"


def test_who_always_errs_is_believed_the_contrary() -> None:
    rows = [("t", "ann", "x"), ("u", "ann", "y")]
    assert OracleVote({"ann": 1.0}).fit_predict(rows)["label"].to_list() == ["y", "x"]


def test_error_rates_must_be_known_for_all_and_be_rates() -> None:
    rows = [("t", "ann", "x"), ("t", "bob", "y")]
    with pytest.raises(InputError, match="one for every worker, found none for 'bob'"):
        OracleVote({"ann": 0.1}).fit_predict(rows)
    for bad in (1.2, -0.1, float("nan")):
        with pytest.raises(InputError, match="numbers from 0 to 1"):
            OracleVote({"ann": 0.1, "bob": bad}).fit_predict(rows)
    with pytest.raises(InputError, match="one error rate per worker"):
        OracleVote([[0.1, 0.2]]).fit_predict(rows)


# OracleEstimator ---------------------------------------------------------------------------


def test_the_oracles_rates_are_shares_of_answers_that_disagree_with_the_truth() -> None:
    rows = [
        ("t", "ann", "x"),
        ("u", "ann", "x"),
        ("v", "ann", "y"),
        ("t", "bob", "y"),
        ("v", "cy", "x"),
    ]
    truths = pl.DataFrame({"task": ["t", "u"], "label": ["x", "nobody said so"]})
    found = OracleEstimator().error_rates(rows, truths)
    assert found.rows() == [("ann", 2, 0.5), ("bob", 1, 1.0), ("cy", 0, None)]
    assert found.columns == ["worker", "answers", "error_rate"]


def test_who_was_never_judged_has_no_vote() -> None:
    rows = [("t", "ann", "x"), ("u", "ann", "x"), ("u", "bob", "y"), ("u", "cy", "y")]
    found = OracleEstimator().fit_predict(rows, {"t": "x"})
    assert found["label"].to_list() == ["x", "x"]


def test_truths_of_other_tasks_are_refused() -> None:
    with pytest.raises(InputError, match="at least one labelled task"):
        OracleEstimator().error_rates([("t", "ann", "x")], {"u": "x"})


def test_the_oracle_finds_the_true_rates_and_votes_as_well_as_with_them() -> None:
    p = np.linspace(0.1, 0.5, 9)
    block = simulate(9, 4000, p=p, answer_rate=0.7, seed=5)
    oracle = OracleEstimator()
    found = oracle.error_rates(block.labels(), block.truths()).sort("worker")
    # Four standard errors of a share of 2,800 answers: 4·√(¼/2800) = 0.038.
    assert found["error_rate"].to_list() == pytest.approx(p.tolist(), abs=0.038)
    wrong = share_wrong(oracle.fit_predict(block.labels(), block.truths()), block.truths())
    best = share_wrong(OracleVote(p).fit_predict(block.labels()), block.truths())
    # Rates so close change few decisions: half a point of 4,000 tasks is two standard errors.
    assert wrong == pytest.approx(best, abs=0.005)


# DawidSkene --------------------------------------------------------------------------------


def confused(tasks: int = 4000, seed: int = 7) -> tuple[pl.DataFrame, pl.DataFrame, np.ndarray]:
    """A crowd with biases: labels, truths, and the matrices behind them."""
    rng = np.random.default_rng(seed)
    tables = 0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), size=(12, 3))
    block = simulate(12, tasks, classes=3, balance=[0.6, 0.3, 0.1], confusions=tables, seed=seed)
    return block.labels(), block.truths(), tables


def test_em_finds_the_matrices_and_the_prior_behind_the_labels() -> None:
    labels, truths, tables = confused()
    crowd = DawidSkene()
    wrong = share_wrong(crowd.fit_predict(labels), truths)
    assert crowd.converged_
    order = np.argsort(crowd.classes_)
    workers = np.argsort(crowd.workers_)
    # Four standard errors of a share of the rarest class's 400 tasks: 4·√(¼/400) = 0.1.
    assert np.abs(crowd.confusions_[workers][:, order][:, :, order] - tables).max() < 0.1
    # And of the 4,000 tasks' classes: 4·√(0.24/4000) = 0.031.
    assert crowd.class_prior_[order].tolist() == pytest.approx([0.6, 0.3, 0.1], abs=0.031)
    assert wrong < share_wrong(MajorityVote().fit_predict(labels), truths)


@pytest.mark.parametrize("smoothing", [0.0, 0.01, 1.0])
def test_every_iteration_of_em_raises_the_likelihood(smoothing: float) -> None:
    labels, _, _ = confused(300)
    crowd = DawidSkene(smoothing=smoothing)
    crowd.fit_predict(labels)
    trace = np.array(crowd.log_likelihood_)
    assert trace.size > 5
    # Rounding of a sum of some thousand logarithms.
    assert np.diff(trace).min() > -1e-9 * np.abs(trace).max()


@given(ROWS)
@settings(max_examples=50, deadline=None)
def test_em_stays_finite_and_monotone_on_any_rows(rows: list[tuple[int, str, str | None]]) -> None:
    for smoothing in (0.0, 0.01):
        crowd = DawidSkene(smoothing=smoothing, max_iterations=50)
        crowd.fit_predict(rows)
        trace = np.array(crowd.log_likelihood_)
        assert np.isfinite(trace).all()
        assert np.diff(trace).min(initial=0) > -1e-9  # rounding
        assert crowd.class_prior_.sum() == pytest.approx(1)
        assert np.allclose(crowd.confusions_.sum(axis=2), 1)


def test_em_stops_when_told() -> None:
    labels, _, _ = confused(300)
    crowd = DawidSkene(max_iterations=3)
    crowd.fit_predict(labels)
    assert len(crowd.log_likelihood_) == 3
    assert not crowd.converged_


def test_the_order_of_rows_and_the_names_of_classes_do_not_matter() -> None:
    labels, _, _ = confused(300)
    found = DawidSkene().fit_predict(labels).sort("task")
    shuffled = labels.sample(fraction=1, shuffle=True, seed=1)
    renamed = shuffled.with_columns(pl.col("label").replace({"0": "2", "2": "0"}))
    again = DawidSkene().fit_predict(renamed).sort("task")
    back = again.with_columns(pl.col("label").replace({"0": "2", "2": "0"}))
    assert back["label"].equals(found["label"])
    # EM stops within its tolerance, here of posteriors.
    assert back["confidence"].to_list() == pytest.approx(found["confidence"].to_list(), abs=1e-6)


def test_bad_settings_are_refused() -> None:
    for name, value in (
        ("tolerance", -1),
        ("max_iterations", 0),
        ("smoothing", -0.1),
        ("seed", -1),
    ):
        with pytest.raises(InputError, match=name):
            DawidSkene(**{name: value})  # type: ignore[arg-type]
    for baseline in (OracleEstimator(), OracleVote({})):
        with pytest.raises(InputError, match="seed"):
            type(baseline)(**{**vars(baseline), "seed": "no"})
    with pytest.raises(InputError, match="settle"):
        DawidSkene().fit_predict([("t", "ann", "x")], settle=95)


# Table 2 -----------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("name", TABLE_2)
def test_table_2_is_what_majority_vote_and_em_err(name: str) -> None:
    data = binary(load(name))
    majority, em = TABLE_2[name]
    # Both are exact but for the digits the figures were rounded to.
    found = error_rate(MajorityVote().fit_predict(data.labels), data.gold)
    assert found == pytest.approx(majority, abs=0.0006)
    crowd = DawidSkene()
    # Where EM stops and how it is smoothed moves single tasks: one in 500 here.
    assert error_rate(crowd.fit_predict(data.labels), data.gold) == pytest.approx(em, abs=0.002)
    assert crowd.converged_


@needs_data
def test_on_duchenne_it_does_not_matter_which_of_the_repeats_is_kept() -> None:
    data = load("duchenne")
    for labels in (data.labels, data.labels.reverse()):  # the last, and the first, of each pair
        for crowd in (MajorityVote(), DawidSkene()):
            # 44 of 159 images; the digits the figure was rounded to.
            assert error_rate(crowd.fit_predict(labels), data.gold) == pytest.approx(
                0.277, abs=0.0005
            )
