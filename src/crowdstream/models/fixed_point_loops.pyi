from typing import Final

import numpy as np
from numpy.typing import NDArray

from crowdstream.models.scoring_loops import Scoring
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]
Marks = NDArray[np.uint8]

SOLVED: Final = 0
FLAT: Final = 1
NO_SOLUTION: Final = 2

ALIKE: float
CERTAIN: float

class Shares:
    h: float
    def __init__(self, agreement: Floats, share: Floats, rise: Floats) -> None: ...
    def bind(self, agreement: Floats, share: Floats, rise: Floats) -> None: ...
    def solve(self, dominant: bool, shares: Floats) -> tuple[int, float]: ...

class FixedPoint(Scoring):
    unit: float
    named: int
    truth: int
    @property
    def reason(self) -> int: ...
    @property
    def by_shares(self) -> bool: ...
    @property
    def mean(self) -> float: ...
    def __init__(
        self,
        sums: AgreementRows,
        answer_rate: float,
        memory: float,
        shrinkage: float,
        clip: float,
    ) -> None: ...
    def renew(self) -> None: ...
    def fill(self, theta: Floats, weights: Floats, solved: Marks, apart: Marks) -> None: ...

def solve(agreement: Floats, dominant: bool, shares: Floats) -> tuple[int, float]: ...
