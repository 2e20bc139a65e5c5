import numpy as np
from numpy.typing import NDArray

from crowdstream.models.scoring_loops import FamilyPowers, Scoring
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]

class Teacher:
    f: Floats
    workers: int
    met_workers: int
    groups: int
    main: int
    cap: float
    mean: float
    spread: float
    strength: float
    surplus: float
    met: float
    all_met: float
    evidence: float
    unit: float
    V: float
    def __init__(
        self, sums: AgreementRows, powers: FamilyPowers, f: Floats, votes: Floats, product: Floats
    ) -> None: ...
    def renew(self, workers: int, unit: float, scratch: Floats) -> None: ...
    def fill_skills(self, out: Floats) -> None: ...

class TeacherVotes(Scoring):
    def __init__(self, sums: AgreementRows, teacher: Teacher, lean: float) -> None: ...
