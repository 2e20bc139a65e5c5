"""`OracleEstimator`: what could be learnt of the workers by those who know the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from crowdstream import ClassLabel, InputError
from crowdstream.extension import SETTLE, UNKNOWN, Table, value_series
from crowdstream_lab.baselines.common import (
    Baseline,
    Coded,
    Floats,
    Ints,
    code,
    weights_of,
)

Truths: TypeAlias = (
    pl.DataFrame
    | Mapping[str, ClassLabel]
    | Mapping[int, ClassLabel]
    | Mapping[str | int, ClassLabel]
)
"""A table of task and label, or a mapping of the one to the other."""


@dataclass(eq=False, repr=False)
class OracleEstimator(Baseline):
    """A worker's error rate is the share of its answers that disagree with the truth.

    No estimator that does not see the truths can be expected to do better: the yardstick of
    Fig. 2. Decisions use weights ``log((1 − p)(K − 1)/p)`` of these rates; as they were taken from
    the very tasks that are decided, they are too good to be true where workers have few
    answers. Time O(labels + K tasks), one pass.

    References
    ----------
    Bonald, Combes. A Streaming Algorithm for Crowdsourced Data Classification, 2016: section 6.

    Examples
    --------
    >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "ham"), ("t2", "ann", "ham")]
    >>> oracle = OracleEstimator()
    >>> oracle.error_rates(rows, {"t1": "spam", "t2": "ham"}).rows()
    [('ann', 2, 0.0), ('bob', 1, 1.0)]
    >>> oracle.fit_predict(rows, {"t1": "spam"})["label"].to_list()
    ['spam', 'ham']
    """

    def error_rates(self, data: Table, truths: Truths) -> pl.DataFrame:
        """Worker, answers to tasks whose truth is known, error rate (null without such).

        Parameters
        ----------
        data
            Any table or rows of task, worker and label.
        truths
            What is true: a table of task and label, or a mapping of one to the other.
        """
        coded = code(data)
        answers, errors = _judge(coded, truths)
        rates = pl.DataFrame({"answers": answers, "errors": errors}).select(
            "answers",
            error_rate=pl.when(pl.col("answers") > 0).then(pl.col("errors") / pl.col("answers")),
        )
        return rates.insert_column(0, value_series("worker", coded.workers.to_list()))

    def fit_predict(self, data: Table, truths: Truths, *, settle: float = SETTLE) -> pl.DataFrame:
        """Decide every task with the rates the truths show; who was not judged has no vote.

        Parameters
        ----------
        data
            Any table or rows of task, worker and label.
        truths
            What is true, of one task at least: a table of task and label, or a mapping.
        settle
            Confidence from which a decision counts as settled.
        """
        coded = self._code(data)
        answers, errors = _judge(coded, truths)
        guess = 1 - 1 / coded.n_classes
        rates: Floats = np.where(answers > 0, errors / np.maximum(answers, 1), guess)
        weights = weights_of(rates, coded.n_classes)
        return self._decide(coded, coded.count(weights[coded.worker]), settle)


def _judge(coded: Coded, truths: Truths) -> tuple[Ints, Ints]:
    """Every worker's answers to tasks whose truth is known, and how many are wrong.

    A true class that nobody named joins the classes.
    """
    rows = truths.items() if isinstance(truths, Mapping) else truths.select("task", "label").rows()
    table: dict[object, ClassLabel | None] = dict(rows)
    known = [table.get(task) for task in coded.tasks]
    codes = [UNKNOWN if truth is None else coded.classes.add(truth) for truth in known]
    truth = np.array(codes, np.int64)[coded.task]
    judged, n = truth != UNKNOWN, len(coded.workers)
    if judged.size and not judged.any():
        raise InputError("truths", "the truth of at least one labelled task", "none of them")
    answers = np.bincount(coded.worker[judged], minlength=n)
    errors = np.bincount(coded.worker[judged & (truth != coded.label)], minlength=n)
    return answers, errors
