"""`Iterated`: what methods share that better the tasks' posteriors until they stand still."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import polars as pl

from crowdstream.decisions import SETTLE
from crowdstream.estimators.votes import check_ties
from crowdstream.labels import ClassLabel, Table, WorkerId
from crowdstream.science.baselines.common import Coded, Floats, code, decide, shares
from crowdstream.validation import check_number


class Iterated(ABC):
    """Starts from the vote shares; a method adds one iteration."""

    classes_: list[ClassLabel]
    workers_: list[WorkerId]
    iterations_: int
    converged_: bool

    def __init__(self, tolerance: float, max_iterations: int, seed: int) -> None:
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        self.seed = seed
        check_number("tolerance", tolerance, 0.0, 1.0)
        check_number("max_iterations", max_iterations, 1, 10**9, whole=True)
        check_ties("coin", seed)

    def fit_predict(self, data: Table, *, settle: float = SETTLE) -> pl.DataFrame:
        """Estimate everything from a table, and decide its tasks."""
        coded = code(data)
        self.classes_ = coded.classes.to_list()
        self.workers_ = coded.workers.to_list()
        self.iterations_ = 0
        self.converged_ = False
        posterior = self._start(coded)
        while not self.converged_ and self.iterations_ < self.max_iterations:
            scores = self._iterate(coded, posterior)
            before, posterior = posterior, np.exp(scores)
            moved = np.abs(posterior - before).max(initial=0.0)
            self.converged_ = bool(moved <= self.tolerance)
            self.iterations_ += 1
        return decide(coded, scores, self.seed, settle)

    def _start(self, coded: Coded) -> Floats:
        """The posteriors before any iteration."""
        return shares(coded.count())

    @abstractmethod
    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        """Posteriors → the logarithms of better ones."""
