"""Alarms come soon after a change, rarely without one; trends go where the error rates went."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdstream import load
from crowdstream.errors import InputError
from crowdstream.estimators import Adaptive
from crowdstream.monitoring import alarms, monitor, trends
from crowdstream.simulation import jump
from crowdstream_lab import datasets
from tests.monitoring.crowds import crowd_of, monitored
from tests.real import needs_data

Row = tuple[str, str, str]


def changed(at: int, before: list[float], after: list[float], tasks: int, seed: int) -> Adaptive:
    return monitored(crowd_of(len(before), tasks, p=before, drift=jump(at, after), seed=seed))


def test_a_worker_who_becomes_worse_has_an_alarm_soon() -> None:
    delays = []
    for seed in range(5):
        found = alarms(changed(500, [0.1] * 10, [0.4] + [0.1] * 9, 1000, seed))
        [alarm] = [a for a in found if a.worker == "w0"][:1]
        assert alarm.direction == "worse"
        assert alarm.before == pytest.approx(0.1, abs=0.06)
        assert alarm.after > 0.25
        assert alarm.evidence > 8  # three nats or more to be pending, five to be confirmed
        assert not alarm.everyone
        delays.append(alarm.tasks_seen - 500)
    # benchmarks/alarms.py has a median of 48, and 72 at the most in nine of ten.
    assert 0 < np.median(delays) <= 72


def first_noticed(seed: int, after: float) -> tuple[float, float]:
    """Answers of w0 until its change from 0.1 is pending, and until it is an alarm."""
    block = crowd_of(10, 1400, p=0.1, drift=jump(1000, [after] + [0.1] * 9), seed=seed)
    rows, crowd = block.labels(), monitor(Adaptive())
    crowd.learn_many(rows[: 10 * 1000])
    noticed = confirmed = np.inf
    for at in range(1000, 1400, 4):
        crowd.learn_many(rows[10 * at : 10 * (at + 4)])
        if any(alarm.worker == "w0" for alarm in alarms(crowd, pending=True)):
            noticed = min(noticed, at + 4.0 - 1000)
        if any(a.worker == "w0" and a.tasks_seen > 1000 for a in alarms(crowd)):
            confirmed = at + 4.0 - 1000
            break
    return noticed, confirmed


def test_a_jump_of_15_points_is_pending_within_some_60_answers_and_then_confirmed() -> None:
    delays = np.array([first_noticed(seed, 0.25) for seed in range(7)])
    assert (delays[:, 0] <= delays[:, 1]).all()
    noticed, confirmed = np.median(delays, axis=0)
    # benchmarks/alarms.py has medians of 50 and 144 after a thousand answers; nine of ten are below
    # 110 and 252. A median of seven is above once in 300 times; of the first, below its bar there.
    assert 0 < noticed <= 80
    assert confirmed <= 252


def test_a_bad_day_is_pending_and_then_withdrawn() -> None:
    rng, crowd = np.random.default_rng(0), monitor(Adaptive())

    def learn(tasks: range, error: float) -> None:
        rows = []
        for task in tasks:
            wrong = rng.random(10) < np.array([error] + [0.1] * 9)
            rows += [(f"{task}", f"w{i}", str(int(x) ^ (task & 1))) for i, x in enumerate(wrong)]
        crowd.learn_many(rows)

    learn(range(1000), 0.1)
    learn(range(1000, 1025), 0.6)
    assert [(a.worker, a.direction) for a in alarms(crowd, pending=True)] == [("w0", "worse")]
    learn(range(1025, 1225), 0.1)
    assert alarms(crowd, pending=True) == []
    assert alarms(crowd) == []


def test_a_worker_who_becomes_better_has_one_too() -> None:
    found = alarms(changed(500, [0.45] + [0.1] * 9, [0.05] + [0.1] * 9, 1000, 1))
    assert ("w0", "better") in {(alarm.worker, alarm.direction) for alarm in found}


def test_a_long_stream_of_workers_who_do_not_change_has_no_alarms() -> None:
    # 20 workers with 20,000 answers each. A worker has about 0.001 in its life, of any length: two
    # in one such crowd have a chance below 1 in 1,000.
    p = np.random.default_rng(1).uniform(0.05, 0.35, 20)
    assert len(alarms(monitored(crowd_of(20, 80_000, p=p, per_task=5, seed=1)))) <= 1


def test_small_crowds_that_do_not_change_have_no_alarms() -> None:
    having = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, classes, tasks = (int(rng.integers(*ends)) for ends in ((5, 40), (2, 11), (100, 2000)))
        p = rng.uniform(0.02, 0.3, n)
        block = crowd_of(n, tasks, p=p, classes=classes, per_task=min(n, 5), seed=seed)
        having += bool(alarms(monitored(block)))
    assert having <= 2  # 5 %; benchmarks/alarms.py finds fewer in larger crowds


def test_many_workers_and_classes_are_no_epidemic() -> None:
    p = np.random.default_rng(0).uniform(0.01, 0.1, 400)
    crowd = monitored(crowd_of(400, 10_000, p=p, classes=20, per_task=4, seed=0))
    assert alarms(crowd) == []


def test_a_file_that_is_sorted_by_class_has_few_alarms() -> None:
    found = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        # Errors depend on the class alike for all, so that all change where the class does.
        truth = np.sort(rng.integers(4, size=3000))
        error = rng.uniform(0.02, 0.3, 4)[truth]
        wrong = rng.random((3000, 8)) < error[:, None]
        said = np.where(wrong, (truth[:, None] + rng.integers(1, 4, (3000, 8))) % 4, truth[:, None])
        crowd = monitor(Adaptive())
        rows = enumerate(said.tolist())
        crowd.learn_many([(f"{t}", f"w{i}", f"c{x}") for t, row in rows for i, x in enumerate(row)])
        found += alarms(crowd)
    # 32 workers and three changes each: of most workers, told once, or of none.
    assert len(found) <= 12
    assert sum(not alarm.everyone for alarm in found) <= 3


def grouped(seed: int, groups: int = 40, size: int = 60, workers: int = 10) -> list[Row]:
    """Labels of workers who do not change, but whose error differs from one group to the next."""
    rng, rows = np.random.default_rng(seed), []
    for group in range(groups):
        error = np.clip(rng.beta(6.0, 18.0, workers), 0.02, 0.6)
        for task in range(size):
            truth = rng.integers(3)
            wrong = rng.random(workers) < error
            said = np.where(wrong, (truth + rng.integers(1, 3, workers)) % 3, truth)
            rows += [(f"{group}-{task}", f"w{i}", str(x)) for i, x in enumerate(said.tolist())]
    return rows


def test_tasks_that_come_in_groups_are_not_taken_for_workers_who_change() -> None:
    count = answers = 0
    for seed in range(6):
        rows = grouped(seed)
        crowd = monitor(Adaptive())
        crowd.learn_many(rows)
        count += len(alarms(crowd))
        answers += len(rows)
    # 119 by a fixed threshold. 0.4 in 10⁴ and three standard errors of such a count: how far groups
    # swing has to be learnt from the first of them.
    assert count <= 4e-5 * answers + 3 * (4e-5 * answers) ** 0.5


def test_a_change_is_told_among_many_classes_too() -> None:
    rows = crowd_of(12, 1200, classes=6, p=[0.15] * 12, drift=jump(600, [0.7] + [0.15] * 11))
    found = [alarm for alarm in alarms(monitored(rows)) if alarm.worker in ("w0", "w00")]
    assert [alarm.direction for alarm in found[:1]] == ["worse"]
    assert 600 < found[0].tasks_seen < 680


@needs_data
@pytest.mark.parametrize("name", ["product", "music_genre", "trec"])
def test_shuffled_tasks_of_real_crowds_hold_no_alarms(name: str) -> None:
    # No change over time by construction. A tenth of what is allowed to be pending, and three
    # standard errors of a count of this mean.
    labels, count, answers = datasets.load(name).labels, 0, 0
    for seed in range(3):
        count += len(alarms(monitor(Adaptive()).fit(shuffled(labels, seed))))
        answers += labels.height
    allowed = 2e-5 * answers
    assert count <= allowed + 3 * allowed**0.5


@needs_data
def test_a_file_whose_tasks_come_grouped_has_few_alarms() -> None:
    labels = datasets.load("llm_relevance").labels
    # 391 by a fixed threshold; 2 in 10⁴ answers are 29. What judges do with another query is a
    # change in part.
    assert len(alarms(monitor(Adaptive()).fit(labels))) <= 2e-4 * labels.height


def shuffled(labels: pl.DataFrame, seed: int) -> pl.DataFrame:
    tasks = labels["task"].unique(maintain_order=True).sample(fraction=1, shuffle=True, seed=seed)
    places = pl.DataFrame({"task": tasks}).with_row_index("place")
    return labels.join(places, on="task").sort("place", maintain_order=True).drop("place")


def test_what_was_learnt_of_swings_is_saved() -> None:
    rows = grouped(3)
    cut = 60 * 20 * 10
    whole, half = monitor(Adaptive()), monitor(Adaptive())
    whole.learn_many(rows[:cut])
    half.learn_many(rows[:cut])
    again = load(half.to_bytes())
    assert isinstance(again, Adaptive)
    assert alarms(again, pending=True) == alarms(whole, pending=True)
    whole.learn_many(rows[cut:])
    again.learn_many(rows[cut:])
    assert alarms(whole) == alarms(again)
    assert alarms(whole, pending=True) == alarms(again, pending=True)


def test_what_is_pending_in_a_merged_crowd_is_looked_for_again() -> None:
    crowd = changed(500, [0.1] * 10, [0.6] + [0.1] * 9, 515, 1)
    assert [alarm.worker for alarm in alarms(crowd, pending=True)] == ["w0"]
    rows = crowd_of(3, 100, p=0.1, seed=2).labels()
    other = monitor(Adaptive())
    other.learn_many(rows.with_columns(worker="other " + pl.col("worker")))
    other += crowd
    assert alarms(other, pending=True) == []


def test_when_all_change_at_once_it_is_the_tasks_and_is_told_once() -> None:
    found = alarms(changed(500, [0.05] * 10, [0.4] * 10, 900, 2))
    assert [(alarm.direction, alarm.everyone) for alarm in found] == [("worse", True)]
    assert 500 < found[0].tasks_seen < 700


def test_a_trend_follows_the_error_rate() -> None:
    crowd = changed(400, [0.1] * 10, [0.45] + [0.1] * 9, 800, 3)
    line = trends(crowd, ["w0"])
    early = line.filter(line["tasks_seen"] <= 400)["error_rate"].mean()
    late = line.filter(line["tasks_seen"] > 450)["error_rate"].mean()
    assert early == pytest.approx(0.1, abs=0.08)
    assert late > 0.3  # type: ignore[operator]
    assert line.columns == ["worker", "tasks_seen", "error_rate", "error_low", "error_high"]
    assert (line["error_low"] <= line["error_rate"]).all()


@pytest.mark.parametrize("tasks", [0, 3, 60, 5000])
def test_a_worker_has_at_most_seventeen_points(tasks: int) -> None:
    crowd = monitored(crowd_of(4, tasks, p=0.2)) if tasks else monitor(Adaptive())
    found = trends(crowd)
    assert found.height == 0 or found.group_by("worker").len()["len"].max() <= 17  # type: ignore[operator]
    assert found["tasks_seen"].is_between(1, max(tasks, 1)).all()


def test_who_was_never_met_has_no_trend() -> None:
    with pytest.raises(InputError, match="nobody"):
        trends(monitored(crowd_of(4, 50, p=0.2)), ["nobody"])


def test_what_comes_later_does_not_hide_an_alarm() -> None:
    crowd = changed(500, [0.1] * 10, [0.45] + [0.1] * 9, 700, 4)
    before = alarms(crowd)
    crowd.unlearn_one({"w1": "0", "w2": "0"})
    assert alarms(crowd) == before
