"""Forgetting: newer tasks count more. Knows nothing of what is summed.

Scaling all sums by ``1 − 1/memory`` at each new task would touch every one of them. Instead each
task counts ``1/(1 − 1/memory)`` times the one before it, and readers of the sums divide by what the
newest task counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Sums: TypeAlias = Iterable[NDArray[np.float64]]

MOST = 100.0
"""The logarithm of a weight at which the sums are brought back to units of the present: products of
four of them must stay below 1e308."""


class Forgetting:
    """The scale of a crowd that remembers about ``memory`` tasks, or all (``None``).

    ``most``: the logarithm of a weight at which sums are brought back to units of the present.

    >>> scale = Forgetting(4.0)
    >>> [round(scale.weight(task), 2) for task in range(3)]
    [1.0, 1.33, 1.78]
    """

    def __init__(self, memory: float | None, most: float = MOST) -> None:
        self.most = most
        self.fade = 0.0 if memory is None else -math.log1p(-1.0 / memory)
        self.origin = 0
        """The task that counts 1."""

    @property
    def growth(self) -> float:
        """Return how much more a task counts than the one before."""
        return math.exp(self.fade)

    def weight(self, task: int) -> float:
        """Return what the task at this place in the stream counts."""
        return math.exp(self.fade * (task - self.origin)) if self.fade else 1.0

    def make_room(self, task: int, sums: Sums, squares: Sums = ()) -> int:
        """Return how many tasks can be learnt from this place on; rescales the sums if need be."""
        if not self.fade:
            return 2**62
        if self.fade * (task - self.origin) >= self.most:
            self.renormalise(task, sums, squares)
        return int(self.most / self.fade) - (task - self.origin) + 1

    def renormalise(self, task: int, sums: Sums, squares: Sums = ()) -> None:
        """Bring the sums to units in which the task at this place counts 1.

        ``squares`` are sums of squared weights.
        """
        if self.fade and task != self.origin:
            factor = 1.0 / self.weight(task)
            for array in sums:
                array *= factor
            for array in squares:
                array *= factor * factor
            self.origin = task
