"""Bradley and Terry's model with judges who differ, fitted to comparisons in codes.

Item a, shown first, is preferred to b by judge j with probability

    sigmoid(σ_j (θ_a − θ_b) + β_j)

θ are the ratings, σ_j the judge's discrimination (0 guesses, negative prefers the worse), β_j how
far it leans to what is shown first. With all σ equal it is Bradley and Terry's own model. A tie
counts as half a win of either.

Only products of σ and θ are seen, so the scale is fixed by mean σ = 1, which also says that judges
prefer the better item on average: an assumption, no finding. Ratings are relative: their mean is 0
in every group of items that comparisons connect. Knows items and judges by their codes only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

RATING, DISCRIMINATION, POSITION = 3.0, 1.0, 1.0
"""Standard deviations of ratings (around 0), discriminations (around 1) and position effects
(around 0) before any comparison is seen. Wide: a rating of 3 is 20 : 1, a lean of 1 picks the first
of two equals 73 times in 100. They keep an item that never lost at a finite rating, and a judge of
few comparisons near the others."""

LEAST_MEAN = 0.2
"""Mean discrimination from which on ratings are put on its scale: of judges with less in common the
scale and the sign are those of the prior."""

ROUNDS, STILL, HALVINGS = 200, 1e-8, 30
"""Most steps, the size of the step that ends them, and how often a step is halved at most."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of items by judges: ``won`` is 1 where the first item was preferred, ½ for a tie.

    ``lean``: the position effect that a judge has, −1 for none.
    """

    first: Ints
    second: Ints
    judge: Ints
    won: Floats
    items: int
    judges: int
    lean: Ints

    @property
    def leans(self) -> int:
        """Number of position effects."""
        return int(self.lean.max(initial=-1)) + 1

    def only(self, kept: Bools) -> Comparisons:
        """Some of the comparisons."""
        some = self.first[kept], self.second[kept], self.judge[kept], self.won[kept]
        return Comparisons(*some, self.items, self.judges, self.lean)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Fitted ratings, discriminations and leans, with their joint covariance."""

    rating: Floats
    discrimination: Floats
    lean: Floats
    covariance: Floats
    scaled: bool
    """True if judges have enough in common for a scale; if not, it is the prior's."""

    def errors(self) -> tuple[Floats, Floats, Floats]:
        """Standard errors of each."""
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        first, last = self.rating.size, self.rating.size + self.discrimination.size
        return spread[:first], spread[first:last], spread[last:]


def fit(made: Comparisons, groups: Ints, counted: Bools, *, alike: bool = False) -> Ratings:
    """The likeliest ratings, discriminations and leans, and their covariance (a sandwich).

    ``groups``: of every item the group that comparisons connect. ``counted``: judges whose
    discriminations make the mean of 1. ``alike``: all discriminations are 1.
    """
    at = np.concatenate([np.zeros(made.items), np.ones(made.judges), np.zeros(made.leans)])
    at = _climb(made, at, alike=True)
    if not alike:
        at = _climb(made, at, alike=False)
    covariance = _sandwich(made, at, alike)
    return _normalised(made, at, covariance, groups, counted)


def _climb(made: Comparisons, at: Floats, *, alike: bool) -> Floats:
    """Fisher scoring, each step halved until it is one upwards."""
    free = _free(made, alike)
    precision, middle = _prior(made)
    top = _height(made, at, precision, middle)
    for _ in range(ROUNDS):
        pull, bend = _slopes(made, at, precision, middle)
        step = np.zeros(at.size)
        step[free] = np.linalg.solve(bend[np.ix_(free, free)], pull[free])
        for _ in range(HALVINGS):
            height = _height(made, at + step, precision, middle)
            if height >= top:
                break
            step = step / 2.0
        else:
            break  # nowhere to go but down: rounding
        at, top = at + step, height
        if np.abs(step).max(initial=0.0) < STILL:
            break
    return at


def _free(made: Comparisons, alike: bool) -> Ints:
    """Places of the parameters that are fitted."""
    every = np.arange(made.items + made.judges + made.leans)
    held = (every >= made.items) & (every < made.items + made.judges)
    return np.flatnonzero(~held) if alike else every


def _prior(made: Comparisons) -> tuple[Floats, Floats]:
    """Precision and mean of every parameter before any comparison is seen."""
    sizes = [made.items, made.judges, made.leans]
    precision = np.repeat(np.array([RATING, DISCRIMINATION, POSITION]) ** -2.0, sizes)
    return precision, np.repeat([0.0, 1.0, 0.0], sizes)


def _logits(made: Comparisons, at: Floats) -> Floats:
    rating, discrimination, lean = _parts(made, at)
    gap = rating[made.first] - rating[made.second]
    return np.asarray(discrimination[made.judge] * gap + _lean_of(made, lean))


def _parts(made: Comparisons, at: Floats) -> tuple[Floats, Floats, Floats]:
    last = made.items + made.judges
    return at[: made.items], at[made.items : last], at[last:]


def _lean_of(made: Comparisons, lean: Floats) -> Floats:
    which = made.lean[made.judge]
    return np.where(which >= 0, np.append(lean, 0.0)[which], 0.0)


def _height(made: Comparisons, at: Floats, precision: Floats, middle: Floats) -> float:
    """The penalised log-likelihood."""
    logits = _logits(made, at)
    likely = made.won * logits - np.logaddexp(0.0, logits)
    return float(likely.sum() - precision @ (at - middle) ** 2 / 2.0)


def _rows(made: Comparisons, at: Floats) -> tuple[Ints, Floats]:
    """Return the parameters that each comparison's logit depends on, and its slope in each."""
    rating, discrimination, _ = _parts(made, at)
    steep = discrimination[made.judge]
    gap = rating[made.first] - rating[made.second]
    which = made.lean[made.judge]
    leans = made.items + made.judges + np.maximum(which, 0)
    places = [made.first, made.second, made.items + made.judge]
    slopes = [steep, -steep, gap]
    if made.leans:
        places.append(leans)
        slopes.append(np.where(which >= 0, 1.0, 0.0))
    return np.stack(places, axis=1), np.stack(slopes, axis=1)


def _slopes(
    made: Comparisons, at: Floats, precision: Floats, middle: Floats
) -> tuple[Floats, Floats]:
    """The gradient of the penalised log-likelihood, and the expected information."""
    chance = _sigmoid(_logits(made, at))
    places, slopes = _rows(made, at)
    pull = np.bincount(
        places.ravel(), (slopes * (made.won - chance)[:, None]).ravel(), at.size
    ) - precision * (at - middle)
    bend = _squares(places, slopes, chance * (1.0 - chance), at.size) + np.diag(precision)
    return pull, bend


def _squares(places: Ints, slopes: Floats, weights: Floats, size: int) -> Floats:
    """``Σ w v vᵀ`` over comparisons, of which each has few places."""
    found = np.zeros(size * size)
    for i in range(places.shape[1]):
        for j in range(places.shape[1]):
            cells = places[:, i] * size + places[:, j]
            found += np.bincount(cells, weights * slopes[:, i] * slopes[:, j], size * size)
    return found.reshape(size, size)


def _sandwich(made: Comparisons, at: Floats, alike: bool) -> Floats:
    """``H⁻¹ S H⁻¹``: H the information with the prior's, S that which the residuals show.

    Holds where the model does not, too: half wins vary less than wins and losses would.
    """
    precision, middle = _prior(made)
    places, slopes = _rows(made, at)
    residual = made.won - _sigmoid(_logits(made, at))
    _, bend = _slopes(made, at, precision, middle)
    seen = _squares(places, slopes, residual**2, at.size) + np.diag(precision)
    free = _free(made, alike)
    back = np.linalg.inv(bend[np.ix_(free, free)])
    found = np.zeros((at.size, at.size))
    found[np.ix_(free, free)] = back @ seen[np.ix_(free, free)] @ back
    return found


def _normalised(
    made: Comparisons, at: Floats, covariance: Floats, groups: Ints, counted: Bools
) -> Ratings:
    """Mean discrimination 1, mean rating 0 in every group; the covariance goes along."""
    rating, discrimination, lean = _parts(made, at)
    share = counted / max(int(counted.sum()), 1)
    scale = float(share @ discrimination)
    scaled = scale >= LEAST_MEAN
    if not scaled:
        scale, share = 1.0, np.zeros(made.judges)
    turn = np.eye(at.size)
    own = slice(0, made.items)
    judges = slice(made.items, made.items + made.judges)
    centring = np.eye(made.items) - _means(groups)
    turn[own, own] = scale * centring
    turn[own, judges] = np.outer(centring @ rating, share)
    turn[judges, judges] = np.eye(made.judges) / scale - np.outer(discrimination, share) / scale**2
    covariance = turn @ covariance @ turn.T
    return Ratings(scale * (centring @ rating), discrimination / scale, lean, covariance, scaled)


def _means(groups: Ints) -> Floats:
    """The matrix that replaces every value by the mean of its group."""
    same = groups[:, None] == groups[None, :]
    return np.asarray(same / same.sum(axis=1, keepdims=True))


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))
