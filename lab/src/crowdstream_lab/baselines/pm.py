"""`PM`: weights that fall with the logarithm of the error, by a worker's share of the worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream_lab.baselines.common import Floats
from crowdstream_lab.baselines.weighted_votes import LEAST_ERROR, WeightedVotes


@dataclass(eq=False, repr=False)
class PM(WeightedVotes):
    """A vote weighs −log of the worker's error rate over the greatest of all workers.

    To find truths and weights such that the weighted distance of answers from truths is least, the
    paper alternates: truths by weighted vote, weights ``−log(d_j / max d)``, d being mean
    distances, here shares of wrong answers; the worst worker has no vote. From majority vote on,
    until nothing moves. A tie counts as right in shares. The paper leaves open what a worker
    without errors weighs: here it has made half of one. Time O(labels + K tasks) an iteration,
    memory the same. Known as CRH too.

    References
    ----------
    Li, Li, Gao, Zhao, Fan, Han. Resolving Conflicts in Heterogeneous Data by Truth Discovery and
    Source Reliability Estimation. SIGMOD 2014.

    Examples
    --------
    >>> said = {"ann": "xyzxyzxyz", "bob": "xyzxyzxyz", "cy": "xyzxzzxyx", "dee": "xxxxxxxxx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = PM()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyzxyzxyz'
    >>> crowd.weights_.round(2).tolist()
    [2.48, 2.48, 1.1, 0.0]
    """

    deviation: ClassVar[str] = "half an error for a worker without any (left open)"

    def _weigh(self, answers: Floats, errors: Floats) -> Floats:
        distance = np.maximum(errors, LEAST_ERROR) / answers
        return np.asarray(np.log(distance.max(initial=0.0) / distance), float)
