import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks
from crowdstream.models.change_loops import ChangeEvidence
from crowdstream.models.confusion_loops import Student
from crowdstream.models.scoring_loops import Scoring
from crowdstream.models.teacher_loops import Teacher
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]

SCORES: int
CAP: float

class Crowd(Scoring):
    gate: float
    rho: float
    panel: bool
    trust: float
    def __init__(
        self,
        sums: AgreementRows,
        teacher: Teacher,
        taught: Student,
        swept: Student,
        change: ChangeEvidence,
    ) -> None: ...
    def bind(self, weights: Floats, bias: Floats, features: Floats, parts: Floats) -> None: ...
    def follow_all(
        self, tasks: Tasks, weight: float, growth: float, scores: Floats, features: Floats
    ) -> None: ...
    def fill_common_factor(self, tasks: Tasks, scores: Floats) -> None: ...
    def take_back(self, tasks: Tasks, weight: float) -> None: ...
    def look_at(self, tasks: Tasks, own: float, features: Floats) -> None: ...
    def fill_logs(self, out: Floats, prior: Floats) -> None: ...
