"""The sparse regime: by how much estimated weights can be worse than known ones, at most.

The *excess* of a vote is how much more often it errs than the vote that knows the skills. The model
is that of `crowdstream_lab.theory.sparse`; the tasks decided are not among those that the
weights were learnt from. Proofs: docs/sparse.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import Floats
from crowdstream_lab.theory.sparse import average_variance, variances
from crowdstream_lab.theory.sparse_votes import (
    CAP,
    check_cap,
    check_crowd,
    check_skills,
    known_error,
)
from crowdstream_lab.theory.votes import majority_error

ANGLES = 40_000
"""Points of the integral over s = tan(angle)/2. With ten times as many it changes by less than one
part in two thousand for the crowds of docs/sparse.md, by 1.3 % where skills are known to 10⁻⁵."""

FAR = 0.01
"""Share of the angles, next to π/2, whose points are as dense as they are near: where estimates are
nearly right, δ is large there only."""

FARTHEST = 1e-13
"""The nearest to π/2, as a share of those: beyond, what is left out is no larger than that."""

TANGENTS = 200
"""Points at which `jensen_gap` tries a tangent, denser towards 1. Each gives a bound, and the least
counts; with ten times as many it is less by one part in a thousand at most."""

NEAREST = 1e-9
"""Distance to 1 of the last of them, at least."""


def shrunk_excess_bound(
    skills: ArrayLike, answers: int, labels: int, *, cap: float | None = None
) -> float:
    """The most that a vote with well shrunk weights errs beyond one with known weights.

    The lesser of two. One is ``majority − known``: shrunk weights are no worse than majority vote.
    The other is ``1/π ∫ min(δ, a + |B|) Σ_k a^k |B|^(l−1−k) / (1 + 4s²) ds``, of which
    ``2l/π · √(2J) · ρ^(l − ½)`` is a simpler upper bound, with::

        v = τ²σ²/(τ² + σ²)                      the mean square error of the estimates
        B(s) = E √(1−ψ²) cos(2s artanh ψ)       of which 1/π ∫ B^l/(1 + 4s²) ds is the known error
        J = `jensen_gap` of v,  δ = J (1 + 4s²)
        a = min(|B| + δ, B(0) + J, ρ),  ρ² = 1 − ψ̄² − τ² + v

    Proved for two classes, all skills from 0 to 1, and estimates that are *calibrated*: the mean
    skill of the workers with the same estimate is that estimate. If estimates are cut at a cap c
    that some skills exceed, ``√(½[(ρ² + M)^l − ρ^(2l)])`` is added, ``M = 2 E(ψ − c)₊²/(1 − c²)``,
    and that they are no worse than majority vote is not proved.

    Parameters
    ----------
    skills
        The skills, each from 0 to 1, that a worker has with equal chances; not all 0.
    answers
        The answers r of each worker that its weight is learnt from, at least 1.
    labels
        The labels l of each task, at least 2.
    cap
        The skill beyond which a vote counts no more, above 0 and below 1; none unless given.

    Examples
    --------
    >>> from crowdstream_lab.theory import weights_beat_majority
    >>> skills = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55]
    >>> round(shrunk_excess_bound(skills, answers=100, labels=25), 4)
    0.0159
    >>> errors = weights_beat_majority(skills, answers=100, labels=25)
    >>> round(errors.shrunk - errors.known, 4)
    0.0067

    Half of them guess and half are always right:

    >>> round(shrunk_excess_bound([0.0, 1.0], answers=100, labels=9), 4)
    0.0137
    """
    if cap is not None:
        check_cap(cap)
    given, mean, spread = check_crowd(skills, answers, labels, 2)
    noise = average_variance(mean, spread, answers, labels)
    error = spread * noise / (spread + noise)
    found = bound_if_calibrated(given, error, labels)
    if cap is not None and given.max() > cap:
        return min(found + lost_by_cap(given, error, labels, cap), 0.5)
    most = majority_error([(1 - mean) / 2] * labels) - known_error(given, labels)
    return max(min(found, most), 0.0)


def jensen_gap(skills: ArrayLike, error: float) -> float:
    """The most that E √(1 − m²) exceeds E √(1 − ψ²) for calibrated estimates m of the skills ψ.

    Of all with ``E[ψ | m] = m`` and a mean square error up to v. With ``φ(x) = √(1 − x²)``::

        J = min over b, λ of  λv + E (ψ − b)² (1/(φ(b) (1 − bψ + φ(b)φ(ψ))) − λ)₊

    over ``0 ≤ b < 1`` and ``0 ≤ λ ≤ φ(b)^(−3)/2``. Every pair gives a bound. At most ``κv/2`` with
    ``κ = (1 − max ψ²)^(−3/2)``, which is infinite where somebody is always right; ``√(2ψ̄v)`` if all
    others guess; ``√2 v^¼`` whatever the skills.

    Parameters
    ----------
    skills
        The skills, each from 0 to 1, that a worker has with equal chances.
    error
        The mean square error v, from 0.

    Examples
    --------
    >>> round(jensen_gap([0.0, 1.0], 0.01), 4), round((2 * 0.5 * 0.01) ** 0.5, 4)
    (0.0913, 0.1)
    >>> round(jensen_gap([0.0, 0.6], 0.01), 4), round(0.01 / 2 * 0.64**-1.5, 4)
    (0.0068, 0.0098)
    """
    given = check_skills(skills)
    check_number("error", error, 0, 1)
    b = 1 - np.geomspace(1, max(1 - float(given.max()), NEAREST), TANGENTS)[:, None]
    phi = np.sqrt(1 - b**2)
    bend = 1 / (phi * (1 - b * given + phi * np.sqrt(1 - given**2)))
    square = (given - b) ** 2 / given.size
    order = np.argsort(-bend, axis=1)
    bend, square = (np.take_along_axis(x, order, axis=1) for x in (bend, square))
    # Linear in λ between the bends: the least is at one of them, or where λ may grow no more.
    most = phi**-3 / 2
    at_bends = bend * (error - square.cumsum(axis=1)) + (square * bend).cumsum(axis=1)
    at_most = most[:, 0] * error + (square * np.maximum(bend - most, 0)).sum(axis=1)
    found = [*at_bends[bend <= most], *at_most, math.sqrt(2) * error**0.25]
    return max(float(min(found)), 0.0)


def bound_if_calibrated(skills: Floats, error: float, labels: int) -> float:
    """The integral of `shrunk_excess_bound` for calibrated estimates of this mean square error."""
    s, weights = _points()
    b = np.zeros(s.size)
    for skill in skills[skills < 1]:  # who is always right adds nothing to B
        b += math.sqrt(1 - skill**2) * np.cos(2 * s * math.atanh(skill))
    b = np.abs(b) / skills.size
    gap = jensen_gap(skills, error)
    rho = math.sqrt(1 - float((skills**2).mean()) + error)
    first = float(np.sqrt(1 - skills**2).mean())
    delta = (1 + 4 * s**2) * gap
    a = np.minimum(b + delta, min(first + gap, rho))
    powers = sum(a**k * b ** (labels - 1 - k) for k in range(labels))
    return float((np.minimum(delta, a + b) * powers) @ weights) / math.pi


def _points() -> tuple[Floats, Floats]:
    """Values of s from 0 on, and the parts of the angle from 0 to π/2 that they stand for."""
    near, count = (1 - FAR) * math.pi / 2, ANGLES // 2
    angles = (np.arange(count) + 0.5) / count * near
    edges = (math.pi / 2 - near) * np.geomspace(1, FARTHEST, count + 1)
    left = np.sqrt(edges[1:] * edges[:-1])  # of the angle, up to π/2
    s = np.concatenate([np.tan(angles), 1 / np.tan(left)]) / 2
    return s, np.concatenate([np.full(count, near / count), -np.diff(edges)])


def lost_by_cap(skills: Floats, error: float, labels: int, cap: float) -> float:
    """The most that cutting calibrated estimates at a cap costs; 0 if no skill is above it."""
    lost = 2 * float((np.maximum(skills - cap, 0) ** 2).mean()) / (1 - cap**2)
    square = min(1 - float((skills**2).mean()) + error, 1.0)
    if square + lost >= 1:  # no promise; the power may be out of range
        return 0.5
    return math.sqrt(((square + lost) ** labels - square**labels) / 2)


def excess_error_bound(
    skills: ArrayLike,
    answers: int,
    labels: int,
    *,
    trust: float = 1.0,
    classes: int = 2,
    cap: float = CAP,
) -> float:
    """The most that a vote errs beyond one with known weights, whatever the trust in its estimates.

    ``(K−1) √(½[(b + M)^l − b^l])``, at most ``1 − 1/K``, with ``s = (1 + (K−1)ψ)/K``,
    ``ε = (1 − ψ)/K`` and::

        b = E ((K−2)ε + 2√(sε))²                               two classes: 1 − ψ̄² − τ²
        M = E (2 + (K−2)√(ε/s)) (ψ̃ − ψ)² / min(1, (1 − c)(1 + (K−1)c))

    Proved for skills from 0 to 1 and all estimates in [0, c] that are independent of the labels
    voted on, given the skills: shrunk or not, calibrated or not. A skill above c is (ψ − c)² off
    however many answers there are. Without a cap nothing can be promised: who errs once in a
    hundred answers and is taken to be always right can cost 0.01, though (ψ̃ − ψ)² is 0.0004.

    Parameters
    ----------
    skills, answers, labels
        As for `shrunk_excess_bound`.
    trust
        How far estimates depart from the mean, from 0 to 1 (no shrinkage).
    classes
        The number K of classes, at least 2.
    cap
        The largest estimate c, above 0 and below 1; the estimator's unless given.

    Examples
    --------
    >>> round(excess_error_bound([0.0, 0.6], answers=1000, labels=9), 3)
    0.079
    >>> round(excess_error_bound([0.0, 1.0], answers=1000, labels=25, cap=0.9), 5)
    0.00048
    """
    given, mean, _ = check_crowd(skills, answers, labels, classes)
    check_number("trust", trust, 0, 1)
    check_cap(cap)
    square = (1 - trust) ** 2 * (given - mean) ** 2
    square += trust**2 * variances(given, mean, answers, labels, classes)
    square += np.maximum(given - cap, 0) ** 2
    least = min(1.0, (1 - cap) * (1 + (classes - 1) * cap))
    return bound_from_errors(given, square / least, labels, classes)


def bound_from_errors(skills: Floats, errors: Floats, labels: int, classes: int) -> float:
    """`excess_error_bound` from the mean of (ψ̃ − ψ)²/((1 + (K−1)ψ̃)(1 − ψ̃)) at each skill."""
    k = classes
    right, wrong = (1 + (k - 1) * skills) / k, (1 - skills) / k
    b = float((((k - 2) * wrong + 2 * np.sqrt(right * wrong)) ** 2).mean())
    m = float(((2 + (k - 2) * np.sqrt(wrong / right)) * errors).mean())
    if b + m >= 1:  # no promise; the power may be out of range
        return 1 - 1 / k
    return min((k - 1) * math.sqrt(((b + m) ** labels - b**labels) / 2), 1 - 1 / k)
