"""`Wawa`: worker agreement with aggregate, majority vote weighed by agreement with itself."""

from __future__ import annotations

from typing import ClassVar

from crowdstream_lab.baselines.binary import decided_by
from crowdstream_lab.baselines.common import Coded, Floats, LabelsOnly, share_wrong
from crowdstream_lab.baselines.weighted_votes import vote_shares


class Wawa(LabelsOnly):
    """A vote weighs the share of its worker's answers that agree with the majority. Once.

    Appen's method, as crowd-kit has it. Where crowd-kit gives a tie to the class that the table
    names first, here an answer for one of m tied classes agrees by 1/m, and ties of the last vote
    are drawn: on web, with many ties, this errs on 0.201, and crowd-kit on 0.213 to 0.237,
    depending on the order of the rows. Time O(labels + K tasks).

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

    deviation: ClassVar[str] = "ties are shared, not given to the class named first"

    def _scores(self, coded: Coded) -> Floats:
        self.error_rates_ = share_wrong(coded, decided_by(coded.count()))
        return vote_shares(coded, 1 - self.error_rates_)
