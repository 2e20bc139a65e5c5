"""The sparse regime: by how much estimated weights can be worse than known ones, at most.

The *excess* of a vote is how much more often it errs than the vote that knows the skills. The model
is that of `crowdstream_lab.theory.sparse`; the tasks decided are not among those that the
weights were learnt from. Proofs: docs/sparse.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from crowdstream import InputError
from crowdstream.extension import check_number
from crowdstream_lab.theory.checks import Floats
from crowdstream_lab.theory.sparse import average_variance, variances
from crowdstream_lab.theory.sparse_votes import CAP, check_crowd, known_error
from crowdstream_lab.theory.votes import majority_error

ANGLES = 4_000
"""Points of the integral over s = tan(angle)/2. With ten times as many it changes by less than one
part in a thousand for the crowds of docs/sparse.md."""


def shrunk_excess_bound(skills: ArrayLike, answers: int, labels: int) -> float:
    """The most that a vote with well shrunk weights errs beyond one with known weights.

    The lesser of two. One is ``majority − known``: shrunk weights are no worse than majority vote.
    The other is ``1/π ∫ min(δ, a + |B|) Σ_k a^k |B|^(l−1−k) / (1 + 4s²) ds``, of which
    ``2l/π · √(κv) · ρ^(l − ½)`` is a simpler upper bound, with::

        v = τ²σ²/(τ² + σ²)                      the mean square error of the estimates
        B(s) = E √(1−ψ²) cos(2s artanh ψ)       of which 1/π ∫ B^l/(1 + 4s²) ds is the known error
        κ = (1 − max ψ²)^(−3/2),  ρ² = 1 − ψ̄² − τ² + v,  δ = κ v (1 + 4s²)/2,  a = min(|B| + δ, ρ)

    Proved for two classes and estimates that are *calibrated*: the mean skill of the workers with
    the same estimate is that estimate.

    Parameters
    ----------
    skills
        The skills, each from 0 to 1, that a worker has with equal chances; not all 0.
    answers
        The answers r of each worker that its weight is learnt from, at least 1.
    labels
        The labels l of each task, at least 2.

    Examples
    --------
    >>> from crowdstream_lab.theory import weights_beat_majority
    >>> skills = [0.05, 0.15, 0.25, 0.35, 0.45, 0.55]
    >>> round(shrunk_excess_bound(skills, answers=100, labels=25), 4)
    0.0197
    >>> errors = weights_beat_majority(skills, answers=100, labels=25)
    >>> round(errors.shrunk - errors.known, 4)
    0.0067
    """
    given, mean, spread = check_crowd(skills, answers, labels, 2)
    noise = average_variance(mean, spread, answers, labels)
    error = spread * noise / (spread + noise)
    most = majority_error([(1 - mean) / 2] * labels) - known_error(given, labels)
    return max(min(bound_if_calibrated(given, error, labels), most), 0.0)


def bound_if_calibrated(skills: Floats, error: float, labels: int) -> float:
    """The integral of `shrunk_excess_bound` for calibrated estimates of this mean square error."""
    least = 1 - float(skills.max()) ** 2
    if least <= 0:
        return 0.5
    s = np.tan((np.arange(ANGLES) + 0.5) / ANGLES * math.pi / 2) / 2
    b = np.zeros(ANGLES)
    for skill in skills:
        b += math.sqrt(1 - skill**2) * np.cos(2 * s * math.atanh(skill))
    b = np.abs(b) / skills.size
    rho = math.sqrt(1 - float((skills**2).mean()) + error)
    delta = (1 + 4 * s**2) * error / (2 * least**1.5)
    a = np.minimum(b + delta, rho)
    powers = sum(a**k * b ** (labels - 1 - k) for k in range(labels))
    return float((np.minimum(delta, a + b) * powers).mean()) / 2


def excess_error_bound(
    skills: ArrayLike, answers: int, labels: int, *, trust: float = 1.0, classes: int = 2
) -> float:
    """The most that a vote errs beyond one with known weights, whatever the trust in its estimates.

    ``(K−1) √(½[(b + M)^l − b^l])``, at most ``1 − 1/K``, with ``s = (1 + (K−1)ψ)/K``,
    ``ε = (1 − ψ)/K`` and::

        b = E ((K−2)ε + 2√(sε))²                               two classes: 1 − ψ̄² − τ²
        M = E (2 + (K−2)√(ε/s)) (ψ̃ − ψ)² / min(1, 0.4 (1 + 0.6 (K−1)))

    Proved for all estimates in [0, 0.6] that are independent of the labels voted on, given the
    skills: shrunk or not, calibrated or not.

    Parameters
    ----------
    skills, answers, labels
        As for `shrunk_excess_bound`; skills up to 0.6, where estimates are cut.
    trust
        How far estimates depart from the mean, from 0 to 1 (no shrinkage).
    classes
        The number K of classes, at least 2.

    Examples
    --------
    >>> round(excess_error_bound([0.0, 0.6], answers=1000, labels=9), 3)
    0.079
    """
    given, mean, _ = check_crowd(skills, answers, labels, classes)
    check_number("trust", trust, 0, 1)
    if given.max() > CAP:
        raise InputError("skills", f"skills up to {CAP}", str(float(given.max())))
    square = (1 - trust) ** 2 * (given - mean) ** 2
    square += trust**2 * variances(given, mean, answers, labels, classes)
    least = min(1.0, (1 - CAP) * (1 + (classes - 1) * CAP))
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
