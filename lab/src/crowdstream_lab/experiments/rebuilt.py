"""AB on real crowds as the paper must have run it: each worker's own answer rate, a clip."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.extension import code_labels
from crowdstream_lab.experiments.common import CLIP, Floats
from crowdstream_lab.theory import error_rates_from_agreements

Codes: TypeAlias = NDArray[np.integer[Any]]

TIE = 1e-9
"""Scores this close to 0 are a tie: rounding leaves less of weights that cancel."""


def rebuilt_votes(
    labels: pl.DataFrame, alpha: float | None = None, online: bool = False
) -> pl.DataFrame:
    """Every task decided with the weights that all of them taught, or those before it (``online``).

    ``alpha``: one answer rate for all; each worker's own if it is not given.
    """
    batch, _, classes = code_labels(labels)
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    if online:
        scores = online_scores(task, batch.workers, batch.labels)
    else:
        scores = rebuilt_scores(task, batch.workers, batch.labels, alpha)
    return pl.DataFrame(
        {
            "task": batch.tasks,
            "label": pl.Series(classes.to_list()).gather((scores < 0).astype(int)),
            "margin": np.where(np.abs(scores) < TIE, 0.0, np.abs(scores)),
        }
    )


def rebuilt_scores(task: Codes, worker: Codes, label: Codes, alpha: float | None = None) -> Floats:
    """The log-odds of class 0 for every task, of labels given in codes."""
    weights = _weights(rebuilt_rates(task, worker, label, alpha))
    sign = np.where(label == 0, 1.0, -1.0)
    return np.asarray(np.bincount(task, sign * weights[worker]), float)


def _weights(rates: Floats) -> Floats:
    """log(1/p − 1) of error rates kept from 0 and 1; votes are counted where all are ½."""
    kept = np.clip(rates, CLIP, 1 - CLIP)
    return np.ones(rates.size) if (rates == 0.5).all() else np.log(1 / kept - 1)


def online_scores(task: Codes, worker: Codes, label: Codes) -> Floats:
    """The log-odds of class 0 of every task by the weights of those before it, in their order.

    A worker's own answer rate is that so far; who is new counts as the mean of the others.
    """
    n, tasks = int(worker.max()) + 1, int(task.max()) + 1
    ends = np.searchsorted(task, np.arange(tasks + 1))  # labels of a task stand together
    agreed, answers, found = np.zeros(n), np.zeros(n), np.zeros(tasks)
    for t in range(tasks):
        who, said = worker[ends[t] : ends[t + 1]], label[ends[t] : ends[t + 1]]
        known = answers > 0
        rates = np.full(n, 0.5)
        if t and known.sum() > 2:
            rates[known] = _invert(agreed[known], answers[known] / t, t)
            rates[~known] = rates[known].mean()
        found[t] = _weights(rates)[who] @ np.where(said == 0, 1.0, -1.0)
        agreed[who] += np.bincount(said, minlength=2)[said] - 1
        answers[who] += 1
    return found


def rebuilt_rates(task: Codes, worker: Codes, label: Codes, alpha: float | None = None) -> Floats:
    """a_i = A_i / (T α_i Σ_{j≠i} α_j), α_i the share of tasks that i answered, then the inversion.

    ``alpha``: one answer rate for everybody, as the paper's text has it. All ½ without a solution.
    """
    tasks = int(task.max()) + 1
    votes = np.bincount(2 * task + label, minlength=2 * tasks)
    agreed: Floats = np.bincount(worker, votes[2 * task + label] - 1.0).astype(np.float64)
    rates = np.bincount(worker) / tasks
    if alpha is not None:
        rates = np.full(rates.size, alpha)
    return _invert(agreed, rates, tasks)


def _invert(agreed: Floats, alpha: Floats, tasks: int) -> Floats:
    """Error rates from agreements and answer rates; all ½ without a solution."""
    others = alpha.sum() - alpha
    if not others.all():
        return np.full(alpha.size, 0.5)
    found = error_rates_from_agreements(agreed / (tasks * alpha * others))
    return np.full(alpha.size, 0.5) if found is None else found
