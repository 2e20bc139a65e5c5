"""Sums over pairs of workers who share tasks: what methods on covariances start from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdstream import InputError
from crowdstream_lab.baselines.common import Coded, Floats, Ints

LARGEST_CROWD = 3000
"""Workers a method may have that keeps numbers for all pairs: a matrix is then 72 MB, and a
handful are needed at once."""

CHUNK = 1_000_000
"""Pairs of labels looked at together, so that a table of any length takes about 50 MB."""


def check_crowd(coded: Coded) -> None:
    """Refuse a crowd too large for matrices of all pairs."""
    n = len(coded.workers)
    if n > LARGEST_CROWD:
        raise InputError("workers", f"at most {LARGEST_CROWD}, as all pairs are kept", str(n))


def pairs(coded: Coded) -> Iterator[tuple[Ints, Ints]]:
    """Positions of any two labels of a task, both ways round, not too many at once."""
    ends = np.cumsum(coded.votes)
    block = np.cumsum(coded.votes**2) // CHUNK
    for tasks in np.split(np.arange(ends.size), np.flatnonzero(np.diff(block)) + 1):
        votes = coded.votes[tasks]
        start = (ends - coded.votes)[tasks]
        each = np.repeat(votes, votes)  # a label's partners, itself among them
        label = np.repeat(start, votes) + _count(votes)
        one = np.repeat(label, each)
        other = np.repeat(np.repeat(start, votes), each) + _count(each)
        different = one != other
        yield one[different], other[different]


def pair_sums(coded: Coded, *products: tuple[Floats, Floats]) -> list[Floats]:
    """For each (a, b), one number per label: sums of a of the one times b of the other, n × n.

    >>> from crowdstream_lab.baselines.common import code
    >>> coded = code([("t", "ann", "x"), ("t", "bob", "y"), ("u", "ann", "x")])
    >>> one = np.ones(3)
    >>> pair_sums(coded, (one, one))[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n = len(coded.workers)
    sums = [np.zeros(n * n) for _ in products]
    for one, other in pairs(coded):
        cell = coded.worker[one] * n + coded.worker[other]
        for total, (a, b) in zip(sums, products, strict=True):
            total += np.bincount(cell, a[one] * b[other], n * n)
    return [total.reshape(n, n) for total in sums]


def heard(coded: Coded, weights: Floats) -> Floats:
    """The weight of each label; where nobody of a task has any, all count one."""
    each = weights[coded.worker]
    silent = np.bincount(coded.task, np.abs(each), len(coded.tasks)) == 0
    return np.where(silent[coded.task], 1.0, each)


def _count(lengths: Ints) -> Ints:
    """0, 1, … for each length, one after the other."""
    ends = np.cumsum(lengths)
    counted: Ints = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths)
    return counted
