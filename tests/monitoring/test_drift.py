"""Alarms come soon after a change, rarely without one; trends go where the error rates went."""

from __future__ import annotations

import numpy as np
import pytest

from crowdstream.errors import InputError
from crowdstream.estimators import Adaptive
from crowdstream.monitoring import alarms, monitor, trends
from crowdstream.science.simulate import jump
from tests.monitoring.crowds import crowd_of, monitored


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
        assert alarm.evidence > 3
        assert not alarm.everyone
        delays.append(alarm.tasks_seen - 500)
    assert 0 < np.median(delays) <= 60  # sixty runs have a median of 17


def test_a_worker_who_becomes_better_has_one_too() -> None:
    found = alarms(changed(500, [0.45] + [0.1] * 9, [0.05] + [0.1] * 9, 1000, 1))
    assert ("w0", "better") in {(alarm.worker, alarm.direction) for alarm in found}


def test_false_alarms_are_rare() -> None:
    count = answers = 0
    for seed in range(8):
        p = np.random.default_rng(seed).uniform(0.1, 0.3, 10)
        block = crowd_of(10, 1500, p=p, seed=seed)
        count += len(alarms(monitored(block)))
        answers += block.said.size
    # About 1.5 in 10⁴ answers: 18 of these; three standard errors are 13.
    assert count <= 31


def test_when_all_change_at_once_it_is_the_tasks() -> None:
    found = alarms(changed(500, [0.05] * 10, [0.4] * 10, 900, 2))
    worse = [alarm for alarm in found if alarm.direction == "worse" and alarm.tasks_seen > 500]
    assert sum(alarm.everyone for alarm in worse) >= 5


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
