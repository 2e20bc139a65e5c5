"""Agreement of pairs beyond what the truth explains. Knows nothing of tasks.

Subtract from the agreement of two workers what their label frequencies give by chance:
``C_ij = agreement − Σ_k p_ik p_jk``. Workers who err independently have ``C_ij = v_i v_j``, with
v the centred skill. Copying only adds to ``C_ij``: v is fitted to all pairs but those whose excess
looks like copying, from several starts, since least squares takes a block of copies for the truth.
The excess over the spread that the truth leaves to the two is the correlation ρ of their errors.

A majority of undeclared copies passes for the truth: no fit of agreements can tell them apart.
Assumes that classes are as frequent where two workers meet as elsewhere.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdstream.monitoring.rows import TINY

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

LEAST_MET = 20.0
"""Pairs that met less often are left out: 20 equal labels are not rare (0.6²⁰ = 4e-5 per pair, and
256 workers are 32,640 pairs)."""

SMOOTHING = 0.5
"""Labels of each class that a worker is taken to have given before the first (Jeffreys)."""

LEAST_SPREAD = 0.05
"""Floor of what the truth leaves of a worker's variance, which is about twice the error rate.
Below it ρ is a ratio of two small errors: someone who errs once in 40, or says one class always."""

SLACK = 0.005
"""Misfit of ``C_ij = v_i v_j`` that is not copying, such as tasks of unequal difficulty: keeps
millions of labels from making every pair an outlier."""

COPIES = 0.25
"""The ρ from which a pair may be left out of the fit as copies. Tasks of unequal difficulty and
skills that drift together reach 0.2 to 0.3. A weaker excess counts in full: else the fit could take
a block of copies for the truth and leave out the honest pairs."""

CUTOFF = 3.0
"""Standard errors of excess that a pair left out must have besides: more than noise."""

LEFT_OUT = 1.0
"""Loss of a pair left out: what noise costs a pair that is kept, so that a block of copies is
judged by how well the others fit without it, not by how many pairs it has."""

DOUBT = 8.0
"""Loss of leaving out any pair at all: honest unless the fit is clearly better, e⁴ times as likely.
"""

EVIDENCE = 4.0
"""Loss that v must explain per worker before any pair may be left out: twice what a
skill vector explains of pure noise (half the square of its largest eigenvalue, 2√S). Experts among
guessers are no copies: without them nothing is left to explain."""

STEPS = 25
"""Most iterations of a fit. Each about halves the error."""

SETTLED = 1e-3
"""A step of v so small ends the fit: well below its standard error, 0.01 for 1,000 tasks."""


class PairErrors(NamedTuple):
    """Dependence of each pair's answers, once the truth is accounted for.

    ``rho`` is the correlation ρ_ij, ``z`` how many standard errors it lies above 0, ``skill`` the
    centred skill v_i. Both tables are symmetric, with 0 on the diagonal and for pairs that hardly
    met.
    """

    rho: Floats
    z: Floats
    skill: Floats


class _Pairs(NamedTuple):
    """Input of the fit: C, one over its variance (0: they hardly met), the least excess that is
    clearly not noise, and the variance of each worker's answers.
    """

    centred: Floats
    precision: Floats
    clear: Floats
    variance: Floats


def dependence(met: Floats, agreed: Floats, said: Floats) -> PairErrors:
    """Correlation of every two workers' answers beyond what the truth explains.

    ``met[i, j]`` tasks were answered by both, on ``agreed[i, j]`` of them alike; ``said[i, k]`` is
    how often i gave label k. Four workers of whom the last two copy:

    >>> met = np.full((4, 4), 1000.0)
    >>> agreed = np.full((4, 4), 680.0)
    >>> agreed[2, 3] = agreed[3, 2] = 950.0
    >>> found = dependence(met, agreed, np.full((4, 2), 500.0))
    >>> found.skill.round(1)
    array([0.4, 0.4, 0.4, 0.4])
    >>> found.rho[2].round(1)
    array([0. , 0. , 0. , 0.8])
    """
    frequency = said + SMOOTHING
    frequency /= frequency.sum(axis=1, keepdims=True)
    variance = np.maximum(1.0 - (frequency**2).sum(axis=1), TINY)
    chance = frequency @ frequency.T
    used = met >= LEAST_MET
    np.fill_diagonal(used, False)

    count = np.where(used, met, 1.0)
    centred = np.where(used, agreed / count - chance, 0.0)
    smooth = (np.where(used, agreed, 0.0) + 1.0) / (count + 2.0)
    noise = smooth * (1.0 - smooth) / count
    blur = noise + SLACK**2
    pairs = _Pairs(centred, used / blur, CUTOFF * np.sqrt(blur), variance)
    skill = _fit(pairs)

    expected = np.outer(skill, skill)
    excess = np.where(used, centred - expected, 0.0)
    rho = np.clip(excess / _spread(pairs, skill), -1.0, 1.0)

    # If independent they would agree this often: 20 of 20 must not look certain.
    alike = np.clip(chance + expected, 1.0 / (count + 2.0), 1.0 - 1.0 / (count + 2.0))
    noise = np.maximum(noise, alike * (1.0 - alike) / count)
    return PairErrors(rho, excess / np.sqrt(noise + _uncertainty(pairs, skill)), skill)


def _fit(pairs: _Pairs) -> Floats:
    """The skill v with the least loss over several starts; most workers are taken to be skilled."""
    if not pairs.precision.any():
        return np.zeros_like(pairs.variance)
    fits = [_descend(pairs, start) for start in _starts(pairs)]
    best = min(fits, key=lambda skill: _loss(pairs, skill))
    return -best if (best > 0).sum() < (best < 0).sum() else best


def _starts(pairs: _Pairs) -> list[Floats]:
    """Return starts of the descent: all equal, rows' medians and lower quartiles, least squares.

    If most v were equal to s, most of row i of C would be ``v_i s``, even with some copies; the
    quartile, of absolute values, allows for more than half being copies. Least squares, which
    explains all pairs if any fit does, is the one to see two experts among guessers.
    """
    median = _row_quantile(pairs.centred, pairs.precision, 0.5)
    quarter = _row_quantile(np.abs(pairs.centred), pairs.precision, 0.25)
    level = np.full_like(median, np.median(np.abs(median)))
    rows = (level, median, np.where(median < 0, -quarter, quarter))
    scales = [max(float(np.median(np.abs(row))), TINY) ** 0.5 for row in rows]
    robust = [row / scale for row, scale in zip(rows, scales, strict=True)]
    return [*robust, _descend(pairs, _axis(pairs), np.ones_like(pairs.centred, np.bool_))]


def _row_quantile(values: Floats, weights: Floats, share: float) -> Floats:
    """Weighted quantile of each row; of a row without weight its least value."""
    order = np.argsort(values, axis=1)
    below = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    at = np.argmax(below >= share * below[:, -1:], axis=1)[:, None]
    found: Floats = np.take_along_axis(values, np.take_along_axis(order, at, axis=1), axis=1)
    return found[:, 0]


def _axis(pairs: _Pairs) -> Floats:
    """The principal axis of C with the variances on its diagonal, by the power method."""
    table = pairs.centred + np.diag(pairs.variance)
    axis: Floats = table[np.argmax((table**2).sum(axis=1))]
    for _ in range(STEPS):
        axis = table @ axis
        axis /= np.linalg.norm(axis)
    scale: Floats = np.sqrt(np.linalg.norm(table @ axis))
    return scale * axis


def _descend(pairs: _Pairs, skill: Floats, kept: Flags | None = None) -> Floats:
    """Least squares over the pairs ``kept``, or over those that v itself says to keep.

    All rows at once, half a step each so that the scale settles. ``1/var_i`` is the prior's
    precision: a skill that no pair says anything about is 0.
    """
    bound = np.sqrt(pairs.variance)
    skill = np.clip(skill, -bound, bound)
    for _ in range(STEPS):
        weight = pairs.precision * (_kept(pairs, skill) if kept is None else kept)
        step = (weight * pairs.centred) @ skill
        step /= weight @ skill**2 + 1.0 / pairs.variance
        before, skill = skill, np.clip(0.5 * (skill + step), -bound, bound)
        if np.abs(skill - before).max() < SETTLED:
            break
    return skill


def _spread(pairs: _Pairs, skill: Floats) -> Floats:
    """``√((var_i − v_i²)(var_j − v_j²))``: the covariance that copies of each other would have."""
    left = np.sqrt(np.maximum(pairs.variance - skill**2, LEAST_SPREAD))
    return np.outer(left, left)


def _kept(pairs: _Pairs, skill: Floats) -> Flags:
    """Pairs that the fit must explain: all but those that look like copies of each other."""
    excess = pairs.centred - np.outer(skill, skill)
    return excess <= np.maximum(COPIES * _spread(pairs, skill), pairs.clear)


def _loss(pairs: _Pairs, skill: Floats) -> float:
    """Return what v leaves unexplained of the pairs kept, plus the prior's loss."""
    square = (pairs.centred - np.outer(skill, skill)) ** 2 * pairs.precision
    kept = _kept(pairs, skill)
    loss = square.sum() / 2
    explained = (kept * (pairs.centred**2 * pairs.precision - square)).sum() / 2
    if explained > EVIDENCE * skill.size:
        loss = min(loss, np.where(kept, square, LEFT_OUT).sum() / 2 + DOUBT)
    return float(loss + (skill**2 / pairs.variance).sum())


def _uncertainty(pairs: _Pairs, skill: Floats) -> Floats:
    """The variance of the fitted ``v_i v_j``."""
    square = skill**2
    weight = pairs.precision * _kept(pairs, skill)
    error = 1.0 / (weight @ square + 1.0 / pairs.variance)
    return np.outer(square, error) + np.outer(error, square)
