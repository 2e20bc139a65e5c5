"""Near-duplicate workers, and how many independent votes some votes are worth. Only reported.

Declared families are the estimator's (`families=`). Those found here change no worker's weight: on
real crowds, tasks of unequal difficulty look like copying.
"""

from __future__ import annotations

import numpy as np

from crowdstream.estimators.estimator import Estimator
from crowdstream.labels import WorkerId
from crowdstream.monitoring import estimator_view as view
from crowdstream.monitoring.dependence import Floats, Ints
from crowdstream.monitoring.dependence import families as near_duplicates
from crowdstream.monitoring.pairs import Compared, Pairs
from crowdstream.validation import check_number

ENOUGH = 100
"""Tasks that two workers must share to be called near-duplicates: two experts among guessers who
share forty look like copies now and then."""


def families(crowd: Estimator) -> list[list[WorkerId]]:
    """Groups of workers whose errors are near-duplicates (ρ ≥ 0.5, 5 standard errors).

    Parameters
    ----------
    crowd
        An estimator with monitors, see `monitor`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.monitor(cs.Adaptive())
    >>> copying = {1: (0, 0.95), 2: (0, 0.95)}
    >>> crowd.learn_many(cs.simulate(9, 800, p=0.3, copying=copying).labels())
    >>> families(crowd)
    [['w0', 'w1', 'w2']]
    """
    compared, names = view.observer_of(crowd, Pairs).compared(crowd), crowd.workers_
    member, _ = _alike(compared)
    return [
        [names[compared.who[i]] for i in np.flatnonzero(member == k)]
        for k in range(1, int(member.max(initial=0)) + 1)
    ]


def effective_votes(crowd: Estimator, votes: float) -> float:
    """How many independent votes a task's labels are worth: ``m/(1 + (m − 1) ρ)``.

    ρ is the correlation of errors within a task that the estimator measures, if it does, and at
    least what near-duplicates cause: the mean ρ of their pairs times the chance that two labels
    come from one group.

    Parameters
    ----------
    crowd
        An estimator with monitors, see `monitor`.
    votes
        The number m of labels on a task.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.monitor(cs.Adaptive())
    >>> crowd.learn_many(cs.simulate(10, 1000, p=0.2).labels())
    >>> 8 < effective_votes(crowd, 10) <= 10  # they err independently
    True
    """
    check_number("votes", votes, 1, 1e9)
    compared = view.observer_of(crowd, Pairs).compared(crowd)
    member, inside = _alike(compared)
    share = view.answer_shares(crowd)[compared.who]
    rho = sum(
        correlation * float(share[member == k].sum()) ** 2
        for k, correlation in enumerate(inside.tolist(), start=1)
    )
    rho = max(rho, view.excess_correlation(crowd) or 0.0)
    return float(votes / (1.0 + max(votes - 1.0, 0.0) * min(rho, 1.0)))


def _alike(compared: Compared) -> tuple[Ints, Floats]:
    """The group of every worker compared, 0 for none, and the mean ρ inside each."""
    found = compared.found
    return near_duplicates(found._replace(z=np.where(compared.met >= ENOUGH, found.z, 0.0)))
