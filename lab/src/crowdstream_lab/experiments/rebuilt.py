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


def rebuilt_votes(labels: pl.DataFrame, one_rate: bool = False) -> pl.DataFrame:
    """Every task decided with the weights that all of them taught."""
    batch, _, classes = code_labels(labels)
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    scores = rebuilt_scores(task, batch.workers, batch.labels, one_rate)
    return pl.DataFrame(
        {
            "task": batch.tasks,
            "label": pl.Series(classes.to_list()).gather((scores < 0).astype(int)),
            "margin": np.where(np.abs(scores) < TIE, 0.0, np.abs(scores)),
        }
    )


def rebuilt_scores(task: Codes, worker: Codes, label: Codes, one_rate: bool = False) -> Floats:
    """The log-odds of class 0 for every task, of labels given in codes."""
    rates = rebuilt_rates(task, worker, label, one_rate)
    kept = np.clip(rates, CLIP, 1 - CLIP)
    weights = np.ones(rates.size) if (rates == 0.5).all() else np.log(1 / kept - 1)
    sign = np.where(label == 0, 1.0, -1.0)
    return np.asarray(np.bincount(task, sign * weights[worker]), float)


def rebuilt_rates(task: Codes, worker: Codes, label: Codes, one_rate: bool = False) -> Floats:
    """a_i = A_i / (T α_i Σ_{j≠i} α_j), α_i the share of tasks that i answered, then the inversion.

    ``one_rate``: α is the mean for everybody, as the paper's text has it. All ½ without a solution.
    """
    tasks = int(task.max()) + 1
    votes = np.bincount(2 * task + label, minlength=2 * tasks)
    agreed = np.bincount(worker, votes[2 * task + label] - 1.0)
    alpha = np.bincount(worker) / tasks
    if one_rate:
        alpha = np.full(alpha.size, alpha.mean())
    found = error_rates_from_agreements(agreed / (tasks * alpha * (alpha.sum() - alpha)))
    return np.full(alpha.size, 0.5) if found is None else found
