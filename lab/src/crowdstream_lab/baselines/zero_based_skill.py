"""`ZeroBasedSkill`: weights that follow the agreement with the vote that they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdstream.extension import number
from crowdstream_lab.baselines.binary import decided_by
from crowdstream_lab.baselines.common import Coded, Floats, LabelsOnly, share_wrong
from crowdstream_lab.baselines.weighted_votes import vote_shares

ITERATIONS = 100
"""Number of updates of skills, as in crowd-kit."""

RATE = 1.0
"""By how much of the difference skills move at first, as in crowd-kit: all."""

HALVED_EVERY = 20
"""Iterations after which the rate is halved, as in crowd-kit."""


@dataclass(eq=False, repr=False)
class ZeroBasedSkill(LabelsOnly):
    """A vote weighs its worker's skill, which moves to the share of answers that win.

    Crowd-kit's method: everybody starts alike; then skills move towards the share of a worker's
    answers that agree with the vote weighed by skills, at a rate that is halved every 20
    iterations, 100 times. Where crowd-kit gives a tie to the class that the table names first, here
    an answer for one of m tied classes agrees by 1/m. Time O(labels + K tasks) an iteration.

    Parameters
    ----------
    iterations
        How often skills are updated.

    Attributes
    ----------
    skills_
        Of each worker.

    References
    ----------
    Ustalov, Pavlichenko, Tseitlin. Learning from Crowds with Crowd-Kit. JOSS 9(96), 2024.

    Examples
    --------
    >>> said = {"ann": "xyxy", "bob": "xyxy", "cy": "xyyy", "dee": "yyyx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = ZeroBasedSkill()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyxy'
    >>> crowd.skills_.round(2).tolist()
    [1.0, 1.0, 0.75, 0.25]
    """

    iterations: int = ITERATIONS

    deviation: ClassVar[str] = "ties are shared, not given to the class named first"
    checks: ClassVar = {"iterations": number(1, 10**9, whole=True)}

    def _scores(self, coded: Coded) -> Floats:
        self.skills_ = np.full(len(coded.workers), 1 / coded.n_classes)
        rate = RATE
        for iteration in range(1, self.iterations + 1):
            if iteration % HALVED_EVERY == 0:
                rate /= 2
            agrees = 1 - share_wrong(coded, decided_by(vote_shares(coded, self.skills_)))
            self.skills_ = self.skills_ + rate * (agrees - self.skills_)
        return vote_shares(coded, self.skills_)
