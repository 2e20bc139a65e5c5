"""`OverlapTriangularEstimation`: triangles of workers who met often enough to be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.common import Floats, Ints
from crowdstream_lab.baselines.triangular import TriangularEstimation, excess, sizes

PARTNERS = 20
"""Number of clearest partners of a worker that are tried as pairs: all n² pairs of all n
would take n³ steps, and a pair with a poor partner is a poor pair."""

UNSURE = 2.0
"""Tasks that two workers are taken to have shared besides, without any agreement beyond chance: one
task shared shows a correlation of ⅓ then, and not of 1."""


@dataclass(eq=False, repr=False)
class OverlapTriangularEstimation(TriangularEstimation):
    """`TriangularEstimation` that minds how many tasks two workers share; nobody published it.

    Correlations are shrunk by `UNSURE` tasks, and a worker's pair is that of the least variance of
    ``log |θ_i|`` by the delta method, which knows how many tasks each two share; signs are those of
    each worker's agreements less disagreements with everybody. For sparse crowds, where the
    largest correlation is that of two who met once, and few met any one worker. Parameters,
    attributes, time and memory are those of `TriangularEstimation`; an estimate takes O(400 n).

    References
    ----------
    Bonald, Combes. A Minimax Optimal Algorithm for Crowdsourcing. NIPS 2017: what it departs from.

    Examples
    --------
    >>> said = {"ann": "xxxxyyyy", "bob": "xxxyyyyy", "cy": "xyxxyxyy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = OverlapTriangularEstimation()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xxxxyyyy'
    >>> crowd.reliabilities_.round(2).tolist()
    [1.0, 0.55, 0.37]
    """

    deviation: ClassVar[str] = "ours: pairs chosen by how many tasks they share"

    def _triangles(self) -> Floats:
        return overlap_triangles(self._shared, self._agreed, self._k)


def overlap_triangles(shared: Floats, agreed: Floats, classes: int) -> Floats:
    """Reliabilities from tasks shared and agreed on, n × n each; the diagonals do not matter.

    >>> theta = np.array([0.9, 0.6, 0.3, -0.5])
    >>> shared = np.full((4, 4), 1e6)
    >>> overlap_triangles(shared, shared * (1 + np.outer(theta, theta)) / 2, 2).round(4).tolist()
    [0.9, 0.6, 0.3, -0.5]
    """
    n = len(shared)
    if n <= 2:
        return np.zeros(n)
    beyond, tasks = excess(shared, agreed, classes), shared + UNSURE
    c = beyond / tasks
    found: Floats = sizes(c, *_clear_pairs(c, tasks)) * np.sign(beyond.sum(axis=1))
    return found


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
