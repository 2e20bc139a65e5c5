"""AB: the paper equation by equation, and what goes beyond it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream import parallel
from crowdstream.errors import AnswerRateInDoubt, InputError
from tests.simulated import Crowd, error_rates

Floats = NDArray[np.float64]


# The paper -------------------------------------------------------------------------------------


def paper_error_rates(x: Floats, alpha: float, beta: float = 0.0) -> Floats | None:
    """Section 3 of the paper on a matrix of X(t), a row a task, by bisection; None: no solution."""
    t, n = x.shape
    rates = np.zeros(n)
    for s in range(t):
        total, answered = x[s].sum(), np.abs(x[s]).sum()
        agreeing = (x[s] * total + np.abs(x[s]) * (answered - 2)) / (2 * (n - 1) * alpha**2)
        share = beta if beta else 1 / (s + 1)
        rates = (1 - share) * rates + share * agreeing
    slack = 4 * (n - 1) / n**2 * (2 * rates - 1)
    v0 = max(slack.max(), 0.0)

    def f(v: float) -> float:
        return float((np.sqrt(np.maximum(v - slack, 0)).sum() / (n - 2)) ** 2)

    if f(v0) > v0:
        return None
    low, high = v0, v0 + 4.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) <= middle else (low, middle)
    return 0.5 + n / 4 * (np.sqrt(np.maximum(low - slack, 0)) - np.sqrt(low))


@pytest.mark.parametrize("beta", [0.0, 0.05])
@pytest.mark.parametrize("alpha", [1.0, 0.4])
def test_with_a_known_answer_rate_it_is_the_papers_estimate(alpha: float, beta: float) -> None:
    rng = np.random.default_rng(3)
    solved = 0
    for _ in range(30):  # many crowds; test_fixed_point_stream has every task of some
        n, t = int(rng.integers(3, 12)), int(rng.integers(5, 100))
        p = np.where(np.arange(n) < n / 2, 0.1, 0.5)
        truth = rng.choice([-1.0, 1.0], (t, 1))
        x = np.where(rng.random((t, n)) < p, -truth, truth) * (rng.random((t, n)) < alpha)
        memory = 1 / beta if beta else None
        crowd = cs.AgreementBased(answer_rate=alpha, memory=memory, shrinkage=0, clip=0)
        for row in x:
            crowd.learn_one({i: None if v == 0 else int(v) for i, v in enumerate(row)})
        wanted = paper_error_rates(x, alpha, beta)
        assert (wanted is not None) == bool(crowd.identifiable_)
        if wanted is None:
            assert "no solution" in crowd.identifiable_.reason
            assert crowd.workers()["error_rate"].null_count() == n
        else:
            solved += 1
            # √δ near 0 halves the digits of a bisection in double precision.
            assert np.allclose(error_rates(crowd), np.clip(wanted, 0, 1), atol=1e-7)
    assert solved > 7  # of 30 crowds in four settings: 11 or more


def test_without_a_solution_the_paper_falls_back_to_majority() -> None:
    crowd = cs.AgreementBased(answer_rate=1.0, shrinkage=0)
    for _ in range(20):
        crowd.learn_one({"a": 1, "b": 0, "c": 1})
        crowd.learn_one({"a": 1, "b": 1, "c": 0})
        crowd.learn_one({"a": 0, "b": 1, "c": 0})
    assert not crowd.identifiable_
    assert crowd.predict_one({"a": 1, "b": 0, "c": 0}) == 0
    assert crowd.predict_proba_one({"a": 1, "b": 0, "c": 0}) == pytest.approx({1: 0.4, 0: 0.6})


def test_equal_independent_rates_give_the_papers_estimate_without_knowing_them() -> None:
    # α unknown estimates the same numbers; the answers each labeller gave stand in for α t.
    crowd = Crowd(np.linspace(0.2, 0.9, 12), tasks=40_000, seed=2)
    rng = np.random.default_rng(0)
    table = crowd.table().filter(pl.Series(rng.random(480_000) < 0.6))
    known = cs.AgreementBased(answer_rate=0.6, shrinkage=0, clip=0)
    unknown = cs.AgreementBased(shrinkage=0, clip=0)
    known.learn_many(table)
    unknown.learn_many(table)
    # The paper's divides by α t, ours by the answers given, which differ by √(0.4/(0.6 t)).
    assert np.abs(error_rates(known) - error_rates(unknown)).max() < 0.01


def test_an_answer_rate_that_does_not_fit_the_labels_is_doubted() -> None:
    rng = np.random.default_rng(0)
    truth, here = rng.integers(2, size=2000), rng.random((2000, 6)) < 0.2
    told = [{i: int(truth[t]) for i in range(6) if here[t, i]} for t in range(2000)]
    rows = [(t, i, x) for t, answers in enumerate(told) for i, x in answers.items()]
    crowd = cs.AgreementBased(answer_rate=0.2)
    # A file of labels does not tell of the tasks that nobody answered, 0.8⁶ of them.
    with pytest.warns(AnswerRateInDoubt, match="were tasks that nobody answered left out"):
        crowd.fit_predict(rows)
    whole = cs.AgreementBased(answer_rate=0.2)
    for answers in told:
        whole.learn_one(answers)
    assert whole.tasks_ == 2000
    assert whole._model.doubts() == []
    whole.predict_many(rows)  # and a warning would be an error here


# Beyond ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_error_rates_are_found_for_any_number_of_classes(classes: int) -> None:
    reliability = np.linspace(0.1, 0.9, 15)
    crowd = Crowd(reliability, tasks=30_000, per_task=5, classes=classes, seed=classes)
    found = cs.AgreementBased(shrinkage=0, clip=0)
    found.learn_many(crowd.table())
    wanted = (1 - reliability) * (classes - 1) / classes
    # 10,000 answers each: four standard errors of an error rate seen through four others.
    assert np.abs(error_rates(found) - wanted).max() < 0.03


def test_a_fixed_number_of_labels_per_task_is_no_bias() -> None:
    # Five of twelve answer each task: without κ every reliability would be 9 % too small.
    reliability = np.full(12, 0.6)
    crowd = Crowd(reliability, tasks=60_000, per_task=5)
    found = cs.AgreementBased(shrinkage=0, clip=0)
    found.learn_many(crowd.table())
    mean = 1 - 2 * error_rates(found).mean()
    assert mean == pytest.approx(0.6, abs=0.006)  # 300,000 labels: three standard errors


def test_unequal_answer_rates_are_no_bias() -> None:
    reliability = np.linspace(0.9, 0.2, 10)
    crowd = Crowd(reliability, tasks=60_000, seed=1)
    rng = np.random.default_rng(0)
    rate = np.linspace(0.2, 1.0, 10)
    table = crowd.table().filter(pl.Series(rng.random(600_000) < np.tile(rate, 60_000)))
    found = cs.AgreementBased(shrinkage=0, clip=0)
    found.learn_many(table)
    assert np.abs(error_rates(found) - (1 - reliability) / 2).max() < 0.02


def test_a_labeller_with_most_of_the_signal_is_weighed_where_the_paper_gives_up() -> None:
    theta = np.array([0.9, 0.3, 0.2])
    found = cs.AgreementBased(shrinkage=0, clip=0)
    found.learn_many(Crowd(theta, tasks=5000, seed=4).table())
    assert np.abs(error_rates(found) - (1 - theta) / 2).max() < 0.06


def test_forgetting_follows_labellers_who_change() -> None:
    before, after = np.r_[np.full(5, 0.9), np.zeros(5)], np.r_[np.zeros(5), np.full(5, 0.9)]
    found = cs.AgreementBased(memory=100)
    found.learn_many(Crowd(before, tasks=3000).table())
    assert error_rates(found)[:5].max() < 0.2
    found.learn_many(Crowd(after, tasks=1000, seed=1).table())
    assert error_rates(found)[5:].max() < 0.2
    assert error_rates(found)[:5].min() > 0.3
    # Σ (1 − β)^s = 1/β = 100 tasks, each answered.
    assert found.workers()["answers"].to_numpy() == pytest.approx(np.full(10, 100.0), rel=1e-3)


def test_forgetting_is_a_weighted_sum_of_the_tasks() -> None:
    beta, crowd = 0.1, Crowd(np.linspace(0.2, 0.9, 6), tasks=500, seed=5)
    found = cs.AgreementBased(memory=1 / beta)
    agreed, met = np.zeros(6), np.zeros(6)
    for answers, labels in zip(crowd.answers(), crowd.labels, strict=True):
        found.learn_one(answers)
        agreed = agreed * (1 - beta) + (labels[:, None] == labels).sum(axis=1) - 1
        met = met * (1 - beta) + 5
    # 500 tasks at β = 0.1 span (1 − β)^500 = 1e-23.
    assert found.workers()["agreement"].to_numpy() == pytest.approx(agreed / met, rel=1e-9)


def test_long_streams_with_strong_forgetting_stay_finite() -> None:
    # exp(−λ t) leaves the range of doubles every 6,700 tasks at β = 0.1: the sums are brought back
    # to present units before. After 50,000 tasks nothing differs from the last 2,000 alone.
    table = Crowd(np.linspace(0.2, 0.9, 6), tasks=2000, seed=6).table()
    long, short = cs.AgreementBased(memory=10), cs.AgreementBased(memory=10)
    for _ in range(24):
        long.learn_many(table)
    assert long.stream_many(table)["confidence"].is_finite().all()
    short.learn_many(table)
    assert long.tasks_ == 50_000
    assert np.allclose(error_rates(long), error_rates(short), atol=1e-9)


def test_a_labeller_who_left_long_ago_is_as_good_as_new() -> None:
    found = cs.AgreementBased(memory=10)
    found.learn_one({"gone": "x", "w0": "x"})
    rows = Crowd(np.full(5, 0.8), tasks=20_000).table()
    found.learn_many(rows)
    table = found.workers().filter(pl.col("worker") == "gone")
    assert table["answers"].item() == 0.0
    told: dict[str | int, int] = {"gone": 1, 0: 0, 1: 0}
    assert found.predict_one(told) == 0


def test_few_answers_are_shrunk_to_the_crowds_mean() -> None:
    found = cs.AgreementBased()
    found.learn_many(Crowd(np.linspace(0.3, 0.9, 10), tasks=2000).table())
    mean = found.workers()["error_rate"].mean()
    for t in range(3):
        told: dict[str | int, int] = {0: 0, 1: 0, "new": 0 if t else 1}
        found.learn_one(told)
    new = found.workers().filter(pl.col("worker") == "new")
    assert new["error_rate"].item() == pytest.approx(mean, abs=0.08)
    assert new["flags"].to_list() == [["few_answers"]]


def test_labellers_who_do_not_differ_weigh_the_same() -> None:
    # Equal reliabilities: weights that differ could only lose against majority.
    found = cs.AgreementBased()
    found.learn_many(Crowd(np.full(200, 0.4), tasks=5000, per_task=3).table())
    weights = found.workers()["weight"].to_numpy()
    assert weights.std() < 0.1 * weights.mean()


def test_error_rates_are_clipped() -> None:
    crowd = Crowd(np.array([1.0, 1.0, 1.0, 1.0, -0.9]), tasks=400)
    for clip in (0.05, 0.2):
        found = cs.AgreementBased(clip=clip, shrinkage=0)
        found.learn_many(crowd.table())
        assert error_rates(found).min() == clip
        assert error_rates(found).max() == pytest.approx(1 - max(clip, 0.05), abs=0.03)
    bare = cs.AgreementBased(clip=0, shrinkage=0)
    bare.learn_many(crowd.table())
    assert np.isfinite(bare.workers()["weight"].to_numpy()).all()


def test_gold_sharpens_what_agreement_tells() -> None:
    crowd, without = cs.AgreementBased(), cs.AgreementBased()
    rng = np.random.default_rng(0)
    for t in range(300):
        truth = int(rng.integers(2))
        answers = {who: truth if rng.random() < 0.7 else 1 - truth for who in "abcd"}
        answers["sharp"] = truth
        crowd.learn_one(answers, gold=truth if t % 10 == 0 else None)
        without.learn_one(answers)
    rates = [dict(x.workers().select("worker", "error_rate").rows()) for x in (crowd, without)]
    assert rates[0]["sharp"] <= rates[1]["sharp"] + 0.02
    assert abs(rates[0]["a"] - 0.3) < 0.12


# What cannot be known --------------------------------------------------------------------------


def test_two_labellers_are_not_identifiable() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_many(Crowd(np.array([0.9, 0.5]), tasks=200).table())
    assert crowd.identifiable_ == (False, "fewer than three workers share tasks")
    assert crowd.workers()["error_rate"].null_count() == 2
    assert crowd.workers()["weight"].to_list() == [1.0, 1.0]


def test_labellers_who_never_meet_are_not_identifiable() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_many([(t, t % 5, t % 2) for t in range(100)])
    assert crowd.identifiable_.reason == "no two workers share a task"


def test_one_class_is_not_identifiable() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_many([(t, w, "yes") for t in range(50) for w in range(5)])
    assert crowd.identifiable_.reason == "only one class was ever seen"
    assert crowd.predict_proba_one({1: "yes"}) == {"yes": 1.0}


def test_groups_that_share_no_task_are_not_one_crowd() -> None:
    table = Crowd(np.full(5, 0.8), tasks=300).table()
    other = table.with_columns(pl.col("task") + 1000, pl.col("worker") + 10)
    crowd = cs.AgreementBased()
    crowd.learn_many(pl.concat([table, other]))
    assert "share no task" in crowd.identifiable_.reason
    assert crowd.workers()["error_rate"].null_count() == 10
    crowd.learn_one({0: 1, 10: 1})
    assert crowd.identifiable_, "one common task links them"


def test_a_few_strangers_do_not_stop_the_crowd_and_get_its_mean() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_many(Crowd(np.linspace(0.2, 0.9, 8), tasks=500).table())
    for t in range(20):
        crowd.learn_one({"far": t % 2, "away": t % 2})
    assert crowd.identifiable_
    strangers = crowd.workers().filter(pl.col("worker").is_in(["far", "away"]))
    assert strangers["error_rate"].null_count() == 2
    assert strangers["flags"].to_list() == [["separate_group"]] * 2
    assert strangers["weight"].n_unique() == 1
    assert strangers["weight"][0] > 0


def test_guessers_are_not_identifiable() -> None:
    said = 0
    for seed in range(20):
        crowd = cs.AgreementBased()
        crowd.learn_many(Crowd(np.zeros(10), tasks=500, seed=seed).table())
        said += not crowd.identifiable_
    assert said >= 18  # three standard errors: one guess in a thousand, with some slack


def test_a_judge_who_always_says_the_same_does_not_take_over() -> None:
    crowd = Crowd(np.r_[np.full(6, 0.7)], tasks=2000, seed=8)
    rows = crowd.table().rows() + [(t, "yes-man", 1) for t in range(2000)]
    found = cs.AgreementBased()
    decided = found.fit_predict(rows)
    table = found.workers()
    assert table.filter(pl.col("worker") == "yes-man")["error_rate"].item() > 0.4
    assert crowd.errors(decided).mean() < 0.1


# Never worse than majority ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reliability", "tasks", "per_task"),
    [
        (np.full(5, 0.5), 300, None),
        (np.full(20, 0.4), 500, 3),
        (np.full(200, 0.4), 1000, 3),
        (np.linspace(0, 1, 10), 300, None),
        (np.r_[np.full(5, 0.8), np.zeros(5)], 50, None),
        (np.linspace(-0.2, 0.4, 200), 1000, 5),
        (np.linspace(-0.2, 1.0, 1000), 1000, 5),
        (np.r_[np.full(60, 0.6), np.full(40, -0.6)], 1000, 5),
    ],
    ids=lambda value: f"{value.size} workers" if isinstance(value, np.ndarray) else str(value),
)
def test_a_stream_is_never_decided_worse_than_by_majority(
    reliability: Floats, tasks: int, per_task: int | None
) -> None:
    worse = []
    for seed in range(8):
        crowd = Crowd(reliability, tasks, per_task, seed=seed)
        ours = crowd.errors(cs.AgreementBased(seed=seed).stream_many(crowd.table()))
        majority = crowd.errors(cs.MajorityVote(seed=seed).stream_many(crowd.table()))
        worse.append(ours.mean() - majority.mean())
    mean, error = np.mean(worse), np.std(worse) / np.sqrt(8)
    assert mean <= max(3 * error, 1e-9)  # noise: three standard errors


@pytest.mark.parametrize("kind", ["uniform", "alike", "hammers"])
def test_a_cold_start_is_never_decided_worse_than_by_majority(kind: str) -> None:
    n = 3000  # one or two answers each: a stream reads all workers for every task
    rng = np.random.default_rng(0)
    reliability = {
        "uniform": rng.uniform(0, 1, n),
        "alike": np.full(n, 0.6),
        "hammers": np.where(rng.random(n) < 0.5, 1.0, 0.0),
    }[kind]
    crowd = Crowd(reliability, tasks=1000, per_task=5, seed=1)
    ours = crowd.errors(cs.AgreementBased().stream_many(crowd.table()))
    majority = crowd.errors(cs.MajorityVote().stream_many(crowd.table()))
    # Decided on the same labels: only the tasks on which they differ are noise.
    differ = (ours != majority).sum()
    assert ours.sum() - majority.sum() <= 3 * np.sqrt(differ)


@pytest.mark.parametrize("bad", [0, -0.1, 1.5, "x", True, float("nan")])
def test_arguments_out_of_range_are_refused(bad: object) -> None:
    with pytest.raises(InputError, match="answer_rate: expected a number above 0, at most 1"):
        cs.AgreementBased(answer_rate=bad)  # type: ignore[arg-type]


def test_other_arguments_are_checked_too() -> None:
    for wrong in (
        {"memory": 1.0},
        {"shrinkage": -1},
        {"clip": 0.6},
        {"ties": "heads"},
        {"seed": -1},
    ):
        with pytest.raises(InputError, match=next(iter(wrong))):
            cs.AgreementBased(**wrong)


@pytest.mark.parametrize("kind", [cs.AgreementBased, cs.MajorityVote, cs.Adaptive])
def test_parts_learnt_side_by_side_add_up_to_one_pass(
    kind: type[cs.AgreementBased | cs.MajorityVote | cs.Adaptive], monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = Crowd(np.linspace(0.1, 0.9, 12), 400, per_task=5, seed=3).table()
    one, many = kind(), kind()
    for crowd, large in ((one, 10**9), (many, 10)):
        monkeypatch.setattr(parallel, "LARGE", large)
        monkeypatch.setenv("CROWDSTREAM_THREADS", "3")
        crowd.learn_many(labels[:100])
        crowd.learn_many(labels[100:])
    assert (one.tasks_, one.intake_) == (many.tasks_, many.intake_)
    assert one.to_bytes() == many.to_bytes()
    assert one.workers().equals(many.workers())
    assert one.predict_many(labels).equals(many.predict_many(labels))
