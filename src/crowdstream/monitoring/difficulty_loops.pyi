import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

Floats = NDArray[np.float64]

def fill_likelihoods(
    tasks: Tasks, skills: Floats, grid: Floats, like: Floats, out: Floats
) -> None: ...
def fill_strengths(
    tasks: Tasks, skills: Floats, grid: Floats, frequency: Floats, like: Floats, out: Floats
) -> None: ...
