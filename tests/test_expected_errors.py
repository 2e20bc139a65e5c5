"""Expected errors: the sum of doubts, with an interval that holds if the confidences do."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.metrics.expected import Doubt

Floats = NDArray[np.float64]


def decisions(confidences: Floats) -> pl.DataFrame:
    size = confidences.size
    said = {"task": np.arange(size), "label": ["x"] * size, "confidence": confidences}
    return pl.DataFrame(said)


def exact_limits(confidences: Floats, level: float = 0.95) -> tuple[int, int]:
    """Quantiles of the Poisson-binomial distribution, task by task."""
    chances = np.ones(1)
    for confidence in confidences:
        chances = np.convolve(chances, [confidence, 1 - confidence])
    below = np.cumsum(chances)
    tail = (1 - level) / 2
    return int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1 - tail))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("a", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("tasks", [5, 40, 400])
def test_the_limits_are_within_a_task_of_the_exact_ones(tasks: int, a: float, level: float) -> None:
    confidences = 1 - np.random.default_rng(0).beta(a, 4, tasks)
    errors, *limits = cs.metrics.expected_errors(decisions(confidences), level)
    assert errors == pytest.approx((1 - confidences).sum())
    # Limits are whole numbers by nature and are not rounded here.
    assert np.abs(np.array(limits) - exact_limits(confidences, level)).max() <= 1.0


def test_decisions_in_pieces_add_up() -> None:
    confidences = np.random.default_rng(1).uniform(0.5, 1, 100)
    whole = Doubt.of(confidences)
    parts = Doubt.of(confidences[:30]).plus(Doubt.of(confidences[30:]))
    assert parts == pytest.approx(whole)


def test_tasks_without_a_label_and_certain_ones_are_no_doubt() -> None:
    table = pl.DataFrame({"task": [1, 2], "label": ["x", None], "confidence": [1.0, 0.0]})
    assert cs.metrics.expected_errors(table) == (0.0, 0.0, 0.0)
    assert cs.metrics.expected_errors(table.head(0)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("worse", [0.5, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("known", [20, 50, 200])
def test_gold_corrects_confidences_that_are_off(worse: float, known: int) -> None:
    """Errors are ``worse`` times as frequent as the confidences say."""
    rng = np.random.default_rng(2)
    runs, covered = 300, 0
    for _ in range(runs):
        confidences = 1 - rng.beta(0.5, 8, 1000)
        wrong = rng.random(1000) < np.minimum(worse * (1 - confidences), 1)
        doubt = Doubt.of(confidences[known:])
        found = doubt.corrected(wrong[:known].sum(), (1 - confidences[:known]).sum(), 0.95)
        covered += found.low <= wrong[known:].sum() <= found.high
    assert covered / runs >= 0.92  # 0.95 less two standard errors of 300 runs


def test_errors_on_gold_tasks_are_counted_and_not_expected() -> None:
    table = decisions(np.full(40, 0.9))
    found = cs.metrics.expected_errors(table, gold=dict.fromkeys(range(40), "y"))
    assert found == (40.0, 40.0, 40.0)


def test_more_gold_narrows_the_interval() -> None:
    table = decisions(np.full(2000, 0.9))
    widths = []
    for known in (20, 100, 500):
        truths = ["x" if task % 10 else "y" for task in range(known)]
        gold = pl.DataFrame({"task": range(known), "label": truths})
        found = cs.metrics.expected_errors(table, gold=gold)
        assert found.low < 200 < found.high
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True)


def test_gold_of_other_tasks_is_refused() -> None:
    with pytest.raises(cs.InputError, match="truth"):
        cs.metrics.expected_errors(decisions(np.full(4, 0.9)), gold={99: "x"})
