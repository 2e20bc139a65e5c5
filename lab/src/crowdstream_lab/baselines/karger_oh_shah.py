"""`KargerOhShah`: messages between tasks and workers, each silent about who it is sent to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.binary import centred, weighted_vote
from crowdstream_lab.baselines.common import Coded, Floats
from crowdstream_lab.baselines.one_against_rest import ONE_AGAINST_REST, OneAgainstRest

ITERATIONS = 20
"""Rounds of messages: by then the signs have settled. On 18 real sets a hundred rounds decide
otherwise on one only, relevance, and there on 0.2 % of the tasks."""


@dataclass(eq=False, repr=False)
class KargerOhShah(OneAgainstRest):
    """Iterative message passing on the graph of tasks and workers.

    A task tells each of its workers what the others say of it, each weighted by its message; a
    worker tells each of its tasks how far it agrees with the others' messages: ``x_{i→j} = Σ_{j'≠j}
    A_ij' y_{j'→i}`` and ``y_{j→i} = Σ_{i'≠i} A_i'j x_{i'→j}``, from y normal around 1 and of
    variance 1. In the end the sign of ``Σ_j A_ij y_{j→i}`` decides, whatever a majority says: the
    mean of the first messages is all that tells a crowd from its opposite, and on Temp, where one
    worker answered everything, the majority would turn 0.431 into 0.569. Messages are brought to
    mean square 1 every round, which changes no sign; in a graph without circles they die out, and
    it falls back to majority vote. Beyond the paper, more than two classes: one against the rest.
    Confidence is the share of the weight, as the method has no posterior. Time O(K labels) a round,
    memory O(labels + K tasks).

    Parameters
    ----------
    iterations
        Rounds of messages.
    seed
        Random seed for the first messages and for breaking ties.

    References
    ----------
    Karger, Oh, Shah. Iterative Learning for Reliable Crowdsourcing Systems. NIPS 2011.

    Examples
    --------
    >>> said = {"ann": "ababab", "bob": "ababab", "cy": "ababab", "liar": "bababa"}
    >>> crowd = KargerOhShah()
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> "".join(crowd.fit_predict(rows)["label"])
    'ababab'
    >>> crowd.error_rates_.tolist()
    [0.0, 0.0, 0.0, 1.0]
    """

    iterations: int = ITERATIONS

    checks: ClassVar = {"iterations": number(1, 10**6, whole=True)}
    deviation: ClassVar[str] = ONE_AGAINST_REST

    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        says = centred(coded, votes)
        y = np.random.default_rng(self.seed).normal(1.0, 1.0, says.size)
        for _ in range(self.iterations):
            said = says * y
            x = np.bincount(coded.task, said, len(coded.tasks))[coded.task] - said
            agreed = says * x
            y = np.bincount(coded.worker, agreed, len(coded.workers))[coded.worker] - agreed
            size = np.sqrt((y**2).mean()) if y.size else 0.0
            y = y / size if size > 0 else np.zeros_like(y)
        return weighted_vote(coded, says, y)
