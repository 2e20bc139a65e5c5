import numpy as np
from numpy.typing import NDArray

from crowdstream.sums.loops import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]

CAP_SKILL: float

class Teacher:
    f: Floats
    workers: int
    met_workers: int
    groups: int
    main: int
    mean: float
    spread: float
    strength: float
    surplus: float
    met: float
    all_met: float
    evidence: float
    unit: float
    V: float
    def __init__(self, sums: Rows, f: Floats, votes: Floats) -> None: ...
    def renew(self, workers: int, unit: float, scratch: Floats) -> None: ...
    def fill_skills(self, out: Floats) -> None: ...

class Student:
    workers: int
    strength: float
    typical: float
    def __init__(self, counts: Floats, mass: Floats, pooled: Floats, prior: Floats) -> None: ...
    def renew(self, workers: int, strength: float, unit: float, f: Floats) -> None: ...
    def spread_strength(self, most: float, unit: float) -> float: ...
    def fill_confusions(self, out: Floats) -> None: ...

class Crowd:
    gate: float
    heads: bool
    rho: Floats
    def __init__(
        self,
        sums: Rows,
        teacher: Teacher,
        taught: Student,
        swept: Student,
        work: Floats,
        rho: Floats,
    ) -> None: ...
    def follow(
        self,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        weight: float,
        growth: float,
        scores: Floats,
    ) -> None: ...
    def close(
        self, workers: Codes, labels: Codes, truth: int, weight: float, own: bool
    ) -> None: ...
    def ask(
        self, workers: Codes, labels: Codes, m: int, own: bool, weight: float, scores: Floats
    ) -> None: ...
    def observe(
        self, workers: Codes, labels: Codes, m: int, truth: int, weight: float, scores: Floats
    ) -> None: ...
    def observe_tasks(
        self,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        weight: float,
        growth: float,
        rules: Floats,
        keys: Keys,
        used: Ints,
        why: Codes,
        scores: Floats,
    ) -> None: ...
    def fill_powers(self, starts: Ints, workers: Codes, out: Floats) -> None: ...
    def fill_logs(self, out: Floats, prior: Floats) -> None: ...

def count_votes(starts: Ints, labels: Codes, scores: Floats) -> None: ...
def add_weights(
    starts: Ints, workers: Codes, labels: Codes, weights: Floats, prior: Floats, scores: Floats
) -> None: ...
def add_logs(
    starts: Ints,
    workers: Codes,
    labels: Codes,
    powers: Floats,
    logs: Floats,
    prior: Floats,
    scores: Floats,
) -> None: ...
def add_soft_counts(
    starts: Ints,
    workers: Codes,
    labels: Codes,
    truths: Codes,
    scores: Floats,
    counts: Floats,
    mass: Floats,
) -> None: ...
def choose_one(
    scores: Floats, m: int, named: int, rho: float, keys: Keys, tossed: bool, coin: int
) -> tuple[int, float, float, int]: ...
def choose(
    starts: Ints,
    scores: Floats,
    named: int,
    rho: float,
    keys: Keys,
    coins: Keys,
    winners: Codes,
    confidences: Floats,
    margins: Floats,
) -> int: ...
