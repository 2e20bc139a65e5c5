"""`GhoshKaleMcAfee`: the tasks' truths as the top eigenvector of who agrees about them."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdstream.estimators.base import SETTLE
from crowdstream.estimators.settings import check_ties
from crowdstream.labels import ClassLabel, LabellerId, Table
from crowdstream.science.baselines.binary import (
    centred,
    decided_by,
    majority_sign,
    top_eigenvector,
    weighted_vote,
)
from crowdstream.science.baselines.common import Coded, Floats, code, decide, share_wrong
from crowdstream.science.baselines.one_against_rest import one_against_rest


class GhoshKaleMcAfee:
    """The signs of the top eigenvector of ``U Uᵀ``, U the matrix of tasks × labellers in ±1 and 0.

    In expectation ``U Uᵀ`` is the truths times themselves, but for its diagonal. Its vector u is
    got from that of ``Uᵀ U``, w, as ``u ∝ U w``: a vote in which labellers weigh w; neither matrix
    is ever written out. The paper asks for one labeller known to be right more often than not to
    tell u from −u; here it is the sign that most labels agree with. More than two classes: one
    against the rest. Confidence is the share of the weight, as the method has no posterior. Time
    O(K labels) a step of Lanczos, memory O(labels + K tasks).

    Parameters
    ----------
    seed
        Of the vector that Lanczos starts from and of the coin that breaks ties.

    Attributes
    ----------
    classes_, workers_
        In order of first appearance.
    error_rates_
        Of each labeller: the share of its answers against the decisions.

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

    classes_: list[ClassLabel]
    workers_: list[LabellerId]
    error_rates_: Floats

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        check_ties("coin", seed)

    def fit_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Find the eigenvector, and decide every task of a table."""
        coded = code(data)
        self.classes_ = coded.classes.to_list()
        self.workers_ = coded.workers.to_list()
        scores = one_against_rest(coded, lambda _, votes: self._log_odds(coded, votes))
        self.error_rates_ = share_wrong(coded, decided_by(scores))
        return decide(coded, scores, self.seed, settle)

    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        """Of the class that the votes are for or against."""
        says = centred(coded, votes)
        tasks, n = len(coded.tasks), len(coded.workers)

        def times(v: Floats) -> Floats:  # Uᵀ U v
            u = np.bincount(coded.task, says * v.ravel()[coded.worker], tasks)
            return np.bincount(coded.worker, says * u[coded.task], n).astype(float)

        start = np.random.default_rng(self.seed).normal(1.0, 1.0, n)
        _, vector = top_eigenvector(times, start)
        weights = vector[coded.worker]
        return weighted_vote(coded, says, majority_sign(coded, says, weights) * weights)
