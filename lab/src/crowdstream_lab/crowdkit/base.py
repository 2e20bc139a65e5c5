"""The verbs that all of crowd-kit's classification methods have."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import pandas as pd

from crowdstream.extension import Parameters, number

ITERATIONS = number(0, 10**9, whole=True)
"""Check of ``n_iter``."""

TOLERANCE = number(0.0, 1e6)
"""Check of ``tol``."""


class Labeller(Parameters):
    """Aggregates labels: `fit` a table, then read the attributes.

    Attributes
    ----------
    labels_
        The decisions: a Series named ``agg_label``, indexed by ``task``.
    """

    checks: ClassVar = {"n_iter": ITERATIONS, "tol": TOLERANCE}

    labels_: pd.Series

    @abstractmethod
    def fit(self, data: pd.DataFrame) -> Self:
        """Learn from a table of task, worker and label."""

    def fit_predict(self, data: pd.DataFrame, *known: Any, **more: Any) -> pd.Series:
        """`fit`, with what it takes; returns ``labels_``."""
        return self.fit(data, *known, **more).labels_


class Aggregator(Labeller):
    """A method that has probabilities too.

    Attributes
    ----------
    probas_
        A DataFrame indexed by ``task``, with one column per class; rows sum to 1.
    """

    probas_: pd.DataFrame

    def fit_predict_proba(self, data: pd.DataFrame, *known: Any, **more: Any) -> pd.DataFrame:
        """`fit`, with what it takes; returns ``probas_``."""
        return self.fit(data, *known, **more).probas_
