"""`GoldModel`: what known truths say of the scores. A weight for each, a bias for each class.

``P(truth = a) = softmax(Σ_j w_j L_j + b)_a``, fitted on tasks of known truth to the scores L that
they had before it was known: a penalised logistic regression. Knows nothing of crowds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import StateError
from crowdstream.labels.batch import Ints
from crowdstream.models import calibration
from crowdstream.models.crowd_loops import CAP, SCORES
from crowdstream.schedule import GOLD

Floats = NDArray[np.float64]

ROWS = 1000
"""Gold tasks that are kept: a stream that has more forgets the oldest."""

FEWEST = 20
"""Gold tasks from which on there is a model: of fewer, what they say is mostly chance. With
10 it raised the calibration error of 18 real sets from 0.086 to 0.092; without it that is 0.085,
since gold still counts five-fold in the confusions (`benchmarks/estimators.py gold`)."""

SCALES: Floats = np.exp(np.linspace(-3.0, 1.5, 46))
"""Common factors of all weights that are tried, by steps of a tenth of their logarithm, which is
taken to be 0 ± 1: scores of crowds that err together are up to ten times too sure."""

WEIGHT = 0.25
"""Standard deviation of a weight, in units of the common factor. A quarter or a half made no
difference that could be told from noise."""

BIASES = {0.01: 0.5, 0.25: 1 / 6, 0.5: 1 / 6, 1.0: 1 / 6}
"""Standard deviations of class biases and how likely each is before any truth is known; models are
averaged by their evidence. Half the crowds need no bias, some a large one (a shift of 1 turns even
odds into 73 %)."""

SMALL = 64
"""Parameters up to which a task is left out exactly; beyond, its own share of the information is
left in."""

ROUNDS, STILL = 30, 1e-9
"""Most Newton steps, and the size of the step that ends them."""


class Fit(NamedTuple):
    """Weights and biases, the scores each task would have without itself, and the evidence."""

    weights: Floats
    bias: Floats
    left_out: Floats
    evidence: float


class GoldModel:
    """Weights, biases and the line of calibration, and the gold tasks they come from.

    >>> rng, model = np.random.default_rng(0), GoldModel()
    >>> truths = rng.integers(0, 2, 200)
    >>> lead = rng.normal(2.0 * truths, 1.0)  # sure of class 1 too often
    >>> scores = np.stack([np.zeros(200), lead], axis=1) - np.maximum(lead, 0.0)[:, None]
    >>> model.add(np.repeat(scores[:, None], SCORES, axis=1), truths)
    >>> model.renew(np.array([0.5, 0.0, 0.5]))
    >>> bool(model.bias[1] < model.bias[0])
    True
    """

    def __init__(self) -> None:
        self.features: Floats = np.zeros((0, SCORES, 2))
        """By gold task, score and class: what `Crowd.fill_features` gives."""
        self.truths: Ints = np.empty(0, np.int64)
        self.weights: Floats = np.zeros(SCORES)
        self.bias: Floats = np.zeros(2)
        self.line = calibration.NONE
        self.sure = calibration.Sure(0, 0)
        """Gold tasks that would have been settled if no truth were known, and how many wrongly."""
        self.fitted = 0
        """Gold tasks that the model was fitted to."""
        self.seen = 0
        """Gold tasks ever seen, kept or not."""

    @property
    def known(self) -> bool:
        """Return whether there is a model."""
        return self.fitted > 0

    @property
    def due(self) -> bool:
        """Return whether it should be fitted anew."""
        return self.seen >= FEWEST and self.seen > self.fitted * GOLD

    def make_room(self, classes: int) -> None:
        """Have so many classes; one that was not known then had the least score there is."""
        more = classes - self.bias.size
        if more > 0:
            self.features = np.pad(self.features, ((0, 0), (0, 0), (0, more)), constant_values=-CAP)
            self.bias = np.pad(self.bias, (0, more))

    def add(self, features: Floats, truths: NDArray[np.integer]) -> None:
        """Take in gold tasks, by the scores they had before their truths were known."""
        self.features = np.concatenate([self.features, features])[-ROWS:]
        self.truths = np.concatenate([self.truths, truths])[-ROWS:].astype(np.int64)
        self.seen += len(truths)

    def remove(self, features: Floats, truth: int) -> None:
        """Take back a gold task that had about these scores."""
        same = np.flatnonzero(self.truths == truth)
        if same.size:
            off = np.abs(self.features[same] - features).sum(axis=(1, 2))
            kept = np.arange(self.truths.size) != same[off.argmin()]
            self.features, self.truths = self.features[kept], self.truths[kept]
            self.seen -= 1

    def renew(self, prior: Floats) -> None:
        """Fit the model anew, around these weights, if there is gold enough."""
        if self.truths.size < FEWEST:
            self.fitted = 0
            return
        features, truths = self.features, self.truths
        before = np.einsum("j,tja->ta", prior, features)
        self.sure = calibration.sure(np.exp(_log_softmax(before)), truths)
        scale = _common_factor(before, truths)
        fits = [_fit(scale * features, truths, prior, sd) for sd in BIASES]
        evidence = np.log(list(BIASES.values())) + [fit.evidence for fit in fits]
        share = np.exp(evidence - evidence.max())
        share /= share.sum()
        self.weights = scale * np.einsum("s,sj->j", share, [fit.weights for fit in fits])
        self.bias = np.einsum("s,sa->a", share, [fit.bias for fit in fits])
        left_out = np.einsum("s,sta->ta", share, [fit.left_out for fit in fits])
        self.line = calibration.line(left_out.max(axis=1), left_out.argmax(axis=1) == truths)
        self.fitted = self.seen

    # Merging and saving ----------------------------------------------------------------------

    def merge(self, other: GoldModel, classes: Ints) -> None:
        """Take in another's gold tasks; its class a is ``classes[a]`` here."""
        moved = np.full((len(other.features), SCORES, self.bias.size), -CAP)
        moved[:, :, classes] = other.features[:, :, : classes.size]
        seen = self.seen + other.seen
        room = max(ROWS - self.truths.size, ROWS // 2)  # of two that are full, half of each
        self.features, self.truths = self.features[room - ROWS :], self.truths[room - ROWS :]
        truths = classes[other.truths] if other.truths.size else other.truths
        self.add(moved[-room:], truths[-room:])
        self.seen = seen

    def pack(self) -> dict[str, NDArray[np.generic]]:
        """All as arrays."""
        state = np.array([*self.line, *self.sure, self.fitted, self.seen], np.float64)
        found = {"features": self.features, "truths": self.truths}
        return found | {"weights": self.weights, "bias": self.bias, "state": state}

    def unpack(self, arrays: Mapping[str, NDArray[np.generic]], classes: int) -> None:
        """Take over what `pack` gave."""
        names = "features", "truths", "weights", "bias", "state"
        if missing := set(names) - set(arrays):
            raise StateError(f"a saved state without its gold: {', '.join(sorted(missing))}")
        features, truths, weights, bias, state = (np.array(arrays[name]) for name in names)
        shapes = (truths.size, SCORES, classes), (SCORES,), (classes,), (7,)
        if (features.shape, weights.shape, bias.shape, state.shape) != shapes:
            raise StateError("a saved state whose gold does not fit")
        if truths.size and not 0 <= truths.min() <= truths.max() < classes:
            raise StateError("a saved state whose gold does not fit")
        self.features, self.truths, self.weights, self.bias = features, truths, weights, bias
        self.line = calibration.Line(*state[:3].tolist())
        sure, wrong, self.fitted, self.seen = (int(value) for value in state[3:])
        self.sure = calibration.Sure(sure, wrong)


def _common_factor(scores: Floats, truths: Ints) -> float:
    """The factor of these scores under which the truths are likeliest, its logarithm 0 ± 1."""
    rows = np.arange(truths.size)
    found = [
        _log_softmax(factor * scores)[rows, truths].sum() - np.log(factor) ** 2 / 2
        for factor in SCALES
    ]
    return float(SCALES[int(np.argmax(found))])


def _fit(features: Floats, truths: Ints, prior: Floats, spread: float) -> Fit:
    """The likeliest weights, none below 0, and biases of this standard deviation."""
    used = np.ones(prior.size, bool)
    while True:
        fit = _unbounded(features[:, used], truths, prior[used], spread)
        if (fit.weights >= 0.0).all():
            break
        kept = np.flatnonzero(used)
        used[kept[fit.weights < 0.0]] = False
    weights = np.zeros(prior.size)
    weights[used] = fit.weights
    return fit._replace(weights=weights)


def _unbounded(features: Floats, truths: Ints, prior: Floats, spread: float) -> Fit:
    """Newton's method, each step halved until it is one upwards."""
    scores, classes = features.shape[1:]
    rows = np.arange(truths.size)
    middle = np.concatenate([prior, np.zeros(classes)])
    precision = np.repeat([WEIGHT**-2.0, spread**-2.0], [scores, classes])

    def height(at: Floats) -> tuple[float, Floats]:
        logs = _log_softmax(_times(features, at))
        return float(logs[rows, truths].sum() - precision @ (at - middle) ** 2 / 2), logs

    at = middle
    top, logs = height(at)
    for _ in range(ROUNDS):
        pulls, bend = _slopes(features, np.exp(logs), truths, precision)
        step = np.linalg.solve(bend, pulls.sum(axis=0) - precision * (at - middle))
        found = height(at + step)
        while np.abs(step).max() > STILL and found[0] < top:
            step = step / 2.0
            found = height(at + step)
        at, (top, logs) = at + step, found
        if np.abs(step).max() < STILL:
            break
    pulls, bend = _slopes(features, np.exp(logs), truths, precision)
    if at.size <= SMALL:
        others = bend - _bends(features, np.exp(logs))
        back = np.linalg.solve(others, pulls[:, :, None])[:, :, 0]
    else:
        back = np.linalg.solve(bend, pulls.T).T
    off = np.einsum("tja,tj->ta", features, back[:, :scores]) + back[:, scores:]
    left_out = _log_softmax(_times(features, at) - off)
    evidence = top + (np.log(precision).sum() - np.linalg.slogdet(bend)[1]) / 2
    return Fit(at[:scores], at[scores:], np.exp(left_out), float(evidence))


def _times(features: Floats, at: Floats) -> Floats:
    """Weighted scores and biases."""
    scores = features.shape[1]
    return np.tensordot(features, at[:scores], axes=(1, 0)) + at[scores:]


def _slopes(
    features: Floats, chances: Floats, truths: Ints, precision: Floats
) -> tuple[Floats, Floats]:
    """Of every task the gradient of its log-likelihood; the information of all and of the prior."""
    rows = np.arange(truths.size)
    mean = np.einsum("ta,tja->tj", chances, features)
    weighted = features * chances[:, None, :]
    upper = np.einsum("tja,tka->jk", weighted, features, optimize=True) - mean.T @ mean
    cross = weighted.sum(axis=0) - mean.T @ chances
    lower = np.diag(chances.sum(axis=0)) - chances.T @ chances
    pulls = np.concatenate([features[rows, :, truths] - mean, -chances], axis=1)
    pulls[rows, features.shape[1] + truths] += 1.0
    return pulls, np.block([[upper, cross], [cross.T, lower]]) + np.diag(precision)


def _bends(features: Floats, chances: Floats) -> Floats:
    """The information of every task by itself."""
    tasks, scores, classes = features.shape
    mean = np.einsum("ta,tja->tj", chances, features)
    weighted = features * chances[:, None, :]
    found = np.empty((tasks, scores + classes, scores + classes))
    found[:, :scores, :scores] = np.einsum("tja,tka->tjk", weighted, features, optimize=True)
    found[:, :scores, :scores] -= mean[:, :, None] * mean[:, None, :]
    cross = weighted - mean[:, :, None] * chances[:, None, :]
    found[:, :scores, scores:] = cross
    found[:, scores:, :scores] = cross.transpose(0, 2, 1)
    found[:, scores:, scores:] = -chances[:, :, None] * chances[:, None, :]
    found[:, range(scores, scores + classes), range(scores, scores + classes)] += chances
    return found


def _log_softmax(scores: Floats) -> Floats:
    best = scores.max(axis=1, keepdims=True)
    found: Floats = scores - best - np.log(np.exp(scores - best).sum(axis=1, keepdims=True))
    return found
