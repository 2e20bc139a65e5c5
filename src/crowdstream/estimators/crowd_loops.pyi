import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.confusion_loops import Student
from crowdstream.estimators.teacher_loops import Teacher
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]

class StopRule:
    def __init__(self, settle: float, min_labels: int, max_labels: int, rho: float) -> None: ...

class Crowd:
    gate: float
    fell_back: bool
    def __init__(
        self, sums: AgreementRows, teacher: Teacher, taught: Student, swept: Student
    ) -> None: ...
    def follow(self, tasks: Tasks, weight: float, growth: float, scores: Floats) -> None: ...
    def close(self, tasks: Tasks, weight: float, own: bool) -> None: ...
    def ask(self, tasks: Tasks, m: int, own: float, scores: Floats) -> None: ...
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
