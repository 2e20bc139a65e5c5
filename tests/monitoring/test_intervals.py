"""Intervals contain the truth about as often as they say, and say what backs them."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

from crowdstream.estimators import Adaptive, AgreementBased, CentredAgreement, Estimator
from crowdstream.monitoring.intervals import DOUBT, Intervals, score_limits
from crowdstream.simulation.dependent import Kind, simulate_dependent
from tests.monitoring.crowds import crowd_of, inside, rows_of


def rates(kind: str, n: int, classes: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = rng.uniform(0.05, 0.4, n)
    if kind == "spammers":
        found = np.where(np.arange(n) < n / 2, 0.1, 0.5)
    if kind == "adversaries":
        found[: max(1, n // 5)] = 0.7
    return np.clip(found * 2 * (classes - 1) / classes, 0.0, 0.95)


def width(table: pl.DataFrame) -> np.ndarray:
    return (table["error_high"] - table["error_low"]).to_numpy()


def check_limits(table: pl.DataFrame) -> None:
    low, high = table["error_low"], table["error_high"]
    for limit in (low, high):
        assert limit.null_count() == 0
        assert limit.is_finite().all()
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()


@pytest.mark.parametrize("kind", ["unequal", "spammers", "adversaries"])
@pytest.mark.parametrize(
    ("n", "tasks", "per", "classes"),
    [(5, 500, None, 2), (10, 50, None, 3), (10, 500, 5, 2), (20, 500, 5, 5), (60, 1000, 5, 2)],
)
def test_intervals_contain_the_truth_about_as_often_as_they_say(
    kind: str, n: int, tasks: int, per: int | None, classes: int
) -> None:
    found: list[bool] = []
    for seed in range(max(3, 200 // n)):
        p = rates(kind, n, classes, seed)
        block = crowd_of(n, tasks, p=p, classes=classes, per_task=per, seed=seed)
        found += inside(Adaptive().fit(block.labels()).workers(), p)
    # Asked is 93 to 99 %; three standard errors of 200 intervals are 4.6 %.
    assert np.mean(found) >= 0.93 - 0.046


@pytest.mark.parametrize("kind", [AgreementBased, CentredAgreement, Adaptive])
def test_task_by_task_they_contain_it_as_often(kind: type[Estimator]) -> None:
    found: list[bool] = []
    for seed in range(12):
        p = rates("unequal", 10, 2, seed)
        crowd = kind()
        for answers in rows_of(crowd_of(10, 150, p=p, seed=seed)):
            crowd.learn_one(answers)
        found += inside(crowd.workers(), p)
    assert np.mean(found) >= 0.93 - 0.06  # three standard errors of 120 intervals


@pytest.mark.parametrize(("n", "tasks"), [(10, 200), (40, 400)])
def test_stopping_when_sure_does_not_fool_them(n: int, tasks: int) -> None:
    found: list[bool] = []
    for seed in range(160 // n):
        rng = np.random.default_rng(seed)
        p, crowd = rng.uniform(0.1, 0.4, n), Adaptive()
        for _ in range(tasks):
            truth, answers = int(rng.integers(2)), {}
            for i in rng.permutation(n)[:8]:
                answers[f"w{i}"] = 1 - truth if rng.random() < p[i] else truth
                if len(answers) > 1 and crowd.decide_one(answers).confidence >= 0.95:
                    break
            batch = crowd._meet(list(answers.items()), None)
            crowd._model.learn(batch)
            crowd._notify(batch, 1, in_order=True)
        found += inside(crowd.workers(), p)
    assert np.mean(found) >= 0.93 - 0.052  # three standard errors of 160 intervals


@pytest.mark.parametrize("n", [10, 40])
def test_forgetting_is_less_sure_and_still_right(n: int) -> None:
    found: list[bool] = []
    for seed in range(160 // n):
        p = rates("unequal", n, 2, seed)
        block = crowd_of(n, 1500, p=p, per_task=8, seed=seed)
        kept, forgot = (Adaptive(memory=m) for m in (None, 300))
        for crowd in (kept, forgot):
            crowd.learn_many(block.labels())
        found += inside(forgot.workers(), p)
        # About 600 tasks count instead of 1,500: a factor of 1.6, but for the allowances, which are
        # of the same size in both.
        assert width(forgot.workers()).mean() > 1.15 * width(kept.workers()).mean()
    assert np.mean(found) >= 0.93 - 0.052


def test_a_table_larger_than_what_is_kept_is_as_good() -> None:
    p = rates("adversaries", 8, 2, 0)
    block = crowd_of(8, 6000, p=p, seed=5)
    whole, parts = Adaptive(), Adaptive()
    whole.learn_many(block.labels())
    for at in range(0, 48_000, 4000):
        parts.learn_many(block.labels()[at : at + 4000])
    one, two = whole.workers(), parts.workers()
    for column in ("error_low", "error_high"):
        # A standard error is 0.006.
        assert two[column].to_numpy() == pytest.approx(one[column].to_numpy(), abs=0.003)


@pytest.mark.parametrize("how", [{}, {"memory": 50}, {"families": {"w0": "a", "w1": "a"}}])
@pytest.mark.parametrize(
    "asked",
    [{"p": 0.2}, {"p": 0.3, "classes": 5}, {"p": 0.25, "adversaries": 0.4}, {"p": 0.0}, {"p": 0.5}],
    ids=["two classes", "five classes", "adversaries", "perfect", "guessers"],
)
def test_there_is_an_interval_from_the_first_answer_on(
    asked: dict[str, object], how: dict[str, object]
) -> None:
    crowd = Adaptive(**how)  # type: ignore[arg-type]
    for answers in rows_of(crowd_of(5, 25, seed=1, **asked)):
        crowd.learn_one(answers)
        check_limits(crowd.workers())


@pytest.mark.parametrize(
    "tasks",
    [
        [{"ann": "x", "bob": "x", "cy": "x"}],
        [{"ann": "x", "bob": "x"}, {"ann": "y", "bob": "y"}, {"ann": "x", "bob": "y"}],
        [{"ann": "x"}, {"bob": "y"}, {"cy": "x"}],
    ],
    ids=["one class", "two workers", "nobody meets"],
)
def test_what_cannot_be_known_has_the_widest_interval(tasks: list[dict[str, str]]) -> None:
    crowd = Adaptive()
    for answers in tasks * 20:
        crowd.learn_one(answers)
    table = crowd.workers()
    assert set(table["error_low"]) == {0.0}
    assert set(table["error_high"]) == {1.0}


def test_intervals_narrow_as_answers_come() -> None:
    found = [
        width(Adaptive().fit(crowd_of(10, tasks, p=0.25, seed=2).labels()).workers()).mean()
        for tasks in (30, 120, 480, 1920)
    ]
    # Four times the answers halve a standard error; a third off is less than that.
    assert all(later < 0.67 * earlier for earlier, later in itertools.pairwise(found))


def test_a_higher_level_makes_wider_intervals() -> None:
    crowd = Adaptive().fit(crowd_of(8, 300, p=0.25, seed=3).labels())
    tables = [crowd.workers(level=level) for level in (0.5, 0.8, 0.95, 0.999)]
    for narrow, wide in itertools.pairwise(tables):
        assert (width(narrow) < width(wide)).all()


@pytest.mark.parametrize("tasks", [20, 200, 2000])
def test_who_never_errs_may_never_err_by_the_interval(tasks: int) -> None:
    crowd = Adaptive().fit(crowd_of(9, tasks, p=[0.0] * 6 + [0.3] * 3, seed=4).labels())
    low = crowd.workers().sort("worker")["error_low"].to_list()
    assert low[:6] == pytest.approx([0.0] * 6, abs=0.012)


def test_limits_are_roots_or_infinite() -> None:
    x = np.zeros(1)
    assert [limit.item() for limit in score_limits(x, x, x, x, x, 1.96)] == [-np.inf, np.inf]
    b, c, v, f, d = (np.array([x]) for x in (30.0, 50.0, 45.0, 5.0, 40.0))
    for limit in score_limits(b, c, v, f, d, 1.96):
        assert (b - limit * c) ** 2 == pytest.approx(1.96**2 * (v + limit * f - limit**2 * d))


def joint_errors() -> tuple[list[tuple[int, int, int]], dict[int, int], np.ndarray]:
    """A crowd that is wrong together on a quarter of the tasks: agreement cannot see it."""
    rng = np.random.default_rng(0)
    truth, trick = rng.integers(2, size=400), rng.random(400) < 0.25
    said = (truth ^ trick)[:, None] ^ (rng.random((400, 7)) < np.linspace(0.05, 0.2, 7))
    rows = [(t, i, int(said[t, i])) for t in range(400) for i in range(7)]
    return rows, dict(enumerate(truth.tolist())), np.asarray((said != truth[:, None]).mean(axis=0))


def test_gold_that_the_crowd_gets_wrong_raises_the_upper_limit() -> None:
    rows, truth, really = joint_errors()
    blind, with_gold = AgreementBased(), AgreementBased()
    blind.learn_many(rows)
    with_gold.learn_many(rows, gold={t: truth[t] for t in range(80)})
    before, after = blind.workers(), with_gold.workers()
    assert set(before["evidence"]) == {"agreement"}
    assert set(after["evidence"]) == {"gold"}
    assert (before["error_high"].to_numpy() < really).all()
    assert (after["error_high"].to_numpy() > really).all()
    check_limits(after)


def test_one_gold_task_backs_no_interval() -> None:
    crowd = Adaptive().fit(crowd_of(5, 100, p=0.2).labels())
    crowd.learn_one({"w0": "0"}, gold="0")
    assert "gold" not in crowd.workers()["evidence"].to_list()


def covered(crowd: Adaptive, rates: np.ndarray) -> np.ndarray:
    table = crowd.workers()
    true = rates[table["worker"].str.slice(1).cast(pl.Int64).to_numpy()]
    low, high = table["error_low"].to_numpy(), table["error_high"].to_numpy()
    return (low <= true) & (true <= high)


@pytest.mark.parametrize(("n", "tasks", "per_task"), [(5, 300, 5), (10, 2000, 10), (40, 600, 5)])
@pytest.mark.parametrize("kind", ["difficulty", "class", "copying"])
def test_intervals_allow_for_errors_made_together(
    kind: Kind, n: int, tasks: int, per_task: int
) -> None:
    found = []
    for seed in range(8):
        made = simulate_dependent(kind, n, tasks, per_task=per_task, seed=seed)
        found += covered(Adaptive().fit(made.labels()), made.error_rates).tolist()
    # 40 to 320 intervals that should hold in nine of ten cases: two standard errors of the fewest,
    # which come in crowds, so that they are no more than half as many.
    assert np.mean(found) >= 0.9 - (0.13 if n == 5 else 0.05)


def test_only_gold_shows_tasks_that_fool_the_crowd() -> None:
    without: list[bool] = []
    with_gold: list[bool] = []
    for seed in range(4):
        made = simulate_dependent("tricky", 10, 2000, seed=seed)
        gold = made.truths()[::40]
        for given, found in ((None, without), (gold, with_gold)):
            crowd = Adaptive().fit(made.labels(), gold=given)
            found += covered(crowd, made.error_rates).tolist()
            assert set(crowd.workers()["evidence"]) <= (
                {"agreement", DOUBT} if given is None else {"gold"}
            )
    assert np.mean(without) < 0.6, "labels alone cannot tell, and the docs say so"
    assert np.mean(with_gold) >= 0.92


def test_evidence_is_in_doubt_where_workers_err_together() -> None:
    together = simulate_dependent("difficulty", 30, 1000).labels()
    assert set(Adaptive().fit(together).workers()["evidence"]) == {DOUBT}
    alone = crowd_of(10, 5000, p=np.linspace(0.1, 0.4, 10), seed=2).labels()
    assert set(Adaptive().fit(alone).workers()["evidence"]) == {"agreement"}


def test_sums_of_a_fit_do_not_depend_on_the_order_of_rows() -> None:
    labels = crowd_of(40, 300, p=0.25, per_task=5, seed=6).labels()
    one, two = (
        Adaptive().fit(labels),
        Adaptive().fit(labels.sample(fraction=1, shuffle=True, seed=1)),
    )
    for column in ("error_low", "error_high"):
        found = [crowd.workers().sort("worker")[column].to_numpy() for crowd in (one, two)]
        assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_memory_stays_bounded_on_a_long_stream() -> None:
    observer, crowd = Intervals(), Adaptive()
    crowd.observers = [observer]
    labels = crowd_of(4, 9000, p=0.2, seed=7).labels()
    for at in range(0, 36_000, 1200):
        crowd.learn_many(labels[at : at + 1200])
        assert len(observer._recent) <= 2000


def test_a_short_memory_over_many_tasks_neither_overflows_nor_vanishes() -> None:
    for n in (5, 40):
        crowd = Adaptive(memory=3)
        crowd.learn_many(crowd_of(n, 3000, p=0.2, per_task=5, seed=8).labels())
        check_limits(crowd.workers())
