"""Centred agreement: the closed form, what it recovers, and where it counts heads instead."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from crowdstream.checks import check_estimator, crowd_of, rows_of
from crowdstream.errors import InputError, NotIdentifiable
from crowdstream.estimators import AgreementBased, Estimator, MajorityVote
from crowdstream.estimators.centred_agreement import CentredAgreement
from crowdstream.estimators.centred_kernels import CLIP, HABIT, INFORMED, SHRINKAGE
from crowdstream.science.simulate import Simulated, jump, simulate

Floats = NDArray[np.float64]


def two_class(sens: Floats, spec: Floats) -> Floats:
    """Confusions, a row a truth, of labellers with these chances to say 1 to a 1 and 0 to a 0."""
    return np.stack([np.stack([spec, 1 - spec], 1), np.stack([1 - sens, sens], 1)], 1)


def know_or_guess(psi: Floats, habits: Floats) -> Floats:
    """Confusions of labellers who know with probability ψ and else follow their habit."""
    k = habits.shape[1]
    known = psi[:, None, None] * np.eye(k)
    return np.asarray(known + (1 - psi)[:, None, None] * habits[:, None, :])


def one_block(n: int, tasks: int, **how: object) -> Simulated:
    return next(simulate(n, tasks, block=tasks, **how))  # type: ignore[arg-type]


def error(table: pl.DataFrame, block: Simulated) -> float:
    joined = table.join(block.truths(), on="task", suffix="_true")
    return float((joined["label"] != joined["label_true"]).mean())  # type: ignore[arg-type]


def by_label(crowd: CentredAgreement, column: str, label: str) -> Floats:
    """A column of the recalls for one class, by worker."""
    return crowd.recalls().filter(label=label).sort("worker")[column].to_numpy()


# The contract --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        CentredAgreement(),
        CentredAgreement(ties="lowest", seed=5),
        CentredAgreement(memory=50),
        CentredAgreement(memory=1.11111),
    ],
    ids=repr,
)
def test_keeps_the_contract(estimator: Estimator) -> None:
    check_estimator(estimator)


def test_a_long_stream_decides_to_the_bit_as_task_by_task() -> None:
    # Longer than the contract's: past 100 tasks not every task finds the weights anew.
    tasks = crowd_of(tasks=400, classes=3)
    one, many = CentredAgreement(), CentredAgreement()
    said = []
    for told in tasks:
        said.append(one.vote_one(told)[:3])
        one.learn_one(told)
    found = many.stream_many(rows_of(tasks))
    assert found.select("label", "confidence", "margin").rows() == said
    assert one.to_bytes() == many.to_bytes()


def test_weights_up_to_one_per_cent_old_decide_nearly_as_fresh_ones() -> None:
    tasks = crowd_of(tasks=399, classes=3)
    crowd = CentredAgreement()
    for told in tasks:
        crowd.learn_one(told)
    fresh = crowd.predict_many(rows_of(tasks))
    lazy = [crowd.vote_one(told).confidence for told in tasks]
    # At most four tasks of 399 are not in the weights: a per cent of anything.
    assert np.abs(fresh["confidence"].to_numpy() - lazy).max() < 0.02


# The closed form -----------------------------------------------------------------------------


def direct(x: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Sensitivity, specificity, ψ and b, label pair by label pair, for X(t) of ±1 and 0.

    In the notation of two classes: μ_i the mean label, products (x_i − μ_i)(x_j − μ̄).
    """
    tasks, n = x.shape
    answers = np.abs(x).sum(0)
    plus = ((x == 1).sum() + 1) / (answers.sum() + 2)
    crowd = 2 * plus - 1
    mu = (x.sum(0) + HABIT * crowd) / (answers + HABIT)
    r, met = np.zeros(n), np.zeros(n)
    for row in x:
        for i in np.flatnonzero(row):
            for j in np.flatnonzero(row):
                if i != j:
                    r[i] += (row[i] - mu[i]) * (row[j] - crowd)
                    met[i] += 1
    r /= 2  # as with a coordinate a class
    low, high = 0.0, 1 / r.max()
    assert np.sum(1 - np.sqrt(np.maximum(1 - high * r, 0))) > 2
    for _ in range(200):
        u = (low + high) / 2
        low, high = (u, high) if np.sum(1 - np.sqrt(1 - u * r)) < 2 else (low, u)
    shares = 1 - np.sqrt(1 - low * r)
    theta = shares * np.sqrt((met.sum() ** 2 - (met**2).sum()) / (low * met.sum())) / met
    mean = (answers * theta).sum() / answers.sum()
    shrunk = (answers * theta + SHRINKAGE * mean) / (answers + SHRINKAGE)
    weight = answers * np.maximum(shrunk, 0) ** 2
    part = (weight * (1 + mu) / 2).sum() / weight.sum()
    b = 2 * (tasks * part + 1) / (tasks + 2) - 1
    root = np.sqrt((1 - b**2) / 2)  # √(1 − Σ π²)
    centre = (tasks * min(mean / root, 1) + SHRINKAGE * INFORMED) / (tasks + SHRINKAGE)
    psi = (answers * theta / root + SHRINKAGE * centre) / (answers + SHRINKAGE)
    sens = (1 + mu + psi * (1 - b)) / 2
    spec = (1 - mu + psi * (1 + b)) / 2
    return sens.clip(CLIP, 1 - CLIP), spec.clip(CLIP, 1 - CLIP), psi, b


@pytest.mark.parametrize("answer_rate", [1.0, 0.6])
def test_the_counts_give_what_all_pairs_of_labels_give(answer_rate: float) -> None:
    sens, spec = np.array([0.9, 0.8, 0.6, 0.7, 0.55]), np.array([0.7, 0.9, 0.8, 0.6, 0.7])
    block = one_block(
        5,
        150,
        confusions=two_class(sens, spec),
        balance=[0.6, 0.4],
        answer_rate=answer_rate,
        seed=2,
    )
    said = block.matrix()
    said = said[(said >= 0).any(axis=1)]  # a task without an answer is none
    want_sens, want_spec, psi, b = direct(np.where(said < 0, 0.0, 2.0 * said - 1))
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    # Two ways to compute the same numbers: rounding and the solver's 1e-12 only.
    np.testing.assert_allclose(by_label(crowd, "recall", "1"), want_sens, atol=1e-9)
    np.testing.assert_allclose(by_label(crowd, "recall", "0"), want_spec, atol=1e-9)
    np.testing.assert_allclose(by_label(crowd, "informedness", "1"), psi, atol=1e-9)
    assert crowd.balance_["1"] == pytest.approx((1 + b) / 2, abs=1e-9)


def test_a_decision_is_the_posterior_of_its_sensitivities_specificities_and_balance() -> None:
    block = one_block(6, 400, p=[0.1, 0.2, 0.3, 0.3, 0.4, 0.45], balance=[0.7, 0.3], seed=1)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    told = {"w0": "1", "w3": "0", "w5": "0"}
    odds = crowd.balance_["1"] / crowd.balance_["0"]
    for who, label in told.items():
        row = crowd.recalls().filter(worker=who, label=label).row(0, named=True)
        ratio = row["recall"] / row["false_alarms"]
        odds *= ratio if label == "1" else 1 / ratio
    # The same product, as logarithms.
    assert crowd.predict_proba_one(told)["1"] == pytest.approx(odds / (1 + odds), abs=1e-12)


def test_the_state_is_of_size_n_times_k() -> None:
    crowd = CentredAgreement()
    crowd.learn_many(rows_of(crowd_of(n=200, tasks=50, classes=5)))
    # Five counts or weights a labeller and class, three a labeller, eight bytes each; names.
    assert len(crowd.to_bytes()) < 200 * (5 * 5 * 8 + 3 * 8 + 10) + 1000


# What it recovers ----------------------------------------------------------------------------


def test_recovers_sensitivity_and_specificity() -> None:
    rng = np.random.default_rng(0)
    sens, spec = rng.uniform(0.5, 0.95, 20), rng.uniform(0.5, 0.95, 20)
    block = one_block(
        20, 20_000, confusions=two_class(sens, spec), balance=[0.65, 0.35], answer_rate=0.5, seed=3
    )
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    # 10,000 answers a labeller: standard errors near 0.01; the balance, found from labels that
    # habits bend, is off by a few hundredths, and the rest with it by as much times ψ.
    assert abs(crowd.balance_["1"] - 0.35) < 0.08
    informed = by_label(crowd, "informedness", "1")
    assert np.abs(informed - (sens + spec - 1)).max() < 0.05
    assert np.abs(by_label(crowd, "recall", "1") - sens).max() < 0.07
    assert np.abs(by_label(crowd, "recall", "0") - spec).max() < 0.07


@pytest.mark.parametrize("per_task", [None, 6])
def test_recovers_informedness_among_four_classes(per_task: int | None) -> None:
    rng = np.random.default_rng(1)
    psi = np.linspace(0.1, 0.8, 15)
    habits = rng.dirichlet(np.full(4, 2.0), 15)
    block = one_block(
        15,
        20_000,
        classes=4,
        confusions=know_or_guess(psi, habits),
        balance=[0.4, 0.3, 0.2, 0.1],
        per_task=per_task,
        seed=4,
    )
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    # At six labels a task 8,000 answers: standard errors near 0.015 and 15 chances for the worst.
    assert np.abs(by_label(crowd, "informedness", "0") - psi).max() < 0.05


def test_tasks_of_unequal_size_do_not_mislead_it() -> None:
    # Half of the labellers work in pairs and half in sixes, some in both: who works on small
    # tasks meets fewer others for an answer, and is no worse for it.
    rng = np.random.default_rng(5)
    psi = np.tile([0.3, 0.8], 8)
    rows = []
    for task in range(20_000):
        truth = int(rng.integers(2))
        few = task % 2
        team = rng.choice(np.arange(10) if few else np.arange(6, 16), 2 if few else 6, False)
        for i in team:
            knows = rng.random() < psi[i]
            rows.append((task, f"w{i:02}", truth if knows else int(rng.integers(2))))
    crowd = CentredAgreement()
    crowd.learn_many(rows)
    found = crowd.recalls().filter(label=1).sort("worker")["informedness"].to_numpy()
    # 2,000 answers beside one other: standard errors near 0.05, ten chances for the worst.
    assert np.abs(found - psi).max() < 0.2


def test_who_always_says_the_same_weighs_nothing() -> None:
    sens, spec = np.full(6, 0.75), np.full(6, 0.8)
    sens[5], spec[5] = 1.0, 0.0
    block = one_block(6, 3000, confusions=two_class(sens, spec), balance=[0.3, 0.7], seed=5)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    weights = crowd.workers().sort("worker")["weight"].to_numpy()
    # What is left of the prior after 3,000 answers: 10/3,010 of the mean informedness.
    assert abs(weights[5]) < 0.02
    assert weights[:5].min() > 1.0  # log(0.75/0.2) or log(0.8/0.25), about 1.2
    # AB, with one error rate each, takes agreement with the larger class for knowledge.
    plain = AgreementBased()
    plain.learn_many(block.labels())
    assert plain.workers().sort("worker")["weight"][5] > 0.5


def test_who_is_always_wrong_is_believed_in_reverse_between_two_classes() -> None:
    sens = np.array([0.9, 0.9, 0.85, 0.85, 0.8, 0.1])
    block = one_block(6, 3000, confusions=two_class(sens, sens), seed=6)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    # ψ = −0.8; standard errors near 0.02.
    assert by_label(crowd, "informedness", "1")[5] == pytest.approx(-0.8, abs=0.06)
    assert crowd.predict_one({"w5": "0"}) == "1"


def test_labels_given_by_habit_count_for_less() -> None:
    # Half lean to 0 and half to 1: what tells them apart is not how often they err.
    lean = np.array([0.99, 0.5] * 3)
    confusions = two_class(lean, lean[::-1])
    block = one_block(6, 4000, confusions=confusions, balance=[0.75, 0.25], seed=7)
    crowd = CentredAgreement()
    found = error(crowd.fit_predict(block.labels()), block)
    plain = error(AgreementBased().fit_predict(block.labels()), block)
    # Who knows the confusions errs on 0.040, AB on 0.132; standard errors of 0.003 and 0.005.
    assert found < 0.06
    assert plain > 0.1


def test_where_all_lean_alike_so_does_the_balance() -> None:
    # A limit to know of: nothing in the counts tells a lean that all share from rare ones.
    sens, spec = np.full(5, 0.5), np.full(5, 0.98)
    block = one_block(5, 4000, confusions=two_class(sens, spec), seed=7)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    # They say 1 on 0.26 of the tasks, and 0.5 are; the standard error is 0.005.
    assert crowd.balance_["1"] == pytest.approx(0.26, abs=0.02)
    # ψ √(1 − b²) is what is found: ψ = 0.48 seems larger by √(0.25/(0.26·0.74)) = 1.14.
    assert by_label(crowd, "informedness", "1").mean() == pytest.approx(0.48 * 1.14, abs=0.03)


# Where heads are counted ---------------------------------------------------------------------


def test_two_labellers_are_counted() -> None:
    crowd = CentredAgreement()
    for _ in range(50):
        crowd.learn_one({"ann": "a", "bob": "a"})
        crowd.learn_one({"ann": "b", "bob": "b"})
    assert crowd.identifiable_.reason == "fewer than three labellers share tasks"
    # The rule of succession: (2 + 1)/(2 + 2).
    assert crowd.predict_proba_one({"ann": "a", "bob": "a"})["a"] == pytest.approx(0.75)


def test_one_class_only_is_counted() -> None:
    crowd = CentredAgreement()
    for _ in range(50):
        crowd.learn_one({"ann": "a", "bob": "a", "cy": "a"}, gold="a")  # nor does gold help
    assert crowd.identifiable_ == (False, "only one class was ever seen")
    assert crowd.workers()["error_rate"].null_count() == 3
    vote = crowd.vote_one({"ann": "a"})
    assert vote.label == "a"
    assert 0.5 < vote.confidence < 1


def test_guessers_are_counted_and_said_to_be() -> None:
    block = one_block(8, 2000, p=0.5, balance=[0.5, 0.5], seed=8)
    crowd = CentredAgreement()
    with pytest.warns(NotIdentifiable, match="no more than their habits explain"):
        found = crowd.fit_predict(block.labels())
    counted = MajorityVote().fit_predict(block.labels())
    assert found.equals(counted)


def test_habits_that_agree_are_not_knowledge() -> None:
    # All say 1 nine times in ten, whatever is true: they agree on 82 % of the pairs.
    guess = two_class(np.full(8, 0.9), np.full(8, 0.1))
    block = one_block(8, 3000, confusions=guess, seed=9)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    assert "habits" in crowd.identifiable_.reason
    plain = AgreementBased()
    plain.learn_many(block.labels())
    assert plain.identifiable_  # AB takes it for knowledge


def test_groups_without_a_common_task_are_counted() -> None:
    crowd = CentredAgreement()
    for told in crowd_of(tasks=80, classes=2):
        crowd.learn_one(told)
        crowd.learn_one({f"other {who}": label for who, label in told.items()})
    assert crowd.identifiable_.reason == "the labellers fall into groups that share no task"


# Gold, forgetting, merging -------------------------------------------------------------------


def test_known_truths_tell_two_labellers_apart() -> None:
    rng = np.random.default_rng(10)
    crowd = CentredAgreement()
    for truth in rng.integers(2, size=200):
        good = int(truth if rng.random() < 0.9 else 1 - truth)
        crowd.learn_one({"good": good, "guesser": int(rng.integers(2))}, gold=int(truth))
    assert crowd.identifiable_ == (True, "only by the truths that were given")
    found = crowd.recalls().filter(label=1)
    psi = dict(found.select("worker", "informedness").iter_rows())
    # 200 truths: standard errors of 0.04 and 0.07, and the prior of 10 answers at 0.4.
    assert psi["good"] == pytest.approx(0.8, abs=0.12)
    assert psi["guesser"] == pytest.approx(0.0, abs=0.2)
    assert crowd.predict_one({"good": 1, "guesser": 0}) == 1


def test_known_truths_bring_the_informedness_closer() -> None:
    sens, spec = np.linspace(0.6, 0.9, 7), np.linspace(0.9, 0.6, 7)
    far = {}
    for gold in (False, True):
        gaps = []
        for seed in range(10):
            block = one_block(7, 150, confusions=two_class(sens, spec), per_task=3, seed=seed)
            crowd = CentredAgreement()
            names = np.array([f"w{i}" for i in range(7)])
            for t, truth in enumerate(block.truth):
                mine = block.tasks == t
                told = dict(zip(names[block.workers[mine]], block.said[mine], strict=True))
                crowd.learn_one(told, gold=int(truth) if gold else None)
            psi = crowd.recalls().filter(label=1).sort("worker")["informedness"]
            if psi.null_count() == 0:
                gaps.append(np.abs(psi.to_numpy() - (sens + spec - 1)).mean())
        far[gold] = float(np.mean(gaps))
    # 64 answers each: a truth is worth several agreements with two others.
    assert far[True] < 0.8 * far[False]


def test_forgetting_follows_a_jump() -> None:
    before, after = np.array([0.1] * 3 + [0.45] * 5), np.array([0.45] * 3 + [0.1] * 5)
    block = one_block(8, 2000, p=before, drift=jump(1000, after), per_task=5, seed=11)
    late = [str(t) for t in range(1200, 2000)]
    wrong = {}
    for beta in (0.0, 0.01):
        crowd = CentredAgreement(forgetting=beta)
        found = crowd.stream_many(block.labels()).filter(pl.col("task").is_in(late))
        wrong[beta] = error(found, block)
        if beta:
            psi = by_label(crowd, "informedness", "1")
            # About 60 remembered answers each: standard errors near 0.15 on a gap of 0.7.
            assert psi[3:].mean() > psi[:3].mean() + 0.3
    assert wrong[0.01] < wrong[0.0]


def test_merged_parts_are_one_pass_to_the_bit() -> None:
    tasks = crowd_of(n=12, tasks=300, classes=4)
    whole, left, right = CentredAgreement(), CentredAgreement(), CentredAgreement()
    whole.learn_many(rows_of(tasks))
    left.learn_many(rows_of(tasks[150:]))
    right.learn_many(rows_of(tasks[:150]))
    left += right
    assert left.order_free
    assert left.workers().sort("worker").equals(whole.workers().sort("worker"))
    by = ["worker", "label"]
    assert left.recalls().sort(by).equals(whole.recalls().sort(by))


def test_an_answer_that_was_not_given_cannot_be_taken_back() -> None:
    crowd = CentredAgreement()
    crowd.learn_one({"ann": "a", "bob": "b"})
    with pytest.raises(InputError, match="an answer that was learnt"):
        crowd.unlearn_one({"ann": "b"})


def test_labellers_who_only_skip_are_in_the_tables() -> None:
    crowd = CentredAgreement()
    crowd.learn_many([(1, "ann", None), (2, "bob", "a"), (2, "cy", "b"), (3, "di", None)])
    assert crowd.workers()["answers"].to_list() == [0, 1, 1, 0]
    assert crowd.recalls().height == 8


def test_a_class_never_met_can_be_voted_for() -> None:
    crowd = CentredAgreement()
    crowd.learn_many(rows_of(crowd_of(tasks=200, classes=2)))
    found = crowd.predict_proba_one({"w4": "new", "w5": "new", "w6": "new"})
    assert set(found) == {"c0", "c1", "new"}
    assert found["new"] > 0.5
    assert crowd.predict_one({"w4": "new", "w5": "new", "w6": "new"}) == "new"
