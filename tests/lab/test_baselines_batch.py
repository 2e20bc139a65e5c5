"""The batch rivals: right in their own models, exact where they should be, sound on anything."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import replace
from math import lgamma
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdstream.errors import InputError
from crowdstream.labels import Table
from crowdstream.metrics import error_rate
from crowdstream.simulation import Simulated, simulate
from crowdstream_lab.baselines import (
    BeliefPropagation,
    Dalvi,
    DawidSkene,
    GhoshKaleMcAfee,
    KargerOhShah,
    KargerOhShahSVD,
    MajorityVote,
    MeanField,
    MinimaxEntropy,
    OneCoinEM,
    OneCoinMAP,
    OracleVote,
    SpectralEM,
)
from crowdstream_lab.baselines.common import code
from crowdstream_lab.baselines.minimax_dual import Answers, Dual
from crowdstream_lab.baselines.pairs import LARGEST_CROWD
from crowdstream_lab.baselines.spectral_em import from_moments
from crowdstream_lab.datasets import Dataset, available, load
from tests.lab.sound import check_sound
from tests.real import DATA, needs_data
from tests.simulated import ROWS


class Baseline(Protocol):
    def fit_predict(self, data: Table, *, settle: float = 0.95) -> pl.DataFrame: ...


BASELINES: dict[str, Callable[[], Baseline]] = {
    "belief propagation": BeliefPropagation,
    "eigenvectors of ratio": Dalvi,
    "ghosh kale mcafee": GhoshKaleMcAfee,
    "karger oh shah": KargerOhShah,
    "karger oh shah, svd": KargerOhShahSVD,
    "mean field": MeanField,
    "minimax entropy": MinimaxEntropy,
    "one-coin em": OneCoinEM,
    "one-coin map": OneCoinMAP,
    "ratio of eigenvectors": lambda: Dalvi("ratio of eigenvectors"),
    "spectral em": SpectralEM,
}
ITERATED = BeliefPropagation, MeanField, MinimaxEntropy, OneCoinEM, OneCoinMAP, SpectralEM
every_baseline = pytest.mark.parametrize("name", BASELINES)


def crowd_of(classes: int, tasks: int = 2000, seed: int = 1) -> Simulated:
    """Twenty workers from good to nearly guessing, each asked half of the tasks."""
    p = np.linspace(0.05, 0.45 if classes == 2 else 0.6, 20)
    return simulate(20, tasks, p=p, answer_rate=0.5, classes=classes, seed=seed)


def by_worker(crowd: OneCoinEM | Dalvi | MeanField, values: np.ndarray) -> np.ndarray:
    """A simulated crowd's estimates in the order of its workers."""
    return values[np.argsort(crowd.workers_)]


# In their own model ------------------------------------------------------------------------


@every_baseline
@pytest.mark.parametrize("classes", [2, 5])
def test_in_the_papers_model_each_errs_about_as_little_as_the_oracle(
    name: str, classes: int
) -> None:
    block = crowd_of(classes)
    found = error_rate(BASELINES[name]().fit_predict(block.labels()), block.truths())
    best = error_rate(OracleVote(block.error_rates).fit_predict(block.labels()), block.truths())
    # Of an error rate of 2 %, 2,000 tasks have a standard error of 0.003; three of them. Methods
    # that vote with the reliabilities themselves instead of log-odds lose about another.
    assert found <= best + 0.012


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("method", [OneCoinEM, BeliefPropagation, MeanField])
def test_one_coin_methods_find_the_error_rates(
    method: Callable[[], OneCoinEM], classes: int
) -> None:
    block, crowd = crowd_of(classes), method()
    crowd.fit_predict(block.labels())
    assert crowd.converged_
    # Four standard errors of a share of about 1,000 answers: 4·√(¼/1000) = 0.063.
    assert by_worker(crowd, crowd.error_rates_) == pytest.approx(block.error_rates, abs=0.063)


@pytest.mark.parametrize("variant", ["eigenvectors of ratio", "ratio of eigenvectors"])
def test_reliabilities_are_one_less_twice_the_error_rates(variant: str) -> None:
    block, crowd = crowd_of(2), Dalvi(variant)  # type: ignore[arg-type]
    crowd.fit_predict(block.labels())
    # The best is kept at 0.9 where it is 0.9. Four standard errors of 1 − 2p over 1,000 answers
    # judged by others who err themselves: 4·√(1/1000) = 0.13.
    assert by_worker(crowd, crowd.reliabilities_[0]) == pytest.approx(
        1 - 2 * block.error_rates, abs=0.13
    )


@pytest.mark.parametrize("method", [KargerOhShah, GhoshKaleMcAfee, Dalvi, MinimaxEntropy])
def test_shares_against_the_decisions_are_near_the_error_rates(
    method: Callable[[], OneCoinEM],
) -> None:
    block, crowd = crowd_of(2), method()
    crowd.fit_predict(block.labels())
    # As above, and 2 % of decisions are wrong.
    assert by_worker(crowd, crowd.error_rates_) == pytest.approx(block.error_rates, abs=0.083)


def confused(tasks: int, seed: int = 7) -> tuple[Simulated, np.ndarray]:
    """A crowd with biases and the matrices behind it."""
    rng = np.random.default_rng(seed)
    tables = 0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), size=(15, 3))
    prior = [0.5, 0.3, 0.2]
    return simulate(15, tasks, classes=3, balance=prior, confusions=tables, seed=seed), tables


def test_moments_alone_give_matrices_and_prior() -> None:
    block, tables = confused(20_000)
    coded = code(block.labels())
    prior, found = from_moments(coded, np.random.default_rng(0))
    order = np.argsort(coded.classes.to_list())
    workers = np.argsort(coded.workers.to_list())
    # Third moments of 20,000 tasks: a standard error of 1/√20000 = 0.007, magnified by two
    # inversions of matrices whose condition is about 2 to 3 and by the rarest class's fifth.
    assert np.abs(found[workers][:, order][:, :, order] - tables).max() < 0.1
    assert prior[order] == pytest.approx([0.5, 0.3, 0.2], abs=0.05)


def test_em_from_moments_ends_where_em_from_majority_does() -> None:
    block, _ = confused(2000)
    spectral, majority = SpectralEM(), DawidSkene()
    found = spectral.fit_predict(block.labels())
    assert spectral.started_from_ == "moments"
    same = majority.fit_predict(block.labels())
    # Both stop within EM's tolerance of the same maximum, short of it by some times as much.
    assert found["confidence"].to_list() == pytest.approx(same["confidence"].to_list(), abs=1e-4)
    assert found["label"].equals(same["label"])


def test_em_from_moments_survives_a_crowd_where_majority_is_led_astray() -> None:
    rng = np.random.default_rng(3)
    tables = np.empty((15, 3, 3))
    tables[:] = [[0.35, 0.4, 0.25], [0.05, 0.9, 0.05], [0.05, 0.4, 0.55]]  # all lean to class 1
    tables = 0.9 * tables + 0.1 * rng.dirichlet(np.ones(3), size=(15, 3))
    block = simulate(15, 3000, classes=3, confusions=tables, seed=3)
    crowd = SpectralEM()
    wrong = error_rate(crowd.fit_predict(block.labels()), block.truths())
    majority = error_rate(MajorityVote().fit_predict(block.labels()), block.truths())
    # Majority takes many of class 0 and 2 for class 1; who knows the matrices does not.
    assert wrong < majority / 2


@every_baseline
def test_a_crowd_without_adversaries_is_never_turned_upside_down(name: str) -> None:
    for seed in range(10):
        block = simulate(7, 60, p=[0.1, 0.2, 0.2, 0.3, 0.4, 0.5, 0.5], seed=seed)
        found = error_rate(BASELINES[name]().fit_predict(block.labels()), block.truths())
        # The oracle errs on 5 %; half-way to a flip is far outside what 60 tasks can do.
        assert found < 0.3


# Exact where they should be ----------------------------------------------------------------


def log_evidence(
    rows: list[tuple[str, str, int]], k: int, prior: tuple[float, float]
) -> tuple[dict[str, np.ndarray], float]:
    """Posteriors of the tasks and the log-likelihood of the labels, by trying all truths."""
    tasks, workers = sorted({t for t, _, _ in rows}), sorted({w for _, w, _ in rows})
    weight = {}
    for truths in itertools.product(range(k), repeat=len(tasks)):
        truth, log = dict(zip(tasks, truths, strict=True)), -len(tasks) * np.log(k)
        for who in workers:
            said = [(t, x) for t, w, x in rows if w == who]
            right = sum(truth[t] == x for t, x in said)
            a, b = prior[0] + right, prior[1] + len(said) - right
            log += lgamma(a) + lgamma(b) - lgamma(a + b) - (len(said) - right) * np.log(k - 1)
            log -= lgamma(prior[0]) + lgamma(prior[1]) - lgamma(sum(prior))
        weight[truths] = np.exp(log)
    total = sum(weight.values())
    posterior = {
        task: np.array([sum(w for z, w in weight.items() if z[i] == c) for c in range(k)]) / total
        for i, task in enumerate(tasks)
    }
    return posterior, float(np.log(total))


TREE = [
    *(("t", who, x) for who, x in zip("abc", (0, 0, 1), strict=True)),
    *(("u", who, x) for who, x in zip("cde", (1, 0, 1), strict=True)),
    *(("v", who, x) for who, x in zip("efg", (1, 1, 0), strict=True)),
    ("w", "e", 0),
]


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("prior", [(2.0, 1.0), (3.5, 0.5)])
def test_belief_propagation_is_exact_on_a_tree(k: int, prior: tuple[float, float]) -> None:
    rows = [*TREE, *([("x", "g", 2)] if k == 3 else [])]
    truth, _ = log_evidence(rows, k, prior)
    crowd = BeliefPropagation(prior)
    found = crowd.fit_predict(rows)
    assert crowd.converged_
    for task, label, sure in found.select("task", "label", "confidence").rows():
        # Rounding of the quadrature, which is exact for polynomials.
        assert sure == pytest.approx(truth[task].max(), abs=1e-9)
        # Which class a tie of the posterior goes to is the coin's business.
        assert truth[task][label] == pytest.approx(truth[task].max(), abs=1e-9)


def test_belief_propagation_is_near_the_posterior_on_a_small_circle() -> None:
    rows = [("t", "a", 0), ("t", "b", 0), ("u", "a", 1), ("u", "b", 1), ("u", "c", 0)]
    truth, _ = log_evidence(rows, 2, (2.0, 1.0))
    found = BeliefPropagation().fit_predict(rows)
    for task, label, sure in found.select("task", "label", "confidence").rows():
        # Loops make it approximate: a few hundredths on a circle of four.
        assert truth[task][label] == pytest.approx(sure, abs=0.05)


@given(st.lists(st.tuples(st.sampled_from("tuv"), st.sampled_from("abc"), st.integers(0, 2))))
@settings(max_examples=40, deadline=None)
def test_the_mean_fields_bound_is_below_the_evidence(rows: list[tuple[str, str, int]]) -> None:
    table = {(t, w): x for t, w, x in rows}
    rows = [(t, w, x) for (t, w), x in table.items()]
    crowd = MeanField()
    crowd.fit_predict(rows)
    k = max(2, len(crowd.classes_))
    codes = {x: i for i, x in enumerate(crowd.classes_)}
    _, exact = log_evidence([(t, w, codes[x]) for t, w, x in rows], k, crowd.prior)
    # Rounding of logarithms of gamma functions.
    assert crowd.evidence_[-1] <= exact + 1e-9


def test_the_first_iteration_of_one_coin_map_is_as_by_hand() -> None:
    rows = [("t", "a", "x"), ("t", "b", "x"), ("t", "c", "y")]
    crowd = OneCoinMAP(max_iterations=1)
    sure = crowd.fit_predict(rows)["confidence"][0]
    # Two thirds of x: a and b are right 2/3 of a time, c 1/3; one right and one wrong are added.
    p = np.array([(1 / 3 + 1) / 3, (1 / 3 + 1) / 3, (2 / 3 + 1) / 3])
    assert crowd.error_rates_ == pytest.approx(p, abs=1e-12)  # rounding
    odds = (1 / p[0] - 1) * (1 / p[1] - 1) / (1 / p[2] - 1)
    assert sure == pytest.approx(odds / (1 + odds), abs=1e-12)


def test_one_coin_em_ends_where_the_likelihood_is_greatest_nearby() -> None:
    block = simulate(4, 7, p=0.3, classes=3, seed=3)
    coded, crowd = code(block.labels()), OneCoinEM(tolerance=1e-12, max_iterations=10_000)
    crowd.fit_predict(block.labels())

    def log_likelihood(p: np.ndarray) -> float:  # by trying all truths, up to Σ log K
        total = 0.0
        for t in range(7):
            mine = coded.task == t
            who, said = coded.worker[mine], coded.label[mine]
            chances = [np.prod(np.where(said == c, 1 - p[who], p[who] / 2)) for c in range(3)]
            total += float(np.log(sum(chances)))
        return total

    rates = crowd.error_rates_.clip(1e-9, 1 - 1e-9)
    best = log_likelihood(rates)
    # Rounding of logarithms, and rates kept from 0 by 1e-9.
    assert crowd.log_likelihood_[-1] == pytest.approx(best, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(200):
        near = (rates + rng.normal(0, 0.02, 4)).clip(1e-9, 1 - 1e-9)
        assert log_likelihood(near) <= best + 1e-6


def test_message_passing_sends_what_the_paper_writes() -> None:
    block = simulate(6, 8, p=0.2, answer_rate=0.6, seed=2)
    coded = code(block.labels())
    says = {(i, j): 2.0 * x - 1 for i, j, x in zip(coded.task, coded.worker, coded.label)}  # noqa: B905
    y = dict(zip(says, np.random.default_rng(0).normal(1, 1, len(says)), strict=True))
    for _ in range(5):
        x = {(i, j): sum(says[e] * y[e] for e in says if e[0] == i and e[1] != j) for i, j in says}
        y = {(i, j): sum(says[e] * x[e] for e in says if e[1] == j and e[0] != i) for i, j in says}
    score = [sum(says[e] * y[e] for e in says if e[0] == i) for i in range(len(coded.tasks))]
    found = KargerOhShah(iterations=5).fit_predict(block.labels())["label"]
    names = coded.classes.to_list()
    assert found.to_list() == [names[int(s > 0)] for s in score]


def test_tasks_are_the_signs_of_the_top_eigenvector_of_task_by_task() -> None:
    block = simulate(9, 40, p=0.25, answer_rate=0.7, seed=4)
    coded = code(block.labels())
    u = np.zeros((len(coded.tasks), 9))
    u[coded.task, coded.worker] = 2 * coded.label - 1
    vector = np.linalg.eigh(u @ u.T)[1][:, -1]
    vector *= np.sign(np.sign(vector) @ u.sum(axis=1))
    names = coded.classes.to_list()
    found = GhoshKaleMcAfee().fit_predict(block.labels())["label"]
    assert found.to_list() == [names[int(v > 0)] for v in vector]


def test_tasks_are_the_signs_of_the_left_singular_vector_after_centring() -> None:
    block = simulate(9, 40, p=0.25, answer_rate=0.7, seed=4)
    coded = code(block.labels())
    u = np.zeros((len(coded.tasks), 9))
    u[coded.task, coded.worker] = 2 * coded.label - 1
    left, _, right = np.linalg.svd(u - u.mean(axis=0))
    sign = 1 if (right[0][right[0] >= 0] ** 2).sum() >= 0.5 else -1
    names = coded.classes.to_list()
    found = KargerOhShahSVD().fit_predict(block.labels())["label"]
    assert found.to_list() == [names[int(sign * v > 0)] for v in left[:, 0]]


def test_who_always_says_the_same_has_no_say_after_centring() -> None:
    rows = [(t, who, "xy"[t % 2]) for t in range(10) for who in "ab"]
    rows += [(t, who, "x") for t in range(10) for who in "cdefgh"]
    assert "".join(KargerOhShahSVD().fit_predict(rows)["label"]) == "xy" * 5


@pytest.mark.parametrize("variant", ["eigenvectors of ratio", "ratio of eigenvectors"])
def test_agreements_of_rank_one_give_the_reliabilities_back(variant: str) -> None:
    w = np.array([0.8, 0.6, 0.5, 0.3, 0.1, -0.2])
    answers = np.array([30.0, 20, 10, 40, 25, 15])
    together = np.outer(answers, answers) / 50  # at rates of their own: rank one
    crowd = Dalvi(variant)  # type: ignore[arg-type]
    found = crowd._reliabilities(together * np.outer(w, w), together)
    # Both matrices are of rank one, diagonals too, so that eigenvectors are exact: rounding.
    assert found * np.sign(found[0]) == pytest.approx(w, abs=1e-9)


def test_bounded_newton_steps_reach_the_maximum_of_the_dual() -> None:
    from scipy.optimize import minimize

    block = simulate(4, 6, p=0.3, classes=3, seed=1)
    coded = code(block.labels())
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), 6)
    dual = Dual(Answers.of(coded), 2.25, 3.375)
    n, tasks, k = 4, 6, 3

    def loss(flat: np.ndarray) -> float:
        s, t = flat[: n * k * k].reshape(n, k, k), flat[n * k * k :].reshape(tasks, k, k)
        total = 0.0
        for i, j, x in zip(coded.task, coded.worker, coded.label, strict=True):
            logits = s[j] + t[i]
            total += posterior[i] @ (logits[:, x] - np.log(np.exp(logits).sum(axis=1)))
        cost = dual.worker_strength * (s**2).sum() + dual.task_strength * (t**2).sum()
        return float(cost / 2 - total)

    best = minimize(loss, np.zeros((n + tasks) * k * k), method="L-BFGS-B")
    for _ in range(300):
        dual.step(posterior)
    found = np.concatenate(
        [dual.of_workers.transpose(2, 0, 1).ravel(), dual.of_tasks.transpose(2, 0, 1).ravel()]
    )
    # As near as L-BFGS with numerical slopes comes.
    assert loss(found) <= best.fun + 1e-6
    assert found == pytest.approx(best.x, abs=1e-3)


def test_held_out_labels_are_predicted_by_the_model_and_choose_the_strength() -> None:
    block = simulate(6, 60, p=0.25, classes=3, seed=5)
    crowd = MinimaxEntropy()
    crowd.fit_predict(block.labels())
    assert crowd.strength_ == max(crowd.held_out_, key=lambda s: crowd.held_out_[s])
    # No better than knowing all truths and error rates, no worse than a guess.
    oracle = 0.75 * np.log(0.75) + 0.25 * np.log(0.125)
    # Three standard errors of 144 labels held out, of a logarithm that differs by 1.8 in a fourth.
    assert -np.log(3) < max(crowd.held_out_.values()) < oracle + 3 * 1.8 * 0.43 / np.sqrt(144)
    again = MinimaxEntropy(crowd.strength_)
    assert again.fit_predict(block.labels()).equals(crowd.fit_predict(block.labels()))
    assert again.held_out_ == {}


def test_chances_of_held_out_labels_sum_to_one_over_what_could_be_said() -> None:
    block = simulate(5, 20, p=0.3, classes=4, seed=6)
    answers = Answers.of(code(block.labels()))
    dual, posterior = Dual(answers, 1.0, 4.0), answers.vote_shares()
    dual.iterate(posterior)
    total = sum(
        dual.predict(replace(answers, label=np.full_like(answers.label, said)), posterior)
        for said in range(4)
    )
    assert total == pytest.approx(np.ones(answers.label.size), abs=1e-12)  # rounding


@pytest.mark.parametrize("seed", range(2))
def test_with_ten_classes_minimax_entropy_is_no_straw_man(seed: int) -> None:
    block = simulate(20, 400, p=np.linspace(0.1, 0.6, 20), per_task=5, classes=10, seed=seed)
    found = error_rate(MinimaxEntropy().fit_predict(block.labels()), block.truths())
    majority = error_rate(MajorityVote().fit_predict(block.labels()), block.truths())
    em = error_rate(DawidSkene().fit_predict(block.labels()), block.truths())
    # Hundred cells a worker from hundred answers: as Dawid and Skene's EM, or majority, within two
    # standard errors of 12 % of 400 tasks (0.03). At the paper's weakest, γ = ¼, it errs on over
    # 0.05 more.
    assert found <= max(majority, em) + 0.03


# Monotone ----------------------------------------------------------------------------------


def traces(rows: Table) -> list[np.ndarray]:
    one_coin, field, entropy = OneCoinEM(), MeanField(), MinimaxEntropy()
    spectral = SpectralEM(max_iterations=50)
    for crowd in (one_coin, field, entropy, spectral):
        crowd.fit_predict(rows)
    found = one_coin.log_likelihood_, field.evidence_, entropy.objective_, spectral.log_likelihood_
    return [np.array(trace) for trace in found]


def test_every_iteration_raises_what_it_is_to_raise() -> None:
    for trace in traces(confused(200)[0].labels()):
        assert trace.size > 3
        # Rounding of a sum of some thousand logarithms.
        assert np.diff(trace).min() > -1e-9 * np.abs(trace).max()


@given(ROWS)
@settings(max_examples=25, deadline=None)
def test_objectives_are_finite_and_grow_on_any_rows(
    rows: list[tuple[int, str, str | None]],
) -> None:
    for trace in traces(rows):
        assert np.isfinite(trace).all()
        assert np.diff(trace).min(initial=0) > -1e-9  # rounding


# Sound on anything -------------------------------------------------------------------------


@every_baseline
@given(rows=ROWS)
@settings(max_examples=25, deadline=None)
def test_any_rows_give_the_estimators_table_without_a_nan(
    name: str, rows: list[tuple[int, str, str | None]]
) -> None:
    like = MajorityVote().fit_predict(rows)
    crowd = BASELINES[name]()
    found = crowd.fit_predict(rows)
    check_sound(found, like)
    rates = getattr(crowd, "error_rates_", np.zeros(0))
    assert ((rates >= -1e-12) & (rates <= 1 + 1e-12)).all()  # rounding


@every_baseline
def test_one_label_decides_its_task(name: str) -> None:
    assert BASELINES[name]().fit_predict([("t", "ann", "x")])["label"].to_list() == ["x"]


@every_baseline
def test_one_worker_is_believed(name: str) -> None:
    rows = [(t, "ann", "xyz"[t % 3]) for t in range(9)]
    assert "".join(BASELINES[name]().fit_predict(rows)["label"]) == "xyz" * 3


@every_baseline
@pytest.mark.parametrize("classes", ["x", "xy", "xyz"])
def test_where_all_agree_they_are_believed(name: str, classes: str) -> None:
    rows = [(t, who, classes[t % len(classes)]) for t in range(30) for who in "abcde"]
    found = BASELINES[name]().fit_predict(rows)["label"]
    assert found.to_list() == [classes[t % len(classes)] for t in range(30)]


@every_baseline
def test_on_one_task_the_majority_wins(name: str) -> None:
    rows = [("t", who, x) for who, x in zip("abcde", "xxxyz", strict=True)]
    assert BASELINES[name]().fit_predict(rows)["label"].to_list() == ["x"]


@every_baseline
def test_a_class_named_once_does_not_disturb_the_rest(name: str) -> None:
    block = crowd_of(2, 300)
    gone = block.labels().with_columns(
        label=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("odd")).otherwise("label")
    )
    before = error_rate(BASELINES[name]().fit_predict(block.labels()), block.truths())
    after = error_rate(BASELINES[name]().fit_predict(gone), block.truths())
    # One against the rest is another question: three standard errors of an error rate of 3 % over
    # 300 tasks. Minimax entropy, by its docstring, loses hard tasks to the stray class (48 of 300).
    assert after <= before + (0.2 if name == "minimax entropy" else 0.03)


@every_baseline
def test_the_same_seed_gives_the_same_decisions_again(name: str) -> None:
    labels = crowd_of(5, 100).labels()
    crowd = BASELINES[name]()
    assert crowd.fit_predict(labels).equals(crowd.fit_predict(labels))
    assert crowd.fit_predict(labels).equals(BASELINES[name]().fit_predict(labels))


def test_without_moments_em_starts_from_majority_and_says_so() -> None:
    rows = [(t, who, "xy"[t % 2]) for t in range(10) for who in ("ann", "bob")]
    crowd, from_votes = SpectralEM(), DawidSkene()
    assert crowd.fit_predict(rows).equals(from_votes.fit_predict(rows))
    assert crowd.started_from_ == "majority"


@pytest.mark.parametrize("method", ITERATED)
def test_iterations_stop_when_told(method: type[OneCoinEM]) -> None:
    crowd = method(max_iterations=1, tolerance=0.0)
    crowd.fit_predict(crowd_of(2, 100).labels())
    assert not crowd.converged_


def test_bad_settings_are_refused() -> None:
    for method in ITERATED:
        for name, value in (("tolerance", -1), ("max_iterations", 0), ("seed", -1)):
            with pytest.raises(InputError, match=name):
                method(**{name: value})  # type: ignore[arg-type]
    for make in (
        lambda: OneCoinEM(smoothing=-1),
        lambda: OneCoinMAP(smoothing=0),
        lambda: BeliefPropagation(prior=(0, 1)),
        lambda: MeanField(prior=(1, -1)),
        lambda: MinimaxEntropy(strength=0),
        lambda: KargerOhShah(iterations=0),
        lambda: KargerOhShah(seed=-1),
        lambda: GhoshKaleMcAfee(seed=-1),
        lambda: Dalvi(variant="ratio"),  # type: ignore[arg-type]
        lambda: Dalvi(seed=-1),
    ):
        with pytest.raises(InputError, match="expected"):
            make()
    for baseline in BASELINES.values():
        with pytest.raises(InputError, match="settle"):
            baseline().fit_predict([("t", "ann", "x")], settle=95)


def test_a_crowd_too_large_for_all_pairs_is_refused() -> None:
    rows = [("t", who, "x") for who in range(LARGEST_CROWD + 1)]
    with pytest.raises(InputError, match=f"at most {LARGEST_CROWD}"):
        Dalvi().fit_predict(rows)


# Real crowds -------------------------------------------------------------------------------

MANY = 10_000
"""Labels of a set on which the slow ones are stopped early, to keep this file short."""

EARLY: dict[str, Callable[[], Baseline]] = {
    "belief propagation": lambda: BeliefPropagation(max_iterations=5),
    "minimax entropy": lambda: MinimaxEntropy(1 / 4, max_iterations=2),
    "spectral em": lambda: SpectralEM(max_iterations=20),
}

SLACK = dict.fromkeys(BASELINES, 0.15) | {
    "minimax entropy": 0.25,
    "one-coin em": 0.25,
    "one-coin map": 0.25,
    "karger oh shah, svd": 0.35,
    "karger oh shah": 0.55,
    "ghosh kale mcafee": 0.55,
    "ratio of eigenvectors": 0.55,
}
"""How much worse than majority vote a method may be on a real set. Of those that weigh workers by
their answers' number, RTE and Temp make a coin: one worker there answered everything; centred, the
reference on RTE is 0.398 where majority has 0.103. One-coin EM with a prior ends with four in five
tasks in one class on the part of relevance that is taken, six labels a task by workers of error
rate 0.6: 0.70 where majority vote has 0.50."""


ROWS_A_SET = 15_000
"""Of larger sets the tests take tasks with gold, of so many labels: an absurd answer shows on these
as on all, and nine methods on all 787,000 labels take four times as long."""


@functools.cache
def real(name: str) -> tuple[Dataset, float]:
    """The beginning of a real set, and majority vote's error on it."""
    data = load(name)
    judged = data.labels.filter(pl.col("task").is_in(data.gold["task"].implode()))
    whole = data.labels.height <= ROWS_A_SET
    tasks = (data.labels if whole else judged.head(ROWS_A_SET))["task"].unique()
    labels = data.labels.filter(pl.col("task").is_in(tasks.implode()))
    return replace(data, labels=labels), error_rate(MajorityVote().fit_predict(labels), data.gold)


@needs_data
@every_baseline
@pytest.mark.parametrize("crowd", available() if Path(DATA or "nowhere").is_dir() else ["none"])
def test_every_real_set_is_finished_without_absurdity(name: str, crowd: str) -> None:
    data, majority = real(crowd)
    make = EARLY.get(name, BASELINES[name]) if data.labels.height > MANY else BASELINES[name]
    found = make().fit_predict(data.labels)
    assert found["label"].null_count() == 0
    assert found["confidence"].is_finite().all()
    assert error_rate(found, data.gold) <= majority + SLACK[name]


@needs_data
@pytest.mark.parametrize(("crowd", "error"), [("bird", 0.2778), ("rte", 0.4913), ("trec", 0.4299)])
def test_ghosh_kale_mcafee_errs_as_before(crowd: str, error: float) -> None:
    data = load(crowd)
    found = error_rate(GhoshKaleMcAfee().fit_predict(data.labels), data.gold)
    # Measured once: a spectral vote has no random part, so another figure is another method.
    assert found == pytest.approx(error, abs=0.001)
