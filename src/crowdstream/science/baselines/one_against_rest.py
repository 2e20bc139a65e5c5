"""Methods for two classes on more, each class in turn against all others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import polars as pl

from crowdstream.decisions import SETTLE
from crowdstream.estimators.votes import check_ties
from crowdstream.labels import ClassLabel, Table, WorkerId
from crowdstream.science.baselines.binary import decided_by
from crowdstream.science.baselines.common import (
    FEWEST_CLASSES,
    Coded,
    Floats,
    code,
    decide,
    share_wrong,
)


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


class OneAgainstRest(ABC):
    """A method that tells only a class from the rest, and judges labellers by its decisions."""

    classes_: list[ClassLabel]
    workers_: list[WorkerId]
    error_rates_: Floats

    def __init__(self, seed: int) -> None:
        self.seed = seed
        check_ties("coin", seed)

    def fit_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Weigh the labels of a table, and decide its tasks."""
        coded = code(data)
        self.classes_ = coded.classes.to_list()
        self.workers_ = coded.workers.to_list()
        self._begin(coded)
        scores = one_against_rest(coded, lambda _, votes: self._log_odds(coded, votes))
        self.error_rates_ = share_wrong(coded, decided_by(scores))
        return decide(coded, scores, self.seed, settle)

    def _begin(self, coded: Coded) -> None:
        """Forget what was found before, or refuse the table."""
        return

    @abstractmethod
    def _log_odds(self, coded: Coded, votes: Floats) -> Floats:
        """Of the class that the votes are for or against."""
