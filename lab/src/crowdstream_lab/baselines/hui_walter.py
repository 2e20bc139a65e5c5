"""`HuiWalter`: two workers whose errors show because they label two populations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from crowdstream import InputError
from crowdstream.extension import SETTLE, Table
from crowdstream_lab.baselines.common import CERTAIN, Baseline, Coded, Floats, Ints
from crowdstream_lab.baselines.one_against_rest import ONE_AGAINST_REST, one_against_rest

APART = 2.0
"""Standard errors by which both workers must find the populations different: what cannot be told
from no difference determines no error rate."""

MAX_ITERATIONS = 10_000
"""An end to EM where the closed form leaves the range of probabilities; a step is eight numbers."""

TOLERANCE = 1e-10
"""EM on eight numbers is cheap, and slow towards the edge, where the maximum then is."""


Populations: TypeAlias = (
    Mapping[str, Hashable] | Mapping[int, Hashable] | Mapping[str | int, Hashable]
)
"""Population of each task by name."""


class Rates(NamedTuple):
    """Estimates of two workers in two populations."""

    sensitivities: Floats
    specificities: Floats
    prevalences: Floats


@dataclass(eq=False, repr=False)
class HuiWalter(Baseline):
    """Maximum likelihood from the 2 × 2 × 2 counts, in closed form where it lies inside.

    Two workers answer the tasks of two populations in which a class is not equally frequent;
    errors do not depend on the population, nor on each other given the truth. Six numbers are then
    determined by the six free counts: with ``a_g, b_g`` the shares of positives of the two, ``c_g``
    their covariance in population g, ``k_g = c_g/((a_1 − a_2)(b_1 − b_2))`` and ``κ = k_1 − k_2``,
    the prevalences differ by ``Δ = ±1/√(1 + κ² + 2(k_1 + k_2))`` and sum to ``1 − κΔ``. The sign is
    that with which the workers know more than nothing together. Where that leaves [0, 1], EM
    climbs to the maximum at the edge. Only tasks with both labels are counted; all are decided.
    More than two classes: one against the rest. Time O(K labels).

    If the populations cannot be told apart, or one is empty, nothing is determined: it falls back
    to majority vote, a vote being worth log-odds of one, and all rates are ½; so it is class by
    class.

    Attributes
    ----------
    classes_, workers_, populations_
        In order of first appearance, as in the arrays below.
    sensitivities_, specificities_
        Of class and worker: how often it says so if it is so, and does not if it is not.
    prevalences_
        Of class and population.
    identifiable_
        Whether the counts determine the rates, a truth per class.

    References
    ----------
    Hui, Walter. Estimating the Error Rates of Diagnostic Tests. Biometrics 36(1), 1980.

    Examples
    --------
    >>> counts = {"yy": (50, 5), "yn": (10, 10), "ny": (10, 10), "nn": (30, 75)}
    >>> rows, where = [], {}
    >>> for answers, sizes in counts.items():
    ...     for place, size in zip(("clinic", "town"), sizes, strict=True):
    ...         for _ in range(size):
    ...             rows += [(len(where), "ann", answers[0]), (len(where), "bob", answers[1])]
    ...             where[len(where)] = place
    >>> crowd = HuiWalter()
    >>> crowd.fit_predict(rows, where).height
    200
    >>> crowd.prevalences_[0].round(2).tolist(), crowd.sensitivities_[0].round(2).tolist()
    ([0.63, 0.05], [0.89, 0.89])
    """

    deviation: ClassVar[str] = ONE_AGAINST_REST

    def fit_predict(
        self, data: Table, population: Populations, *, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Estimate everything from a table and the tasks' populations, and decide its tasks."""
        coded = self._code(data)
        if len(coded.workers) != 2:
            raise InputError("workers", "two", str(len(coded.workers)))
        where = self._places(coded, population)
        k = coded.n_classes
        self.sensitivities_, self.specificities_ = np.full((k, 2), 0.5), np.full((k, 2), 0.5)
        self.prevalences_ = np.full((k, 2), 0.5)
        self.identifiable_ = [False] * k

        def log_odds(c: int, votes: Floats) -> Floats:
            rates = estimate(_counts(coded, where, votes))
            if rates is None:
                return np.bincount(coded.task, votes, len(coded.tasks)).astype(float)
            self.identifiable_[c] = True
            self.sensitivities_[c], self.specificities_[c], self.prevalences_[c] = rates
            sens, spec, prior = (np.clip(r, CERTAIN, 1 - CERTAIN) for r in rates)
            yes, no = np.log(sens / (1 - spec)), np.log((1 - sens) / spec)
            said = np.where(votes > 0, yes[coded.worker], no[coded.worker])
            signed = np.bincount(coded.task, said, len(coded.tasks))
            return (signed + np.log(prior / (1 - prior))[where]).astype(float)

        scores = one_against_rest(coded, log_odds)
        if k == 2:
            self.identifiable_[0] = self.identifiable_[1]
            self.sensitivities_[0], self.specificities_[0] = (
                self.specificities_[1],
                self.sensitivities_[1],
            )
            self.prevalences_[0] = 1 - self.prevalences_[1]
        return self._decide(coded, scores, settle)

    def _places(self, coded: Coded, population: Populations) -> Ints:
        """The population of each task, 0 or 1."""
        known = dict(population.items())
        without = [task for task in coded.tasks if task not in known]
        if without:
            raise InputError("population", "one for every task", f"none for {without[0]!r}")
        named = [known[task] for task in coded.tasks]
        self.populations_ = list(dict.fromkeys(named))
        if len(self.populations_) > 2:
            raise InputError("population", "two of them", str(len(self.populations_)))
        return np.array([self.populations_.index(name) for name in named], np.int64)


def _counts(coded: Coded, where: Ints, votes: Floats) -> Floats:
    """Tasks with both labels, by population and what the two said (0 no, 1 yes)."""
    said = np.full((len(coded.tasks), 2), -1)
    said[coded.task, coded.worker] = votes > 0
    both = (said >= 0).all(axis=1)
    cell = 4 * where[both] + 2 * said[both, 0] + said[both, 1]
    return np.bincount(cell, minlength=8).reshape(2, 2, 2).astype(float)


def estimate(counts: Floats) -> Rates | None:
    """The most likely rates given counts by population and answers; None if undetermined.

    >>> truth = Rates(np.array([0.9, 0.7]), np.array([0.8, 0.95]), np.array([0.6, 0.2]))
    >>> found = estimate(1000 * chances(truth))
    >>> [rates.round(6).tolist() for rates in found]
    [[0.9, 0.7], [0.8, 0.95], [0.6, 0.2]]
    """
    size = counts.sum(axis=(1, 2))
    if (size == 0).any():
        return None
    share = counts / size[:, None, None]
    positive = np.column_stack([share[:, 1].sum(axis=1), share[:, :, 1].sum(axis=1)])
    apart = positive[0] - positive[1]
    noise = np.sqrt((positive * (1 - positive) / size[:, None]).sum(axis=0))
    if (np.abs(apart) <= APART * noise).any():
        return None
    inside = closed_form(share, positive)
    if inside is not None:
        return inside
    start = Rates(np.full(2, 0.8), np.full(2, 0.8), positive.mean(axis=1))
    return climb(counts, start)


def closed_form(share: Floats, positive: Floats) -> Rates | None:
    """The rates that give exactly these shares; None if they are no probabilities."""
    apart = positive[0] - positive[1]
    k = (share[:, 1, 1] - positive.prod(axis=1)) / apart.prod()
    kappa = k[0] - k[1]
    square = 1 + kappa**2 + 2 * k.sum()
    if square <= 0:
        return None
    delta = 1 / np.sqrt(square)
    if apart.sum() < 0:  # together the two know more than nothing
        delta = -delta
    informed = apart / delta
    prevalences = (1 - kappa * delta + np.array([delta, -delta])) / 2
    false_alarms = positive[0] - prevalences[0] * informed
    found = Rates(false_alarms + informed, 1 - false_alarms, prevalences)
    return found if all(((r >= 0) & (r <= 1)).all() for r in found) else None


def climb(counts: Floats, start: Rates) -> Rates:
    """EM from a start to a maximum of the likelihood."""
    sens, spec, prior = start
    for _ in range(MAX_ITERATIONS):
        before = np.concatenate([sens, spec, prior])
        ill = _joint(prior, sens)
        well = _joint(1 - prior, 1 - spec)
        total = ill + well
        yes = counts * np.divide(ill, total, out=np.full_like(total, 0.5), where=total > 0)
        no = counts - yes
        sens, spec = _says_yes(yes), 1 - _says_yes(no)
        prior = yes.sum(axis=(1, 2)) / counts.sum(axis=(1, 2))
        if np.abs(np.concatenate([sens, spec, prior]) - before).max() <= TOLERANCE:
            break
    return Rates(sens, spec, prior)


def chances(rates: Rates) -> Floats:
    """Return the chance of each pair of answers by population."""
    sens, spec, prior = rates
    return _joint(prior, sens) + _joint(1 - prior, 1 - spec)


def _joint(prior: Floats, yes: Floats) -> Floats:
    """Chances of a truth and two independent answers to it."""
    one, two = (np.array([1 - p, p]) for p in yes)
    joint: Floats = prior[:, None, None] * one[:, None] * two
    return joint


def _says_yes(counts: Floats) -> Floats:
    """Shares of yes of both workers."""
    total = max(counts.sum(), CERTAIN)
    return np.array([counts[:, 1].sum() / total, counts[:, :, 1].sum() / total])
