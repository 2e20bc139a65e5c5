"""Choice of the task to ask next, within a budget. Pure functions of confidence and accuracy.

Knows nothing of streams: it is given how sure each open task is and how good the worker.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.stopping import information_of

Floats = NDArray[np.float64]


def gain_of_asking(confidences: Floats, accuracy: float, classes: int) -> Floats:
    """Bits that one more label is expected to tell of each task: the highest is asked next.

    Parameters
    ----------
    confidences
        How sure the decision on each task is so far; without a label all classes are alike.
    accuracy
        How often the worker is right.
    classes
        How many classes there are.

    Examples
    --------
    >>> gain_of_asking(np.array([0.99, 0.6, 0.0]), accuracy=0.8, classes=2).argsort().tolist()
    [0, 1, 2]
    """
    return information_of(np.maximum(confidences, 1.0 / classes), accuracy, classes)
