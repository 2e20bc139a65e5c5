"""Newcomers: workers of whom too little is known for their labels to settle a task.

A decision is settled only if it is sure without them, and though they count against it, unless
newcomers before them have proved honest (`crowdstream.decisions.settle_loops.survives`). Knows the
sums and nothing of estimators.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crowdstream.labels.batch import Ints, LabelBatch
from crowdstream.models.scoring_loops import find_known_from
from crowdstream.sums.agreement import AgreementSums

FEW = 3.0
"""Answers up to which workers show whether newcomers are honest."""

ERRORS = 2.0
"""Standard errors by which newcomers must agree with others beyond chance to have shown it."""

AGAINST = 3.0
"""What a newcomer's label counts against a decision that it supports, in labels of an average
worker, unless newcomers have proved honest: a liar who knows the truth has log-odds of 4 to 6,
where workers who are right on 0.8 to 0.9 of the tasks have 1.4 to 2.2. Beside workers who are right
on 0.9, a liar on each of 300 tasks led to 0 or 1 settled lie (where three erred alike), and to 0 to
3 with 1."""


def least_known(sums: AgreementSums, unit: float, forgets: bool) -> float:
    """The answers, in the sums' own unit, from which a worker is known."""
    return find_known_from(sums.loops, unit, forgets)


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
    >>> newcomers(sums, 2.0).tolist()  # the third worker has given no answer
    [False, False, True, True]
    """
    compared = sums.met + sums.known - own * others
    return np.append((sums.answers - own < least) | (compared < least), True)


def newcomers_against(sums: AgreementSums, unit: float) -> float:
    """What a newcomer's label counts against the decision that it supports: `AGAINST`, or nothing.

    Nothing where workers of few answers agree with others beyond chance, by two standard errors.
    Even then it does not count for it: new names may agree with one another alone.

    Parameters
    ----------
    sums
        What is known of the workers.
    unit
        What the newest task counts in them.

    Examples
    --------
    >>> newcomers_against(AgreementSums(), 1.0)
    3.0
    """
    answers = sums.answers / unit
    few = (answers > 0.0) & (answers <= FEW) & (sums.met > 0.0)
    number = float(answers[few].sum())
    if not number:
        return AGAINST
    said = sums.said.sum(axis=0)
    chance = float((said @ said) / float(said.sum()) ** 2)
    agreement = float(sums.agree[few].sum() / sums.met[few].sum())
    error = (max(agreement * (1.0 - agreement), 1.0 / number) / number) ** 0.5
    return 0.0 if agreement - ERRORS * error > chance else AGAINST


def strange_labels(batch: LabelBatch, new: NDArray[np.bool_]) -> Ints:
    """Where the labels of newcomers are in a batch; codes past the last are of unknown workers."""
    if not new[:-1].any() and batch.workers.max(initial=-1) < new.size - 1:
        return np.empty(0, np.int64)
    workers = batch.workers[batch.starts[0] : batch.starts[-1]]
    places = np.flatnonzero(new[np.minimum(workers, new.size - 1)])
    return np.asarray(places + int(batch.starts[0]))


def early_labels(batch: LabelBatch, new: NDArray[np.bool_], least: float) -> Ints:
    """Return the same in a batch that is gone through in order: newcomers become known on the way.

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
