"""The paper's agreement-based (AB) algorithm in some forty lines of NumPy, written for reading.

What the tests hold the estimators against, so it shares nothing with them: a fixed crowd, one task
at a time, every line as printed, O(n log(1/ε)) a task and no thought for speed. Names in brackets
are the labels of the equations in the paper's source.

Where the print leaves a choice:

- No solution gives ``p̂ = ½`` for everybody. The weights ``log(1/½ − 1)`` are then all 0 and every
  task would be a coin; the paper speaks of majority vote there (section 3.3 bounds the error at
  p̂ = ½ by majority's), so equal weights are what is meant.
- An estimate ``p̂_i ≤ 0`` or ``≥ 1`` has an infinite weight, as (wmv) allows. Such votes are counted
  first, and the others only if they cancel: the limit of weights that grow alike.
- The recursion of (Nnonstat) starts from 0, and so is too small by the factor ``1 − (1−β)^t``.
  That is kept as printed.
- The printed ``|N(t)|`` is N(t), which is no vector. The other slips (``p ↦ 1 − 2p`` for 1 − p,
  the powers of log n in Corollary 3, λ in Theorem 2, p² + (1 − p)² ≤ ½ in the appendix) are in
  statements that nothing here computes; see `crowdstream_lab.theory`.

References
----------
T. Bonald and R. Combes, A Streaming Algorithm for Crowdsourced Data Classification, 2016.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

HALVINGS = 100
"""Steps of the bisection: more than a double has bits, so that it ends where rounding does."""

ROUNDING = 1e-9
"""Excess at v_0 that counts as none. Small crowds often meet (cuni) with equality, and the last bit
of a recursion should not decide whether they have a solution."""


def deltas(a: Floats, root: float) -> tuple[Floats, float]:
    """``√δ_i(a, v)`` and ``√v``, where v = v_0(a) + root²."""
    n = a.size
    slack = 4 * (n - 1) / n**2 * (2 * a - 1)  # δ_i = v − slack_i
    v_0 = max(slack.max(), 0.0)
    return np.sqrt((v_0 - slack) + root**2), np.sqrt(v_0 + root**2)


def excess(a: Floats, root: float) -> float:
    """``√f(a, v) − √v``; of the sign of f − v, which grows with v (prop:fps)."""
    roots, root_v = deltas(a, root)
    return float(roots.sum() / (a.size - 2) - root_v)


def solve(a: Floats) -> float | None:
    """√(v − v_0) of the solution of ``v = f(a, v)`` on [v_0, ∞); None if there is none.

    By bisection on that root and not on v: where δ is near 0, half of the digits would be lost.
    """
    if excess(a, 0.0) > ROUNDING:  # (cuni): f(a, v_0) ≤ v_0
        return None
    # Every δ_i is at least v − v_0, so f(a, v) ≥ n²/(n−2)² (v − v_0), which is v at this end.
    low, high = 0.0, np.sqrt(max((2 * a - 1).max(), 0.0))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if excess(a, middle) > 0 else (middle, high)
    return low


def error_rates(a: Floats) -> Floats:
    """``p̂ = φ(a) = g(a, v(a))``, all ½ without a solution (prop:fp).

    >>> error_rates(np.array([0.75, 0.75, 0.75, 0.5])).round(3).tolist()
    [0.067, 0.067, 0.067, 0.5]
    >>> error_rates(np.array([1.0, 0.5, 0.5, 0.5])).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    root = solve(a)
    if root is None:
        return np.full(a.size, 0.5)
    roots, root_v = deltas(a, root)
    return 0.5 + a.size / 4 * (roots - root_v)


class AB:
    """n > 2 workers who answer with a known probability α; β > 0 forgets.

    A task is X ∈ {−1, 0, +1}ⁿ, 0 for no answer. `decide` it before `learn`: task t + 1 is decided
    with the weights of tasks 1 … t.

    Examples
    --------
    >>> crowd = AB(4)
    >>> for x in ([1, 1, 1, -1], [-1, -1, -1, -1], [1, 1, 1, 1], [-1, -1, -1, 1]):
    ...     crowd.learn(x)
    >>> crowd.error_rates.round(3).tolist()
    [0.0, 0.0, 0.0, 0.5]
    >>> crowd.decide([0, 0, 1, -1]), crowd.decide([1, -1, 0, 0])
    (1, 0)
    """

    def __init__(self, n: int, alpha: float = 1.0, beta: float = 0.0) -> None:
        if n < 3 or not 0 < alpha <= 1 or not 0 <= beta < 1:
            raise ValueError("expected n > 2, 0 < alpha ≤ 1 and 0 ≤ beta < 1")
        self.alpha, self.beta, self.t = alpha, beta, 0
        self.a = np.zeros(n)  # â(0) = 0

    def learn(self, answers: ArrayLike) -> None:
        """Update â with one task: (Ncalculation), or with forgetting (Nnonstat)."""
        x = np.asarray(answers, float)
        s, answered = x.sum(), np.abs(x).sum()  # S(t), N(t)
        agreeing = x * s + np.abs(x) * (answered - 2)  # 2 Σ_{j≠i} 1{X_i X_j = 1}
        self.t += 1
        step = self.beta or 1 / self.t
        seen = agreeing / (2 * (x.size - 1) * self.alpha**2)
        self.a = (1 - step) * self.a + step * seen

    @property
    def error_rates(self) -> Floats:
        """p̂(t), not clipped."""
        return error_rates(self.a)

    def decide(self, answers: ArrayLike) -> int:
        """The weighted vote (wmv), +1 or −1; 0 for a tie, which the paper leaves to a fair coin."""
        x, p = np.asarray(answers, float), self.error_rates
        if (p == 0.5).all():
            return int(np.sign(x.sum()))
        certain = np.where(p <= 0, 1.0, np.where(p >= 1, -1.0, 0.0))  # weights of ±∞
        with np.errstate(divide="ignore", invalid="ignore"):
            w = np.where(certain == 0, np.log(1 / p - 1), 0.0)
        return int(np.sign(certain @ x) or np.sign(w @ x))
