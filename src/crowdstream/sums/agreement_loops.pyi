import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

class AgreementRows:
    workers: int
    changes: int
    def bind(
        self,
        rows: Floats,
        shares: Floats,
        groups: Codes,
        family: Codes,
        relatives: Floats,
        total: Floats,
    ) -> None: ...
    def set_classes(self, votes: Floats) -> None: ...
    def add(self, tasks: Tasks, weight: float, growth: float) -> None: ...
