"""`BWA`: Bayesian weighted average, labels as numbers with a precision for each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.common import CERTAIN, Coded, Floats, LabelsOnly, shares
from crowdstream_lab.baselines.raykar import POSITIVE

PRIOR_ANSWERS = 15.0
"""Answers that the prior of a worker's precision is worth, as in the paper (a_v)."""

PULL = 1.0
"""Precision of a task's prior around the mean of all tasks, as in the paper (λ)."""

TOLERANCE = 1e-3
"""Relative change of every mean at which to stop, the authors' own."""

MAX_ITERATIONS = 500
"""The authors' own."""


@dataclass(eq=False, repr=False)
class BWA(LabelsOnly):
    """Average a task's labels, each 1 for a class and 0 for others, by precisions of workers.

    For each class apart: a label is Gaussian around its task's mean z_i with the precision v_j of
    its worker, z_i is Gaussian around the mean of all, v_j has a Gamma prior. In turns,
    ``v_j = (a + N_j)/(b + Σ (y_ij − z_i)²)`` and ``z_i = (λ μ + Σ v_j y_ij)/(λ + Σ v_j)``, from the
    shares of the votes on. The prior's b makes its mean precision that of the votes around their
    shares, times ``4 (1 − 1/K)``. The class with the greatest mean wins. Confidences, which the
    paper has none of, are the means over their sum. Time O(K labels) an iteration, memory
    O(labels + K tasks).

    Parameters
    ----------
    prior_answers
        a: answers that the prior of a precision is worth.
    pull
        λ: precision of a task's mean around the mean of all tasks.
    tolerance, max_iterations
        Relative change of a mean, and number of iterations, at which to stop.

    Attributes
    ----------
    precisions_
        Of worker and class.

    References
    ----------
    Li, Rubinstein, Cohn. Truth Inference at Scale: A Bayesian Model for Adjudicating Highly
    Redundant Crowd Annotations. WWW 2019; arXiv 1902.08918.

    Examples
    --------
    >>> said = {"ann": "xyzxyzxyz", "bob": "xyzxyzxyz", "cy": "xyzxzzxyx", "dee": "xxxxxxxxx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = BWA()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyzxyzxyz'
    >>> crowd.precisions_[:, 0].round(1).tolist()  # for x against the rest
    [4.2, 4.2, 4.2, 2.7]
    """

    prior_answers: float = PRIOR_ANSWERS
    pull: float = PULL
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    checks: ClassVar = {
        "prior_answers": POSITIVE,
        "pull": POSITIVE,
        "tolerance": number(0.0, 1.0),
        "max_iterations": number(1, 10**9, whole=True),
    }

    def _scores(self, coded: Coded) -> Floats:
        k = coded.n_classes
        self.precisions_ = np.zeros((len(coded.workers), k))
        means = np.zeros((len(coded.tasks), k))
        for each in range(k):
            means[:, each] = self._average(coded, each)
        # A class that nobody named has a mean of 0, and a score must be finite.
        return np.log(np.maximum(shares(means), CERTAIN))

    def _average(self, coded: Coded, each: int) -> Floats:
        """Mean of every task for one class; sets the precisions of the workers."""
        tasks, n = len(coded.tasks), len(coded.workers)
        said = (coded.label == each).astype(float)
        answers = np.bincount(coded.worker, minlength=n)
        means = np.bincount(coded.task, said, tasks) / np.maximum(coded.votes, 1)
        spread = float(coded.votes @ (means * (1 - means))) / max(coded.label.size, 1)
        # Where all agree there is no spread, and precisions would be infinite.
        scale = max(self.prior_answers * spread * 4 * (1 - 1 / coded.n_classes), CERTAIN)
        for _ in range(self.max_iterations):
            before = means
            squares = np.bincount(coded.worker, (said - means[coded.task]) ** 2, n)
            precisions = (self.prior_answers + answers) / (scale + squares)
            weight = precisions[coded.worker]
            total = self.pull + np.bincount(coded.task, weight, tasks)
            voted = np.bincount(coded.task, weight * said, tasks)
            means = (self.pull * means.mean() + voted) / total if tasks else means
            if np.allclose(before, means, rtol=self.tolerance):
                break
        self.precisions_[:, each] = precisions
        return np.asarray(means, float)
