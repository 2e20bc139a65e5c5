"""The shares equation: from how much each labeller agrees, to each one's share of the signal.

With ``R_i`` labeller i's agreements minus disagreements with the others of its tasks, find the
scale ``u > 0`` with ``Σ_i (1 − √(1 − u R_i)) = 2``. The term of i is its *share*. It is the
paper's fixed point ``v = f(â, v)`` rewritten: ``share_i = 1 − √(δ_i / v)``, ``u = 4 / (n² v t)``.

The unknown here is ``h``, the share of the labeller with the largest ``R`` ("the top"), from
which ``u = h (2 − h) / R_top``: smooth where ``u`` is not. ``0 < h ≤ 1`` is the paper's equation,
``1 < h < 2`` the one with the root of the top's term flipped, for a labeller who holds over half
of the crowd's signal. One curve, so the estimate does not jump from one to the other.

Arrays in, arrays out; knows nothing of labels, classes or weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SOLVED, FLAT, NO_SOLUTION = range(3)
"""A root; all ``R`` zero (the paper's root ``v = 0``: everybody at chance); no root."""

HEADS = 4
"""Labellers with the largest R whose terms are kept exact; the others go by Taylor's series. The
shares sum to two, so beyond the first four none is near 1, where the square root is not smooth."""

ORDER = 7
"""Degree of the series about the anchor."""

REACH = 0.05
"""How far from its anchor the series is used, as a fraction of its radius of convergence. Its
error there, 0.05⁸ of a term that is itself at most 0.02, leaves the sum of shares good to 1e-10."""

STEEP = 1e-4
"""A share above 1 is only believed where the curve crosses zero at least this steeply. It is flat
where two labellers hold all of the signal: any share then explains their agreement."""

TINY = 1e-300

ROUNDS = 16
"""Re-anchor after this many times n updates at the latest: rounding in the running sums stays
near 1e-13, at the cost of a sixteenth of a visit an update."""


# The full solve ----------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def excess(agreement: Floats, top: int, share: float) -> tuple[float, float]:
    """``Σ shares − 2`` when the top's share is ``share``, and its derivative in it."""
    unit = 1.0 / agreement[top]
    z = 1.0 - share
    scale = share * (2.0 - share) * unit
    total, slope = 0.0, 0.0
    for i in range(agreement.size):
        r = agreement[i]
        # Not 1 − u r, which cancels where r is near the top; TINY keeps 0/0 from being NaN.
        root = np.sqrt((agreement[top] - r) * unit + r * unit * z * z) + TINY
        total += scale * r / (1.0 + root)
        slope += r * unit * z / root
    if share >= 1.0:  # the loop took the top's root with the ordinary sign
        total += 2.0 * (share - 1.0)
        slope = slope + 2.0 if share > 1.0 else 1.0
    return total - 2.0, slope


@njit(cache=True, nogil=True, error_model="numpy")
def _bracketed(agreement: Floats, top: int, low: float, high: float) -> float:
    """The root of `excess` between two points of different sign: Newton, kept in its bracket."""
    rising = excess(agreement, top, low)[0] <= 0.0
    share = 0.5 * (low + high)
    for _ in range(200):
        value, slope = excess(agreement, top, share)
        if value == 0.0:
            return share
        if (value < 0.0) == rising:
            low = share
        else:
            high = share
        step = value / slope if slope != 0.0 else np.inf
        moved = share - step
        if not low < moved < high:
            moved = 0.5 * (low + high)
        if abs(moved - share) <= 4e-16 * abs(share):
            return moved
        share = moved
    return share


@njit(cache=True, nogil=True, error_model="numpy")
def solve(agreement: Floats, dominant: bool) -> tuple[int, int, float, float]:
    """Status, top labeller, its share ``h``, and the scale ``u``.

    ``dominant`` allows ``h > 1``; the paper does not, and finds no solution there.
    """
    top = 0
    flat = True
    total = 0.0
    for i in range(agreement.size):
        total += agreement[i]
        if agreement[i] != 0.0:
            flat = False
        if agreement[i] > agreement[top]:
            top = i
    if flat:
        return FLAT, 0, 0.0, 0.0
    most = agreement[top]
    if most <= 0.0:
        return NO_SOLUTION, top, 0.0, 0.0
    # Whether the paper's equation has a root: its excess at share 1, without a rounding where
    # terms are 0 or 1, as for two labellers who always agree among guessers.
    at_one = -2.0
    for r in agreement:
        at_one += (r / most) / (1.0 + np.sqrt((most - r) / most))
    if at_one >= 0.0:
        share = _bracketed(agreement, top, 0.0, 1.0)
        return SOLVED, top, share, share * (2.0 - share) / most
    if dominant and total > 2.0 * most:  # the others agree among themselves
        # Near h = 2 the excess is (2 − h)(ΣR − 2 R_top)/R_top > 0: a root lies before it.
        for k in range(1, 40):
            high = 2.0 - 0.5**k
            if excess(agreement, top, high)[0] > 0.0:
                share = _bracketed(agreement, top, 1.0, high)
                if excess(agreement, top, share)[1] < STEEP:
                    return NO_SOLUTION, top, 0.0, 0.0
                return SOLVED, top, share, share * (2.0 - share) / most
    return NO_SOLUTION, top, 0.0, 0.0


def solve_shares(agreement: Floats, *, dominant: bool = False) -> tuple[int, Floats, float]:
    """Status, every labeller's share, and the scale ``u``, by a full solve.

    >>> status, shares, scale = solve_shares(np.array([8.0, 8.0, 8.0, 0.0]))
    >>> status == SOLVED, shares.round(6).tolist(), round(scale, 6)
    (True, [0.666667, 0.666667, 0.666667, 0.0], 0.111111)
    """
    status, top, share, scale = solve(agreement, dominant)
    if status != SOLVED:
        return status, np.zeros_like(agreement), 0.0
    most = agreement[top]
    root = np.sqrt(((most - agreement) + agreement * (1.0 - share) ** 2) / most)
    shares = scale * agreement / (1.0 + root)
    shares[top] = share
    return status, shares, scale


# The incremental solve -----------------------------------------------------------------------


SOLVER = np.dtype(
    [
        ("status", "i8"),
        ("top", "i8"),
        ("most", "f8"),  # its R
        ("share", "f8"),
        ("scale", "f8"),
        ("anchor", "f8"),
        ("sums", "f8", (ORDER + 1,)),
        ("heads", "i8", (HEADS,)),
        ("head_r", "f8", (HEADS,)),  # their R
        ("n_heads", "i8"),
        ("floor", "f8"),  # who of the rest rises above it may be a head
        ("highest", "f8"),  # no R of the rest is above this
        ("reach", "f8"),  # no |ρ| of the rest is above this
        ("total", "f8"),  # Σ R
        ("squares", "f8"),  # Σ R²
        ("updates", "i8"),  # since the anchor
    ],
    align=True,
)
"""What the incremental solve remembers; `new_solver` makes one.

The labellers but for the heads (the "rest") enter through sums at an anchor ``u0``: with
``x = u0 R``, ``s = √(1 − x)`` and ``ρ = x/(1 − x)``, a share at ``u = u0 (1 + d)`` is
``1 − s √(1 − ρ d)``, so ``Σ (1 − s)`` and ``Σ s ρ^p`` are all that moving needs.
"""

Solver = Any
"""One record of `SOLVER`; the loops read its fields by name."""


def new_solver() -> NDArray[np.void]:
    """An array of one record: the solver of a crowd nobody has joined."""
    solver = np.zeros(1, SOLVER)
    solver["status"] = FLAT
    solver["floor"] = np.inf
    return solver


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _swap_term(at: Solver, before: float, after: float) -> None:
    """In the sums of the rest, put a labeller at R = ``after`` for one at ``before``.

    A labeller at R = 0 has no part in them, so joining is ``before = 0``.
    """
    gone, come = at.anchor * before, at.anchor * after
    if gone >= 1.0 or come >= 1.0:  # outside the series' domain: void until the next anchor
        at.reach = np.inf
        return
    root_gone, root_come = np.sqrt(1.0 - gone), np.sqrt(1.0 - come)
    ratio_gone, ratio_come = gone / (1.0 - gone), come / (1.0 - come)
    at.highest = max(at.highest, after)
    at.reach = max(at.reach, abs(ratio_come))
    at.sums[0] += root_gone - root_come
    term_gone, term_come = root_gone, root_come
    for p in range(1, ORDER + 1):
        term_gone *= ratio_gone
        term_come *= ratio_come
        at.sums[p] += term_come - term_gone


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def change(at: Solver, who: int, before: float, after: float) -> None:
    """Labeller ``who`` moved from R = ``before`` to ``after``.

    Who rises above the lowest head changes places with it, so the highest R stays among the heads.
    """
    at.total += after - before
    at.squares += after * after - before * before
    at.updates += 1
    for k in range(at.n_heads):
        if at.heads[k] == who:
            at.head_r[k] = after
            return
    if after > at.floor:
        low = 0
        for k in range(at.n_heads):
            if at.head_r[k] < at.head_r[low]:
                low = k
        at.floor = at.head_r[low]
        if after > at.floor:
            at.heads[low] = who
            at.head_r[low] = after
            after = at.floor
    _swap_term(at, before, after)


@njit(cache=True, nogil=True, error_model="numpy")
def anchor(at: Solver, agreement: Floats, scale: float) -> None:
    """One pass over all labellers: choose the heads, sum up the rest about ``scale``."""
    at.anchor = scale
    at.highest, at.reach = -np.inf, 0.0
    at.total, at.squares, at.updates = 0.0, 0.0, 0
    for p in range(ORDER + 1):
        at.sums[p] = 0.0
    at.n_heads = 0
    for i in range(agreement.size):
        r = agreement[i]
        at.total += r
        at.squares += r * r
        # Insertion keeps the heads in falling order; whoever falls out joins the rest.
        k = at.n_heads
        if k == HEADS:
            k -= 1
            if r <= at.head_r[k]:
                _swap_term(at, 0.0, r)
                continue
            _swap_term(at, 0.0, at.head_r[k])
        else:
            at.n_heads += 1
        while k > 0 and at.head_r[k - 1] < r:
            at.heads[k], at.head_r[k] = at.heads[k - 1], at.head_r[k - 1]
            k -= 1
        at.heads[k], at.head_r[k] = i, r
    at.floor = at.head_r[at.n_heads - 1] if at.n_heads else np.inf


@njit(cache=True, nogil=True, error_model="numpy")
def restart(at: Solver, agreement: Floats) -> None:
    """Solve in full and anchor there."""
    if agreement.size == 0:
        return
    status, top, share, scale = solve(agreement, True)
    at.status, at.top, at.share, at.scale = status, top, share, scale
    at.most = agreement[top]
    anchor(at, agreement, scale)


@njit(cache=True, nogil=True, error_model="numpy")
def _reaches(at: Solver, scale: float) -> bool:
    """Whether the series about the anchor is good at ``scale``."""
    return abs(scale - at.anchor) * max(at.reach, REACH) <= REACH * at.anchor


@njit(cache=True, nogil=True, error_model="numpy")
def _excess_near(at: Solver, most: float, share: float) -> tuple[float, float]:
    """`excess` from the heads and the series, O(1): value and derivative."""
    unit = 1.0 / most
    z = 1.0 - share
    total, slope = share - 2.0, 1.0
    for k in range(at.n_heads):
        if at.heads[k] != at.top:
            r = at.head_r[k]
            root = np.sqrt((most - r) * unit + r * unit * z * z) + TINY
            total += 1.0 - root
            slope += r * unit * z / root
    # √(1 − x) = 1 − x/2 − x²/8 − x³/16 − 5x⁴/128 − 7x⁵/256 − 21x⁶/1024 − 33x⁷/2048 − …
    c1, c2, c3 = at.sums[1] / 2, at.sums[2] / 8, at.sums[3] / 16
    c4, c5 = at.sums[4] * 5 / 128, at.sums[5] * 7 / 256
    c6, c7 = at.sums[6] * 21 / 1024, at.sums[7] * 33 / 2048
    d = share * (2.0 - share) * unit / at.anchor - 1.0
    total += at.sums[0] + d * (c1 + d * (c2 + d * (c3 + d * (c4 + d * (c5 + d * (c6 + d * c7))))))
    rate = c1 + d * (
        2 * c2 + d * (3 * c3 + d * (4 * c4 + d * (5 * c5 + d * (6 * c6 + d * 7 * c7))))
    )
    return total, slope + rate * 2.0 * z * unit / at.anchor


@njit(cache=True, nogil=True, error_model="numpy")
def _follow(at: Solver, most: float) -> bool:
    """Newton from where the root was; false when it cannot be followed from this anchor."""
    share = at.share
    scale = share * (2.0 - share) / most
    for _ in range(8):
        if not (0.0 < share < 2.0 and _reaches(at, scale)):
            return False
        value, slope = _excess_near(at, most, share)
        if slope <= 0.0:
            return False
        step = value / slope
        share -= step
        scale = share * (2.0 - share) / most
        # What is left after a step is about step²/(2|1 − share|), times 1/slope where that is flat.
        bend = share * abs(1.0 - share) * min(slope, 1.0)
        if step * step <= 1e-12 * bend or abs(step) <= 1e-14 * share:
            if not _reaches(at, scale):
                return False
            if share > 1.0 and (
                slope < STEEP
                or at.total <= 2.0 * most
                or not _reaches(at, 1.0 / most)
                or _excess_near(at, most, 1.0)[0] >= 0.0
            ):
                return False
            at.most, at.share, at.scale = most, share, scale
            return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _hopeless(at: Solver, most: float) -> bool:
    """Whether the sums alone rule out a solution, so that no pass is needed to see it.

    At share 1 the excess is at most ``−1 + Σ (r + r²)/2`` over the others' ``r = R/R_top ≤ 1``.
    """
    others = (at.total - most) / most
    squares = (at.squares - most * most) / (most * most)
    return at.total <= 2.0 * most and others + squares < 2.0 - 1e-9


@njit(cache=True, nogil=True, error_model="numpy")
def advance(at: Solver, n: int) -> bool:
    """Bring the solution for ``n`` labellers up to date after `change`, in O(1).

    False when it cannot be done without a full pass, `catch_up`. Those come ever more rarely:
    about a fixed number each time the sums double.
    """
    if at.n_heads == 0 or at.updates > ROUNDS * (n + 1024):
        return False
    top = 0
    for k in range(1, at.n_heads):
        if at.head_r[k] > at.head_r[top]:
            top = k
    at.top = at.heads[top]
    most = at.head_r[top]
    if most <= 0.0 or most < at.highest:
        return False
    if at.status == SOLVED:
        return _follow(at, most)
    return _hopeless(at, most)


@njit(cache=True, nogil=True, error_model="numpy")
def catch_up(at: Solver, agreement: Floats) -> None:
    """`advance` with a full pass: about a new anchor if that is enough, else a full solve."""
    if at.status == SOLVED and at.anchor != at.scale:
        anchor(at, agreement, at.scale)
        if advance(at, agreement.size):
            return
    restart(at, agreement)
