"""The paper's model and what real crowds add to it: who answers, who errs, how that changes.

Vectorised and seeded. `simulate` makes one block; `simulate_blocks` a stream that memory does not
bound. Knows nothing of estimators.
"""

from crowdstream.simulation.crowds import LARGEST, simulate, simulate_blocks
from crowdstream.simulation.dependent import simulate_dependent
from crowdstream.simulation.drifts import (
    Drift,
    Floats,
    Ints,
    error_rates,
    jump,
    learning,
    replacement,
    sine,
)
from crowdstream.simulation.judges import SimulatedJudges, simulate_judges
from crowdstream.simulation.model import Crowd
from crowdstream.simulation.simulated import Simulated

__all__ = [
    "LARGEST",
    "Crowd",
    "Drift",
    "Floats",
    "Ints",
    "Simulated",
    "SimulatedJudges",
    "error_rates",
    "jump",
    "learning",
    "replacement",
    "simulate",
    "simulate_blocks",
    "simulate_dependent",
    "simulate_judges",
    "sine",
]
