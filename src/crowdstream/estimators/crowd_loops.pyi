import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.confusion_loops import Student
from crowdstream.estimators.teacher_loops import Teacher
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]

SCORES: int
CAP: float

class StopRule:
    def __init__(
        self,
        settle: float,
        min_labels: int,
        max_labels: int,
        rho: float,
        known: float,
        against: float,
    ) -> None: ...

class Crowd:
    gate: float
    rho: float
    discount: float
    lean: float
    fell_back: bool
    golden: bool
    alone: bool
    def __init__(
        self, sums: AgreementRows, teacher: Teacher, taught: Student, swept: Student
    ) -> None: ...
    def bind(self, weights: Floats, bias: Floats, features: Floats, parts: Floats) -> None: ...
    def follow(
        self, tasks: Tasks, weight: float, growth: float, scores: Floats, features: Floats
    ) -> None: ...
    def close(self, tasks: Tasks, weight: float, own: bool) -> None: ...
    def ask(self, tasks: Tasks, m: int, own: float, scores: Floats) -> None: ...
    def ask_known(self, tasks: Tasks, m: int, own: float, known: float, scores: Floats) -> int: ...
    def score_tasks(self, tasks: Tasks, scores: Floats) -> None: ...
    def look_at(self, tasks: Tasks, own: float, features: Floats) -> None: ...
    def observe(self, tasks: Tasks, m: int, truth: int, weight: float, scores: Floats) -> None: ...
    def observe_tasks(
        self,
        tasks: Tasks,
        rule: StopRule,
        weight: float,
        growth: float,
        used: NDArray[np.int64],
        why: NDArray[np.int32],
        scores: Floats,
    ) -> None: ...
    def fill_logs(self, out: Floats, prior: Floats) -> None: ...
