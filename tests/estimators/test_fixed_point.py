"""The shares equation is the paper's fixed point, and the incremental solve is the full one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from crowdstream.estimators import shares

Floats = NDArray[np.float64]
Records = NDArray[np.void]

SAME = 1e-9
"""What the solver promises."""


def paper_root(agreement: Floats) -> tuple[bool, NDArray[np.longdouble]]:
    """The paper's ``v = f(â, v)`` by bisection; whether it has a root, and ``p̂``.

    With t = 1, ``R_i = (n − 1)(2 â_i − 1)``. Extended precision, and bisection on ``√(v − v_0)``,
    so that the reference is good to 1e-12 even where δ vanishes.
    """
    n = agreement.size
    slack = agreement.astype(np.longdouble) * 4 / n**2  # 4(n−1)/n² · (2 u_i − 1)
    v0 = max(slack.max(), np.longdouble(0))

    def f(root: np.longdouble) -> np.longdouble:
        return (np.sqrt((v0 - slack) + root**2).sum() / (n - 2)) ** 2

    half = np.full(n, 0.5, np.longdouble)
    # f(v0) ≤ v0 with the root taken and divided by √v0, which is exact where terms are 0 or 1.
    at_v0 = np.sqrt((v0 - slack) / v0).sum() <= n - 2 if v0 > 0 else not slack.any()
    if not at_v0:
        return False, half
    low, high = np.longdouble(0), np.longdouble(1)
    while f(high) <= v0 + high**2:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) <= v0 + middle**2 else (low, middle)
    v = v0 + low**2
    return True, half + np.longdouble(n) / 4 * (np.sqrt((v0 - slack) + low**2) - np.sqrt(v))


def share_root(agreement: Floats) -> tuple[bool, Floats]:
    """The same from shares: ``p̂ = ½ − share/(2√u)`` at t = 1."""
    status, found, scale = shares.solve_shares(agreement)
    if status != shares.SOLVED:
        return status == shares.FLAT, np.full(agreement.size, 0.5)
    return True, 0.5 - found / (2 * np.sqrt(scale))


def random_agreements(rng: np.random.Generator) -> Floats:
    """R of some crowd after some tasks, or numbers that no crowd need have given."""
    n = int(rng.integers(3, 30))
    kind = rng.integers(5)
    if kind == 0:
        return rng.normal(size=n) * 10 ** rng.uniform(-3, 6)
    theta = [
        rng.uniform(-0.3, 1, n),
        np.where(np.arange(n) < 2, 1.0, 0.0),  # two hammers: share 1, the edge of existence
        np.where(rng.random(n) < 0.5, 0.98, 0.0),
        rng.uniform(-1, 1, n),
    ][kind - 1]
    expected = theta * (theta.sum() - theta)
    if rng.random() < 0.3:
        return expected * 1000
    t = int(10 ** rng.uniform(0, 4))
    return np.round(expected * t + rng.normal(size=n) * np.sqrt(t * (n - 1)))


def test_error_rates_are_the_papers() -> None:
    rng = np.random.default_rng(0)
    solved = 0
    for _ in range(4000):
        agreement = random_agreements(rng)
        exists, p = share_root(agreement)
        wanted_exists, wanted = paper_root(agreement)
        assert exists == wanted_exists, agreement.tolist()
        # p̂ is unbounded where nearly everybody is at chance: relative beyond 1.
        scale = np.maximum(np.abs(wanted), 1)
        assert np.max(np.abs(p - wanted) / scale) < SAME, agreement.tolist()
        solved += exists
    assert 1000 < solved < 3900, "both outcomes should be common, or the test shows little"


@pytest.mark.parametrize(
    ("agreement", "exists"),
    [
        ([0, 0, 0], True),  # v = 0: everybody at chance
        ([-1, -1, -1], False),
        ([-1, 0, 0], False),
        ([1, 1, 0, 0, 0], True),  # p = (0, 0, ½, …): the largest q of Assumption 1
        ([1, 1 - 1e-6, 0, 0, 0], False),
        ([1, 1, 1, -3], True),  # (0, 0, 0, 1): on the edge from the other side
        ([2, 2, 2], True),
        ([1, 0, 0], False),
        ([1e-300, 1e-300, 1e-300], True),
        ([1e300, 1e300, 1e300], True),
    ],
)
def test_existence_at_the_edges(agreement: list[float], exists: bool) -> None:
    found, p = share_root(np.array(agreement, float))
    assert found == exists
    assert np.isfinite(p).all()


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=20), st.floats(1e-6, 1e6))
def test_scaling_agreements_leaves_the_shares(agreement: list[int], factor: float) -> None:
    one = shares.solve_shares(np.array(agreement, float), dominant=True)
    other = shares.solve_shares(np.array(agreement, float) * factor, dominant=True)
    if one[0] != other[0]:  # rounding may tip a root that only just exists
        top = int(np.argmax(agreement))
        assert abs(shares.excess(np.array(agreement, float), top, 1.0)[0]) < SAME
        return
    # The product with the factor rounds; near share 1 the root takes the square root of that.
    assert np.allclose(one[1], other[1], atol=1e-7)
    if one[0] == shares.SOLVED:
        assert abs(one[1].sum() - 2) < SAME


def test_a_labeller_with_most_of_the_signal_is_found() -> None:
    # θ = (0.9, 0.3, 0.2): exact agreements; the paper's equation has no root.
    theta = np.array([0.9, 0.3, 0.2])
    agreement = theta * (theta.sum() - theta)
    assert shares.solve_shares(agreement)[0] == shares.NO_SOLUTION
    status, found, scale = shares.solve_shares(agreement, dominant=True)
    assert status == shares.SOLVED
    assert np.allclose(found / np.sqrt(scale), theta, rtol=SAME)


# Incremental -------------------------------------------------------------------------------------


def _largest_gap(
    workers: NDArray[np.int64], labels: Floats, weights: Floats, n: int, solver: Records
) -> tuple[float, int, int, int]:
    """Learn tasks one by one, a full solve beside; the largest relative difference of share and
    scale, how often only one of the two had a solution, how often both, and full passes made."""
    agreement = np.zeros(n)
    at: Any = solver[0]
    worst, disputed, solved, passes = 0.0, 0, 0, 0
    for t in range(workers.shape[0]):
        total = 0.0
        for k in range(workers.shape[1]):
            total += labels[t, k]
        for k in range(workers.shape[1]):
            who, x = workers[t, k], labels[t, k]
            if x != 0.0:
                before = agreement[who]
                agreement[who] += weights[t] * x * (total - x)
                shares.change(at, who, before, agreement[who])
        if not shares.advance(at, n):
            passes += 1
            shares.catch_up(at, agreement)
        status, _, share, scale = shares.solve(agreement, True)
        if (status == shares.SOLVED) != (at.status == shares.SOLVED):
            disputed += 1
        elif status == shares.SOLVED:
            solved += 1
            gap = max(abs(scale - at.scale) / scale, abs(share - at.share) / share)
            worst = max(worst, gap)
    return worst, disputed, solved, passes


_compiled: Any = njit(_largest_gap)


def largest_gap(
    workers: NDArray[np.int64], labels: Floats, weights: Floats, n: int
) -> tuple[float, int, int, int]:
    found: tuple[float, int, int, int] = _compiled(workers, labels, weights, n, shares.new_solver())
    return found


CROWDS = {
    "three": np.array([0.8, 0.5, 0.3]),
    "dominant": np.array([0.9, 0.3, 0.2]),
    "hammers": np.r_[np.ones(2), np.zeros(8)],
    "one hammer": np.r_[np.ones(1), np.zeros(49)],
    "near hammers": np.r_[np.full(3, 0.999), np.full(40, 0.05)],
    "spammers": np.zeros(60),
    "adversaries": np.r_[np.full(60, 0.6), np.full(40, -0.5)],
    "wide": np.linspace(-0.2, 1, 200),
}


@pytest.mark.parametrize("name", CROWDS)
@pytest.mark.parametrize("growth", [1.0, 1.02])
def test_the_incremental_solve_is_the_full_one_after_every_task(name: str, growth: float) -> None:
    rng = np.random.default_rng(1)
    theta = CROWDS[name]
    n, tasks, m = theta.size, 8000, min(theta.size, 5)
    workers = np.argsort(rng.random((tasks, n)), axis=1)[:, :m]
    # Labellers come and go: each is there for a part of the stream only.
    start = rng.integers(0, tasks // 2, n)
    here = (np.arange(tasks)[:, None] >= start[workers]) & (
        np.arange(tasks)[:, None] < start[workers] + tasks // 2
    )
    truth = rng.choice([-1.0, 1.0], (tasks, 1))
    right = rng.random((tasks, m)) < (1 + theta[workers]) / 2
    labels = np.where(right, truth, -truth) * here
    # Forgetting weighs later tasks more, all in units of the first.
    weights = np.power(growth, np.arange(float(tasks)))
    worst, disputed, solved, _ = largest_gap(workers, labels, weights, n)
    assert worst < SAME
    assert disputed == 0
    assert solved > 200


def test_full_passes_become_rare() -> None:
    rng = np.random.default_rng(1)
    theta = CROWDS["wide"]
    workers = np.argsort(rng.random((16000, theta.size)), axis=1)[:, :5]
    truth = rng.choice([-1.0, 1.0], (16000, 1))
    labels = np.where(rng.random((16000, 5)) < (1 + theta[workers]) / 2, truth, -truth)
    half, whole = (
        largest_gap(workers[:t], labels[:t], np.ones(t), theta.size)[3] for t in (8000, 16000)
    )
    # The sums double once between the two: a handful of new anchors, where 8,000 tasks came.
    assert whole - half < 20


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.integers(3, 9), st.booleans())
def test_the_incremental_solve_survives_any_small_crowd(seed: int, n: int, retract: bool) -> None:
    rng = np.random.default_rng(seed)
    workers = np.argsort(rng.random((300, n)), axis=1)
    theta = rng.uniform(-1, 1, n)
    labels = np.where(rng.random((300, n)) < (1 + theta[workers]) / 2, 1.0, -1.0)
    labels *= rng.random((300, n)) < rng.uniform(0.2, 1)
    weights = np.ones(300)
    if retract:  # take half of it back again
        workers, labels = np.r_[workers, workers[:150]], np.r_[labels, labels[:150]]
        weights = np.r_[weights, -np.ones(150)]
    worst, disputed, _, _ = largest_gap(workers, labels, weights, n)
    assert worst < SAME
    assert disputed == 0
