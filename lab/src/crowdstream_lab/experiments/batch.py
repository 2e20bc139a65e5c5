"""The paper's algorithm as printed, for many repetitions at once: arrays in, arrays out.

The last axis of every array is that of the workers, the one before it that of the tasks where there
are tasks, and what comes before are repetitions. Labels are given times the truth, +1 for right, −1
for wrong and 0 for none: agreements and errors of a vote depend on nothing else. Shares no code
with the estimators; the tests hold it against `AgreementBased` and against `reference`.
"""

from __future__ import annotations

import numpy as np

from crowdstream_lab.experiments.common import Floats

STEPS = 60
"""Steps of the search for a fixed point: where Newton's step leaves the bracket it is halved, and
sixty halvings are more than a double has bits. Seven or eight are usual."""

STILL = 1e-13
"""A step below which the search ends: relative to an unknown from 0 to 1."""

ROUNDING = 1e-9
"""Excess at v_0 that counts as none, as in `reference`: small crowds often meet the condition of
existence with equality."""

TIE = 1e-9
"""Sums of weights this close to 0 are a tie, well above what rounding leaves of equal weights."""


def draw(rng: np.random.Generator, shape: tuple[int, ...], p: Floats, alpha: float = 1.0) -> Floats:
    """Labels times the truth: −1 with probability α p_i, +1 with α (1 − p_i), else 0.

    ``p`` has the workers last and may have one row per task before.
    """
    right = np.where(rng.random(shape) < p, -1.0, 1.0)
    if alpha < 1:
        right *= rng.random(shape) < alpha
    return right


def agreeing(right: Floats, alpha: float = 1.0) -> Floats:
    """Return what a task adds to t â_i: the share of others whom i agrees with there, over α²."""
    total = right.sum(axis=-1, keepdims=True)
    given = np.abs(right)
    answered = given.sum(axis=-1, keepdims=True)
    found: Floats = (right * total + given * (answered - 2)) / (
        2 * (right.shape[-1] - 1) * alpha**2
    )
    return found


def agreements(right: Floats, alpha: float = 1.0, beta: float = 0.0) -> Floats:
    """â after every task: the mean so far, or with forgetting β the recursion from 0."""
    seen = agreeing(right, alpha)
    if not beta:
        tasks = np.arange(1, right.shape[-2] + 1)[:, None]
        mean: Floats = np.cumsum(seen, axis=-2) / tasks
        return mean
    now = np.zeros_like(seen[..., 0, :])
    for t in range(seen.shape[-2]):
        now = (1 - beta) * now + beta * seen[..., t, :]
        seen[..., t, :] = now
    return seen


def error_rates(a: Floats) -> Floats:
    """p̂ = φ(â), not clipped; ½ for everybody where the fixed point does not exist.

    The unknown is ``c = √(δ_d / v)`` of the worker d who agrees most: with r_i the ratio of
    ``2â_i − 1`` to hers, ``√(δ_i / v) = √(1 − r_i + r_i c²)``, and the fixed-point equation is
    ``Σ (1 − √(1 − r_i + r_i c²)) = 2`` on [0, 1).

    >>> error_rates(np.array([[0.75, 0.75, 0.75, 0.5], [1.0, 0.5, 0.5, 0.5]])).round(3).tolist()
    [[0.067, 0.067, 0.067, 0.5], [0.5, 0.5, 0.5, 0.5]]
    """
    n = a.shape[-1]
    slack = (4 * (n - 1) / n**2 * (2 * a - 1)).reshape(-1, n)
    top = slack.max(axis=-1)
    found = np.full(slack.shape, 0.5)
    some = np.flatnonzero(top > 0)
    ratio = slack[some] / top[some, None]
    excess = (np.sqrt(1 - ratio).sum(axis=-1) / (n - 2) - 1) * np.sqrt(top[some])
    solved = excess <= ROUNDING
    some, ratio = some[solved], ratio[solved]
    c = _solve(ratio)[:, None]
    root_v = np.sqrt(top[some, None] / (1 - c**2))
    found[some] = 0.5 - n / 4 * root_v * (1 - np.sqrt(1 - ratio + ratio * c**2))
    return found.reshape(a.shape)


def _solve(ratio: Floats) -> Floats:
    """c of every row, by Newton's method kept within a bracket."""
    found = np.zeros(len(ratio))
    rows = np.arange(len(ratio))
    low, high, c = np.zeros(len(ratio)), np.ones(len(ratio)), np.full(len(ratio), 0.5)
    for _ in range(STEPS):
        roots = np.sqrt(1 - ratio + ratio * (c * c)[:, None])
        left = ratio.shape[1] - 2 - roots.sum(axis=-1)  # falls with c, 0 at the fixed point
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = -c * np.where(roots > 0, ratio / roots, 0.0).sum(axis=-1)
            step = c - left / slope
        low, high = np.where(left > 0, c, low), np.where(left > 0, high, c)
        inside = (step >= low) & (step <= high)
        after = np.where(inside, step, (low + high) / 2)
        found[rows] = after
        going = np.abs(after - c) > STILL
        rows, ratio, c = rows[going], ratio[going], after[going]
        low, high = low[going], high[going]
        if not rows.size:
            break
    return found


def vote_errors(right: Floats, p: Floats, clip: float = 0.0) -> Floats:
    """Errors of the weighted vote that believes the error rates ``p``; a tie counts ½.

    With p = ½ for everybody it is majority vote. Without a clip, whoever seems never (or always) to
    err has an infinite weight: such votes are counted first, and the others only if they cancel.
    """
    kept = np.clip(p, clip, 1 - clip)
    with np.errstate(divide="ignore"):
        weights = np.log(1 / kept - 1)
    weights = np.where((p == 0.5).all(axis=-1, keepdims=True), 1.0, weights)
    sure = np.isinf(weights)
    score = (np.where(sure, 0.0, weights) * right).sum(axis=-1)
    if sure.any():
        first = (np.where(sure, np.sign(weights), 0.0) * right).sum(axis=-1)
        score = np.where(first == 0, score, first)
    errors: Floats = 0.5 - 0.5 * np.where(np.abs(score) < TIE, 0.0, np.sign(score))
    return errors
