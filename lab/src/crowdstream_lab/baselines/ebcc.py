"""`EBCC`: Bayesian classifier combination whose workers go wrong together on types of tasks."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.bcc import RIGHT, WRONG, Mixture, dirichlet
from crowdstream_lab.baselines.common import Coded, Floats, normalise, shares
from crowdstream_lab.baselines.raykar import POSITIVE
from crowdstream_lab.baselines.restarted import Restarted

TYPES = 10
"""Types of tasks of a class, as in the paper."""

TYPE_PRIOR = 0.1
"""Pseudo-tasks of all types of a class together, as in the paper: few types are used."""

UNNAMED = 0.1
"""Pseudo-tasks of a class that nobody named: a Dirichlet prior must be above 0."""

RESTARTS = 10
"""Random starts; the authors' 40 take four times as long."""

TOLERANCE = 1e-3
"""Tolerance of posteriors, the authors' own."""

MAX_ITERATIONS = 500
"""Iterations of a start at most, the authors' own."""


@dataclass(eq=False, repr=False)
class EBCC(Restarted):
    """As `BCC`, but every class has types of tasks, and workers a matrix for each type.

    The truth of a task is drawn from the class prior, its type from the class's types, and what a
    worker says from its row for that class and type, so that given the class alone workers
    depend on each other, a mixture of independent crowds. The posterior is taken for a product of
    that of (truth, type), and of the parameters, each from the other in turns, which raises a
    bound on the evidence; from the shares of the votes, dealt to the types at random. The class
    prior's Dirichlet has the vote shares as pseudo-tasks, as in the authors' runs. Time O(K M
    labels + K² M workers) an iteration with M types, memory O(labels + K M (K workers + tasks)).

    Parameters
    ----------
    types
        M: types of tasks of each class.
    type_prior
        Pseudo-tasks of the types of a class, all together.
    right, wrong
        Pseudo-answers for the truth, and for each other class.
    restarts
        Random starts, of which the one with the highest bound after 10 iterations goes on.
    tolerance, max_iterations
        Change of a posterior, and number of iterations, at which to stop.

    Attributes
    ----------
    class_prior_
        Posterior mean of each class's probability.
    type_shares_
        Of class and type: posterior means, a row summing to 1.
    confusions_
        Of worker, truth, type and what it says then: posterior means.
    evidence_
        The lower bound on the log-likelihood of the labels after each iteration.

    References
    ----------
    Li, Rubinstein, Cohn. Exploiting Worker Correlation for Label Aggregation in Crowdsourcing.
    ICML 2019.

    Examples
    --------
    >>> said = {"ann": "yyyyynnnn", "bob": "yyyyynnnn", "cy": "yyyyyyyyy"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = EBCC()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'yyyyynnnn'
    >>> crowd.confusions_.shape, crowd.type_shares_.shape
    ((3, 2, 10, 2), (2, 10))
    """

    types: int = TYPES
    type_prior: float = TYPE_PRIOR
    right: float = RIGHT
    wrong: float = WRONG
    _: KW_ONLY
    restarts: int = RESTARTS
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS

    deviation: ClassVar[str] = "10 starts, compared after 10 rounds (published: 40, at the end)"
    checks: ClassVar = {
        "types": number(1, 10**6, whole=True),
        "type_prior": POSITIVE,
        "right": POSITIVE,
        "wrong": POSITIVE,
    }

    def _start(self, coded: Coded) -> Floats:
        self.evidence_: list[float] = []
        self._mixture = Mixture(coded, self.right, self.wrong)
        votes = shares(coded.count())
        self._class_prior = np.maximum(votes.sum(axis=0), UNNAMED)
        dealt = self._rng.dirichlet(np.ones(self.types), votes.shape)
        self._joint = dealt * votes[:, :, None]
        return votes

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        k = coded.n_classes
        answers, cost = self._mixture.learn(self._joint)
        classes = self._class_prior + posterior.sum(axis=0)
        of_types = np.full((k, self.types), self.type_prior / self.types)
        used = of_types + self._joint.sum(axis=0)
        log_classes, for_classes = dirichlet(classes, self._class_prior, axis=0)
        log_types, for_types = dirichlet(used, of_types, axis=1)
        scores = self._mixture.scores() + log_classes[:, None] + log_types
        flat, total = normalise(scores.reshape(-1, k * self.types))
        self.evidence_.append(float(total.sum()) - cost - for_classes - for_types)
        self.class_prior_ = classes / classes.sum()
        self.type_shares_ = used / used.sum(axis=1, keepdims=True)
        self.confusions_ = np.moveaxis(answers / answers.sum(axis=1, keepdims=True), 1, 3)
        self._joint = np.exp(flat).reshape(scores.shape)
        best = flat.reshape(scores.shape).max(axis=2)
        each = np.exp(flat.reshape(scores.shape) - best[:, :, None])
        return np.asarray(best + np.log(each.sum(axis=2)), float)

    def _objective(self) -> float:
        return self.evidence_[-1]
