"""Who got better or worse of late."""

from __future__ import annotations

import numpy as np

import crowdstream as cs
from crowdstream.monitoring.trends import latest_changes, trends
from crowdstream.simulation import jump


def test_a_worker_who_got_worse_of_late_is_the_one_who_changed() -> None:
    crowd = cs.monitor(cs.Adaptive())
    crowd.learn_many(cs.simulate(10, 600, p=0.1, drift=jump(500, [0.5] + [0.1] * 9)).labels())
    changes = latest_changes(crowd)
    assert changes[crowd.workers_.index("w0")] > 0.2
    assert np.isnan(changes).sum() >= 7, "where it is not clear, nothing is said"


def test_a_worker_whose_tasks_are_all_open_has_no_points_yet() -> None:
    stream = cs.Stream(cs.monitor(cs.Adaptive()))
    stream.observe("t1", "ann", "x")
    assert trends(stream.crowd, ["ann"]).height == 0
    assert latest_changes(stream.crowd).size == 0
