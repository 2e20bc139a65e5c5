from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels import TaskId
from crowdstream.labels.batch_loops import Tasks
from crowdstream.models.scoring_loops import Scoring
from crowdstream.stream.task_loops import Kept, TaskRows

Floats = NDArray[np.float64]

DONE: int
NAMES: int
GENERAL: int
RENEW: int
SCALE: int
ROOM: int
CLOSED: int

class LabelLoop:
    settle: float
    against: float
    shift: float
    slope: float
    ceiling: float
    now: float
    renew_after: float
    renew_labels: float
    few: float
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
    fresh: NDArray[np.int32]
    met: list[int]
    known: int
    known_closed: int
    most_known: int
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
        self,
        scoring: Scoring,
        store: TaskRows,
        tasks: Tasks,
        workers: NDArray[np.int32],
        labels: NDArray[np.int32],
        scores: Floats,
    ) -> None: ...
    def start(self) -> None: ...
    def take(
        self,
        names: list[TaskId],
        workers: list[int],
        labels: list[int],
        found: dict[TaskId, Kept],
    ) -> int: ...
