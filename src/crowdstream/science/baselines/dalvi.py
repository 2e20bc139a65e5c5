"""`Dalvi`: reliabilities as the top eigenvector of how far every two workers agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from crowdstream.science.baselines.binary import (
    centred,
    majority_sign,
    top_eigenvector,
    weighted_vote,
)
from crowdstream.science.baselines.common import Coded, Floats
from crowdstream.science.baselines.one_against_rest import OneAgainstRest
from crowdstream.science.baselines.pairs import check_crowd, pair_sums
from crowdstream.validation import one_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Variant = Literal["eigenvectors of ratio", "ratio of eigenvectors"]
"""The paper's two algorithms."""

MOST_RELIABLE = 0.9
"""Reliabilities are kept within ± this, error rates from 0.05 to 0.95: estimates above 1 happen,
and a weight of more than log(19) ≈ 2.9 would rest on their noise."""

ROUNDS = 100
"""How often the diagonal is filled in anew at most. On real sets eigenvectors of ratio take 4 to 14
rounds and ratios of eigenvectors 7 to 75, but for a class of fact_eval, which ends here."""

STILL = 1e-5
"""Reliabilities that move by less from one round to the next have settled: a hundredth of the
sampling error of a million answers."""


@dataclass(eq=False, repr=False)
class Dalvi(OneAgainstRest):
    """Reliabilities ``1 − 2p`` from the agreement of pairs, then a vote with their log-odds.

    Two workers who share N tasks agree on them by ``N w_i w_j`` more than they disagree, in
    expectation. Either that matrix is divided by N cell by cell, and w is its top eigenvector
    ("eigenvectors of ratio", for crowds in which most pairs share tasks), or w is the top
    eigenvector of the matrix over that of N ("ratio of eigenvectors", for when N is about of rank
    one: every worker answers at a rate of its own). The diagonal, where a worker agrees with
    itself, says nothing of w; it is filled in with ``N w_i²`` until w stands still, which the paper
    leaves to its limit of many workers. The sign is the one that most labels agree with. More
    than two classes: one against the rest. Confidence is the share of the weight. Time a
    class O(Σ m²) with m labels per task, and O(n²) a step of Lanczos; memory O(n²); crowds larger
    than `pairs.LARGEST_CROWD` are refused.

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
        worker: ``1 − 2p`` if there are two classes, else only a weight.

    References
    ----------
    Dalvi, Dasgupta, Kumar, Rastogi. Aggregating Crowdsourced Binary Ratings. WWW 2013.

    Examples
    --------
    >>> rows = [(t, who, "ab"[t % 2]) for t in range(6) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", "abaabb"[t]) for t in range(6)]
    >>> crowd = Dalvi()
    >>> crowd.fit_predict(rows)["label"].to_list()
    ['a', 'b', 'a', 'b', 'a', 'b']
    >>> crowd.reliabilities_.round(1).tolist()
    [[0.9, 0.9, 0.9, 0.3]]
    """

    variant: Variant = "eigenvectors of ratio"

    checks: ClassVar = {"variant": one_of(*get_args(Variant))}

    def _begin(self, coded: Coded) -> None:
        check_crowd(coded)
        self.reliabilities_ = np.empty((0, len(coded.workers)))

    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        says = centred(coded, votes)
        one = np.ones_like(says)
        together, agreement = pair_sums(coded, (one, one), (says, says))
        answers = np.bincount(coded.worker, minlength=len(coded.workers)).astype(float)
        w = self._reliabilities(agreement, together, answers)
        w *= majority_sign(coded, says, w[coded.worker])
        self.reliabilities_ = np.vstack([self.reliabilities_, w])
        return weighted_vote(coded, says, 2 * np.arctanh(w)[coded.worker])

    def _reliabilities(self, agreement: Floats, together: Floats, answers: Floats) -> Floats:
        """From how far pairs agree and how many tasks they share, up to the sign."""
        from scipy.sparse import csr_array

        start = np.random.default_rng(self.seed).normal(1.0, 1.0, answers.size)
        if self.variant == "eigenvectors of ratio":
            agreement = agreement / np.maximum(together, 1.0)
            diagonal = scale = np.ones_like(answers)
        else:
            diagonal, scale = answers, np.abs(_rank_one(csr_array(together), answers, start))
        pairs = csr_array(agreement)  # most of a large crowd share no task
        w = np.zeros_like(answers)
        for _ in range(ROUNDS):
            before = w
            factor = _rank_one(pairs, diagonal * before**2, start)
            w = np.divide(factor, scale, out=np.zeros_like(w), where=scale > 0)
            w = w.clip(-MOST_RELIABLE, MOST_RELIABLE)
            if np.abs(np.abs(w) - np.abs(before)).max(initial=0.0) <= STILL:
                break
            start = factor
        return w


def _rank_one(pairs: csr_array, diagonal: Floats, start: Floats) -> Floats:
    """The vector whose product with itself is nearest to pairs and a diagonal, but for its sign."""

    def times(v: Floats) -> Floats:
        return np.asarray(pairs @ v + diagonal * v, float)

    value, vector = top_eigenvector(times, start)
    return np.asarray(np.sqrt(max(value, 0.0)) * vector, float)
