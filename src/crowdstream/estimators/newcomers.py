"""Newcomers: workers of whom too little is known for their labels to settle a task.

A decision is settled only if it is sure whatever they are worth (`decisions.SettleRule.survives`).
So nobody settles a task, or helps to, under a name that was never seen. Knows the sums and nothing
of estimators.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.sums.agreement import AgreementSums

KNOWN = 2.0
"""Answers, compared with others' or with the truth, from which a worker is no newcomer. Every one
more costs labels where workers give few: stopping at 0.95 bought 5.4, 4.4 and 4.5 labels per task
on rte, temp and weather before, with 2 it buys 5.6, 4.4 and 6.1, with 5 it would 6.1, 5.5, 13.4."""

HALF = 0.5
"""Part of an average answer's worker's answers that is enough where old ones are forgotten, if it
is less: with a short memory nobody has as many as `KNOWN`."""


def least_known(sums: AgreementSums, unit: float, forgets: bool) -> float:
    """The answers, in the sums' own unit, from which a worker is known."""
    if not forgets:
        return KNOWN * unit
    answers = sums.answers
    typical = float(answers @ answers) / max(float(answers.sum()), 1e-300)
    return min(KNOWN * unit, HALF * typical)


def newcomers(
    sums: AgreementSums, least: float, own: float = 0.0, others: int = 0
) -> NDArray[np.bool_]:
    """Which workers are newcomers; one more, the last, stands for those nobody knows.

    Parameters
    ----------
    sums
        What is known of the workers.
    least
        What `least_known` says.
    own
        What the task at hand counted in the sums, if it is among them: its own labels say nothing
        of whoever gave them.
    others
        The labels of that task beside a worker's own.

    Examples
    --------
    >>> from crowdstream.labels.batch import LabelBatch
    >>> sums = AgreementSums()
    >>> sums.make_room(3, 2)
    >>> starts, both = np.arange(0, 14, 2), np.array([0, 1] * 6, np.int32)
    >>> sums.add(LabelBatch(starts, both, both))
    >>> newcomers(sums, KNOWN).tolist()  # the third worker has given no answer
    [False, False, True, True]
    """
    compared = sums.met + sums.known - own * others
    return np.append((sums.answers - own < least) | (compared < least), True)


def strange_labels(batch: LabelBatch, new: NDArray[np.bool_]) -> Ints:
    """Where the labels of newcomers are in a batch; codes past the last are of unknown workers."""
    if not new[:-1].any() and batch.workers.max(initial=-1) < new.size - 1:
        return np.empty(0, np.int64)
    workers = batch.workers[batch.starts[0] : batch.starts[-1]]
    places = np.flatnonzero(new[np.minimum(workers, new.size - 1)])
    return np.asarray(places + int(batch.starts[0]))


def early_labels(batch: LabelBatch, new: NDArray[np.bool_], least: float) -> Ints:
    """The same in a batch that is gone through in order: newcomers become known on the way.

    ``new``: those who were newcomers before it.
    """
    found = strange_labels(batch, new)
    codes = batch.workers[found]
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    place = np.empty(codes.size, np.int64)
    place[order] = np.arange(codes.size) - np.searchsorted(ranked, ranked)
    return found[place < least]


def without(batch: LabelBatch, strange: Ints, which: Ints) -> LabelBatch:
    """Some tasks of a batch, which come in order, without these labels."""
    kept = np.ones(batch.workers.size, np.bool_)
    kept[strange] = False
    picked = batch.pick(which)
    rows = LabelBatch(batch.starts, np.arange(kept.size, dtype=np.int32), batch.labels).pick(which)
    stays = kept[rows.workers]
    ends = np.concatenate([[0], np.cumsum(stays)])
    starts = ends[picked.starts].astype(np.int64)
    said = picked.said[stays] if picked.said.size else picked.said
    labels = picked.workers[stays], picked.labels[stays]
    return LabelBatch(starts, *labels, tasks=picked.tasks, said=said)


def tasks_of(batch: LabelBatch, labels: Ints) -> Ints:
    """The tasks that have any of these labels, in order."""
    return np.unique(np.searchsorted(batch.starts, labels, side="right") - 1)
