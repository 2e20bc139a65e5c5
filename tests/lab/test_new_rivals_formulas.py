"""The rivals' formulas, each in plain loops or as a sum over all truths on a tiny crowd."""

from __future__ import annotations

import itertools
from math import lgamma

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from crowdstream.labels import Table
from crowdstream.simulation import simulate
from crowdstream_lab.baselines import (
    BCC,
    BWA,
    CATD,
    EBCC,
    GLAD,
    IWMV,
    MACE,
    PM,
    PTBCC,
    LightweightOnePass,
    LightweightTwoPass,
    Wawa,
    ZenCrowd,
    ZeroBasedSkill,
)
from crowdstream_lab.baselines.common import Coded, code, shares
from crowdstream_lab.baselines.glad import misfit
from tests.lab.test_new_rivals import crowd_of
from tests.simulated import ROWS


def tiny(classes: int = 2, seed: int = 2) -> pl.DataFrame:
    """Four workers, five tasks, some labels missing: all truths can be enumerated."""
    return simulate(4, 5, p=0.3, answer_rate=0.8, classes=classes, seed=seed).labels()


def by_task(coded: Coded) -> list[list[tuple[int, int]]]:
    """Of every task its (worker, label) pairs."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(len(coded.tasks))]
    for t, j, x in zip(coded.task, coded.worker, coded.label, strict=True):
        found[t].append((int(j), int(x)))
    return found


# Against formulas and sums over all truths -------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_glads_slope_is_that_of_its_objective(classes: int) -> None:
    from scipy.optimize import approx_fprime

    coded = code(tiny(classes))
    rng = np.random.default_rng(0)
    right = rng.random(coded.label.size)
    at = rng.normal(1, 0.5, len(coded.workers) + len(coded.tasks))
    slope = misfit(coded, right, at)[1]
    by_steps = approx_fprime(at, lambda x: misfit(coded, right, x)[0], 1e-6)
    # Forward differences of 1e-6 are wrong by about as much as the second derivative, some tens.
    assert slope == pytest.approx(by_steps, abs=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_glads_posteriors_and_likelihood_are_sums_over_all_truths(classes: int) -> None:
    crowd = GLAD(max_iterations=3)
    labels = tiny(classes)
    found = crowd.fit_predict(labels)
    coded = code(labels)
    total = -sum((a - 1) ** 2 / 2 for a in crowd.abilities_)
    total -= sum((np.log(b) - 1) ** 2 / 2 for b in crowd.ease_)
    for t, said in enumerate(by_task(coded)):
        chances = []
        for truth in range(coded.n_classes):
            chance = 1 / coded.n_classes
            for j, x in said:
                right = 1 / (1 + np.exp(-crowd.abilities_[j] * crowd.ease_[t]))
                chance *= right if x == truth else (1 - right) / (coded.n_classes - 1)
            chances.append(chance)
        total += np.log(sum(chances))
        assert found["confidence"][t] == pytest.approx(max(chances) / sum(chances), abs=1e-9)
    assert crowd.log_likelihood_[-1] == pytest.approx(total, abs=1e-9)  # rounding


@pytest.mark.parametrize("classes", [2, 3])
def test_maces_likelihood_is_a_sum_over_all_truths_and_who_knew(classes: int) -> None:
    crowd = MACE(variational=False, knows=0.5, taste=0.25, restarts=1, max_iterations=4)
    labels = tiny(classes)
    found = crowd.fit_predict(labels)
    coded = code(labels)
    k, total = coded.n_classes, 0.0
    for t, said in enumerate(by_task(coded)):
        chances = np.zeros(k)
        for truth, knew in itertools.product(range(k), itertools.product((0, 1), repeat=len(said))):
            chance = 1 / k
            for (j, x), knows in zip(said, knew, strict=True):
                theta, taste = crowd.competences_[j], crowd.tastes_[j, x]
                chance *= theta * (x == truth) if knows else (1 - theta) * taste
            chances[truth] += chance
        total += np.log(chances.sum())
        assert found["confidence"][t] == pytest.approx(chances.max() / chances.sum(), abs=1e-9)
    prior = 0.5 * (np.log(crowd.competences_) + np.log(1 - crowd.competences_)).sum()
    prior += 0.25 * np.log(crowd.tastes_).sum()
    assert crowd.objective_[-1] == pytest.approx(total + prior, abs=1e-9)  # rounding


def test_one_step_of_maces_em_is_as_by_expected_counts() -> None:
    labels = tiny(3)
    before = MACE(variational=False, restarts=1, max_iterations=1, knows=0.5, taste=0.5)
    after = MACE(variational=False, restarts=1, max_iterations=2, knows=0.5, taste=0.5)
    before.fit_predict(labels)
    after.fit_predict(labels)
    coded = code(labels)
    n, k = len(coded.workers), coded.n_classes
    knew, spam = np.full(n, 0.5), np.full((n, k), 0.5)
    theta, taste = before.competences_, before.tastes_
    for said in by_task(coded):
        chance = [
            np.prod([theta[j] * (x == c) + (1 - theta[j]) * taste[j, x] for j, x in said])
            for c in range(k)
        ]
        for j, x in said:
            share = theta[j] / (theta[j] + (1 - theta[j]) * taste[j, x])
            expected = chance[x] / sum(chance) * share
            knew[j] += expected
            spam[j, x] += 1 - expected
    answers = np.bincount(coded.worker, minlength=n)
    assert after.competences_ == pytest.approx(knew / (answers + 1), abs=1e-9)  # rounding
    assert after.tastes_ == pytest.approx(spam / spam.sum(axis=1, keepdims=True), abs=1e-9)


def test_zencrowd_is_maximum_likelihood_in_the_one_coin_model() -> None:
    labels = tiny(3)
    crowd = ZenCrowd(max_iterations=3)
    found = crowd.fit_predict(labels)
    coded, total = code(labels), 0.0
    for t, said in enumerate(by_task(coded)):
        chances = [
            np.prod(
                [
                    1 - crowd.error_rates_[j] if x == c else crowd.error_rates_[j] / 2
                    for j, x in said
                ]
            )
            / 3
            for c in range(3)
        ]
        total += np.log(sum(chances))
        assert found["confidence"][t] == pytest.approx(max(chances) / sum(chances), abs=1e-9)
    assert crowd.log_likelihood_[-1] == pytest.approx(total, abs=1e-9)  # rounding


def log_dirichlet(counts: np.ndarray, prior: np.ndarray) -> float:
    """The log chance of draws whose probabilities have a Dirichlet prior."""
    posterior = counts + prior
    found = lgamma(prior.sum()) - lgamma(posterior.sum())
    return found + sum(lgamma(x) - lgamma(p) for x, p in zip(posterior, prior, strict=True))


def evidence(coded: Coded, class_prior: np.ndarray, types: int, type_prior: float) -> float:
    """The exact log-likelihood of the labels by a sum over all truths and types."""
    n, k = len(coded.workers), coded.n_classes
    tasks = by_task(coded)
    kinds = list(itertools.product(range(k), range(types)))
    found = -np.inf
    for each in itertools.product(kinds, repeat=len(tasks)):
        classes, used = np.zeros(k), np.zeros((k, types))
        answers = np.zeros((n, k, types, k))
        for (c, m), said in zip(each, tasks, strict=True):
            classes[c] += 1
            used[c, m] += 1
            for j, x in said:
                answers[j, c, m, x] += 1
        log = log_dirichlet(classes, class_prior)
        for c in range(k):
            log += log_dirichlet(used[c], np.full(types, type_prior / types))
            row = np.where(np.arange(k) == c, 4.0, 1.0)
            log += sum(log_dirichlet(answers[j, c, m], row) for j in range(n) for m in range(types))
        found = np.logaddexp(found, log)
    return float(found)


def bound(coded: Coded, q: np.ndarray, class_prior: np.ndarray, type_prior: float) -> float:
    """The bound by its definition, E log p(labels, truths, types, parameters) − E log q, in loops.

    ``q`` are posteriors of (truth, type), one block a task; the parameters' are the best for them.
    """
    from scipy.special import digamma

    _, k, types = q.shape
    n, found = len(coded.workers), 0.0

    def part(posterior: np.ndarray, prior: np.ndarray) -> float:
        """E log p − E log q of one Dirichlet; its counts of draws come with it."""
        logs = digamma(posterior) - digamma(posterior.sum())
        log_p = lgamma(prior.sum()) - sum(map(lgamma, prior)) + ((prior - 1) * logs).sum()
        log_q = (
            lgamma(posterior.sum()) - sum(map(lgamma, posterior)) + ((posterior - 1) * logs).sum()
        )
        return float(log_p - log_q + ((posterior - prior) * logs).sum())

    found += part(class_prior + q.sum(axis=(0, 2)), class_prior)
    for c in range(k):
        before = np.full(types, type_prior / types)
        found += part(before + q[:, c].sum(axis=0), before)
        row = np.where(np.arange(k) == c, 4.0, 1.0)
        for j, m in itertools.product(range(n), range(types)):
            counts = np.zeros(k)
            for t, said in enumerate(by_task(coded)):
                counts += sum((q[t, c, m] * np.eye(k)[x] for w, x in said if w == j), np.zeros(k))
            found += part(row + counts, row)
    return found - float((q * np.log(np.where(q > 0, q, 1.0))).sum())


@pytest.mark.parametrize("classes", [2, 3])
def test_bccs_bound_is_its_definition_and_below_the_evidence(classes: int) -> None:
    coded = code(tiny(classes))
    prior = np.ones(coded.n_classes)
    for seed in range(3):
        crowd, q = BCC(), np.random.default_rng(seed).dirichlet(prior, len(coded.tasks))
        crowd._start(coded)
        after = np.exp(crowd._iterate(coded, q))
        # The bound is noted for the new truths with the parameters that are best for the old.
        lower = bound(coded, q[:, :, None], prior, 1.0)
        upper = bound(coded, after[:, :, None], prior, 1.0)
        assert lower <= crowd.evidence_[-1] <= upper + 1e-9
        assert upper <= evidence(coded, prior, 1, 1.0) + 1e-9
    crowd = BCC(tolerance=1e-10)
    q = np.exp(crowd._scores(coded))
    # Converged, all three are the same, to the square of the tolerance and rounding.
    assert crowd.evidence_[-1] == pytest.approx(bound(coded, q[:, :, None], prior, 1.0), abs=1e-7)


def test_ebccs_bound_is_its_definition_and_below_the_evidence() -> None:
    coded = code(tiny(2))
    crowd = EBCC(2, tolerance=0.0, max_iterations=3000, restarts=2)
    crowd._scores(coded)
    votes = shares(coded.count()).sum(axis=0)
    # Iterated until nothing moves: rounding.
    assert crowd.evidence_[-1] == pytest.approx(bound(coded, crowd._joint, votes, 0.1), abs=1e-6)
    assert crowd.evidence_[-1] <= evidence(coded, votes, 2, 0.1)


def test_ebcc_with_one_type_is_bcc_of_the_same_class_prior() -> None:
    labels = crowd_of(3, 200).labels()
    one, other = EBCC(1, tolerance=1e-9), BCC(tolerance=1e-9)
    # The priors of the classes differ, by as many pseudo-tasks as tasks: nearly all decisions stay.
    same = one.fit_predict(labels)["label"] == other.fit_predict(labels)["label"]
    assert same.mean() >= 0.98  # type: ignore[operator]
    assert one.confusions_[:, :, 0] == pytest.approx(other.confusions_, abs=0.02)


@pytest.mark.parametrize("method", [CATD, PM])
def test_weights_and_votes_alternate_as_the_papers_write(method: type[CATD | PM]) -> None:
    from scipy.stats import chi2

    labels = crowd_of(3, 60).labels()
    coded = code(labels)
    n, k, tasks = len(coded.workers), coded.n_classes, by_task(coded)
    weights = [1.0] * n
    for _ in range(3):
        truths = []
        for said in tasks:
            votes = [sum(weights[j] for j, x in said if x == c) for c in range(k)]
            truths.append([c for c in range(k) if votes[c] == max(votes)])
        errors = [
            sum(
                1 - (x in truth) / len(truth)
                for truth, said in zip(truths, tasks, strict=True)
                for w, x in said
                if w == j
            )
            for j in range(n)
        ]
        answers = [sum(w == j for said in tasks for w, _ in said) for j in range(n)]
        rates = [max(e, 0.5) / a for e, a in zip(errors, answers, strict=True)]
        if method is CATD:
            weights = [chi2.ppf(0.025, a) / (r * a) for a, r in zip(answers, rates, strict=True)]
        else:
            weights = [-np.log(r / max(rates)) for r in rates]
    crowd = method(max_iterations=3)
    crowd.fit_predict(labels)
    assert crowd.weights_ == pytest.approx(weights, abs=1e-9)  # rounding


def test_the_skills_of_wawa_and_of_zero_based_skill_are_as_by_hand() -> None:
    said = {"ann": "xyxyx", "bob": "xyxyx", "cy": "xyyyy", "dee": "yyyxy"}
    rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    crowd = Wawa()
    assert "".join(crowd.fit_predict(rows)["label"]) == "xyxyx"
    # The third and the fifth task are tied, two to two, and half right for everybody.
    assert crowd.error_rates_.tolist() == pytest.approx([0.2, 0.2, 0.2, 0.6])
    skills = ZeroBasedSkill(iterations=1)
    skills.fit_predict(rows)
    assert skills.skills_.tolist() == pytest.approx([0.8, 0.8, 0.8, 0.4])
    # Now the ties go to ann and bob; at a rate of 1 the skills are all new.
    skills = ZeroBasedSkill(iterations=2)
    skills.fit_predict(rows)
    assert skills.skills_.tolist() == pytest.approx([1.0, 1.0, 0.6, 0.2])


def test_accuracies_of_one_pass_are_as_by_hand() -> None:
    said = {"ann": "xyx", "bob": "xxy", "cy": "yx"}
    rows = [(t, who, x) for t in range(3) for who, text in said.items() for x in text[t : t + 1]]
    crowd = LightweightOnePass()
    found = crowd.fit_predict(rows)
    # All start with 1/2. Task 0: x, so ann and bob have 2/3 and cy 1/3. Task 1: bob and cy say x
    # with weight 1, ann y with 2/3: ann 2/4, bob 3/4, cy 2/4. Task 2: bob's y outweighs ann's x,
    # ann has 2/5 and bob 4/5.
    assert "".join(found["label"]) == "xxy"
    assert (1 - crowd.error_rates_).tolist() == pytest.approx([2 / 5, 4 / 5, 1 / 2])
    # With one vote of mean weight on each side: 3/4 + 5/8 of the four votes' 5/2.
    assert found["confidence"][2] == pytest.approx((3 / 4 + 5 / 8) / (5 / 2))
    assert found.equals(crowd.stream_predict(rows))


def test_the_second_pass_weighs_by_accuracy_less_chance_and_takes_named_classes_only() -> None:
    said = {"ann": "xyx", "bob": "xxy", "cy": "yx"}
    rows = [(t, who, x) for t in range(3) for who, text in said.items() for x in text[t : t + 1]]
    crowd = LightweightTwoPass()
    # Weights 2 a − 1: ann −1/5, bob 3/5, cy 0; log-odds are twice the sums. Task 0: x has 2/5.
    found = crowd.fit_predict(rows)
    assert "".join(found["label"]) == "xxy"
    assert found["confidence"][0] == pytest.approx(1 / (1 + np.exp(-4 / 5)))
    # Streamed, the first task is decided again when it was learnt from: 2/3, 2/3 and 1/3.
    streamed = crowd.stream_predict(rows)
    assert streamed["confidence"][0] == pytest.approx(1 / (1 + np.exp(-2)))
    # Cy is outvoted thrice: 1/5, below chance. What it says alone is still the only candidate.
    rows = [(t, who, "x") for t in range(3) for who in ("ann", "bob")]
    rows += [(t, "cy", "y") for t in range(3)] + [(3, "cy", "y")]
    assert crowd.fit_predict(rows)["label"][3] == "y"


def test_iwmv_is_the_papers_loop() -> None:
    labels = crowd_of(3, 60).labels()
    coded = code(labels)
    n, k, tasks = len(coded.workers), coded.n_classes, by_task(coded)
    weights = [1.0] * n
    for _ in range(3):
        agreed, answers = [0.0] * n, [0] * n
        for said in tasks:
            votes = [round(sum(weights[j] for j, x in said if x == c), 9) for c in range(k)]
            best = [c for c in range(k) if votes[c] == max(votes)]
            for j, x in said:
                answers[j] += 1
                agreed[j] += (x in best) / len(best)
        weights = [k * a / m - 1 for a, m in zip(agreed, answers, strict=True)]
    crowd = IWMV(max_iterations=3)
    crowd.fit_predict(labels)
    assert crowd.weights_ == pytest.approx(weights, abs=1e-9)  # rounding


def test_bwa_alternates_precisions_and_means_as_the_paper_writes() -> None:
    labels = tiny(3)
    coded = code(labels)
    n, k, tasks = len(coded.workers), coded.n_classes, by_task(coded)
    crowd = BWA(tolerance=0.0, max_iterations=4)
    found = crowd.fit_predict(labels)
    means = np.zeros((len(tasks), k))
    for c in range(k):
        z = [sum(x == c for _, x in said) / len(said) for said in tasks]
        size = sum(map(len, tasks))
        spread = sum(len(said) * m * (1 - m) for said, m in zip(tasks, z, strict=True)) / size
        b = 15 * spread * 4 * (1 - 1 / k)
        for _ in range(4):
            v = []
            for j in range(n):
                off = [
                    ((x == c) - m) ** 2
                    for said, m in zip(tasks, z, strict=True)
                    for w, x in said
                    if w == j
                ]
                v.append((15 + len(off)) / (b + sum(off)))
            mu = sum(z) / len(z)
            z = [
                (mu + sum(v[j] for j, x in said if x == c)) / (1 + sum(v[j] for j, _ in said))
                for said in tasks
            ]
        means[:, c] = z
        assert crowd.precisions_[:, c] == pytest.approx(v, abs=1e-9)  # rounding
    sure = means.max(axis=1) / means.sum(axis=1)
    assert found["confidence"].to_list() == pytest.approx(sure.tolist(), abs=1e-9)


def test_ptbccs_iteration_is_the_papers_equations_in_loops() -> None:
    from scipy.special import digamma

    coded = code(tiny(3))
    n, k, tasks = len(coded.workers), coded.n_classes, by_task(coded)
    crowd = PTBCC()
    phi = crowd._start(coded)
    theta, first = {}, {}
    start = np.zeros((2, k, k))
    for a, b in itertools.product(range(k), repeat=2):
        start[0, a, b] = (5 if a == b else 1) / (5 + (k - 1))
        start[1, a, b] = (1 if a == b else 1.35) / (1 + 1.35 * (k - 1))
    for i, said in enumerate(tasks):
        for j, x in said:
            raw = np.array([sum(phi[i, c] * start[s, c, x] for c in range(k)) for s in (0, 1)])
            first[i, j], theta[i, j] = raw, raw / raw.sum()
    u = phi.sum(axis=0)
    beta, prior = np.zeros((n, 2)), np.zeros((2, k, k))
    for i, said in enumerate(tasks):
        for j, x in said:
            beta[j] += 0.4 * first[i, j]
            prior[:, :, x] += 0.5 * first[i, j][:, None] * phi[i][None, :]
    eta, mu = beta.copy(), np.maximum(prior, 1e-6)
    for i, said in enumerate(tasks):
        for j, x in said:
            eta[j] += theta[i, j]
            mu[:, :, x] += theta[i, j][:, None] * phi[i][None, :]
    nu = u + phi.sum(axis=0)
    log_tau = digamma(nu) - digamma(nu.sum())
    log_pi = digamma(eta) - digamma(eta.sum(axis=1, keepdims=True))
    log_v = digamma(mu) - digamma(mu.sum(axis=2, keepdims=True))
    found = np.exp(crowd._iterate(coded, phi))
    for i, said in enumerate(tasks):
        score = log_tau.copy()
        for j, x in said:
            weight = np.exp(log_pi[j] + log_v[:, :, x] @ phi[i])
            score += (weight / weight.sum()) @ log_v[:, :, x]
        expected = np.exp(score - score.max())
        assert found[i] == pytest.approx(expected / expected.sum(), abs=1e-9)  # rounding


# Monotone ----------------------------------------------------------------------------------


def traces(rows: Table) -> list[np.ndarray]:
    glad, zencrowd, bcc = GLAD(), ZenCrowd(), BCC()
    ebcc, mace, ptbcc = EBCC(3, restarts=2), MACE(restarts=2), PTBCC(tolerance=1e-6)
    by_em = MACE(variational=False, knows=0.005, taste=0.005, restarts=2)
    for crowd in (glad, zencrowd, bcc, ebcc, ptbcc, mace, by_em):
        crowd.fit_predict(rows)
    return [
        np.array(trace)
        for trace in (
            glad.log_likelihood_,
            zencrowd.log_likelihood_,
            bcc.evidence_,
            ebcc.evidence_,
            ptbcc.evidence_,
            mace.objective_[1:],  # the first has no cost of parameters: those of a start
            by_em.objective_[1:],
        )
    ]


def test_every_iteration_raises_what_it_is_to_raise() -> None:
    for trace in traces(crowd_of(3, 150).labels()):
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
