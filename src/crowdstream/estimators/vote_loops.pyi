from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.agreement_loops import AgreementRows

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

class Votes(Protocol):
    @property
    def winners(self) -> NDArray[np.int32]: ...
    @property
    def confidences(self) -> Floats: ...
    @property
    def margins(self) -> Floats: ...

class FamilyPowers:
    rho: Floats
    least: float
    own: float
    def __init__(self, sums: AgreementRows, rho: Floats) -> None: ...
    def fill(self, tasks: Tasks, out: Floats) -> None: ...

def count_votes(tasks: Tasks, scores: Floats) -> None: ...
def add_weights(tasks: Tasks, weights: Floats, prior: Floats, scores: Floats) -> None: ...
def add_logs(tasks: Tasks, powers: Floats, logs: Floats, prior: Floats, scores: Floats) -> None: ...
def calibrate(
    confidences: Floats, shift: float, slope: float, ceiling: float, out: Floats
) -> None: ...
def fill_keys(places: NDArray[np.int64], odd: int, seed: int, out: Keys) -> None: ...
def choose_one(
    scores: Floats, m: int, named: int, rho: float, keys: Keys, tossed: bool, coin: int
) -> tuple[int, float, float, int]: ...
def choose(
    tasks: Tasks,
    scores: Floats,
    named: int,
    rho: float,
    keys: Keys,
    coins: Keys,
    votes: Votes,
) -> int: ...
