"""`PTBCC`: confusion matrices shared by all workers, each worker a mixture of them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.bcc import dirichlet
from crowdstream_lab.baselines.common import Coded, Floats, normalise, shares
from crowdstream_lab.baselines.iterated import Iterated

SKILLED = 5.0
"""f of the paper: odds of the truth over any other class, in the first prototype at the start."""

MISLED = 1.35
"""m of the paper: odds of any other class over the truth, in the second."""

OF_WORKERS = 0.4
"""Share of the first counts that is a worker's prior over the prototypes, as in the paper."""

OF_PROTOTYPES = 0.5
"""Share of the first counts that is the prior of the prototypes' rows, as in the paper."""

LEAST = 1e-6
"""Pseudo-answers of a cell that has none: a Dirichlet prior must be above 0."""

TOLERANCE = 1e-3
"""Tolerance of posteriors, as in the paper (ξ)."""

MAX_ITERATIONS = 500
"""Iterations at most; the paper does not say."""


@dataclass(eq=False, repr=False)
class PTBCC(Iterated):
    """Let each answer come from one of two prototype matrices, which all workers share.

    The truth of a task is drawn from the class prior, the prototype of an answer from its worker's
    shares, and the answer from the prototype's row for that truth; priors are Dirichlet. The
    posterior is taken for a product of those of truths, prototypes of answers, and parameters;
    each follows from the others in turns, from the shares of the votes on, which raises a bound
    on the evidence (the paper's equations 7 to 14). The start has one matrix of skilled workers
    and one that names the truth less often than chance; the priors are shares of the counts that
    they give. No program of the authors is public. Time O(K labels) an iteration, memory the
    same.

    Parameters
    ----------
    tolerance, max_iterations
        Change of a posterior, and number of iterations, at which to stop.

    Attributes
    ----------
    class_prior_
        Posterior mean of each class's probability.
    prototypes_
        Of prototype, truth and what is said then: posterior means.
    shares_
        Of worker and prototype: posterior means.
    evidence_
        The lower bound on the log-likelihood of the labels after each iteration.

    References
    ----------
    Chen, Feng, Zhang. Understanding the Essence: Delving into Annotator Prototype Learning for
    Multi-Class Annotation Aggregation. arXiv 2508.02123, 2025.

    Examples
    --------
    >>> said = {"ann": "xyzxyzxyz", "bob": "xyzxyzxyz", "cy": "xyzxzzxyx", "dee": "xxxxxxxxx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = PTBCC()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyzxyzxyz'
    >>> crowd.shares_[[0, 3], 0].round(2).tolist()
    [0.88, 0.18]
    """

    _: KW_ONLY
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    deviation: ClassVar[str] = "a pseudo-answer of 1e-6 in cells without any (left open)"

    def _start(self, coded: Coded) -> Floats:
        self.evidence_: list[float] = []
        k, posterior = coded.n_classes, shares(coded.count())
        truth = np.eye(k)
        skilled = shares(np.where(truth == 1, SKILLED, 1.0))
        misled = shares(np.where(truth == 1, 1.0, MISLED))
        self._of = np.stack(
            [
                (posterior[coded.task] * matrix[:, coded.label].T).sum(axis=1)
                for matrix in (skilled, misled)
            ],
            axis=1,
        )
        self._priors = (
            np.maximum(posterior.sum(axis=0), LEAST),
            np.maximum(OF_WORKERS * self._by_worker(coded), LEAST),
            np.maximum(OF_PROTOTYPES * self._by_cell(coded, posterior), LEAST),
        )
        self._of = shares(self._of)
        return posterior

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        before_classes, before_workers, before_cells = self._priors
        classes = before_classes + posterior.sum(axis=0)
        workers = before_workers + self._by_worker(coded)
        cells = before_cells + self._by_cell(coded, posterior)
        log_classes, for_classes = dirichlet(classes, before_classes, axis=0)
        log_workers, for_workers = dirichlet(workers, before_workers, axis=1)
        log_cells, for_cells = dirichlet(cells, before_cells, axis=2)
        said = np.moveaxis(log_cells[:, :, coded.label], 2, 0)  # of label, prototype and truth
        log_of = log_workers[coded.worker] + (said @ posterior[coded.task][:, :, None])[:, :, 0]
        log_of = normalise(log_of)[0]
        self._of = np.exp(log_of)
        each = (self._of[:, :, None] * said).sum(axis=1)
        scores = np.stack([np.bincount(coded.task, x, len(coded.tasks)) for x in each.T], axis=1)
        found, total = normalise(log_classes + scores)
        chosen = float((self._of * (log_workers[coded.worker] - log_of)).sum())
        cost = for_classes + for_workers + for_cells
        self.evidence_.append(float(total.sum()) + chosen - cost)
        self.class_prior_ = classes / classes.sum()
        self.shares_ = shares(workers)
        self.prototypes_ = shares(cells)
        return found

    def _by_worker(self, coded: Coded) -> Floats:
        """Answers of each worker, by prototype."""
        n = len(coded.workers)
        return np.stack([np.bincount(coded.worker, x, n) for x in self._of.T], axis=1)

    def _by_cell(self, coded: Coded, posterior: Floats) -> Floats:
        """Answers of each prototype, by truth and what was said."""
        k = coded.n_classes
        given = posterior[coded.task]
        return np.stack(
            [
                np.stack([np.bincount(coded.label, x * given[:, truth], k) for truth in range(k)])
                for x in self._of.T
            ]
        )
