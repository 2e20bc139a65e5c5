"""`GhoshKaleMcAfee`: the tasks' truths as the top eigenvector of who agrees about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.binary import (
    centred,
    majority_sign,
    top_eigenvector,
    weighted_vote,
)
from crowdstream_lab.baselines.common import Coded, Floats
from crowdstream_lab.baselines.one_against_rest import ONE_AGAINST_REST, OneAgainstRest


@dataclass(eq=False, repr=False)
class GhoshKaleMcAfee(OneAgainstRest):
    """The signs of the top eigenvector of ``U Uᵀ``, U the matrix of tasks × workers in ±1 and 0.

    In expectation ``U Uᵀ`` is the truths times themselves, but for its diagonal. Its vector u is
    got from that of ``Uᵀ U``, w, as ``u ∝ U w``: a vote in which workers weigh w; neither matrix
    is ever written out. The paper asks for one worker known to be right more often than not to
    tell u from −u; here it is the sign that most labels agree with. More than two classes: one
    against the rest. Confidence is the share of the weight, as the method has no posterior. Time
    O(K labels) a step of Lanczos, memory O(labels + K tasks).

    Parameters
    ----------
    seed
        Random seed for the vector that Lanczos starts from and for breaking ties.

    References
    ----------
    Ghosh, Kale, McAfee. Who Moderates the Moderators? Crowdsourcing Abuse Detection in
    User-Generated Content. EC 2011.

    Examples
    --------
    >>> rows = [(t, who, "ab"[t % 2]) for t in range(6) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", "ab"[1 - t % 2]) for t in range(6)]
    >>> crowd = GhoshKaleMcAfee()
    >>> crowd.fit_predict(rows)["label"].to_list()
    ['a', 'b', 'a', 'b', 'a', 'b']
    >>> crowd.error_rates_.tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    deviation: ClassVar[str] = f"sign by the majority; {ONE_AGAINST_REST}"

    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        says = centred(coded, votes)
        tasks, n = len(coded.tasks), len(coded.workers)

        def times(v: Floats) -> Floats:  # Uᵀ U v
            u = np.bincount(coded.task, says * v.ravel()[coded.worker], tasks)
            return np.bincount(coded.worker, says * u[coded.task], n).astype(float)

        start = np.random.default_rng(self.seed).normal(1.0, 1.0, n)
        _, vector = top_eigenvector(times, start)
        weights = vector[coded.worker]
        return weighted_vote(coded, says, majority_sign(coded, says, weights) * weights)
