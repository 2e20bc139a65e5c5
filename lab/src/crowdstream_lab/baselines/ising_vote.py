"""`IsingVote`: weights that allow for judges who agree with each other beyond the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import Coded, Floats, Ints, LabelsOnly
from crowdstream_lab.baselines.quasi_newton import lowest

STRENGTH = 1.0
"""Standard deviation, before any label, of what all colleagues of a task together add to the
log-odds of an answer: as much as a worker of error rate 0.27 tells about the truth. In five
simulated crowds, coupled and not, half of it does as well and a tenth no better than none."""

SMOOTHING = 1.0
"""Right and wrong answers added to every worker's, as in `OneCoinEM`: Laplace's rule."""

START = 1.0
"""Weight of everybody before the first step: a majority vote of workers of error rate 0.27."""

MAX_STEPS = 200
"""An end to the steps: of 18 real sets three, duchenne, relevance and trec, have not ended
by then."""


def pairs_of_labels(coded: Coded) -> tuple[Ints, Ints]:
    """All ordered pairs of different labels of one task, by their positions.

    >>> from crowdstream_lab.baselines.common import code
    >>> coded = code([("t", "ann", "x"), ("t", "bob", "y"), ("u", "bob", "y")])
    >>> [found.tolist() for found in pairs_of_labels(coded)]
    [[0, 1], [1, 0]]
    """
    sizes = coded.votes
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)  # of every label, its task's first
    many = np.repeat(sizes, sizes)
    one = np.repeat(np.arange(coded.label.size), many)
    other = np.arange(one.size) - np.repeat(np.cumsum(many) - many, many) + np.repeat(first, many)
    return one[one != other], other[one != other]


class Couplings:
    """Couplings of pairs of workers by a table's labels; `fields` are what colleagues add."""

    def __init__(self, coded: Coded) -> None:
        from scipy.sparse import csr_array

        n, k = len(coded.workers), coded.n_classes
        one, other = pairs_of_labels(coded)
        who, whom = coded.worker[one], coded.worker[other]
        pair = np.minimum(who, whom) * n + np.maximum(who, whom)
        self.pairs, column = np.unique(pair, return_inverse=True)
        row = coded.label[other] * coded.label.size + one
        shape = coded.label.size * k, self.pairs.size
        self.matrix: Any = csr_array((np.ones(row.size), (row, column)), shape=shape)
        self.turned: Any = self.matrix.T.tocsr()
        self.shape = k, coded.label.size

    def fields(self, couplings: Floats) -> Floats:
        """Return what colleagues' answers add to each answer (row) a label (column) could be."""
        return np.asarray(self.matrix @ couplings, float).reshape(self.shape)

    def slope(self, by_field: Floats) -> Floats:
        """The slope in the couplings of what has this slope in the fields."""
        return np.asarray(self.turned @ by_field.ravel(), float)


@dataclass(eq=False, repr=False)
class IsingVote(LabelsOnly):
    """A linear vote whose weights are what a judge tells beyond what its colleagues have told.

    Given the truth y, labels of ±1 are an Ising model, ``p(x | y) ∝ exp(y h'x + x'Jx/2)``, whose
    couplings J are the same for both classes. By symmetry so is the sum that makes it a
    distribution, and the log-odds of the truth are ``2 h'x``: a linear vote, in which h is less
    than a judge's log-odds if colleagues it is coupled to agree with it in any case. This is the
    paper's model; classes and fit are our own:

    - Potts' model for K classes, ``p(x | y) ∝ exp(Σ a_i [x_i = y] + Σ_(i<j) J_ij [x_i = x_j])``,
      which for two is the above with a = 2h, and as symmetric for more: the log-posterior of class
      c is the weight ``Σ a_i`` of those who say c. Of a task those who answered count. All
      classes are alike beforehand, and no weight is negative.
    - Summed over the truth, ``p(x) ∝ Σ_c exp(Σ a_i [x_i = c]) exp(Σ J_ij [x_i = x_j])``, which
      gives what one says given the colleagues of its task without any sum over all answers. The
      product of these (pseudo-likelihood) is made as great as possible by L-BFGS, from equal
      weights and no couplings.
    - Couplings have a Gaussian prior, weights the pseudo-answers of `OneCoinEM`.

    Couplings and truth both make colleagues agree; only how four and more agree tells one from the
    other, so that weights are noisy with few hundred tasks, and another cause of agreement, such
    as a taste for one class, may be taken for the truth (on web, of five classes, it errs on 0.51
    where majority vote errs on 0.27). Time O(K labels + Σ votes²) a step, memory
    the same, the sum over the tasks.

    Parameters
    ----------
    strength
        Standard deviation that the prior gives to what a task's colleagues together add.
    smoothing
        Pseudo-answers, so many right and so many wrong; above 0.
    max_steps
        Of the quasi-Newton method, at most.

    Attributes
    ----------
    weights_
        a of each worker.
    couplings_
        J of the pairs of workers with a task in common: their codes, one pair a row, and J.
    converged_
        Whether the steps came to an end by themselves.

    References
    ----------
    Balasubramanian, Podkopaev, Kasiviswanathan. Dependence-Aware Label Aggregation for
    LLM-as-a-Judge via Ising Models. arXiv 2601.22336, 2026.

    Examples
    --------
    >>> said = {"ann": "xyxyxyxy", "bob": "xyxyxyxx", "cy": "xyxyyyxy", "dee": "xyxyyyxy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = IsingVote()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyxyyyxy'
    >>> crowd.weights_.shape, crowd.couplings_[0].tolist()
    ((4,), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
    """

    strength: float = STRENGTH
    smoothing: float = SMOOTHING
    max_steps: int = MAX_STEPS

    deviation: ClassVar[str] = "fit by marginal pseudo-likelihood; Potts' model for K > 2"
    checks: ClassVar = {
        "strength": number(0.0, 1e6, open_low=True),
        "smoothing": number(0.0, 1e6, open_low=True),
        "max_steps": number(1, 10**9, whole=True),
    }

    def _scores(self, coded: Coded) -> Floats:
        n, couplings = len(coded.workers), Couplings(coded)
        pairs = couplings.pairs.size
        start = np.concatenate([np.full(n, START), np.zeros(pairs)])
        low = np.concatenate([np.zeros(n), np.full(pairs, -np.inf)])
        limits = low, np.full(n + pairs, np.inf)
        found, self.converged_ = lowest(
            lambda at: self._misfit(coded, couplings, at), start, self.max_steps, limits
        )
        self.weights_ = found[:n]
        both = np.column_stack([couplings.pairs // max(n, 1), couplings.pairs % max(n, 1)])
        self.couplings_ = both, found[n:]
        return coded.count(self.weights_[coded.worker])

    def _misfit(self, coded: Coded, couplings: Couplings, at: Floats) -> tuple[float, Floats]:
        """Return the objective, negative pseudo-likelihood and priors, and its slope."""
        n, k = len(coded.workers), coded.n_classes
        weights, j = at[:n], at[n:]
        value, by_weight, by_field = surprise(coded, weights, couplings.fields(j))
        mean_colleagues = max(couplings.matrix.nnz / max(coded.label.size, 1), 1.0)
        precision = mean_colleagues / self.strength**2
        value -= self.smoothing * (weights - 2 * np.logaddexp(weights, np.log(k - 1))).sum()
        right = 1 / (1 + (k - 1) * np.exp(-weights))
        slope = [
            by_weight - self.smoothing * (1 - 2 * right),
            couplings.slope(by_field) + precision * j,
        ]
        return float(value + precision * (j @ j) / 2), np.concatenate(slope)


def surprise(coded: Coded, weights: Floats, fields: Floats) -> tuple[float, Floats, Floats]:
    """Return how unlikely labels are given those of their tasks' others, and the slopes.

    Fields are what couplings add to each answer (row) a label (column) could have been; slopes are
    in the weights and in the fields.
    """
    said = coded.label, np.arange(coded.label.size)
    own = weights[coded.worker]
    others = coded.count(own).T[:, coded.task]  # what the colleagues say of each truth
    others[said] -= own
    truth = np.exp(others - others.max(axis=0))
    gain = np.expm1(own)
    total = truth.sum(axis=0) + truth * gain  # over the truths, if it says so
    pull = fields - fields.max(axis=0)
    likely = np.exp(pull) * total
    among = likely.sum(axis=0)
    found = np.log(among / total[said]).sum() - pull[said].sum()
    by_field = likely / among
    by_field[said] -= 1
    ratio = by_field / total
    by_others = truth * (ratio.sum(axis=0) + ratio * gain)
    by_own = (ratio * truth).sum(axis=0) * (1 + gain)
    # A weight stands in the scores that all others of its task see.
    sums = np.stack([np.bincount(coded.task, part, len(coded.tasks)) for part in by_others])
    seen = sums[coded.label, coded.task] - by_others[said]
    by_weight = np.bincount(coded.worker, by_own + seen, len(coded.workers)).astype(float)
    return float(found), by_weight, by_field
