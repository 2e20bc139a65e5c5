"""`TriangularEstimation`: a worker's reliability from how it and two others agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.science.baselines.common import Coded, Floats, Ints, weights_of
from crowdstream.science.baselines.one_pass import OnePass
from crowdstream.science.baselines.pairs import check_crowd, heard
from crowdstream.validation import number

CLIP = 0.05
"""Error rates are kept this far from 0 and 1 when votes are weighted: the same authors' choice for
their streaming algorithm, by what reproduces its table of real crowds."""

PARTNERS = 20
"""Of those who agree with a worker most clearly, how many are tried as pairs when overlap counts:
all n² pairs of all n would take n³ steps, and a pair with a poor partner is a poor pair."""

UNSURE = 2.0
"""Tasks that two workers are taken to have shared besides, without any agreement beyond chance,
when overlap counts: one task shared shows a correlation of ⅓ then, and not of 1."""

GROWTH = 1.1
"""In a stream, reliabilities are estimated anew when it has grown by this factor since: a tenth
more data moves an estimate by a third of its standard error."""


@dataclass(eq=False, repr=False)
class TriangularEstimation(OnePass):
    """Minimax optimal estimates from correlations: ``|θ_i| = √|C_ij C_ik / C_jk|``.

    With reliability ``θ = 1 − 2p`` two who answer the same task correlate by ``C_ij = θ_i θ_j``, so
    three of them tell the reliability of each. For each i the pair (j, k) with the largest |C_jk|
    is taken, and signs follow the worker with the largest ``|θ_i² + Σ_j C_ij|``. Counting
    overlap, beyond the paper, correlations are shrunk by `UNSURE` tasks and the pair is that of
    the least variance of log |θ_i| by the delta method, which knows how many tasks each two
    share, and signs are those of each worker's agreements less disagreements with everybody: for
    sparse crowds, where the largest C_jk is that of two who met once, and few met any one
    worker. A task none of whose workers is known is decided by majority vote. K classes, beyond
    the paper: ``C = (K·agreement − 1)/(K − 1)``, exact for those who err evenly.

    Time O(Σ m²), m labels per task, and O(n²) an estimate; memory O(n²), so crowds larger than
    `pairs.LARGEST_CROWD` are refused. Sums are a stream's; `stream_predict` estimates anew when it
    has grown by a tenth.

    Parameters
    ----------
    overlap
        Whether to mind how many tasks two workers share.
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
    >>> crowd = TriangularEstimation(overlap=False)
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xxxxyyyy'
    >>> crowd.reliabilities_.round(2).tolist()
    [1.0, 0.61, 0.41]
    """

    overlap: bool = True
    clip: float = CLIP

    checks: ClassVar = {"clip": number(0.0, 0.5)}

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
        self.reliabilities_ = triangles(self._shared, self._agreed, self._k, self.overlap)
        self.error_rates_ = (1 - self.reliabilities_) * (self._k - 1) / self._k
        weights = weights_of(self.error_rates_.clip(self.clip, 1 - self.clip), self._k)
        self._weights = np.where(self.reliabilities_ != 0, weights, 0.0)


def triangles(shared: Floats, agreed: Floats, classes: int, overlap: bool) -> Floats:
    """Reliabilities from tasks shared and agreed on, n × n each; the diagonals do not matter.

    >>> theta = np.array([0.9, 0.6, 0.3, -0.5])
    >>> shared = np.full((4, 4), 1000.0)
    >>> triangles(shared, shared * (1 + np.outer(theta, theta)) / 2, 2, False).round(6).tolist()
    [0.9, 0.6, 0.3, -0.5]
    """
    n = len(shared)
    if n <= 2:
        return np.zeros(n)
    excess = (classes * agreed - shared) / (classes - 1)
    tasks = shared + UNSURE if overlap else np.maximum(shared, 1)
    np.fill_diagonal(excess, 0.0)
    c = excess / tasks
    j, k = _clear_pairs(c, tasks) if overlap else _strong_pairs(np.abs(c))
    i = np.arange(n)
    below = np.abs(c[j, k])
    square = np.divide(np.abs(c[i, j] * c[i, k]), below, out=np.zeros(n), where=below > 0)
    size = np.minimum(np.sqrt(square), 1.0)
    found: Floats = size * (np.sign(excess.sum(axis=1)) if overlap else _signs(size, c))
    return found


def _signs(size: Floats, c: Floats) -> Floats:
    """Of the worker who is most clearly with or against the crowd, and of others towards it."""
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


def _clear_pairs(c: Floats, tasks: Floats) -> tuple[Ints, Ints]:
    """For each worker the two others that give the least variance of log |θ|."""
    n = len(c)
    with np.errstate(divide="ignore"):  # no correlation: no knowledge
        variance = (1 - c**2) / (tasks * c**2)
    np.fill_diagonal(variance, np.inf)
    m = min(PARTNERS, n - 1)
    near = np.argpartition(variance, m - 1, axis=1)[:, :m]
    to = np.take_along_axis(variance, near, axis=1)
    total = to[:, :, None] + to[:, None, :] + variance[near[:, :, None], near[:, None, :]]
    best = total.reshape(n, -1).argmin(axis=1)
    rows = np.arange(n)
    return near[rows, best // m], near[rows, best % m]
