import numpy as np
from numpy.typing import NDArray

from crowdstream.models.horizon_loops import Horizons

class ChangeEvidence:
    watching: bool
    @property
    def shown(self) -> bool: ...
    def __init__(self, horizons: Horizons, evidence: NDArray[np.float64]) -> None: ...
