"""The equation of shares is the paper's fixed point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from crowdstream.models import fixed_point_loops as fixed_point

Floats = NDArray[np.float64]

SAME = 1e-12
"""What the solver promises."""

EDGE = 1e-9
"""How near to the edge of existence a root may be that rounding tips."""


def solve(agreement: Floats, dominant: bool = False) -> tuple[int, Floats, float]:
    """Status, shares and scale."""
    found = np.full(agreement.size, np.nan)
    status, scale = fixed_point.solve(agreement, dominant, found)
    return status, found, scale


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
    for _ in range(70):  # more than an extended number has bits
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) <= v0 + middle**2 else (low, middle)
    v = v0 + low**2
    return True, half + np.longdouble(n) / 4 * (np.sqrt((v0 - slack) + low**2) - np.sqrt(v))


def share_root(agreement: Floats) -> tuple[bool, Floats]:
    """The same from shares: ``p̂ = ½ − share/(2√u)`` at t = 1."""
    status, found, scale = solve(agreement)
    if status != fixed_point.SOLVED:
        return status == fixed_point.FLAT, np.full(agreement.size, 0.5)
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
    for _ in range(2000):
        agreement = random_agreements(rng)
        exists, p = share_root(agreement)
        wanted_exists, wanted = paper_root(agreement)
        assert exists == wanted_exists, agreement.tolist()
        # p̂ is unbounded where nearly everybody is at chance: relative beyond 1.
        scale = np.maximum(np.abs(wanted), 1)
        assert np.max(np.abs(p - wanted) / scale) < SAME, agreement.tolist()
        solved += exists
    assert 500 < solved < 1950, "both outcomes should be common, or the test shows little"


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


def on_the_edge(agreement: Floats) -> bool:
    """Whether the shares add up to 2 where the top's is 1: the last point of the paper's branch."""
    most = agreement.max()
    terms = 1 - np.sqrt(1 - agreement / most)
    return bool(abs(terms.sum() - 2) < EDGE)


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=20), st.floats(1e-6, 1e6))
def test_scaling_agreements_leaves_the_shares(agreement: list[int], factor: float) -> None:
    one = solve(np.array(agreement, float), dominant=True)
    other = solve(np.array(agreement, float) * factor, dominant=True)
    if one[0] != other[0]:  # rounding may tip a root that only just exists, or is hardly steep
        assert on_the_edge(np.array(agreement, float))
        return
    # The product with the factor rounds; near share 1 the root takes the square root of that.
    assert np.allclose(one[1], other[1], atol=1e-7)
    if one[0] == fixed_point.SOLVED:
        assert abs(one[1].sum() - 2) < SAME


def test_a_worker_with_most_of_the_signal_is_found() -> None:
    # θ = (0.9, 0.3, 0.2): exact agreements; the paper's equation has no root.
    theta = np.array([0.9, 0.3, 0.2])
    agreement = theta * (theta.sum() - theta)
    assert solve(agreement)[0] == fixed_point.NO_SOLUTION
    status, found, scale = solve(agreement, dominant=True)
    assert status == fixed_point.SOLVED
    assert np.allclose(found / np.sqrt(scale), theta, rtol=SAME)


@example([2e-309, 2e-309], False)  # 1/R would be infinite
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.booleans())
def test_any_numbers_are_answered_with_numbers(agreement: list[float], dominant: bool) -> None:
    status, found, scale = solve(np.array(agreement), dominant)
    assert np.isfinite(found).all()
    if status == fixed_point.SOLVED:
        assert scale > 0
        assert found.max() < 2 if dominant else found.max() <= 1
        # The shares satisfy the equation: share = 1 − √(1 − u R), the top's root flipped beyond 1.
        top = int(np.argmax(agreement))
        root = np.sqrt(np.maximum(1 - scale * np.array(agreement), 0))
        wanted = 1 - root
        if found[top] > 1:
            wanted[top] = 1 + root[top]
        # √ of a rounding of 1e-16 where 1 − u R is near 0; large where R is large beside the top.
        assert np.allclose(found, wanted, atol=1e-7, rtol=1e-9)
    else:
        assert not found.any()
        assert scale == 0.0


@pytest.mark.parametrize("dominant", [False, True])
def test_where_the_search_begins_is_not_seen_in_what_it_finds(dominant: bool) -> None:
    # Small whole numbers: roots at the very edge of existence, equals at the top, no root at all.
    rng = np.random.default_rng(1)
    seen = [0, 0, 0]
    for n in (3, 4, 5, 8):
        agreement, found = np.zeros(n), np.empty(n)
        warm = fixed_point.Shares(agreement, np.empty(n), np.empty(n))
        for _ in range(2000):
            if rng.random() < 0.2:
                agreement[:] = rng.choice([0, 0, 1, 1, 2, -1, 5], n)
            agreement[int(rng.integers(n))] += int(rng.integers(-1, 3))
            status, scale = warm.solve(dominant, found)
            wanted = solve(agreement, dominant)
            assert (status, scale) == (wanted[0], wanted[2])
            assert found.tobytes() == wanted[1].tobytes()
            seen[status] += 1
            assert status or (warm.h <= 1 or dominant)
    assert min(seen) > 10, f"each status should be common, or the test shows little: {seen}"
