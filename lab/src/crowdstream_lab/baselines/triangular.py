"""`TriangularEstimation`: a worker's reliability from how it and two others agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, Ints, weights_of
from crowdstream_lab.baselines.one_pass import OnePass
from crowdstream_lab.baselines.pairs import check_crowd, heard

CLIP = 0.05
"""Error rates are kept this far from 0 and 1 when votes are weighted: the same authors' choice for
their streaming algorithm, by what reproduces its table of real crowds."""

GROWTH = 1.1
"""In a stream, reliabilities are estimated anew when it has grown by this factor since: a tenth
more data moves an estimate by a third of its standard error."""


@dataclass(eq=False, repr=False)
class TriangularEstimation(OnePass):
    """Minimax optimal estimates from correlations: ``|θ_i| = √|C_ij C_ik / C_jk|``.

    With reliability ``θ = 1 − 2p`` two who answer the same task correlate by ``C_ij = θ_i θ_j``, so
    three of them tell the reliability of each. For each i the pair (j, k) with the largest |C_jk|
    is taken, however few tasks these two share (`OverlapTriangularEstimation` minds), and signs
    follow the worker with the largest ``|θ_i² + Σ_j C_ij|``. Beyond the paper: error rates are kept
    within `clip` as votes are weighted, a task none of whose workers is known is decided by
    majority vote, and with K classes ``C = (K·agreement − 1)/(K − 1)``, exact for those who err
    evenly.

    Time O(Σ m²), m labels per task, and O(n²) an estimate; memory O(n²), so crowds larger than
    `pairs.LARGEST_CROWD` are refused. Sums are a stream's; `stream_predict` estimates anew when it
    has grown by a tenth.

    Parameters
    ----------
    clip
        How far error rates stay from 0 and 1 as votes are weighted.

    Attributes
    ----------
    reliabilities_
        θ of each worker, from −1 to 1; 0 if no triangle has it.
    error_rates_
        ``(1 − θ)(K − 1)/K``.

    References
    ----------
    Bonald, Combes. A Minimax Optimal Algorithm for Crowdsourcing. NIPS 2017.

    Examples
    --------
    >>> said = {"ann": "xxxxyyyy", "bob": "xxxyyyyy", "cy": "xyxxyxyy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = TriangularEstimation()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xxxxyyyy'
    >>> crowd.reliabilities_.round(2).tolist()
    [1.0, 0.61, 0.41]
    """

    clip: float = CLIP

    checks: ClassVar = {"clip": number(0.0, 0.5)}
    deviation: ClassVar[str] = "K > 2: agreement beyond chance for correlation"

    def _start(self, coded: Coded) -> None:
        check_crowd(coded)
        n, self._k = len(coded.workers), coded.n_classes
        self._shared, self._agreed = np.zeros((n, n)), np.zeros((n, n))
        self._seen, self._next = 0, 1.0
        self._estimate()

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        weights = self._weights[workers]
        weights = weights if weights.any() else np.ones_like(weights)
        return np.bincount(labels, weights, self._k).astype(float)

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        cell = np.ix_(workers, workers)
        self._shared[cell] += 1
        self._agreed[cell] += labels[:, None] == labels
        self._seen += 1
        if self._seen >= self._next:
            self._next = self._seen * GROWTH
            self._estimate()

    def _judge_all(self, coded: Coded) -> Floats:
        self._estimate()
        return coded.count(heard(coded, self._weights))

    def _estimate(self) -> None:
        """Reliabilities and weights from the sums; of whom nothing is known, no weight."""
        self.reliabilities_ = self._triangles()
        self.error_rates_ = (1 - self.reliabilities_) * (self._k - 1) / self._k
        weights = weights_of(self.error_rates_.clip(self.clip, 1 - self.clip), self._k)
        self._weights = np.where(self.reliabilities_ != 0, weights, 0.0)

    def _triangles(self) -> Floats:
        """Reliabilities from the sums."""
        return triangles(self._shared, self._agreed, self._k)


def triangles(shared: Floats, agreed: Floats, classes: int) -> Floats:
    """Reliabilities from tasks shared and agreed on, n × n each; the diagonals do not matter.

    >>> theta = np.array([0.9, 0.6, 0.3, -0.5])
    >>> shared = np.full((4, 4), 1000.0)
    >>> triangles(shared, shared * (1 + np.outer(theta, theta)) / 2, 2).round(6).tolist()
    [0.9, 0.6, 0.3, -0.5]
    """
    n = len(shared)
    if n <= 2:
        return np.zeros(n)
    c = excess(shared, agreed, classes) / np.maximum(shared, 1)
    size = sizes(c, *_strong_pairs(np.abs(c)))
    return size * _signs(size, c)


def excess(shared: Floats, agreed: Floats, classes: int) -> Floats:
    """By how many tasks each two agree beyond chance, in units of who never errs; diagonal 0."""
    found: Floats = (classes * agreed - shared) / (classes - 1)
    np.fill_diagonal(found, 0.0)
    return found


def sizes(c: Floats, j: Ints, k: Ints) -> Floats:
    """``|θ_i|``, at most 1, of each worker i by its correlations c with j[i] and k[i]."""
    i = np.arange(len(c))
    below = np.abs(c[j, k])
    square = np.divide(np.abs(c[i, j] * c[i, k]), below, out=np.zeros(len(c)), where=below > 0)
    return np.minimum(np.sqrt(square), 1.0)


def _signs(size: Floats, c: Floats) -> Floats:
    """Return signs towards the crowd, from the worker most clearly with or against it."""
    known = size**2 + c.sum(axis=1)
    best = int(np.abs(known).argmax())
    signs = np.sign(known[best]) * np.sign(c[best])
    signs[best] = np.sign(known[best])
    return np.asarray(signs, float)


def _strong_pairs(c: Floats) -> tuple[Ints, Ints]:
    """For each worker the two others who correlate most."""
    n = len(c)
    first = np.unravel_index(c.argmax(), c.shape)
    j, k = np.full(n, first[0]), np.full(n, first[1])
    for i in {int(first[0]), int(first[1])}:  # whoever is in that pair needs the best without it
        others = c.copy()
        others[i] = others[:, i] = -1.0
        np.fill_diagonal(others, -1.0)
        j[i], k[i] = np.unravel_index(others.argmax(), c.shape)
    return j, k
