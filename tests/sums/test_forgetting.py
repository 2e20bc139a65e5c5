"""Forgetting: growing weights are fading ones; sums brought back to the present stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from crowdstream.sums.forgetting import MOST, Forgetting


@pytest.mark.parametrize("memory", [1.1, 4.0, 1e3, 1e6])
def test_each_task_fades_by_one_over_memory(memory: float) -> None:
    scale = Forgetting(memory)
    assert scale.weight(6) / scale.weight(7) == pytest.approx(1 - 1 / memory, rel=1e-12)
    assert scale.growth == pytest.approx(1 / (1 - 1 / memory), rel=1e-12)


def test_without_forgetting_every_task_counts_one_for_ever() -> None:
    scale = Forgetting(None)
    assert (scale.weight(0), scale.weight(10**12), scale.growth) == (1.0, 1.0, 1.0)
    assert scale.make_room(10**12, []) > 10**15


@pytest.mark.parametrize("memory", [1.1, 4.0, 50.0])
def test_a_long_stream_is_the_fading_average(memory: float) -> None:
    scale, total, plain = Forgetting(memory), np.zeros(1), 0.0
    said = np.random.default_rng(0).random(60_000)
    at, largest = 0, 0.0
    while at < said.size:
        end = min(at + scale.make_room(at, [total]), said.size)
        for task in range(at, end):
            total += said[task] * scale.weight(task)
            largest = max(largest, scale.weight(task))
            plain = plain * (1 - 1 / memory) + said[task]
        at = end
    assert scale.origin > 0, "the sums were never brought back: the test shows nothing"
    assert np.log(largest) <= MOST + scale.fade
    # Sixty thousand roundings of the plain sum, fading as it does.
    assert total[0] / scale.weight(said.size - 1) == pytest.approx(plain, rel=1e-9)


def test_sums_of_squared_weights_are_brought_back_too() -> None:
    scale = Forgetting(2.0, most=20.0)
    total, squares = np.zeros(1), np.zeros(1)
    for task in range(100):
        scale.make_room(task, [total], [squares])
        total += scale.weight(task)
        squares += scale.weight(task) ** 2
    unit = scale.weight(99)
    assert scale.origin > 0
    # Of a geometric series of halves, and of their squares.
    assert total / unit == pytest.approx(2.0)
    assert squares / unit**2 == pytest.approx(4 / 3)
