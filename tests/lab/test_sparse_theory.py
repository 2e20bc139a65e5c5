"""The sparse regime: its formulas against enumeration and simulation, its bounds against both."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from crowdstream.errors import InputError
from crowdstream.models.teacher import read_teacher, skills_of
from crowdstream.sums.rows import CAP_SKILL
from crowdstream_lab import theory
from crowdstream_lab.theory.sparse import HABIT
from crowdstream_lab.theory.sparse_bounds import bound_from_errors, bound_if_calibrated, lost_by_cap
from crowdstream_lab.theory.sparse_votes import CAP
from tests.benchmarks import load_benchmark

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""A few thousand additions of numbers near 1 in double precision."""

SURE = 4.0
"""Standard errors: of the few dozen comparisons below, one in five hundred runs would fail."""

EVEN = (np.arange(60) + 0.5) / 100
HALVES = np.array([0.0, 0.6])
WHOLE = (np.arange(100) + 0.5) / 100
HAMMERS = np.array([0.0, 1.0])


@pytest.fixture(scope="module")
def sparse() -> ModuleType:
    return load_benchmark("sparse")


# The variance of a skill -----------------------------------------------------------------------


def one_task(
    skill: float, mean: float, labels: int, classes: int
) -> Iterator[tuple[float, int, Floats]]:
    """All that can be said of a task: how likely, the worker's label, the others' votes."""
    for truth in range(classes):
        for said in itertools.product(range(classes), repeat=labels):
            skills = [skill] + [mean] * (labels - 1)
            chance = 1 / classes
            for ψ, x in zip(skills, said, strict=True):
                chance *= ψ * (x == truth) + (1 - ψ) / classes
            yield chance, said[0], np.bincount(said[1:], minlength=classes).astype(float)


def centred(tasks: tuple[tuple[float, int, Floats], ...], classes: int) -> float:
    """R by its definition, with classes equally frequent."""
    share = 1 / classes
    said = np.bincount([x for _, x, _ in tasks], minlength=classes)
    habit = (said + HABIT * share) / (len(tasks) + HABIT)
    total = 0.0
    for _, x, votes in tasks:
        own = np.eye(classes)[x]
        total += float((own - habit) @ (votes - votes.sum() * share))
    return total / (1 - share) * (len(tasks) + HABIT) / (len(tasks) + HABIT - 1)


@pytest.mark.parametrize(
    ("classes", "labels", "answers"),
    [(2, 2, 1), (2, 2, 3), (2, 3, 2), (2, 5, 1), (3, 2, 1), (3, 2, 2), (3, 3, 1), (4, 3, 1)],
)
def test_the_variance_is_exact(classes: int, labels: int, answers: int) -> None:
    skill, mean = 0.35, 0.6
    cases = list(one_task(skill, mean, labels, classes))
    first = second = 0.0
    for tasks in itertools.product(cases, repeat=answers):
        chance = math.prod(task[0] for task in tasks)
        raw = centred(tasks, classes) / (answers * (labels - 1) * mean)
        first, second = first + chance * raw, second + chance * raw**2
    assert first == pytest.approx(skill, abs=ROUNDING)
    found = theory.skill_variance(skill, mean, answers, labels, classes)
    assert second - first**2 == pytest.approx(found, rel=1e-10)  # 10⁵ products of four digits less


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("labels", "answers"), [(2, 12), (5, 5), (9, 20)])
def test_the_teacher_has_it(sparse: ModuleType, classes: int, labels: int, answers: int) -> None:
    n, rng = 6_000, np.random.default_rng([classes, labels])
    skills = sparse.spread_out(np.array([0.0, 0.3, 0.6]), n)
    teacher = read_teacher(sparse.made(rng, skills, answers, labels, classes).sums(), 1.0)
    assumed = theory.assumed_variance(teacher.mean, answers, labels, classes)
    raw = sparse.raw_skills(teacher, n, assumed) * teacher.mean / 0.3  # as if ψ̄ were known
    for skill in (0.0, 0.3, 0.6):
        squares = (raw[skills == skill] - skill) ** 2
        error = squares.std() / math.sqrt(squares.size)
        # f is estimated, and some meet twice: of the order of l r/n more
        slack = labels * answers / n * squares.mean()
        found = theory.skill_variance(skill, 0.3, answers, labels, classes)
        assert abs(squares.mean() - found) < SURE * error + slack


def test_the_mean_skill_varies_as_said(sparse: ModuleType) -> None:
    n, answers, labels, crowds = 200, 8, 4, 400
    found = []
    for seed in range(crowds):
        rng = np.random.default_rng(seed)
        skills = rng.choice([0.2, 1.0], n)
        teacher = read_teacher(sparse.made(rng, skills, answers, labels).sums(), 1.0)
        found.append(teacher.surplus / teacher.met)
    said = theory.mean_skill_variance(0.6, 0.16, n, answers, labels) * (2 * 0.6) ** 2  # of ψ̄²
    # the variance of 400 numbers, and terms of the order of 1/n
    assert np.var(found) == pytest.approx(said, rel=SURE * math.sqrt(2 / crowds) + 5 / n)


def test_what_the_teacher_assumes(sparse: ModuleType) -> None:
    n, answers, labels, classes = 600, 10, 5, 3
    rng = np.random.default_rng(1)
    made = sparse.made(rng, sparse.spread_out(HALVES, n), answers, labels, classes)
    teacher = read_teacher(made.sums(), 1.0)
    noise = theory.assumed_variance(teacher.mean, answers, labels, classes)
    raw = sparse.raw_skills(teacher, n, noise)
    teacher.spread = 0.04
    shrunk = (0.04 * raw + noise * teacher.mean) / (0.04 + noise)
    inside = (shrunk > -0.5) & (shrunk < 1)
    assert inside.sum() > 500
    assert skills_of(teacher, n)[inside] == pytest.approx(shrunk[inside], abs=1e-6)


@pytest.mark.parametrize("classes", [2, 4, 10])
def test_a_worker_of_mean_skill_and_known_habit_is_assumed(classes: int) -> None:
    for labels in (2, 5, 20):
        exact = theory.skill_variance(0.4, 0.4, 1, labels, classes)  # one answer: no habit
        found = theory.assumed_variance(0.4, 1, labels, classes)
        assert found == pytest.approx(exact, rel=ROUNDING)
        # What it leaves out: the habit, at most 1/32 of a guesser's variance, and τ²/r.
        average = theory.average_variance(0.4, 0.03, 10, labels, classes)
        assumed = theory.assumed_variance(0.4, 10, labels, classes)
        assert -average / 16 <= assumed - average <= 0.03 / 10


def test_constants_are_the_estimators() -> None:
    assert CAP == CAP_SKILL


def test_the_habits_prior_is_the_estimators(sparse: ModuleType) -> None:
    n, answers, labels = 3_000, 6, 5
    rng = np.random.default_rng(3)
    made = sparse.made(rng, np.full(n, 0.5), answers, labels)
    teacher = read_teacher(made.sums(), 1.0)
    noise = theory.assumed_variance(teacher.mean, answers, labels)
    raw = sparse.raw_skills(teacher, n, noise) * answers * (labels - 1) * teacher.mean
    signs = 2.0 * made.said - 1
    others = signs.sum(axis=1, keepdims=True) - signs
    own, met, agreed = (
        np.bincount(made.who.ravel(), values.ravel(), n)
        for values in (signs, others, signs * others)
    )
    off = {
        habit: np.abs(agreed - (own * met - agreed) / (answers + habit - 1) - raw).mean()
        for habit in (HABIT - 2, HABIT, HABIT + 2)
    }
    assert min(off, key=lambda habit: off[habit]) == HABIT


# Votes -----------------------------------------------------------------------------------------


def exact_error(
    chances: Floats, skills: Floats, weights: Floats, labels: int, classes: int
) -> float:
    """Of a vote, by enumeration: each label's worker is one of these, the truth is class 0."""
    right = (1 + (classes - 1) * skills) / classes
    label = np.stack([right] + [(1 - skills) / classes] * (classes - 1), axis=1)  # worker × said
    probabilities = (chances[:, None] * label).ravel()
    scores = (weights[:, None, None] * np.eye(classes)).reshape(-1, classes)
    total, sums = np.ones(1), np.zeros((1, classes))
    for _ in range(labels):
        total = np.multiply.outer(total, probabilities).ravel()
        sums = (sums[:, None, :] + scores).reshape(-1, classes)
    first = sums >= sums.max(axis=1, keepdims=True) - 1e-9
    return 1 - float(total @ (first[:, 0] / first.sum(axis=1)))


def log_odds(skills: Floats, classes: int = 2) -> Floats:
    """Weights of votes; who is always right outvotes all others, and nothing is infinite."""
    with np.errstate(divide="ignore"):
        return np.minimum(np.log((1 + (classes - 1) * skills) / (1 - skills)), 40.0)


@pytest.mark.parametrize(
    ("skills", "labels", "off"),
    [
        ([0.0, 0.6], 5, 1e-9),
        ([0.5], 3, 1e-9),
        ([0.1, 0.3, 0.8], 4, 1e-3),  # weights are rounded to 1/800, which may make or break a tie
    ],
)
def test_known_and_equal_weights_are_exact(skills: list[float], labels: int, off: float) -> None:
    given, even = np.array(skills), np.full(len(skills), 1 / len(skills))
    found = theory.weights_beat_majority(given, 10, labels)
    known = exact_error(even, given, log_odds(given), labels, 2)
    assert found.known == pytest.approx(known, abs=off)
    majority = exact_error(even, given, np.ones(given.size), labels, 2)
    assert found.majority == pytest.approx(majority, abs=1e-9)


@pytest.mark.parametrize("kind", [EVEN, HALVES], ids=["even", "halves"])
@pytest.mark.parametrize(("labels", "answers"), [(5, 10), (9, 20)])
def test_the_formula_says_what_is_measured(
    sparse: ModuleType, kind: Floats, labels: int, answers: int
) -> None:
    found = sparse.measure(kind, 6_000, answers, labels, 2, 3)
    errors = theory.weights_beat_majority(kind, answers, labels)
    # 0.003: at n = 6,000 the teacher's τ² is off by some 15 %, and noise is not quite normal
    for measured, said in ((found.shrunk, errors.shrunk), (found.raw, errors.raw)):
        assert measured.mean() == pytest.approx(said - errors.known, abs=0.003)
    assert found.majority.mean() == pytest.approx(errors.majority - errors.known, abs=0.001)


def test_the_signal_is_largest_with_the_trust_of_empirical_bayes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        mean, spread, noise = rng.uniform(0.05, 0.6), rng.uniform(0.001, 0.1), rng.uniform(0.01, 2)
        best = spread / (spread + noise)
        top = theory.label_signal(mean, spread, noise, best)
        assert top == pytest.approx(mean**2 + spread * best)
        assert top >= max(
            theory.label_signal(mean, spread, noise, c) for c in np.linspace(0, 1, 51)
        )
        limit = theory.trust_limit(mean, spread, noise)
        assert limit >= 2 * best
        if limit <= 1:
            assert theory.label_signal(mean, spread, noise, limit) == pytest.approx(mean**2)


def test_answers_to_beat_majority_are_enough_and_no_fewer_are() -> None:
    for mean, spread, labels in ((0.3, 0.09, 5), (0.2, 0.03, 3), (0.5, 0.05, 2)):
        least = theory.answers_to_beat_majority(mean, spread, labels)
        signals = [
            theory.label_signal(
                mean, spread, theory.average_variance(mean, spread, answers, labels), 1.0
            )
            for answers in (least - 1, least)
        ]
        assert signals[0] <= mean**2 < signals[1]
    assert theory.answers_to_beat_majority(0.3, 0.0, 5) == 10**9


def test_more_answers_and_labels_only_help() -> None:
    for kind in (EVEN, HALVES):
        errors = [theory.weights_beat_majority(kind, r, 9) for r in (5, 20, 80, 320)]
        for before, after in itertools.pairwise(errors):
            assert after.shrunk < before.shrunk
            assert after.raw < before.raw
        for each in errors:
            assert each.known <= each.shrunk <= each.majority
        bounds = [theory.shrunk_excess_bound(kind, r, 9) for r in (5, 80, 1_280, 20_480)]
        assert bounds == sorted(bounds, reverse=True)
        assert bounds[-1] < bounds[0] / 3
    variances = [theory.skill_variance(0.3, 0.3, r, 5) for r in (1, 2, 10, 100)]
    assert variances == sorted(variances, reverse=True)
    variances = [theory.skill_variance(0.3, 0.3, 10, labels) for labels in (2, 3, 10, 100)]
    assert variances == sorted(variances, reverse=True)


# Bounds ----------------------------------------------------------------------------------------


def test_no_crowd_with_calibrated_estimates_exceeds_the_bounds() -> None:
    """Skills seen through a channel; the estimate is the mean skill of what was seen."""
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(200):
        kinds, seen, labels = (
            int(rng.integers(2, 5)),
            int(rng.integers(2, 4)),
            int(rng.integers(2, 5)),
        )
        skills = rng.uniform(0, rng.choice([0.3, 0.6, 0.9, 1.0]), kinds)
        skills[0] = rng.choice([skills[0], 1.0])  # now and then somebody is always right
        joint = rng.dirichlet(np.full(seen, rng.choice([0.1, 0.5, 3.0])), kinds) / kinds
        chances = joint.sum(axis=0)
        estimates = skills @ joint / chances
        error = float((joint * (skills[:, None] - estimates) ** 2).sum())
        # given what was seen, a label is as good as its worker's estimate
        found = exact_error(chances, estimates, log_odds(estimates), labels, 2)
        even = np.full(kinds, 1 / kinds)
        known = exact_error(even, skills, log_odds(skills), labels, 2)
        majority = exact_error(even, skills, np.ones(kinds), labels, 2)
        integral = bound_if_calibrated(skills, error, labels)
        bound = min(integral, majority - known)
        # the integral is a sum of 40,000 terms, off by up to 1.3 % where the error is tiny (ANGLES)
        assert -ROUNDING <= found - known <= 1.02 * bound + ROUNDING
        gap = theory.jensen_gap(skills, error)
        simple = 2 * labels / math.pi * math.sqrt(2 * gap)
        simple *= (1 - (skills**2).mean() + error) ** ((labels - 0.5) / 2)
        assert integral <= simple * 1.02
        # what the gap bounds, and an integrand may stray from known by
        reached = chances @ np.sqrt(1 - estimates**2) - np.sqrt(1 - skills**2).mean()
        assert -ROUNDING <= reached <= gap + ROUNDING
        cap = rng.uniform(0.2, 0.95)  # estimates that are cut
        cut = np.minimum(estimates, cap)
        extra = exact_error(chances, estimates, log_odds(cut), labels, 2) - found
        assert -ROUNDING <= extra <= lost_by_cap(skills, error, labels, cap) + ROUNDING
        if bound > 1e-6:
            ratios.append((found - known) / bound)
    assert max(ratios) > 0.9, "some come close, so that a bound half as large would fail"
    assert np.median(ratios) > 0.05


@pytest.mark.parametrize("classes", [2, 3])
def test_no_crowd_whatever_its_estimates_exceeds_the_bound(classes: int) -> None:
    rng = np.random.default_rng(classes)
    ratios = []
    for _ in range(150):
        kinds, labels = int(rng.integers(2, 6)), int(rng.integers(2, 4))
        skills = rng.uniform(0, rng.choice([CAP, 1.0]), kinds)
        skills[0] = rng.choice([skills[0], 1.0])  # now and then somebody is always right
        noise, cap = rng.choice([0.02, 0.1, 0.5]), rng.choice([CAP, 0.9])
        estimates = np.clip(skills + noise * rng.standard_normal(kinds), 0, cap)
        even = np.full(kinds, 1 / kinds)
        known = exact_error(even, skills, log_odds(skills, classes), labels, classes)
        found = exact_error(even, skills, log_odds(estimates, classes), labels, classes)
        errors = (estimates - skills) ** 2 / ((1 + (classes - 1) * estimates) * (1 - estimates))
        bound = bound_from_errors(skills, errors, labels, classes)
        assert -ROUNDING <= found - known <= bound + ROUNDING
        ratios.append((found - known) / bound)
    assert max(ratios) > 0.04, "the bound is loose, and this says how much"


@pytest.mark.parametrize("kind", [EVEN, HALVES], ids=["even", "halves"])
def test_the_bounds_hold_for_what_runs(sparse: ModuleType, kind: Floats) -> None:
    for labels, answers in ((5, 5), (9, 40), (25, 40)):
        found = sparse.measure(kind, 3_000, answers, labels, 2, 2)
        bound = theory.shrunk_excess_bound(kind, answers, labels)
        # the bound is that of a large crowd; that τ² is estimated may cost some 0.001 more, and two
        # crowds leave a standard error of 0.0003
        assert 0 < found.shrunk.mean() < bound + 0.0016
        assert 0 < found.raw.mean() < theory.excess_error_bound(kind, answers, labels)


@pytest.mark.parametrize("kind", [WHOLE, HAMMERS], ids=["whole", "hammers"])
def test_formula_and_bounds_hold_for_skills_up_to_one(sparse: ModuleType, kind: Floats) -> None:
    for labels, answers in ((5, 20), (9, 40)):
        found = sparse.measure(kind, 4_000, answers, labels, 2, 2)
        for cap, measured in ((CAP, found.shrunk), (sparse.WIDE, found.wide)):
            errors = theory.weights_beat_majority(kind, answers, labels, cap=cap)
            # 0.003 as above: τ² is estimated, and the noise of who is always right is not normal
            assert measured.mean() == pytest.approx(errors.shrunk - errors.known, abs=0.003)
            bound = theory.shrunk_excess_bound(kind, answers, labels, cap=cap)
            assert 0 <= measured.mean() < bound
            assert measured.mean() < theory.excess_error_bound(kind, answers, labels, cap=cap)
        assert found.wide.mean() < found.shrunk.mean(), "where workers are good the cap costs"


def test_the_bound_for_any_weights_falls_with_answers_and_labels() -> None:
    for classes in (2, 3, 10):
        by_answers = [
            theory.excess_error_bound(HALVES, r, 25, classes=classes) for r in (10**3, 10**4, 10**5)
        ]
        assert by_answers[0] > by_answers[1] > by_answers[2] > 0
        # a square root of the variance, once it is small
        assert by_answers[1] / by_answers[2] == pytest.approx(math.sqrt(10), rel=0.1)
    shrunk = theory.excess_error_bound(EVEN, 50, 25, trust=0.4)
    assert shrunk < theory.excess_error_bound(EVEN, 50, 25)


def test_the_integral_is_the_error_of_the_best_vote() -> None:
    """1/π ∫ B^l/(1 + 4s²) ds, from which the bound is made."""
    s = np.tan((np.arange(20_000) + 0.5) / 20_000 * math.pi / 2) / 2
    for skills, labels in ((HALVES, 5), (np.array([0.1, 0.5, 0.9]), 4)):
        waves = np.sqrt(1 - skills**2) * np.cos(2 * np.outer(s, np.arctanh(skills)))
        found = float((waves.mean(axis=1) ** labels).mean()) / 2
        known = exact_error(
            np.full(skills.size, 1 / skills.size), skills, log_odds(skills), labels, 2
        )
        assert found == pytest.approx(known, abs=1e-4)  # the integrand oscillates at its end


def test_the_gap_is_finite_for_every_crowd_and_what_the_page_says_of_it() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        skills = rng.uniform(0, 1, int(rng.integers(1, 6)))
        error = float(rng.uniform(0, 0.25)) ** 2
        gap = theory.jensen_gap(skills, error)
        curved = (1 - skills.max() ** 2) ** -1.5
        # 200 tangents: a thousandth above the least
        assert 0 <= gap <= min(curved * error / 2, math.sqrt(2) * error**0.25) * 1.001
        knowing = np.array([1.0] * int(rng.integers(1, 4)) + [0.0] * int(rng.integers(1, 4)))
        gap = theory.jensen_gap(knowing, error)
        assert gap <= math.sqrt(2 * knowing.mean() * error) * 1.001
    assert theory.jensen_gap([0.0, 1.0], 0.0) == 0.0


def test_the_gap_is_reached_by_some_estimates_of_hammers_and_spammers() -> None:
    """Who is seen to know, and who may: of these kinds of estimates, the worst there is."""
    for error in (0.001, 0.01, 0.1):
        worst = 0.0
        for known in np.linspace(0, 1, 2_001)[:-1]:  # a hammer that is not known joins m's group
            # of all workers, half × (1 − known) are unknown hammers, beside some spammers
            left = (1 - known) / 2
            m = 1 - error / left  # left · (1 − m) is the mean square error
            if m > 0 and left / m - left <= 0.5:
                group = left / m
                worst = max(worst, group * math.sqrt(1 - m**2) + 0.5 - (group - left) - 0.5)
        gap = theory.jensen_gap(HAMMERS, error)
        assert worst == pytest.approx(gap, rel=0.002)  # 2,000 shares, 200 tangents


def test_bounds_of_hammers_and_spammers_say_something() -> None:
    bounds = [theory.shrunk_excess_bound(HAMMERS, r, 25) for r in (20, 100, 1_000, 10_000)]
    assert bounds == sorted(bounds, reverse=True)
    errors = theory.weights_beat_majority(HAMMERS, 1_000, 25)
    assert 0 < bounds[2] < 0.3 * (errors.majority - errors.known)
    cut = [theory.shrunk_excess_bound(HAMMERS, 1_000, 25, cap=cap) for cap in (0.6, 0.9, 0.99)]
    assert cut == sorted(cut, reverse=True)
    assert cut[-1] > bounds[2]
    loose = theory.excess_error_bound(HAMMERS, 10**6, 25, cap=0.6)
    assert theory.excess_error_bound(HAMMERS, 10**6, 25, cap=0.9) < loose, "a cap costs for ever"


# Edges -----------------------------------------------------------------------------------------


def test_the_smallest_case_and_perfect_workers() -> None:
    assert theory.skill_variance(0.5, 0.5, 1, 2) == pytest.approx(1 / 0.25 - 0.25)
    found = theory.weights_beat_majority([0.0, 1.0], 1, 2)
    assert found.known == pytest.approx(1 / 8)  # both guess, and half of the time they are wrong
    assert 0 <= theory.shrunk_excess_bound([0.0, 1.0], 1, 2) <= found.majority - found.known + 1e-9
    assert theory.shrunk_excess_bound([0.5, 0.5], 10, 5) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: theory.skill_variance(0.5, 0.0, 10, 5), "mean"),
        (lambda: theory.skill_variance(1.5, 0.5, 10, 5), "skill"),
        (lambda: theory.skill_variance(0.5, 0.5, 0, 5), "answers"),
        (lambda: theory.skill_variance(0.5, 0.5, 10, 1), "labels"),
        (lambda: theory.skill_variance(0.5, 0.5, 10, 5, 1), "classes"),
        (lambda: theory.mean_skill_variance(0.5, 0.1, 2, 10, 5), "workers"),
        (lambda: theory.label_signal(0.5, 0.1, -1.0, 1.0), "noise"),
        (lambda: theory.label_signal(0.5, 0.1, 1.0, 2.0), "trust"),
        (lambda: theory.weights_beat_majority([0.0, 0.0], 10, 5), "skills"),
        (lambda: theory.weights_beat_majority([-0.1, 0.5], 10, 5), "skills"),
        (lambda: theory.excess_error_bound([0.5, 1.2], 10, 5), "skills"),
        (lambda: theory.excess_error_bound([0.5, 0.7], 10, 5, cap=1.0), "cap"),
        (lambda: theory.shrunk_excess_bound([0.5, 0.7], 10, 5, cap=0.0), "cap"),
        (lambda: theory.weights_beat_majority([0.5, 0.7], 10, 5, cap=1.0), "cap"),
        (lambda: theory.jensen_gap([0.5, 0.7], -0.1), "error"),
        (lambda: theory.jensen_gap([0.5, 1.7], 0.1), "skills"),
    ],
)
def test_nonsense_is_refused(call: object, named: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=named):
        call()


# The benchmark ---------------------------------------------------------------------------------


def test_every_worker_answers_as_often_and_no_task_twice(sparse: ModuleType) -> None:
    made = sparse.made(np.random.default_rng(0), np.full(50, 0.5), 10, 5)
    assert (np.bincount(made.who.ravel()) == 10).all()
    assert all(np.unique(row).size == 5 for row in made.who)


def test_the_benchmark_prints_its_tables(
    sparse: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    sparse.main(["--quick", "variance", "classes"])
    printed = capsys.readouterr().out
    assert "Variance of raw skills" in printed
    assert "K classes" in printed


def test_the_chart_has_a_panel_for_each_crowd_and_number_of_labels(
    sparse: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair")
    monkeypatch.setattr(sparse, "FRESH", 1_000)
    two = {name: kind for name, kind in sparse.CROWDS.items() if "half" in name}
    monkeypatch.setattr(sparse, "CROWDS", two)
    points: list[dict[str, object]] = []
    sparse.excess(True, points)
    monkeypatch.setattr(sparse, "LABELS", (5,))
    monkeypatch.setattr(sparse, "DRAWN", (5, 50))
    assert set(sparse.lines()["what"]) == {"bound", "formula"}
    drawn = sparse.draw(sparse.pl.DataFrame(points)).to_dict()
    assert len(drawn["vconcat"]) == len(sparse.CROWDS)
    assert all(len(row["hconcat"]) == 1 for row in drawn["vconcat"])
