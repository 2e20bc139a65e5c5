"""Centred agreement: the closed form, what it recovers, where it falls back to majority vote."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from polars.testing import assert_frame_equal

from crowdstream.checks import crowd_of, rows_of, same_sums
from crowdstream.errors import InputError, NotIdentifiable
from crowdstream.estimators import AgreementBased, CentredAgreement, MajorityVote
from crowdstream.simulation import Simulated, jump, simulate

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
    return simulate(n, tasks, **how)  # type: ignore[arg-type]


def error(table: pl.DataFrame, block: Simulated) -> float:
    joined = table.join(block.truths(), on="task", suffix="_true")
    return float((joined["label"] != joined["label_true"]).mean())  # type: ignore[arg-type]


def skills(crowd: CentredAgreement) -> Floats:
    """By worker."""
    found = dict(zip(crowd.workers_, crowd._model.skills().tolist(), strict=True))
    return np.array([found[who] for who in sorted(found, key=str)])


# The closed form -----------------------------------------------------------------------------

HABIT = 8.0
"""Answers that a habit's prior is worth (the teacher's H)."""


def beyond_habits(rows: list[tuple[int, int, int]], n: int, k: int) -> Floats:
    """R of every worker, label pair by label pair, as it is defined.

    ``Σ (1{x = y} − f_x − μ_i[y] + ⟨μ_i, f⟩)/V`` over the others met, by ``(N + H)/(N + H − 1)``.
    """
    tasks: dict[int, dict[int, int]] = {}
    for task, worker, label in rows:
        tasks.setdefault(task, {})[worker] = label
    said, shares = np.zeros((n, k)), np.zeros(k)
    for told in tasks.values():
        for i, x in told.items():
            said[i, x] += 1
            shares[x] += 1 / len(told)
    f = (shares + HABIT) / (shares.sum() + k * HABIT)
    answers = said.sum(axis=1)
    mu = (said + HABIT * f) / (answers + HABIT)[:, None]
    r = np.zeros(n)
    for told in tasks.values():
        for i, x in told.items():
            for j, y in told.items():
                if i != j:
                    r[i] += (x == y) - f[x] - mu[i, y] + mu[i] @ f
    return np.asarray(r / (1 - f @ f) * (answers + HABIT) / (answers + HABIT - 1))


def test_skills_rank_as_agreement_beyond_habits_does() -> None:
    """The sums give what all pairs of labels give: equal evidence, ordered alike."""
    psi = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    habits = np.random.default_rng(1).dirichlet(np.full(3, 2.0), 5)
    block = one_block(5, 400, classes=3, confusions=know_or_guess(psi, habits), seed=2)
    rows = list(zip(block.tasks.tolist(), block.workers.tolist(), block.said.tolist(), strict=True))
    crowd = CentredAgreement()
    crowd.learn_many(rows)
    wanted = beyond_habits(rows, 5, 3)
    order = [crowd.workers_.index(i) for i in range(5)]
    skills = crowd._model.skills()[order]
    assert np.argsort(skills).tolist() == np.argsort(wanted).tolist()
    # Everybody answers everything, so that skills are the same increasing function of R for all.
    slopes = np.diff(np.sort(skills)) / np.diff(np.sort(wanted))
    assert (slopes > 0).all()


def test_the_state_is_of_size_n_times_k() -> None:
    crowd = CentredAgreement()
    crowd.learn_many(rows_of(crowd_of(n=200, tasks=50, classes=5)))
    crowd.observers.clear()
    # Three numbers per worker and class, five and a group per worker, eight bytes each; names.
    assert len(crowd.to_bytes()) < 200 * (3 * 5 * 8 + 5 * 8 + 4 + 10) + 1000


# What it recovers ----------------------------------------------------------------------------


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
    # At six labels a task 8,000 answers: standard errors near 0.015, 15 chances for the worst, and
    # the best are shrunk a little.
    assert np.abs(skills(crowd) - psi).max() < 0.08


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
    found = skills(crowd)
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


def test_who_is_always_wrong_has_no_weight_and_a_skill_that_can_be() -> None:
    sens = np.array([0.9, 0.9, 0.85, 0.85, 0.8, 0.1])
    block = one_block(6, 3000, confusions=two_class(sens, sens), seed=6)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    worst = crowd.workers().sort("worker").row(5, named=True)
    assert worst["weight"] == 0.0
    # ψ = −0.8; nobody can be worse than always wrong, −1 between two classes.
    assert -1.0 <= skills(crowd)[5] < -0.5


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


# Falling back to majority vote ----------------------------------------------------------------


def test_two_labellers_are_counted() -> None:
    crowd = CentredAgreement()
    for _ in range(50):
        crowd.learn_one({"ann": "a", "bob": "a"})
        crowd.learn_one({"ann": "b", "bob": "b"})
    assert crowd.identifiable_.reason == "fewer than three workers share tasks"
    # The rule of succession: (2 + 1)/(2 + 2).
    assert crowd.predict_proba_one({"ann": "a", "bob": "a"})["a"] == pytest.approx(0.75)


def test_one_class_only_is_counted() -> None:
    crowd = CentredAgreement()
    for _ in range(50):
        crowd.learn_one({"ann": "a", "bob": "a", "cy": "a"}, gold="a")  # nor does gold help
    assert crowd.identifiable_ == (False, "only one class was ever seen")
    assert crowd.workers()["error_rate"].null_count() == 3
    vote = crowd.decide_one({"ann": "a"})
    assert vote.label == "a"
    assert 0.5 < vote.confidence < 1


def test_guessers_are_decided_by_majority_and_said_to_be() -> None:
    said = 0
    for seed in range(10):
        block = one_block(8, 2000, p=0.5, balance=[0.5, 0.5], seed=seed)
        crowd = CentredAgreement()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = crowd.fit_predict(block.labels())
        if not crowd.identifiable_:
            said += 1
            assert [warning.category for warning in told] == [NotIdentifiable]
            assert found.equals(MajorityVote().fit_predict(block.labels()))
    assert said >= 8  # agreement is two standard errors from chance in 8 of 100 such crowds


def test_habits_that_agree_are_not_knowledge() -> None:
    # All say 1 nine times in ten, whatever is true: they agree on 82 % of the pairs.
    guess = two_class(np.full(8, 0.9), np.full(8, 0.1))
    block = one_block(8, 3000, confusions=guess, seed=9)
    crowd = CentredAgreement()
    crowd.learn_many(block.labels())
    assert crowd.identifiable_.reason == "workers are not shown to agree more than by chance"
    plain = AgreementBased()
    plain.learn_many(block.labels())
    assert plain.identifiable_  # AB takes it for knowledge


def test_groups_without_a_common_task_are_counted() -> None:
    crowd = CentredAgreement()
    for told in crowd_of(tasks=80, classes=2):
        crowd.learn_one(told)
        crowd.learn_one({f"other {who}": label for who, label in told.items()})
    assert crowd.identifiable_.reason == "groups of workers share no task"


# Gold, forgetting, merging -------------------------------------------------------------------


def test_forgetting_follows_a_jump() -> None:
    before, after = np.array([0.1] * 3 + [0.45] * 5), np.array([0.45] * 3 + [0.1] * 5)
    block = one_block(8, 2000, p=before, drift=jump(1000, after), per_task=5, seed=11)
    late = [str(t) for t in range(1200, 2000)]
    wrong = {}
    for memory in (None, 100):
        crowd = CentredAgreement(memory=memory)
        found = crowd.stream_many(block.labels()).filter(pl.col("task").is_in(late))
        wrong[memory] = error(found, block)
        if memory:
            psi = skills(crowd)
            # About 60 remembered answers each: standard errors near 0.15 on a gap of 0.7.
            assert psi[3:].mean() > psi[:3].mean() + 0.3
    assert wrong[100] < wrong[None]


def test_merged_parts_are_one_pass_to_the_bit() -> None:
    tasks = crowd_of(n=12, tasks=300, classes=4)
    whole, left, right = CentredAgreement(), CentredAgreement(), CentredAgreement()
    whole.learn_many(rows_of(tasks))
    left.learn_many(rows_of(tasks[150:]))
    right.learn_many(rows_of(tasks[:150]))
    left += right
    assert left._model.order_free
    same_sums(left, whole)
    # What is read from the same sums differs by the order in which workers are added up.
    # Intervals add up approximately.
    mine, theirs = (
        crowd.workers().drop("error_low", "error_high", "flags").sort("worker")
        for crowd in (left, whole)
    )
    assert_frame_equal(mine, theirs, rel_tol=1e-9)


def test_an_answer_that_was_not_given_cannot_be_taken_back() -> None:
    crowd = CentredAgreement()
    crowd.learn_one({"ann": "a", "bob": "b"})
    with pytest.raises(InputError, match="an answer that was learnt"):
        crowd.unlearn_one({"ann": "b"})


def test_labellers_who_only_skip_are_in_the_tables() -> None:
    crowd = CentredAgreement()
    crowd.learn_many([(1, "ann", None), (2, "bob", "a"), (2, "cy", "b"), (3, "di", None)])
    assert crowd.workers()["answers"].to_list() == [0, 1, 1, 0]


def test_a_class_never_met_can_be_voted_for() -> None:
    crowd = CentredAgreement()
    crowd.learn_many(rows_of(crowd_of(tasks=200, classes=2)))
    found = crowd.predict_proba_one({"w4": "new", "w5": "new", "w6": "new"})
    assert set(found) == {"c0", "c1", "new"}
    assert found["new"] > 0.5
    assert crowd.predict_one({"w4": "new", "w5": "new", "w6": "new"}) == "new"
