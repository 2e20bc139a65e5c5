import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, Ints
from crowdstream.labels.batch_loops import Tasks

Floats = NDArray[np.float64]

class PosteriorCounts:
    def __init__(self, counts: Floats, mass: Floats, room: Floats, where: Codes) -> None: ...

class Products:
    def count(self, tasks: Tasks, into: PosteriorCounts) -> None: ...
    def fill(self, tasks: Tasks, room: Floats, out: Floats) -> None: ...

class DenseProducts(Products):
    def __init__(
        self,
        said: Floats,
        own: Floats,
        off: Floats,
        on: Floats,
        pooled: Floats,
        prior: Floats,
        odds: Floats,
        root: bool,
    ) -> None: ...

class SparseProducts(Products):
    def __init__(
        self,
        starts: Ints,
        where: Codes,
        values: Floats,
        kept: Floats,
        own: Floats,
        off: Floats,
        on: Floats,
        pooled: Floats,
        prior: Floats,
        odds: Floats,
        root: bool,
    ) -> None: ...

def fill_starts(said: Floats, starts: Ints) -> None: ...
def fill_sparse(said: Floats, starts: Ints, where: Codes, values: Floats) -> None: ...
def add_posteriors(tasks: Tasks, scores: Floats, counts: Floats, mass: Floats) -> None: ...
def count_two(tasks: Tasks, logs: Floats, prior: Floats, counts: Floats, mass: Floats) -> None: ...
def count_weighted(tasks: Tasks, odds: Floats, prior: Floats, into: PosteriorCounts) -> None: ...
