import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.sparse_loops import SparseRows

Floats = NDArray[np.float64]

class PosteriorCounts:
    def __init__(
        self, counts: Floats, sparse: SparseRows | None, mass: Floats, room: Floats, where: Codes
    ) -> None: ...

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
        said: SparseRows,
        workers: int,
        kept: Floats,
        most: Floats,
        own: Floats,
        off: Floats,
        on: Floats,
        pooled: Floats,
        prior: Floats,
        odds: Floats,
        root: bool,
    ) -> None: ...

def add_posteriors(tasks: Tasks, scores: Floats, into: PosteriorCounts) -> None: ...
def count_two(tasks: Tasks, logs: Floats, prior: Floats, counts: Floats, mass: Floats) -> None: ...
def count_weighted(tasks: Tasks, odds: Floats, prior: Floats, into: PosteriorCounts) -> None: ...
