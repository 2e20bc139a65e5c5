"""Methods for two classes on more, each class in turn against all others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from crowdstream_lab.baselines.binary import decided_by
from crowdstream_lab.baselines.common import (
    FEWEST_CLASSES,
    Coded,
    Floats,
    LabelsOnly,
    share_wrong,
)

ONE_AGAINST_REST = "K > 2: one class against the rest"
"""Addition of these methods to their papers, which have two classes."""


def one_against_rest(coded: Coded, log_odds: Callable[[int, Floats], Floats]) -> Floats:
    """Scores of the classes, one row per task, from log-odds of a class against the rest.

    ``log_odds(c, votes)`` is given the votes as +1 for class c and −1 for another, and returns one
    number per task. With two classes it is asked once, about the second. With more a class's
    probability is taken to be in proportion to its odds.

    >>> from crowdstream_lab.baselines.common import code
    >>> coded = code([("t", "ann", "x"), ("t", "bob", "y"), ("t", "cy", "z"), ("t", "di", "y")])
    >>> one_against_rest(coded, lambda c, votes: votes.sum(keepdims=True)).tolist()
    [[-2.0, 0.0, -2.0]]
    """
    found = np.zeros((len(coded.tasks), coded.n_classes))
    asked = range(coded.n_classes) if coded.n_classes > FEWEST_CLASSES else (1,)
    for c in asked:
        found[:, c] = log_odds(c, np.where(coded.label == c, 1.0, -1.0))
    return found


class OneAgainstRest(LabelsOnly):
    """A method that tells only a class from the rest, and judges workers by its decisions.

    Attributes
    ----------
    error_rates_
        One per worker: the share of its answers against the decisions.
    """

    def _scores(self, coded: Coded) -> Floats:
        self._begin(coded)
        scores = one_against_rest(coded, lambda _, votes: self._log_odds(coded, votes))
        self.error_rates_ = share_wrong(coded, decided_by(scores))
        return scores

    def _begin(self, coded: Coded) -> None:
        """Forget what was found before, or refuse the table."""
        return

    @abstractmethod
    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        """Return the log-odds of the class that the votes are for or against."""
