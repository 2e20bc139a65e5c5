"""`SpectralEM`: Dawid and Skene's model by EM, started from moments of three groups' labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crowdstream_lab.baselines.common import Coded, Floats, Ints, shares
from crowdstream_lab.baselines.dawid_skene import DawidSkene

GROUPS = 3
"""Views of a task that are independent given its truth: what a third moment takes."""

DEALS = 8
"""Number of deals of workers into groups before the moments are given up: of 80 deals
of real sets of two classes 52 worked, of 64 of sets of more 25."""

FLOOR = 0.01
"""The least probability in a matrix that EM starts from. Moments of few answers give negative
ones; a hundredth costs a worker at most a weight of 4.6 where it was never seen to say so."""

WORST_CONDITION = 1e6
"""A matrix of two groups that is nearer to singular cannot be inverted with a meaning: sampling
errors of a million tasks, 1e-3, would already be magnified far beyond 1."""

RESTARTS, POWER_STEPS = 20, 50
"""Restarts and steps of the tensor power method. It converges quadratically; what is unsettled then
started between two vectors; of twenty starts some have not."""


@dataclass(eq=False, repr=False)
class SpectralEM(DawidSkene):
    """Dawid and Skene's EM from confusion matrices that need no majority to be right.

    Workers are dealt at random into three groups. The mean labels of the groups are independent
    given the truth, so that their second and third moments give each group's mean confusion
    matrix: whitened by the second, the third is an orthogonal tensor, whose eigenvectors the power
    method finds. A worker's own matrix follows from its moments with another group. Then EM as
    in `DawidSkene`, with its settings and attributes. If the moments have no such form (fewer than
    three workers, a class unknown to a group, a matrix that is singular or not positive, two
    columns for one class), they are dealt anew, and after eight deals (`DEALS`) EM starts from
    majority vote, and says so. The authors' program deals workers by their number and stops EM
    after ten rounds; its errors are 0.102 on Bird and 0.061 on Temp. Here Bird's is 0.102 or 0.111,
    a task more, by the deal, and Temp's 0.058 to 0.063; with ten rounds most deals give 0.061.
    Time O(K² labels + K³ tasks) a deal, then O(K labels) an iteration;
    memory O(K² workers + K² tasks).

    Parameters
    ----------
    tolerance, max_iterations, smoothing
        Of EM.
    seed
        Random seed for the groups, for the power method's starts and for breaking ties.

    Attributes
    ----------
    started_from_
        ``"moments"``, or ``"majority"`` if they failed.

    References
    ----------
    Zhang, Chen, Zhou, Jordan. Spectral Methods Meet EM: A Provably Optimal Algorithm for
    Crowdsourcing. NIPS 2014.

    Examples
    --------
    >>> from crowdstream.simulation import simulate
    >>> block = simulate(9, 500, p=0.2, seed=1)
    >>> crowd = SpectralEM()
    >>> found = crowd.fit_predict(block.labels())
    >>> crowd.started_from_, crowd.confusions_.shape
    ('moments', (9, 2, 2))
    >>> SpectralEM().fit_predict([("t", "ann", "x")])["label"].to_list()
    ['x']
    """

    deviation: ClassVar[str] = "groups dealt at random; 0.01 answers of smoothing a cell"

    def _start(self, coded: Coded) -> Floats:
        rng = np.random.default_rng(self.seed)
        from_votes = super()._start(coded)
        for _ in range(DEALS):
            try:
                self.class_prior_, self.confusions_ = from_moments(coded, rng)
            except np.linalg.LinAlgError:
                continue
            self.started_from_ = "moments"
            posterior = np.exp(self._expect(coded))
            self.log_likelihood_.clear()  # a start is no iteration
            return posterior
        self.started_from_ = "majority"
        return from_votes


def from_moments(coded: Coded, rng: np.random.Generator) -> tuple[Floats, NDArray[np.float64]]:
    """The prior over the classes and everybody's matrix by one deal, or LinAlgError."""
    n, k = len(coded.workers), coded.n_classes
    if n < GROUPS:
        raise np.linalg.LinAlgError("fewer workers than groups")
    group = rng.permutation(n) % GROUPS
    means = _mean_labels(coded, group)
    found = [_group_matrix(np.roll(means, -g, axis=0), rng) for g in range(GROUPS)]
    confusions = np.empty((n, k, k))
    for g, (matrix, _) in enumerate(found):
        others = group == (g + 1) % GROUPS
        moments = _moments_with(coded, means[g])[others]
        columns = moments @ _inverse(matrix.T)  # what it says × truth, up to a factor a truth
        confusions[others] = np.swapaxes(columns, 1, 2)
    prior = np.mean([weights for _, weights in found], axis=0)
    return shares(prior), shares(np.maximum(_proportions(confusions), FLOOR))


def _mean_labels(coded: Coded, group: Ints) -> Floats:
    """Return the votes of every group's members for each class, one row per task."""
    member = group[coded.worker]
    return np.stack([coded.count((member == g).astype(float)) for g in range(GROUPS)])


def _moments_with(coded: Coded, mean: Floats) -> Floats:
    """For each worker, what it says × a group's mean label, summed over the tasks."""
    n, k = len(coded.workers), coded.n_classes
    cell = coded.worker * k + coded.label
    sums = [np.bincount(cell, mean[coded.task, said], n * k) for said in range(k)]
    return np.stack(sums, axis=1).reshape(n, k, k).astype(float)


def _group_matrix(means: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The first group's mean confusion matrix, said × truth, and the prior over the truths."""
    c, a, b = means
    tasks = len(c)
    # The other groups' labels as if the first had given them (the paper's Z').
    a_as_c = a @ (c.T @ b @ _inverse(a.T @ b)).T
    b_as_c = b @ (c.T @ a @ _inverse(b.T @ a)).T
    second = a_as_c.T @ b_as_c / tasks
    values, vectors = np.linalg.eigh((second + second.T) / 2)
    if values[0] <= values[-1] / WORST_CONDITION:
        raise np.linalg.LinAlgError("second moment not positive definite")
    whiten, colour = vectors / np.sqrt(values), vectors * np.sqrt(values)
    x, y, z = a_as_c @ whiten, b_as_c @ whiten, c @ whiten
    k = whiten.shape[1]
    third = ((x[:, :, None] * y[:, None, :]).reshape(tasks, k * k).T @ z).reshape(k, k, k) / tasks
    turns = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    third = np.mean([third.transpose(t) for t in turns], axis=0)
    scale, directions = _orthogonal_tensor(third, rng)
    columns = colour @ (directions * scale).T
    truth = columns.argmax(axis=0)  # the class a group of that truth says most
    if np.unique(truth).size < k:
        raise np.linalg.LinAlgError("two columns for one class")
    order = np.argsort(truth)
    return columns[:, order], scale[order, 0] ** -2.0


def _orthogonal_tensor(tensor: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Eigenvalues (a column) and eigenvectors (rows) by the power method with deflation."""
    k = len(tensor)
    scale, directions = np.empty((k, 1)), np.empty((k, k))
    for h in range(k):
        v = _unit(rng.normal(size=(RESTARTS, k)))
        for _ in range(POWER_STEPS):
            v = _unit(np.einsum("abc,rb,rc->ra", tensor, v, v))
        sizes = np.einsum("abc,ra,rb,rc->r", tensor, v, v, v)
        best = sizes.argmax()
        if not sizes[best] > 0:
            raise np.linalg.LinAlgError("third moment has no such form")
        scale[h], directions[h] = sizes[best], v[best]
        tensor = tensor - sizes[best] * np.einsum("a,b,c->abc", v[best], v[best], v[best])
    return scale, directions


def _unit(rows: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0), float)


def _inverse(matrix: Floats) -> Floats:
    """Invert a matrix that is well away from singular; raise LinAlgError for others."""
    if not np.isfinite(matrix).all() or np.linalg.cond(matrix) > WORST_CONDITION:
        raise np.linalg.LinAlgError("singular matrix")
    return np.asarray(np.linalg.inv(matrix), float)


def _proportions(rows: Floats) -> Floats:
    """Rows over their sum, without what is negative."""
    return shares(np.maximum(rows, 0.0))
