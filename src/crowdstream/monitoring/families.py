"""Who looks alike, and how many independent votes some votes are worth. Reported only.

Declared families are the estimator's (`families=`); what looks alike here discounts nobody: on
real crowds, tasks of unequal difficulty look like copying.
"""

from __future__ import annotations

import numpy as np

from crowdstream.estimators.base import Estimator
from crowdstream.labels import WorkerId
from crowdstream.monitoring.dependence import Floats, Ints
from crowdstream.monitoring.dependence import families as connected
from crowdstream.monitoring.pairs import Compared, Pairs
from crowdstream.monitoring.worker_sums import observer_of
from crowdstream.validation import check_number

ENOUGH = 100
"""Tasks that two workers share before they may be called alike: two experts among guessers who
share forty look like copies now and then."""


def families(crowd: Estimator) -> list[list[WorkerId]]:
    """Groups of workers whose errors are near-duplicates (ρ ≥ 0.5, 5 standard errors).

    >>> from crowdstream.estimators import Adaptive
    >>> from crowdstream.monitoring import monitor
    >>> from crowdstream.science.simulate import simulate
    >>> crowd = monitor(Adaptive())
    >>> copying = {1: (0, 0.95), 2: (0, 0.95)}
    >>> crowd.learn_many(simulate(9, 800, p=0.3, copying=copying).labels())
    >>> families(crowd)
    [['w0', 'w1', 'w2']]
    """
    compared, names = observer_of(crowd, Pairs).compared(crowd), crowd.workers_
    member, _ = _alike(compared)
    return [
        [names[compared.who[i]] for i in np.flatnonzero(member == k)]
        for k in range(1, int(member.max(initial=0)) + 1)
    ]


def effective_votes(crowd: Estimator, votes: float) -> float:
    """How many independent votes so many labels on a task are worth: ``m/(1 + (m − 1) ρ)``.

    ρ is the correlation of errors within a task that the estimator measures, if it does, and at
    least what near-duplicates make of it: the mean ρ of their pairs times the chance that two
    labels are of one group.

    >>> from crowdstream.estimators import Adaptive
    >>> from crowdstream.monitoring import monitor
    >>> from crowdstream.science.simulate import simulate
    >>> crowd = monitor(Adaptive())
    >>> crowd.learn_many(simulate(10, 1000, p=0.2).labels())
    >>> 8 < effective_votes(crowd, 10) <= 10  # they err independently
    True
    """
    check_number("votes", votes, 1, 1e9)
    compared = observer_of(crowd, Pairs).compared(crowd)
    member, inside = _alike(compared)
    answers = crowd._sums.answers
    share = answers[compared.who] / max(float(answers.sum()), 1e-12)
    rho = sum(
        correlation * float(share[member == k].sum()) ** 2
        for k, correlation in enumerate(inside.tolist(), start=1)
    )
    rho = max(rho, float(getattr(crowd, "excess_correlation_", 0.0)))
    return float(votes / (1.0 + max(votes - 1.0, 0.0) * min(rho, 1.0)))


def _alike(compared: Compared) -> tuple[Ints, Floats]:
    """Every compared worker's group, 0 for none, and the mean ρ inside each."""
    found = compared.found
    return connected(found._replace(z=np.where(compared.met >= ENOUGH, found.z, 0.0)))
