"""Confusion matrices by EM, with crowd-kit's start, stop and known truths.

The expectation, and the counts of the maximisation, are `crowdstream_lab.baselines.DawidSkene`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crowdstream import InputError
from crowdstream.extension import Check
from crowdstream_lab import baselines
from crowdstream_lab.baselines.common import Coded, Floats, Ints, answers_right, shares
from crowdstream_lab.crowdkit.base import Aggregator
from crowdstream_lab.crowdkit.tables import Answers, answers_of, code, most_probable

LEAST = 1e-10
"""No count and no probability of a class is less, as in crowd-kit."""

Mask = NDArray[np.bool_]


class Confusions(baselines.DawidSkene):
    """Matrices that have only the classes that a worker used, and no smoothing."""

    skills_: Floats

    def maximise(self, coded: Coded, posterior: Floats) -> None:
        """Prior and matrices from posteriors."""
        self.class_prior_ = posterior.mean(axis=0)
        self.confusions_ = probabilities(self._count(coded, posterior), used(coded))

    def expect(self, coded: Coded) -> Floats:
        """Posteriors from prior and matrices."""
        self.log_likelihood_ = []
        self.class_prior_ = np.maximum(self.class_prior_, LEAST)
        return np.exp(self._expect(coded))

    def loss(self, coded: Coded, posterior: Floats) -> float:
        """Crowd-kit's bound per label, which counts the prior once a label, not once a task."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.confusions_) + np.log(np.maximum(self.class_prior_, LEAST))[:, None]
        expected = posterior[coded.task] * logs[coded.worker, :, coded.label]
        certain = np.maximum(posterior, LEAST)
        return float((expected.sum() - (certain * np.log(certain)).sum()) / coded.task.size)


class OneCoin(Confusions):
    """Matrices of one parameter, a worker's chance to be right."""

    def maximise(self, coded: Coded, posterior: Floats) -> None:
        """Prior and matrices from posteriors."""
        self.class_prior_ = posterior.mean(axis=0)
        answers, right = answers_right(coded, posterior)
        self.skills_, k = right / answers, coded.n_classes
        errs = (1 - self.skills_) / (k - 1)
        same = np.eye(k, dtype=bool)
        found = np.where(same, self.skills_[:, None, None], errs[:, None, None])
        self.confusions_ = np.clip(found, LEAST, 1 - LEAST)


def used(coded: Coded) -> Mask:
    """Return which classes each worker said."""
    n, k = len(coded.workers), coded.n_classes
    return np.bincount(coded.worker * k + coded.label, minlength=n * k).reshape(n, k) > 0


def probabilities(counts: Floats, said: Mask) -> Floats:
    """Counts as probabilities of the classes that each worker says at all."""
    return shares(np.where(said[:, None, :], np.maximum(counts, LEAST), 0.0))


def strategy(name: str, value: object) -> None:
    """Refuse what is no strategy."""
    if value not in (None, "assign", "addition"):
        raise InputError(name, "'assign', 'addition' or None", repr(value))


STRATEGY: Check = strategy


@dataclass(eq=False, repr=False)
class DawidSkene(Aggregator):
    """Everybody's confusion matrix, by EM from majority vote.

    Parameters
    ----------
    n_iter
        Iterations at most.
    tol
        Stop once an iteration raises the loss by less.
    initial_error_strategy
        What `fit` does with ``initial_error``: ``"assign"`` starts from it, ``"addition"`` adds
        it, as counts, to those of the first iteration.

    Attributes
    ----------
    priors_
        Of the classes: a Series named ``prior``.
    errors_
        A DataFrame indexed by worker and label, with a column per true class: the probability that
        the worker says the label then.
    loss_history_
        Crowd-kit's loss after each iteration; it grows.

    Examples
    --------
    >>> rows = [(t, who, "yes" if t < 5 else "no") for t in range(9) for who in ("ann", "bob")]
    >>> rows += [(t, "cy", "yes") for t in range(9)]
    >>> crowd = DawidSkene(n_iter=10)
    >>> table = pd.DataFrame(rows, columns=["task", "worker", "label"])
    >>> crowd.fit_predict(table).tolist()
    ['yes', 'yes', 'yes', 'yes', 'yes', 'no', 'no', 'no', 'no']
    >>> crowd.errors_.round(2).loc["cy"].to_dict()
    {'no': {'yes': 1.0}, 'yes': {'yes': 1.0}}
    """

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: str | None = None

    checks: ClassVar = {"initial_error_strategy": STRATEGY}
    model: ClassVar[type[Confusions]] = Confusions

    def fit(
        self,
        data: pd.DataFrame,
        true_labels: pd.Series | None = None,
        initial_error: pd.DataFrame | None = None,
    ) -> Self:
        """Learn matrices and decide.

        Parameters
        ----------
        data
            A table of task, worker and label.
        true_labels
            What is known, indexed by task: those tasks are held at it.
        initial_error
            Matrices, in the shape of ``errors_``; see ``initial_error_strategy``.
        """
        rows = answers_of(data)
        if rows.empty:
            return self._nothing()
        answers, model = code(rows, in_order=False), self.model(smoothing=0.0)
        coded, truths = answers.coded, _truths(answers, true_labels)
        posterior = _held(shares(coded.count()), truths)
        model.maximise(coded, posterior)
        self._start(model, answers, posterior, initial_error)
        self.loss_history_, loss = list[float](), -np.inf
        for _ in range(self.n_iter):
            posterior = _held(model.expect(coded), truths)
            model.maximise(coded, posterior)
            before, loss = loss, model.loss(coded, posterior)
            self.loss_history_.append(loss)
            if loss - before < self.tol:
                break
        self._keep(answers, model, posterior)
        return self

    def _nothing(self) -> Self:
        """Set the results that crowd-kit has for an empty table."""
        self.probas_, self.errors_ = pd.DataFrame(), pd.DataFrame()
        self.priors_ = pd.Series(dtype=float, name="prior")
        self.labels_ = pd.Series(dtype=float, name="agg_label")
        self.loss_history_ = []
        return self

    def _start(
        self, model: Confusions, answers: Answers, posterior: Floats, given: pd.DataFrame | None
    ) -> None:
        """Let matrices that are given take part."""
        if given is None or self.initial_error_strategy is None:
            return
        wanted = ["worker", "label"]
        if list(given.index.names) != wanted:
            raise InputError("initial_error", f"an index of {wanted}", f"{list(given.index.names)}")
        cells = pd.MultiIndex.from_product([answers.workers, answers.classes], names=wanted)
        n, c = len(answers.workers), len(answers.classes)
        added = given.reindex(index=cells, columns=answers.classes).fillna(0.0).to_numpy(float)
        said = used(answers.coded)
        counts = np.zeros((n, said.shape[1], said.shape[1]))
        counts[:, :c, :c] = added.reshape(n, c, c).transpose(0, 2, 1)
        if self.initial_error_strategy == "addition":
            counts += model._count(answers.coded, posterior)
        else:
            _check_all_there(answers, given)
        said[:, :c] |= cells.isin(given.index).reshape(n, c)
        model.confusions_ = probabilities(counts, said)

    def _keep(self, answers: Answers, model: Confusions, posterior: Floats) -> None:
        """The results with their names."""
        coded, k = answers.coded, len(answers.classes)
        self.probas_ = answers.probas(posterior)
        self.labels_ = most_probable(self.probas_)
        self.priors_ = pd.Series(model.class_prior_[:k], index=answers.classes, name="prior")
        worker, said = np.nonzero(used(coded))
        self.errors_ = pd.DataFrame(
            model.confusions_[worker, :k, said],
            index=pd.MultiIndex.from_arrays(
                [answers.workers.take(worker), answers.classes.take(said)],
                names=["worker", "label"],
            ),
            columns=answers.classes.rename(None),
        )


@dataclass(eq=False, repr=False)
class OneCoinDawidSkene(DawidSkene):
    """One chance to be right per worker, whatever the class, by EM from majority vote.

    Parameters
    ----------
    n_iter, tol, initial_error_strategy
        As in `DawidSkene`; the last is there in crowd-kit too, and changes nothing.

    Attributes
    ----------
    skills_
        Of each worker, the chance to be right.

    Examples
    --------
    >>> rows = [(t, who, t % 3) for t in range(9) for who in ("ann", "bob", "cy")]
    >>> rows += [(t, "dee", 0) for t in range(9)]
    >>> crowd = OneCoinDawidSkene().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]))
    >>> crowd.skills_.round(2).to_dict()
    {'ann': 1.0, 'bob': 1.0, 'cy': 1.0, 'dee': 0.33}
    """

    model: ClassVar[type[Confusions]] = OneCoin

    def fit(self, data: pd.DataFrame) -> Self:  # type: ignore[override]  # as in crowd-kit
        """Learn skills and decide.

        Parameters
        ----------
        data
            A table of task, worker and label.
        """
        return super().fit(data)

    def _keep(self, answers: Answers, model: Confusions, posterior: Floats) -> None:
        super()._keep(answers, model, posterior)
        self.skills_ = answers.by_worker(model.skills_)


def _truths(answers: Answers, known: pd.Series | None) -> Ints:
    """The places of the known classes, −1 where none is known."""
    if known is None:
        return np.full(len(answers.tasks), -1)
    codes = answers.classes.get_indexer(known.to_numpy())
    if (codes < 0).any():
        strange = known.iloc[int(np.flatnonzero(codes < 0)[0])]
        raise InputError("true_labels", "classes that somebody named", repr(strange))
    if not known.index.is_unique:
        raise InputError("true_labels", "one label per task", "several")
    found = pd.Series(codes, known.index).reindex(answers.tasks, fill_value=-1)
    return np.asarray(found, np.int64)


def _held(posterior: Floats, truths: Ints) -> Floats:
    """Posteriors with all of a known task's on its truth."""
    known = truths >= 0
    posterior[known] = np.eye(posterior.shape[1])[truths[known]]
    return posterior


def _check_all_there(answers: Answers, given: pd.DataFrame) -> None:
    """Refuse matrices to start from that leave cells out, or columns that do not sum to 1."""
    pairs = answers.coded.worker, answers.coded.label
    cells = pd.MultiIndex.from_arrays(
        [answers.workers.take(pairs[0]), answers.classes.take(pairs[1])]
    )
    missing = ~cells.isin(given.index)
    if missing.any():
        lost = cells[missing].get_level_values(0).nunique()
        raise InputError("initial_error", "the matrix of every worker", f"{lost} incomplete")
    sums = given.groupby("worker").sum().to_numpy(float)
    if (given <= 1).all(axis=None) and not np.allclose(sums, 1.0):
        found = f"sums from {sums.min():g} to {sums.max():g}"
        raise InputError("initial_error", "counts, or probabilities that sum to 1", found)
