from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdstream.estimators.confusion_loops import Student
from crowdstream.estimators.task_store_loops import Kept, TaskRows
from crowdstream.estimators.teacher_loops import Teacher
from crowdstream.labels import TaskId
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]

SCORES: int
CAP: float

DONE: int
NAMES: int
GENERAL: int
RENEW: int
SCALE: int
ROOM: int
CLOSED: int

class Flow:
    settle: float
    known: float
    against: float
    shift: float
    slope: float
    ceiling: float
    now: float
    renew_after: float
    renewed_labels: float
    fresh: float
    few: float
    half: float
    fade: float
    most: float
    min_labels: int
    max_labels: int
    named: int
    closings: int
    clock: int
    look_at: int
    origin: int
    keys: NDArray[np.uint64]
    coin: Callable[[TaskId], int] | None
    at: int
    @property
    def room(self) -> int: ...
    @property
    def opened(self) -> int: ...
    @property
    def taken(self) -> int: ...
    @property
    def repeated(self) -> int: ...
    @property
    def late(self) -> int: ...
    @property
    def closed(self) -> int: ...
    def __init__(
        self, tasks: Tasks, workers: NDArray[np.int32], labels: NDArray[np.int32], scores: Floats
    ) -> None: ...
    def start(self) -> None: ...

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
    def take(
        self,
        store: TaskRows,
        flow: Flow,
        names: list[TaskId],
        workers: list[int],
        labels: list[int],
        found: dict[TaskId, Kept],
    ) -> int: ...
    def fill_logs(self, out: Floats, prior: Floats) -> None: ...
