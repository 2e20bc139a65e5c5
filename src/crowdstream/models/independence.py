"""Do workers make mistakes together? Measured within tasks, against a twin crowd that does not.

The within-task correlation of ``how right − how right expected given the class``, at the swept
posterior, minus the same on a *twin*: labels drawn from the fitted confusions and fitted alike.
Swept confusions are consistent where workers err independently, and harm where they do not; so
the excess is the gate for believing them. Knows nothing of estimators.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Codes, LabelBatch
from crowdstream.labels.folding import mix
from crowdstream.models.fitting import add_tasks, fit_students, sweep
from crowdstream.models.passes import InMemory
from crowdstream.models.reading import Reading
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

GATE = 0.04
"""Excess correlation from which on the swept confusions are not believed: independent simulated
crowds have 0.00 ± 0.01, nearly all real ones 0.02 to 0.19."""

ONE_ERROR = 1.0
"""Squared error, that of one wrong label, by which correlations are shrunk: where nobody errs, what
is left of rounding looks alike in all workers."""

TWIN_PRIOR = 4.0
"""Answers by the pooled confusion that a worker of the twin has beside its own."""


def excess_correlation(
    batch: LabelBatch, classes: int, tasks: Keys, workers: Keys, labels: Keys, twins: int = 1
) -> float:
    """How much more workers err together than independent ones would, of whom ``twins`` are drawn.

    ``tasks``, ``workers`` and ``labels`` are keys of each task, worker and class, from which a
    twin is drawn: its labels depend on neither order nor place.
    """
    truthless = LabelBatch(batch.starts, batch.workers, batch.labels)
    n = workers.size
    posterior = _swept(truthless, n, classes)
    expected = 0.0
    for twin in range(twins):
        keys = mix(tasks + np.uint64(twin))
        drawn = _twin(truthless, posterior, n, keys, workers, labels)
        expected += _correlation(drawn, _swept(drawn, n, classes), n) / twins
    return _correlation(truthless, posterior, n) - expected


def compact(batch: LabelBatch) -> tuple[LabelBatch, Codes]:
    """Return the same tasks with their own workers numbered from 0, and who those are."""
    who, codes = np.unique(batch.workers, return_inverse=True)
    return LabelBatch(
        batch.starts, codes.astype(np.int32), batch.labels, batch.truths, batch.tasks
    ), who.astype(np.int32)


def pairs_in(batch: LabelBatch) -> float:
    """Pairs of labels on the same task."""
    return float((batch.sizes * (batch.sizes - 1)).sum()) / 2


def share_of_three(batch: LabelBatch) -> float:
    """The share of labels on tasks with three or more.

    Confusions cannot be told apart from two labels per task, however many tasks there are (Kruskal,
    1977: three views); recounted from their own posteriors they drift to one class.
    """
    sizes = batch.sizes
    return float(sizes[sizes >= 3].sum() / max(sizes.sum(), 1))


def gate_of(excess: float, pairs: float) -> float:
    """How far the swept confusions are believed, by an excess measured on so many pairs of labels.

    1 where there is no excess, 0 from `GATE` on; the excess is given a standard error on top, so
    that independence has to be shown.
    """
    return float(min(max(1.0 - (excess + error_of_excess(pairs)) / GATE, 0.0), 1.0))


def error_of_excess(pairs: float) -> float:
    """The standard error of an excess measured on so many pairs of labels.

    Among independent workers a correlation from so many pairs has the variance 1/pairs, and so has
    the twin's.
    """
    return float((2.0 / max(pairs, 1.0)) ** 0.5)


def _swept(batch: LabelBatch, n: int, classes: int) -> Floats:
    sums = AgreementSums()
    sums.make_room(n, classes)
    reading = Reading(sums)
    table = InMemory(batch)
    add_tasks([reading], table)
    fit_students([reading], table, classes)
    sweep([reading], table)
    return reading.posteriors(batch)


def _counts(batch: LabelBatch, posterior: Floats, n: int) -> Floats:
    """Answers by worker, class and what was said."""
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    k = posterior.shape[1]
    cell = batch.workers.astype(np.int64) * k + batch.labels
    found = np.stack(
        [np.bincount(cell, posterior[task, a], n * k).reshape(n, k) for a in range(k)], axis=1
    )
    return np.asarray(found)


def _correlation(batch: LabelBatch, posterior: Floats, n: int) -> float:
    """Within-task correlation of how right workers are, given the class."""
    m = batch.sizes
    task = np.repeat(np.arange(len(batch)), m)
    counts = _counts(batch, posterior, n)
    right = (np.einsum("iaa->ia", counts) + 1) / (counts.sum(axis=2) + 2)
    expected = (posterior[task] * right[batch.workers]).sum(axis=1)
    off = posterior[task, batch.labels] - expected
    total, squares = np.bincount(task, off, m.size), np.bincount(task, off * off, m.size)
    together = (total**2 - squares)[m > 1].sum() / max((m * (m - 1)).sum(), 1)
    return float(together * off.size / (off @ off + ONE_ERROR))


def _twin(
    batch: LabelBatch, posterior: Floats, n: int, tasks: Keys, workers: Keys, labels: Keys
) -> LabelBatch:
    """Labels drawn from the fitted confusions, independently given a class drawn for each task."""
    counts = _counts(batch, posterior, n)
    pooled = counts.sum(axis=0) + 1
    shares = pooled / pooled.sum(axis=1, keepdims=True)
    total = counts.sum(axis=2, keepdims=True)
    confusion = (counts + TWIN_PRIOR * shares) / (total + TWIN_PRIOR)
    truth = _draw(posterior, tasks, labels)
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    seeds = mix(tasks[task] ^ mix(workers[batch.workers] + np.uint64(1)))
    said = _draw(confusion[batch.workers, truth[task]], seeds, labels)
    return LabelBatch(batch.starts, batch.workers, said.astype(np.int32))


def _draw(chances: Floats, seeds: Keys, labels: Keys) -> NDArray[np.int64]:
    """A class per row, by its chances: the first of exponential waiting times is up."""
    uniform = (mix(seeds[:, None] ^ labels[None, : chances.shape[1]]) >> np.uint64(11)) * 2.0**-53
    with np.errstate(divide="ignore"):
        return np.asarray((-np.log1p(-uniform) / chances).argmin(axis=1))
