"""`SBIC`: streaming Bayesian inference, everybody's accuracy a Beta that grows label by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from crowdstream import InputError
from crowdstream.extension import number, one_of
from crowdstream_lab.baselines.common import Coded, Floats, Ints, weights_of
from crowdstream_lab.baselines.one_pass import OnePass, posterior_of

RIGHT = 2.0
"""Parameter of the Beta(2, 1) prior on accuracies, one of the original experiments': right twice
in three labels."""

WRONG = 1.0
"""The other parameter of that prior."""

LARGEST_SORTING = 50_000_000
"""Tasks times labels that the sorted variant takes: about ten seconds."""


@dataclass(eq=False, repr=False)
class SBIC(OnePass):
    """A mean-field posterior that takes every task once and never goes back.

    A worker's accuracy has a Beta posterior whose counts are the probabilities that its answers
    so far were right; a task's log-odds are the sum of ``log(s (K − 1)/(1 − s))`` over its votes,
    s the mean of the worker's Beta when the task comes. The labels of a task come together
    here, so a worker's counts grow once a task, by the posterior of the task with all of its
    labels, where the paper lets them grow label by label. Fast SBIC never revises a decision:
    its `fit_predict` is its `stream_predict`. The sorted variant, the paper's for when all labels
    are there, lets each task come last: it is decided as if all others had been seen before it,
    each of which was decided without it. Beyond the paper, more than two classes: who errs, errs
    evenly.

    Fast: time O(labels + K tasks), memory O(workers). Sorted: time O(tasks · labels · K), memory
    O(tasks · workers), refused beyond `LARGEST_SORTING`.

    Parameters
    ----------
    variant
        ``"fast"`` or ``"sorted"`` (which is no stream, so its `stream_predict` is the fast one's).
    leave_out
        Count an answer as right with the probability that the *other* labels of its task give,
        rather than all: beyond the paper, evidence is then not its own witness, but rates are
        biased towards chance by as much as the others are unsure.
    right, wrong
        Parameters of the Beta prior.

    Attributes
    ----------
    error_rates_
        One less the mean of each worker's Beta, after the last task.

    References
    ----------
    Manino, Tran-Thanh, Jennings. Streaming Bayesian Inference for Crowdsourced Classification.
    NeurIPS 2019.

    Examples
    --------
    >>> rows = [(t, who, "yes") for t in range(9) for who in ("ann", "bob")]
    >>> rows += [(t, "cy", "no") for t in range(9)]
    >>> crowd = SBIC()
    >>> crowd.fit_predict(rows)["label"].unique().to_list()
    ['yes']
    >>> crowd.error_rates_.round(1).tolist()
    [0.2, 0.2, 0.7]
    """

    variant: Literal["fast", "sorted"] = "fast"
    leave_out: bool = False
    right: float = RIGHT
    wrong: float = WRONG

    checks: ClassVar = {
        "variant": one_of("fast", "sorted"),
        "right": number(0.0, 1e6, open_low=True),
        "wrong": number(0.0, 1e6, open_low=True),
    }
    deviation: ClassVar[str] = "a task's labels come together; K > 2: errors fall evenly"

    def _start(self, coded: Coded) -> None:
        self._k = coded.n_classes
        self._right = np.full(len(coded.workers), float(self.right))
        self._wrong = np.full(len(coded.workers), float(self.wrong))
        self.error_rates_ = self._wrong / (self._right + self._wrong)

    def _judge(self, workers: Ints, labels: Ints) -> Floats:
        weights = weights_of(self.error_rates_[workers], self._k)
        return np.bincount(labels, weights, self._k).astype(float)

    def _learn(self, workers: Ints, labels: Ints, scores: Floats) -> None:
        if self.leave_out:
            others = np.tile(scores, (workers.size, 1))
            weights = weights_of(self.error_rates_[workers], self._k)
            others[np.arange(workers.size), labels] -= weights
            good = posterior_of(others)[np.arange(workers.size), labels]
        else:
            good = posterior_of(scores)[labels]
        self._right[workers] += good
        self._wrong[workers] += 1 - good
        right, wrong = self._right[workers], self._wrong[workers]
        self.error_rates_[workers] = wrong / (right + wrong)

    def _scores(self, coded: Coded) -> Floats:
        found = self._run(coded)
        return found if self.variant == "fast" else self._judge_all(coded)

    def _judge_all(self, coded: Coded) -> Floats:
        """Each task decided last: as many views of the workers as there are tasks."""
        tasks, n, k = len(coded.tasks), len(coded.workers), coded.n_classes
        if tasks * coded.label.size > LARGEST_SORTING:
            expected = (
                f"at most {LARGEST_SORTING:,} tasks times labels; the fast variant has no limit"
            )
            raise InputError("sorted", expected, f"{tasks * coded.label.size:,}")
        right, wrong = (
            np.full((tasks, n), float(self.right)),
            np.full((tasks, n), float(self.wrong)),
        )

        def judge(view: slice | int, workers: Ints, labels: Ints) -> tuple[Floats, Floats]:
            """Weights of the votes and scores of the classes, of one view or all."""
            p, q = right[view][..., workers], wrong[view][..., workers]
            weights = weights_of(q / (p + q), k)
            return weights, weights @ (labels[:, None] == np.arange(k))

        starts = np.cumsum(coded.votes) - coded.votes
        of = [slice(s, s + m) for s, m in zip(starts.tolist(), coded.votes.tolist(), strict=True)]
        for task, rows in enumerate(of):
            workers, labels = coded.worker[rows], coded.label[rows]
            weights, scores = judge(slice(None), workers, labels)
            if self.leave_out:
                said = labels[:, None] == np.arange(k)
                others = scores[:, None, :] - weights[:, :, None] * said
                good = posterior_of(others)[:, np.arange(labels.size), labels]
            else:
                good = posterior_of(scores)[:, labels]
            unseen = np.arange(tasks) != task  # in its own view a task comes last
            right[:, workers] += good * unseen[:, None]
            wrong[:, workers] += (1 - good) * unseen[:, None]
        found = np.zeros((tasks, k))
        for task, rows in enumerate(of):
            found[task] = judge(task, coded.worker[rows], coded.label[rows])[1]
        return found
