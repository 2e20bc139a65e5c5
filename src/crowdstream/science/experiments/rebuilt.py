"""AB on real crowds as the paper must have run it: each worker's own answer rate, a clip."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdstream.labels import LabelBatch, Vocabulary, code_table
from crowdstream.science.experiments.common import CLIP, Floats
from crowdstream.science.theory import error_rates_from_agreements

TIE = 1e-9
"""Scores this close to 0 are a tie: rounding leaves less of weights that cancel."""


def rebuilt_votes(labels: pl.DataFrame) -> pl.DataFrame:
    """Every task decided with the weights that all of them taught."""
    workers, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(labels, workers, classes)
    rates = np.clip(rebuilt_rates(batch, len(workers)), CLIP, 1 - CLIP)
    weights = np.log(1 / rates - 1)
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    sign = np.where(batch.labels == 0, 1.0, -1.0)
    scores = np.bincount(task, sign * weights[batch.workers], len(batch))
    return pl.DataFrame(
        {
            "task": batch.tasks,
            "label": pl.Series(classes.to_list()).gather((scores < 0).astype(int)),
            "margin": np.where(np.abs(scores) < TIE, 0.0, np.abs(scores)),
        }
    )


def rebuilt_rates(batch: LabelBatch, n: int) -> Floats:
    """a_i = A_i / (T α_i Σ_{j≠i} α_j), α_i the share of tasks that i answered, then the inversion.

    One α for all, as the paper's text has it, fails on real crowds: there is no fixed point.
    """
    tasks = len(batch)
    task = np.repeat(np.arange(tasks), batch.sizes)
    votes = np.zeros((tasks, 2))
    np.add.at(votes, (task, batch.labels), 1)
    agreed = np.bincount(batch.workers, votes[task, batch.labels] - 1, n)
    alpha = np.bincount(batch.workers, minlength=n) / tasks
    found = error_rates_from_agreements(agreed / (tasks * alpha * (alpha.sum() - alpha)))
    return np.full(n, 0.5) if found is None else found
