"""`SpectralMetaLearner`: balanced accuracies from the leading eigenvector of the covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.binary import centred
from crowdstream_lab.baselines.common import Coded, Floats, LabelsOnly
from crowdstream_lab.baselines.one_against_rest import ONE_AGAINST_REST, one_against_rest
from crowdstream_lab.baselines.pairs import check_crowd, heard, pair_sums

SWEEPS = 100
"""Passes over the workers that fit the rank-one matrix, at most; 14 real crowds took 5 to 34."""

TOLERANCE = 1e-4
"""The fit has converged when no entry of the vector moves by more."""


@dataclass(eq=False, repr=False)
class SpectralMetaLearner(LabelsOnly):
    """Votes weighted by the eigenvector of a covariance matrix of rank one.

    Off its diagonal the covariance of two workers' answers ±1 is ``(1 − b²) ψ_i ψ_j``, with b the
    imbalance of the classes and ``ψ = 2·balanced accuracy − 1``: of rank one, and its eigenvector
    in proportion to ψ, whatever the balance. Covariances are those over the tasks two workers
    share. The vector v is that whose ``v_i v_j`` fit them best off the diagonal, squares weighted
    by the tasks shared: with a full table the leading eigenvector of the matrix with its diagonal
    completed to rank one. It is found by alternating least squares from the leading eigenvector
    with an empty diagonal, and its sign is that of most of its sum. A task's log-odds are ``2 Σ v_i
    x_i``, to first order those of the maximum likelihood; a task none of whose workers is known is
    decided by majority vote. More than two classes: one against the rest, a vote for another class
    counting ``x = −1/(K − 1)``, so that blind guesses cancel.

    Time O(Σ m² + n³) with m labels per task, memory O(n²), each for every class; crowds larger than
    `pairs.LARGEST_CROWD` are refused.

    Attributes
    ----------
    informedness_
        ``v``: of class and worker; ψ times √(1 − b²). With two classes both rows are alike.

    References
    ----------
    Parisi, Strino, Nadler, Kluger. Ranking and combining multiple predictors without labeled data.
    PNAS 111(4), 2014.

    Examples
    --------
    >>> said = {"ann": "xxxxyyyy", "bob": "xxxxyyyx", "cy": "xxyxyyyy", "di": "xyxyxyxy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = SpectralMetaLearner()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xxxxyyyy'
    >>> crowd.informedness_[0].round(1).tolist()
    [0.9, 0.8, 0.8, -0.2]
    """

    deviation: ClassVar[str] = f"fitted to pairs that met; {ONE_AGAINST_REST}"

    def _scores(self, coded: Coded) -> Floats:
        check_crowd(coded)
        self.informedness_ = np.zeros((coded.n_classes, len(coded.workers)))

        def log_odds(c: int, votes: Floats) -> Floats:
            v = rank_one(*covariances(coded, votes))
            self.informedness_[c] = v
            terms = 2 * heard(coded, v) * centred(coded, votes)
            return np.bincount(coded.task, terms, len(coded.tasks)).astype(float)

        scores = one_against_rest(coded, log_odds)
        if coded.n_classes == 2:
            self.informedness_[0] = self.informedness_[1]
        return scores


def covariances(coded: Coded, votes: Floats) -> tuple[Floats, Floats]:
    """Covariances of each two workers over the tasks they share, and how many these are."""
    one = np.ones_like(votes)
    tasks, product, mine = pair_sums(coded, (one, one), (votes, votes), (votes, one))
    shared = np.maximum(tasks, 1)
    return product / shared - (mine / shared) * (mine.T / shared), tasks


def rank_one(matrix: Floats, weights: Floats) -> Floats:
    """The v that minimises ``Σ_{i≠j} weight_ij (matrix_ij − v_i v_j)²``, from −1 to 1.

    >>> v = np.array([0.8, 0.5, -0.3, 0.6])
    >>> rank_one(np.outer(v, v), np.ones((4, 4))).round(4).tolist()
    [0.8, 0.5, -0.3, 0.6]
    """
    if len(matrix) <= 2:  # two workers share one covariance, which tells neither's
        return np.zeros(len(matrix))
    weights = weights - np.diag(np.diag(weights))
    known = weights * matrix
    values, vectors = np.linalg.eigh(known)
    size = np.sqrt(max(values[-1], 0.0) / max(weights.sum(axis=1).max(), 1.0))
    v: Floats = size * vectors[:, -1] * np.sqrt(len(matrix))
    for _ in range(SWEEPS):
        before = v.copy()
        for i in range(v.size):
            square = weights[i] @ v**2
            # No further than ±1, which no worker can be, with few tasks shared.
            v[i] = np.clip(known[i] @ v / square, -1.0, 1.0) if square > 0 else 0.0
        if np.abs(v - before).max() <= TOLERANCE:
            break
    return v if v.sum() >= 0 else -v
