import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch_loops import Tasks

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

def count_pairs(tasks: Tasks, slots: Codes, joint: Codes, same: Codes, here: Ints) -> None: ...
def count_cases(
    tasks: Tasks,
    place: Codes,
    slots: Codes,
    votes: Ints,
    here: Ints,
    found: Ints,
    mates: Codes,
    alike: Codes,
) -> None: ...
def add_agreement(
    tasks: Tasks,
    place: Codes,
    family: Codes,
    habits: Floats,
    votes: Floats,
    expected: Floats,
    found: Floats,
) -> None: ...
def fill_pluralities(tasks: Tasks, place: Codes, which: int, votes: Ints, found: Codes) -> None: ...
def add_to_sketch(
    tasks: Tasks,
    slots: Codes,
    votes: Codes,
    here: Ints,
    sketch: Codes,
    minority: Ints,
) -> None: ...
def list_pairs(
    tasks: Tasks,
    first: int,
    slots: Codes,
    votes: Codes,
    here: Ints,
    sketch: Codes,
    least: int,
    pairs: Keys,
) -> tuple[int, int]: ...
def count_listed(tasks: Tasks, slots: Codes, here: Ints, place: Codes, found: Ints) -> None: ...
