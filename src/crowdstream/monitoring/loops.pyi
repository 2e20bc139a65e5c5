"""Types of the compiled loops; what they do is said in loops.py."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

class Judge:
    def __init__(
        self, skills: Floats, family: Codes, room: Floats, like: Floats, rest: Floats
    ) -> None: ...
    def make_room(self, room: Floats) -> None: ...

class IntervalSums:
    def __init__(self, rows: Floats, pull: Floats, info: Floats, total: Floats) -> None: ...
    def add(
        self,
        judge: Judge,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        weight: float,
        growth: float,
        in_order: bool,
    ) -> None: ...
    def add_slopes(
        self,
        judge: Judge,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        weight: float,
        growth: float,
    ) -> None: ...

class DriftSums:
    def __init__(self, rows: Floats, events: Floats, count: Floats) -> None: ...
    def add(
        self,
        judge: Judge,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        in_order: bool,
    ) -> None: ...

class TrendSums:
    def __init__(self, rows: Floats, points: Floats, count: Floats) -> None: ...
    def add(
        self,
        judge: Judge,
        starts: Ints,
        workers: Codes,
        labels: Codes,
        truths: Codes,
        in_order: bool,
    ) -> None: ...

def add_pairs(
    starts: Ints,
    workers: Codes,
    labels: Codes,
    slots: Codes,
    met: Floats,
    same: Floats,
    some: Ints,
    weight: float,
    growth: float,
    most: int,
) -> None: ...
def strengths(
    starts: Ints,
    workers: Codes,
    labels: Codes,
    skills: Floats,
    grid: Floats,
    like: Floats,
    out: Floats,
) -> None: ...
