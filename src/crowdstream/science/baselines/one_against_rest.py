"""`one_against_rest`: a method for two classes on more, each class in turn against all others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdstream.science.baselines.common import FEWEST_CLASSES, Coded, Floats


def one_against_rest(coded: Coded, log_odds: Callable[[int, Floats], Floats]) -> Floats:
    """Scores of the classes, a row a task, from log-odds of a class against the rest.

    ``log_odds(c, votes)`` is given the votes as +1 for class c and −1 for another, and returns a
    number a task. With two classes it is asked once, about the second. With more a class's
    probability is taken to be in proportion to its odds.

    >>> from crowdstream.science.baselines.common import code
    >>> coded = code([("t", "ann", "x"), ("t", "bob", "y"), ("t", "cy", "z"), ("t", "di", "y")])
    >>> one_against_rest(coded, lambda c, votes: votes.sum(keepdims=True)).tolist()
    [[-2.0, 0.0, -2.0]]
    """
    found = np.zeros((len(coded.tasks), coded.n_classes))
    asked = range(coded.n_classes) if coded.n_classes > FEWEST_CLASSES else (1,)
    for c in asked:
        found[:, c] = log_odds(c, np.where(coded.label == c, 1.0, -1.0))
    return found
