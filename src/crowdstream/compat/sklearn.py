"""`CrowdClassifier`: our estimators as a scikit-learn classifier. Knows nothing of tables or names.

A task is a row of X and a worker a column; a cell is the class that the worker named.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from crowdstream.errors import CrowdstreamError
from crowdstream.estimators import Adaptive, Estimator

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        assert_all_finite,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as missing:
    raise CrowdstreamError(
        "crowdstream.compat.sklearn needs scikit-learn: pip install 'crowdstream[compat]'"
    ) from missing

Floats = NDArray[np.float64]
Rows = list[tuple[int, int, int]]
NESTED = "estimator__"


class CrowdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Learns how far each column is to be trusted, and decides each row by a weighted vote.

    Parameters
    ----------
    estimator
        One of our estimators, which is copied and not changed; `crowdstream.Adaptive` without.
        Its parameters are ``estimator__memory`` and so on.
    missing
        The number that says "no answer" in X and "not known" in y; NaN says so too.

    Attributes
    ----------
    classes_
        The classes that are in X or known in y, sorted.
    crowd_
        The estimator that has learnt; its workers are the numbers of the columns.
    n_features_in_
        How many workers there are.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0, 0, 1], [1, 1, 1, 1], [2, 2, -1, 1], [0, 0, 0, 1], [2, 2, 2, 1]] * 4)
    >>> crowd = CrowdClassifier().fit(X)
    >>> crowd.predict(X)[:5].tolist()
    [0, 1, 2, 0, 2]
    >>> crowd.predict_proba(X).shape
    (20, 3)
    >>> y = np.full(20, -1)
    >>> y[2] = 1                                    # the truth of one task is known
    >>> CrowdClassifier().fit(X, y).classes_.tolist()
    [0, 1, 2]
    """

    def __init__(self, estimator: Estimator | None = None, *, missing: float = -1) -> None:
        self.estimator = estimator
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  # scikit-learn's name
        """Learn from answers, and from the truths of tasks where they are known.

        Parameters
        ----------
        X
            One row per task, one column per worker: classes as numbers.
        y
            The true classes, ``missing`` where they are not known.
        """
        cells = self._cells(X, reset=True)
        known = self._truths(y, cells)
        self.classes_ = _whole(np.unique([*cells[~np.isnan(cells)], *known[~np.isnan(known)]]))
        places = np.flatnonzero(~np.isnan(known))
        codes = np.searchsorted(self.classes_, known[places])
        self.crowd_ = (self.estimator or Adaptive()).clone()
        gold: dict[str | int, str | int | bool] = dict(
            zip(places.tolist(), codes.tolist(), strict=True)
        )
        self.crowd_.fit(self._rows(cells), gold=gold or None, as_classes=True)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The class of each task.

        Parameters
        ----------
        X
            One row per task, one column per worker.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """The probabilities of ``classes_``, one row per task.

        Parameters
        ----------
        X
            One row per task, one column per worker. A class that `fit` has not seen is no answer.
        """
        check_is_fitted(self)
        cells = self._cells(X, reset=False)
        rows = self._rows(np.where(np.isin(cells, self.classes_), cells, np.nan))
        prior = self.crowd_.predict_proba_one({})
        found = np.tile([prior.get(c, 0.0) for c in range(len(self.classes_))], (len(cells), 1))
        if rows:
            table = self.crowd_.predict_proba_many(rows)
            codes = [int(name) for name in table.columns[1:]]
            found[np.ix_(table["task"].to_numpy(), codes)] = table[:, 1:].to_numpy()
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def set_params(self, **params: Any) -> Self:
        """Change parameters, also those of the estimator.

        Parameters
        ----------
        **params
            As in the constructor, or ``estimator__`` and a parameter of the estimator.
        """
        inner = {name: value for name, value in params.items() if name.startswith(NESTED)}
        super().set_params(**{name: params[name] for name in params.keys() - inner.keys()})
        if inner:
            crowd = self.estimator or Adaptive()
            given = {name.removeprefix(NESTED): value for name, value in inner.items()}
            self.estimator = type(crowd)(**(crowd.get_params() | given))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags

    def _cells(self, X: Any, reset: bool) -> Floats:  # noqa: N803
        """The answers as numbers, NaN where there is none."""
        given = validate_data(self, X, reset=reset, ensure_all_finite="allow-nan", dtype="numeric")
        cells = given.astype(float)
        return np.where(cells == self.missing, np.nan, cells)

    def _truths(self, y: Any, cells: Floats) -> Floats:
        """The known classes as numbers, NaN where none is known."""
        if y is None:
            return np.full(len(cells), np.nan)
        given = column_or_1d(y, warn=True)
        check_consistent_length(cells, given)
        assert_all_finite(given, allow_nan=True, input_name="y")
        check_classification_targets(given[~_is_nan(given)])
        truths = given.astype(float)
        return np.where(truths == self.missing, np.nan, truths)

    def _rows(self, cells: Floats) -> Rows:
        """The answers as rows of task, worker and class, each by its number."""
        task, worker = np.nonzero(~np.isnan(cells))
        label = np.searchsorted(self.classes_, cells[task, worker])
        return list(zip(task.tolist(), worker.tolist(), label.tolist(), strict=True))


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def _whole(values: Floats) -> NDArray[Any]:
    """Numbers as whole ones, if they all are."""
    whole = values.astype(np.int64)
    return whole if np.array_equal(whole, values) else values
