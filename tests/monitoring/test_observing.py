"""Monitors change no decision, and saving, merging and retracting keep what they saw."""

from __future__ import annotations

import numpy as np
import pytest

from crowdstream.errors import InputError, StateError
from crowdstream.estimators import Adaptive, Estimator, MajorityVote
from crowdstream.estimators.observer import Observer
from crowdstream.monitoring import (
    Agreement,
    Drift,
    Intervals,
    Pairs,
    Trends,
    alarms,
    effective_votes,
    families,
    monitor,
    pairs,
    trends,
)
from tests.insides import committee_of, reading_of
from tests.monitoring.crowds import ESTIMATORS, crowd_of, monitored, rows_of

ALL: list[type[Observer]] = [Intervals, Drift, Trends, Pairs, Agreement]


def without_observers(crowd: Estimator) -> bytes:
    crowd.observers = []
    return crowd.to_bytes()


@pytest.mark.filterwarnings("ignore::crowdstream.errors.NotIdentifiable")
@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("how", ["fit", "stream", "one by one"])
def test_with_and_without_monitors_decisions_are_the_same_to_the_bit(
    kind: type[Estimator], how: str
) -> None:
    block = crowd_of(8, 150, p=0.25, classes=3, seed=1)
    gold = block.truths().head(30)
    observed, alone = monitor(kind()), kind()
    alone.observers = []
    tables = []
    for crowd in (observed, alone):
        if how == "one by one":
            for answers in rows_of(block):
                crowd.learn_one(answers)
            tables.append(crowd.predict_many(block.labels()))
        elif how == "fit":
            tables.append(crowd.fit_predict(block.labels(), gold=gold))
        else:
            tables.append(crowd.stream_many(block.labels(), gold=gold))
    assert tables[0].equals(tables[1])
    assert len(observed.observers) == len(ALL)
    assert observed.predict_many(block.labels()).equals(alone.predict_many(block.labels()))
    assert without_observers(observed) == alone.to_bytes()


@pytest.mark.parametrize("how", [{}, {"memory": 100}, {"families": {"w0": "a", "w1": "a"}}])
@pytest.mark.parametrize("n", [6, 40])
def test_saved_monitors_go_on_as_if_nothing_had_happened(n: int, how: dict[str, object]) -> None:
    labels = crowd_of(n, 400, p=0.2, per_task=6, seed=2).labels()
    crowd = monitor(Adaptive(**how))  # type: ignore[arg-type]
    crowd.learn_many(labels[:1200])
    again = Estimator.load(crowd.to_bytes())
    assert again.to_bytes() == crowd.to_bytes()
    for each in (crowd, again):
        each.learn_many(labels[1200:])
        each.learn_one({"w0": "1", "w1": "1", "w2": "0"})
    assert again.to_bytes() == crowd.to_bytes()
    assert again.workers().equals(crowd.workers())
    assert pairs(again).equals(pairs(crowd))
    assert trends(again).equals(trends(crowd))
    assert alarms(again) == alarms(crowd)


def test_asking_changes_nothing() -> None:
    crowd = monitored(crowd_of(6, 300, p=0.2))
    before = crowd.to_bytes()
    crowd.workers(), alarms(crowd), trends(crowd), pairs(crowd), families(crowd)
    effective_votes(crowd, 5)
    assert crowd.to_bytes() == before


@pytest.mark.parametrize("n", [8, 40])
def test_merged_halves_are_as_sure_as_one_pass(n: int) -> None:
    labels = crowd_of(n, 1000, p=np.linspace(0.1, 0.4, n), per_task=8, seed=3).labels()
    whole, left, right = (monitor(Adaptive()) for _ in range(3))
    whole.learn_many(labels)
    left.learn_many(labels[:4000])
    right.learn_many(labels[4000:])
    left += right
    # How far workers err together was measured on other samples, which is not the question here.
    reading_of(left).rho, committee_of(left).pairs = (
        reading_of(whole).rho,
        committee_of(whole).pairs,
    )
    one, two = whole.workers().sort("worker"), left.workers().sort("worker")
    # A standard error of a thousand answers; a fifth of those in the larger crowd.
    margin = 0.015 if n == 8 else 0.03
    for column in ("error_low", "error_high"):
        assert two[column].to_numpy() == pytest.approx(one[column].to_numpy(), abs=margin)
    assert counts(left) == counts(whole)


def counts(crowd: Estimator) -> dict[frozenset[str], tuple[float, float]]:
    """Tasks shared and agreement of every two workers, whoever of them came first."""
    columns = pairs(crowd, least=1).select("one", "other", "tasks", "agreement").iter_rows()
    return {frozenset((one, other)): (tasks, agreed) for one, other, tasks, agreed in columns}


def test_merging_strangers_adds_them() -> None:
    left, right = monitor(Adaptive()), monitor(Adaptive())
    for k in range(40):
        left.learn_one({"ann": k % 2, "bob": k % 2, "cy": k % 3 % 2})
        right.learn_one({"di": k % 2, "ed": k % 2, "flo": k % 3 % 2, "ann": k % 2})
    left += right
    found = pairs(left).filter(one="ann")
    shared = dict(found.select("other", "tasks").iter_rows())
    assert shared == dict.fromkeys(("bob", "cy", "di", "ed", "flo"), 40.0)
    assert left.workers()["error_high"].is_between(0, 1).all()


def test_a_task_taken_back_leaves_the_intervals_of_before() -> None:
    crowd = monitored(crowd_of(6, 200, p=0.2, seed=4))
    before = crowd.workers()
    crowd.learn_one({"w0": "0", "w1": "1", "w2": "0"})
    crowd.unlearn_one({"w0": "0", "w1": "1", "w2": "0"})
    after = crowd.workers()
    # Posterior counts are taken back by the skills of now, not of then: a few hundredths of a task.
    for column in ("error_low", "error_high"):
        assert after[column].to_numpy() == pytest.approx(before[column].to_numpy(), abs=1e-3)
    met = pairs(crowd).filter(one="w0", other="w1")["tasks"].item()
    assert met == 200


@pytest.mark.parametrize("question", [alarms, trends, pairs])
def test_without_monitors_the_answer_names_the_fix(question: object) -> None:
    with pytest.raises(InputError, match=r"monitor\(crowd\)"):
        question(Adaptive())  # type: ignore[operator]


def test_what_was_learnt_before_would_be_missing() -> None:
    crowd = Adaptive()
    crowd.learn_one({"ann": 1})
    with pytest.raises(InputError, match="nothing yet"):
        monitor(crowd)


def test_intervals_go_along_with_every_estimator() -> None:
    assert [type(observer) for observer in MajorityVote().observers] == [Intervals]
    assert [type(o) for o in monitor(Adaptive()).observers] == ALL
    assert [type(o) for o in monitor(monitor(Adaptive())).observers] == ALL


@pytest.mark.parametrize("kind", ALL)
def test_sums_that_do_not_fit_are_refused(kind: type[Observer]) -> None:
    packed = kind().pack()
    for name in packed:
        if name == "skills":
            continue
        with pytest.raises(StateError):
            kind().unpack({key: array for key, array in packed.items() if key != name})


def test_more_workers_than_slots_are_compared_by_how_much_they_answer() -> None:
    crowd = monitor(Adaptive())
    rng = np.random.default_rng(0)
    rows = [(t, int(w), int(rng.integers(2))) for t in range(300) for w in range(3 * t, 3 * t + 3)]
    crowd.learn_many(rows)
    busy = [(f"late{t}", 10_000 + w, t % 2) for t in range(200) for w in range(4)]
    crowd.learn_many(busy)
    found = pairs(crowd)
    assert set(found["one"]) | set(found["other"]) == {10_000, 10_001, 10_002, 10_003}
    again = Estimator.load(crowd.to_bytes())
    assert pairs(again).equals(found)
