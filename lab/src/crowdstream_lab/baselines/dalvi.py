"""`Dalvi`: reliabilities as the top eigenvector of how far every two workers agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from crowdstream.extension import one_of
from crowdstream_lab.baselines.binary import (
    FAINT,
    centred,
    majority_sign,
    top_eigenvector,
    weighted_vote,
)
from crowdstream_lab.baselines.common import Coded, Floats
from crowdstream_lab.baselines.one_against_rest import ONE_AGAINST_REST, OneAgainstRest
from crowdstream_lab.baselines.pairs import check_crowd, pair_sums

Variant = Literal["eigenvectors of ratio", "ratio of eigenvectors"]
"""The paper's two algorithms."""


@dataclass(eq=False, repr=False)
class Dalvi(OneAgainstRest):
    """Reliabilities ``1 − 2p`` from the agreement of pairs, then a vote in which they are weights.

    Two workers who share N tasks agree on them by ``N w_i w_j`` more than they disagree, in
    expectation. Either that matrix is divided by N cell by cell, and its top eigenvector by that
    of the matrix which says who shares any task ("eigenvectors of ratio", for crowds in which
    most pairs do), or it is left as it is, and its top eigenvector divided by that of N ("ratio
    of eigenvectors", for when N is about of rank one: every worker answers at a rate of its own).
    The diagonals, where a worker agrees with itself, stay: they pull all reliabilities together and
    vanish in the paper's limit of many workers. Weights are the reliabilities, as Zhang and others
    have it when they compare with this method; log-odds would change an error rate by 0.005 at most
    on Bird, RTE, Temp and Web. The sign is the one that most labels agree with. Beyond the paper,
    more than two classes: one against the rest. Confidence is the share of the weight. Time a class
    O(Σ m²) with m labels per task, and O(n²) a step of Lanczos; memory O(n²); crowds larger than
    `pairs.LARGEST_CROWD` are refused.

    Parameters
    ----------
    variant
        ``"eigenvectors of ratio"`` or ``"ratio of eigenvectors"``.
    seed
        Random seed for the vector that Lanczos starts from and for breaking ties.

    Attributes
    ----------
    reliabilities_
        A row for each class against the rest (of two classes one row, the second's), a column a
        worker: an estimate of ``1 − 2p`` if there are two classes, else only a weight; 0 of who is
        out of reach of the eigenvectors. It can leave the range from −1 to 1.

    References
    ----------
    Dalvi, Dasgupta, Kumar, Rastogi. Aggregating Crowdsourced Binary Ratings. WWW 2013.

    Zhang, Chen, Zhou, Jordan. Spectral Methods Meet EM: A Provably Optimal Algorithm for
    Crowdsourcing. NIPS 2014: whose figures it reproduces.

    Examples
    --------
    >>> rows = [(t, who, "ab"[t % 2]) for t in range(6) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", "abaabb"[t]) for t in range(6)]
    >>> crowd = Dalvi()
    >>> crowd.fit_predict(rows)["label"].to_list()
    ['a', 'b', 'a', 'b', 'a', 'b']
    >>> crowd.reliabilities_.round(1).tolist()
    [[1.0, 1.0, 1.0, 0.5]]
    """

    variant: Variant = "eigenvectors of ratio"

    checks: ClassVar = {"variant": one_of(*get_args(Variant))}
    deviation: ClassVar[str] = ONE_AGAINST_REST

    def _begin(self, coded: Coded) -> None:
        check_crowd(coded)
        self.reliabilities_ = np.empty((0, len(coded.workers)))

    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        says = centred(coded, votes)
        one, n = np.ones_like(says), len(coded.workers)
        together, agreement = pair_sums(coded, (one, one), (says, says))
        np.fill_diagonal(together, np.bincount(coded.worker, minlength=n))
        np.fill_diagonal(agreement, np.bincount(coded.worker, says**2, n))
        w = self._reliabilities(agreement, together)
        w *= majority_sign(coded, says, w[coded.worker])
        self.reliabilities_ = np.vstack([self.reliabilities_, w])
        return weighted_vote(coded, says, w[coded.worker])

    def _reliabilities(self, agreement: Floats, together: Floats) -> Floats:
        """From how far pairs agree and how many tasks they share, up to the sign."""
        start = np.random.default_rng(self.seed).normal(1.0, 1.0, len(together))
        if self.variant == "eigenvectors of ratio":
            agreement = agreement / np.maximum(together, 1.0)
            together = (together > 0).astype(float)
        above, below = _rank_one(agreement, start), np.abs(_rank_one(together, np.abs(start)))
        reached = below > FAINT * below.max(initial=0.0)
        return np.divide(above, below, out=np.zeros_like(above), where=reached)


def _rank_one(matrix: Floats, start: Floats) -> Floats:
    """The vector whose product with itself is nearest to a symmetric matrix, but for its sign."""
    from scipy.sparse import csr_array

    sparse = csr_array(matrix)  # most of a large crowd share no task
    value, vector = top_eigenvector(lambda v: np.asarray(sparse @ v.ravel(), float), start)
    return np.asarray(np.sqrt(max(value, 0.0)) * vector, float)
