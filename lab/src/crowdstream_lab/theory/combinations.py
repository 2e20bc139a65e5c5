"""All sums of a vote's parts, by meeting in the middle."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from crowdstream_lab.theory.checks import Floats

ATOMS = 2**20
"""The most values the vote of half a crowd may take for an exact answer: that is 24 workers of
different weights, 40 if all of them always answer, any number if they share a few weights."""


TIE = 1e-14
"""A vote below this part of ``Σ |w|`` is a tie: a sum of 40 logarithms is no more exact. Should it
not be one, tossing a coin raises the error rate of the best vote by less than that."""


def alike(weights: Floats) -> list[NDArray[np.intp]]:
    """Workers of the same weight together, lightest first, without those who have none."""
    tie = TIE * weights.sum()
    order = np.argsort(weights)
    order = order[weights[order] > tie]
    groups = np.split(order, np.flatnonzero(np.diff(weights[order]) > tie) + 1)
    return [group for group in groups if group.size]


def halves(parts: list[Floats]) -> tuple[list[Floats], list[Floats]]:
    """The parts in two lists with about as many combinations each. Only their sizes matter."""
    halves: tuple[list[Floats], list[Floats]] = ([], [])
    logs = [0.0, 0.0]
    for part in sorted(parts, key=len, reverse=True):
        smaller = 0 if logs[0] <= logs[1] else 1
        halves[smaller].append(part)
        logs[smaller] += math.log(part.size)
    return halves


def within_reach(parts: list[Floats]) -> bool:
    """Return True if neither half has more than `ATOMS` combinations."""
    limit = math.log(ATOMS) + 1e-9
    return all(sum(math.log(part.size) for part in half) <= limit for half in halves(parts))


def outer(operation: np.ufunc, parts: list[Floats], start: float) -> Floats:
    """All combinations of one value from each part."""
    result = np.full(1, start)
    for part in parts:
        result = operation.outer(result, part).ravel()
    return result
