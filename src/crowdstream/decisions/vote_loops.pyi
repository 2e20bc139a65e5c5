from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

class Votes(Protocol):
    @property
    def winners(self) -> NDArray[np.int32]: ...
    @property
    def confidences(self) -> Floats: ...
    @property
    def margins(self) -> Floats: ...

def choose(
    tasks: Tasks,
    scores: Floats,
    named: int,
    rho: float,
    keys: Keys,
    coins: Keys,
    votes: Votes,
) -> int: ...
