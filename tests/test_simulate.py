"""Simulated crowds: what was asked for is what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from crowdstream.errors import InputError
from crowdstream.simulation import (
    Simulated,
    jump,
    learning,
    replacement,
    simulate,
    simulate_blocks,
    sine,
)

TASKS = 20_000
NOISE = 4 * 0.5 / np.sqrt(TASKS)
"""Four standard errors of a share of all tasks."""


def one(n: int, tasks: int = TASKS, **asked: object) -> Simulated:
    return simulate(n, tasks, **asked)  # type: ignore[arg-type]


def errors(block: Simulated) -> np.ndarray:
    """The share of wrong answers of each worker."""
    wrong = block.said != block.truth[block.tasks]
    answers = np.bincount(block.workers, minlength=block.n)
    return np.bincount(block.workers, wrong, block.n) / np.maximum(answers, 1)


def test_workers_err_at_their_rates_in_any_number_of_classes() -> None:
    p = np.array([0.0, 0.1, 0.3, 0.5, 1.0])
    for classes in (2, 3, 7):
        assert errors(one(5, p=p, classes=classes)) == pytest.approx(p, abs=NOISE)


def test_workers_answer_at_their_rates() -> None:
    rates = np.array([0.1, 0.5, 1.0])
    answers = np.bincount(one(3, answer_rate=rates).workers) / TASKS
    assert answers == pytest.approx(rates, abs=NOISE)


@pytest.mark.parametrize("n", [7, 50])
def test_a_number_of_labels_per_task_is_kept_and_nobody_answers_twice(n: int) -> None:
    block = one(n, 2000, per_task=5)
    shape = block.workers.reshape(2000, 5)
    assert (np.diff(np.sort(shape, axis=1)) > 0).all()
    assert np.bincount(block.tasks).tolist() == [5] * 2000


def test_per_task_workers_are_drawn_by_their_rates() -> None:
    rates = np.where(np.arange(100) < 50, 0.2, 0.1)
    answers = np.bincount(one(100, per_task=2, answer_rate=rates).workers)
    # Twice as often; a task rarely meets somebody twice, which changes the ratio by a per cent.
    assert answers[:50].sum() / answers[50:].sum() == pytest.approx(2, abs=0.06)


def test_classes_come_as_often_as_asked() -> None:
    block = one(3, classes=3, balance=[0.7, 0.2, 0.1])
    assert np.bincount(block.truth) / TASKS == pytest.approx([0.7, 0.2, 0.1], abs=NOISE)


def test_confusions_are_those_given() -> None:
    tables = np.array([[[0.9, 0.1], [0.4, 0.6]], [[1.0, 0.0], [1.0, 0.0]]])
    block = one(2, confusions=tables)
    for who in range(2):
        for truth in range(2):
            said = block.matrix()[block.truth == truth, who]
            assert np.mean(said == 1) == pytest.approx(tables[who, truth, 1], abs=2 * NOISE)
    assert block.error_rates == pytest.approx([0.25, 0.5])


def test_adversaries_are_as_many_as_asked_and_err_the_other_way() -> None:
    found = errors(one(10, p=0.2, adversaries=0.3))
    assert sorted(found.round(1)) == [0.2] * 7 + [0.8] * 3


def test_followers_say_what_their_leader_says() -> None:
    block = one(3, p=0.3, copying={1: (0, 0.8), 2: (1, 1.0)})
    said = block.matrix()
    # Two independent workers of error rate 0.3 agree on 0.58 of the tasks.
    assert np.mean(said[:, 0] == said[:, 1]) == pytest.approx(0.8 + 0.2 * 0.58, abs=NOISE)
    assert (said[:, 1] == said[:, 2]).all()


def test_drifts_move_error_rates_as_they_say() -> None:
    p, t = np.full(4, 0.25), np.arange(1000)
    assert sine(0.01)(p, t)[100, 1] == pytest.approx(0.25 * (1 + np.sin(1 + np.pi)))
    assert jump(10, [0.4, np.nan, 0.1, np.nan])(p, t)[[9, 10]].tolist() == [
        [0.25] * 4,
        [0.4, 0.25, 0.1, 0.25],
    ]
    assert learning(100)(p, t)[[0, 100], 0] == pytest.approx([0.5, 0.375])
    rates = np.array([0.1, 0.2, 0.3, 0.4])
    moved = replacement(100, seed=1)(rates, t)
    assert (moved[:100] == rates).all()
    assert np.isin(moved, rates).all()
    changed = (np.diff(moved, axis=0) != 0).any(axis=1)
    assert set(np.flatnonzero(changed) + 1) <= set(range(100, 1000, 100))


def test_drift_is_what_the_labels_show_and_the_block_tells() -> None:
    block = one(4, p=0.25, drift=jump(TASKS // 2, 0.45))
    wrong = block.matrix() != block.truth[:, None]
    assert wrong[: TASKS // 2].mean() == pytest.approx(0.25, abs=NOISE)
    assert wrong[TASKS // 2 :].mean() == pytest.approx(0.45, abs=NOISE)
    assert block.error_rates.shape == (TASKS, 4)


def test_a_stream_comes_in_blocks_and_a_seed_repeats_it() -> None:
    blocks = list(simulate_blocks(3, 10, seed=5, block=4))
    assert [block.truth.size for block in blocks] == [4, 4, 2]
    tasks = [name for block in blocks for name in block.truths()["task"]]
    assert tasks == [str(t) for t in range(10)]
    again = simulate_blocks(3, 10, seed=5, block=4)
    assert all(a.labels().equals(b.labels()) for a, b in zip(blocks, again, strict=True))


@pytest.mark.parametrize(
    "asked",
    [
        {"p": [0.1, 0.2]},
        {"p": 1.5},
        {"q": 0.1},
        {"answer_rate": 0},
        {"answer_rate": [0.5, 0.5]},
        {"per_task": 4},
        {"balance": [0.5, 0.4]},
        {"confusions": np.ones((3, 2, 2))},
        {"copying": {0: (1, 0.5), 1: (0, 0.5)}},
        {"copying": {0: (7, 0.5)}},
        {"adversaries": 2},
        {"classes": 1},
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(InputError):
        simulate(3, 10, **asked)  # type: ignore[arg-type]
