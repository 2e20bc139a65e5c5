"""Do workers make mistakes together? Measured within tasks, against a twin crowd that does not.

The within-task correlation of ``how right − how right expected given the class``, at the swept
posterior, minus the same on a *twin*: labels drawn from the fitted confusions and fitted alike.
Swept confusions are consistent where workers err independently, and harm where they do not; so
the excess is the gate for believing them. Knows nothing of estimators.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.folding import add_keys, mix
from crowdstream.models.dependence import TOGETHER, error_of_excess
from crowdstream.models.fitting import add_tasks, fit_students, sweep
from crowdstream.models.passes import InMemory
from crowdstream.models.reading import Reading
from crowdstream.models.twin_loops import (
    count_answers,
    count_many_answers,
    draw_labels,
    draw_truths,
    fill_residuals,
)
from crowdstream.sums.agreement import AgreementSums
from crowdstream.sums.rows import FEW_CLASSES
from crowdstream.sums.sparse import SparseCounts

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

OVERTURNED = 0.05, 0.15
"""Shares of tasks that sweeps overturn, beyond a twin's, up to which they are believed and from
which on they are not. Independent simulated crowds have 0.00 ± 0.02."""

ONE_ERROR = 1.0
"""Squared error, that of one wrong label, by which correlations are shrunk: where nobody errs, what
is left of rounding looks alike in all workers."""

TWIN_LABELS = 180_000
"""Labels that twins have together: one alone of a small table is off by 0.005 now and then."""

ROUNDS = 3
"""Rounds of numbering: after three, who is still alike has answered alike."""

FEW = 2.0
"""Answers that the crowd's share of right ones is worth where a worker's own is counted."""

NO_COUNTS: Floats = np.empty((0, 0, 0))

PIECE = 8192
"""Numbers that are multiplied and added up at once: OpenBLAS does 10,000 and more in threads, and
the last bits of the sum would tell how many it has."""

TWIN_PRIOR = 4.0
"""Answers by the pooled confusion that a worker of the twin has beside its own."""


class Excess(NamedTuple):
    """How much more workers err together than independent ones would, in two ways.

    ``correlation``: of errors within a task. ``overturned``: the share of tasks that the swept
    confusions decide otherwise than the second look. Sweeps refine it where workers err
    independently, by as much as a twin shows; where they do much more, they have found something
    else than the classes, whose errors may well look uncorrelated.
    """

    correlation: float
    overturned: float


def measure_excess(batch: LabelBatch, classes: int, most: int) -> Excess:
    """Compare a crowd with twins of it that err independently, ``most`` of them; medians count.

    (Not means: now and then a twin's labels have no good fit.)
    """
    if not batch.labels.size:
        return Excess(0.0, 0.0)
    twins = min(max(TWIN_LABELS // max(batch.labels.size, 1), 1), most)
    truthless = LabelBatch(batch.starts, batch.workers, batch.labels)
    n = int(batch.workers.max(initial=-1)) + 1
    keys = content_keys(truthless, classes, n)
    posterior, overturned = _swept(truthless, n, classes)
    counts, found = _counts(truthless, posterior, n), []
    for twin in range(twins):
        again = keys._replace(tasks=mix(keys.tasks + np.uint64(twin)))
        drawn = _twin(truthless, posterior, again, counts)
        swept, differing = _swept(drawn, n, classes)
        found.append((_correlation(drawn, swept, _counts(drawn, swept, n)), differing))
    alike, differing = np.median(found, axis=0).tolist()
    return Excess(_correlation(truthless, posterior, counts) - alike, overturned - differing)


class ContentKeys(NamedTuple):
    """Numbers that look random, of tasks, workers and classes, made of who said what alone.

    A twin that is drawn by them is the same whatever anything is called and in whatever order it
    comes.
    """

    tasks: Keys
    workers: Keys
    classes: Keys


def content_keys(batch: LabelBatch, classes: int, n: int) -> ContentKeys:
    """Number tasks by their labels, workers and classes by their tasks, and so on for some rounds.

    (Weisfeiler and Leman's refinement.) Tasks with the same labels of the same workers are told
    apart by a count: which of them has which number makes no difference.
    """
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    who, what = batch.workers, batch.labels
    workers, labels = np.ones(n, np.uint64), np.ones(classes, np.uint64)  # mix(0) is 0
    tasks = np.zeros(len(batch), np.uint64)
    for _ in range(ROUNDS):
        tasks = mix(add_keys(task, mix(workers[who] + mix(labels[what])), len(batch)))
        told = mix(tasks[task] + mix(labels[what]))
        seen = mix(tasks[task] + workers[who])
        workers, labels = mix(add_keys(who, told, n)), mix(add_keys(what, seen, classes))
    order = np.argsort(tasks, kind="stable")
    first = np.searchsorted(tasks[order], tasks[order])
    counted: Keys = (np.arange(tasks.size) - first).astype(np.uint64)
    counted += tasks[order]
    tasks[order] = mix(counted)
    return ContentKeys(tasks, workers, labels)


def first_tasks(batch: LabelBatch, labels: int) -> LabelBatch:
    """The first tasks of a batch, with about so many labels at most."""
    if batch.labels.size <= labels:
        return batch
    return batch.pick(np.arange(max(int(np.searchsorted(batch.starts, labels)), 1)))


def compact(batch: LabelBatch) -> LabelBatch:
    """Return the same tasks with their own workers numbered from 0."""
    here = np.zeros(int(batch.workers.max(initial=-1)) + 1, np.int32)
    here[batch.workers] = 1
    codes = (np.cumsum(here, dtype=np.int32) - 1)[batch.workers]
    return LabelBatch(batch.starts, codes, batch.labels, batch.truths, batch.tasks)


def pairs_in(batch: LabelBatch) -> float:
    """Pairs of labels on the same task."""
    return float((batch.sizes * (batch.sizes - 1)).sum()) / 2


def gate_of(excess: float, overturned: float, batch: LabelBatch, pairs: float) -> float:
    """How far the swept confusions are believed, by what was measured on a batch.

    1 where there is no excess, 0 from `TOGETHER` on; an excess correlation measured on so many
    pairs of labels is given a standard error on top, so that independence has to be shown. Likewise
    by the share of tasks that are overturned, see `OVERTURNED`. As far as
    tasks have three labels or more: confusions cannot be told apart from two labels per task,
    however many tasks there are (Kruskal, 1977: three views); recounted from their own posteriors
    they drift to one class.
    """
    alike = _clip(1.0 - (excess + error_of_excess(pairs)) / TOGETHER)
    some, many = OVERTURNED
    refined = _clip((many - overturned) / (many - some))
    sizes = batch.sizes
    return alike * refined * float(sizes[sizes >= 3].sum() / max(sizes.sum(), 1))


def _clip(share: float) -> float:
    return float(min(max(share, 0.0), 1.0))


def second_look_of(batch: LabelBatch, n: int, classes: int) -> Reading:
    """A reading fitted to some tasks as far as the second look."""
    sums = AgreementSums()
    sums.make_room(n, classes)
    reading, table = Reading(sums), InMemory(batch)
    add_tasks([reading], table)
    fit_students([reading], table, classes)
    return reading


def draw_twin(batch: LabelBatch, posterior: Floats, n: int) -> LabelBatch:
    """Labels of a crowd that errs independently, with the confusions that a posterior gives."""
    truthless = LabelBatch(batch.starts, batch.workers, batch.labels)
    keys = content_keys(truthless, posterior.shape[1], n)
    return _twin(truthless, posterior, keys, _counts(truthless, posterior, n))


def _swept(batch: LabelBatch, n: int, classes: int) -> tuple[Floats, float]:
    """Swept posteriors, and the share of tasks that they decide otherwise than the second look."""
    reading = second_look_of(batch, n, classes)
    second = reading.second_look(batch)
    sweep([reading], InMemory(batch))
    found = reading.posteriors(batch)
    return found, float((found.argmax(axis=1) != second).mean())


class Counted(NamedTuple):
    """Answers by worker, class and what was said: all counts, or those of many classes not 0.

    ``right`` and ``totals`` are by worker and class, ``pooled`` by class and what was said.
    """

    counts: Floats
    sparse: SparseCounts | None
    right: Floats
    totals: Floats
    pooled: Floats


def _counts(batch: LabelBatch, posterior: Floats, n: int) -> Counted:
    """Count a batch's answers by a posterior."""
    k = posterior.shape[1]
    if k > FEW_CLASSES:
        found, totals = SparseCounts(n, k), np.zeros((n, k))
        count_many_answers(batch.coded, posterior, found.loops, totals)
        cells = found.cells(n)
        pooled = np.diag(found.right.sum(axis=0))
        np.add.at(pooled, (cells.said, cells.classes), cells.counts)
        return Counted(NO_COUNTS, found, found.right, totals, pooled)
    counts = np.zeros((n, k, k))
    count_answers(batch.coded, posterior, counts)
    counts = np.ascontiguousarray(counts.transpose(0, 2, 1))
    right = np.einsum("iaa->ia", counts)
    return Counted(counts, None, right, counts.sum(axis=2), counts.sum(axis=0))


def _correlation(batch: LabelBatch, posterior: Floats, counts: Counted) -> float:
    """Within-task correlation of how right workers are, given the class."""
    m = batch.sizes
    task = np.repeat(np.arange(len(batch)), m)
    right, off = _rights(counts.right, counts.totals), np.empty(task.size)
    fill_residuals(batch.coded, posterior, right, off)
    total, squares = np.bincount(task, off, m.size), np.bincount(task, off * off, m.size)
    together = (total**2 - squares)[m > 1].sum() / max((m * (m - 1)).sum(), 1)
    pieces = (off[first : first + PIECE] for first in range(0, off.size, PIECE))
    return float(together * off.size / (sum(one @ one for one in pieces) + ONE_ERROR))


def _rights(right: Floats, answers: Floats) -> Floats:
    """How often each worker is right on tasks of each class, shrunk to the crowd and that to all.

    Not to one half: where workers have met few tasks of a class, as with many classes, all would
    be better than expected, which looks like a correlation.
    """
    overall = (right.sum() + 1.0) / (answers.sum() + 2.0)
    usual = (right.sum(axis=0) + FEW * overall) / (answers.sum(axis=0) + FEW)
    return np.asarray((right + FEW * usual) / (answers + FEW))


def _twin(batch: LabelBatch, posterior: Floats, keys: ContentKeys, counts: Counted) -> LabelBatch:
    """Labels drawn from the fitted confusions, independently given a class drawn for each task."""
    pooled = counts.pooled + 1
    prior = TWIN_PRIOR * (pooled / pooled.sum(axis=1, keepdims=True))
    truths, said = np.empty(len(batch), np.int32), np.empty(batch.labels.size, np.int32)
    draw_truths(posterior, keys.tasks, keys.classes, truths)
    draw_labels(
        batch.coded,
        truths,
        counts.counts,
        None if counts.sparse is None else counts.sparse.loops,
        counts.totals,
        prior,
        TWIN_PRIOR,
        keys.tasks,
        mix(keys.workers + np.uint64(1)),
        keys.classes,
        np.zeros(keys.classes.size),
        said,
    )
    return LabelBatch(batch.starts, batch.workers, said)
