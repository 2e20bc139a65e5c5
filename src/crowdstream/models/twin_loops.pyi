import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes
from crowdstream.labels.batch_loops import Tasks
from crowdstream.sums.sparse_loops import SparseRows

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

def count_answers(tasks: Tasks, posterior: Floats, counts: Floats) -> None: ...
def count_many_answers(
    tasks: Tasks, posterior: Floats, rows: SparseRows, totals: Floats
) -> None: ...
def draw_truths(chances: Floats, seeds: Keys, classes: Keys, out: Codes) -> None: ...
def draw_labels(
    tasks: Tasks,
    truths: Codes,
    counts: Floats,
    sparse: SparseRows | None,
    totals: Floats,
    prior: Floats,
    worth: float,
    task_keys: Keys,
    worker_keys: Keys,
    classes: Keys,
    room: Floats,
    out: Codes,
) -> None: ...
def fill_residuals(tasks: Tasks, posterior: Floats, right: Floats, out: Floats) -> None: ...
