"""Classes that differ in how common and how hard they are: posteriors of yes or no, class by class.

An estimator that sees pairs of task and class weighs workers and takes all classes for alike. Here
its posteriors are where an EM of a worker and a class effect begins (a Rasch model of the votes):

    P(yes | true)  = σ(s_j + a_k)        s_j, f_j: of worker j, from the estimator's posteriors
    P(yes | false) = σ(f_j + b_k)        a_k ~ N(0, τ_a²), b_k ~ N(0, τ_b²), both τ estimated
    P(true)        = π_k

    log-odds of true = log π_k/(1 − π_k) + λ Σ_j log-likelihood ratio of j's vote

λ ≤ 1 is by how much the estimator's own log-odds fall short of this model's without class effects:
where workers err together, the estimator lowers what votes count, and so does λ. Takes and returns
arrays; knows nothing of tables or estimators.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EXTREME = 1e-9
"""Probabilities are kept this far from 0 and 1 before they become log-odds."""

VOTES = 2.0
"""Votes of the average worker that every worker is given, as the rule of succession gives two."""

MOST_STEPS = 50
"""Steps of EM; they end earlier if posteriors move by less than `STILL` on average."""

STILL = 1e-4
"""Mean movement of posteriors at which EM has converged: the last decimal that is shown."""

LONGEST = 1.0
"""Longest step of an effect in log-odds: Newton's method overshoots where a class has few votes."""

LEAST_VARIANCE = 1e-6
"""Least variance of effects, so that one over it is a number."""

LEARNT = 2_000_000
"""Votes that effects are learnt from: five times as many move posteriors by 0.0007 on average."""


class PairVotes(NamedTuple):
    """Votes on pairs: those of pair p are ``starts[p]:starts[p + 1]``, by ``workers``, 1 for yes.

    ``place`` is the class of each pair, of ``classes`` in all, ``people`` the number of workers.
    ``known`` is the truth of each pair: 1, 0, or −1 where it is not known.
    """

    starts: Ints
    workers: NDArray[np.int32]
    labels: NDArray[np.int32]
    place: Ints
    known: NDArray[np.int8]
    people: int
    classes: int

    @property
    def cells(self) -> Ints:
        """Worker and class of every vote, as one number."""
        return self.workers.astype(np.int64) * self.classes + np.repeat(
            self.place, np.diff(self.starts)
        )

    def pick(self, pairs: Ints) -> PairVotes:
        """The votes on some pairs, copied."""
        sizes = np.diff(self.starts)[pairs]
        starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
        rows = np.repeat(self.starts[pairs] - starts[:-1], sizes) + np.arange(starts[-1])
        return self._replace(
            starts=starts,
            workers=self.workers[rows],
            labels=self.labels[rows],
            place=self.place[pairs],
            known=self.known[pairs],
        )


class _Model(NamedTuple):
    """Log-odds of yes by worker (n × 1) and class (K), π by class, and λ."""

    hit: Floats
    slip: Floats
    easier: Floats
    likelier: Floats
    rates: Floats
    damping: float

    def log_odds(self, votes: PairVotes, cells: Ints) -> Floats:
        """Log-odds of true for each pair."""
        p, q = _sigmoid(self.hit + self.easier), _sigmoid(self.slip + self.likelier)
        ratios = np.stack([np.log1p(-p) - np.log1p(-q), np.log(p) - np.log(q)], axis=-1)
        by_vote = ratios.reshape(-1).take(cells * 2 + votes.labels)
        # Every pair has a vote, so no run is empty.
        sums = np.add.reduceat(by_vote, votes.starts[:-1])
        return np.asarray(_logit(self.rates)[votes.place] + self.damping * sums)

    def posteriors(self, votes: PairVotes, cells: Ints) -> Floats:
        """Probability of true for each pair; known truths stay."""
        found = _sigmoid(self.log_odds(votes, cells))
        return np.where(votes.known >= 0, votes.known, found)


def class_posteriors(chances: Floats, votes: PairVotes) -> Floats:
    """Correct the probabilities of yes by how common and how hard each class is.

    Parameters
    ----------
    chances
        The estimator's probability of yes for each pair.
    votes
        The votes on the pairs; each has at least one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((500, 2)) < [0.5, 0.02]  # the second class is rare
    >>> said = rng.random((500, 2, 3)) < np.where(truth, 0.8, 0.1)[..., None]
    >>> votes = PairVotes(
    ...     np.arange(0, 3001, 3), np.tile(np.arange(3, dtype=np.int32), 1000),
    ...     said.astype(np.int32).ravel(), np.tile([0, 1], 500), np.full(1000, -1, np.int8), 3, 2)
    >>> found = class_posteriors(np.clip(said.mean(axis=2), 0.1, 0.9).ravel(), votes)
    >>> one_of_three = said.sum(axis=2).ravel() == 1
    >>> common, rare = (found[one_of_three & (votes.place == k)].mean() for k in (0, 1))
    >>> bool(rare < common / 2)
    True
    """
    if not chances.size or votes.classes < 2:
        return chances
    learnt = np.arange(chances.size)
    if votes.labels.size > LEARNT:
        share = LEARNT / votes.labels.size
        learnt = np.flatnonzero(np.random.default_rng(0).random(chances.size) < share)
    model = _learn(chances[learnt], votes.pick(learnt))
    return chances if model is None else model.posteriors(votes, votes.cells)


def _learn(chances: Floats, votes: PairVotes) -> _Model | None:
    """The model at which EM arrives; None if the posteriors do not go with the votes."""
    cells = votes.cells
    sizes = np.diff(votes.starts)
    shape = votes.people, votes.classes
    answers = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    chances = np.clip(chances, EXTREME, 1.0 - EXTREME)
    model = _begin(chances, votes, cells, answers)
    plain = model.log_odds(votes, cells)[votes.known < 0]
    own = _logit(chances)[votes.known < 0]
    damping = min(float(own @ plain) / max(float(plain @ plain), EXTREME), 1.0)
    if damping <= 0.0:
        return None
    model = model._replace(damping=damping)
    found, overall = np.where(votes.known >= 0, votes.known, chances), float(chances.mean())
    pairs_of = np.bincount(votes.place, minlength=shape[1])
    yes_votes = np.add.reduceat(votes.labels, votes.starts[:-1])
    yes_of = _sums(votes.place, yes_votes, shape[1])
    spread = [1.0, 1.0]
    for _ in range(MOST_STEPS):
        true = _sums(cells, np.repeat(found, sizes), answers.size).reshape(shape)
        yes_true = _sums(votes.place, found * yes_votes, shape[1])
        easier, spread[0] = _step(model.hit, model.easier, true, yes_true, spread[0], damping)
        likelier, spread[1] = _step(
            model.slip, model.likelier, answers - true, yes_of - yes_true, spread[1], damping
        )
        rates = (np.bincount(votes.place, found, shape[1]) + overall) / (pairs_of + 1.0)
        rates = np.clip(rates, EXTREME, 1.0 - EXTREME)
        model = model._replace(easier=easier, likelier=likelier, rates=rates)
        before, found = found, model.posteriors(votes, cells)
        if np.abs(found - before).mean() < STILL:
            break
    return model


def _begin(chances: Floats, votes: PairVotes, cells: Ints, answers: Floats) -> _Model:
    """Workers' rates by the estimator's posteriors; classes are all alike."""
    weights = np.repeat(chances, np.diff(votes.starts))
    true = np.bincount(votes.workers, weights, votes.people)
    yes_true = np.bincount(votes.workers, weights * votes.labels, votes.people)
    yes = np.bincount(votes.workers, votes.labels, votes.people)
    rates = []
    for hits, of in ((yes_true, true), (yes - yes_true, answers.sum(axis=1) - true)):
        overall = hits.sum() / max(of.sum(), EXTREME)
        rate = (hits + VOTES * overall) / (of + VOTES)
        rates.append(_logit(np.clip(rate, EXTREME, 1.0 - EXTREME))[:, None])
    none = np.zeros(votes.classes)
    base = np.full(votes.classes, np.clip(chances.mean(), EXTREME, 1.0 - EXTREME))
    return _Model(rates[0], rates[1], none, none, base, 1.0)


def _step(
    workers: Floats, effects: Floats, weights: Floats, yes: Floats, variance: float, damping: float
) -> tuple[Floats, float]:
    """One step of Newton's method for the effects of classes, and their variance by EM.

    ``weights``: expected votes by worker and class; ``yes``: how many of them are yes, by class.
    """
    p = _sigmoid(workers + effects)
    slope = damping * (yes - (weights * p).sum(axis=0)) - effects / variance
    bend = damping * (weights * p * (1.0 - p)).sum(axis=0) + 1.0 / variance
    effects = effects + np.clip(slope / bend, -LONGEST, LONGEST)
    return effects, float(np.mean(effects**2 + 1.0 / bend)) + LEAST_VARIANCE


def _sums(places: Ints, weights: NDArray[Any], size: int) -> Floats:
    return np.bincount(places, weights, size).astype(np.float64)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(np.clip(1.0 / (1.0 + np.exp(-np.clip(x, -700, 700))), EXTREME, 1.0 - EXTREME))


def _logit(p: Floats) -> Floats:
    return np.asarray(np.log(p) - np.log1p(-p))
