"""`Raykar`: Dawid and Skene's matrices with priors, and a classifier learnt beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream import InputError
from crowdstream.extension import SETTLE, Table, number
from crowdstream_lab.baselines.common import (
    FEWEST_CLASSES,
    Coded,
    Floats,
    normalise,
)
from crowdstream_lab.baselines.iterated import TOLERANCE, Iterated

RIGHT = 1.0
"""Right answers, for each class, that a worker is credited with before its first: with `WRONG` a
Beta(2, 1.5) on what it says of a class, a crowd thought a little better than chance."""

WRONG = 0.5
"""Wrong answers, for each class, that a worker is debited with, all other classes alike."""

RIDGE = 1.0
"""Precision of the Gaussian prior on the classifier's coefficients: features of scale one move the
log-odds by about one each before there is data, and separable classes stay finite."""

POSITIVE = number(0.0, 1e6, open_low=True)
"""Above 0: no answer is impossible, and no classifier infinite."""

NEWTON_STEPS = 10
"""Steps a maximisation may take; it starts from the last one's coefficients, so few are needed."""


@dataclass(eq=False, repr=False)
class Raykar(Iterated):
    """The most probable matrices under Beta priors, with what features say of the tasks.

    Sensitivity and specificity of a worker have Beta priors (K classes: a row of its matrix has
    a Dirichlet prior), `right` and `wrong` being pseudo-answers, the prior's parameters less one.
    Without features a task's truth is drawn from one class prior: MAP Dawid–Skene, after Smyth
    et al. With features, two classes only, it is drawn by a logistic regression on them, fitted to
    the posteriors by Newton steps in every maximisation. EM from the shares of the votes, time
    O(K labels + features² tasks) an iteration, memory O(K² workers + K tasks).

    Parameters
    ----------
    right, wrong
        Pseudo-answers on the diagonal, and in a row off it; all cells alike is `DawidSkene`'s
        smoothing.
    class_smoothing
        Pseudo-tasks per class.
    ridge
        Precision of the prior on coefficients, the constant's excepted.

    Attributes
    ----------
    class_prior_
        Probability of each class; with features the mean over the tasks.
    confusions_
        As those of `DawidSkene`.
    coefficients_
        Of the features and a constant, of the log-odds of the second class; none without.

    References
    ----------
    Raykar, Yu, Zhao, Valadez, Florin, Bogoni, Moy. Learning From Crowds. JMLR 11, 2010.

    Smyth, Fayyad, Burl, Perona, Baldi. Inferring Ground Truth from Subjective Labelling of Venus
    Images. NIPS 1995.

    Examples
    --------
    >>> said = {"ann": "yyyyynnnn", "bob": "yyyyynnnn", "cy": "yyyyyyyyy"}
    >>> crowd = Raykar()
    >>> rows = [(t, who, x) for who, text in said.items() for t, x in enumerate(text)]
    >>> "".join(crowd.fit_predict(rows)["label"])
    'yyyyynnnn'
    >>> crowd.confusions_[2].round(1).tolist()
    [[0.9, 0.1], [0.8, 0.2]]
    """

    right: float = RIGHT
    wrong: float = WRONG
    class_smoothing: float = WRONG
    ridge: float = RIDGE

    checks: ClassVar = {
        "right": POSITIVE,
        "wrong": POSITIVE,
        "class_smoothing": POSITIVE,
        "ridge": POSITIVE,
    }
    deviation: ClassVar[str] = "without features; K > 2: Dirichlet priors"

    def fit_predict(
        self, data: Table, features: pl.DataFrame | None = None, *, settle: float = SETTLE
    ) -> pl.DataFrame:
        """Estimate everything from a table, and decide its tasks.

        Features are a table of ``task`` and columns of numbers, one row per task.
        """
        coded = self._code(data)
        self._known = None if features is None else _design(coded, features)
        self.coefficients_ = np.zeros(0 if self._known is None else self._known.shape[1])
        return self._decide(coded, self._scores(coded), settle)

    def _iterate(self, coded: Coded, posterior: Floats) -> Floats:
        prior = self._maximise(coded, self._known, posterior)
        return normalise(prior + likelihoods(coded, self.confusions_))[0]

    def _maximise(self, coded: Coded, known: Floats | None, posterior: Floats) -> Floats:
        """The matrices and the prior that explain the posteriors best; the log prior of tasks."""
        n, k = len(coded.workers), coded.n_classes
        cell = coded.worker * k + coded.label
        wrong = self.wrong / (k - 1)
        counts = np.full((n, k, k), wrong) + (self.right - wrong) * np.eye(k)
        for truth in range(k):
            weights = posterior[coded.task, truth]
            counts[:, truth] += np.bincount(cell, weights, n * k).reshape(n, k)
        self.confusions_ = counts / counts.sum(axis=2, keepdims=True)
        if known is None:
            total = posterior.sum(axis=0) + self.class_smoothing
            self.class_prior_ = total / total.sum()
            return np.asarray(np.log(self.class_prior_), float)
        self.coefficients_ = logistic(known, posterior[:, 1], self.coefficients_, self.ridge)
        odds = known @ self.coefficients_
        prior, _ = normalise(np.column_stack([np.zeros_like(odds), odds]))
        self.class_prior_ = np.exp(prior).sum(axis=0) / max(len(odds), 1)
        return prior


def likelihoods(coded: Coded, confusions: NDArray[np.float64]) -> Floats:
    """Return the log-likelihood of a task's labels under each truth, one row per task."""
    logs = np.log(confusions)
    scores = np.empty((len(coded.tasks), coded.n_classes))
    for truth in range(coded.n_classes):
        says = logs[coded.worker, truth, coded.label]
        scores[:, truth] = np.bincount(coded.task, says, len(coded.tasks))
    return scores


def logistic(features: Floats, target: Floats, start: Floats, ridge: float) -> Floats:
    """Coefficients of a ridge logistic regression on probabilities, by Newton's method.

    The last column is the constant and is not shrunk. A step that would lower the objective is
    halved until it does not.

    >>> x = np.array([[-1.0, 1.0], [1.0, 1.0]])
    >>> logistic(x, np.array([0.25, 0.75]), np.zeros(2), 1e-9)[0].round(3).item()
    1.099
    """
    penalty = np.full(features.shape[1], ridge)
    penalty[-1] = 1e-9 * ridge  # for a matrix that can be inverted whatever the tasks

    def loss(at: Floats) -> float:
        odds = features @ at
        return float(np.logaddexp(0, odds).sum() - target @ odds + penalty @ at**2 / 2)

    found = start
    for _ in range(NEWTON_STEPS):
        odds = features @ found
        chance = np.exp(-np.logaddexp(0, -odds))
        slope = features.T @ (chance - target) + penalty * found
        bend = (features.T * (chance * (1 - chance))) @ features + np.diag(penalty)
        step = np.linalg.solve(bend, slope)
        while loss(found - step) > loss(found) and np.abs(step).max() > TOLERANCE:
            step = step / 2
        found = found - step
        if np.abs(step).max() <= TOLERANCE:
            break
    return found


def _design(coded: Coded, features: pl.DataFrame) -> Floats:
    """The features of the tasks in order, with a column of ones."""
    if coded.n_classes > FEWEST_CLASSES:
        expected = "none with more than two classes"
        raise InputError("features", expected, f"features and {coded.n_classes} classes")
    if "task" not in features.columns or features["task"].is_duplicated().any():
        raise InputError("features", "a column 'task' without repeats", str(features.columns))
    place = {task: row for row, task in enumerate(features["task"].to_list())}
    without = [task for task in coded.tasks if task not in place]
    if without:
        raise InputError("features", "a row for every task", f"none for {without[0]!r}")
    table = features.drop("task").cast(pl.Float64).to_numpy()
    if not np.isfinite(table).all():
        raise InputError("features", "finite numbers", "others")
    rows = np.array([place[task] for task in coded.tasks], np.int64)
    return np.column_stack([table[rows], np.ones(rows.size)])
