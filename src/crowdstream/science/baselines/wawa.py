"""`Wawa`: worker agreement with aggregate, majority vote weighed by agreement with itself."""

from __future__ import annotations

from typing import ClassVar

from crowdstream.science.baselines.binary import decided_by
from crowdstream.science.baselines.common import Coded, Floats, LabelsOnly, share_wrong
from crowdstream.science.baselines.weighted_votes import vote_shares


class Wawa(LabelsOnly):
    """A vote weighs the share of its worker's answers that agree with the majority. Once.

    Appen's method, as crowd-kit has it. Where crowd-kit decides a tie of the first vote by a coin,
    here an answer for one of m tied classes agrees by 1/m. Time O(labels + K tasks).

    Attributes
    ----------
    error_rates_
        Of each worker: the share of its answers against the majority.

    References
    ----------
    Ustalov, Pavlichenko, Tseitlin. Learning from Crowds with Crowd-Kit. JOSS 9(96), 2024.

    Examples
    --------
    >>> said = {"ann": "xyxy", "bob": "xyxy", "cy": "xyyy", "dee": "yyyx"}
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> crowd = Wawa()
    >>> "".join(crowd.fit_predict(rows)["label"])
    'xyxy'
    >>> crowd.error_rates_.tolist()
    [0.125, 0.125, 0.125, 0.625]
    """

    deviation: ClassVar[str] = "ties of the first vote are shared, not drawn"

    def _scores(self, coded: Coded) -> Floats:
        self.error_rates_ = share_wrong(coded, decided_by(coded.count()))
        return vote_shares(coded, 1 - self.error_rates_)
