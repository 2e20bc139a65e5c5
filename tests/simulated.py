"""The paper's model in a few lines, for tests: fixed error rates, some of the workers per task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

import crowdstream as cs

Floats = NDArray[np.float64]

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abcd"), st.sampled_from(["x", "y", "z", None])),
    max_size=30,
)
"""Any few labels: tasks, workers, classes, and some without a label."""


class Crowd:
    """Labels of a simulated crowd: one row per label, tasks together, the truth beside."""

    def __init__(
        self,
        reliability: Floats,
        tasks: int,
        per_task: int | None = None,
        classes: int = 2,
        seed: int = 0,
    ) -> None:
        rng = np.random.default_rng(seed)
        n = reliability.size
        m = n if per_task is None else per_task
        self.truth = rng.integers(classes, size=tasks)
        if m == n:
            workers = np.tile(np.arange(n), (tasks, 1))
        else:
            # Distinct workers per task without sorting all n: shift repeats until there are none.
            workers = rng.integers(n, size=(tasks, m))
            while True:
                ordered = np.sort(workers, axis=1)
                bad = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
                if not bad.any():
                    break
                workers[bad] = rng.integers(n, size=(int(bad.sum()), m))
        knows = rng.random((tasks, m)) < reliability[workers]
        guess = rng.integers(classes, size=(tasks, m))
        truth = np.broadcast_to(self.truth[:, None], (tasks, m))
        wrong = (truth + 1 + rng.integers(classes - 1, size=(tasks, m))) % classes
        # Below 0, the worker knows and says something else.
        lies = rng.random((tasks, m)) < -reliability[workers]
        self.workers = workers
        self.labels = np.where(lies, wrong, np.where(knows, truth, guess))

    def table(self) -> pl.DataFrame:
        """The labels as a table."""
        tasks, m = self.workers.shape
        return pl.DataFrame(
            {
                "task": np.repeat(np.arange(tasks), m),
                "worker": self.workers.ravel(),
                "label": self.labels.ravel(),
            }
        )

    def answers(self) -> Iterator[dict[str | int, str | int | bool | None]]:
        """The labels task by task."""
        for who, what in zip(self.workers.tolist(), self.labels.tolist(), strict=True):
            yield dict(zip(who, what, strict=True))

    def errors(self, decisions: pl.DataFrame) -> NDArray[np.bool_]:
        """Which decisions are wrong."""
        return decisions.sort("task")["label"].to_numpy() != self.truth


def error_rates(crowd: cs.Estimator) -> Floats:
    """Estimated error rates in order of the workers' numbers."""
    return crowd.workers().sort("worker")["error_rate"].to_numpy()
