"""`KargerOhShahSVD`: the leading singular vector of tasks × workers, less the workers' means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.binary import (
    PRECISION,
    centred,
    top_eigenvector,
    weighted_vote,
)
from crowdstream_lab.baselines.common import FEWEST_CLASSES, Coded, Floats
from crowdstream_lab.baselines.one_against_rest import ONE_AGAINST_REST, OneAgainstRest


@dataclass(eq=False, repr=False)
class KargerOhShahSVD(OneAgainstRest):
    """Limit of many of `KargerOhShah`'s messages, after centring.

    The labels are a matrix of tasks × workers in ±1, and 0 where there is none; from every worker's
    column its mean over all tasks is taken, so that who always says the same has no say. The task's
    decision is the sign of its entry in the left singular vector u of the largest singular value,
    and the sign of u is the one for which the right vector, of the workers, has at least half of
    its squares above 0. The form that Zhang and others compare with under the name of KOS. Neither
    the matrix nor its square is written out. Beyond the papers: a task whose workers all weigh
    nothing is decided by majority, and more than two classes are one against the rest, where a
    worker's mean is over its own answers and taken from these only (a seldom class would else be
    believed wherever those who named it did not answer). Confidence is the share of the weight, the
    means counting as one vote more. Time O(K labels) a step of Lanczos, memory O(labels + K tasks).

    Parameters
    ----------
    seed
        Random seed for the vector that Lanczos starts from and for breaking ties.

    References
    ----------
    Karger, Oh, Shah. Budget-Optimal Task Allocation for Reliable Crowdsourcing Systems. Operations
    Research 62(1), 2014.

    Zhang, Chen, Zhou, Jordan. Spectral Methods Meet EM: A Provably Optimal Algorithm for
    Crowdsourcing. NIPS 2014: where it is centred.

    Examples
    --------
    >>> said = {"ann": "ababab", "bob": "ababab", "liar": "bababa", "always": "bbbbbb"}
    >>> crowd = KargerOhShahSVD()
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> "".join(crowd.fit_predict(rows)["label"])
    'ababab'
    >>> crowd.error_rates_.tolist()
    [0.0, 0.0, 1.0, 0.5]
    """

    deviation: ClassVar[str] = ONE_AGAINST_REST

    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        says, tasks, n = centred(coded, votes), len(coded.tasks), len(coded.workers)
        everywhere = coded.n_classes == FEWEST_CLASSES
        answers = np.bincount(coded.worker, minlength=n)
        mean = np.bincount(coded.worker, says, n) / (
            tasks if everywhere else np.maximum(answers, 1)
        )
        less = says if everywhere else says - mean[coded.worker]

        def times(v: Floats) -> Floats:  # Bᵀ B v, B being the matrix less the means
            v = v.ravel()
            u = np.bincount(coded.task, less * v[coded.worker], tasks) - everywhere * (mean @ v)
            back = np.bincount(coded.worker, less * u[coded.task], n)
            return np.asarray(back - everywhere * mean * u.sum(), float)

        start = np.random.default_rng(self.seed).normal(1.0, 1.0, n)
        value, vector = top_eigenvector(times, start)
        if value <= PRECISION * says.size:  # everybody says the same everywhere, but for rounding
            vector = np.zeros(n)
        if (vector[vector >= 0] ** 2).sum() < (vector[vector < 0] ** 2).sum():
            vector = -vector
        usual = mean * vector
        bias = np.bincount(coded.task, usual[coded.worker], tasks).astype(float)
        if everywhere:
            bias = np.full(tasks, usual.sum())
        return weighted_vote(coded, says, vector[coded.worker], -bias)
